/// Why the ledger does not do what it was asked. A refusal changes nothing.
public struct Refusal: Error, Hashable, Sendable {
    /// The stable reasons, in the protocol's order of precedence.
    public enum Reason: Error, Hashable, Sendable {
        /// The catalog does not know the product (yet).
        case unknownProduct(product: String)
        /// The JWS names no account and the request neither.
        case accountRequired
        /// The request, the JWS and the record do not name the same account.
        case accountMismatch
        /// The same transaction id with other facts; `member` names the first that differs.
        case purchaseConflict(member: String)
        /// Not enough to spend.
        case insufficientFunds(currency: CurrencyCode, available: Int64)
        /// The wallet's version is another.
        case versionMismatch(version: Int64)
        /// Less than the minimum would be left.
        case minimumRemaining(available: Int64)
        /// A balance or sum would leave ±(2^53 − 1).
        case balanceLimit(currency: CurrencyCode)
        /// The key was used for another request.
        case keyReused
        /// The ledger has no such currency.
        case unknownCurrency(currency: CurrencyCode)
        /// The ledger has no such purchase.
        case unknownPurchase
        /// Apple takes GRANT_PRORATED only where some was consumed and some was not.
        case proratedPreference(consumption: Int64)
    }

    /// Why.
    public var reason: Reason
    /// Whether this is the first answer given again.
    public var replayed: Bool

    /// A refusal given now, or given again.
    public init(_ reason: Reason, replayed: Bool = false) {
        self.reason = reason
        self.replayed = replayed
    }
}
