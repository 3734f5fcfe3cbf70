/// One ledger in operation, as the server sees it: decides batches on the books and makes them durable, and reads.
package protocol Store: AnyObject, Sendable {
    /// The engines' names and versions, for `info`.
    var engine: String { get }

    /// The time of what is decided when the wall clock says `clock`: that time, unless it is unreasonably far ahead.
    func time(at clock: Timestamp) -> Timestamp

    /// Why nothing can be made durable at this moment: then batches that add nothing still go on. Called by the thread
    /// that commits, before it does. May block.
    func fault() -> StoreError?

    /// Runs one batch: has what `needs` names in the books, lets `decide` decide on them, and makes everything that it
    /// added to the journal durable as one block. A batch that adds nothing writes nothing.
    ///
    /// Called from one thread at a time, and may block. It may return before the block is durable, so that the next
    /// batch is decided meanwhile; `done` is then called from another thread. Batches are done in the order in which
    /// they were decided.
    /// - Parameters:
    ///   - isLast: whether the caller has nothing else to decide now.
    ///   - done: called once, when the block and all blocks before it are durable, or with the ``StoreError`` that kept
    ///     it from being so; then all state that the batch touched is dropped.
    func commit<Result: Sendable>(
        _ needs: Needs, isLast: Bool, _ decide: (inout Books) -> Result,
        done: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void)

    /// One page of an account's entries, newest first, as of the last commit. May be called from any thread, and may
    /// block.
    /// - Throws: ``StoreError``
    func history(_ query: HistoryQuery) throws -> HistoryPage

    /// An account's balances as of a time that is past.
    /// - Throws: ``StoreError``
    func balances(_ account: AccountName, currency: CurrencyCode?, asOf: Timestamp) throws -> [CurrencyBalance]

    /// One page of a report as of a time that is past. May be called from any thread, and may block.
    /// - Throws: ``StoreError``
    func report(_ query: ReportQuery) throws -> ReportPage

    /// One page of the journal, oldest first, of what is committed. May be called from any thread, and may block.
    /// - Throws: ``StoreError``
    func journal(_ query: JournalQuery) throws -> JournalPage

    /// Makes everything durable and closes. Nothing may be called after it.
    /// - Throws: ``StoreError``
    func close() throws
}

/// A store's failure: a kind, by which callers decide, then words.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// It may be tried again.
        case unavailable
        /// It is being opened, which takes a while; then it may be tried again.
        case opening
        /// Nobody can know at this moment whether the batch is durable. A repeat of its requests will know.
        case unknown
        /// What is stored is not what was written. Trying again does not help.
        case corrupt
    }

    package var kind: Kind
    /// What was being done and what went wrong; never values of rows.
    package var description: String

    package init(_ description: String) { self.init(.unavailable, description) }

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

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

    /// Which page of an account's history.
    public init(
        account: AccountName, currency: CurrencyCode? = nil, limit: Int = Limits.historyPageDefault,
        before: EntryID? = nil
    ) {
        self.account = account
        self.currency = currency
        self.limit = limit
        self.before = before
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
        /// The lot that it opened, filled, drew or refunded.
        public var lot: LotID
        /// Where it paid a debt: the lot whose refund the debt came from.
        public var debtLot: LotID?

        /// One transfer.
        public init(
            debit: AccountKind, credit: AccountKind, currency: CurrencyCode, amount: Amount, lot: LotID,
            debtLot: LotID?
        ) {
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
    /// Its transfers that concern the account.
    public var transfers: [Movement]
    /// The account's balances of the currencies it touched, after it.
    public var balances: [CurrencyBalance]

    /// One entry of an account's history.
    public init(
        entry: EntryID, time: Timestamp, kind: EntryKind, key: RequestKey?, note: String?,
        transaction: TransactionID?, transfers: [Movement], balances: [CurrencyBalance]
    ) {
        self.entry = entry
        self.time = time
        self.kind = kind
        self.key = key
        self.note = note
        self.transaction = transaction
        self.transfers = transfers
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

/// Which page of the journal.
public struct JournalQuery: Hashable, Sendable {
    /// Only entries after this one; 0 for the start.
    public var after: EntryID
    /// At most this many entries.
    public var limit: Int

    /// Which page of the journal.
    public init(after: EntryID, limit: Int = Limits.journalPageDefault) {
        self.after = after
        self.limit = limit
    }
}

/// One entry of the journal with all its transfers.
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
    /// Its transfers, in their order.
    public var transfers: [Line]

    /// One entry of the journal.
    public init(
        entry: EntryID, time: Timestamp, kind: EntryKind, key: RequestKey?, note: String?,
        transaction: TransactionID?, transfers: [Line]
    ) {
        self.entry = entry
        self.time = time
        self.kind = kind
        self.key = key
        self.note = note
        self.transaction = transaction
        self.transfers = transfers
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

/// What finance can ask for.
public enum ReportKind: String, CaseIterable, Sendable {
    /// Every wallet's balance.
    case balances
    /// The turnover and balance of every kind of account.
    case trial
    /// What players owe after refunds, with the purchase behind each debt.
    case debts
}

/// Which page of a report.
public struct ReportQuery: Hashable, Sendable {
    /// Which report.
    public var kind: ReportKind
    /// Entries up to and with this time count.
    public var asOf: Timestamp
    /// Only this currency; all where `nil`.
    public var currency: CurrencyCode?
    /// At most this many rows.
    public var limit: Int
    /// The `next` of the page before: the text of a ``ReportCursor``.
    public var after: String?

    /// Which page of a report.
    public init(
        kind: ReportKind, asOf: Timestamp, currency: CurrencyCode? = nil, limit: Int = Limits.reportPageDefault,
        after: String? = nil
    ) {
        self.kind = kind
        self.asOf = asOf
        self.currency = currency
        self.limit = limit
        self.after = after
    }
}

/// The place after which a page of a report begins: the account's number, and that of the row within it (a currency,
/// or a lot). Opaque to clients.
public struct ReportCursor: Hashable, Comparable, Sendable {
    package var account: Int64
    package var item: Int64

    /// Before the first row.
    package static let start = ReportCursor(account: 0, item: 0)

    package init(account: Int64, item: Int64) {
        self.account = account
        self.item = item
    }

    /// `nil` where `text` is not the `next` of a page.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let account = Int64(parts[0]), let item = Int64(parts[1]), account >= 0,
            item >= 0
        else { return nil }
        self.init(account: account, item: item)
    }

    /// The cursor as it stands in a page's `next`.
    public var text: String { "\(account).\(item)" }

    /// Cursors are ordered as the rows of a report.
    public static func < (left: ReportCursor, right: ReportCursor) -> Bool {
        (left.account, left.item) < (right.account, right.item)
    }
}

/// One row of a report.
public enum ReportRow: Hashable, Sendable {
    /// One wallet.
    case balance(account: AccountName, currency: CurrencyCode, available: Int64, held: Int64, debt: Int64, paid: Int64)
    /// One kind of account; `debits − credits` sums to zero over the kinds of a currency.
    case trial(currency: CurrencyCode, account: AccountKind, debits: Int64, credits: Int64)
    /// What a player owes for one refunded purchase, since its first revocation.
    case debt(
        account: AccountName, currency: CurrencyCode, transaction: TransactionID, lot: LotID, debt: Int64,
        since: Timestamp, age: Int64)
}

/// A page of a report.
public struct ReportPage: Hashable, Sendable {
    /// Which report.
    public var kind: ReportKind
    /// Entries up to and with this time count.
    public var asOf: Timestamp
    /// The rows.
    public var rows: [ReportRow]
    /// Pass it as `after`, with the same `asOf`, for the next page; `nil` where there is none.
    public var next: String?

    /// A page of a report.
    public init(kind: ReportKind, asOf: Timestamp, rows: [ReportRow], next: String?) {
        self.kind = kind
        self.asOf = asOf
        self.rows = rows
        self.next = next
    }
}
