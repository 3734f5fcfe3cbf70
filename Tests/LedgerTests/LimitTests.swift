import Ledger
import LedgerTestKit
import Testing

/// A wallet never has, sets aside or owes more than 2^53 − 1, and a grant is never more than the catalog says.
/// Nothing that one player or one token does bounds what others may.
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

    /// What is set aside counts, so that it can be given back.
    @Test func whatIsHeldTakesRoomInItsWallet() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "gemsMax"), "ann")
        try store.hold("h", "ann", max)
        #expect(throws: refusal) { try store.grant("a", "ann", 1) }
        try store.release("r", "h")
        #expect(try store.standing("ann") == [Limits.amountMax, 0])
    }

    @Test func aFullWalletRefusesForItsOwnPlayerOnly() throws {
        var store = AuditedStore()
        try store.grant("a", "ann", max)
        #expect(throws: refusal) { try store.grant("b", "ann", 1) }
        try store.credit(jws(1, "gemsMax"), "bob")
        try store.grant("c", "cid", max)
        try store.grant("d", "ann", 1, of: "tickets")
        try store.spend("e", "bob", max)
        try store.grant("f", "bob", 1)
        #expect(throws: Refusal(.balanceLimit(currency: "gems"), replayed: true)) { try store.grant("b", "ann", 1) }
    }

    /// A wallet may be filled and emptied without end: sums over all players are never why something is refused.
    @Test func sumsPassSixtyFourBitsAndEverythingGoesOn() throws {
        var store = AuditedStore()
        let players = 1_100
        for number in 0..<players { try store.grant(RequestKey("g\(number)")!, AccountName("p\(number)")!, max) }
        let sum = Int128(players) * Int128(Limits.amountMax)
        #expect(sum > Int128(Int64.max))
        #expect(store.books.totals[2, .granted] == Totals.Turnover(debits: sum))
        #expect(store.books.totals[2, .wallet] == Totals.Turnover(credits: sum))

        try store.spend("s", "p0", max)
        try store.reverse("r", "s")
        try store.hold("h", "p1", max)
        try store.capture("c", "h")
        try store.credit(jws(1, "gemsMax"), "p1")
        try store.credit(jws(1, "gemsMax", signed: 2, revoked: 100_000), "p1")
        try store.grant("more", "somebody else", 1, expiresAt: store.now + 10)
        store.now += 10
        #expect(try store.standing("somebody else") == [0, 0])
        store.restart(fromGenesis: true)
        #expect(store.books.totals[2, .granted].debits == sum + 1)
        #expect(try store.grant("more", "somebody else", 1, expiresAt: store.now).replayed)
    }

    /// What one game server can do in a second, on purpose: turnovers grow by what one wallet has, again and again.
    @Test func aTokenThatTurnsOneWalletOverExhaustsNothing() throws {
        var store = AuditedStore()
        try store.grant("a", "ann", max)
        let rounds = 1_050
        for round in 0..<rounds {
            try store.hold(RequestKey("h\(round)")!, "ann", max)
            try store.release(RequestKey("r\(round)")!, RequestKey("h\(round)")!)
            if round.isMultiple(of: 500) { store.checkpoint() }
        }
        let turned = Int128(rounds) * Int128(Limits.amountMax)
        #expect(turned > Int128(Int64.max))
        #expect(store.books.totals[2, .held] == Totals.Turnover(debits: turned, credits: turned))
        try store.spend("s", "ann", max)
        try store.grant("b", "bob", max)
        #expect(store.books.totals[2, .wallet].balance == -Int128(Limits.amountMax))
    }

    @Test func aQuantityThatOverflowsIsRefused() throws {
        var store = AuditedStore()
        #expect(throws: refusal) { try store.credit(jws(1, "gemsMax", quantity: 2), "ann") }
        #expect(throws: refusal) { try store.credit(jws(1, "gemsMax", quantity: 10_000), "ann") }
        #expect(throws: refusal) { try store.notify("n", jws(1, "gemsMax", quantity: 10_000)) }
        #expect(throws: refusal) { try store.notify("n", jws(1, "gemsMax", quantity: 2)) }
        #expect(store.index.rows.isEmptyButForCurrencies)
    }

    // MARK: Refunds

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

    /// A refund is never refused: what a wallet cannot owe is written off, and that is undone first.
    @Test func aWalletOwesTheLimitAndTheRestIsWrittenOff() throws {
        var store = AuditedStore()
        for number in 1...2 {
            try store.credit(jws(TransactionID(number: Int64(number)), "gemsMax"), "ann")
            try store.spend(RequestKey("s\(number)")!, "ann", max)
        }
        try store.credit(jws(3, "gems100"), "ann")
        try store.spend("s3", "ann", 90)
        try store.credit(jws(1, "gemsMax", signed: 2, revoked: 99_999), "ann")
        let debt = try store.standing("ann")[1]
        let room = Limits.amountMax - debt
        #expect(debt > 0 && room > 0 && store.total(.writtenOff) == 0)

        try store.credit(jws(2, "gemsMax", signed: 2, revoked: 100_000), "ann")
        #expect(try store.standing("ann") == [0, Limits.amountMax])
        #expect(store.total(.writtenOff) == Limits.amountMax - room)
        try store.credit(jws(3, "gems100", signed: 2, revoked: 100_000), "ann")
        #expect(try store.standing("ann") == [0, Limits.amountMax])
        #expect(store.total(.writtenOff) == Limits.amountMax - room + 100)

        try store.credit(jws(3, "gems100", signed: 3), "ann")
        #expect(store.total(.writtenOff) == Limits.amountMax - room)
        try store.credit(jws(2, "gemsMax", signed: 3), "ann")
        #expect(store.total(.writtenOff) == 0)
        #expect(try store.standing("ann") == [0, debt])
        try store.grant("g", "bob", max)
    }

    /// What a lot's refunds add up to is bounded too, and it is the reinstatement that is refused, not the refund.
    @Test func aPurchaseIsReinstatedSoOftenAndNoMore() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "gemsMax"), "ann")
        try store.spend("s", "ann", max)
        var rounds: Int64 = 0
        var isRefused = false
        while !isRefused {
            try store.credit(jws(1, "gemsMax", signed: 2 * rounds + 2, revoked: 100_000), "ann")
            #expect(try store.standing("ann") == [0, Limits.amountMax])
            rounds += 1
            do {
                try store.credit(jws(1, "gemsMax", signed: 2 * rounds + 1), "ann")
            } catch let thrown as Refusal {
                #expect(thrown == refusal)
                isRefused = true
            }
        }
        #expect(rounds == 65)
        let lot = store.books.players.values.first?.wallets.first?.lots.first
        #expect(lot.map { $0.indebted < 1 << 60 && $0.repaid < 1 << 60 } == true)
        try store.credit(jws(2, "gemsMax"), "ann")
        #expect(try store.standing("ann") == [0, 0])
        try store.credit(jws(3, "gemsMax"), "ann")
        #expect(try store.standing("ann") == [Limits.amountMax, 0])
    }

    // MARK: One grant

    @Test func aGrantIsAtMostWhatTheCatalogSays() throws {
        var store = AuditedStore(.catalog(grantMax: 500))
        try store.grant("a", "ann", 500)
        let gems = Refusal(.grantLimit(currency: "gems", grantMax: 500))
        #expect(throws: gems) { try store.grant("b", "ann", 501) }
        #expect(throws: gems) { try store.grant("c", "ann", max) }
        try store.grant("d", "ann", 1_000_000_000, of: "tickets")
        #expect(throws: Refusal(.grantLimit(currency: "tickets", grantMax: 1_000_000_000))) {
            try store.grant("e", "ann", 1_000_000_001, of: "tickets")
        }
        #expect(throws: Refusal(.unknownCurrency(currency: "stars"))) { try store.grant("f", "ann", max, of: "stars") }
        #expect(try store.standing("ann") == [500, 0])
        // Purchases are the catalog's own.
        try store.credit(jws(1, "gemsHalf"), "ann")
    }

    @Test func aGrantWithinAnAtomicIsBoundedAsWell() throws {
        var store = AuditedStore(.catalog(grantMax: 500))
        func grant(_ units: Amount) -> KeyedOperation {
            .grant(Grant(key: "a", account: "ann", currency: "gems", amount: units))
        }
        let refusal = Refusal(.grantLimit(currency: "gems", grantMax: 500), operation: 1)
        #expect(throws: refusal) { try store.atomic("a", [grant(500), grant(501)]) }
        #expect(try store.standing("ann") == [0, 0])
        try store.atomic("b", [grant(500), grant(500)])
        #expect(try store.standing("ann") == [1_000, 0])
    }

    /// One key, one answer, for ever, whatever the catalog says by now.
    @Test func anotherCatalogChangesNoAnswer() throws {
        var store = AuditedStore(.catalog(grantMax: 500))
        try store.grant("a", "ann", 400)
        #expect(throws: Refusal(.grantLimit(currency: "gems", grantMax: 500))) { try store.grant("b", "ann", 600) }
        store.checkpoint()
        store.forget()
        store.restart(.catalog(grantMax: 300))
        #expect(try store.grant("a", "ann", 400).replayed)
        #expect(throws: Refusal(.grantLimit(currency: "gems", grantMax: 300))) { try store.grant("c", "ann", 400) }
        store.restart(.catalog(grantMax: 1_000))
        #expect(throws: Refusal(.grantLimit(currency: "gems", grantMax: 500), replayed: true)) {
            try store.grant("b", "ann", 600)
        }
        try store.grant("d", "ann", 600)
        #expect(try store.standing("ann") == [1_000, 0])
        // Rows of the past are applied, not decided again.
        store.restart(.catalog(grantMax: 1), fromGenesis: true)
        #expect(try store.standing("ann") == [1_000, 0])
    }
}
