internal import AppStore
internal import AppStoreServer
internal import StrictJSON

/// A notification, with how the simulator tries to send it. What was signed stays in the file.
struct SimulatedNotification: Sendable {
    let uuid: String
    let type: NotificationPayload.NotificationType
    let subtype: NotificationPayload.Subtype?
    /// Of the purchase that it is about; `nil` for a test.
    let transactionID: String?
    let signedDate: Int64
    /// Whether it is never posted, though attempts are noted.
    let isLost: Bool
    /// Milliseconds from `signedDate` to each first post: one, or two where it is doubled.
    let firstPosts: [Int64]
    /// Where the JWS stands in the file.
    private(set) var signedPayload: Range<Int>
    var attempts: [Attempt] = []

    struct Attempt: Sendable {
        let attemptDate: Int64
        let result: SendAttemptResult
    }

    var hasArrived: Bool { attempts.contains { $0.result == .success } }

    /// Its line stands further behind in the file.
    mutating func shift(by bytes: Int) {
        signedPayload = signedPayload.lowerBound + bytes..<signedPayload.upperBound + bytes
    }

    /// When it is posted next, in milliseconds since the UNIX epoch; `nil` where it has arrived, or was tried as often
    /// as the schedule says.
    func nextPost(_ configuration: SimulatorConfiguration) -> Int64? {
        guard let last = attempts.last else { return signedDate + (firstPosts.first ?? 0) }
        let retry = attempts.count - 1
        guard !hasArrived, retry < SimulatorLimits.retryMilliseconds.count else { return nil }
        return last.attemptDate + configuration.real(SimulatorLimits.retryMilliseconds[retry])
    }
}

// MARK: In the file

extension SimulatedNotification {
    /// A line of the file; the JWS is its last value.
    static func line(
        _ payload: NotificationPayload, transactionID: String?, isLost: Bool, firstPosts: [Int64], signedPayload: String
    ) -> [UInt8] {
        var writer = JSONWriter(capacity: signedPayload.utf8.count + 512)
        writer.beginObject()
        writer.key("notification")
        writer.beginObject()
        writer.member("uuid", payload.notificationUUID)
        writer.member("type", payload.notificationType.rawValue)
        writer.member("subtype", payload.subtype?.rawValue)
        writer.member("transactionId", transactionID)
        writer.member("signedDate", payload.signedDate)
        writer.member("lost", isLost)
        writer.key("firstPosts")
        writer.beginArray()
        for post in firstPosts { writer.integer(post) }
        writer.endArray()
        writer.member("signedPayload", signedPayload)
        writer.endObject()
        writer.endObject()
        writer.newline()
        return writer.bytes
    }

    /// - Parameter start: where the text that is read begins in the file.
    init(_ reader: inout JSONReader, at start: Int) throws(JSONError) {
        var uuid = "", type = "", subtype: String?, transactionID: String?, signedDate: Int64 = 0
        var isLost = false, firstPosts: [Int64] = [], signedPayload: Range<Int>?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "uuid": uuid = try reader.string()
            case "type": type = try reader.string()
            case "subtype": subtype = try reader.optionalString()
            case "transactionId": transactionID = try reader.optionalString()
            case "signedDate": signedDate = try reader.integer()
            case "lost": isLost = try reader.bool()
            case "firstPosts":
                try reader.array { (reader, _) throws(JSONError) in firstPosts.append(try reader.integer()) }
            case "signedPayload":
                // Without its quotes.
                let range = try reader.raw()
                signedPayload = start + range.lowerBound + 1..<start + range.upperBound - 1
            default: throw reader.failAtNext("is not a member of a notification")
            }
        }
        guard let signedPayload else { throw reader.missing("signedPayload") }
        self.init(
            uuid: uuid, type: .init(rawValue: type), subtype: subtype.map { .init(rawValue: $0) },
            transactionID: transactionID, signedDate: signedDate, isLost: isLost, firstPosts: firstPosts,
            signedPayload: signedPayload)
    }

    /// A line of the file that notes an attempt.
    static func line(_ attempt: Attempt, of uuid: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("attempt")
        writer.beginObject()
        writer.member("uuid", uuid)
        writer.member("attemptDate", attempt.attemptDate)
        writer.member("sendAttemptResult", attempt.result.rawValue)
        writer.endObject()
        writer.endObject()
        writer.newline()
        return writer.bytes
    }

    static func readAttempt(_ reader: inout JSONReader) throws(JSONError) -> (uuid: String, attempt: Attempt) {
        var uuid = "", date: Int64 = 0, result = ""
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "uuid": uuid = try reader.string()
            case "attemptDate": date = try reader.integer()
            case "sendAttemptResult": result = try reader.string()
            default: throw reader.failAtNext("is not a member of an attempt")
            }
        }
        return (uuid, Attempt(attemptDate: date, result: SendAttemptResult(rawValue: result)))
    }
}
