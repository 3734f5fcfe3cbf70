internal import StrictJSON

/// Signs what an app hands to StoreKit with a purchase: promotional offers, whether a customer may have an
/// introductory offer, and Advanced Commerce requests. Nothing is sent to the App Store.
///
/// The app passes each on as it is, once: all have a nonce, and the App Store lets them expire.
public struct OfferSigner: Sendable {
    private let key: InAppPurchaseKey
    private let bundleID: String
    private let now: @Sendable () -> Int64

    /// Signs for one app.
    public init(key: InAppPurchaseKey, bundleID: String) {
        self.init(key: key, bundleID: bundleID, now: Pacing.systemMilliseconds)
    }

    init(key: InAppPurchaseKey, bundleID: String, now: @escaping @Sendable () -> Int64) {
        self.key = key
        self.bundleID = bundleID
        self.now = now
    }

    // MARK: Compact JWS ("Generating JWS to sign App Store requests")

    /// A promotional offer, for `Product.PurchaseOption.promotionalOffer(_:compactJWS:)`.
    /// - Parameters:
    ///   - productID: the subscription.
    ///   - offerID: the promotional offer's id in App Store Connect.
    ///   - transactionID: any transaction of the customer's, or their `appTransactionID`. It may be left out; Apple
    ///     recommends it.
    /// - Throws: ``AppStoreServerError/cannotSign(_:)``.
    public func promotionalOffer(
        productID: String, offerID: String, transactionID: String? = nil
    ) throws(AppStoreServerError) -> String {
        try jws(audience: "promotional-offer") { claims in
            claims.member("productId", productID)
            claims.member("offerIdentifier", offerID)
            claims.member("transactionId", transactionID)
        }
    }

    /// Whether a customer may have the introductory offer of a subscription, for
    /// `Product.PurchaseOption.introductoryOfferEligibility(compactJWS:)`.
    /// - Parameters:
    ///   - productID: the subscription.
    ///   - allowed: whether they may.
    ///   - transactionID: any transaction of the customer's, or their `appTransactionID`.
    /// - Throws: ``AppStoreServerError/cannotSign(_:)``.
    public func introductoryOffer(
        productID: String, allowed: Bool, transactionID: String
    ) throws(AppStoreServerError) -> String {
        try jws(audience: "introductory-offer-eligibility") { claims in
            claims.member("productId", productID)
            claims.member("allowIntroductoryOffer", allowed)
            claims.member("transactionId", transactionID)
        }
    }

    /// An Advanced Commerce request that the app makes of StoreKit.
    /// - Parameter request: its JSON, in UTF-8, as Apple documents it (`OneTimeChargeCreateRequest` and others). It is
    ///   signed as it is.
    /// - Throws: ``AppStoreServerError/invalidArgument(_:)`` where it is no JSON object;
    ///   ``AppStoreServerError/cannotSign(_:)``.
    public func advancedCommerce(request: [UInt8]) throws(AppStoreServerError) -> String {
        do {
            try JSONBody.read(request) { (reader) throws(JSONError) in
                try reader.object { (reader, _) throws(JSONError) in try reader.skip() }
            }
        } catch { throw .invalidArgument("an Advanced Commerce request must be a JSON object: \(error)") }
        return try jws(audience: "advanced-commerce-api") { claims in
            claims.key("request")
            claims.string(base64: request)
        }
    }

    private func jws(
        audience: String, claims: (inout JSONWriter) -> Void
    ) throws(AppStoreServerError) -> String {
        try key.token { payload in
            payload.member("iat", now() / 1_000)
            payload.member("aud", audience)
            payload.member("bid", bundleID)
            payload.member("nonce", RandomUUID.text())
            claims(&payload)
        }
    }

    // MARK: The older form ("Generating a signature for promotional offers")

    /// A promotional offer's signature with what was signed beside it: all of it goes to the app.
    public struct PromotionalOfferSignature: Hashable, Sendable {
        /// The key's id.
        public let keyID: String
        /// A UUID in lower case, for this signature alone.
        public let nonce: String
        /// When it was signed, in milliseconds since the UNIX epoch: the offer is good for 24 hours from then.
        public let timestamp: Int64
        /// In DER and base 64.
        public let signature: String
    }

    /// Signs a promotional offer for `SKPaymentDiscount` and
    /// `Product.PurchaseOption.promotionalOffer(offerID:keyID:nonce:signature:timestamp:)`.
    /// - Parameters:
    ///   - productID: the subscription.
    ///   - offerID: the promotional offer's id in App Store Connect.
    ///   - account: the `appAccountToken`, or the `applicationUsername`, that the app names for the purchase; empty
    ///     where it names none. It is signed in lower case, as Apple's own libraries do.
    /// - Throws: ``AppStoreServerError/cannotSign(_:)``.
    public func promotionalOfferSignature(
        productID: String, offerID: String, account: String
    ) throws(AppStoreServerError) -> PromotionalOfferSignature {
        let nonce = RandomUUID.text()
        let timestamp = now()
        let parts = [bundleID, key.keyID, productID, offerID, account.lowercased(), nonce, String(timestamp)]
        return PromotionalOfferSignature(
            keyID: key.keyID, nonce: nonce, timestamp: timestamp,
            signature: try key.signature(of: parts.joined(separator: OfferSigner.invisibleSeparator)))
    }

    private static let invisibleSeparator = "\u{2063}"
}
