import AppleReports

/// One thing that came of holding the ledger against Apple's reports.
struct AppleFinding: CustomStringConvertible {
    enum Kind: String {
        /// Nothing of a file counts.
        case file
        /// A row or a total of a file is wrong.
        case row
        /// Both sides have the same.
        case agrees
        /// They do not: a sale or a refund is missing, there twice, at another price, or on another day.
        case difference
        /// They do not, as Apple may count purchases around midnight.
        case aroundMidnight = "around_midnight"
        /// Days of ours of which there is no report.
        case noReport = "no_report"
        /// Apple pays, or takes back, what the ledger does not have.
        case unassigned
        /// Apple pays for a purchase at another price than the one that was signed.
        case otherPrice = "other_price"
        /// What the ledger has and no Financial Report of its month or a later one pays.
        case unpaid
        /// The same of months of which no Financial Report was given yet.
        case notYet = "not_yet"
    }

    let kind: Kind
    /// The file and the line.
    var file: String?
    var line: Int?
    var key: SalesKey?
    var days: String?
    var direction: SaleDirection?
    var units: Int64?
    /// Units of both sides.
    var booked: Int64?
    var reported: Int64?
    /// Money, and its currency.
    var money: Thousandths?
    var moneyCurrency: String?
    /// Ours that explain it.
    var transactions: [String] = []
    /// For people.
    var description: String

    var isToBeLookedAt: Bool {
        switch kind {
        case .file, .row, .difference, .unassigned, .otherPrice, .unpaid: true
        case .agrees, .aroundMidnight, .noReport, .notYet: false
        }
    }

    static func all(_ reconciliation: Reconciliation) -> [AppleFinding] {
        let files = reconciliation.files
        return files.flatMap(of) + reconciliation.match.lines.compactMap(of) + reconciliation.match.differences.map(of)
            + reconciliation.match.daysWithoutReport.map { day in
                AppleFinding(kind: .noReport, days: "\(day)", description: "\(day): there is no report of the day")
            } + reconciliation.settlement.unassigned.map { of($0, files) }
            + reconciliation.settlement.parts.filter(\.isOtherPrice).map { of($0, files) }
            + reconciliation.settlement.open.map(of)
    }

    /// What is wrong with Apple's files.
    static func faults(of files: [Reconciliation.File]) -> [AppleFinding] { files.flatMap(of) }

    private static func of(_ file: Reconciliation.File) -> [AppleFinding] {
        if let fault = file.fault {
            return [
                AppleFinding(
                    kind: .file, file: file.name, line: fault.line,
                    description: "\(file.name): nothing counts: \(fault)")
            ]
        }
        let faults = (file.facts?.faults ?? []).map { fault in
            AppleFinding(kind: .row, file: file.name, line: fault.line, description: "\(file.name): \(fault)")
        }
        guard let untold = file.facts?.untoldFaultCount, untold > 0 else { return faults }
        return faults + [AppleFinding(kind: .row, file: file.name, description: "\(file.name): and \(untold) more")]
    }

    private static func of(_ line: SalesMatch.Line) -> AppleFinding? {
        guard line.agrees else { return nil }
        return AppleFinding(
            kind: .agrees, key: line.key, days: text(line.days),
            units: line.booked.unitsSold - line.booked.unitsRefunded,
            booked: line.booked.unitsSold - line.booked.unitsRefunded,
            reported: line.reported.unitsSold - line.reported.unitsRefunded, money: line.booked.money,
            moneyCurrency: line.key.currency, description: "\(line.key.product) in \(line.key.country): agrees")
    }

    private static func of(_ difference: SalesDifference) -> AppleFinding {
        let explanation = difference.explanation
        let transactions = explanation?.transactions ?? []
        let more = (explanation?.count ?? 0) - transactions.count
        let ours =
            transactions.isEmpty
            ? "nothing of ours explains it"
            : (explanation?.isExact == true ? "" : "among ") + transactions.joined(separator: " ")
                + (more > 0 ? " and \(more) more" : "")
        return AppleFinding(
            kind: difference.isNatural ? .aroundMidnight : .difference, key: difference.key,
            days: text(difference.days),
            direction: difference.direction, units: difference.units, booked: difference.bookedUnits,
            reported: difference.reportedUnits, money: difference.unitPrice, moneyCurrency: difference.key.currency,
            transactions: transactions, description: "\(difference): \(ours)")
    }

    private static func of(_ rest: Settlement.Unassigned, _ files: [Reconciliation.File]) -> AppleFinding {
        let name = files[rest.source.file].name
        let what = rest.isReturn ? "takes back" : "pays"
        let of = rest.isReturn ? "refunds" : "purchases"
        return AppleFinding(
            kind: .unassigned, file: name, line: rest.source.line, key: rest.key,
            direction: rest.isReturn ? .refunded : .sold, units: rest.units, money: rest.share,
            moneyCurrency: rest.shareCurrency,
            description: """
                \(name), line \(rest.source.line): Apple \(what) \(rest.share) \(rest.shareCurrency) for \(rest.units) \
                \(rest.key.product) in \(rest.key.country), and the ledger has no such \(of)
                """)
    }

    private static func of(_ part: Settlement.Part, _ files: [Reconciliation.File]) -> AppleFinding {
        let name = files[part.source.file].name
        return AppleFinding(
            kind: .otherPrice, file: name, line: part.source.line, direction: part.isReturn ? .refunded : .sold,
            units: part.units, money: part.share, moneyCurrency: part.shareCurrency, transactions: [part.transaction],
            description: """
                \(name), line \(part.source.line): \(part.units) of \(part.transaction) can only be \
                \(part.isReturn ? "taken back" : "paid") at another price than the one that was signed
                """)
    }

    private static func of(_ open: Settlement.Open) -> AppleFinding {
        let isDue = open.reason == .notInReports
        let what = open.isReturn ? "taken back" : "paid"
        return AppleFinding(
            kind: isDue ? .unpaid : .notYet, key: open.key, direction: open.isReturn ? .refunded : .sold,
            units: open.units, transactions: [open.transaction],
            description: """
                \(open.key.product) in \(open.key.country): \(open.units) of \(open.transaction) are not \(what) \
                \(isDue ? "by any Financial Report of their month or a later one" : "yet")
                """)
    }

    private static func text(_ days: ClosedRange<CivilDay>) -> String {
        days.count == 1 ? "\(days.lowerBound)" : "\(days.lowerBound)/\(days.upperBound)"
    }

    // MARK: CSV

    static let columns = [
        "kind", "file", "line", "product", "country", "priceCurrency", "days", "direction", "units", "bookedUnits",
        "reportedUnits", "money", "moneyCurrency", "transactions", "text",
    ]

    var fields: [String?] {
        [
            kind.rawValue, file, line.map { "\($0)" }, key?.product, key?.country, key?.currency, days,
            direction.map { $0 == .sold ? "sold" : "refunded" }, units.map { "\($0)" }, booked.map { "\($0)" },
            reported.map { "\($0)" }, money.map { "\($0)" }, moneyCurrency, transactions.joined(separator: " "),
            description,
        ]
    }
}
