/// A month of Apple's fiscal calendar, by which financial reports are made and paid.
///
/// A fiscal year ends on the last Saturday of September. Each quarter has a month of five weeks and two of four. Where
/// the year has 53 weeks, as 2012, 2017 and 2023, the first quarter's last month has the additional one (Apple's annual
/// report, Form 10-K, "Fiscal Period"). What a report itself states as its dates goes before this calendar.
public struct FiscalMonth: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The fiscal year, named for the calendar year in which it ends.
    public let year: Int
    /// 1 … 12: 1 begins in September or October, 12 ends in September.
    public let period: Int

    /// A fiscal month; `nil` outside the years 2000 … 9998 and the periods 1 … 12.
    public init?(year: Int, period: Int) {
        guard (2000...9998).contains(year), (1...12).contains(period) else { return nil }
        self.year = year
        self.period = period
    }

    /// The fiscal month that a day falls into; `nil` outside the years 2000 … 9998.
    public init?(containing day: CivilDay) {
        var year = day.parts.year
        guard (1999...9998).contains(year) else { return nil }
        if day > FiscalMonth.lastDay(ofYear: year) { year += 1 }
        for period in 1...12 {
            guard let month = FiscalMonth(year: year, period: period) else { return nil }
            if month.days.contains(day) {
                self = month
                return
            }
        }
        preconditionFailure("a day of a fiscal year is in one of its months")
    }

    /// The first and the last day.
    public var days: ClosedRange<CivilDay> {
        let first = FiscalMonth.lastDay(ofYear: year - 1).advanced(by: 1)
        var weeks = [5, 4, 4, 5, 4, 4, 5, 4, 4, 5, 4, 4]
        if first.distance(to: FiscalMonth.lastDay(ofYear: year)) + 1 == 53 * 7 { weeks[2] += 1 }
        let start = first.advanced(by: weeks[..<(period - 1)].reduce(0, +) * 7)
        return start...start.advanced(by: weeks[period - 1] * 7 - 1)
    }

    /// The month before.
    public var previous: FiscalMonth? {
        period == 1 ? FiscalMonth(year: year - 1, period: 12) : FiscalMonth(year: year, period: period - 1)
    }

    /// The month of the calendar for which it is named: that of period 1 is October.
    var calendarMonth: (year: Int, month: Int) {
        period <= 3 ? (year - 1, period + 9) : (year, period - 3)
    }

    /// By time.
    public static func < (left: FiscalMonth, right: FiscalMonth) -> Bool {
        (left.year, left.period) < (right.year, right.period)
    }

    /// As the App Store Connect API names it: fiscal year and period, `2026-02`.
    public var description: String { "\(year)-\(period < 10 ? "0" : "")\(period)" }

    private static func lastDay(ofYear year: Int) -> CivilDay {
        guard let last = CivilDay(year: year, month: 9, day: 30) else {
            preconditionFailure("fiscal years are 1999 … 9998")
        }
        return last.advanced(by: -((last.weekday + 1) % 7))
    }
}
