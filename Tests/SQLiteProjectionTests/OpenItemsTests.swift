import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

private let gems = CurrencyCode("gems")!

/// The pages of open lots and holds where something has run out that nobody posted: they are those of the balance.
@Suite struct OpenItemsTests {
    private let holder = Workload.account(1)

    private func hold(_ amount: Int64) throws -> Command {
        .hold(
            Hold(
                key: try #require(RequestKey("hold")), account: holder, currency: gems,
                amount: try #require(Amount(amount)), timeoutMilliseconds: 5_000))
    }

    private func grant(_ key: String, _ amount: Int64, expiresAt: Timestamp? = nil) throws -> Command {
        .grant(
            Grant(
                key: try #require(RequestKey(key)), account: holder, currency: gems,
                amount: try #require(Amount(amount)), expiresAt: expiresAt))
    }

    /// Lot 1, of 70, runs out at 1,000; 30 of it are held from 2 to 5,002. Lot 3, of 5, never does.
    private func store() throws -> Ledger {
        var store = try Ledger(TemporaryFolder())
        try store.run(grant("a", 70, expiresAt: 1_000), at: 1)
        try store.run(hold(30), at: 2)
        try store.run(grant("b", 5), at: 3)
        return store
    }

    /// What is open at a time, which is what a balance of that time says.
    private func open(_ store: Ledger, at time: Timestamp) throws -> (lots: [OpenLot], holds: [OpenHoldView]) {
        let query = OpenItemsQuery(account: holder)
        let lots = try store.projection.lots(query, at: time).items
        let holds = try store.projection.holds(query, at: time).items
        // What it posts is never projected.
        var asked = store
        guard case .balance(let told) = try asked.decide([.balance(account: holder, currency: gems)], at: time)[0]
        else {
            Issue.record("a balance is refused")
            return (lots, holds)
        }
        let balance = try #require(told.balances.first).balance
        #expect(lots.reduce(0) { $0 + $1.remaining } == balance.available)
        #expect(lots.reduce(0) { $0 + $1.held } == balance.held)
        #expect(lots.reduce(0) { $0 + $1.debt } == balance.debt)
        #expect(holds.reduce(0) { $0 + $1.amount } == balance.held)
        return (lots, holds)
    }

    @Test func ofALotThatHasRunOutOnlyWhatIsHeldIsOpen() throws {
        let store = try store()
        let before = try open(store, at: 999).lots
        #expect(before.map(\.lot) == [3, 1] && before.map(\.remaining) == [5, 40] && before.map(\.held) == [0, 30])
        for time in [1_000, 5_001] as [Timestamp] {
            let (lots, holds) = try open(store, at: time)
            #expect(lots.map(\.lot) == [3, 1] && lots.map(\.remaining) == [5, 0] && lots.map(\.held) == [0, 30])
            #expect(holds.map(\.amount) == [30])
        }
    }

    @Test func aHoldThatIsOverIsNotOpenAndWhatItHeldIsBackInItsLots() throws {
        let late = try open(try store(), at: 5_002)
        #expect(late.lots.map(\.lot) == [3] && late.holds.isEmpty)
        var store = try Ledger(TemporaryFolder())
        try store.run(grant("a", 70), at: 1)
        try store.run(hold(30), at: 2)
        #expect(try open(store, at: 5_001).lots.map(\.remaining) == [40])
        let (lots, holds) = try open(store, at: 5_002)
        #expect(lots.map(\.remaining) == [70] && lots.map(\.held) == [0] && holds.isEmpty)
    }

    @Test func whatComesBackFromAHoldPaysWhatIsOwed() throws {
        var store = try Ledger(TemporaryFolder())
        try store.run(.credit(Workload.purchase(2, signedDate: 1), account: holder), at: 1)
        try store.run(hold(200), at: 2)
        let debit = CurrencyAmount(currency: gems, amount: try #require(Amount(300)))
        try store.run(
            .spend(Spend(key: try #require(RequestKey("spend")), account: holder, debits: [debit])), at: 3)
        try store.run(.credit(Workload.purchase(2, signedDate: 2, revoked: 100_000), account: holder), at: 4)
        let owed = try open(store, at: 5_001).lots.reduce(0) { $0 + $1.debt }
        let left = try open(store, at: 5_002).lots.reduce(0) { $0 + $1.debt }
        #expect(owed > 0 && left == owed - 200)
    }

    @Test func aPageEndsBeforeTheOpenOnesThatFollowAndNotBeforeThoseThatHaveRunOut() throws {
        let store = try store()
        func page(_ time: Timestamp, before: Int64? = nil) throws -> OpenItemsPage<OpenLot> {
            try store.projection.lots(OpenItemsQuery(account: holder, limit: 1, before: before), at: time)
        }
        #expect(try page(1_000).items.map(\.lot) == [3] && page(1_000).next == 3)
        #expect(try page(1_000, before: 3).items.map(\.lot) == [1] && page(1_000, before: 3).next == nil)
        #expect(try page(5_002).items.map(\.lot) == [3] && page(5_002).next == nil)
        #expect(try page(5_002).entry == 3, "nothing is posted by a read")
    }
}
