internal import StrictJSON

/// A page of a customer's purchases: at most 20 (Apple's `HistoryResponse` and `RefundHistoryResponse`).
public struct TransactionPage: HistoryPage, Hashable, Sendable {
    /// The transactions, a JWS each, not verified yet.
    public let signedTransactions: [String]
    /// How to go on after it. The last page has one too: kept, it leads to what comes later (of a transaction history
    /// only where the order was ascending).
    public let revision: String?
    /// Whether there are further pages now.
    public let hasMore: Bool

    /// ``revision``.
    public var continuation: String? { revision }

    init(from reader: inout JSONReader) throws(JSONError) {
        var transactions: [String] = []
        var revision: String?
        var hasMore: Bool?
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "signedTransactions": transactions = try reader.strings()
            case "revision": revision = try reader.optionalString()
            case "hasMore": hasMore = try reader.bool()
            default: try reader.skip()
            }
        }
        guard let hasMore else { throw reader.missing("hasMore") }
        signedTransactions = transactions
        self.revision = revision
        self.hasMore = hasMore
    }
}

/// What an order has (Apple's `OrderLookupResponse`).
public struct OrderLookup: Hashable, Sendable {
    /// Whether the order id is one of this app's.
    public let isValid: Bool
    /// The transactions of the order, a JWS each, not verified yet; none where it is not valid.
    public let signedTransactions: [String]

    init(from reader: inout JSONReader) throws(JSONError) {
        var status: Int64?
        var transactions: [String] = []
        try reader.object { (reader, key) throws(JSONError) in
            switch key {
            case "status":
                status = try reader.integer()
                // Apple's `OrderLookupStatus` has these two values.
                guard status == 0 || status == 1 else { throw reader.fail("must be 0 or 1") }
            case "signedTransactions": transactions = try reader.strings()
            default: try reader.skip()
            }
        }
        guard let status else { throw reader.missing("status") }
        isValid = status == 0
        signedTransactions = transactions
    }
}
