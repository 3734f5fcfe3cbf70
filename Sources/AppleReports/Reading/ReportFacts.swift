/// What a file is, once it was read to its end.
public struct ReportFacts: Sendable {
    /// The kind of report.
    public let kind: AppleReportKind
    /// The columns, as they stand in the header.
    public let columns: [String]
    /// Those of them that Apple does not document: their cells are in ``AppleReportRow/unknownCells``.
    public let unknownColumns: [String]
    /// What stands before the header, as the vendor's name in a detailed report.
    public internal(set) var preamble: [String: String] = [:]
    /// Rows that were handed on.
    public internal(set) var lineCount = 0
    /// The days of the rows, from the first to the last; `nil` where there are no rows.
    public internal(set) var days: ClosedRange<CivilDay>?
    /// What the rows add up to, of a financial report: by country and currency of the share.
    public internal(set) var sums: [Place: Sum] = [:]
    /// The totals that the file states and that are right.
    public internal(set) var checkedTotals = 0
    /// What is wrong, in the file's order; ``ReportLimits/faultsMax`` at most. A row with a fault is not handed on.
    public internal(set) var faults: [ReportFault] = []
    /// Faults beyond these.
    public internal(set) var untoldFaultCount = 0

    /// A country, and the currency of the share.
    public struct Place: Hashable, Sendable, Comparable {
        /// The storefront.
        public let country: CountryCode
        /// The currency of the share.
        public let currency: String

        /// By the letters.
        public static func < (left: Place, right: Place) -> Bool {
            (left.country, left.currency) < (right.country, right.currency)
        }
    }

    /// What rows add up to.
    public struct Sum: Hashable, Sendable {
        /// Units sold less units returned.
        public internal(set) var units: Int64 = 0
        /// Units sold.
        public internal(set) var unitsSold: Int64 = 0
        /// The extended shares.
        public internal(set) var share = Thousandths.zero
    }

    /// Whether nothing is wrong.
    public var isSound: Bool { faults.isEmpty }

    init(_ header: ReportHeader) {
        kind = header.kind
        columns = header.names
        unknownColumns = header.unknownPlaces.map { header.names[$0] }
    }

    mutating func note(_ fault: ReportFault, limits: ReportLimits) {
        if faults.count < limits.faultsMax { faults.append(fault) } else { untoldFaultCount += 1 }
    }

    mutating func note(_ days: ClosedRange<CivilDay>) {
        lineCount += 1
        self.days =
            self.days.map {
                min($0.lowerBound, days.lowerBound)...max($0.upperBound, days.upperBound)
            } ?? days
    }

    /// - Throws: ``ReportFault`` where 64 bits do not hold the sum.
    mutating func add(_ line: FinancialLine) throws(ReportFault) {
        var sum = sums[Place(country: line.country, currency: line.shareCurrency)] ?? Sum()
        let (units, isTooMuch) = sum.units.addingReportingOverflow(line.quantity)
        let (sold, isTooMuchSold) = sum.unitsSold.addingReportingOverflow(max(0, line.quantity))
        guard !isTooMuch, !isTooMuchSold, let share = sum.share.adding(line.extendedPartnerShare) else {
            throw line.row.fault(.extendedPartnerShare, "is too large")
        }
        sum = Sum(units: units, unitsSold: sold, share: share)
        sums[Place(country: line.country, currency: line.shareCurrency)] = sum
    }
}
