/// Which page of the journal.
public struct JournalQuery: Hashable, Sendable {
    /// Only entries after this one; 0 for the start.
    public var after: EntryID
    /// At most this many entries.
    public var limit: Int
    /// Where nothing is newer yet, how long the first new entry is waited for, 0 …
    /// ``Limits/journalWaitMillisecondsMax``.
    public var waitMilliseconds: Int64
    /// Of the page's first entry, so many transfers are left out: for who has them already, and reads those that
    /// ``JournalEntry/transfersMore`` speaks of.
    public var skipTransfers: Int

    /// Which page of the journal.
    public init(
        after: EntryID, limit: Int = Limits.journalPageDefault, waitMilliseconds: Int64 = 0, skipTransfers: Int = 0
    ) {
        self.after = after
        self.limit = limit
        self.waitMilliseconds = waitMilliseconds
        self.skipTransfers = skipTransfers
    }
}

/// One entry of the journal with its transfers.
public struct JournalEntry: Hashable, Sendable {
    /// One transfer of the entry.
    public struct Line: Hashable, Sendable {
        /// The transfer's number.
        public var transfer: TransferID
        /// Whose wallet the transfer's lot is in.
        public var account: AccountName
        /// The kind of account debited.
        public var debit: AccountKind
        /// The kind of account credited.
        public var credit: AccountKind
        /// The currency.
        public var currency: CurrencyCode
        /// How much.
        public var amount: Amount
        /// The lot that it opened, filled, drew or refunded.
        public var lot: LotID
        /// Where it paid a debt: the lot whose refund the debt came from.
        public var debtLot: LotID?

        /// One transfer.
        public init(
            transfer: TransferID, account: AccountName, debit: AccountKind, credit: AccountKind,
            currency: CurrencyCode, amount: Amount, lot: LotID, debtLot: LotID?
        ) {
            self.transfer = transfer
            self.account = account
            self.debit = debit
            self.credit = credit
            self.currency = currency
            self.amount = amount
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
    /// Who asked for it: the name of the token under which the request came; `nil` for what the ledger does by itself,
    /// and where nobody needs a token.
    public var actor: String?
    /// Its transfers, in their order; at most ``Limits/transfersPerEntryMax`` of them.
    public var transfers: [Line]
    /// How many more of them follow.
    public var transfersMore: Int

    /// One entry of the journal.
    public init(
        entry: EntryID, time: Timestamp, kind: EntryKind, key: RequestKey?, note: String?,
        transaction: TransactionID?, actor: String? = nil, transfers: [Line], transfersMore: Int = 0
    ) {
        self.entry = entry
        self.time = time
        self.kind = kind
        self.key = key
        self.note = note
        self.transaction = transaction
        self.actor = actor
        self.transfers = transfers
        self.transfersMore = transfersMore
    }
}

/// A page of the journal, oldest first.
public struct JournalPage: Hashable, Sendable {
    /// The entries; empty where nothing is newer.
    public var entries: [JournalEntry]
    /// Pass it as `after` for the next page, now or later.
    public var next: EntryID

    /// A page of the journal.
    public init(entries: [JournalEntry], next: EntryID) {
        self.entries = entries
        self.next = next
    }
}
