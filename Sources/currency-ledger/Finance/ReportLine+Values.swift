import LedgerWire

/// A row of a report of the ledger's, where Apple's reports have rows too.
typealias LedgerLine = ReportLine

/// The values of columns by their names.
extension ReportLine {
    /// A name or a word; `nil` where there is none.
    func text(_ column: String) -> String? { if case .text(let text)? = self[column] { text } else { nil } }

    /// A name or a word; `""` where there is none.
    func word(_ column: String) -> String { text(column) ?? "" }

    /// Units or money that were added up; 0 where there are none.
    func sum(_ column: String) -> Int128 { if case .sum(let sum)? = self[column] { sum } else { 0 } }

    /// A number or a time; 0 where there is none.
    func integer(_ column: String) -> Int64 { optionalInteger(column) ?? 0 }

    /// A number or a time; `nil` where there is none.
    func optionalInteger(_ column: String) -> Int64? {
        if case .integer(let number)? = self[column] { number } else { nil }
    }

    /// The money of one purchase or lot; `nil` where there is none.
    func thousandths(_ column: String) -> Int64? {
        if case .sum(let sum)? = self[column] { Int64(exactly: sum) } else { nil }
    }
}
