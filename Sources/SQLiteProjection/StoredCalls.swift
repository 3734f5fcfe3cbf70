import GRDB
import Ledger

/// Reads how calls to the App Store Server API ended.
final class StoredCalls {
    private let select: PreparedStatement

    init(_ db: Database) throws {
        // SQLite takes the table's own order to be as good, but a purchase may have very many events.
        select = try PreparedStatement(
            db,
            """
            SELECT result, code, time FROM purchase_event INDEXED BY purchase_event_call
            WHERE transaction_id = ? AND kind = ? AND record = ? AND result IS NOT NULL AND time <= ?
            ORDER BY number DESC LIMIT 1
            """)
    }

    /// How the last one ended of those up to a time; `nil` where there is none.
    /// - Parameter record: the number of the notification that it answers, 0 where it answers none.
    func last(
        of transaction: TransactionID, _ kind: PurchaseView.Event.Kind, _ record: Int64,
        through time: Timestamp = Timestamp.max
    ) throws -> AppStoreCall.End? {
        try lastWithTime(of: transaction, kind, record, through: time)?.end
    }

    /// The same, with when it was recorded.
    func lastWithTime(
        of transaction: TransactionID, _ kind: PurchaseView.Event.Kind, _ record: Int64, through time: Timestamp
    ) throws -> (end: AppStoreCall.End, time: Timestamp)? {
        select.bind(1, transaction.number)
        select.bind(2, kind.rawValue)
        select.bind(3, record)
        select.bind(4, time)
        return try select.first { row in
            guard let end = AppStoreCall.End(name: row.text(0), code: row.optionalInteger(1)),
                Plausible.isTime(row.integer(2))
            else { throw StoreError.corrupt("a call about purchase \(transaction) has values that cannot be") }
            return (end, row.integer(2))
        }
    }
}
