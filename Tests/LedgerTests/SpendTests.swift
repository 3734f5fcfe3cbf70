import Ledger
import Testing

/// Which lots a spend draws.
@Suite struct SpendTests {
    /// Lots in the order opened: free 10, paid 100 at 1.00, free 20, paid 300 (three of 100) at 9.00, paid 100 at
    /// 1.00.
    private func wallet(_ order: SpendOrder) throws -> AuditedStore {
        var store = AuditedStore(.catalog(gems: order))
        try store.grant("g1", "ann", 10)
        try store.credit(jws(1, price: 1_000), "ann")
        try store.grant("g2", "ann", 20)
        try store.credit(jws(2, quantity: 3, price: 9_000), "ann")
        try store.credit(jws(3, price: 1_000), "ann")
        return store
    }

    @Test(
        arguments: [
            (.freeFirst, .any, 35, [[1, 10], [3, 20], [2, 5]]), (.freeFirst, .any, 5, [[1, 5]]),
            (.freeFirst, .paid, 101, [[2, 100], [4, 1]]),
            (.paidFirst, .any, 515, [[2, 100], [4, 300], [5, 100], [1, 10], [3, 5]]),
            (.oldest, .any, 131, [[1, 10], [2, 100], [3, 20], [4, 1]]), (.oldest, .paid, 101, [[2, 100], [4, 1]]),
            (.dearestFirst, .any, 401, [[4, 300], [2, 100], [5, 1]]),
            (.dearestFirst, .any, 501, [[4, 300], [2, 100], [5, 100], [1, 1]]), (.dearestFirst, .paid, 1, [[4, 1]]),
        ] as [(SpendOrder, Funds, Int64, [[Int64]])])
    func lotsAreDrawnInTheCurrencysOrder(order: SpendOrder, funds: Funds, amount: Int64, drawn: [[Int64]]) throws {
        var store = try wallet(order)
        let receipt = try store.spend("s", "ann", Amount(amount)!, funds: funds)
        #expect(receipt.drawn.map { [$0.lot, $0.amount.units] } == drawn)
        let free: Set<LotID> = [1, 3]
        #expect(receipt.drawn.allSatisfy { ($0.transaction == nil) == free.contains($0.lot) })
        #expect(try store.standing("ann") == [530 - amount, 0])
    }

    @Test func paidFundsLeaveFreeOnesAlone() throws {
        var store = try wallet(.freeFirst)
        try store.spend("s", "ann", 500, funds: .paid)
        #expect(try store.balance("ann") == Balance(available: 30, paid: 0, version: 6))
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 0))) {
            try store.spend("t", "ann", 1, funds: .paid)
        }
        try store.spend("u", "ann", 30)
    }

    @Test func severalCurrenciesAreOneEntryAllOrNothing() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "starter"), "ann")
        func spend(_ key: RequestKey, _ gems: Amount) -> Spend {
            Spend(
                key: key, account: "ann",
                debits: [
                    CurrencyAmount(currency: "tickets", amount: 5), CurrencyAmount(currency: "gems", amount: gems),
                ], note: "a hat")
        }
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 1_000))) {
            try store.spend(spend("a", 1_001))
        }
        let receipt = try store.spend(spend("b", 400))
        #expect(receipt.entry == 2)
        #expect(receipt.drawn.map(\.currency) == ["tickets", "gems"])
        #expect(receipt.drawn.map(\.transaction) == [1, 1])
        #expect(receipt.balances.map(\.currency) == ["tickets", "gems"])
        #expect(receipt.balances.map(\.balance.available) == [0, 600])
        #expect(store.index.entry(2).note == "a hat" && store.index.entry(2).key == "b")
    }

    @Test func theVersionCountsTheEntriesThatChangedTheWallet() throws {
        var store = try wallet(.freeFirst)
        #expect(try store.balance("ann").version == 5)
        // Three lots, one entry.
        #expect(try store.spend("s", "ann", 35).balances.map(\.balance.version) == [6])
        try store.grant("t", "ann", 1, of: "tickets")
        #expect(try store.balance("ann").version == 6)
        #expect(try store.balance("ann", "tickets").version == 1)
        #expect(throws: Refusal.self) { try store.spend("u", "ann", 9_999) }
        #expect(try store.balance("ann").version == 6)
    }

    @Test func balancesAreToldByCurrency() throws {
        var store = AuditedStore()
        guard case .balance(let none) = store.ask(.balance(account: "ann", currency: nil)) else { return }
        #expect(none == AccountBalances(account: "ann", balances: []))
        try store.grant("a", "ann", 1, of: "tickets")
        try store.credit(jws(1, "starter"), "ann")
        guard case .balance(let all) = store.ask(.balance(account: "ann", currency: nil)) else { return }
        #expect(all.balances.map(\.currency) == ["coins", "gems", "tickets"])
        #expect(all.balances.map(\.balance.available) == [30, 1_000, 6])
        #expect(all.balances.map(\.balance.free) == [0, 0, 1])
    }
}
