import AppleReports
import Ledger

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
        /// Apple took back what purchases explain that were carried over from other books.
        case imported
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

    /// What money is, and by whose word.
    enum Basis: String {
        /// A price, tax included, as the App Store signed it to us.
        case signed
        /// A price, tax included, as a Summary Sales Report of Apple's has it.
        case reported
        /// What Apple pays or takes back by a Financial Report.
        case settled
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
    /// Money, on which basis it is, and its currency.
    var basis: Basis?
    var money: Thousandths?
    var moneyCurrency: String?
    /// Ours that explain it.
    var transactions: [String] = []
    /// For people.
    var description: String

    var isToBeLookedAt: Bool {
        switch kind {
        case .file, .row, .difference, .unassigned, .otherPrice, .unpaid: true
        case .agrees, .aroundMidnight, .imported, .noReport, .notYet: false
        }
    }

    /// - Parameters:
    ///   - refunds: what explains refunds of Apple's which are not among the purchases that were compared.
    ///   - options: how the files were compared.
    static func all(
        _ reconciliation: Reconciliation, _ refunds: [ImportedRefund], _ options: Reconciliation.Options
    ) -> [AppleFinding] {
        let files = reconciliation.files
        // A refund is in reports of both kinds, and explains what is in each.
        let ofSales = ImportedRefunds.explanations(
            of: reconciliation.match.differences.map { row($0, options) }, by: refunds)
        let ofPayments = ImportedRefunds.explanations(
            of: reconciliation.settlement.unassigned.map { row($0, options.zone) }, by: refunds)
        let differences = zip(reconciliation.match.differences, ofSales).map { of($0, $1) }
        let unassigned = zip(reconciliation.settlement.unassigned, ofPayments).map { of($0, files, $1) }
        return files.flatMap(of) + reconciliation.match.lines.compactMap(of) + differences
            + reconciliation.match.daysWithoutReport.map { day in
                AppleFinding(kind: .noReport, days: "\(day)", description: "\(day): there is no report of the day")
            } + unassigned
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
            reported: line.reported.unitsSold - line.reported.unitsRefunded, basis: .signed, money: line.booked.money,
            moneyCurrency: line.key.currency, description: "\(line.key.product) in \(line.key.country): agrees")
    }

    private static func of(_ difference: SalesDifference, _ imported: ImportedRefunds.Explanation?) -> AppleFinding {
        if let imported, imported.units == difference.units {
            return finding(of: difference, .imported, imported.transactions, "\(difference): \(imported)")
        }
        if let imported {
            return finding(
                of: difference, .difference, imported.transactions,
                "\(difference): \(part(imported)), and nothing of ours explains the rest")
        }
        let explanation = difference.explanation
        let transactions = explanation?.transactions ?? []
        let more = (explanation?.count ?? 0) - transactions.count
        let ours =
            transactions.isEmpty
            ? "nothing of ours explains it"
            : (explanation?.isExact == true ? "" : "among ") + transactions.joined(separator: " ")
                + (more > 0 ? " and \(more) more" : "")
        return finding(
            of: difference, difference.isNatural ? .aroundMidnight : .difference, transactions,
            "\(difference): \(ours)")
    }

    private static func part(_ imported: ImportedRefunds.Explanation) -> String {
        "at least \(imported.units) \(imported) (how many units each had the ledger does not know)"
    }

    /// What imported purchases may explain: that Apple took more back, and no transactions that were compared say why.
    /// Near midnight is for these what it is for all others. What the report has twice is not explained by anything.
    private static func row(_ difference: SalesDifference, _ options: Reconciliation.Options) -> ImportedRefunds.Row? {
        guard difference.direction == .refunded, difference.explanation == nil else { return nil }
        switch difference.kind {
        case .missingInBooks, .moreInReport:
            let days = options.zone.times(of: difference.days)
            let near = options.nearMidnightMilliseconds
            return ImportedRefunds.Row(
                product: difference.key.product, units: difference.units, days: days,
                near: days.lowerBound - near..<days.upperBound + near + 1)
        case .doubledInReport, .missingInReport, .fewerInReport, .price, .otherDay, .dayWithoutReport: return nil
        }
    }

    /// The days beside count as they do where payments are divided among purchases.
    private static func row(_ rest: Settlement.Unassigned, _ zone: ReportZone) -> ImportedRefunds.Row? {
        guard rest.isReturn else { return nil }
        let beside = rest.days.lowerBound.advanced(by: -1)...rest.days.upperBound.advanced(by: 1)
        return ImportedRefunds.Row(
            product: rest.key.product, units: rest.units, days: zone.times(of: rest.days), near: zone.times(of: beside))
    }

    private static func finding(
        of difference: SalesDifference, _ kind: Kind, _ transactions: [String], _ description: String
    ) -> AppleFinding {
        AppleFinding(
            kind: kind, key: difference.key, days: text(difference.days), direction: difference.direction,
            units: difference.units, booked: difference.bookedUnits, reported: difference.reportedUnits,
            basis: difference.unitPrice.map { _ in basis(of: difference) }, money: difference.unitPrice,
            moneyCurrency: difference.key.currency, transactions: transactions, description: description)
    }

    /// Whose the price of a difference is: that of the side that has more.
    private static func basis(of difference: SalesDifference) -> Basis {
        switch difference.kind {
        case .missingInReport, .fewerInReport, .price, .otherDay, .dayWithoutReport(_, isBookedThere: false): .signed
        case .missingInBooks, .moreInReport, .doubledInReport, .dayWithoutReport(_, isBookedThere: true): .reported
        }
    }

    private static func of(
        _ rest: Settlement.Unassigned, _ files: [Reconciliation.File], _ imported: ImportedRefunds.Explanation?
    ) -> AppleFinding {
        let name = files[rest.source.file].name
        let isExplained = imported?.units == rest.units
        let what = rest.isReturn ? "takes back" : "pays"
        let of = rest.isReturn ? "refunds" : "purchases"
        let ours =
            imported.map { isExplained ? "\($0)" : "\(part($0)), and the ledger has no \(of) that explain the rest" }
            ?? "and the ledger has no such \(of)"
        return AppleFinding(
            kind: isExplained ? .imported : .unassigned, file: name, line: rest.source.line, key: rest.key,
            direction: rest.isReturn ? .refunded : .sold, units: rest.units, basis: .settled, money: rest.share,
            moneyCurrency: rest.shareCurrency, transactions: imported?.transactions ?? [],
            description: """
                \(name), line \(rest.source.line): Apple \(what) \(rest.share) \(rest.shareCurrency) for \(rest.units) \
                \(rest.key.product) in \(rest.key.country), \(ours)
                """)
    }

    private static func of(_ part: Settlement.Part, _ files: [Reconciliation.File]) -> AppleFinding {
        let name = files[part.source.file].name
        return AppleFinding(
            kind: .otherPrice, file: name, line: part.source.line, direction: part.isReturn ? .refunded : .sold,
            units: part.units, basis: .settled, money: part.share, moneyCurrency: part.shareCurrency,
            transactions: [part.transaction],
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
        "reportedUnits", "basis", "money", "moneyCurrency", "transactions", "text",
    ]

    var fields: [String?] {
        [
            kind.rawValue, file, line.map { "\($0)" }, key?.product, key?.country, key?.currency, days,
            direction.map { $0 == .sold ? "sold" : "refunded" }, units.map { "\($0)" }, booked.map { "\($0)" },
            reported.map { "\($0)" }, basis?.rawValue, money.map { "\($0)" }, moneyCurrency,
            transactions.joined(separator: " "), description,
        ]
    }
}

extension ReportZone {
    fileprivate func times(of days: ClosedRange<CivilDay>) -> Range<Timestamp> {
        start(of: days.lowerBound)..<start(of: days.upperBound.advanced(by: 1))
    }
}
