/// Compares what our books have with Apple's Summary Sales Reports, by product, storefront, currency and day.
///
/// What is kept in memory grows with the products, storefronts, prices and days, not with the purchases.
public struct SalesMatching: Sendable {
    private let zone: ReportZone
    private let app: String?
    private let nearMidnightMilliseconds: Int64
    private let limits: ReportLimits
    private var booked: [SalesKey: [CivilDay: [Units: Int64]]] = [:]
    private var reported: [SalesKey: [CivilDay: [Units: Int64]]] = [:]
    /// The days of the reports, by the first.
    private var spans: [CivilDay: ClosedRange<CivilDay>] = [:]
    /// Units, and money in all currencies, without signs: no sum of some rows is above these, which 64 bits hold.
    private var reportedUnits: Int64 = 0
    private var reportedMoney = Thousandths.zero
    private var otherTypeRowCount = 0
    private var otherAppRowCount = 0

    /// What units of a day are told apart by.
    struct Units: Hashable, Sendable {
        let direction: SaleDirection
        /// `nil` where our books do not have it.
        let price: Thousandths?
    }

    /// - Parameters:
    ///   - zone: by whose midnights the reports count days.
    ///   - app: the app's SKU, where the vendor has other apps with in-app purchases too: rows with another Parent
    ///     Identifier are passed over. `nil` takes all.
    ///   - nearMidnightMilliseconds: so far from midnight a purchase may be that Apple counts on the day beside.
    ///   - limits: how many transactions are named for a difference.
    public init(
        zone: ReportZone, app: String? = nil, nearMidnightMilliseconds: Int64 = 3_600_000,
        limits: ReportLimits = .standard
    ) {
        self.zone = zone
        self.app = app
        self.nearMidnightMilliseconds = nearMidnightMilliseconds
        self.limits = limits
    }

    // MARK: Our books

    /// Adds a row of our own report. Its day must be one of the reports' time zone.
    public mutating func add(_ line: BookedLine) {
        let key = SalesKey(product: line.product, storefront: line.storefront, currency: line.currency)
        add(line.unitsSold, .init(direction: .sold, price: line.customerPrice), key, line.day)
        add(line.unitsRefunded, .init(direction: .refunded, price: line.customerPrice), key, line.day)
    }

    /// Adds a purchase, and its refund, on the days of the reports' time zone.
    public mutating func add(_ transaction: BookedTransaction) {
        let key = SalesKey(transaction)
        for direction in SaleDirection.allCases {
            guard let time = transaction.time(of: direction) else { continue }
            add(
                transaction.quantity, .init(direction: direction, price: transaction.unitPrice(of: direction)), key,
                zone.day(at: time))
        }
    }

    private mutating func add(_ count: Int64, _ units: Units, _ key: SalesKey, _ day: CivilDay) {
        if count > 0 { booked[key, default: [:]][day, default: [:]][units, default: 0] += count }
    }

    // MARK: Apple's reports

    /// Says that there is a report of these days, as of a day on which Apple sold nothing.
    /// - Throws: ``ReportFault`` where another report is of some of these days and not of the same.
    public mutating func cover(_ days: ClosedRange<CivilDay>) throws(ReportFault) {
        if spans[days.lowerBound] == days { return }
        if let other = spans.values.first(where: { $0.overlaps(days) }) {
            throw ReportFault(
                .format,
                """
                is of \(days.lowerBound) to \(days.upperBound), and another report of \(other.lowerBound) to \
                \(other.upperBound): give reports of days or of longer times, not of both
                """)
        }
        spans[days.lowerBound] = days
    }

    /// Adds a row of a report. Rows of the same product, storefront, currency, price and days are added up.
    /// - Throws: ``ReportFault`` where another report is of some of these days and not of the same, or 64 bits do not
    ///   hold the sum.
    public mutating func add(_ line: SalesLine) throws(ReportFault) {
        try cover(line.days)
        guard line.isInAppPurchase else {
            otherTypeRowCount += 1
            return
        }
        if let app, let parent = line.parentIdentifier, parent != app {
            otherAppRowCount += 1
            return
        }
        let key = SalesKey(
            product: line.sku, country: line.country.alpha2, currency: line.customerCurrency ?? "")
        let units = Units(direction: line.units < 0 ? .refunded : .sold, price: line.customerPrice)
        let count = abs(line.units)
        guard case let (unitsOfAll, false) = reportedUnits.addingReportingOverflow(count),
            let moneyOfAll = line.customerPrice.times(count).flatMap(reportedMoney.adding)
        else { throw line.row.fault(.units, "is too large") }
        reportedUnits = unitsOfAll
        reportedMoney = moneyOfAll
        if count > 0 { reported[key, default: [:]][line.days.lowerBound, default: [:]][units, default: 0] += count }
    }

    /// Adds what another has of reports.
    /// - Throws: ``ReportFault`` as ``add(_:)`` does; then nothing is added.
    mutating func add(reportsOf other: SalesMatching) throws(ReportFault) {
        var sum = self
        for days in other.spans.values { try sum.cover(days) }
        guard case let (units, false) = reportedUnits.addingReportingOverflow(other.reportedUnits),
            let money = reportedMoney.adding(other.reportedMoney)
        else { throw ReportFault(.tooLarge, "has more units or money than 64 bits hold, with the other reports") }
        spans = sum.spans
        reportedUnits = units
        reportedMoney = money
        otherTypeRowCount += other.otherTypeRowCount
        otherAppRowCount += other.otherAppRowCount
        for (key, days) in other.reported {
            for (day, counts) in days {
                for (units, count) in counts {
                    reported[key, default: [:]][day, default: [:]][units, default: 0] += count
                }
            }
        }
    }

    // MARK: The result

    /// Compares.
    /// - Parameter transactions: ours, in any order; read once. Those of them that explain a difference are named.
    public func result(explainedBy transactions: some Sequence<BookedTransaction> = []) -> SalesMatch {
        var match = SalesMatch()
        match.otherTypeRowCount = otherTypeRowCount
        match.otherAppRowCount = otherAppRowCount
        let spans = spans.values.sorted { $0.lowerBound < $1.lowerBound }
        var daysWithoutReport: Set<CivilDay> = []
        for key in Set(booked.keys).union(reported.keys).sorted() {
            var comparison = SalesComparison(key: key, spans: spans)
            for (day, units) in booked[key] ?? [:] where !comparison.book(units, on: day) {
                daysWithoutReport.insert(day)
            }
            for (day, units) in reported[key] ?? [:] { comparison.report(units, from: day) }
            comparison.compare()
            match.lines += comparison.lines
            match.differences += comparison.differences
        }
        match.daysWithoutReport = daysWithoutReport.sorted()
        var explaining = SalesExplaining(
            match.differences, spans: spans, zone: zone, nearMidnightMilliseconds: nearMidnightMilliseconds,
            transactionsMax: limits.explainedMax)
        if explaining.isNeeded {
            for transaction in transactions { explaining.look(at: transaction) }
            match.differences = explaining.explained()
        }
        return match
    }
}

extension SalesKey {
    init(_ transaction: BookedTransaction) {
        self.init(
            product: transaction.product, storefront: transaction.storefront, currency: transaction.currency)
    }
}
