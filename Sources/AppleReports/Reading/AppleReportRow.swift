/// The header of a report: where each column is.
struct ReportHeader: Sendable {
    let kind: AppleReportKind
    /// As they stand in the file.
    let names: [String]
    private let places: [AppleReportColumn: Int]

    /// Takes a line for a header; `nil` where it is none.
    /// - Throws: ``ReportFault`` where it is one, and a column is missing or there twice.
    init?(_ cells: [Substring], line: Int) throws(ReportFault) {
        var places: [AppleReportColumn: Int] = [:]
        var doubled: AppleReportColumn?
        for (place, cell) in cells.enumerated() {
            guard let column = AppleReportColumn.named(cell) else { continue }
            if places.updateValue(place, forKey: column) != nil { doubled = doubled ?? column }
        }
        // Two thirds of what a kind needs is meant to be one, and no line of data has the names of three columns.
        let kinds = AppleReportKind.allCases.map { kind in
            (kind, kind.needed.count { places[$0] != nil }, kind.own.count { places[$0] != nil })
        }
        guard let (kind, found, _) = kinds.max(by: { ($0.2, $0.1) < ($1.2, $1.1) }), found >= 6 else { return nil }
        if let doubled {
            throw ReportFault(.header, line: line, column: doubled.rawValue, "stands in the header twice")
        }
        let missing = kind.needed.filter { places[$0] == nil }
        guard missing.isEmpty else {
            throw ReportFault(
                .header, line: line, "lacks what is needed: \(missing.map(\.rawValue).joined(separator: ", "))")
        }
        self.kind = kind
        self.places = places
        names = cells.map { $0.trimmed }
    }

    func place(of column: AppleReportColumn) -> Int? { places[column] }

    /// The places of columns that Apple documents nowhere.
    var unknownPlaces: [Int] {
        names.indices.filter { !names[$0].isEmpty && AppleReportColumn.named(names[$0]) == nil }
    }
}

/// A row as it stands in the file: whatever column a line's type has no member for is found here by its name.
public struct AppleReportRow: Sendable {
    /// The line in the file, the first being 1.
    public let line: Int
    let header: ReportHeader
    private let cells: [Substring]

    init(_ cells: [Substring], line: Int, header: ReportHeader) throws(ReportFault) {
        guard cells.count <= header.names.count || cells[header.names.count...].allSatisfy(\.trimmed.isEmpty) else {
            throw ReportFault(
                .cell, line: line, "has \(cells.count) cells, and the header \(header.names.count)")
        }
        self.line = line
        self.header = header
        self.cells = cells
    }

    /// What stands in a column of that name in the header; `nil` where there is no such column or nothing in it.
    public subscript(name: String) -> String? {
        guard let place = header.names.firstIndex(of: name) else { return nil }
        return text(at: place)
    }

    /// What stands in columns that Apple does not document, in the header's order.
    public var unknownCells: [(column: String, text: String)] {
        header.unknownPlaces.compactMap { place in text(at: place).map { (header.names[place], $0) } }
    }

    private func text(at place: Int) -> String? {
        guard place < cells.count else { return nil }
        let text = cells[place].trimmed
        return text.isEmpty ? nil : text
    }

    // MARK: What a column must be

    func optionalText(_ column: AppleReportColumn) -> String? { header.place(of: column).flatMap(text(at:)) }

    func fault(_ column: AppleReportColumn, _ words: String) -> ReportFault {
        ReportFault(.cell, line: line, column: column.rawValue, words)
    }

    func text(_ column: AppleReportColumn) throws(ReportFault) -> String {
        guard let text = optionalText(column) else { throw fault(column, "is empty") }
        return text
    }

    func amount(_ column: AppleReportColumn) throws(ReportFault) -> Thousandths {
        let text = try text(column)
        guard let amount = Thousandths(text) else {
            throw fault(
                column, "\(AppleReportRow.quoted(text)) is no amount with at most three digits behind the point")
        }
        return amount
    }

    /// A whole number, which may be written with zeros behind a point: Apple documents DECIMAL(18,2).
    func count(_ column: AppleReportColumn) throws(ReportFault) -> Int64 {
        let text = try text(column)
        guard let amount = Thousandths(text), amount.rawValue % 1_000 == 0 else {
            throw fault(column, "\(AppleReportRow.quoted(text)) is no whole number")
        }
        return amount.rawValue / 1_000
    }

    func day(_ column: AppleReportColumn) throws(ReportFault) -> CivilDay {
        let text = try text(column)
        guard let day = CivilDay(report: text) else {
            throw fault(column, "\(AppleReportRow.quoted(text)) is no day as 11/25/2026")
        }
        return day
    }

    func currency(_ column: AppleReportColumn) throws(ReportFault) -> String {
        let text = try text(column)
        guard CountryCode.areCapitals(text, count: 3) else {
            throw fault(column, "\(AppleReportRow.quoted(text)) is no currency of three capital letters")
        }
        return text
    }

    func country(_ column: AppleReportColumn) throws(ReportFault) -> CountryCode {
        let text = try text(column)
        guard let country = CountryCode(alpha2: text) else {
            throw fault(column, "\(AppleReportRow.quoted(text)) is no country of two capital letters")
        }
        return country
    }

    /// A cell in a message: the beginning of a long one.
    private static func quoted(_ text: String) -> String {
        text.count <= 40 ? "'\(text)'" : "'\(text.prefix(40))…'"
    }
}

extension StringProtocol {
    /// Without spaces around it.
    var trimmed: String {
        let text = Substring(self)
        // Most cells have none: the bytes at the ends say so.
        if let first = text.utf8.first, let last = text.utf8.last, (0x21...0x7E).contains(first),
            (0x21...0x7E).contains(last)
        {
            return String(text)
        }
        var scalars = text.unicodeScalars
        while scalars.first?.properties.isWhitespace == true { scalars.removeFirst() }
        while scalars.last?.properties.isWhitespace == true { scalars.removeLast() }
        return String(scalars)
    }
}
