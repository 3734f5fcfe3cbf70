import Ledger
import Testing

/// No balance and no sum leaves ±(2^53 − 1).
@Suite struct LimitTests {
    private let max = Amount(Limits.amountMax)!
    private let refusal = Refusal(.balanceLimit(currency: "gems"))

    @Test func aWalletHoldsTheLimitAndNoMore() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "gemsMax"), "ann")
        #expect(try store.standing("ann") == [Limits.amountMax, 0])
        #expect(throws: refusal) { try store.grant("a", "ann", 1) }
        #expect(throws: refusal) { try store.credit(jws(2, "gems1"), "ann") }
        #expect(throws: refusal) { try store.notify("n", jws(2, "gems1"), "ann") }
    }

    @Test func theSumOfAllWalletsIsBoundedToo() throws {
        var store = AuditedStore()
        try store.grant("a", "ann", max)
        #expect(throws: refusal) { try store.credit(jws(1, "gems1"), "bob") }
        #expect(throws: refusal) { try store.grant("b", "bob", 1) }
        #expect(store.books.players.values.first { $0.name == "bob" }?.wallets.isEmpty == true)
        try store.grant("c", "bob", 1, of: "tickets")
    }

    @Test func whatWasEverGrantedBoughtAndSpentIsBounded() throws {
        var store = AuditedStore()
        try store.grant("a", "ann", max)
        try store.spend("b", "ann", max)
        #expect(throws: refusal) { try store.grant("c", "ann", 1) }
        try store.credit(jws(1, "gemsMax"), "ann")
        #expect(throws: refusal) { try store.spend("d", "ann", 1) }
        try store.credit(jws(1, "gemsMax", signed: 2, revoked: 100_000), "ann")
        #expect(throws: refusal) { try store.credit(jws(2, "gems1"), "ann") }
    }

    @Test func aQuantityThatOverflowsIsRefused() throws {
        var store = AuditedStore()
        #expect(throws: refusal) { try store.credit(jws(1, "gemsMax", quantity: 2), "ann") }
        #expect(throws: refusal) { try store.credit(jws(1, "gemsMax", quantity: 10_000), "ann") }
        #expect(throws: refusal) { try store.notify("n", jws(1, "gemsMax", quantity: 10_000)) }
        #expect(throws: refusal) { try store.notify("n", jws(1, "gemsMax", quantity: 2)) }
        #expect(store.index.rows.isEmptyButForCurrencies)
    }

    @Test func aReinstatementIsNoNewPurchase() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "gemsMax"), "ann")
        try store.credit(jws(1, "gemsMax", signed: 2, revoked: 100_000), "ann")
        #expect(try store.credit(jws(1, "gemsMax", signed: 3), "ann").outcome == .reinstated)
        #expect(try store.standing("ann") == [Limits.amountMax, 0])
    }

    /// Whether or not the request names the account.
    @Test(arguments: [nil, "ann"] as [AccountName?])
    func aReinstatementKeepsTheLimit(named: AccountName?) throws {
        var store = AuditedStore()
        try store.credit(jws(1, "gemsHalf"), "ann")
        try store.credit(jws(1, "gemsHalf", signed: 2, revoked: 100_000), "ann")
        try store.grant("a", "ann", max)
        #expect(throws: refusal) { try store.notify("n", jws(1, "gemsHalf", signed: 3), named) }
        #expect(try store.standing("ann") == [Limits.amountMax, 0])
        try store.spend("s", "ann", max)
        #expect(try store.notify("n", jws(1, "gemsHalf", signed: 3), named).purchase?.outcome == .reinstated)
    }

    /// A refund, a repetition and a stale JWS add nothing, so no limit concerns them.
    @Test func whatAddsNothingIsNeverRefused() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "gemsMax"), "ann")
        #expect(try store.credit(jws(1, "gemsMax"), "ann").outcome == .alreadyCredited)
        #expect(try store.credit(jws(1, "gemsMax", signed: 2, revoked: 1), "ann").outcome == .reversed)
        #expect(try store.credit(jws(1, "gemsMax"), "ann").outcome == .alreadyReversed)
    }
}
