import Ledger

/// A month in UTC.
struct Month {
    /// Its first and its last millisecond.
    let first: Timestamp
    let last: Timestamp

    /// - Parameter text: as `2026-01`.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 4, parts[1].utf8.count == 2, let year = Int(parts[0]),
            let month = Int(parts[1]), (1...12).contains(month), year > 1_970,
            let first = TimeText.milliseconds("\(text)-01"),
            let next = TimeText.milliseconds(Month.text(month < 12 ? year : year + 1, month % 12 + 1) + "-01")
        else { return nil }
        self.first = first
        last = next - 1
    }

    private static func text(_ year: Int, _ month: Int) -> String { "\(year)-\(month < 10 ? "0" : "")\(month)" }
}
