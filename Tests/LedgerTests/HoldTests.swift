import Ledger
import Testing

/// Currency set aside until it is captured, released, or its time is over.
@Suite struct HoldTests {
    private func wallet() throws -> AuditedStore {
        var store = AuditedStore()
        try store.grant("g", "ann", 10)
        try store.credit(jws(1), "ann")
        return store
    }

    @Test func heldCurrencyIsNotAvailable() throws {
        var store = try wallet()
        let receipt = try store.hold("h", "ann", 30)
        #expect(receipt.expiresAt == store.index.entry(3).time + 1_000)
        #expect(store.transfers(ofEntry: 3) == ["wallet→held 10 lot 1", "wallet→held 20 lot 2"])
        #expect(try store.balance("ann") == Balance(available: 80, held: 30, paid: 80, version: 3))
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 80))) {
            try store.spend("s", "ann", 81)
        }
        #expect(try store.view(1).grants[0].held == 20)
        #expect(store.index.rows.holds.map(\.amount) == [30] && store.index.rows.holds.map(\.id) == [3])
        #expect(try store.hold("h", "ann", 30).replayed)
        #expect(throws: Refusal(.keyReused)) { try store.hold("h", "ann", 31) }
    }

    @Test func aCaptureSpendsInTheOrderDrawnAndReleasesTheRest() throws {
        var store = try wallet()
        try store.hold("h", "ann", 30)
        store.checkpoint()
        store.forget()
        let receipt = try store.capture("c", "h", 15)
        #expect(receipt.drawn.map { [$0.lot, $0.amount.units] } == [[1, 10], [2, 5]])
        #expect(receipt.drawn.map(\.transaction) == [nil, 1])
        #expect(
            store.transfers(ofEntry: 4) == [
                "held→spent 10 lot 1 of 3", "held→spent 5 lot 2 of 3", "held→wallet 15 lot 2 of 3",
            ])
        #expect(try store.balance("ann") == Balance(available: 95, held: 0, paid: 95, version: 4))
        #expect(store.total(.held) == 0 && store.total(.spent) == -15)
    }

    @Test func aCaptureOfAllLeavesNothingHeld() throws {
        var store = try wallet()
        try store.hold("h", "ann", 30)
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 30))) {
            try store.capture("much", "h", 31)
        }
        #expect(try store.capture("c", "h").drawn.reduce(0) { $0 + $1.amount.units } == 30)
        #expect(try store.balance("ann").held == 0)
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 30), replayed: true)) {
            try store.capture("much", "h", 31)
        }
    }

    @Test func aReleaseGivesAllBack() throws {
        var store = try wallet()
        try store.hold("h", "ann", 30)
        try store.hold("h2", "ann", 5)
        store.restart()
        let receipt = try store.release("r", "h")
        #expect(receipt.balances.map(\.balance) == [Balance(available: 105, held: 5, paid: 95, version: 5)])
        #expect(store.index.entry(5).kind == .release)
    }

    @Test func aHoldIsClosedOnce() throws {
        var store = try wallet()
        #expect(throws: Refusal(.unknownHold)) { try store.release("early", "h") }
        try store.hold("h", "ann", 30)
        try store.capture("c", "h", 1)
        for forgets in [false, true] {
            if forgets {
                store.checkpoint()
                store.restart()
            }
            let suffix = forgets ? "2" : "1"
            #expect(throws: Refusal(.holdClosed)) { try store.capture(RequestKey("a" + suffix)!, "h") }
            #expect(throws: Refusal(.holdClosed)) { try store.release(RequestKey("b" + suffix)!, "h") }
        }
        #expect(throws: Refusal(.unknownHold)) { try store.release("x", "g") }
        #expect(throws: Refusal(.unknownHold)) { try store.release("y", "h", operation: 0) }
        #expect(throws: Refusal(.unknownHold, replayed: true)) { try store.release("early", "h") }
        // Its time being over as well, a closed hold stays closed.
        store.now += 2_000
        #expect(throws: Refusal(.holdClosed)) { try store.release("late", "h") }
        #expect(throws: Refusal(.holdClosed, replayed: true)) { try store.release("b1", "h") }
    }

    @Test func guardsOfAHold() throws {
        var store = try wallet()
        #expect(throws: Refusal(.unknownCurrency(currency: "stars"))) { try store.hold("a", "ann", 1, of: "stars") }
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 0))) { try store.hold("b", "eve", 1) }
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 110))) {
            try store.hold("c", "ann", 111)
        }
        try store.grant("more", "ann", 100)
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 110), replayed: true)) {
            try store.hold("c", "ann", 111)
        }
        #expect(store.books.players.values.first { $0.name == "eve" }?.wallets.isEmpty == true)
    }

    /// A refund takes what is there and leaves the rest as debt; the hold is not touched, and pays when it is
    /// released.
    @Test func aRefundLeavesTheHoldAlone() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.hold("h", "ann", 60)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        #expect(try store.balance("ann") == Balance(available: 0, held: 60, debt: 60, paid: 0, version: 3))
        try store.release("r", "h")
        #expect(store.transfers(ofEntry: 4) == ["held→wallet 60 lot 1 of 2", "wallet→receivable 60 lot 1 for 1"])
        #expect(try store.balance("ann") == Balance(version: 4))
    }

    /// Whatever else is bought, there is room for what a hold gives back.
    @Test func aHoldCanAlwaysBeGivenBack() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "gemsHalf"), "ann")
        try store.hold("h", "ann", Amount(Limits.amountMax / 2)!)
        #expect(throws: Refusal(.balanceLimit(currency: "gems"))) {
            try store.grant("g", "ann", Amount(Limits.amountMax - Limits.amountMax / 2 + 1)!)
        }
        try store.grant("g2", "ann", Amount(Limits.amountMax - Limits.amountMax / 2)!)
        try store.release("r", "h")
        #expect(try store.standing("ann") == [Limits.amountMax, 0])
    }
}
