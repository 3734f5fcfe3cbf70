/// What a signed transaction did.
public enum PurchaseOutcome: String, CaseIterable, Sendable {
    /// The purchase was credited now.
    case credited
    /// It stands already as this or a newer JWS says.
    case alreadyCredited = "already_credited"
    /// The JWS carried a revocation, whole or in part, not seen before.
    case reversed
    /// It is revoked already, wholly or in part, as this or a newer JWS says.
    case alreadyReversed = "already_reversed"
    /// A refund was itself reversed.
    case reinstated
    /// Recorded, but no account is known yet; a later credit that names one posts it.
    case unassigned
}

/// A signed change of one currency.
public struct PostedAmount: Hashable, Sendable {
    /// The currency.
    public var currency: CurrencyCode
    /// Negative for a reversal.
    public var units: Int64

    /// A signed change of one currency.
    public init(currency: CurrencyCode, units: Int64) {
        self.currency = currency
        self.units = units
    }
}

/// The answer to `credit`, and to a `notify` that carries a purchase that grants currency.
public struct PurchaseReceipt: Hashable, Sendable {
    /// What the JWS did.
    public var outcome: PurchaseOutcome
    /// The purchase.
    public var transaction: TransactionID
    /// Whose it is; `nil` where it is unassigned.
    public var account: AccountName?
    /// What this request changed; empty where nothing.
    public var posted: [PostedAmount]
    /// The wallets of the currencies that the purchase grants.
    public var balances: [CurrencyBalance]
    /// The last entry that posted something for the purchase.
    public var entry: EntryID?
    /// Whether the app may call `Transaction.finish()`.
    public var finish: Bool

    /// The answer to `credit`.
    public init(
        outcome: PurchaseOutcome, transaction: TransactionID, account: AccountName?, posted: [PostedAmount],
        balances: [CurrencyBalance], entry: EntryID?, finish: Bool
    ) {
        self.outcome = outcome
        self.transaction = transaction
        self.account = account
        self.posted = posted
        self.balances = balances
        self.entry = entry
        self.finish = finish
    }
}

/// The answer to `notify`.
public struct NotificationReceipt: Hashable, Sendable {
    /// Apple's type, as sent.
    public var type: String
    /// Apple's subtype, as sent.
    public var subtype: String?
    /// Apple's id of the notification, on which it is deduplicated.
    public var uuid: String
    /// Whether it had been recorded before.
    public var duplicate: Bool
    /// What the purchase in it did; `nil` where it carries none that grants currency.
    public var purchase: PurchaseReceipt?

    /// The answer to `notify`.
    public init(type: String, subtype: String?, uuid: String, duplicate: Bool, purchase: PurchaseReceipt?) {
        self.type = type
        self.subtype = subtype
        self.uuid = uuid
        self.duplicate = duplicate
        self.purchase = purchase
    }
}
