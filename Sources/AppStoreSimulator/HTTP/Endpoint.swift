internal import NIOHTTP1

/// What the simulator offers of the App Store Server API 1.21, with method and path as Apple documents them.
enum Endpoint: CaseIterable {
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

    /// The path; `*` stands for what the request is about.
    var template: (method: HTTPMethod, path: String) {
        switch self {
        case .transactionInfo: (.GET, "/inApps/v1/transactions/*")
        case .appTransactionInfo: (.GET, "/inApps/v1/transactions/appTransactions/*")
        case .transactionHistory: (.GET, "/inApps/v2/history/*")
        case .refundHistory: (.GET, "/inApps/v2/refund/lookup/*")
        case .orderLookup: (.GET, "/inApps/v1/lookup/*")
        case .finishTransaction: (.POST, "/inApps/v1/transactions/*/finish")
        case .setAppAccountToken: (.PUT, "/inApps/v1/transactions/*/appAccountToken")
        case .sendConsumption: (.PUT, "/inApps/v2/transactions/consumption/*")
        case .notificationHistory: (.POST, "/inApps/v1/notifications/history")
        case .testNotification: (.POST, "/inApps/v1/notifications/test")
        case .testNotificationStatus: (.GET, "/inApps/v1/notifications/test/*")
        }
    }

    /// What a path says in place of the `*`, empty where there is none; `nil` where it is not of this endpoint.
    private func subject(of path: Substring) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let wanted = template.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == wanted.count else { return nil }
        var subject = ""
        for (part, wanted) in zip(parts, wanted) where part != wanted {
            guard wanted == "*", !part.isEmpty else { return nil }
            subject = String(part)
        }
        return subject
    }

    /// The endpoint of a path, and what is asked about.
    static func find(_ method: HTTPMethod, _ path: Substring) -> (endpoint: Endpoint, subject: String)? {
        for endpoint in allCases where endpoint.template.method == method {
            if let subject = endpoint.subject(of: path) { return (endpoint, subject) }
        }
        return nil
    }
}

/// The parameters of a request's target (RFC 3986 §3.4).
struct Query {
    private let items: [(name: String, value: String)]

    /// `nil` where a part is not percent-encoded UTF-8.
    init?(_ text: Substring) {
        var items: [(name: String, value: String)] = []
        for part in text.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Query.decoded(pair[0]), let value = Query.decoded(pair.count == 2 ? pair[1] : "") else {
                return nil
            }
            items.append((name: name, value: value))
        }
        self.items = items
    }

    /// The first value of a parameter; `nil` where it is not given.
    subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// All values of a parameter.
    func all(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
