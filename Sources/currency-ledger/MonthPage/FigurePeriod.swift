import Ledger
import LedgerWire

/// The days of a page, in UTC: a month, or a part of one, or a few.
struct FigurePeriod {
    /// So many are drawn at most, beside each other.
    static let daysMax = 100

    struct Day {
        /// As `2026-01-31`.
        let text: String
        /// Its first and its last millisecond, within the period.
        let first, last: Timestamp
    }

    let first, last: Timestamp
    let days: [Day]

    /// - Parameter last: not before `first`.
    /// - Throws: ``Failure`` where the page would have too many days, or none.
    init(from first: Timestamp, through last: Timestamp) throws(Failure) {
        guard first <= last else {
            throw Failure("the period begins \(UTCText.time(first)), after its end \(UTCText.time(last))")
        }
        let day: Timestamp = 86_400_000
        // Times are after 1970.
        let (begin, end) = (first / day, last / day)
        guard end - begin < FigurePeriod.daysMax else {
            throw Failure("a page is of at most \(FigurePeriod.daysMax) days, not of \(end - begin + 1)")
        }
        self.first = first
        self.last = last
        days = (begin...end).map {
            Day(text: UTCText.day(of: $0 * day), first: max(first, $0 * day), last: min(last, ($0 + 1) * day - 1))
        }
    }

    /// `October 2026` where it is a whole month, otherwise its days.
    var title: String {
        let names = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ]
        let text = days[0].text
        if let month = Month(String(text.prefix(7))), month.first == first, month.last == last,
            let number = Int(text.dropFirst(5).prefix(2))
        {
            return "\(names[number - 1]) \(text.prefix(4))"
        }
        return days.count == 1 ? text : "\(text) to \(days[days.count - 1].text)"
    }
}
