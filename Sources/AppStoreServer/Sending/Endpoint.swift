internal import NIOHTTP1

/// What can be asked of the App Store Server API, with its method and path, as of version 1.21.
enum Endpoint: CaseIterable, Sendable {
    case transactionInfo
    case appTransactionInfo
    case transactionHistory
    case refundHistory
    case orderLookup
    case finishTransaction
    case setAppAccountToken
    case sendConsumption
    case notificationHistory
    case testNotification
    case testNotificationStatus

    var method: HTTPMethod {
        switch self {
        case .transactionInfo, .appTransactionInfo, .transactionHistory, .refundHistory, .orderLookup,
            .testNotificationStatus:
            .GET
        case .finishTransaction, .notificationHistory, .testNotification: .POST
        case .setAppAccountToken, .sendConsumption: .PUT
        }
    }

    /// - Parameter id: what the request is about; not used where it is about nothing in particular.
    func path(_ id: String) -> String {
        switch self {
        case .transactionInfo: "/inApps/v1/transactions/\(id)"
        case .appTransactionInfo: "/inApps/v1/transactions/appTransactions/\(id)"
        case .transactionHistory: "/inApps/v2/history/\(id)"
        case .refundHistory: "/inApps/v2/refund/lookup/\(id)"
        case .orderLookup: "/inApps/v1/lookup/\(id)"
        case .finishTransaction: "/inApps/v1/transactions/\(id)/finish"
        case .setAppAccountToken: "/inApps/v1/transactions/\(id)/appAccountToken"
        case .sendConsumption: "/inApps/v2/transactions/consumption/\(id)"
        case .notificationHistory: "/inApps/v1/notifications/history"
        case .testNotification: "/inApps/v1/notifications/test"
        case .testNotificationStatus: "/inApps/v1/notifications/test/\(id)"
        }
    }

    /// Whether a request may be sent again where nobody knows whether it was carried out. What only reads may; so may
    /// what sets something to the same value again. Each request for a test notification sends one more.
    var isRepeatable: Bool { self != .testNotification }
}

/// One request, but for its token.
struct APIRequest: Sendable {
    let endpoint: Endpoint
    /// Path and query, percent-encoded.
    private(set) var target: String
    /// JSON.
    let body: [UInt8]?

    /// - Parameters:
    ///   - id: a part of the path. Only letters, digits, `-` and `_` are sent: anything else could name another path.
    ///   - name: what the id is, for the error.
    init(
        _ endpoint: Endpoint, id: String, called name: String, body: [UInt8]? = nil
    ) throws(AppStoreServerError) {
        guard (1...AppStoreServerLimits.identifierBytesMax).contains(id.utf8.count),
            id.utf8.allSatisfy(APIRequest.isOfIdentifier)
        else {
            throw .invalidArgument(
                "\(name) must be 1 … \(AppStoreServerLimits.identifierBytesMax) letters, digits, - and _")
        }
        self.endpoint = endpoint
        target = endpoint.path(id)
        self.body = body
    }

    init(_ endpoint: Endpoint, body: [UInt8]? = nil) {
        self.endpoint = endpoint
        target = endpoint.path("")
        self.body = body
    }

    /// Adds a parameter to the query; none where there is no value.
    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        target += (target.contains("?") ? "&" : "?") + name + "=" + APIRequest.percentEncoded(value)
    }

    /// RFC 3986 §2.3: all but unreserved characters are encoded.
    private static func percentEncoded(_ value: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in value.utf8 {
            if isOfIdentifier(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "~") {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func isOfIdentifier(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
