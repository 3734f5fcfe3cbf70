import Ledger
import Testing

/// Purchases of other stores: once by the store and its id, in the same register as the App Store's.
@Suite struct ExternalTests {
    private static func order(
        _ id: String, _ account: AccountName = "ann", product: String = "gems100", quantity: Int64 = 1,
        price: Int64? = 990, purchased: Timestamp = 1_000, revoked: Int64? = nil, source: String = "shop"
    ) -> ExternalPurchase {
        ExternalPurchase(
            identity: ExternalIdentity(source: source, identifier: id)!, account: account, product: product,
            quantity: quantity, price: price, priceCurrency: price == nil ? nil : "EUR", purchaseDate: purchased,
            revoked: revoked)
    }

    @Test func aPurchaseIsCreditedOnce() throws {
        var store = AuditedStore()
        let first = try store.external(Self.order("o-1", quantity: 2))
        #expect(first.outcome == .credited && first.posted == [.posted("gems", 200)] && first.entry == 1)
        #expect(TransactionID.externalNumbers.contains(first.transaction.number) && first.finish)
        let again = try store.external(Self.order("o-1", quantity: 2))
        #expect(again.outcome == .alreadyCredited && again.posted.isEmpty && again.entry == 1)
        // The same id in another store is another purchase.
        #expect(try store.external(Self.order("o-1", source: "play")).outcome == .credited)
        #expect(try store.balance("ann").available == 300)
        store.restart()
        #expect(try store.external(Self.order("o-1", quantity: 2)).outcome == .alreadyCredited)
        let lot = try #require(store.index.rows.lots.first)
        #expect(lot.lotClass == .paid && lot.price == 990)
    }

    @Test func aRefundTakesItBackAndMayBeReversed() throws {
        var store = AuditedStore()
        try store.external(Self.order("o-1"))
        try store.spend("s", "ann", 80)
        let refunded = try store.external(Self.order("o-1", revoked: 100_000))
        #expect(refunded.outcome == .reversed && refunded.posted == [.posted("gems", -100)])
        #expect(try store.standing("ann") == [0, 80])
        // A late repetition of the purchase undoes nothing, and neither does the refund once more.
        #expect(try store.external(Self.order("o-1")).outcome == .alreadyReversed)
        #expect(try store.external(Self.order("o-1", revoked: 100_000)).outcome == .alreadyReversed)
        let partly = try store.external(Self.order("o-1", revoked: 40_000))
        #expect(partly.outcome == .reinstated && partly.posted == [.posted("gems", 60)])
        let back = try store.external(Self.order("o-1", revoked: 0))
        #expect(back.outcome == .reinstated && back.posted == [.posted("gems", 40)])
        #expect(try store.standing("ann") == [20, 0])
        let view = try store.view(back.transaction)
        #expect(view.source == .external && view.external == Self.order("o-1").identity && view.state == .standing)
        #expect(view.events.map(\.kind) == [.stated, .stated, .stated, .stated])
        #expect(view.events.map(\.revoked) == [0, 100_000, 40_000, 0])
        #expect(view.events.allSatisfy { $0.signedDate == nil })
    }

    /// Of two requests in one millisecond it is the later that counts.
    @Test func whatWasStatedLastCountsAlsoWhereTheClockStandsStill() throws {
        var store = AuditedStore()
        for revoked: Int64? in [nil, 100_000, 0, 100_000, 0] { try store.external(Self.order("o-1", revoked: revoked)) }
        #expect(try store.balance("ann").available == 100)
        store.restart()
        #expect(try store.external(Self.order("o-1")).outcome == .alreadyCredited)
    }

    @Test func aPurchaseThatWasRefundedBeforeItIsToldIsPostedInFullAndTakenBack() throws {
        var store = AuditedStore()
        let receipt = try store.external(Self.order("o-1", revoked: 100_000))
        #expect(receipt.outcome == .reversed && receipt.posted.isEmpty)
        #expect(store.index.rows.transfers.map(\.amount) == [100, 100])
    }

    @Test func otherFactsAreAConflict() throws {
        var store = AuditedStore()
        try store.external(Self.order("o-1"))
        for (other, member) in [
            (Self.order("o-1", product: "gems1"), "product"), (Self.order("o-1", quantity: 2), "quantity"),
            (Self.order("o-1", purchased: 999), "purchaseDate"), (Self.order("o-1", price: 991), "price"),
            (Self.order("o-1", price: nil), "price"),
        ] {
            #expect(throws: Refusal(.purchaseConflict(member: member))) { try store.external(other) }
        }
        #expect(throws: Refusal(.accountMismatch)) { try store.external(Self.order("o-1", "bob")) }
        #expect(throws: Refusal(.unknownProduct(product: "none"))) {
            try store.external(Self.order("o-2", product: "none"))
        }
        #expect(throws: Refusal(.futurePurchase)) {
            try store.external(Self.order("o-2", purchased: store.now + 1))
        }
        #expect(store.index.rows.entries.count == 1)
    }

    /// A number that Apple signs is no other store's, whatever it is.
    @Test func noJWSIsTakenForAPurchaseOfAnotherStore() throws {
        var store = AuditedStore()
        let number = try store.external(Self.order("o-1")).transaction
        #expect(throws: Refusal(.purchaseConflict(member: "source"))) { try store.credit(jws(number), "ann") }
        guard case .refused(let refusal) = store.ask(.consumption(ConsumptionQuery(transaction: number))) else {
            Issue.record("Apple is told of what another store sold")
            return
        }
        #expect(refusal == Refusal(.unknownPurchase))
    }

    @Test func aBundleAtThePriceZeroIsFreeCurrency() throws {
        var store = AuditedStore()
        try store.external(Self.order("o-1", product: "starter", price: 0))
        #expect(store.index.rows.lots.allSatisfy { $0.lotClass == .free && $0.price == 0 })
        #expect(store.index.rows.lots.count == 3)
    }

    @Test func aLinkedTokensPurchaseIsTheAccounts() throws {
        var store = AuditedStore()
        let token = "a0000000-0000-4000-8000-000000000001"
        try store.external(Self.order("o-1", AccountName(token)!))
        try store.link(AppAccountToken(token)!, to: "ann")
        let refunded = try store.external(Self.order("o-1", "ann", revoked: 100_000))
        #expect(refunded.account == "ann" && refunded.outcome == .reversed)
        #expect(try store.balance("ann").available == 0)
    }
}
