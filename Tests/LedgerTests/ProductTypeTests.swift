import Ledger
import Testing

/// What is no consumable grants currency as the catalog says, and nothing else.
@Suite struct ProductTypeTests {
    private static let gems: [CurrencyCode: CurrencySettings] = ["gems": CurrencySettings(), "tickets": .init()]
    private static let catalog = Catalog(
        currencies: gems,
        products: [
            "gems100": Catalog.Product(offers: [.always(["gems": 100])]),
            "monthly": Catalog.Product(type: .autoRenewable, offers: [.always(["gems": 30])]),
            "vip": Catalog.Product(type: .nonConsumable, offers: [.always(["gems": 9])]),
            "shared": Catalog.Product(
                type: .nonConsumable, isGrantedToFamily: true, offers: [.always(["gems": 4, "tickets": 1])]),
            "late": Catalog.Product(
                type: .nonRenewing,
                offers: [Catalog.Offer(from: 5_000, grants: Catalog.Offer.always(["gems": 2]).grants)]),
        ])

    private func bought(
        _ transaction: TransactionID, _ product: String, _ type: ProductType, sold: [String]? = nil,
        isFamilyShared: Bool = false, signed: Timestamp = 1, revoked: Int64 = 0
    ) -> SignedPurchase {
        var purchase = jws(transaction, product, signed: signed, revoked: revoked)
        purchase.kind = .known(type)
        purchase.soldIDs = sold ?? [product]
        purchase.isFamilyShared = isFamilyShared
        return purchase
    }

    @Test func eachTypeGrantsAndIsTakenBackAsAConsumableIs() throws {
        var store = AuditedStore(Self.catalog)
        #expect(try store.credit(bought(1, "monthly", .autoRenewable), "ann").outcome == .credited)
        #expect(try store.credit(bought(2, "monthly", .autoRenewable), "ann").posted.map(\.units) == [30])
        #expect(try store.credit(bought(1, "monthly", .autoRenewable), "ann").outcome == .alreadyCredited)
        #expect(try store.credit(bought(3, "vip", .nonConsumable), "ann").posted.map(\.units) == [9])
        let reversed = try store.credit(bought(2, "monthly", .autoRenewable, signed: 2, revoked: 50_000), "ann")
        #expect(reversed.outcome == .reversed && reversed.posted.map(\.units) == [-15])
    }

    /// Apple refuses it, and prorates by the time that is left.
    @Test func aSubscriptionThatRenewsHasNoConsumptionToTell() throws {
        var store = AuditedStore(Self.catalog)
        try store.credit(bought(1, "monthly", .autoRenewable), "ann")
        try store.credit(bought(2, "vip", .nonConsumable), "ann")
        func body(_ transaction: TransactionID) throws -> ConsumptionBody {
            let query = ConsumptionQuery(transaction: transaction, refundPreference: .grantProrated)
            switch store.ask(.consumption(query)) {
            case .consumption(let body): return body
            case .refused(let refusal): throw refusal
            case let other: throw UnexpectedOutcome(other)
            }
        }
        #expect(try body(1).consumptionPercentage == nil)
        #expect(try body(1).refundPreference == .grantProrated)
        #expect(throws: Refusal(.proratedPreference(consumption: 0))) { try body(2) }
    }

    @Test func anotherTypeThanTheCatalogsIsRefusedByName() throws {
        var store = AuditedStore(Self.catalog)
        #expect(throws: Refusal(.wrongProductType(product: "gems100", listed: .consumable, signed: "auto_renewable"))) {
            try store.credit(bought(1, "gems100", .autoRenewable), "ann")
        }
        #expect(throws: Refusal(.wrongProductType(product: "monthly", listed: .autoRenewable, signed: "consumable"))) {
            try store.credit(jws(1, "monthly"), "ann")
        }
        var strange = jws(1, "vip")
        strange.kind = .other("New Type")
        #expect(throws: Refusal(.wrongProductType(product: "vip", listed: .nonConsumable, signed: "New Type"))) {
            try store.credit(strange, "ann")
        }
        #expect(throws: Refusal(.wrongProductType(product: "vip", listed: .nonConsumable, signed: "New Type"))) {
            try store.notify("n", strange)
        }
        // When the catalog is right, it passes; a later catalog changes nothing of what is in the books.
        store.restart(
            Catalog(
                currencies: Self.gems,
                products: ["gems100": Catalog.Product(type: .autoRenewable, offers: [.always(["gems": 7])])]))
        #expect(try store.credit(bought(1, "gems100", .autoRenewable), "ann").posted.map(\.units) == [7])
        store.restart(Self.catalog)
        let refunded = try store.credit(bought(1, "gems100", .autoRenewable, signed: 2, revoked: 100_000), "ann")
        #expect(refunded.posted.map(\.units) == [-7])
    }

    @Test func whatTheCatalogDoesNotListIsNoneOfTheLedgersBusiness() throws {
        var store = AuditedStore(Self.catalog)
        #expect(throws: Refusal(.notConsumable)) { try store.credit(bought(1, "levels", .nonConsumable), "ann") }
        let receipt = try store.notify("n", bought(1, "levels", .nonConsumable), "ann")
        #expect(receipt.purchase == nil && !receipt.duplicate)
        #expect(try store.notify("n", bought(1, "levels", .nonConsumable), "ann").duplicate)
        #expect(store.index.rows.notifications.map(\.transaction) == [nil] && store.index.rows.purchases.isEmpty)
        // But of a listed one without an offer yet, it is: the player has paid.
        #expect(throws: Refusal(.unknownProduct(product: "late"))) {
            try store.notify("m", bought(2, "late", .nonRenewing), "ann")
        }
    }

    @Test func whatAFamilySharesGrantsOnlyWhereTheCatalogSaysSo() throws {
        var store = AuditedStore(Self.catalog)
        #expect(throws: Refusal(.familyShared(product: "vip"))) {
            try store.credit(bought(1, "vip", .nonConsumable, isFamilyShared: true), "ann")
        }
        #expect(try store.notify("n", bought(1, "vip", .nonConsumable, isFamilyShared: true), "ann").purchase == nil)
        let shared = try store.credit(bought(2, "shared", .nonConsumable, isFamilyShared: true), "ann")
        #expect(shared.posted.map(\.units) == [4, 1])
    }

    /// A member's share names the purchase that it comes from, at times.
    @Test func whatAFamilySharesIsNotThePurchaseOfWhoBoughtIt() throws {
        var store = AuditedStore(Self.catalog)
        func signed(_ ownership: String, at date: Timestamp, revoked: Int64 = 0) -> SignedPurchase {
            let isShared = ownership == "FAMILY_SHARED"
            var purchase = bought(
                1, "vip", .nonConsumable, isFamilyShared: isShared, signed: date, revoked: revoked)
            purchase.facts.ownership = ownership
            return purchase
        }
        try store.credit(signed("PURCHASED", at: 1), "ann")
        #expect(try store.notify("n", signed("FAMILY_SHARED", at: 2, revoked: 100_000)).purchase == nil)
        #expect(throws: Refusal(.familyShared(product: "vip"))) {
            try store.credit(signed("FAMILY_SHARED", at: 3), "ben")
        }
        #expect(try store.standing("ann") == [9, 0])
        try store.credit(signed("PURCHASED", at: 4, revoked: 100_000), "ann")
        #expect(try store.notify("m", signed("FAMILY_SHARED", at: 5)).purchase == nil)
        #expect(try store.standing("ann") == [0, 0])
    }

    @Test func aConsumableMayBeListedThatGrantsNothing() throws {
        let skip = Catalog.Product(offers: [.always([:])])
        var store = AuditedStore(Catalog(currencies: Self.gems, products: ["skip": skip]))
        #expect(try store.notify("n", bought(1, "skip", .consumable), "ann").purchase == nil)
        #expect(throws: Refusal(.notConsumable)) { try store.credit(bought(1, "skip", .consumable), "ann") }
        #expect(throws: Refusal(.unknownProduct(product: "other"))) {
            try store.notify("m", bought(2, "other", .consumable), "ann")
        }
        #expect(store.index.rows.purchases.isEmpty && store.index.rows.notifications.count == 1)
    }

    @Test func itemsGrantBySKUTogether() throws {
        var store = AuditedStore(Self.catalog)
        let one = try store.credit(bought(1, "monthly", .autoRenewable, sold: ["monthly"]), "ann")
        #expect(one.posted.map(\.units) == [30])
        store.restart(
            Catalog(
                currencies: Self.gems,
                products: [
                    "a": Catalog.Product(type: .autoRenewable, offers: [.always(["gems": 10])]),
                    "b": Catalog.Product(type: .autoRenewable, offers: [.always(["gems": 5, "tickets": 2])]),
                ]))
        // The streaming package has nothing to do with the game's currency.
        let two = try store.credit(bought(2, "generic", .autoRenewable, sold: ["a", "films", "b"]), "ann")
        #expect(two.posted.map(\.units) == [15, 2])
        let half = try store.credit(
            bought(2, "generic", .autoRenewable, sold: ["a", "films", "b"], signed: 2, revoked: 50_000), "ann")
        #expect(half.posted.map(\.units) == [-7, -1])
        #expect(throws: Refusal(.notConsumable)) {
            try store.credit(bought(3, "generic", .autoRenewable, sold: ["films"]), "ann")
        }
        // Each consumable must be listed.
        #expect(throws: Refusal(.unknownProduct(product: "films"))) {
            try store.credit(bought(3, "generic", .consumable, sold: ["films"]), "ann")
        }
    }
}
