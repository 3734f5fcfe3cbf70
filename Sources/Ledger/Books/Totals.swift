/// The turnover of every kind of account, per currency. Debits and credits of a currency are equal by construction.
///
/// They have 128 bits, and so no bound that anybody could reach (``turnoverMax``). Bounded are a wallet and a single
/// grant.
package struct Totals: Hashable, Sendable {
    /// No turnover comes to this: there are fewer than 2^63 transfers, of less than 2^53 each.
    package static let turnoverMax: Int128 = 1 << 116

    package struct Turnover: Hashable, Sendable {
        package var debits: Int128 = 0
        package var credits: Int128 = 0
        package init(debits: Int128 = 0, credits: Int128 = 0) {
            self.debits = debits
            self.credits = credits
        }
        package var balance: Int128 { debits - credits }
    }

    private var turnovers: [Turnover]
    private static let kinds = AccountKind.allCases.count

    package init(currencies: Int) {
        turnovers = Array(repeating: Turnover(), count: currencies * Totals.kinds)
    }

    package subscript(currency: CurrencyID, kind: AccountKind) -> Turnover {
        get { turnovers[index(currency, kind)] }
        set { turnovers[index(currency, kind)] = newValue }
    }

    package func extended(to currencies: Int) -> Totals {
        var longer = self
        let missing = currencies * Totals.kinds - turnovers.count
        longer.turnovers.append(contentsOf: repeatElement(Turnover(), count: missing))
        return longer
    }

    private func index(_ currency: CurrencyID, _ kind: AccountKind) -> Int {
        (Int(currency) - 1) * Totals.kinds + Int(kind.rawValue) - 1
    }
}
