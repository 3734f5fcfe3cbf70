import Ledger
import Testing

/// Corrections by hand: entries of their own, which edit nothing.
@Suite struct AdjustmentTests {
    @Test func aCorrectionAddsALotWithoutAPrice() throws {
        var store = AuditedStore()
        let receipt = try store.adjust("a", "ann", 30, .paid, reason: "credited too little")
        #expect(receipt.entry == 1 && !receipt.replayed && receipt.balances.map(\.balance.paid) == [30])
        let again = try store.adjust("a", "ann", 30, .paid, reason: "credited too little")
        #expect(again.replayed && again.entry == 1)
        let rows = store.index.rows
        #expect(rows.lots.map(\.lotClass) == [.paid] && rows.lots.map(\.price) == [0])
        #expect(rows.adjustments.map(\.reason) == ["credited too little"] && rows.entries[0].kind == .adjustment)
        #expect(rows.adjustments[0].approver.map { rows.actors[Int($0) - 1].name } == "another")
        #expect(store.total(.adjusted) == 30 && store.total(.granted) == 0 && store.total(.purchased) == 0)
    }

    @Test func aCorrectionTakesOfItsClassTheOldestFirstAndNeverMoreThanIsThere() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.grant("g", "ann", 40)
        try store.credit(jws(2), "ann")
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 40))) {
            try store.adjust("a", "ann", -41)
        }
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 40), replayed: true)) {
            try store.adjust("a", "ann", -41)
        }
        try store.adjust("b", "ann", -40)
        try store.adjust("c", "ann", -130, .paid)
        #expect(try store.balance("ann").available == 70)
        #expect(try store.view(1).grants.map(\.adjusted) == [100] && store.view(2).grants.map(\.adjusted) == [30])
        #expect(store.total(.adjusted) == -170)
        // What it took is no consumption.
        #expect(try store.view(1).consumption == 0)
        store.restart()
        #expect(try store.balance("ann").available == 70)
    }

    @Test func whatIsAddedPaysDebts() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.spend("s", "ann", 100)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        try store.adjust("a", "ann", 120)
        #expect(try store.standing("ann") == [20, 0])
    }

    @Test func otherAmountsClassesAndReasonsAreOtherRequests() throws {
        var store = AuditedStore()
        try store.adjust("a", "ann", 30)
        #expect(throws: Refusal(.keyReused)) { try store.adjust("a", "ann", 31) }
        #expect(throws: Refusal(.keyReused)) { try store.adjust("a", "ann", 30, .paid) }
        #expect(throws: Refusal(.keyReused)) { try store.adjust("a", "ann", 30, reason: "another") }
        #expect(throws: Refusal(.keyReused)) { try store.adjust("a", "bob", 30) }
        #expect(throws: Refusal(.unknownCurrency(currency: "gold"))) { try store.adjust("b", "ann", 1, of: "gold") }
        #expect(throws: Refusal(.balanceLimit(currency: "gems"))) { try store.adjust("c", "ann", Limits.amountMax) }
    }
}
