/// A JWS in parts, so that its header, the same for every purchase under one certificate, is stored once.
/// `base64url(header).base64url(payload).base64url(signature)` is the JWS again, byte for byte.
package final class JWSParts: Sendable {
    /// SHA-256 of `header`.
    package let headerDigest: Digest
    /// The header segment as it was sent (base64url text).
    package let header: [UInt8]
    /// The decoded payload.
    package let payload: [UInt8]
    /// The 64 bytes r‖s.
    package let signature: [UInt8]

    package init(headerDigest: Digest, header: [UInt8], payload: [UInt8], signature: [UInt8]) {
        self.headerDigest = headerDigest
        self.header = header
        self.payload = payload
        self.signature = signature
    }
}

/// What stays true of a purchase however often Apple signs it anew.
package struct PurchaseFacts: Hashable, Sendable {
    /// What made the price another one than the product's.
    package struct Offer: Hashable, Sendable {
        /// Apple's number of the type of offer.
        package var type: Int64
        package var identifier: String?
        /// Apple's name of the payment mode, as `FREE_TRIAL`.
        package var discountType: String?

        package init(type: Int64, identifier: String? = nil, discountType: String? = nil) {
            self.type = type
            self.identifier = identifier
            self.discountType = discountType
        }
    }

    /// Apple's id of it; of a non-consumable the first's, however often it is restored.
    package var transaction: TransactionID
    /// The product's id; of one Advanced Commerce item its SKU.
    package var product: String
    /// How many of it; 1 where it was imported, for the books of before did not say.
    package var quantity: Int64
    package var purchaseDate: Timestamp
    /// The price in thousandths of `priceCurrency`, as Apple states it.
    package var price: Int64?
    package var priceCurrency: String?
    /// The purchase's own `appAccountToken`. It stands in the evidence and nowhere else.
    package var token: AccountName?
    package var source: PurchaseSource
    /// What another store calls it.
    package var external: ExternalIdentity?
    /// The three letters of the storefront's country or region.
    package var storefront: String?
    package var offer: Offer?
    /// The transaction that it restores or renews; for a consumable its own.
    package var original: TransactionID?
    /// Apple's name of how the player came by it, as `PURCHASED`.
    package var ownership: String?

    /// How many of it were bought; `nil` where nobody said.
    package var statedQuantity: Int64? { source == .imported ? nil : quantity }

    package init(
        transaction: TransactionID, product: String, quantity: Int64, purchaseDate: Timestamp, price: Int64? = nil,
        priceCurrency: String? = nil, token: AccountName? = nil, source: PurchaseSource = .appStore,
        external: ExternalIdentity? = nil, storefront: String? = nil, offer: Offer? = nil,
        original: TransactionID? = nil, ownership: String? = nil
    ) {
        self.transaction = transaction
        self.product = product
        self.quantity = quantity
        self.purchaseDate = purchaseDate
        self.price = price
        self.priceCurrency = priceCurrency
        self.token = token
        self.source = source
        self.external = external
        self.storefront = storefront
        self.offer = offer
        self.original = original
        self.ownership = ownership
    }
}

extension PurchaseFacts {
    /// The place of its first statement among all words on it, of which the newest counts: the statement's time. What
    /// was imported is older than whatever Apple signed of it.
    package func order(stated time: Timestamp) -> Timestamp { source == .imported ? purchaseDate : time }
}

/// One verified JWS of one purchase. Made only from a transaction whose signature was verified.
package struct SignedPurchase: Sendable {
    /// What kind of product Apple says it is.
    package enum Kind: Hashable, Sendable {
        case known(ProductType)
        /// As Apple writes it.
        case other(String)
    }

    package var facts: PurchaseFacts
    package var kind: Kind
    /// What the catalog is asked for: the product's id, or the SKUs of Advanced Commerce items.
    package var soldIDs: [String]
    /// Whether a member of the family bought it, and shares it.
    package var isFamilyShared: Bool
    package var signedDate: Timestamp
    /// How much of the purchase is revoked, 0 … 100000 thousandths of a percent of the full quantity.
    package var revoked: Int64
    package var evidence: JWSParts

    package init(
        facts: PurchaseFacts, kind: Kind = .known(.consumable), soldIDs: [String]? = nil, isFamilyShared: Bool = false,
        signedDate: Timestamp, revoked: Int64, evidence: JWSParts
    ) {
        self.facts = facts
        self.kind = kind
        self.soldIDs = soldIDs ?? [facts.product]
        self.isFamilyShared = isFamilyShared
        self.signedDate = signedDate
        self.revoked = revoked
        self.evidence = evidence
    }
}

/// A verified App Store Server Notification.
package struct SignedNotification: Sendable {
    package var uuid: String
    package var type: String
    package var subtype: String?
    package var signedDate: Timestamp
    /// Why the customer asked for a refund, where Apple asks how much was consumed.
    package var reason: String?
    package var evidence: JWSParts
    /// The purchase it carries, if it carries one.
    package var purchase: SignedPurchase?
    /// The transaction that it is about, as Apple numbers it, whether or not that grants something.
    package var subject: TransactionID?

    package init(
        uuid: String, type: String, subtype: String?, signedDate: Timestamp, reason: String? = nil, evidence: JWSParts,
        purchase: SignedPurchase?, subject: TransactionID? = nil
    ) {
        self.subject = subject
        self.reason = reason
        self.uuid = uuid
        self.type = type
        self.subtype = subtype
        self.signedDate = signedDate
        self.evidence = evidence
        self.purchase = purchase
    }
}
