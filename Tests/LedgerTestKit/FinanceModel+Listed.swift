package import Ledger

extension FinanceModel {
    /// The rows of a report, as reports have them: `rollforward` lists a currency once it was used; by when it happened
    /// once anything was posted of it, for that may count at any time.
    package func listedRows(_ query: ReportQuery) -> [ReportLine]? {
        guard query.kind == .rollforward else { return rows(query) }
        let end = query.dates == .posted ? query.asOf : Timestamp.max / 2
        let journal = rows(ReportQuery(kind: .journal, asOf: end))
        let used = Set((journal ?? []).compactMap { $0.text("currency") })
        return rows(query)?.filter { line in line.text("currency").map(used.contains) ?? true }
    }
}
