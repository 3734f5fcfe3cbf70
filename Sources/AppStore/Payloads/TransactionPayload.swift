/// What the App Store says about one transaction (Apple's `JWSTransactionDecodedPayload`).
///
/// All dates are integer milliseconds since the UNIX epoch; a fraction, as Xcode writes it, is cut off. Members that
/// Apple adds later are passed over here and stay in the ``Evidence``.
public struct TransactionPayload: Sendable, Equatable {
    /// The transaction's number: 1 … 19 decimal digits, which fit 64 bits. Xcode begins at "0".
    public var transactionID: String
    /// The first transaction's number, for subscriptions and restored purchases; otherwise the same as
    /// ``transactionID``.
    public var originalTransactionID: String?
    /// Links a subscription's purchase events across devices.
    public var webOrderLineItemID: String?
    /// The app.
    public var bundleID: String
    /// The product, as made in App Store Connect.
    public var productID: String
    /// The product's subscription group.
    public var subscriptionGroupIdentifier: String?
    /// When the customer was charged.
    public var purchaseDate: Int64
    /// When the first transaction was charged.
    public var originalPurchaseDate: Int64?
    /// When the subscription ends or renews.
    public var expiresDate: Int64?
    /// Units bought: 1 … ``AppStoreLimits/quantityMax``; 1 where the payload does not say.
    public var quantity: Int64
    /// The kind of product.
    public var type: ProductType
    /// The account that the app named for the purchase: a UUID, which is then in lower case, or from Xcode any text;
    /// nil where it named none.
    public var appAccountToken: String?
    /// Whose purchase it is.
    public var inAppOwnershipType: OwnershipType?
    /// When the App Store signed this. The newest says what stands.
    public var signedDate: Int64
    /// Why it was taken back.
    public var revocationReason: RevocationReason?
    /// When it was taken back; nil where it was not, or no longer is.
    public var revocationDate: Int64?
    /// How much was taken back, of the whole quantity, in thousandths of a percent: 0 … 100,000. Apple leaves it out
    /// of older signatures, and where a refund was reversed.
    public var revocationPercentage: Int64?
    /// What kind of taking back it was.
    public var revocationType: RevocationType?
    /// The customer has upgraded to another subscription.
    public var isUpgraded: Bool?
    /// The kind of offer.
    public var offerType: OfferType?
    /// The offer's or the offer code's name.
    public var offerIdentifier: String?
    /// How the offer is paid.
    public var offerDiscountType: OfferDiscountType?
    /// The offer's duration, in ISO 8601.
    public var offerPeriod: String?
    /// The App Store's environment.
    public var environment: Environment
    /// The storefront's country, in three letters.
    public var storefront: String?
    /// The storefront's number.
    public var storefrontID: String?
    /// What caused the transaction.
    public var transactionReason: TransactionReason?
    /// The price in thousandths of the currency's unit. Not for accounting: Apple's own reports are.
    public var price: Int64?
    /// The price's currency, in ISO 4217.
    public var currency: String?
    /// The number of the app's download transaction.
    public var appTransactionID: String?
    /// How a subscription is billed.
    public var billingPlanType: String?
    /// A subscription's commitment, as JSON.
    public var commitmentInfo: [UInt8]?
    /// What the Advanced Commerce API adds, as JSON.
    public var advancedCommerceInfo: [UInt8]?
    /// The items of ``advancedCommerceInfo``, where it was read from a payload; none where there are none.
    public internal(set) var advancedCommerceItems: [AdvancedCommerceItem] = []

    /// Makes a payload to be signed by a ``SandboxChain``; what is not given here is set afterwards.
    public init(
        transactionID: String, bundleID: String, productID: String, purchaseDate: Int64, quantity: Int64 = 1,
        type: ProductType = .consumable, appAccountToken: String? = nil, signedDate: Int64, environment: Environment
    ) {
        self.transactionID = transactionID
        self.bundleID = bundleID
        self.productID = productID
        self.purchaseDate = purchaseDate
        self.quantity = quantity
        self.type = type
        self.appAccountToken = appAccountToken
        self.signedDate = signedDate
        self.environment = environment
    }

    /// How much of the purchase was taken back, in thousandths of a percent of the whole quantity: 0 … 100,000.
    ///
    /// Nothing without a revocation date (none was, or a refund was reversed), unless the subscription was upgraded:
    /// the next one is paid in full, and this one is refunded. All of it without a percentage (`REFUND_FULL`,
    /// `FAMILY_REVOKE`, and what was signed before Apple gave percentages). Of Advanced Commerce items that were
    /// revoked, and not all were, each counts the same.
    public var revoked: Int64 {
        if revocationDate != nil || isUpgraded == true { return revocationPercentage ?? AppStoreLimits.wholeShare }
        if advancedCommerceItems.isEmpty { return 0 }
        let revoked = advancedCommerceItems.count { $0.revocationDate != nil }
        return AppStoreLimits.wholeShare * Int64(revoked) / Int64(advancedCommerceItems.count)
    }
}

/// What was bought, as whoever credits it counts it.
extension TransactionPayload {
    /// The transaction under which the purchase is one, however often it is restored: a non-consumable's first;
    /// otherwise each transaction, and so each renewal, is a purchase of its own.
    public var purchaseID: String {
        type == .nonConsumable ? originalTransactionID ?? transactionID : transactionID
    }

    /// When the customer was charged for the purchase of ``purchaseID``.
    public var chargeDate: Int64 {
        type == .nonConsumable ? originalPurchaseDate ?? purchaseDate : purchaseDate
    }

    /// One name for what was bought: the SKU of an Advanced Commerce item, where it is the only one; otherwise the
    /// product.
    public var soldID: String { advancedCommerceItems.count == 1 ? advancedCommerceItems[0].sku : productID }

    /// What was bought: the SKUs of Advanced Commerce items, in the payload's order; otherwise the product.
    public var soldIDs: [String] {
        advancedCommerceItems.isEmpty ? [productID] : advancedCommerceItems.map(\.sku)
    }
}
