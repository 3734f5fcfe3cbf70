import Ledger
import Testing

/// Whose a purchase is: by its token, by the request, or not known yet.
@Suite struct AccountTests {
    @Test func theTokenNamesTheAccount() throws {
        var store = AuditedStore()
        #expect(try store.credit(jws(1, token: "ann")).account == "ann")
        #expect(try store.credit(jws(2, token: "ann"), "ann").account == "ann")
        #expect(try store.standing("ann") == [200, 0])
    }

    @Test func aUUIDInAnyCaseIsTheSameAccount() throws {
        var store = AuditedStore()
        let lower: AccountName = "0f8fad5b-d9cb-469f-a165-70867728950e"
        try store.credit(jws(1, token: lower), "0F8FAD5B-D9CB-469F-A165-70867728950E")
        #expect(try store.standing(lower) == [100, 0])
        #expect(store.index.rows.accounts.count == 1)
    }

    @Test func aCreditNeedsAnAccountEvenWhenThePurchaseIsKnown() throws {
        var store = AuditedStore()
        #expect(throws: Refusal(.accountRequired)) { try store.credit(jws(1)) }
        #expect(store.index.rows.isEmptyButForCurrencies)
        try store.credit(jws(1), "ann")
        #expect(throws: Refusal(.accountRequired)) { try store.credit(jws(1)) }
    }

    @Test func anotherAccountIsAMismatch() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.grant("k", "bob", 1)
        let before = store.snapshot()
        let refusal = Refusal(.accountMismatch)
        #expect(throws: refusal) { try store.credit(jws(1), "bob") }
        #expect(throws: refusal) { try store.credit(jws(1), "never-seen") }
        #expect(throws: refusal) { try store.credit(jws(1, token: "bob")) }
        #expect(throws: refusal) { try store.credit(jws(2, token: "ann"), "bob") }
        #expect(throws: refusal) { try store.notify("n", jws(1, signed: 2, revoked: 100_000), "bob") }
        #expect(throws: refusal) { try store.notify("n", jws(2, token: "ann"), "bob") }
        #expect(store.snapshot() == before)
        #expect(store.index.rows.notifications.isEmpty)
    }

    /// Of a ledger whose tokens were lower-cased, also those that are no UUID.
    @Test func aPurchaseOfALowerCasedTokenStaysWhoseItIs() throws {
        var store = AuditedStore()
        try store.credit(jws(1, token: "player"))
        func areAnswered(_ outcome: PurchaseOutcome) throws {
            for named in [nil, "Player", "player"] as [AccountName?] {
                let receipt = try store.credit(jws(1, token: "Player"), named)
                #expect(receipt.outcome == outcome && receipt.account == "player")
            }
            for (token, named) in [("Player", "PLAYER"), ("Player", "ann"), ("Players", "ann")]
                as [(AccountName, AccountName?)]
            {
                #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(1, token: token), named) }
            }
        }
        try areAnswered(.alreadyCredited)
        // What comes now is of a player of their own.
        #expect(try store.credit(jws(2, token: "Player")).account == "Player")
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(2, token: "player")) }
        try areAnswered(.alreadyCredited)
        let refund = jws(1, signed: 2, revoked: 100_000, token: "Player")
        #expect(try store.notify("n", refund, "player").purchase?.outcome == .reversed)
        try areAnswered(.alreadyReversed)
        #expect(try store.standing("player") == [0, 0])
    }

    @Test func aTokenThatComesLaterMustAgree() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        #expect(try store.credit(jws(1, signed: 2, token: "ann")).outcome == .alreadyCredited)
        try store.grant("g", "bob", 1)
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(1, signed: 2, token: "bob")) }
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(1, signed: 2, token: "bob"), "ann") }
    }

    /// Apple lets a token be set after the purchase: whoever it names, it is no other player's here.
    @Test func aTokenThatNamesNobodyTakesNoPurchaseFromItsOwner() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        let receipt = try store.credit(jws(1, signed: 2, token: "token"))
        #expect(receipt.outcome == .alreadyCredited && receipt.account == "ann")
        #expect(try store.credit(jws(1, signed: 3, revoked: 100_000, token: "token"), "ann").outcome == .reversed)
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(1, signed: 4, token: "token"), "bob") }
        #expect(try store.standing("ann") == [0, 0])
        #expect(try store.credit(jws(2, token: "token")).account == "token", "what is nobody's yet is the token's")
    }

    @Test func aRefundWhoseTokenWasSetAfterThePurchaseReachesTheOwner() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        let receipt = try #require(try store.notify("n", jws(1, signed: 2, revoked: 100_000, token: "token")).purchase)
        #expect(receipt.outcome == .reversed)
        #expect(receipt.account == "ann")
        #expect(try store.standing("ann") == [0, 0])
    }

    @Test func anUnassignedPurchaseIsRecordedAndPostsNothing() throws {
        var store = AuditedStore()
        let receipt = try #require(try store.notify("n", jws(1)).purchase)
        #expect(receipt.outcome == .unassigned)
        #expect(!receipt.finish && receipt.account == nil && receipt.entry == nil)
        #expect(receipt.posted.isEmpty && receipt.balances.isEmpty)
        #expect(store.index.rows.entries.isEmpty && store.index.rows.accounts.isEmpty)
        #expect(try store.view(1).state == .unassigned)
        #expect(try store.view(1).grants.map(\.lot) == [nil])
        #expect(try store.notify("m", jws(1, signed: 2)).purchase?.outcome == .unassigned)
        #expect(try store.notify("n", jws(1)).purchase?.outcome == .unassigned)
    }

    @Test func aLaterCreditAssigns() throws {
        var store = AuditedStore()
        try store.notify("n", jws(1))
        let receipt = try store.credit(jws(1), "ann")
        #expect(receipt.outcome == .credited && receipt.finish && receipt.entry == 1)
        #expect(receipt.posted == [.posted("gems", 100)])
        #expect(store.index.rows.assignments.map(\.transaction) == [1])
        #expect(store.index.rows.assignments.map(\.entry) == [1])
        #expect(try store.credit(jws(1), "ann").outcome == .alreadyCredited)
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(1), "bob") }
    }

    @Test func aLaterNotificationWithAnAccountAssigns() throws {
        var store = AuditedStore()
        try store.notify("n", jws(1))
        #expect(try store.notify("n", jws(1), "ann").purchase?.outcome == .credited)
        #expect(try store.notify("m", jws(1, signed: 2)).purchase?.account == "ann")
    }

    /// What the refund said stands, though the JWS that assigns is older.
    @Test(
        arguments: [(100_000, PurchaseOutcome.alreadyReversed, 0), (33_333, .credited, 67)]
            as [(Int64, PurchaseOutcome, Int64)])
    func aRefundBeforeTheAccountIsKnownCounts(revoked: Int64, outcome: PurchaseOutcome, available: Int64) throws {
        var store = AuditedStore()
        try store.notify("n", jws(1))
        #expect(try store.notify("r", jws(1, signed: 2, revoked: revoked)).purchase?.outcome == .unassigned)
        let receipt = try store.credit(jws(1), "ann")
        #expect(receipt.outcome == outcome && receipt.finish)
        #expect(receipt.posted == (available == 0 ? [] : [.posted("gems", available)]))
        #expect(try store.standing("ann") == [available, 0])
        #expect(store.total(.purchased) == 100)
    }

    @Test func aRefundThatAssignsIsAReversal() throws {
        var store = AuditedStore()
        try store.notify("n", jws(1))
        let receipt = try store.credit(jws(1, signed: 2, revoked: 50_000), "ann")
        #expect(receipt.outcome == .reversed)
        #expect(receipt.posted == [.posted("gems", 50)])
    }

    @Test func aReinstatementThatAssignsCredits() throws {
        var store = AuditedStore()
        try store.notify("r", jws(1, signed: 2, revoked: 100_000))
        #expect(try store.credit(jws(1, signed: 3), "ann").outcome == .credited)
        #expect(try store.standing("ann") == [100, 0])
    }
}

extension BlockRows {
    /// Nothing was recorded.
    var isEmptyButForCurrencies: Bool {
        var rest = self
        rest.currencies = []
        return rest.isEmpty
    }
}
