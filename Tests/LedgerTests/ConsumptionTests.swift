import Ledger
import Testing

/// The body of Send Consumption Information V2, with Apple's rules.
@Suite struct ConsumptionTests {
    private func store(
        shares: [CurrencyCode: Int64] = [:], rules: [Catalog.RefundRule] = []
    ) throws -> AuditedStore {
        let catalog = Catalog(
            currencies: ["gems": CurrencySettings(), "tickets": CurrencySettings()],
            products: [
                "bundle": [
                    Catalog.Offer(
                        from: 0,
                        grants: [
                            CurrencyAmount(currency: "gems", amount: 1_000),
                            CurrencyAmount(currency: "tickets", amount: 4),
                        ], priceShares: shares)
                ]
            ], refundRules: rules)
        var store = AuditedStore(catalog)
        try store.credit(jws(1, "bundle"), "ann")
        return store
    }

    private func body(
        _ store: inout AuditedStore, status: DeliveryStatus? = nil, preference: RefundPreference? = nil
    ) throws -> ConsumptionBody {
        switch store.ask(
            .consumption(ConsumptionQuery(transaction: 1, deliveryStatus: status, refundPreference: preference)))
        {
        case .consumption(let body): return body
        case .refused(let refusal): throw refusal
        case let other: throw UnexpectedOutcome(other)
        }
    }

    /// 22 of 300 and 56 of 210 are 17 percent, though neither share is a decimal that ends.
    @Test func aWholeSumOfBrokenSharesIsNotOneTooLow() throws {
        let catalog = Catalog(
            currencies: ["gems": CurrencySettings(), "tickets": CurrencySettings()],
            products: ["bundle": Catalog.Product(offers: [.always(["gems": 300, "tickets": 210])])])
        var store = AuditedStore(catalog)
        try store.credit(jws(1, "bundle"), "ann")
        try store.spend("s", "ann", 22)
        try store.spend("t", "ann", 56, of: "tickets")
        #expect(try body(&store).consumptionPercentage == 17_000)
        try store.spend("u", "ann", 277)
        try store.spend("v", "ann", 154, of: "tickets")
        #expect(try body(&store).consumptionPercentage == 99_833)
    }

    /// How much of it there was before nobody here knows, and so no rule of the catalog counts.
    @Test(arguments: [990, 0])
    func ofWhatWasCarriedOverInPartNothingIsSaidOfConsumption(price: Int64) throws {
        let catalog = Catalog(
            currencies: ["gems": CurrencySettings()],
            products: ["gems100": Catalog.Product(offers: [.always(["gems": 100])])],
            refundRules: [.init(from: 0, preference: .grantFull)])
        var store = AuditedStore(catalog)
        _ = try store.importLots(
            "i", "ann",
            ImportedLot(
                currency: "gems", amount: 60,
                purchase: ImportedPurchase(
                    transaction: 1, product: "gems100", price: price, priceCurrency: "EUR", purchaseDate: 500)))
        #expect(try store.view(1).consumption == 0)
        for spent in [0, 15] as [Int64] {
            if spent > 0 { try store.spend("s", "ann", Amount(spent)!) }
            let told = try body(&store)
            #expect(told.consumptionPercentage == nil && told.refundPreference == nil, "\(told)")
        }
        #expect(try store.view(1).consumption == 25_000)
        #expect(try body(&store, status: .serverOutage).consumptionPercentage == 0)
        #expect(try body(&store, preference: .decline).refundPreference == .decline)
        #expect(throws: Refusal(.proratedPreference(consumption: nil))) {
            try body(&store, preference: .grantProrated)
        }
        try store.spend("t", "ann", 45)
        #expect(try body(&store).consumptionPercentage == 100_000)
    }

    @Test func currenciesWeighTheSameUnlessTheCatalogSaysOtherwise() throws {
        var equal = try store()
        try equal.spend("s", "ann", 500)
        #expect(try body(&equal).consumptionPercentage == 25_000)
        var weighted = try store(shares: ["gems": 80, "tickets": 20])
        try weighted.spend("s", "ann", 500)
        #expect(try body(&weighted).consumptionPercentage == 40_000)
        try weighted.spend("t", "ann", 4, of: "tickets")
        #expect(try body(&weighted).consumptionPercentage == 60_000)
    }

    @Test func theSumIsRoundedOnceAndDown() throws {
        var uneven = try store(shares: ["gems": 1, "tickets": 2])
        try uneven.spend("s", "ann", 1)
        // A third of 0.1 %.
        #expect(try body(&uneven).consumptionPercentage == 33)
    }

    @Test func nothingWasConsumedOfWhatWasNotDelivered() throws {
        var store = try store()
        try store.spend("s", "ann", 500)
        for status in DeliveryStatus.allCases {
            let body = try body(&store, status: status)
            #expect(body.deliveryStatus == status)
            #expect(body.consumptionPercentage == (status == .delivered ? 25_000 : 0))
        }
    }

    @Test func anUnassignedPurchaseIsNotDelivered() throws {
        var store = AuditedStore()
        try store.notify("n", jws(1))
        let body = try body(&store)
        #expect(body.deliveryStatus == .other)
        #expect(body.consumptionPercentage == 0)
    }

    @Test func theCatalogsRuleGivesThePreferenceAndTheCallOverridesIt() throws {
        let rules: [Catalog.RefundRule] = [
            .init(from: 0, preference: .grantFull), .init(from: 1, preference: .grantProrated),
            .init(from: 50_000, preference: .decline),
        ]
        var store = try store(rules: rules)
        #expect(try body(&store).refundPreference == .grantFull)
        try store.spend("s", "ann", 500)
        #expect(try body(&store).refundPreference == .grantProrated)
        #expect(try body(&store, preference: .decline).refundPreference == .decline)
        try store.spend("t", "ann", 4, of: "tickets")
        #expect(try body(&store).refundPreference == .decline)
        // Not delivered: nothing consumed.
        #expect(try body(&store, status: .serverOutage).refundPreference == .grantFull)
    }

    @Test func withoutARuleThePreferenceIsLeftToApple() throws {
        var store = try store()
        #expect(try body(&store).refundPreference == nil)
    }

    @Test func proratedIsOnlyForWhatWasPartlyConsumed() throws {
        var store = try store()
        #expect(throws: Refusal(.proratedPreference(consumption: 0))) {
            try body(&store, preference: .grantProrated)
        }
        try store.spend("s", "ann", 500)
        #expect(try body(&store, preference: .grantProrated).refundPreference == .grantProrated)
        #expect(throws: Refusal(.proratedPreference(consumption: 0))) {
            try body(&store, status: .qualityIssue, preference: .grantProrated)
        }
        try store.spend("t", "ann", 500)
        try store.spend("u", "ann", 4, of: "tickets")
        #expect(throws: Refusal(.proratedPreference(consumption: 100_000))) {
            try body(&store, preference: .grantProrated)
        }
    }

    /// A rule that Apple would not take there says nothing, rather than something else.
    @Test func aProratedRuleSaysNothingWhereAllWasConsumed() throws {
        var store = try store(rules: [.init(from: 0, preference: .grantProrated)])
        #expect(try body(&store).refundPreference == nil)
        try store.spend("s", "ann", 1_000)
        #expect(try body(&store).refundPreference == .grantProrated)
        try store.spend("u", "ann", 4, of: "tickets")
        #expect(try body(&store).refundPreference == nil)
    }

    @Test func anUnknownPurchaseHasNoBody() throws {
        var store = AuditedStore()
        #expect(throws: Refusal(.unknownPurchase)) { try body(&store) }
    }

    @Test func whatAppleAsksAndDeclinesIsToldWithThePurchase() throws {
        var store = try store()
        var request = notification("a", jws(1, "bundle", signed: 2), type: "CONSUMPTION_REQUEST")
        request.reason = "UNINTENDED_PURCHASE"
        _ = store.ask(.notify(request, account: nil))
        _ = store.ask(.notify(request, account: nil))
        _ = store.ask(.notify(notification("b", jws(1, "bundle", signed: 2), type: "REFUND_DECLINED"), account: nil))
        let events = try store.view(1).events.filter { $0.kind != .signed }
        #expect(events.map(\.kind) == [.consumptionRequest, .refundDeclined])
        #expect(events[0].reason == "UNINTENDED_PURCHASE")
        #expect(events[0].deadline == Int64(43_200_002))
        #expect(events[1].deadline == nil)
    }
}
