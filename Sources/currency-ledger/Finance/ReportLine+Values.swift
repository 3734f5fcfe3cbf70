import LedgerWire

/// The values of columns by their names. A name that is no column's is an error of the program, and traps.
extension ReportLine {
    private func value(_ column: String) -> ReportValue? {
        guard let place = kind.columns.firstIndex(where: { $0.name == column }) else {
            preconditionFailure("\(kind.rawValue) has no column \(column)")
        }
        return values[place]
    }

    /// A name or a word; `nil` where there is none.
    func text(_ column: String) -> String? { if case .text(let text)? = value(column) { text } else { nil } }

    /// A name or a word; `""` where there is none.
    func word(_ column: String) -> String { text(column) ?? "" }

    /// Units or money that were added up; 0 where there are none.
    func sum(_ column: String) -> Int128 { if case .sum(let sum)? = value(column) { sum } else { 0 } }

    /// A number or a time; 0 where there is none.
    func integer(_ column: String) -> Int64 { optionalInteger(column) ?? 0 }

    /// A number or a time; `nil` where there is none.
    func optionalInteger(_ column: String) -> Int64? {
        if case .integer(let number)? = value(column) { number } else { nil }
    }

    /// The money of one purchase or lot; `nil` where there is none.
    func thousandths(_ column: String) -> Int64? {
        if case .sum(let sum)? = value(column) { Int64(exactly: sum) } else { nil }
    }
}
