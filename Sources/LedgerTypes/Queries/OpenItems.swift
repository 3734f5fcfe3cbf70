/// Which page of what an account's wallets have open: of its lots, or of its holds.
public struct OpenItemsQuery: Hashable, Sendable {
    /// Whose; a token that is linked to an account means that.
    public var account: AccountName
    /// Only this currency; all where `nil`.
    public var currency: CurrencyCode?
    /// At most this many.
    public var limit: Int
    /// Only those before this one: the `next` of the page before.
    public var before: Int64?

    /// Which page of what an account's wallets have open.
    public init(
        account: AccountName, currency: CurrencyCode? = nil, limit: Int = Limits.openItemsPageDefault,
        before: Int64? = nil
    ) {
        self.account = account
        self.currency = currency
        self.limit = limit
        self.before = before
    }
}

/// A lot of which something is left or set aside, or of which something is owed.
public struct OpenLot: Hashable, Sendable {
    /// Its number.
    public var lot: LotID
    /// The currency.
    public var currency: CurrencyCode
    /// Whether it was bought or given.
    public var lotClass: LotClass
    /// When it came.
    public var time: Timestamp
    /// The purchase that it came from.
    public var transaction: TransactionID?
    /// What was bought with that.
    public var product: String?
    /// What it had first.
    public var granted: Int64
    /// What of it can be spent.
    public var remaining: Int64
    /// What of it holds have set aside.
    public var held: Int64
    /// What is owed of it: it was refunded after it was spent.
    public var debt: Int64
    /// From when on nothing of it can be spent; `nil` where that never comes.
    public var expiresAt: Timestamp?

    /// A lot that is open.
    public init(
        lot: LotID, currency: CurrencyCode, lotClass: LotClass, time: Timestamp, transaction: TransactionID? = nil,
        product: String? = nil, granted: Int64, remaining: Int64, held: Int64 = 0, debt: Int64 = 0,
        expiresAt: Timestamp? = nil
    ) {
        self.lot = lot
        self.currency = currency
        self.lotClass = lotClass
        self.time = time
        self.transaction = transaction
        self.product = product
        self.granted = granted
        self.remaining = remaining
        self.held = held
        self.debt = debt
        self.expiresAt = expiresAt
    }
}

/// A hold that was neither captured nor released, and is not over.
public struct OpenHoldView: Hashable, Sendable {
    /// The key of the request that set it aside, by which it is captured or released.
    public var key: RequestKey
    /// Its place among the operations of an atomic; `nil` where the request was none.
    public var operation: Int?
    /// The entry that set it aside.
    public var entry: EntryID
    /// Since when.
    public var time: Timestamp
    /// The currency.
    public var currency: CurrencyCode
    /// How much.
    public var amount: Int64
    /// When it is given back by itself.
    public var expiresAt: Timestamp
    /// The name of the token under which somebody asked for it; `nil` where nobody needs one.
    public var actor: String?

    /// A hold that is open.
    public init(
        key: RequestKey, operation: Int? = nil, entry: EntryID, time: Timestamp, currency: CurrencyCode, amount: Int64,
        expiresAt: Timestamp, actor: String? = nil
    ) {
        self.key = key
        self.operation = operation
        self.entry = entry
        self.time = time
        self.currency = currency
        self.amount = amount
        self.expiresAt = expiresAt
        self.actor = actor
    }
}

/// A page of what an account's wallets have open, the newest first: of lots (``OpenLot``) or of holds
/// (``OpenHoldView``).
public struct OpenItemsPage<Item: Hashable & Sendable>: Hashable, Sendable {
    /// The last entry that the ledger had when it was read: so they were after that.
    public var entry: EntryID
    /// The lots, or the holds.
    public var items: [Item]
    /// Pass it as `before` for the next page; `nil` where there is none.
    public var next: Int64?

    /// A page of open lots or holds.
    public init(entry: EntryID, items: [Item], next: Int64?) {
        self.entry = entry
        self.items = items
        self.next = next
    }
}
