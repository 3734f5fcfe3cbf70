import Ledger
import Testing

/// Every reason, and which of several is the answer: the first in the protocol's order.
@Suite struct RefusalTests {
    @Test func aProductThatTheCatalogDoesNotKnow() throws {
        var store = AuditedStore()
        let refusal = Refusal(.unknownProduct(product: "other"))
        #expect(throws: refusal) { try store.credit(jws(1, "other"), "ann") }
        #expect(throws: refusal) { try store.notify("n", jws(1, "other")) }
        #expect(throws: Refusal(.unknownProduct(product: "late"))) { try store.credit(jws(1, "late"), "ann") }
        #expect(store.index.rows.isEmptyButForCurrencies)
        store.restart(
            Catalog(currencies: ["gems": CurrencySettings()], products: ["other": [.always(["gems": 3])]]))
        #expect(try store.notify("n", jws(1, "other"), "ann").duplicate == false)
        #expect(try store.standing("ann") == [3, 0])
    }

    @Test(arguments: [
        (jws(1, "coins100"), "productId"), (jws(1, quantity: 2), "quantity"), (jws(1, purchased: 999), "purchaseDate"),
        (jws(1, "coins100", quantity: 2, purchased: 999), "productId"), (jws(1, quantity: 2, purchased: 9), "quantity"),
    ])
    func otherFactsAreAConflict(other: SignedPurchase, member: String) throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        try store.notify("n", jws(2))
        let refusal = Refusal(.purchaseConflict(member: member))
        #expect(throws: refusal) { try store.credit(other, "ann") }
        #expect(throws: refusal) { try store.notify("m", other) }
        #expect(try store.standing("ann") == [100, 0])
        #expect(store.index.rows.notifications.count == 1)
    }

    /// Which currency's price Apple states, or none in an old JWS, is no other purchase.
    @Test func anotherPriceIsNoConflict() throws {
        var store = AuditedStore()
        try store.credit(jws(1), "ann")
        #expect(try store.credit(jws(1, signed: 2, price: 990), "ann").outcome == .alreadyCredited)
    }

    @Test func thePrecedenceOfACreditsRefusals() throws {
        var store = AuditedStore()
        try store.credit(jws(1, "gemsHalf"), "ann")
        try store.credit(jws(2, "gemsHalf"), "ann")
        #expect(throws: Refusal(.unknownProduct(product: "x"))) { try store.credit(jws(3, "x", token: "ann"), "bob") }
        #expect(throws: Refusal(.unknownProduct(product: "x"))) { try store.credit(jws(3, "x")) }
        #expect(throws: Refusal(.accountRequired)) { try store.credit(jws(1, quantity: 9)) }
        #expect(throws: Refusal(.accountMismatch)) { try store.credit(jws(1, quantity: 9), "bob") }
        #expect(throws: Refusal(.purchaseConflict(member: "productId"))) { try store.credit(jws(1, "gemsMax"), "ann") }
        #expect(throws: Refusal(.balanceLimit(currency: "gems"))) { try store.credit(jws(3), "ann") }
    }

    @Test func aSpendNamesTheFirstCurrencyThatIsShort() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10)
        let debits = [
            CurrencyAmount(currency: "gems", amount: 10), CurrencyAmount(currency: "tickets", amount: 1),
            CurrencyAmount(currency: "coins", amount: 1),
        ]
        #expect(throws: Refusal(.insufficientFunds(currency: "tickets", available: 0))) {
            try store.spend(Spend(key: "a", account: "ann", debits: debits))
        }
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 10))) {
            try store.spend("b", "ann", 11)
        }
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 0))) {
            try store.spend("c", "never-seen", 1)
        }
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 0))) {
            try store.spend("d", "ann", 1, funds: .paid)
        }
        #expect(try store.standing("ann") == [10, 0])
        #expect(store.books.players.values.first { $0.name == "never-seen" }?.wallets.isEmpty == true)
    }

    @Test func anUnknownCurrency() throws {
        var store = AuditedStore()
        let refusal = Refusal(.unknownCurrency(currency: "stars"))
        #expect(throws: refusal) { try store.balance("ann", "stars") }
        #expect(store.index.rows.accounts.isEmpty)
        #expect(throws: refusal) { try store.grant("g", "ann", 1, of: "stars") }
        #expect(throws: refusal) { try store.spend("s", "ann", 1, of: "stars") }
    }

    /// `expectedVersion` is of the wallet as it is, `minimumRemaining` of what would be left.
    @Test(
        arguments: [
            (11, 9, 5, .insufficientFunds(currency: "gems", available: 10)),
            (6, 9, 5, .versionMismatch(version: 1)),
            (6, 1, 5, .minimumRemaining(available: 10)),
            (6, nil, 5, .minimumRemaining(available: 10)),
            (6, 1, 4, nil), (6, nil, nil, nil), (10, 1, 0, nil), (10, 0, 0, .versionMismatch(version: 1)),
        ] as [(Int64, Int64?, Int64?, Refusal.Reason?)])
    func thePrecedenceOfASpendsRefusals(
        amount: Int64, version: Int64?, minimum: Int64?, reason: Refusal.Reason?
    ) throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10)
        let spend = Spend(
            key: "s", account: "ann", debits: [CurrencyAmount(currency: "gems", amount: Amount(amount)!)],
            expectedVersion: version, minimumRemaining: minimum)
        if let reason {
            #expect(throws: Refusal(reason)) { try store.spend(spend) }
            #expect(try store.standing("ann") == [10, 0])
        } else {
            try store.spend(spend)
            #expect(try store.standing("ann") == [10 - amount, 0])
        }
    }

    @Test func theWalletOfAnAccountNeverSeenHasVersionZero() throws {
        var store = AuditedStore()
        let spend = Spend(
            key: "s", account: "ann", debits: [CurrencyAmount(currency: "stars", amount: 1)], expectedVersion: 3)
        #expect(throws: Refusal(.unknownCurrency(currency: "stars"))) { try store.spend(spend) }
        #expect(try store.balance("ann") == Balance())
    }

    /// A shortage in a known currency stands before an unknown one.
    @Test func insufficientFundsBeforeUnknownCurrency() throws {
        var store = AuditedStore()
        try store.grant("g", "ann", 10)
        func debits(_ gems: Amount) -> [CurrencyAmount] {
            [CurrencyAmount(currency: "stars", amount: 1), CurrencyAmount(currency: "gems", amount: gems)]
        }
        #expect(throws: Refusal(.insufficientFunds(currency: "gems", available: 10))) {
            try store.spend(Spend(key: "a", account: "ann", debits: debits(11)))
        }
        #expect(throws: Refusal(.unknownCurrency(currency: "stars"))) {
            try store.spend(Spend(key: "b", account: "ann", debits: debits(10)))
        }
    }
}
