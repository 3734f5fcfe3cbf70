import GRDB
import Ledger

/// Writes the rows of `total_past` and `expiry_past`: what trial balances of the past begin with.
final class PastTotals {
    /// Rows are written after each transfer whose number is a multiple of this: few beside the transfers, and a report
    /// adds up no more than so many of these.
    static let interval: Int64 = 4_096

    private let insertTotal: RowInsertion
    private let insertExpiry: RowInsertion
    private let selectExpiry: PreparedStatement

    init(_ db: Database) throws {
        insertTotal = try RowInsertion(db, into: .totalPast)
        insertExpiry = try RowInsertion(db, into: .expiryPast)
        // What another entry gives back to a lot that has expired goes on at once: that lot was not in a wallet before.
        selectExpiry = try PreparedStatement(
            db,
            """
            SELECT min(l.expires_at)
            FROM transfer AS t JOIN entry AS e ON e.id = t.entry JOIN lot AS l ON l.id = t.lot
            WHERE t.id > ? AND t.id <= ? AND t.credit = 'expired' AND e.kind = 'expiry'
            """)
    }

    private struct Row {
        var transfer: TransferID
        var currency: CurrencyID
        var lotClass: LotClass
        var kind: AccountKind
        var turnover: Totals.Turnover
    }

    /// To be called when the entries, the transfers and the lots of a batch are in their tables.
    /// - Parameters:
    ///   - turnovers: of the batch, up to each transfer of it that is a multiple of the interval.
    ///   - before: the totals before the batch.
    func write(
        _ turnovers: [(transfer: TransferID, turnovers: Turnovers)], after before: ClassTotals, currencies: Int,
        _ sums: inout TableSums
    ) throws {
        if turnovers.isEmpty { return }
        var rows: [Row] = []
        var expiries: [(transfer: TransferID, time: Timestamp)] = []
        for (transfer, turnovers) in turnovers {
            for number in stride(from: 1, through: currencies, by: 1) {
                let currency = CurrencyID(truncatingIfNeeded: number)
                for (lotClass, kind) in ClassTotals.kinds {
                    let (old, new) = (before[currency, lotClass, kind], turnovers[currency, lotClass, kind])
                    // They do not leave their range: the totals after the batch did not.
                    let turnover = Totals.Turnover(debits: old.debits + new.debits, credits: old.credits + new.credits)
                    if turnover == Totals.Turnover() { continue }
                    rows.append(
                        Row(
                            transfer: transfer, currency: currency, lotClass: lotClass, kind: kind, turnover: turnover))
                }
            }
            selectExpiry.bind(1, transfer - PastTotals.interval)
            selectExpiry.bind(2, transfer)
            if let time = try selectExpiry.first({ $0.optionalInteger(0) }) ?? nil { expiries.append((transfer, time)) }
        }
        try insertTotal.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.transfer)
            parameters.bind(2, Int64(row.pointee.currency))
            parameters.bind(3, Stored.lotClasses.name(row.pointee.lotClass))
            parameters.bind(4, Stored.accountKinds.name(row.pointee.kind))
            parameters.bind(5, sum: row.pointee.turnover.debits)
            parameters.bind(6, sum: row.pointee.turnover.credits)
        }
        try insertExpiry.run(expiries, &sums) { parameters, row in
            parameters.bind(1, row.pointee.transfer)
            parameters.bind(2, row.pointee.time)
        }
    }
}
