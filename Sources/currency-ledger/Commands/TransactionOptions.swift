import AppStore
import ArgumentParser
import Ledger

/// A time as an option has it: milliseconds since 1970 or ISO 8601.
struct Moment: ExpressibleByArgument {
    let milliseconds: Timestamp

    init?(argument: String) {
        guard let milliseconds = TimeText.milliseconds(argument) else { return nil }
        self.milliseconds = milliseconds
    }
}

/// What a transaction says, as options of a command. They change the transaction that they are applied to, or make the
/// purchase of a consumable.
struct TransactionOptions: ParsableArguments {
    @Option(help: "The app. Default: com.example.game")
    var bundleId: String?

    @Option(help: "The product. Default: com.example.game.gems500")
    var product: String?

    @Option(help: "Consumable, Non-Consumable, Auto-Renewable Subscription or Non-Renewing Subscription.")
    var type: String?

    @Option(help: "The transaction's id: decimal digits. Default: one made from the time")
    var transactionId: String?

    @Option(help: "The first transaction's id, of a renewal or a restored purchase. Default: the transaction's own")
    var originalTransactionId: String?

    @Option(help: "Units bought: 1 to 10.")
    var quantity: Int64?

    @Option(help: "The appAccountToken: the UUID of the account that the app named.")
    var accountToken: String?

    @Option(
        help:
            """
            When it was bought. Default: a time in January 2025 that follows from the transaction's id (the first of \
            January and as many milliseconds as its last nine digits say), so that all that is signed of one id agrees
            """)
    var purchaseDate: Moment?

    @Option(help: "When the first transaction was bought. Default: what follows from its id")
    var originalPurchaseDate: Moment?

    @Option(help: "When this was signed: of all that is signed of a purchase, the newest counts. Default: now")
    var signedDate: Moment?

    @Option(help: "The price in thousandths of its currency.")
    var price: Int64?

    @Option(help: "The price's currency, as USD.")
    var priceCurrency: String?

    @Option(help: "The storefront's country, in three letters. Default: USA")
    var storefront: String?

    @Option(help: "The storefront's number. Default: 143441, where --storefront is not given")
    var storefrontId: String?

    @Option(help: "PURCHASED or FAMILY_SHARED.")
    var ownership: String?

    @Option(help: "PURCHASE or RENEWAL. Default: RENEWAL for a subscription with an --original-transaction-id")
    var reason: String?

    @Option(help: "The number of the app's download transaction.")
    var appTransactionId: String?

    @Option(help: "Sandbox, Production, Xcode or LocalTesting.")
    var environment: String?

    @OptionGroup(title: "A revocation") var revocation: RevocationOptions
    @OptionGroup(title: "An offer") var offer: OfferOptions
    @OptionGroup(title: "A subscription") var subscription: SubscriptionOptions

    func validate() throws {
        try Rule.identifier("--bundle-id", bundleId)
        try Rule.identifier("--product", product)
        try Rule.oneOf("--type", type, TransactionPayload.ProductType.known.map(\.rawValue))
        try Rule.number("--transaction-id", transactionId)
        try Rule.number("--original-transaction-id", originalTransactionId)
        try Rule.range("--quantity", quantity, 1...AppStoreLimits.quantityMax)
        try Rule.uuid("--account-token", accountToken)
        try Rule.past("--purchase-date", purchaseDate)
        try Rule.past("--original-purchase-date", originalPurchaseDate)
        try Rule.past("--signed-date", signedDate)
        try Rule.range("--price", price, 0...AppStoreLimits.numberMax)
        try Rule.letters("--price-currency", priceCurrency)
        try Rule.letters("--storefront", storefront)
        try Rule.number("--storefront-id", storefrontId)
        try Rule.oneOf("--ownership", ownership, TransactionPayload.OwnershipType.known.map(\.rawValue))
        try Rule.oneOf("--reason", reason, ["PURCHASE", "RENEWAL"])
        try Rule.number("--app-transaction-id", appTransactionId)
        try Rule.oneOf("--environment", environment, AppStore.Environment.known.map(\.rawValue))
    }

    /// The transaction of a purchase.
    /// - Parameters:
    ///   - type: of its product, where the options name none.
    ///   - revocation: what makes it a revocation, where something does.
    func purchase(
        of type: TransactionPayload.ProductType = .consumable,
        revoked revocation: TransactionPayload.RevocationType? = nil
    ) throws -> TransactionPayload {
        let now = Clock.now()
        let id = transactionId ?? String(now)
        var payload = TransactionPayload(
            transactionID: id, bundleID: "com.example.game", productID: "com.example.game.gems500",
            purchaseDate: TransactionOptions.purchaseDate(of: id), type: type, signedDate: now, environment: .sandbox)
        payload.originalTransactionID = originalTransactionId ?? id
        payload.originalPurchaseDate =
            originalTransactionId.map(TransactionOptions.purchaseDate(of:)) ?? purchaseDate?.milliseconds
            ?? payload.purchaseDate
        payload.inAppOwnershipType = .purchased
        payload.storefront = "USA"
        payload.storefrontID = storefront == nil ? "143441" : nil
        payload.transactionReason = .purchase
        try apply(to: &payload, revoked: revocation)
        return payload
    }

    /// The same transaction, signed anew, with what the options say otherwise.
    /// - Parameter type: what makes it a revocation, where something does.
    func apply(to payload: inout TransactionPayload, revoked type: TransactionPayload.RevocationType? = nil) throws {
        if let bundleId { payload.bundleID = bundleId }
        if let product { payload.productID = product }
        if let type = self.type { payload.type = .init(rawValue: type) }
        if let transactionId { payload.transactionID = transactionId }
        if let originalTransactionId { payload.originalTransactionID = originalTransactionId }
        if let quantity { payload.quantity = quantity }
        if let accountToken { payload.appAccountToken = accountToken.lowercased() }
        if let purchaseDate { payload.purchaseDate = purchaseDate.milliseconds }
        if let originalPurchaseDate { payload.originalPurchaseDate = originalPurchaseDate.milliseconds }
        payload.signedDate = signedDate?.milliseconds ?? max(Clock.now(), payload.signedDate)
        if let price { payload.price = price }
        if let priceCurrency { payload.currency = priceCurrency }
        if let storefront { payload.storefront = storefront }
        if let storefrontId { payload.storefrontID = storefrontId }
        if let ownership { payload.inAppOwnershipType = .init(rawValue: ownership) }
        if let appTransactionId { payload.appTransactionID = appTransactionId }
        if let environment { payload.environment = .init(rawValue: environment) }
        offer.apply(to: &payload)
        subscription.apply(to: &payload)
        if let reason { payload.transactionReason = .init(rawValue: reason) }
        revocation.apply(to: &payload, as: type)
        try TransactionOptions.check(payload)
    }

    /// Nine digits: eleven and a half days.
    private static func purchaseDate(of id: String) -> Timestamp {
        let firstOfJanuary2025: Timestamp = 1_735_689_600_000
        return firstOfJanuary2025 + (Int64(id) ?? 0) % 1_000_000_000
    }

    /// What the App Store's clock cannot have made.
    private static func check(_ payload: TransactionPayload) throws {
        guard payload.purchaseDate <= payload.signedDate else {
            throw ValidationError("It would be signed before it was bought: see --signed-date and --purchase-date.")
        }
        if let date = payload.revocationDate, !(payload.purchaseDate...payload.signedDate).contains(date) {
            throw ValidationError(
                """
                --revocation-date must be from the --purchase-date \(payload.purchaseDate) to the --signed-date \
                \(payload.signedDate), not \(date).
                """
            )
        }
        if let date = payload.expiresDate, date <= payload.purchaseDate {
            throw ValidationError(
                "--expires-date must be after the --purchase-date \(payload.purchaseDate), not \(date).")
        }
        let isCounted = payload.type == .consumable || payload.type == .nonRenewingSubscription
        guard isCounted || payload.quantity == 1 else {
            throw ValidationError("--quantity must be 1 for a \(payload.type.rawValue), not \(payload.quantity).")
        }
    }
}

/// What was taken back.
struct RevocationOptions: ParsableArguments {
    @Option(
        help: "When it was revoked: makes it a revocation, of the whole unless --revocation-percentage is given.")
    var revocationDate: Moment?

    @Option(help: "How much is revoked, in thousandths of a percent of the full quantity: 0 to 100000.")
    var revocationPercentage: Int64?

    @Option(help: "Apple's revocationReason: 0 or 1.")
    var revocationReason: Int64?

    @Option(help: "Apple's revocationType: REFUND_FULL, REFUND_PRORATED or FAMILY_REVOKE.")
    var revocationType: String?

    func validate() throws {
        try Rule.past("--revocation-date", revocationDate)
        try Rule.range("--revocation-percentage", revocationPercentage, 0...AppStoreLimits.wholeShare)
        try Rule.range("--revocation-reason", revocationReason, 0...1)
        try Rule.oneOf("--revocation-type", revocationType, TransactionPayload.RevocationType.known.map(\.rawValue))
    }

    /// Any of them makes it a revocation. One that the transaction has already is kept, but for what they say of it.
    /// - Parameter type: what makes it one, where something else does; and its type, where nothing else says it.
    func apply(to payload: inout TransactionPayload, as type: TransactionPayload.RevocationType?) {
        let isGiven =
            revocationDate != nil || revocationPercentage != nil || revocationReason != nil || revocationType != nil
        guard isGiven || type != nil else { return }
        payload.revocationDate = revocationDate?.milliseconds ?? payload.revocationDate ?? payload.signedDate
        payload.revocationPercentage = revocationPercentage ?? payload.revocationPercentage
        payload.revocationReason = revocationReason.map { .init(rawValue: $0) } ?? payload.revocationReason ?? .other
        let isPart = payload.revocationPercentage.map { $0 < AppStoreLimits.wholeShare } ?? false
        payload.revocationType =
            revocationType.map { .init(rawValue: $0) } ?? payload.revocationType
            ?? (isPart ? .refundProrated : type ?? .refundFull)
    }

    /// No revocation, as when a refund is reversed.
    static func reinstate(_ payload: inout TransactionPayload) {
        payload.revocationDate = nil
        payload.revocationPercentage = nil
        payload.revocationReason = nil
        payload.revocationType = nil
    }
}

/// The offer by which it was bought.
struct OfferOptions: ParsableArguments {
    @Option(help: "1 introductory, 2 promotional, 3 an offer code, 4 win-back.")
    var offerType: Int64?

    @Option(help: "The offer's or the offer code's name.")
    var offerIdentifier: String?

    @Option(help: "FREE_TRIAL, PAY_AS_YOU_GO, PAY_UP_FRONT or ONE_TIME.")
    var offerDiscountType: String?

    @Option(help: "The offer's duration in ISO 8601, as P1M.")
    var offerPeriod: String?

    func validate() throws {
        try Rule.range("--offer-type", offerType, 1...4)
        try Rule.identifier("--offer-identifier", offerIdentifier)
        try Rule.oneOf(
            "--offer-discount-type", offerDiscountType, TransactionPayload.OfferDiscountType.known.map(\.rawValue))
        if let offerPeriod, offerPeriod.wholeMatch(of: /P(?:\d+[YMWD])+/) == nil {
            throw ValidationError("--offer-period must be a duration in ISO 8601, as P1M, not '\(offerPeriod)'.")
        }
    }

    func apply(to payload: inout TransactionPayload) {
        if let offerType { payload.offerType = .init(rawValue: offerType) }
        if let offerIdentifier { payload.offerIdentifier = offerIdentifier }
        if let offerDiscountType { payload.offerDiscountType = .init(rawValue: offerDiscountType) }
        if let offerPeriod { payload.offerPeriod = offerPeriod }
    }
}

/// What only subscriptions have.
struct SubscriptionOptions: ParsableArguments {
    @Option(help: "The subscription's group. Default: 20000000, for one that renews")
    var subscriptionGroup: String?

    @Option(help: "When it ends or renews. Default: 30 days after it was bought, for one that renews")
    var expiresDate: Moment?

    @Option(help: "Apple's webOrderLineItemId. Default: the transaction's id, for one that renews")
    var webOrderLineItemId: String?

    @Flag(help: "The customer has upgraded to another subscription.")
    var upgraded = false

    @Option(help: "Apple's billingPlanType.")
    var billingPlanType: String?

    @Option(help: "Apple's commitmentInfo: a JSON object.")
    var commitmentInfo: String?

    @Option(help: "Apple's advancedCommerceInfo: a JSON object.")
    var advancedCommerceInfo: String?

    func validate() throws {
        try Rule.number("--subscription-group", subscriptionGroup)
        try Rule.time("--expires-date", expiresDate)
        try Rule.number("--web-order-line-item-id", webOrderLineItemId)
        try Rule.object("--commitment-info", commitmentInfo)
        try Rule.object("--advanced-commerce-info", advancedCommerceInfo)
    }

    func apply(to payload: inout TransactionPayload) {
        if payload.type == .autoRenewableSubscription {
            let month: Int64 = 30 * 86_400_000
            payload.subscriptionGroupIdentifier = payload.subscriptionGroupIdentifier ?? "20000000"
            payload.expiresDate = payload.expiresDate ?? payload.purchaseDate + month
            payload.webOrderLineItemID = payload.webOrderLineItemID ?? payload.transactionID
            if payload.originalTransactionID != payload.transactionID { payload.transactionReason = .renewal }
        }
        if let subscriptionGroup { payload.subscriptionGroupIdentifier = subscriptionGroup }
        if let expiresDate { payload.expiresDate = expiresDate.milliseconds }
        if let webOrderLineItemId { payload.webOrderLineItemID = webOrderLineItemId }
        if upgraded { payload.isUpgraded = true }
        if let billingPlanType { payload.billingPlanType = billingPlanType }
        if let commitmentInfo { payload.commitmentInfo = Array(commitmentInfo.utf8) }
        if let advancedCommerceInfo { payload.advancedCommerceInfo = Array(advancedCommerceInfo.utf8) }
    }
}
