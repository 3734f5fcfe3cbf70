/// Every bound of what is read from signed objects, each with its reason.
public enum AppStoreLimits {
    /// Bytes of one JWS. A notification with its transaction and renewal information has about 17 KiB.
    public static let jwsBytesMax = 65_536
    /// Bytes of a header segment. Apple's has 4,411; keys of RSA size would still fit.
    public static let headerBytesMax = 16_384
    /// Certificates that are looked at in a header before it is refused for their number.
    static let headerCertificatesMax = 8
    /// Verified chains that are remembered. Apple signs with two or three leaves at a time.
    public static let chainsCachedMax = 16
    /// Tables of keys, of 2.9 MB each: for the leaves with which Apple signs at a time.
    static let signatureTablesMax = 4
    /// Good signatures under a chain after which a table is made for it. A table takes some 25 milliseconds, and each
    /// signature's check without it 70 µs more: by then it would have paid.
    static let signaturesPerTableMin = 512
    /// Objects of which all but the signature is looked at before others are given way: some two tenths of a
    /// millisecond.
    static let preparationsBetweenGivingWay = 16
    /// Paths of certificates that are remembered because they lead to an anchor. Only an authority can make more; an
    /// authority's leaves of several years.
    static let pathsRememberedMax = 64
    /// Paths of certificates that are remembered because they do not, though they name an anchor. To push one out
    /// takes as many checks of a signature, of nearly a millisecond each.
    static let refusedPathsRememberedMax = 1_024
    /// OpenSSL's security level for a path (SSL_CTX_set_security_level(3)): nothing weaker than 112 bits, so neither
    /// SHA-1 nor RSA below 2,048 bits.
    static let securityLevel: Int32 = 2
    /// Bits of an RSA modulus, under configured anchors: 112 bits of security at least, and a check at most takes as
    /// long as one on P-384.
    static let rsaModulusBits = 2_048...4_096
    /// Bits of an RSA public exponent: from 65,537, as SP 800-56B asks. Each further bit costs a squaring.
    static let rsaExponentBits = 17...32
    /// How far in the future a `signedDate` may be: what the clocks of two servers may differ by.
    public static let signedDateAheadMillisecondsMax: Int64 = 300_000
    /// Units of one purchase (StoreKit, `Product.PurchaseOption.quantity(_:)`: "The maximum value is 10").
    public static let quantityMax: Int64 = 10
    /// A price and a date of what is credited: what every JSON reader holds.
    public static let numberMax: Int64 = 9_007_199_254_740_991
    /// A revocation's share of the whole, in thousandths of a percent.
    public static let wholeShare: Int64 = 100_000
    /// Digits of a transaction id: what 64 bits hold.
    public static let transactionIDDigitsMax = 19
    /// Items of one purchase of the Advanced Commerce API.
    public static let itemsMax = 100
    /// Bytes of a bundle id, a product id, a notification's UUID: App Store Connect allows 155, 100 and 36.
    public static let identifierBytesMax = 255
}
