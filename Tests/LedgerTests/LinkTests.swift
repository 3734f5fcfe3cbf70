import Ledger
import LedgerTestKit
import Testing

/// Tokens that become an account's: what they had, what comes under them later, and what names them.
@Suite struct LinkTests {
    private let guest = AppAccountToken("5F0E8C2A-0000-4000-8000-00000000000A")!
    private let second = AppAccountToken("5f0e8c2a-0000-4000-8000-00000000000b")!
    private var name: AccountName { guest.account }

    @Test func lotsMoveWithTheirClassPriceAndPurchaseInOneEntry() throws {
        var store = AuditedStore()
        try store.credit(jws(1, price: 990, token: name))
        try store.grant("g", name, 50, expiresAt: store.now + 1_000)
        try store.grant("own", "ann", 5)
        let receipt = try store.link(guest, to: "ann")
        #expect(receipt.outcome == .linked && receipt.account == "ann" && receipt.entry == 4)
        #expect(receipt.moved.map(\.balance) == [Balance(available: 150, paid: 100, version: 2)])
        #expect(receipt.balances.map(\.balance) == [Balance(available: 155, paid: 100, version: 2)])
        #expect(
            store.transfers(ofEntry: 4) == [
                "wallet→moved 100 lot 1", "wallet→moved 50 lot 2", "moved→wallet 100 lot 1", "moved→wallet 50 lot 2",
            ])
        let lots = try #require(store.player("ann")?.wallets[0].open)
        #expect(lots.map(\.id) == [1, 2, 3], "the oldest first, whoever had it")
        #expect(lots.map(\.price) == [990, 0, 0] && lots.map(\.transaction) == [1, nil, nil])
        #expect(lots[1].expiresAt == store.now + 1_000)
        #expect(try store.balance(name) == store.balance("ann"), "the token is another name of the account")
        store.now += 1_000
        #expect(try store.balance("ann").available == 105, "what expires, expires there")
    }

    @Test func linkingAgainIsTheSameAnswerAndToAnotherAccountIsRefused() throws {
        var store = AuditedStore()
        try store.grant("g", name, 50)
        let first = try store.link(guest, to: "ann")
        let rows = store.index.rows.links.count
        let again = try store.link(guest, to: "ann")
        #expect(again.outcome == .alreadyLinked && again.entry == first.entry && again.moved.isEmpty)
        #expect(again.balances == first.balances && store.index.rows.links.count == rows)
        #expect(throws: Refusal(.accountMismatch)) { try store.link(guest, to: "bob") }
        #expect(try store.link(guest, to: name).account == "ann", "the token itself is a name of the account")
    }

    @Test func ofATokenThatWasNeverSeenOnlyTheLinkIsRecorded() throws {
        var store = AuditedStore()
        let receipt = try store.link(guest, to: "ann")
        #expect(receipt.outcome == .linked && receipt.entry == nil && receipt.balances.isEmpty)
        #expect(try store.credit(jws(1, token: name)).account == "ann")
        #expect(try store.credit(jws(1, token: name), "ann").outcome == .alreadyCredited)
        #expect(try store.credit(jws(2, token: name), "ann").account == "ann")
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(3, token: name), "bob") }
        try store.spend("s", name, 150)
        #expect(try store.balance("ann").available == 50)
    }

    @Test func refundsFollowTheLots() throws {
        var store = AuditedStore()
        try store.credit(jws(1, token: name))
        try store.credit(jws(2, token: name))
        try store.spend("s", name, 150)
        try store.link(guest, to: "ann")
        #expect(try store.credit(jws(1, signed: 2, revoked: 100_000, token: name)).outcome == .reversed)
        #expect(try store.standing("ann") == [0, 50], "50 of the other purchase were there")
        #expect(try store.notify("n", jws(2, signed: 2, revoked: 50_000)).purchase?.account == "ann")
        #expect(try store.standing("ann") == [0, 100])
        #expect(try store.credit(jws(1, signed: 3, token: name)).outcome == .reinstated)
        #expect(try store.standing("ann") == [0, 0])
        #expect(try store.view(1).account == "ann")
    }

    /// Nothing of the guest's is left but used lots, so nothing moves; what becomes of these is the account's all the
    /// same.
    @Test func usedLotsAreTheAccountsToo() throws {
        var store = AuditedStore()
        try store.credit(jws(1, token: name))
        try store.credit(jws(2, "coins100", token: name))
        try store.spend("s", name, 100)
        try store.spend("c", name, 100, of: "coins")
        store.checkpoint()
        store.forget()
        let receipt = try store.link(guest, to: "ann")
        #expect(receipt.entry == nil && receipt.moved.isEmpty && receipt.balances.isEmpty)
        store.checkpoint()
        store.forget()
        try store.credit(jws(1, signed: 2, revoked: 100_000, token: name))
        try store.credit(jws(2, "coins100", signed: 2, revoked: 100_000, token: name))
        #expect(try store.standing("ann") == [0, 100])
        #expect(try store.balance("ann", "coins") == Balance(), "it was written off")
        store.forget()
        #expect(try store.reverse("r", "s").returned.map(\.lot) == [1])
        #expect(try store.standing("ann") == [0, 0])
        #expect(try store.reverse("rc", "c").balances.first?.balance.available == 100)
    }

    @Test func holdsMoveAndAreClosedByTheirKeys() throws {
        var store = AuditedStore()
        try store.grant("g", name, 100)
        try store.hold("h1", name, 30)
        try store.hold("h2", name, 20)
        try store.hold("h3", name, 10, timeout: 50)
        try store.grant("a", "ann", 7)
        try store.hold("own", "ann", 7)
        try store.link(guest, to: "ann")
        #expect(try store.balance("ann") == Balance(available: 40, held: 67, version: 3))
        #expect(try store.capture("c", "h1", 25).balances.first?.balance.available == 45)
        store.forget()
        try store.release("r", "h2")
        #expect(try store.reverse("v", "c").balances.first?.balance.available == 90)
        store.now += 50
        #expect(try store.balance("ann") == Balance(available: 100, held: 7, version: 7))
        #expect(throws: Refusal(.holdClosed)) { try store.release("r2", "h1") }
        try store.release("r3", "own")
    }

    @Test func keysUsedUnderTheTokensNameKeepTheirAnswers() throws {
        var store = AuditedStore()
        try store.grant("g", name, 100)
        let spent = try store.spend("s", name, 30)
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 70))) {
            try store.spend("much", name, 80)
        }
        try store.grant("a", "ann", 100)
        try store.link(guest, to: "ann")
        store.checkpoint()
        store.forget()
        var again = spent
        again.replayed = true
        #expect(try store.spend("s", name, 30) == again)
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 70), replayed: true)) {
            try store.spend("much", name, 80)
        }
        #expect(throws: Refusal(.keyReused)) { try store.spend("s", "ann", 30) }
        #expect(try store.spend("more", name, 80).balances.first?.balance.available == 90)
    }

    @Test(arguments: [true, false])
    func debtsMeetWhatTheOtherHas(guestOwes: Bool) throws {
        var store = AuditedStore()
        let (debtor, other): (AccountName, AccountName) = guestOwes ? (name, "ann") : ("ann", name)
        try store.credit(jws(1), debtor)
        try store.spend("s", debtor, 100)
        try store.credit(jws(1, signed: 2, revoked: 100_000), debtor)
        try store.grant("g", other, 160)
        #expect(try store.standing(debtor) == [0, 100])
        let receipt = try store.link(guest, to: "ann")
        #expect(try store.standing("ann") == [60, 0])
        #expect(store.transfers(ofEntry: receipt.entry!).last == "wallet→receivable 100 lot 4 for 1")
    }

    @Test func whatAWalletCannotHoldIsRefusedAndChangesNothing() throws {
        var store = AuditedStore()
        try store.grant("g", name, Amount(Limits.amountMax - 10)!)
        try store.hold("h", name, 5)
        try store.grant("a", "ann", 11)
        let rows = store.index.rows.accounts.count
        #expect(throws: Refusal(.balanceLimit(currency: "gems"))) { try store.link(guest, to: "ann") }
        #expect(try store.balance(name).held == 5 && store.balance("ann").available == 11)
        #expect(store.index.rows.links.isEmpty && store.index.rows.accounts.count == rows)
        try store.spend("s", "ann", 1)
        try store.link(guest, to: "ann")
        #expect(try store.balance("ann").available == Limits.amountMax - 5)
    }

    @Test func aTokenOfATokenIsTheAccountsAsWell() throws {
        var store = AuditedStore()
        try store.credit(jws(1, token: name))
        try store.credit(jws(2, token: second.account))
        try store.spend("s", name, 40)
        try store.hold("h", name, 10)
        #expect(try store.link(guest, to: second.account).account == second.account)
        store.checkpoint()
        store.forget()
        #expect(try store.link(second, to: "ann").moved.first?.balance.available == 150)
        store.forget()
        #expect(try store.balance(name) == store.balance("ann"))
        try store.credit(jws(1, signed: 2, revoked: 100_000, token: name))
        #expect(try store.standing("ann") == [50, 0])
        try store.reverse("r", "s")
        try store.release("x", "h")
        #expect(try store.standing("ann") == [100, 0])
        #expect(try store.link(guest, to: "ann").outcome == .alreadyLinked)
        #expect(try store.credit(jws(3, token: name)).account == "ann")
    }

    @Test func linksLeadToNoCircle() throws {
        var store = AuditedStore()
        try store.grant("g", name, 10)
        try store.link(guest, to: second.account)
        #expect(try store.link(second, to: name).outcome == .alreadyLinked, "they are one account already")
        #expect(try store.link(second, to: name, moves: true).account == second.account)
        try store.link(second, to: "ann")
        #expect(try store.link(second, to: name, moves: true).outcome == .alreadyLinked)
        #expect(try store.balance(name).available == 10)
    }

    @Test func aTokenIsLinkedAnewForWhatComesLater() throws {
        var store = AuditedStore()
        try store.credit(jws(1, token: name))
        try store.link(guest, to: "ann")
        try store.credit(jws(2, token: name))
        let receipt = try store.link(guest, to: "bob", moves: true)
        #expect(receipt.outcome == .relinked && receipt.account == "bob" && receipt.moved.isEmpty)
        #expect(receipt.entry == 2, "the entry of the first link, which moved what there was")
        store.checkpoint()
        store.forget()
        #expect(try store.credit(jws(3, token: name)).account == "bob")
        #expect(try store.credit(jws(2, token: name)).account == "ann", "it stays whose it is")
        try store.credit(jws(1, signed: 2, revoked: 100_000, token: name))
        try store.credit(jws(2, signed: 2, revoked: 50_000, token: name))
        #expect(try store.standing("ann") == [50, 0] && store.standing("bob") == [100, 0])
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(3, token: name), "ann") }
        #expect(try store.link(guest, to: "bob").outcome == .alreadyLinked)
        #expect(throws: Refusal(.accountMismatch)) { try store.link(guest, to: "ann") }
    }

    @Test func erasedNamesKeepWhatTheyWereLinkedTo() throws {
        var store = AuditedStore()
        try store.grant("g", name, 10)
        try store.credit(jws(1, token: name))
        try store.link(guest, to: "ann")
        guard case .forgotten(true) = store.ask(.forget("ann")) else { return #expect(Bool(false)) }
        let erased = try #require(try store.credit(jws(1, token: name)).account)
        #expect(erased.isErased)
        #expect(try store.balance(name).available == 110)
        guard case .forgotten(true) = store.ask(.forget(name)) else { return #expect(Bool(false)) }
        #expect(try store.balance(name) == Balance(), "whoever has the name now is another")
        #expect(try store.credit(jws(1, token: name)).outcome == .alreadyCredited)
        try store.credit(jws(1, signed: 2, revoked: 100_000, token: name))
    }

    /// Only the one token leads elsewhere: those that were linked to it while it was an account of its own stay where
    /// all of that account is, whichever was linked first.
    @Test(arguments: [true, false])
    func aTokenThatIsLinkedAnewLeavesThoseThatLedOverItWhereTheyAre(firstToTheToken: Bool) throws {
        var store = AuditedStore()
        if firstToTheToken { try store.link(guest, to: second.account) }
        try store.link(second, to: "ann")
        if !firstToTheToken { try store.link(guest, to: second.account) }
        store.forget()
        #expect(try store.link(second, to: "bob", moves: true).outcome == .relinked)
        store.checkpoint()
        store.forget()
        #expect(try store.credit(jws(1, token: name)).account == "ann")
        #expect(try store.credit(jws(2, token: second.account)).account == "bob")
        #expect(try store.link(guest, to: "ann").outcome == .alreadyLinked)
        #expect(try store.link(guest, to: second.account, moves: true).account == "bob", "it is named from now on")
    }

    /// A device posts the same JWS again and again; a refund may come with whoever's name the pipeline knows.
    @Test func aPurchaseIsKnownByItsTokenHoweverOftenThatWasMovedSince() throws {
        var store = AuditedStore()
        try store.link(guest, to: second.account)
        try store.link(second, to: "ann")
        try store.link(guest, to: "bob", moves: true)
        #expect(try store.credit(jws(1, token: name)).account == "bob")
        try store.link(guest, to: "cid", moves: true)
        #expect(try store.credit(jws(1, token: name)).outcome == .alreadyCredited)
        #expect(try store.credit(jws(1, token: name), name).account == "bob")
        let refund = try store.notify("n", jws(1, signed: 2, revoked: 100_000, token: name), "cid")
        #expect(refund.purchase?.outcome == .reversed && refund.purchase?.account == "bob")
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(1, token: name), "dan") }
        #expect(throws: Refusal(.accountMismatch)) { try store.notify("o", jws(1, token: name), "dan") }
    }
}
