/// A purchase of another store than the App Store, as the studio's pipeline states it: nobody signed it.
public struct ExternalPurchase: Hashable, Sendable {
    /// The store, and its own id of the purchase. Once for ever.
    public var identity: ExternalIdentity
    /// Whose it is.
    public var account: AccountName
    /// What was bought, as the catalog lists it.
    public var product: String
    /// How many of it, 1 … ``Limits/quantityMax``.
    public var quantity: Int64
    /// What was paid for all of it, in thousandths of ``priceCurrency``; `nil` where that is not known. What cost 0 is
    /// free currency.
    public var price: Int64?
    /// The ISO 4217 code of the price's currency; there if and only if the price is.
    public var priceCurrency: String?
    /// When it was bought: which offer of the catalog it is.
    public var purchaseDate: Timestamp
    /// How much of it is refunded by now, 0 … 100000 thousandths of a percent; `nil` where the request says only that
    /// it was bought, so that a late repetition of it undoes no refund.
    public var revoked: Int64?

    /// A purchase of another store.
    public init(
        identity: ExternalIdentity, account: AccountName, product: String, quantity: Int64 = 1, price: Int64? = nil,
        priceCurrency: String? = nil, purchaseDate: Timestamp, revoked: Int64? = nil
    ) {
        self.identity = identity
        self.account = account
        self.product = product
        self.quantity = quantity
        self.price = price
        self.priceCurrency = priceCurrency
        self.purchaseDate = purchaseDate
        self.revoked = revoked
    }
}
