/// Times in UTC as ISO 8601 writes them; years after 9999 in its expanded form, with a sign and six digits.
public enum UTCText {
    /// The day of a time, as `2026-01-31`. (Days to a date: Howard Hinnant, "chrono-Compatible Low-Level Date
    /// Algorithms", `civil_from_days`.)
    public static func day(of time: Timestamp) -> String {
        let days = UTCText.days(time) + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let ofEra = days - era * 146_097
        let year = (ofEra - ofEra / 1_460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * year + year / 4 - year / 100)
        let shifted = (5 * ofYear + 2) / 153
        let day = ofYear - (153 * shifted + 2) / 5 + 1
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let calendarYear = year + era * 400 + (month <= 2 ? 1 : 0)
        let shown = calendarYear > 9_999 ? "+" + padded(calendarYear, 6) : padded(calendarYear, 4)
        return "\(shown)-\(padded(month, 2))-\(padded(day, 2))"
    }

    /// As `2026-01-31T23:59:59.999Z`.
    public static func time(_ time: Timestamp) -> String {
        let ofDay = time - days(time) * 86_400_000
        let (hour, minute) = (padded(ofDay / 3_600_000, 2), padded(ofDay / 60_000 % 60, 2))
        let (second, fraction) = (padded(ofDay / 1_000 % 60, 2), padded(ofDay % 1_000, 3))
        return "\(day(of: time))T\(hour):\(minute):\(second).\(fraction)Z"
    }

    private static func days(_ time: Timestamp) -> Int64 {
        time / 86_400_000 - (time % 86_400_000 < 0 ? 1 : 0)
    }

    private static func padded(_ number: Int64, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
}
