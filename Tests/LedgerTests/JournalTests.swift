import Ledger
import Testing

/// The rows that a batch appends. (That they are dense, chained and complete is checked after every request of every
/// test by the auditor.)
@Suite struct JournalTests {
    @Test func anEntryIsNeverEarlierThanTheOneBefore() throws {
        var store = AuditedStore()
        for (now, time) in [(100, 100), (50, 100), (100, 100), (101, 101), (0, 101)] as [(Timestamp, Timestamp)] {
            store.now = now
            let entry = try store.grant(RequestKey("k\(store.index.rows.entries.count)")!, "ann", 1).entry
            #expect(store.index.entry(entry).time == time)
        }
        try store.notify("n", jws(1))
        #expect(store.index.rows.evidence.map(\.time) == [101])
        #expect(store.index.rows.notifications.map(\.time) == [101])
        store.restart()
        try store.grant("last", "ann", 1)
        #expect(store.index.rows.entries.last?.time == 101)
    }

    @Test func aClosedPeriodGetsNoMoreEntries() {
        var books = Books(
            catalog: .standard, known: [], position: LastNumbers(), totals: Totals(currencies: 0), hash: testHash)
        books.close(through: 500)
        #expect(books.entryTime(400) == 501)
        books.close(through: 300)
        #expect(books.entryTime(400) == 501)
        _ = books.decide(.grant(Grant(key: "k", account: "ann", currency: "gems", amount: 1)), at: 400)
        #expect(books.rows.entries.map(\.time) == [501])
    }

    @Test func aCreditAppendsItsPurchaseItsEvidenceAndOneTransfer() throws {
        var store = AuditedStore()
        try store.credit(jws(7, quantity: 3, signed: 5, token: "ann"))
        let rows = store.index.rows
        #expect(rows.accounts.map(\.name) == ["ann"])
        #expect(rows.entries.map(\.kind) == [.credit] && rows.entries.map(\.transaction) == [7])
        #expect(rows.transfers.map(\.amount) == [300] && rows.transfers.map(\.lot) == [1])
        #expect(rows.purchases.map(\.facts.transaction) == [7] && rows.purchases.map(\.account) == [1])
        #expect(rows.purchases.map(\.entry) == [1] && rows.purchases.map(\.evidence) == [1])
        #expect(rows.evidence.map(\.isFirst) == [true] && rows.evidence.map(\.signedDate) == [5])
        #expect(rows.evidence.map(\.entry) == [1])
        #expect(rows.requests.isEmpty && rows.notifications.isEmpty && rows.assignments.isEmpty)
    }

    @Test func whatChangesNothingAppendsNothing() throws {
        var store = AuditedStore()
        try store.credit(jws(1, signed: 5), "ann")
        try store.spend("s", "ann", 10)
        try store.notify("n", jws(1, signed: 5))
        let rows = store.index.rows
        try store.credit(jws(1, signed: 5), "ann")
        try store.credit(jws(1, signed: 4, revoked: 100_000), "ann")
        try store.notify("n", jws(1, signed: 5))
        try store.spend("s", "ann", 10)
        #expect(throws: Refusal.self) { try store.spend("s", "ann", 11) }
        #expect(throws: Refusal.self) { try store.credit(jws(1, quantity: 2), "ann") }
        _ = try store.balance("bob")
        _ = try store.view(1)
        #expect(store.index.rows.count == rows.count)
    }

    @Test func refusalsAreRecordedOnlyWithAKey() throws {
        var store = AuditedStore()
        #expect(throws: Refusal.self) { try store.credit(jws(1)) }
        #expect(throws: Refusal.self) { try store.spend("s", "ann", 1) }
        #expect(store.index.rows.requests.map(\.key) == ["s"])
        #expect(store.index.rows.requests.map(\.entry) == [nil])
        // With the account that it names.
        #expect(store.index.rows.entries.isEmpty && store.index.rows.accounts.map(\.name) == ["ann"])
    }

    /// Each wallet's transfers form a chain of their own.
    @Test func aTransferNamesTheOneBeforeItInItsWallet() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "starter"), "ann")
        try store.credit(jws(2), "bob")
        try store.grant("g", "ann", 5)
        try store.spend("s", "ann", 7)
        #expect(store.index.rows.transfers.map(\.previous) == [0, 0, 0, 0, 2, 5, 6])
        #expect(store.index.rows.entries.map(\.firstTransfer) == [1, 4, 5, 6])
    }

    @Test func aWriteOffStandsInTheWalletsChain() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "coins100"), "ann")
        try store.spend("s", "ann", 100, of: "coins")
        try store.credit(jws(1, "coins100", signed: 2, revoked: 100_000), "ann")
        #expect(store.index.rows.transfers.map(\.previous) == [0, 1, 2])
    }

    /// In one batch each request sees what those before it did.
    @Test func aBatchIsDecidedInItsOrder() {
        var store = AuditedStore()
        let spend = Spend(key: "s", account: "ann", debits: [CurrencyAmount(currency: "gems", amount: 60)])
        var second = spend
        second.key = "t"
        let outcomes = store.commit([
            .spend(spend), .credit(jws(1), account: "ann"), .spend(spend), .spend(second),
            .credit(jws(1, signed: 2, revoked: 100_000), account: "ann"), .credit(jws(1), account: "ann"),
            .balance(account: "ann", currency: nil),
        ])
        #expect(store.auditor.problems.isEmpty)
        guard case .refused(let first) = outcomes[0], case .purchase(let credited) = outcomes[1],
            case .refused(let again) = outcomes[2], case .spend(let spent) = outcomes[3],
            case .purchase(let reversed) = outcomes[4], case .purchase(let stale) = outcomes[5],
            case .balance(let balances) = outcomes[6]
        else {
            Issue.record("\(outcomes)")
            return
        }
        #expect(!first.replayed && again == Refusal(first.reason, replayed: true))
        #expect([credited.outcome, reversed.outcome, stale.outcome] == [.credited, .reversed, .alreadyReversed])
        #expect(spent.balances.map(\.balance.available) == [40])
        #expect(balances.balances.map(\.balance.debt) == [60])
    }

    @Test func aBatchThatIsLostLeavesNothing() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        let before = store.snapshot()
        let rows = store.index.rows.count
        let grant = Grant(key: "g", account: "bob", currency: "gems", amount: 1)
        store.lose([.credit(jws(2), account: "ann"), .grant(grant), .notify(notification("n", nil), account: nil)])
        #expect(store.snapshot() == before)
        #expect(store.index.rows.count == rows)
        #expect(try store.credit(jws(2), "ann").outcome == .credited)
        #expect(try !store.grant("g", "bob", 1).replayed)
        #expect(try !store.notify("n", nil).duplicate)
    }

    @Test func newCurrenciesAreNumberedAfterTheKnownOnes() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 1)
        #expect(store.index.rows.currencies.map(\.code) == ["coins", "gems", "tickets"])
        store.restart(Catalog(currencies: ["axes": CurrencySettings(), "gems": CurrencySettings()], products: [:]))
        try store.grant("h", "ann", 1, of: "axes")
        #expect(store.index.rows.currencies.map(\.code) == ["coins", "gems", "tickets", "axes"])
        #expect(store.index.rows.currencies.map(\.id) == [1, 2, 3, 4])
        // One that the catalog no longer lists keeps its balances.
        try store.grant("i", "ann", 1, of: "tickets")
        #expect(try store.standing("ann", "tickets") == [1, 0])
    }
}

extension BlockRows {
    /// How many rows there are.
    var count: Int {
        currencies.count + accounts.count + entries.count + transfers.count + purchases.count + evidence.count
            + assignments.count + notifications.count + requests.count + holds.count + lots.count + headers.count
    }
}
