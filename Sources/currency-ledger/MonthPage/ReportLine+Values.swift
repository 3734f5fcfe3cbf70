import LedgerClient

/// Values by the column's name, of whoever knows what type that is of.
extension ReportLine {
    /// `""` where there is none.
    func word(_ column: String) -> String { if case .text(let text)? = self[column] { text } else { "" } }

    /// 0 where there is none.
    func sum(_ column: String) -> Int128 { if case .sum(let sum)? = self[column] { sum } else { 0 } }

    /// 0 where there is none.
    func integer(_ column: String) -> Int64 { optionalInteger(column) ?? 0 }

    func optionalInteger(_ column: String) -> Int64? {
        if case .integer(let number)? = self[column] { number } else { nil }
    }
}
