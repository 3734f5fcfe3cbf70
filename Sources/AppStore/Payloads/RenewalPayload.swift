internal import StrictJSON

/// What the App Store says about the renewal of a subscription (Apple's `JWSRenewalInfoDecodedPayload`), to be signed
/// by a ``SandboxChain``. The ledger credits no subscriptions, so that nothing here reads one.
///
/// All dates are integer milliseconds since the UNIX epoch; prices are thousandths of the currency's unit.
public struct RenewalPayload: Sendable, Equatable {
    /// The subscription's first transaction.
    public var originalTransactionID: String
    /// The product that renews next.
    public var autoRenewProductID: String
    /// The product as it is now.
    public var productID: String
    /// 1 where it will renew, 0 where the customer has turned that off.
    public var autoRenewStatus: Int64
    /// When it renews, or ends.
    public var renewalDate: Int64?
    /// What the next renewal costs.
    public var renewalPrice: Int64?
    /// The price's currency, in ISO 4217.
    public var currency: String?
    /// When the App Store signed this.
    public var signedDate: Int64
    /// The App Store's environment.
    public var environment: Environment
    /// When this run of the subscription, without a gap of 60 days, began.
    public var recentSubscriptionStartDate: Int64?
    /// Why it ended: 1 by the customer, 2 a billing error, 3 no consent to a price increase, 4 the product is not for
    /// sale, 5 another reason.
    public var expirationIntent: Int64?
    /// The App Store is still trying to renew it.
    public var isInBillingRetryPeriod: Bool?
    /// When the grace period ends.
    public var gracePeriodExpiresDate: Int64?
    /// 0 where the customer has not answered to a price increase, 1 where they agreed or need not.
    public var priceIncreaseStatus: Int64?
    /// The offer that applies to the next renewal.
    public var offerType: TransactionPayload.OfferType?
    /// The offer's or the offer code's name.
    public var offerIdentifier: String?
    /// How the offer is paid.
    public var offerDiscountType: TransactionPayload.OfferDiscountType?
    /// The offer's duration, in ISO 8601.
    public var offerPeriod: String?
    /// The win-back offers that the customer may take.
    public var eligibleWinBackOfferIDs: [String]?
    /// The account that the app named for the purchase.
    public var appAccountToken: String?
    /// The number of the app's download transaction.
    public var appTransactionID: String?
    /// How the next renewal is billed.
    public var renewalBillingPlanType: String?
    /// The commitment of the next renewal, as JSON.
    public var commitmentInfo: [UInt8]?
    /// What the Advanced Commerce API adds, as JSON.
    public var advancedCommerceInfo: [UInt8]?

    /// The subscription of a transaction, which renews as it is when it expires. What is different is set afterwards.
    public init(of transaction: TransactionPayload, signedDate: Int64) {
        originalTransactionID = transaction.originalTransactionID ?? transaction.transactionID
        autoRenewProductID = transaction.productID
        productID = transaction.productID
        autoRenewStatus = 1
        renewalDate = transaction.expiresDate
        renewalPrice = transaction.price
        currency = transaction.currency
        self.signedDate = signedDate
        environment = transaction.environment
        recentSubscriptionStartDate = transaction.originalPurchaseDate ?? transaction.purchaseDate
        appAccountToken = transaction.appAccountToken
        appTransactionID = transaction.appTransactionID
        renewalBillingPlanType = transaction.billingPlanType
    }

    /// The payload as JSON; what is nil is left out.
    public func json() -> [UInt8] {
        var writer = JSONWriter(capacity: 768)
        writer.beginObject()
        writer.member("expirationIntent", expirationIntent)
        writer.member("originalTransactionId", originalTransactionID)
        writer.member("autoRenewProductId", autoRenewProductID)
        writer.member("productId", productID)
        writer.member("autoRenewStatus", autoRenewStatus)
        writer.member("isInBillingRetryPeriod", isInBillingRetryPeriod)
        writer.member("priceIncreaseStatus", priceIncreaseStatus)
        writer.member("gracePeriodExpiresDate", gracePeriodExpiresDate)
        writer.member("offerType", offerType?.rawValue)
        writer.member("offerIdentifier", offerIdentifier)
        writer.member("offerDiscountType", offerDiscountType?.rawValue)
        writer.member("offerPeriod", offerPeriod)
        if let eligibleWinBackOfferIDs {
            writer.key("eligibleWinBackOfferIds")
            writer.beginArray()
            for offer in eligibleWinBackOfferIDs { writer.string(offer) }
            writer.endArray()
        }
        writer.member("signedDate", signedDate)
        writer.member("environment", environment.rawValue)
        writer.member("recentSubscriptionStartDate", recentSubscriptionStartDate)
        writer.member("renewalDate", renewalDate)
        writer.member("renewalPrice", renewalPrice)
        writer.member("currency", currency)
        writer.member("appAccountToken", appAccountToken)
        writer.member("appTransactionId", appTransactionID)
        writer.member("renewalBillingPlanType", renewalBillingPlanType)
        writer.member("commitmentInfo", raw: commitmentInfo)
        writer.member("advancedCommerceInfo", raw: advancedCommerceInfo)
        writer.endObject()
        return writer.bytes
    }
}
