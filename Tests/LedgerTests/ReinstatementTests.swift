import Ledger
import Testing

/// A refund reversed gives back exactly what the refund had taken, no more.
@Suite struct ReinstatementTests {
    struct Case: Sendable {
        var spent: Int64
        /// Granted between the refund and its reversal.
        var recovered: Int64
        /// What the reversal leaves revoked.
        var revoked: Int64
        var available: Int64
        var debt: Int64
        var writtenOff: Int64 = 0
    }

    /// 100 bought, refunded whole.
    @Test(arguments: [
        Case(spent: 0, recovered: 0, revoked: 0, available: 100, debt: 0),
        Case(spent: 0, recovered: 0, revoked: 40_000, available: 60, debt: 0),
        // The debt stands.
        Case(spent: 100, recovered: 0, revoked: 0, available: 0, debt: 0),
        Case(spent: 60, recovered: 0, revoked: 0, available: 40, debt: 0),
        Case(spent: 100, recovered: 0, revoked: 50_000, available: 0, debt: 50),
        Case(spent: 60, recovered: 0, revoked: 50_000, available: 0, debt: 10),
        // The debt was partly recovered.
        Case(spent: 100, recovered: 40, revoked: 0, available: 40, debt: 0),
        Case(spent: 100, recovered: 40, revoked: 50_000, available: 0, debt: 10),
        // The debt was recovered.
        Case(spent: 100, recovered: 100, revoked: 0, available: 100, debt: 0),
        Case(spent: 100, recovered: 100, revoked: 50_000, available: 50, debt: 0),
        Case(spent: 100, recovered: 150, revoked: 0, available: 150, debt: 0),
        Case(spent: 60, recovered: 70, revoked: 0, available: 110, debt: 0),
    ])
    func aDebtIsGivenBack(example: Case) throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        if let spent = Amount(example.spent) { try store.spend("s", "ann", spent) }
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        if let recovered = Amount(example.recovered) { try store.grant("g", "ann", recovered) }
        let receipt = try store.credit(jws(1, signed: 3, revoked: example.revoked), "ann")
        #expect(receipt.outcome == .reinstated)
        #expect(receipt.posted == [.posted("gems", (100_000 - example.revoked) / 1_000)])
        #expect(try store.standing("ann") == [example.available, example.debt])
    }

    @Test(arguments: [
        Case(spent: 100, recovered: 0, revoked: 0, available: 0, debt: 0),
        Case(spent: 100, recovered: 0, revoked: 50_000, available: 0, debt: 0, writtenOff: 50),
        Case(spent: 60, recovered: 0, revoked: 50_000, available: 0, debt: 0, writtenOff: 10),
        Case(spent: 60, recovered: 0, revoked: 0, available: 40, debt: 0),
        Case(spent: 100, recovered: 80, revoked: 0, available: 80, debt: 0),
        Case(spent: 60, recovered: 80, revoked: 20_000, available: 100, debt: 0),
    ])
    func aWriteOffIsUndone(example: Case) throws {
        var store = AuditedStore()
        try store.credit(jws(1, "coins100"), "ann")
        if let spent = Amount(example.spent) { try store.spend("s", "ann", spent, of: "coins") }
        try store.credit(jws(1, "coins100", signed: 2, revoked: 100_000), "ann")
        if let recovered = Amount(example.recovered) { try store.grant("g", "ann", recovered, of: "coins") }
        try store.credit(jws(1, "coins100", signed: 3, revoked: example.revoked), "ann")
        #expect(try store.standing("ann", "coins") == [example.available, 0])
        #expect(store.total(.writtenOff, "coins") == example.writtenOff)
    }

    @Test func theOwnDebtIsPaidBeforeOlderOnes() throws {
        var store = AuditedStore()
        for id in [1, 2] as [TransactionID] { try store.credit(jws(id), "ann") }
        try store.spend("s", "ann", 200)
        for id in [1, 2] as [TransactionID] { try store.credit(jws(id, signed: 2, revoked: 100_000), "ann") }
        try store.credit(jws(2, signed: 3), "ann")
        #expect(try store.view(1).grants[0].debt == 100)
        #expect(try store.view(2).grants[0].debt == 0)
        #expect(try store.standing("ann") == [0, 100])
    }

    @Test func whatIsGivenBackPaysTheDebtsOfOthers() throws {
        var store = AuditedStore()
        for id in [1, 2] as [TransactionID] { try store.credit(jws(id), "ann") }
        try store.spend("s", "ann", 200)
        for id in [1, 2] as [TransactionID] { try store.credit(jws(id, signed: 2, revoked: 100_000), "ann") }
        try store.grant("g", "ann", 130)
        #expect(try store.view(2).grants[0].debt == 70)
        try store.credit(jws(1, signed: 3), "ann")
        #expect(try store.view(2).grants[0].debt == 0)
        #expect(try store.balance("ann") == Balance(available: 30, paid: 30, version: 7))
    }

    @Test func aLotThatWasGivenBackCanBeSpentAndRefundedAgain() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.spend("s", "ann", 100)
        try store.credit(jws(1, signed: 2, revoked: 100_000), "ann")
        try store.grant("g", "ann", 100)
        try store.credit(jws(1, signed: 3), "ann")
        #expect(try store.spend("t", "ann", 100).drawn.map(\.transaction) == [1])
        #expect(try store.view(1).consumption == 100_000)
        store.checkpoint()
        store.forget()
        try store.credit(jws(1, signed: 4, revoked: 100_000), "ann")
        #expect(try store.standing("ann") == [0, 100])
    }
}
