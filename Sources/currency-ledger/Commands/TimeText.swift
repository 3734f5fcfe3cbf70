import Foundation
import Ledger

/// A time as options and settings have it: milliseconds since 1970, or of ISO 8601 a day (its beginning, in UTC), or a
/// time of day with its zone. Anything else is no time: a time without a zone could be meant in any.
enum TimeText {
    /// Milliseconds since the UNIX epoch; `nil` where it is no time, or none that the ledger can have.
    static func milliseconds(_ text: String) -> Timestamp? {
        (Int64(text) ?? parsed(text)).flatMap { 0...Limits.amountMax ~= $0 ? $0 : nil }
    }

    private static func parsed(_ text: String) -> Timestamp? {
        // As digits of ASCII alone.
        guard text.utf8.count == text.count,
            let match = text.wholeMatch(
                of: /(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:(Z)|([+-])(\d\d):(\d\d)))?/)
        else { return nil }
        func number(_ digits: Substring?) -> Int { digits.flatMap { Int($0) } ?? 0 }
        let parts = match.output
        let (hour, minute, second) = (number(parts.4), number(parts.5), number(parts.6))
        let (offsetHour, offsetMinute) = (number(parts.10), number(parts.11))
        guard hour < 24, minute < 60, second < 60, offsetHour < 24, offsetMinute < 60 else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let day = DateComponents(
            calendar: calendar, year: number(parts.1), month: number(parts.2), day: number(parts.3))
        guard day.isValidDate, let midnight = day.date else { return nil }
        let fraction = Int64((parts.7 ?? "").padding(toLength: 3, withPad: "0", startingAt: 0)) ?? 0
        let offset = (offsetHour * 60 + offsetMinute) * (parts.9 == "-" ? -1 : 1)
        let seconds = Int64(midnight.timeIntervalSince1970) + Int64((hour * 60 + minute - offset) * 60 + second)
        return seconds * 1_000 + fraction
    }
}
