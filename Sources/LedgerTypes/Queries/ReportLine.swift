/// What a value in a report is.
public enum ReportValueType: Hashable, Sendable {
    /// A name, an id or a word.
    case text
    /// A moment, in milliseconds since the UNIX epoch.
    case time
    /// A day in UTC, as `2026-01-31`.
    case day
    /// A number of 64 bits.
    case integer
    /// Units of a game's currency, which may be more than 64 bits hold.
    case units
    /// Money, in thousandths of the row's `priceCurrency`. Its `basis` says who vouches for it (``MoneyBasis``).
    case money
}

/// A column of a report that finance reads.
public struct ReportColumn: Hashable, Sendable {
    /// Its name on the wire and in files.
    public var name: String
    /// What its values are.
    public var type: ReportValueType
    /// Whether a row may have none.
    public var isOptional: Bool
    /// Whether rows of one key that stand in several pages, or are put together, add up here. The other columns are
    /// the key.
    public var isSum: Bool

    package init(_ name: String, _ type: ReportValueType, isOptional: Bool = false, isSum: Bool = false) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.isSum = isSum
    }
}

/// A value in a report.
public enum ReportValue: Hashable, Sendable {
    /// A name, an id, a word, or a day.
    case text(String)
    /// A number, or a time.
    case integer(Int64)
    /// Units, or thousandths of a price's currency.
    case sum(Int128)
}

/// A row of a report that finance reads: one value for each of the report's ``ReportKind/columns``.
public struct ReportLine: Hashable, Sendable {
    /// Which report.
    public var kind: ReportKind
    /// In the order of the columns; `nil` where there is none.
    public var values: [ReportValue?]

    package init(_ kind: ReportKind, _ values: [ReportValue?]) {
        precondition(values.count == kind.columns.count, "a row of \(kind) has \(values.count) values")
        self.kind = kind
        self.values = values
    }

    /// The values of the columns that are no sums.
    package var key: [ReportValue?] { zip(kind.columns, values).filter { !$0.0.isSum }.map(\.1) }

    /// Adds the sums of a row of the same key.
    package mutating func add(_ other: ReportLine) {
        precondition(other.kind == kind, "rows of two reports are added up")
        for (index, column) in kind.columns.enumerated() where column.isSum {
            if case .sum(let left)? = values[index], case .sum(let right)? = other.values[index] {
                values[index] = .sum(left + right)
            }
        }
    }
}

extension ReportLine {
    /// Whether its key comes before that of another row of the report: by the columns in their order, where nothing is
    /// before everything else.
    package func isBefore(_ other: ReportLine) -> Bool {
        for (left, right) in zip(key, other.key) where left != right {
            switch (left, right) {
            case (nil, _): return true
            case (_, nil): return false
            case (.text(let left), .text(let right)): return left < right
            case (.integer(let left), .integer(let right)): return left < right
            case (.sum(let left), .sum(let right)): return left < right
            case _: preconditionFailure("values of one column are of one type")
            }
        }
        return false
    }
}

/// Rows of a report of which those of one key are added up.
public struct ReportSums: Sendable {
    private var lines: [[ReportValue?]: ReportLine] = [:]

    /// None yet.
    public init() {}

    /// How many keys there are.
    public var count: Int { lines.count }

    /// Adds a row to that of its key.
    public mutating func add(_ line: ReportLine) {
        if lines[line.key]?.add(line) == nil { lines[line.key] = line }
    }

    /// One row a key, in the order of the keys.
    public var rows: [ReportLine] { lines.values.sorted { $0.isBefore($1) } }
}

extension ReportKind {
    /// Whether rows of one key that stand in several pages add up: ``ReportSums``.
    public var isOfSums: Bool { columns.contains(where: \.isSum) }
}

extension ReportKind {
    /// The columns of a report that finance reads; none of those that have rows of a type of their own.
    public var columns: [ReportColumn] {
        switch self {
        case .balances, .trial, .debts, .notifications, .consumptionRequests, .closings: []
        case .rollforward: ReportKind.rollforwardColumns
        case .sales: ReportKind.salesColumns
        case .revenue: ReportKind.revenueColumns
        case .deferred: ReportKind.deferredColumns
        case .lots: ReportKind.lotsColumns
        case .spends: ReportKind.spendsColumns
        case .purchases, .unassigned: ReportKind.purchasesColumns
        case .journal: ReportKind.journalColumns
        }
    }

    /// The place of a column among ``columns``.
    /// - Precondition: the report has such a column.
    public func place(of column: String) -> Int {
        guard let place = ReportKind.places[self]?[column] else {
            preconditionFailure("the report \(rawValue) has no column \(column)")
        }
        return place
    }

    private static let places = Dictionary(
        uniqueKeysWithValues: ReportKind.allCases.map { kind in
            (kind, Dictionary(uniqueKeysWithValues: zip(kind.columns.map(\.name), kind.columns.indices)))
        })

    /// What is sold, where, for which money and by whom, and who vouches for that money.
    private static let sold = [
        ReportColumn("product", .text), ReportColumn("storefront", .text, isOptional: true),
        ReportColumn("priceCurrency", .text, isOptional: true), ReportColumn("source", .text),
        ReportColumn("basis", .text),
    ]

    /// The same of rows that need not come from a purchase.
    private static let soldIfAny = sold.map { ReportColumn($0.name, $0.type, isOptional: true) }

    private static func sums(_ type: ReportValueType, _ names: String...) -> [ReportColumn] {
        names.map { ReportColumn($0, type, isSum: true) }
    }

    private static let rollforwardColumns =
        [ReportColumn("currency", .text), ReportColumn("class", .text)]
        + sums(
            .units, "opening", "purchased", "imported", "granted", "reinstated", "reversed", "adjusted", "spent",
            "refunded", "writtenOff", "expired", "debtPaid", "closing", "available", "held", "debt")

    private static let salesColumns =
        [ReportColumn("day", .day)] + sold + sums(.units, "units")
        + sums(.money, "sold", "refunded", "refundedOfSale", "net", "netOfSale")

    private static let revenueColumns =
        sold + [ReportColumn("currency", .text)] + sums(.units, "units") + sums(.money, "recognised", "reversed")

    private static let deferredColumns =
        sold + [ReportColumn("currency", .text)]
        + sums(.money, "opening", "sold", "imported", "refunded", "recognised", "closing")
        + sums(.units, "lots", "units")
        + sums(.money, "upTo30Days", "upTo90Days", "upTo180Days", "upTo365Days", "older")

    private static let lotsColumns =
        [
            ReportColumn("lot", .integer), ReportColumn("account", .text), ReportColumn("currency", .text),
            ReportColumn("class", .text), ReportColumn("transactionId", .text, isOptional: true),
        ] + soldIfAny + [
            ReportColumn("purchaseDate", .time, isOptional: true), ReportColumn("time", .time),
            ReportColumn("expiresAt", .time, isOptional: true), ReportColumn("granted", .integer),
            ReportColumn("left", .integer), ReportColumn("unitsRefunded", .integer), ReportColumn("price", .money),
            ReportColumn("deferred", .money), ReportColumn("recognised", .money), ReportColumn("refunded", .money),
        ]

    private static let spendsColumns =
        [
            ReportColumn("transfer", .integer), ReportColumn("entry", .integer), ReportColumn("time", .time),
            ReportColumn("kind", .text), ReportColumn("account", .text), ReportColumn("currency", .text),
            ReportColumn("class", .text), ReportColumn("units", .integer), ReportColumn("lot", .integer),
            ReportColumn("transactionId", .text, isOptional: true),
        ] + soldIfAny + [ReportColumn("recognised", .money)]

    private static let purchasesColumns = [
        ReportColumn("transactionId", .text), ReportColumn("account", .text, isOptional: true),
        ReportColumn("product", .text), ReportColumn("quantity", .integer), ReportColumn("source", .text),
        ReportColumn("storefront", .text, isOptional: true), ReportColumn("purchaseDate", .time),
        ReportColumn("time", .time), ReportColumn("price", .money, isOptional: true),
        ReportColumn("priceCurrency", .text, isOptional: true), ReportColumn("basis", .text),
        ReportColumn("revoked", .integer), ReportColumn("revocationDate", .time, isOptional: true),
        ReportColumn("grants", .text), ReportColumn("entry", .integer, isOptional: true),
    ]

    private static let journalColumns = [
        ReportColumn("entry", .integer), ReportColumn("time", .time), ReportColumn("kind", .text),
        ReportColumn("transfer", .integer), ReportColumn("account", .text), ReportColumn("currency", .text),
        ReportColumn("debit", .text), ReportColumn("credit", .text), ReportColumn("amount", .integer),
        ReportColumn("lot", .integer), ReportColumn("class", .text),
        ReportColumn("debtLot", .integer, isOptional: true),
        ReportColumn("transactionId", .text, isOptional: true), ReportColumn("key", .text, isOptional: true),
        ReportColumn("note", .text, isOptional: true), ReportColumn("actor", .text, isOptional: true),
        ReportColumn("source", .text, isOptional: true), ReportColumn("priceCurrency", .text, isOptional: true),
        ReportColumn("basis", .text, isOptional: true), ReportColumn("deferred", .money),
        ReportColumn("recognised", .money), ReportColumn("refunded", .money),
    ]
}
