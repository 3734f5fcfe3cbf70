public import Ledger

// Tests name valid values as literals; an invalid one is a mistake of the test and traps.

extension AccountName: ExpressibleByStringLiteral {
    /// A name.
    public init(stringLiteral text: String) { self = AccountName(text)! }
}

extension CurrencyCode: ExpressibleByStringLiteral {
    /// A code.
    public init(stringLiteral text: String) { self = CurrencyCode(text)! }
}

extension RequestKey: ExpressibleByStringLiteral {
    /// A key.
    public init(stringLiteral text: String) { self = RequestKey(text)! }
}

extension Amount: ExpressibleByIntegerLiteral {
    /// An amount.
    public init(integerLiteral units: Int64) { self = Amount(units)! }
}

extension TransactionID: ExpressibleByIntegerLiteral {
    /// An id.
    public init(integerLiteral number: Int64) { self.init(number: number) }
}

/// 32 bytes that depend on every byte: FNV-1a from four starts. Not SHA-256, which `Ledger` is handed from outside.
let testHash: HashFunction = { bytes, digest in
    for start in 0..<4 {
        var value: UInt64 = 0xCBF2_9CE4_8422_2325 ^ (UInt64(start) &* 0x9E37_79B9_7F4A_7C15)
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        digest.storeBytes(of: value, toByteOffset: start * 8, as: UInt64.self)
    }
}

/// A verified JWS of one purchase.
func jws(
    _ transaction: TransactionID, _ product: String = "gems100", quantity: Int64 = 1, purchased: Timestamp = 1_000,
    signed: Timestamp = 1, revoked: Int64 = 0, price: Int64? = nil, token: AccountName? = nil
) -> SignedPurchase {
    SignedPurchase(
        facts: PurchaseFacts(
            transaction: transaction, product: product, quantity: quantity, purchaseDate: purchased, price: price,
            priceCurrency: price == nil ? nil : "EUR", token: token),
        signedDate: signed, revoked: revoked, evidence: testEvidence)
}

/// A verified notification, with a purchase in it or none.
func notification(_ uuid: String, _ purchase: SignedPurchase?, type: String = "ONE_TIME_CHARGE") -> SignedNotification {
    SignedNotification(
        uuid: uuid, type: type, subtype: nil, signedDate: purchase?.signedDate ?? 1, evidence: testEvidence,
        purchase: purchase)
}

let testEvidence = JWSParts(
    headerDigest: Digest([UInt8](repeating: 7, count: 32))!, header: Array("e30".utf8), payload: Array("{}".utf8),
    signature: [UInt8](repeating: 9, count: 64))

extension Catalog {
    /// `gems` become debt, `coins` are written off; both and `tickets` are drawn free first. A grant of gems may be as
    /// large as an amount.
    static let standard = catalog()

    static func catalog(gems: SpendOrder = .freeFirst, grantMax: Int64 = Limits.amountMax) -> Catalog {
        Catalog(
            currencies: [
                "coins": CurrencySettings(refundShortfall: .writtenOff),
                "gems": CurrencySettings(spendOrder: gems, grantMax: grantMax),
                "tickets": CurrencySettings(),
            ],
            products: [
                "coins100": [.always(["coins": 100])],
                "gems1": [.always(["gems": 1])],
                "gems100": [.always(["gems": 100])],
                "gemsMax": [.always(["gems": Amount(Limits.amountMax)!])],
                "gemsHalf": [.always(["gems": Amount(Limits.amountMax / 2)!])],
                "starter": [.always(["gems": 1_000, "tickets": 5, "coins": 30])],
                "growing": [.from(2_000, ["gems": 120]), .from(0, ["gems": 100]), .from(3_000, ["gems": 150])],
                "late": [.from(5_000, ["gems": 10])],
            ])
    }
}

extension Catalog.Offer {
    static func always(_ grants: [CurrencyCode: Amount]) -> Catalog.Offer { from(0, grants) }

    static func from(_ time: Timestamp, _ grants: [CurrencyCode: Amount]) -> Catalog.Offer {
        Catalog.Offer(from: time, grants: grants.map { CurrencyAmount(currency: $0.key, amount: $0.value) })
    }
}
