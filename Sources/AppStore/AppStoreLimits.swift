/// Every bound of what is read from signed objects, each with its reason.
public enum AppStoreLimits {
    /// Bytes of one JWS. A notification with its transaction and renewal information has about 17 KiB.
    public static let jwsBytesMax = 65_536
    /// Bytes of a header segment. Apple's has 4,411; keys of RSA size would still fit.
    public static let headerBytesMax = 16_384
    /// Certificates that are looked at in a header before it is refused for their number.
    static let headerCertificatesMax = 8
    /// Verified chains that are remembered. Apple signs with two or three leaves at a time; each
    /// takes 2.9 MB, for its key's table.
    public static let chainsCachedMax = 16
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
    /// Bytes of a bundle id, a product id, a notification's UUID: App Store Connect allows 155, 100 and 36.
    public static let identifierBytesMax = 255
}
