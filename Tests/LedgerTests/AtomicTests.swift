import Ledger
import Testing

/// Operations that happen together, in their order, or not at all.
@Suite struct AtomicTests {
    private func spend(_ account: AccountName, _ amount: Amount, of currency: CurrencyCode = "gems") -> KeyedOperation {
        .spend(
            Spend(key: "x", account: account, debits: [CurrencyAmount(currency: currency, amount: amount)]))
    }

    private func grant(
        _ account: AccountName, _ amount: Amount, of currency: CurrencyCode = "gems", note: String? = nil
    ) -> KeyedOperation {
        .grant(Grant(key: "x", account: account, currency: currency, amount: amount, note: note))
    }

    private func hold(_ account: AccountName, _ amount: Amount) -> KeyedOperation {
        .hold(Hold(key: "x", account: account, currency: "gems", amount: amount, timeoutMilliseconds: 1_000))
    }

    @Test func aTradeIsOneEntry() throws {
        var store = AuditedStore()
        try store.grant("a", "ann", 10)
        try store.grant("b", "bob", 5, of: "tickets")
        let receipt = try store.atomic(
            "x",
            [
                spend("bob", 5, of: "tickets"), grant("ann", 5, of: "tickets", note: "a trade"), spend("ann", 7),
                grant("zoe", 7),
            ])
        #expect(receipt.entry == 3 && store.index.entry(3).kind == .atomic)
        #expect(store.index.entry(3).note == "a trade" && store.index.entry(3).key == "x")
        #expect(receipt.results.count == 4 && receipt.results[1] == .grant)
        #expect(receipt.balances.map(\.account) == ["ann", "bob", "zoe"])
        #expect(receipt.balances.map { $0.balances.map(\.balance.available) } == [[3, 5], [0], [7]])
        #expect(store.index.rows.transfers.filter { $0.entry == 3 }.count == 4)
        let again = try store.atomic(
            "x",
            [
                spend("bob", 5, of: "tickets"), grant("ann", 5, of: "tickets", note: "a trade"), spend("ann", 7),
                grant("zoe", 7),
            ])
        #expect(again.replayed && again.results == receipt.results && again.balances == receipt.balances)
        #expect(throws: Refusal(.keyReused)) { try store.atomic("x", [spend("ann", 7), grant("zoe", 7)]) }
    }

    /// An operation sees what those before it did, but no key of its own atomic.
    @Test func operationsAreDecidedInTheirOrder() throws {
        var store = AuditedStore()
        let receipt = try store.atomic("x", [grant("ann", 10), spend("ann", 4), hold("ann", 6)])
        #expect(receipt.balances.map { $0.balances.map(\.balance) } == [[Balance(held: 6, version: 1)]])
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 0), operation: 0)) {
            try store.atomic("y", [spend("ann", 4), grant("ann", 10)])
        }
        #expect(throws: Refusal(.unknownSpend, operation: 1)) {
            try store.atomic("z", [grant("ann", 10), .reverse(Reversal(key: "z", spendKey: "z"))])
        }
    }

    @Test func aRefusalUndoesEverything() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "starter"), "ann")
        try store.spend("s", "ann", 10)
        try store.hold("h", "ann", 20)
        let before = store.snapshot()
        let rows = store.index.rows
        let refusal = Refusal(.insufficientFunds(currency: "gems", available: 0), operation: 6)
        let operations = [
            grant("new", 5), .reverse(Reversal(key: "x", spendKey: "s")), .capture(Capture(key: "x", holdKey: "h")),
            spend("ann", 100), hold("ann", 5),
            .grant(Grant(key: "x", account: "ann", currency: "gems", amount: 3, expiresAt: store.now + 9)),
            spend("nobody", 1),
        ]
        #expect(throws: refusal) { try store.atomic("x", operations) }
        #expect(store.snapshot() == before)
        // The refusal is kept with its key, and the accounts that it names.
        #expect(store.index.rows.count == rows.count + 3 && store.index.rows.requests.last?.key == "x")
        #expect(store.index.rows.accounts.suffix(2).map(\.name) == ["new", "nobody"])
        #expect(store.books.players.values.filter { $0.id > 1 }.allSatisfy { $0.wallets.isEmpty })
        // The refusal is the key's answer, whatever has changed since.
        try store.grant("g", "nobody", 1)
        #expect(throws: Refusal(refusal.reason, operation: 6, replayed: true)) { try store.atomic("x", operations) }
        // What was undone can be done.
        #expect(try store.reverse("r", "s").returned.count == 1)
        #expect(try store.capture("c", "h").drawn.count == 1)
        store.now += 5_000
        #expect(try store.expire() == 0)
        store.checkpoint()
        let whole = store.snapshot()
        store.restart(fromGenesis: true)
        #expect(store.snapshot() == whole)
    }

    @Test func itsSpendsAndHoldsAreNamedByTheirIndex() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 100)
        try store.atomic("x", [spend("ann", 10), hold("ann", 5), spend("ann", 20), hold("ann", 6)])
        store.checkpoint()
        store.restart()
        #expect(throws: Refusal(.unknownSpend)) { try store.reverse("a", "x") }
        #expect(throws: Refusal(.unknownHold)) { try store.release("b", "x") }
        #expect(throws: Refusal(.unknownSpend)) { try store.reverse("c", "x", operation: 1) }
        #expect(throws: Refusal(.unknownHold)) { try store.release("d", "x", operation: 4) }
        #expect(try store.reverse("e", "x", operation: 2).returned.map(\.amount) == [20])
        #expect(try store.capture("f", "x", operation: 3, 1).drawn.map(\.amount) == [1])
        #expect(try store.release("r", "x", operation: 1).balances[0].balance.held == 0)
        #expect(try store.balance("ann") == Balance(available: 89, version: 5))
        try store.atomic("y", [spend("ann", 1), grant("ann", 1), hold("ann", 2)])
        #expect(try store.reverse("h", "y").returned.map(\.amount) == [1])
        #expect(try store.release("i", "y").balances[0].balance.held == 0)
    }

    @Test func aCaptureInAnAtomicCanBeGivenBack() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 100)
        try store.hold("h", "ann", 30)
        try store.atomic("x", [.capture(Capture(key: "x", holdKey: "h", amount: 20)), grant("bob", 1)])
        #expect(try store.reverse("r", "x").returned.map(\.amount) == [20])
        #expect(throws: Refusal(.holdClosed, operation: 1)) {
            try store.atomic("y", [grant("bob", 1), .release(Release(key: "y", holdKey: "h"))])
        }
        #expect(try store.standing("bob") == [1, 0])
    }

    @Test func twoOperationsOnOneHoldOrSpendSeeEachOther() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 100)
        try store.spend("s", "ann", 10)
        try store.hold("h", "ann", 10)
        #expect(throws: Refusal(.holdClosed, operation: 1)) {
            try store.atomic(
                "x", [.release(Release(key: "x", holdKey: "h")), .capture(Capture(key: "x", holdKey: "h"))])
        }
        #expect(throws: Refusal(.alreadyReversed(currency: "gems", reversible: 0), operation: 1)) {
            try store.atomic(
                "y", [.reverse(Reversal(key: "y", spendKey: "s")), .reverse(Reversal(key: "y", spendKey: "s"))])
        }
        #expect(try store.release("r", "h").balances[0].balance.available == 90)
    }

    /// An atomic is one entry, which raises the version of a wallet by one, with its first change of it.
    @Test func anExpectedVersionIsComparedWithWhatTheOperationsBeforeLeft() throws {
        func basket(_ key: RequestKey, _ versions: [Int64]) -> [KeyedOperation] {
            versions.map { version in
                .spend(
                    Spend(
                        key: key, account: "ann", debits: [CurrencyAmount(currency: "gems", amount: 1)],
                        expectedVersion: version))
            }
        }
        var store = AuditedStore()
        try store.grant("g", "ann", 100)
        #expect(throws: Refusal(.versionMismatch(version: 2), operation: 1)) {
            try store.atomic("a", basket("a", [1, 1]))
        }
        #expect(throws: Refusal(.versionMismatch(version: 2), operation: 2)) {
            try store.atomic("b", basket("b", [1, 2, 3]))
        }
        #expect(try store.atomic("c", basket("c", [1, 2, 2])).balances[0].balances[0].balance.version == 2)
    }

    @Test func differentRequestsHaveDifferentFingerprints() {
        let reversals = [
            Reversal(key: "k", spendKey: "s"), Reversal(key: "k", spendKey: "s", operation: 0),
            Reversal(key: "k", spendKey: "s", debits: []), Reversal(key: "k", spendKey: "t"),
            Reversal(key: "k", spendKey: "s", debits: [CurrencyAmount(currency: "gems", amount: 1)]),
        ].map { KeyedOperation.reverse($0).fingerprint(of: nil, testHash) }
        let holds = [
            Hold(key: "k", account: "a", currency: "g", amount: 1, timeoutMilliseconds: 1),
            Hold(key: "k", account: "a", currency: "g", amount: 2, timeoutMilliseconds: 1),
            Hold(key: "k", account: "a", currency: "g", amount: 1, timeoutMilliseconds: 2),
        ].flatMap { hold in [1, 2].map { KeyedOperation.hold(hold).fingerprint(of: $0, testHash) } }
        let captures = [
            Capture(key: "k", holdKey: "h"), Capture(key: "k", holdKey: "h", amount: 1),
            Capture(key: "k", holdKey: "h", operation: 1),
        ].map { KeyedOperation.capture($0).fingerprint(of: nil, testHash) }
        let releases = [Release(key: "k", holdKey: "h"), Release(key: "k", holdKey: "h", operation: 1)]
            .map { KeyedOperation.release($0).fingerprint(of: nil, testHash) }
        let atomics = [
            [spend("a", 1), grant("a", 1)], [grant("a", 1), spend("a", 1)], [spend("a", 1), hold("a", 1)],
            [spend("a", 1), grant("a", 2)],
        ].flatMap { operations in
            ([[1, 1], [1, 2], [2, 1]] as [[PlayerID?]]).map {
                Atomic(key: "k", operations: operations).fingerprint(of: $0, testHash)
            }
        }
        let all = reversals + holds + captures + releases + atomics
        #expect(Set(all).count == all.count)
        let debits = [CurrencyAmount(currency: "a", amount: 1), CurrencyAmount(currency: "b", amount: 2)]
        #expect(
            KeyedOperation.reverse(Reversal(key: "k", spendKey: "s", debits: debits)).fingerprint(of: nil, testHash)
                == KeyedOperation.reverse(Reversal(key: "l", spendKey: "s", debits: debits.reversed()))
                .fingerprint(of: nil, testHash))
    }
}
