import LedgerTypes

/// A month in UTC.
package struct ConsoleMonth: Hashable, Sendable {
    /// As `2026-01`.
    package let text: String
    private let year: Int64
    private let month: Int64

    /// `nil` where `text` is not as `2026-01`.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 4, parts[1].utf8.count == 2,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-") }),
            let year = Int64(parts[0]), let month = Int64(parts[1]), year >= 1970, (1...12).contains(month)
        else { return nil }
        (self.text, self.year, self.month) = (text, year, month)
    }

    /// The one in which a time is.
    init?(of time: Timestamp) { self.init(String(UTCText.day(of: time).prefix(7))) }

    private init?(_ year: Int64, _ month: Int64) { self.init("\(year)-\(month < 10 ? "0" : "")\(month)") }

    var before: ConsoleMonth? { month == 1 ? ConsoleMonth(year - 1, 12) : ConsoleMonth(year, month - 1) }
    var next: ConsoleMonth? { month == 12 ? ConsoleMonth(year + 1, 1) : ConsoleMonth(year, month + 1) }

    private static let names = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    var title: String { "\(ConsoleMonth.names[Int(month) - 1]) \(year)" }

    /// The first millisecond of it. (Days from a date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
    /// `days_from_civil`.)
    var first: Timestamp {
        let shifted = month <= 2 ? year - 1 : year
        let ofEra = shifted % 400
        let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5
        return (shifted / 400 * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468) * 86_400_000
    }

    /// The last millisecond of each of its days that are not later than that of a time; of that one the time itself.
    func ends(until time: Timestamp) -> [Timestamp] {
        let end = next?.first ?? .max
        return stride(from: first, to: end, by: 86_400_000).filter { $0 <= time }.map { min($0 + 86_399_999, time) }
    }
}
