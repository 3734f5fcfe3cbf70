/// What finance can ask for.
public enum ReportKind: String, CaseIterable, Sendable {
    /// Every wallet's balance.
    case balances
    /// The turnover and balance of every kind of account.
    case trial
    /// What players owe after refunds, with the purchase behind each debt.
    case debts
    /// Every notification of the App Store that was recorded, with what it changed.
    case notifications
    /// Apple's questions how much of a purchase was consumed, the one with the earliest deadline first.
    case consumptionRequests = "consumption_requests"
    /// How what players have of each currency became what they have at the end of a period, paid and free apart.
    case rollforward
    /// What was sold and refunded in a period, by day.
    case sales
    /// What was spent in a period of what was sold.
    case revenue
    /// What was sold and is not spent yet, with how that changed in a period.
    case deferred
    /// Lots of which something is left, or all.
    case lots
    /// What was spent of each lot, and given back.
    case spends
    /// Purchases in the order in which they were recorded.
    case purchases
    /// Purchases that no account has claimed yet.
    case unassigned
    /// Entries with their transfers.
    case journal
    /// Every period that finance closed, by which other reports say what fixes them.
    case closings

    /// Whether its rows are of one currency each.
    package var isOfCurrencies: Bool {
        switch self {
        case .balances, .trial, .debts, .rollforward, .revenue, .deferred, .lots, .spends, .journal: true
        case .notifications, .consumptionRequests, .sales, .purchases, .unassigned, .closings: false
        }
    }

    /// Whether its rows are purchases, of which there are some without a transfer.
    package var isOfPurchases: Bool { self == .purchases || self == .unassigned }

    /// Whether it is of a period, and not of a moment.
    package var isOfPeriods: Bool {
        switch self {
        case .notifications, .rollforward, .sales, .revenue, .deferred, .spends, .purchases, .journal: true
        case .balances, .trial, .debts, .consumptionRequests, .lots, .unassigned, .closings: false
        }
    }

    /// Whether only what is open of it may be asked for.
    package var hasScopes: Bool { self == .consumptionRequests || self == .lots }

    /// Whether it can be cut by the dates of what happened, and not only by those on which it was posted.
    package var hasEffectiveDates: Bool {
        switch self {
        case .rollforward, .sales, .revenue, .deferred, .lots, .spends, .purchases, .unassigned, .journal: true
        // What a wallet had is what was posted; the others are no movements.
        case .balances, .trial, .debts, .notifications, .consumptionRequests, .closings: false
        }
    }
}

/// By which dates a report is cut.
public enum ReportDates: String, CaseIterable, Sendable {
    /// When the ledger posted it. What was posted in a period that is past never changes.
    case posted
    /// When it happened: for a sale its `purchaseDate`, for a refund its signed `revocationDate`, for anything else
    /// when it was posted. What is told late changes a past period.
    case effective
}

/// Which of its rows a report lists: of Apple's questions, and of lots.
public enum ReportScope: String, CaseIterable, Sendable {
    /// Questions to which Apple takes an answer still, and has none; lots of which something is left.
    case open
    /// All.
    case all
}

/// Which page of a report.
public struct ReportQuery: Hashable, Sendable {
    /// Which report.
    public var kind: ReportKind
    /// Entries up to and with this time count.
    public var asOf: Timestamp
    /// Where the report is of a period: only what was recorded at this time or later; all where `nil`.
    public var from: Timestamp?
    /// By which dates it is cut. Of reports of finance that have movements.
    public var dates: ReportDates
    /// Which are listed. Of `consumption_requests` and `lots`.
    public var scope: ReportScope
    /// Only this currency; all where `nil`. Of reports whose rows are of one currency each.
    public var currency: CurrencyCode?
    /// At most this many rows.
    public var limit: Int
    /// The `next` of the page before: the text of a ``ReportCursor``.
    public var after: String?

    /// Which page of a report.
    public init(
        kind: ReportKind, asOf: Timestamp, from: Timestamp? = nil, dates: ReportDates = .posted,
        scope: ReportScope = .open, currency: CurrencyCode? = nil, limit: Int = Limits.reportPageDefault,
        after: String? = nil
    ) {
        self.kind = kind
        self.asOf = asOf
        self.from = from
        self.dates = dates
        self.scope = scope
        self.currency = currency
        self.limit = limit
        self.after = after
    }
}

/// What a client asks of a report.
package struct ReportRequest: Hashable, Sendable {
    package var kind: ReportKind
    /// Entries up to and with this time count; now where it is `nil`. A later page has the time of the first.
    package var asOf: Timestamp?
    /// Only what was recorded at this time or later. Of reports of a period.
    package var from: Timestamp?
    /// Of reports of finance that have movements.
    package var dates: ReportDates
    /// Of `consumption_requests` and `lots`.
    package var scope: ReportScope
    package var currency: CurrencyCode?
    package var limit: Int
    package var after: String?

    package init(
        kind: ReportKind, asOf: Timestamp? = nil, from: Timestamp? = nil, dates: ReportDates = .posted,
        scope: ReportScope = .open, currency: CurrencyCode? = nil, limit: Int = Limits.reportPageDefault,
        after: String? = nil
    ) {
        self.kind = kind
        self.asOf = asOf
        self.from = from
        self.dates = dates
        self.scope = scope
        self.currency = currency
        self.limit = limit
        self.after = after
    }

    /// Whether it may have something of a time before the ledger began: what was bought then and told later.
    package var isOfTimeBeforeLedger: Bool { dates == .effective }

    /// The query of this time.
    package func query(asOf time: Timestamp) -> ReportQuery {
        ReportQuery(
            kind: kind, asOf: time, from: from, dates: dates, scope: scope, currency: currency, limit: limit,
            after: after)
    }
}

/// The place after which a page of a report begins: the account's number, and that of the row within it (a currency,
/// or a lot); of notifications and of Apple's questions a time, and the notification's number; of what finance reads a
/// part of the report, and the number of a lot, a transfer or a purchase; of closings the period's end, and the block.
/// Opaque to clients.
package struct ReportCursor: Hashable, Comparable, Sendable {
    /// The report that it belongs to.
    package var kind: ReportKind
    package var account: Int64
    package var item: Int64
    /// The last transfer that the report counts, as its first page found it, of a report by effective date: what is
    /// posted while its pages are read may have happened in its period, and is in none of them. Of reports of purchases
    /// the last block. `nil` of others.
    package var end: TransferID?

    /// Before the first row where no place is given.
    package init(_ kind: ReportKind, account: Int64 = 0, item: Int64 = 0, end: TransferID? = nil) {
        self.kind = kind
        self.account = account
        self.item = item
        self.end = end
    }

    /// `nil` where `text` is not the `next` of a page of such a report.
    package init?(_ kind: ReportKind, _ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.dropFirst().compactMap { Int64($0) }
        guard parts[0] == kind.rawValue, numbers.count == parts.count - 1, (2...3).contains(numbers.count),
            numbers.allSatisfy({ $0 >= 0 })
        else { return nil }
        self.init(kind, account: numbers[0], item: numbers[1], end: numbers.count == 3 ? numbers[2] : nil)
    }

    /// The cursor as it stands in a page's `next`.
    package var text: String {
        "\(kind.rawValue).\(account).\(item)" + (end.map { ".\($0)" } ?? "")
    }

    /// Cursors are ordered as the rows of a report.
    package static func < (left: ReportCursor, right: ReportCursor) -> Bool {
        (left.account, left.item) < (right.account, right.item)
    }
}

/// One row of a report.
public enum ReportRow: Hashable, Sendable {
    /// One wallet.
    case balance(account: AccountName, currency: CurrencyCode, available: Int64, held: Int64, debt: Int64, paid: Int64)
    /// One kind of account, with its turnover from the beginning on, which is never negative and may be more than 64
    /// bits hold; `debits − credits` sums to zero over the kinds of a currency.
    case trial(currency: CurrencyCode, account: AccountKind, debits: Int128, credits: Int128)
    /// What a player owes for one refunded purchase, since its first revocation.
    case debt(
        account: AccountName, currency: CurrencyCode, transaction: TransactionID, source: PurchaseSource, lot: LotID,
        debt: Int64, since: Timestamp, age: Int64)
    /// One notification.
    indirect case notification(Notification)
    /// One of Apple's questions how much was consumed.
    indirect case consumptionRequest(ConsumptionRequest)
    /// A row of a report that finance reads.
    case line(ReportLine)
    /// One period that was closed.
    indirect case closing(PeriodClosing)
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
