internal import StrictJSON

/// A page of notifications: at most 20 (Apple's `NotificationHistoryResponse`).
public struct NotificationPage: HistoryPage, Hashable, Sendable {
    /// The notifications, with what became of them.
    public let notifications: [SentNotification]
    /// How to go on after it; `nil` where there is nothing more.
    public let paginationToken: String?
    /// Whether there are further pages now.
    public let hasMore: Bool

    /// ``paginationToken``.
    public var continuation: String? { paginationToken }

    init(from reader: inout JSONReader) throws(JSONError) {
        var notifications: [SentNotification] = []
        var token: String?
        var hasMore: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "notificationHistory":
                try reader.array { (reader, _) throws(JSONError) in
                    notifications.append(try SentNotification(from: &reader))
                }
            case "paginationToken": token = try reader.optionalString()
            case "hasMore": hasMore = try reader.bool()
            default: try reader.skip()
            }
        }
        guard let hasMore else { throw reader.missing("hasMore") }
        self.notifications = notifications
        paginationToken = token
        self.hasMore = hasMore
    }
}

/// A notification that Apple sent or tried to send (Apple's `notificationHistoryResponseItem` and
/// `CheckTestNotificationResponse`).
public struct SentNotification: Hashable, Sendable {
    /// The notification, a JWS that is not verified yet: what the webhook gets as `signedPayload`.
    public let signedPayload: String
    /// How Apple tried to send it, in Apple's order; at most six times.
    public let sendAttempts: [SendAttempt]

    /// One attempt to send it.
    public struct SendAttempt: Hashable, Sendable {
        /// When, in milliseconds since the UNIX epoch.
        public let attemptDate: Int64
        /// How it went.
        public let result: SendAttemptResult
    }

    init(from reader: inout JSONReader) throws(JSONError) {
        var payload: String?
        var attempts: [SendAttempt] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "signedPayload": payload = try reader.string()
            case "sendAttempts":
                try reader.array { (reader, _) throws(JSONError) in attempts.append(try SendAttempt(from: &reader)) }
            default: try reader.skip()
            }
        }
        guard let payload else { throw reader.missing("signedPayload") }
        signedPayload = payload
        sendAttempts = attempts
    }
}

extension SentNotification.SendAttempt {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var date: Int64?, result: String?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "attemptDate": date = try reader.integer()
            case "sendAttemptResult": result = try reader.string()
            default: try reader.skip()
            }
        }
        guard let date else { throw reader.missing("attemptDate") }
        guard let result else { throw reader.missing("sendAttemptResult") }
        self.init(attemptDate: date, result: SendAttemptResult(rawValue: result))
    }
}

/// How an attempt of Apple's to send a notification went. Other values are kept as they come.
public struct SendAttemptResult: RawRepresentable, Hashable, Sendable {
    /// As it stands in the reply.
    public let rawValue: String
    /// Takes any value.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It arrived.
    public static let success = SendAttemptResult(rawValue: "SUCCESS")
    /// The server sent Apple round in a circle.
    public static let circularRedirect = SendAttemptResult(rawValue: "CIRCULAR_REDIRECT")
    /// The server's answer was none.
    public static let invalidResponse = SendAttemptResult(rawValue: "INVALID_RESPONSE")
    /// No answer of HTTP came.
    public static let noResponse = SendAttemptResult(rawValue: "NO_RESPONSE")
    /// Another reason.
    public static let other = SendAttemptResult(rawValue: "OTHER")
    /// The connection was closed meanwhile.
    public static let prematureClose = SendAttemptResult(rawValue: "PREMATURE_CLOSE")
    /// The network failed.
    public static let socketIssue = SendAttemptResult(rawValue: "SOCKET_ISSUE")
    /// No answer came in time.
    public static let timedOut = SendAttemptResult(rawValue: "TIMED_OUT")
    /// No TLS session, or the server's certificate is not valid.
    public static let tlsIssue = SendAttemptResult(rawValue: "TLS_ISSUE")
    /// The answer was not status 200.
    public static let unsuccessfulHTTPResponseCode = SendAttemptResult(rawValue: "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
    /// A character set that Apple does not know.
    public static let unsupportedCharset = SendAttemptResult(rawValue: "UNSUPPORTED_CHARSET")

    /// The values that Apple documents.
    public static let known: [Self] = [
        .success, .circularRedirect, .invalidResponse, .noResponse, .other, .prematureClose, .socketIssue, .timedOut,
        .tlsIssue, .unsuccessfulHTTPResponseCode, .unsupportedCharset,
    ]
}
