/// Reads App Store Connect's reports: which of the known kinds a file is, its header says.
///
/// A file is read row by row; what is kept is a sum for each country and currency. A row with a cell that is not as its
/// column says is a fault with line and column, and is not handed on; the others are.
public struct ReportReader: Sendable {
    private let limits: ReportLimits

    /// A reader with these bounds.
    public init(limits: ReportLimits = .standard) { self.limits = limits }

    /// Reads a file to its end.
    /// - Parameter each: gets each sound row, in the file's order.
    /// - Returns: what the file is, and what is wrong with single rows and totals.
    /// - Throws: ``ReportFault`` where the file cannot be read, or is no report that is known.
    public func read(_ input: ReportInput, _ each: (AppleReportLine) -> Void) throws(ReportFault) -> ReportFacts {
        let lines = try LineReader(input, limits: limits)
        let (header, preamble) = try readHeader(lines)
        var state = RowState(header: header, preamble: preamble, limits: limits)
        var empty = 0
        while let (number, text) = try lines.next() {
            let cells = try cells(text, line: number)
            if cells.allSatisfy(\.trimmed.isEmpty) {
                empty += 1
                if empty <= limits.emptyLinesMax { continue }
                throw ReportFault(.tooLarge, line: number, "is one of more than \(limits.emptyLinesMax) empty lines")
            }
            do throws(ReportFault) {
                if let line = try state.take(cells, line: number) { each(line) }
            } catch { state.facts.note(error, limits: limits) }
        }
        state.finish()
        return state.facts
    }

    private func cells(_ text: String, line: Int) throws(ReportFault) -> [Substring] {
        let cells = text.utf8.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map(Substring.init)
        guard cells.count <= limits.columnsMax else {
            throw ReportFault(.tooLarge, line: line, "has more than \(limits.columnsMax) cells")
        }
        return cells
    }

    /// The header, and what stands before it.
    private func readHeader(
        _ lines: LineReader
    ) throws(ReportFault) -> (header: ReportHeader, preamble: [String: String]) {
        var preamble: [String: String] = [:]
        var first: String?
        for _ in 0..<limits.preambleLinesMax {
            guard let (number, text) = try lines.next() else { break }
            let cells = try cells(text, line: number)
            if let header = try ReportHeader(cells, line: number) { return (header, preamble) }
            first = first ?? text
            if cells.count >= 2 { preamble[cells[0].trimmed] = cells[1].trimmed }
        }
        guard let first else { throw ReportFault(.format, "is empty") }
        throw ReportFault(
            .format,
            """
            has no header of a Summary Sales Report or a Financial Report: columns separated by tabs; it begins with \
            '\(first.prefix(60))'
            """)
    }
}

/// What was read so far, behind the header.
private struct RowState {
    private enum Part {
        case rows
        /// Behind the first total.
        case totals
        /// The sums by country and currency; the places of their columns.
        case summary(country: Int, currency: Int, units: Int, share: Int)
    }

    let header: ReportHeader
    let limits: ReportLimits
    /// The fiscal month, where the lines before the header state it.
    private let stated: ClosedRange<CivilDay>?
    private var part = Part.rows
    /// Rows in the file, also those with faults.
    private var rowCount: Int64 = 0
    private var isAnyRowFaulty = false
    /// Whether the file says how many rows it has, and has so many.
    private var isCountRight = false
    /// What the summary has a row of.
    private var summedPlaces: Set<ReportFacts.Place> = []
    var facts: ReportFacts

    init(header: ReportHeader, preamble: [String: String], limits: ReportLimits) {
        self.header = header
        self.limits = limits
        facts = ReportFacts(header)
        facts.preamble = preamble
        func day(_ column: AppleReportColumn) -> CivilDay? {
            preamble.first { AppleReportColumn.named($0.key) == column }.flatMap { CivilDay(report: $0.value) }
        }
        if let start = day(.startDate), let end = day(.endDate), start <= end,
            end.number - start.number < ReportLimits.periodDaysMax
        {
            stated = start...end
        } else {
            stated = nil
        }
    }

    /// A row, where the cells are one and it is sound.
    mutating func take(_ cells: [Substring], line: Int) throws(ReportFault) -> AppleReportLine? {
        let first = cells[0].trimmed
        if first.hasPrefix("Total_"), header.kind != .salesSummary {
            part = .totals
            try checkTotal(cells, line: line)
            return nil
        }
        if header.kind != .salesSummary, AppleReportColumn.named(first) == .countryOfSale {
            try beginSummary(cells, line: line)
            return nil
        }
        switch part {
        case .rows: return try row(cells, line: line)
        case .totals:
            throw ReportFault(.format, line: line, "stands behind the totals, and is neither total nor summary")
        case .summary(let country, let currency, let units, let share):
            try checkSummary(cells, line: line, country: country, currency: currency, units: units, share: share)
            return nil
        }
    }

    private mutating func row(_ cells: [Substring], line: Int) throws(ReportFault) -> AppleReportLine {
        rowCount += 1
        do throws(ReportFault) {
            let row = try AppleReportRow(cells, line: line, header: header)
            switch header.kind {
            case .salesSummary:
                let sales = try SalesLine(row)
                facts.note(sales.days)
                return .sales(sales)
            case .financial, .financialDetail:
                let financial = try FinancialLine(row, stated: stated)
                try facts.add(financial)
                facts.note(financial.days)
                return .financial(financial)
            }
        } catch {
            isAnyRowFaulty = true
            throw error
        }
    }

    /// Notes what is missing at the file's end. Behind the rows of a Financial Report stands a total or the summary,
    /// so one that has neither, or a part of the summary, may have lost rows, or all of them.
    mutating func finish() {
        if header.kind == .salesSummary { return }
        switch part {
        case .rows: facts.note(ReportFault(.total, "has no totals behind its rows: it may be cut"), limits: limits)
        case .totals: break
        case .summary:
            if isCountRight { return }
            for place in Set(facts.sums.keys).subtracting(summedPlaces).sorted() {
                facts.note(
                    ReportFault(
                        .total,
                        "has rows of \(place.country) in \(place.currency), and its summary has none: it may be cut"),
                    limits: limits)
            }
        }
    }

    // MARK: Totals

    /// `Total_Rows`, `Total_Amount` or `Total_Units`, and its value behind a tab or, before 2010, a colon.
    private mutating func checkTotal(_ cells: [Substring], line: Int) throws(ReportFault) {
        let parts = cells.flatMap { $0.split(separator: ":") }.map(\.trimmed).filter { !$0.isEmpty }
        let name = parts[0]
        guard parts.count == 2, let value = Thousandths(parts[1]) else {
            throw ReportFault(.total, line: line, column: name, "has no number")
        }
        switch name {
        case "Total_Rows":
            try compare(value, [.init(rawValue: rowCount * 1_000)], name, line: line)
            isCountRight = true
        case "Total_Units":
            // Apple does not say whether returns are taken off, and there are files of both kinds.
            let sums = [\ReportFacts.Sum.units, \.unitsSold].compactMap { count in
                sum(facts.sums.values) { Thousandths(rawValue: $0[keyPath: count]).times(1_000) }
            }
            try compareOfRows(value, sums, name, line: line)
        case "Total_Amount":
            // Of several currencies there is no sum.
            guard Set(facts.sums.keys.map(\.currency)).count <= 1 else { return }
            try compareOfRows(value, [sum(facts.sums.values, \.share)].compactMap(\.self), name, line: line)
        default: throw ReportFault(.total, line: line, column: name, "is no total that is known")
        }
    }

    /// `nil` where 64 bits do not hold it.
    private func sum(
        _ sums: some Sequence<ReportFacts.Sum>, _ part: (ReportFacts.Sum) -> Thousandths?
    ) -> Thousandths? {
        sums.reduce(.zero) { sum, next in part(next).flatMap { sum?.adding($0) } }
    }

    /// - Parameter right: what the total may be; none where 64 bits do not hold it.
    private mutating func compare(
        _ value: Thousandths, _ right: [Thousandths], _ name: String, line: Int
    ) throws(ReportFault) {
        guard right.contains(value) else {
            throw ReportFault(
                .total, line: line, column: name,
                "says \(value), and the rows add up to \(right.first?.description ?? "too much")")
        }
        facts.checkedTotals += 1
    }

    /// Where a row has a fault its amounts are not known, and the fault of the row says enough.
    private mutating func compareOfRows(
        _ value: Thousandths, _ right: [Thousandths], _ name: String, line: Int
    ) throws(ReportFault) {
        if isAnyRowFaulty { return }
        try compare(value, right, name, line: line)
    }

    // MARK: The summary

    private mutating func beginSummary(_ cells: [Substring], line: Int) throws(ReportFault) {
        // What follows is no row, also where the header of the summary is wrong.
        part = .totals
        let columns = cells.map(AppleReportColumn.named)
        func place(_ column: AppleReportColumn) throws(ReportFault) -> Int {
            guard let place = columns.firstIndex(of: column) else {
                throw ReportFault(.header, line: line, "lacks what is needed of the summary: \(column.rawValue)")
            }
            return place
        }
        part = .summary(
            country: try place(.countryOfSale), currency: try place(.partnerShareCurrency),
            units: try place(.quantity), share: try place(.extendedPartnerShare))
    }

    private mutating func checkSummary(
        _ cells: [Substring], line: Int, country: Int, currency: Int, units: Int, share: Int
    ) throws(ReportFault) {
        guard cells.count > max(country, currency, units, share),
            let code = CountryCode(alpha2: cells[country].trimmed),
            let stated = Thousandths(cells[share].trimmed), let count = Thousandths(cells[units].trimmed)
        else {
            throw ReportFault(.total, line: line, "is no row of a summary: country, currency, quantity and share")
        }
        let place = ReportFacts.Place(country: code, currency: cells[currency].trimmed)
        summedPlaces.insert(place)
        if isAnyRowFaulty { return }
        let sum = facts.sums[place] ?? .init()
        let name = "\(place.country) \(place.currency)"
        try compare(
            count, [sum.units, sum.unitsSold].compactMap { Thousandths(rawValue: $0).times(1_000) },
            "\(AppleReportColumn.quantity.rawValue) of \(name)", line: line)
        try compare(
            stated, [sum.share], "\(AppleReportColumn.extendedPartnerShare.rawValue) of \(name)", line: line)
    }
}
