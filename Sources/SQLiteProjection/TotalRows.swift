import GRDB
import Ledger

/// Writes the rows of `total`: what each currency's accounts turned over, by the class of lots.
final class TotalRows {
    private let writeTotal: PreparedStatement

    init(_ db: Database) throws {
        writeTotal = try PreparedStatement(
            db, "INSERT OR REPLACE INTO total (\(StoredTable.total.columns)) VALUES (?, ?, ?, ?, ?)")
    }

    func write(_ state: inout StoredState, after before: StoredState) throws {
        for number in stride(from: 1, through: state.currencies.count, by: 1) {
            let currency = CurrencyID(truncatingIfNeeded: number)
            for (lotClass, kind) in ClassTotals.kinds {
                let total = StoredTotal(state.totals, currency, lotClass, kind)
                if number <= before.currencies.count {
                    let old = StoredTotal(before.totals, currency, lotClass, kind)
                    if old == total { continue }
                    state.sums[.total].replace(RowHash { old.bind(to: &$0) }, by: RowHash { total.bind(to: &$0) })
                } else {
                    state.sums[.total].add(RowHash { total.bind(to: &$0) })
                }
                total.bind(to: writeTotal)
                try writeTotal.run()
            }
        }
    }
}

/// A row of `total`.
private struct StoredTotal: Equatable {
    var currency: CurrencyID
    var lotClass: LotClass
    var kind: AccountKind
    var turnover: Totals.Turnover

    init(_ totals: ClassTotals, _ currency: CurrencyID, _ lotClass: LotClass, _ kind: AccountKind) {
        self.currency = currency
        self.lotClass = lotClass
        self.kind = kind
        turnover = totals[currency, lotClass, kind]
    }

    func bind(to row: inout some RowSink) {
        row.bind(1, Int64(currency))
        row.bind(2, Stored.lotClasses.name(lotClass))
        row.bind(3, Stored.accountKinds.name(kind))
        row.bind(4, sum: turnover.debits)
        row.bind(5, sum: turnover.credits)
    }

    func bind(to statement: PreparedStatement) {
        var statement = statement
        bind(to: &statement)
    }
}
