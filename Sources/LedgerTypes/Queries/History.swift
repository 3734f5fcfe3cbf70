/// Which page of an account's history.
public struct HistoryQuery: Hashable, Sendable {
    /// Whose.
    public var account: AccountName
    /// Only this currency; all where `nil`.
    public var currency: CurrencyCode?
    /// At most this many entries.
    public var limit: Int
    /// Only entries before this one.
    public var before: EntryID?
    /// Of the page's first entry, the newest, so many transfers of the account are left out: for who has them already,
    /// and reads those that ``HistoryEntry/transfersMore`` speaks of.
    public var skipTransfers: Int

    /// Which page of an account's history.
    public init(
        account: AccountName, currency: CurrencyCode? = nil, limit: Int = Limits.historyPageDefault,
        before: EntryID? = nil, skipTransfers: Int = 0
    ) {
        self.account = account
        self.currency = currency
        self.limit = limit
        self.before = before
        self.skipTransfers = skipTransfers
    }
}

/// One entry of an account's history.
public struct HistoryEntry: Hashable, Sendable {
    /// One transfer of the entry that concerns the account.
    public struct Movement: Hashable, Sendable {
        /// The kind of account debited.
        public var debit: AccountKind
        /// The kind of account credited.
        public var credit: AccountKind
        /// The currency.
        public var currency: CurrencyCode
        /// How much.
        public var amount: Amount
        /// What it added to the account's `available`; negative where it took from it, 0 where it moved something else.
        public var change: Int64
        /// The lot that it opened, filled, drew or refunded.
        public var lot: LotID
        /// Where it paid a debt: the lot whose refund the debt came from.
        public var debtLot: LotID?

        /// One transfer.
        public init(
            debit: AccountKind, credit: AccountKind, currency: CurrencyCode, amount: Amount, change: Int64, lot: LotID,
            debtLot: LotID?
        ) {
            self.debit = debit
            self.credit = credit
            self.currency = currency
            self.amount = amount
            self.change = change
            self.lot = lot
            self.debtLot = debtLot
        }
    }

    /// The entry.
    public var entry: EntryID
    /// When it was posted.
    public var time: Timestamp
    /// What it did.
    public var kind: EntryKind
    /// The key of the request that asked for it.
    public var key: RequestKey?
    /// The note of that request.
    public var note: String?
    /// The purchase that it is about.
    public var transaction: TransactionID?
    /// What was bought with it.
    public var product: String?
    /// How many of it; `nil` where it was imported, which says nothing of that.
    public var quantity: Int64?
    /// What was paid for all of it, in thousandths of ``priceCurrency``, where Apple says it.
    public var price: Int64?
    /// The price's currency, as `USD`.
    public var priceCurrency: String?
    /// Who asked for it: the name of the token under which the request came; `nil` for what the ledger does by itself,
    /// and where nobody needs a token.
    public var actor: String?
    /// Its transfers that concern the account; at most ``Limits/transfersPerEntryMax`` of them.
    public var transfers: [Movement]
    /// How many more of them follow.
    public var transfersMore: Int
    /// The account's balances of the currencies it touched, after it.
    public var balances: [CurrencyBalance]

    /// One entry of an account's history.
    public init(
        entry: EntryID, time: Timestamp, kind: EntryKind, key: RequestKey?, note: String?,
        transaction: TransactionID?, product: String? = nil, quantity: Int64? = nil, price: Int64? = nil,
        priceCurrency: String? = nil, actor: String? = nil, transfers: [Movement], transfersMore: Int = 0,
        balances: [CurrencyBalance]
    ) {
        self.entry = entry
        self.time = time
        self.kind = kind
        self.key = key
        self.note = note
        self.transaction = transaction
        self.product = product
        self.quantity = quantity
        self.price = price
        self.priceCurrency = priceCurrency
        self.actor = actor
        self.transfers = transfers
        self.transfersMore = transfersMore
        self.balances = balances
    }
}

/// A page of an account's history, newest first.
public struct HistoryPage: Hashable, Sendable {
    /// The entries.
    public var entries: [HistoryEntry]
    /// Pass it as `before` for the next page; `nil` where there is none.
    public var next: EntryID?

    /// A page of an account's history.
    public init(entries: [HistoryEntry], next: EntryID?) {
        self.entries = entries
        self.next = next
    }
}
