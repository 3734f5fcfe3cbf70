import Ledger

/// The turnover of every kind of account, of paid and of free lots apart.
struct ClassTotals {
    /// In the order of the rows of `total`.
    static let kinds: [(LotClass, AccountKind)] = [LotClass.free, .paid].flatMap { lotClass in
        AccountKind.allCases.sorted { $0.name < $1.name }.map { (lotClass, $0) }
    }

    private var paid: Totals
    private var free: Totals
    private(set) var currencies: Int

    init(currencies: Int) {
        paid = Totals(currencies: currencies)
        free = Totals(currencies: currencies)
        self.currencies = currencies
    }

    subscript(currency: CurrencyID, lotClass: LotClass, kind: AccountKind) -> Totals.Turnover {
        get { lotClass == .paid ? paid[currency, kind] : free[currency, kind] }
        set { if lotClass == .paid { paid[currency, kind] = newValue } else { free[currency, kind] = newValue } }
    }

    mutating func extend(to currencies: Int) {
        paid = paid.extended(to: currencies)
        free = free.extended(to: currencies)
        self.currencies = currencies
    }

    /// Of both classes together.
    var sums: Totals {
        var sums = Totals(currencies: currencies)
        for number in stride(from: 1, through: currencies, by: 1) {
            let currency = CurrencyID(truncatingIfNeeded: number)
            for kind in AccountKind.allCases {
                let (paid, free) = (paid[currency, kind], free[currency, kind])
                sums[currency, kind] = Totals.Turnover(
                    debits: paid.debits + free.debits, credits: paid.credits + free.credits)
            }
        }
        return sums
    }
}

extension Totals {
    /// Debits less credits of all of a currency's accounts: 0 where they are right.
    func balance(of currency: CurrencyID) -> Int128 {
        AccountKind.allCases.reduce(Int128(0)) { $0 &+ self[currency, $1].balance }
    }
}
