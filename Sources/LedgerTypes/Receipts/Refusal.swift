/// Why the ledger does not do what it was asked. A refusal changes nothing.
public struct Refusal: Error, Hashable, Sendable {
    /// The stable reasons, in the protocol's order of precedence.
    public enum Reason: Error, Hashable, Sendable {
        /// What was bought is no consumable, and the catalog does not list it.
        case notConsumable
        /// The catalog lists the product with another type than Apple signed, which is as Apple wrote it.
        case wrongProductType(product: String, listed: ProductType, signed: String)
        /// A member of the family shares it, and the catalog grants nothing for that.
        case familyShared(product: String)
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
        /// More than the catalog allows for one grant.
        case grantLimit(currency: CurrencyCode, grantMax: Int64)
        /// The wallet would have, or have held, more than 2^53 − 1.
        case balanceLimit(currency: CurrencyCode)
        /// The key was used for another request.
        case keyReused
        /// No spend has that key, or not the one operation that is meant.
        case unknownSpend
        /// Less than that is left to give back; `reversible` of the first such currency.
        case alreadyReversed(currency: CurrencyCode, reversible: Int64)
        /// No hold has that key, or not the one operation that is meant.
        case unknownHold
        /// The hold was captured or released.
        case holdClosed
        /// The hold's time is over: it was released.
        case holdExpired(expiresAt: Timestamp)
        /// The ledger has no such currency.
        case unknownCurrency(currency: CurrencyCode)
        /// The ledger has no such purchase.
        case unknownPurchase
        /// Periods up to a later time are closed, and none ends at this one.
        case periodClosed(closedThrough: Timestamp)
        /// The purchase was bought at a time that has not come.
        case futurePurchase
        /// The purchase has no CONSUMPTION_REQUEST of that notificationUUID. Only the service itself names one.
        case unknownConsumptionRequest
        /// Apple takes GRANT_PRORATED only where some was consumed and some was not.
        case proratedPreference(consumption: Int64?)
    }

    /// Why.
    public var reason: Reason
    /// The index of the operation of an `atomic` that is refused.
    public var operation: Int?
    /// Whether this is the first answer given again.
    public var replayed: Bool

    /// A refusal given now, or given again.
    public init(_ reason: Reason, operation: Int? = nil, replayed: Bool = false) {
        self.reason = reason
        self.operation = operation
        self.replayed = replayed
    }
}
