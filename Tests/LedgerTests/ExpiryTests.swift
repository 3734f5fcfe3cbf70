import Ledger
import Testing

/// Holds and free lots whose time is over.
@Suite struct ExpiryTests {
    @Test func aHoldIsReleasedAtItsTimeAndNotBefore() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10)
        let hold = try store.hold("h", "ann", 4, timeout: 100)
        store.now = hold.expiresAt - 1
        #expect(try store.expire() == 0)
        #expect(try store.balance("ann").held == 4)
        store.now = hold.expiresAt
        // No timer has run: the question itself posts what is due.
        #expect(try store.balance("ann") == Balance(available: 10, paid: 0, version: 3))
        #expect(store.index.entry(3).kind == .holdExpiry && store.index.entry(3).time == hold.expiresAt)
        #expect(store.transfers(ofEntry: 3) == ["held→wallet 4 lot 1 of 2"])
        #expect(try store.expire() == 0)
    }

    @Test func anExpiredHoldAnswersSo() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10)
        let hold = try store.hold("h", "ann", 4, timeout: 100)
        store.now += 100
        let refusal = Refusal(.holdExpired(expiresAt: hold.expiresAt))
        #expect(throws: refusal) { try store.capture("c", "h") }
        #expect(throws: refusal) { try store.release("r", "h") }
        store.checkpoint()
        store.restart()
        #expect(throws: refusal) { try store.release("r2", "h") }
        #expect(throws: Refusal(refusal.reason, replayed: true)) { try store.capture("c", "h") }
        #expect(try store.hold("h", "ann", 4, timeout: 100).replayed)
        #expect(try store.balance("ann") == Balance(available: 10, version: 3))
    }

    /// Whatever asks first, nothing that has expired is seen or spent.
    @Test func everyCommandSettlesItsPlayerFirst() throws {
        func expiring() throws -> AuditedStore {
            var store = AuditedStore()
            try store.credit(jws(1), "ann")
            try store.hold("h", "ann", 20, timeout: 50)
            try store.grant("g", "ann", 10, expiresAt: store.now + 100)
            try store.spend("s", "ann", 1)
            store.now += 100
            return store
        }
        let balance = Balance(available: 100, paid: 100, version: 6)
        var store = try expiring()
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 100))) {
            try store.spend("a", "ann", 101)
        }
        #expect(try store.balance("ann") == balance)
        #expect(store.index.rows.entries.suffix(2).map(\.kind) == [.expiry, .holdExpiry])
        store = try expiring()
        #expect(try store.grant("b", "ann", 1).balances[0].balance.available == 101)
        store = try expiring()
        #expect(try store.hold("b", "ann", 1).balances[0].balance.available == 99)
        store = try expiring()
        #expect(try store.reverse("b", "s").balances[0].balance.available == 100)
        store = try expiring()
        #expect(try store.credit(jws(2), "ann").balances[0].balance.available == 200)
        store = try expiring()
        #expect(try store.notify("n", jws(2), "ann").purchase?.balances[0].balance.available == 200)
        store = try expiring()
        #expect(try store.view(1).grants[0].held == 0)
        store = try expiring()
        #expect(try store.expire() == 1)
        #expect(try store.balance("ann") == balance)
        store = try expiring()
        #expect(throws: Refusal(.unknownSpend, operation: 1)) {
            try store.atomic(
                "x",
                [
                    .grant(Grant(key: "x", account: "ann", currency: "gems", amount: 1)),
                    .reverse(Reversal(key: "x", spendKey: "none")),
                ])
        }
        // What was due stays posted though the atomic is refused.
        #expect(store.index.rows.entries.last?.kind == .holdExpiry)
        #expect(try store.balance("ann") == balance)
    }

    @Test func aLotExpiresAndPaidOnesDoNot() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.grant("g", "ann", 10, expiresAt: store.now + 100)
        try store.grant("t", "ann", 3, of: "tickets", expiresAt: store.now + 100)
        try store.grant("later", "ann", 5, expiresAt: store.now + 200)
        try store.spend("s", "ann", 4)
        store.restart(fromGenesis: true)
        store.now += 100
        #expect(try store.expire() == 1)
        #expect(store.transfers(ofEntry: 6) == ["wallet→expired 6 lot 2", "wallet→expired 3 lot 3"])
        #expect(store.index.entry(6).kind == .expiry)
        #expect(try store.standing("ann") == [105, 0] && store.total(.expired) == -6)
        store.now += 100
        #expect(try store.expire() == 1)
        #expect(try store.expire() == 0)
        #expect(try store.standing("ann") == [100, 0])
    }

    @Test func aGrantWhoseTimeIsOverIsGrantedAndExpired() throws {
        var store = AuditedStore()
        let receipt = try store.grant("g", "ann", 10, expiresAt: store.now)
        #expect(receipt.balances.map(\.balance) == [Balance(version: 1)])
        #expect(store.transfers(ofEntry: 1) == ["granted→wallet 10 lot 1", "wallet→expired 10 lot 1"])
        #expect(throws: Refusal(.keyReused)) { try store.grant("g", "ann", 10) }
        #expect(throws: Refusal(.keyReused)) { try store.grant("g", "ann", 10, expiresAt: store.now + 1) }
    }

    @Test func whatAHoldGivesBackToAnExpiredLotExpires() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10, expiresAt: store.now + 50)
        try store.hold("h", "ann", 8, timeout: 100)
        try store.hold("c", "ann", 2, timeout: 1_000)
        store.now += 60
        #expect(try store.balance("ann") == Balance(held: 10, version: 3))
        store.now += 60
        #expect(try store.expire() == 1)
        #expect(store.transfers(ofEntry: 4) == ["held→wallet 8 lot 1 of 2", "wallet→expired 8 lot 1"])
        #expect(try store.capture("d", "c", 1).balances[0].balance == Balance(version: 5))
        #expect(
            store.transfers(ofEntry: 5) == [
                "held→spent 1 lot 1 of 3", "held→wallet 1 lot 1 of 3", "wallet→expired 1 lot 1",
            ])
    }

    /// The earliest first, so many players as one batch takes, also those that are in no memory.
    @Test func aBacklogIsWorkedOffInBatches() throws {
        var store = AuditedStore()
        let count = Limits.expirationsPerBatchMax + 10
        for number in 0..<count {
            let account = AccountName("p\(number)")!
            try store.grant(RequestKey("g\(number)")!, account, 1, expiresAt: store.now + 10 + Int64(number))
        }
        store.checkpoint()
        store.forget()
        store.now += 10_000
        #expect(try store.expire() == Limits.expirationsPerBatchMax)
        #expect(try store.expire() == 10)
        #expect(try store.expire() == 0)
        #expect(store.total(.expired) == Int64(-count))
    }

    @Test func theClockGoingBackMakesNothingSpendableAgain() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10, expiresAt: store.now + 100)
        store.now += 150
        try store.grant("other", "bob", 1)
        store.now -= 100
        #expect(try store.standing("ann") == [0, 0])
    }

    @Test func whatIsLostIsDueAgain() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10, expiresAt: store.now + 100)
        store.now += 100
        store.lose([.expire])
        #expect(try store.expire() == 1)
        #expect(try store.standing("ann") == [0, 0])
    }
}
