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
    /// Every period that finance closed, by which other reports say what fixes them.
    case closings

    /// Whether its rows are of one currency each.
    package var isOfCurrencies: Bool {
        switch self {
        case .balances, .trial, .debts: true
        case .notifications, .consumptionRequests, .closings: false
        }
    }
}

/// Which of Apple's questions a report lists.
public enum ReportScope: String, CaseIterable, Sendable {
    /// Those that Apple takes an answer to still, and has none.
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
    /// Only what was recorded at this time or later; all where `nil`. Of `notifications`.
    public var from: Timestamp?
    /// Which are listed. Of `consumption_requests`.
    public var scope: ReportScope
    /// Only this currency; all where `nil`. Of `balances`, `trial` and `debts`.
    public var currency: CurrencyCode?
    /// At most this many rows.
    public var limit: Int
    /// The `next` of the page before: the text of a ``ReportCursor``.
    public var after: String?

    /// Which page of a report.
    public init(
        kind: ReportKind, asOf: Timestamp, from: Timestamp? = nil, scope: ReportScope = .open,
        currency: CurrencyCode? = nil, limit: Int = Limits.reportPageDefault, after: String? = nil
    ) {
        self.kind = kind
        self.asOf = asOf
        self.from = from
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
    /// Only what was recorded at this time or later. Of `notifications`.
    package var from: Timestamp?
    /// Of `consumption_requests`.
    package var scope: ReportScope
    package var currency: CurrencyCode?
    package var limit: Int
    package var after: String?

    package init(
        kind: ReportKind, asOf: Timestamp? = nil, from: Timestamp? = nil, scope: ReportScope = .open,
        currency: CurrencyCode? = nil, limit: Int = Limits.reportPageDefault, after: String? = nil
    ) {
        self.kind = kind
        self.asOf = asOf
        self.from = from
        self.scope = scope
        self.currency = currency
        self.limit = limit
        self.after = after
    }

    /// The query of this time.
    package func query(asOf time: Timestamp) -> ReportQuery {
        ReportQuery(
            kind: kind, asOf: time, from: from, scope: scope, currency: currency, limit: limit, after: after)
    }
}

/// The place after which a page of a report begins: the account's number, and that of the row within it (a currency,
/// or a lot); of notifications and of Apple's questions a time, and the notification's number; of closings the
/// period's end, and the block. Opaque to clients.
package struct ReportCursor: Hashable, Comparable, Sendable {
    /// The report that it belongs to.
    package var kind: ReportKind
    package var account: Int64
    package var item: Int64

    /// Before the first row where no place is given.
    package init(_ kind: ReportKind, account: Int64 = 0, item: Int64 = 0) {
        self.kind = kind
        self.account = account
        self.item = item
    }

    /// `nil` where `text` is not the `next` of a page of such a report.
    package init?(_ kind: ReportKind, _ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == kind.rawValue, let account = Int64(parts[1]), let item = Int64(parts[2]),
            account >= 0, item >= 0
        else { return nil }
        self.init(kind, account: account, item: item)
    }

    /// The cursor as it stands in a page's `next`.
    package var text: String { "\(kind.rawValue).\(account).\(item)" }

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
        account: AccountName, currency: CurrencyCode, transaction: TransactionID, lot: LotID, debt: Int64,
        since: Timestamp, age: Int64)
    /// One notification.
    indirect case notification(Notification)
    /// One of Apple's questions how much was consumed.
    indirect case consumptionRequest(ConsumptionRequest)
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
