/// A day of the calendar, in no time zone.
public struct CivilDay: Hashable, Sendable, Comparable, Strideable, CustomStringConvertible {
    /// Days since 1 January 1970.
    public let number: Int

    /// The day so many days after 1 January 1970.
    public init(number: Int) { self.number = number }

    /// A day of the Gregorian calendar; `nil` where there is none, or outside the years 1970 … 9999.
    public init?(year: Int, month: Int, day: Int) {
        guard (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else { return nil }
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil: years begin in March.
        let year400 = (month <= 2 ? year - 1 : year)
        let era = year400 / 400
        let yearOfEra = year400 - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        self.init(number: era * 146_097 + dayOfEra - 719_468)
        // The 31st of a month of 30 days would be the first of the next one.
        guard parts.month == month else { return nil }
    }

    /// Year, month (1 … 12) and day of the month.
    public var parts: (year: Int, month: Int, day: Int) {
        let shifted = number + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        )
    }

    /// 0 for Sunday … 6 for Saturday.
    public var weekday: Int { ((number + 4) % 7 + 7) % 7 }

    /// By time.
    public static func < (left: CivilDay, right: CivilDay) -> Bool { left.number < right.number }

    /// Days from this one to another.
    public func distance(to other: CivilDay) -> Int { other.number - number }

    /// The day so many days later.
    public func advanced(by days: Int) -> CivilDay { CivilDay(number: number + days) }

    /// ISO 8601: `2026-11-25`.
    public var description: String {
        let (year, month, day) = parts
        return "\(CivilDay.digits(year, 4))-\(CivilDay.digits(month, 2))-\(CivilDay.digits(day, 2))"
    }

    /// A day as ISO 8601 has it, `2026-11-25`; `nil` where it is none.
    public init?(iso text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [4, 2, 2], let year = CivilDay.number(parts[0]),
            let month = CivilDay.number(parts[1]), let day = CivilDay.number(parts[2])
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// A day as Apple's reports have it, `11/25/2026`; `nil` where it is none.
    init?(report text: some StringProtocol) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, (1...2).contains(parts[0].utf8.count), (1...2).contains(parts[1].utf8.count),
            parts[2].utf8.count == 4, let month = CivilDay.number(parts[0]), let day = CivilDay.number(parts[1]),
            let year = CivilDay.number(parts[2])
        else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// As Apple's reports write it: `11/25/2026`.
    var reportText: String {
        let (year, month, day) = parts
        return "\(CivilDay.digits(month, 2))/\(CivilDay.digits(day, 2))/\(CivilDay.digits(year, 4))"
    }

    /// As the names of Apple's files have it: `20261125`.
    var nameText: String { description.filter { $0 != "-" } }

    /// Digits of ASCII alone.
    private static func number(_ text: some StringProtocol) -> Int? {
        text.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } ? Int(text) : nil
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
