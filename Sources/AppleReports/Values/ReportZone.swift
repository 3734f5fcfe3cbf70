/// The time zone by whose midnights a report counts days.
///
/// Apple writes none into its files. "Sales and Trends" of a worldwide agreement go by Pacific Time; App Store Connect
/// can show them in UTC ("Differences in reporting tools"), and reports for agreements of one part of the world go by
/// that part's time.
public enum ReportZone: Hashable, Sendable, CaseIterable {
    /// Los Angeles: UTC−8, in summer UTC−7 (as it has been since 2007; the App Store opened in 2008).
    case pacific
    /// UTC.
    case utc
    /// Luxembourg: UTC+1, in summer UTC+2.
    case centralEuropean
    /// Tokyo: UTC+9.
    case japan
    /// Perth: UTC+8.
    case westernAustralia

    /// As options name it.
    public var name: String {
        switch self {
        case .pacific: "pacific"
        case .utc: "utc"
        case .centralEuropean: "central-european"
        case .japan: "japan"
        case .westernAustralia: "western-australia"
        }
    }

    /// The zone of a name; `nil` where there is none.
    public init?(name: String) {
        guard let zone = ReportZone.allCases.first(where: { $0.name == name }) else { return nil }
        self = zone
    }

    private static let dayMilliseconds: Int64 = 86_400_000
    private static let hourMilliseconds: Int64 = 3_600_000

    /// The day at a time.
    /// - Parameter time: milliseconds since the UNIX epoch.
    public func day(at time: Int64) -> CivilDay { ReportZone.day(time + offset(at: time)) }

    /// When a day begins, in milliseconds since the UNIX epoch.
    public func start(of day: CivilDay) -> Int64 {
        let local = Int64(day.number) * ReportZone.dayMilliseconds
        // In none of these zones a clock is changed within the hours around midnight, so that the guess is good.
        return local - offset(at: local - standardOffset)
    }

    /// Local time less UTC outside of summer, in milliseconds.
    private var standardOffset: Int64 {
        switch self {
        case .pacific: -8 * ReportZone.hourMilliseconds
        case .utc: 0
        case .centralEuropean: ReportZone.hourMilliseconds
        case .japan: 9 * ReportZone.hourMilliseconds
        case .westernAustralia: 8 * ReportZone.hourMilliseconds
        }
    }

    /// Local time less UTC, in milliseconds.
    private func offset(at time: Int64) -> Int64 {
        standardOffset + (summer(at: time)?.contains(time) == true ? ReportZone.hourMilliseconds : 0)
    }

    /// The summer time of the year that a time falls into; `nil` where the zone has none, or the year is not one of
    /// 1970 … 9999.
    private func summer(at time: Int64) -> Range<Int64>? {
        let year = ReportZone.day(time).parts.year
        func start(_ day: CivilDay, hour: Int64) -> Int64 {
            Int64(day.number) * ReportZone.dayMilliseconds + hour * ReportZone.hourMilliseconds
        }
        switch self {
        case .pacific:
            // From 2:00 of standard time on the second Sunday of March to 2:00 of summer time on the first of November.
            guard let march = ReportZone.sunday(onOrAfter: 8, month: 3, year: year),
                let november = ReportZone.sunday(onOrAfter: 1, month: 11, year: year)
            else { return nil }
            return start(march, hour: 10)..<start(november, hour: 9)
        case .centralEuropean:
            // From 1:00 UTC on the last Sunday of March to that of October (Directive 2000/84/EC).
            guard let march = ReportZone.sunday(onOrAfter: 25, month: 3, year: year),
                let october = ReportZone.sunday(onOrAfter: 25, month: 10, year: year)
            else { return nil }
            return start(march, hour: 1)..<start(october, hour: 1)
        case .utc, .japan, .westernAustralia: return nil
        }
    }

    private static func sunday(onOrAfter day: Int, month: Int, year: Int) -> CivilDay? {
        CivilDay(year: year, month: month, day: day).map { $0.advanced(by: (7 - $0.weekday) % 7) }
    }

    private static func day(_ milliseconds: Int64) -> CivilDay {
        let (days, rest) = milliseconds.quotientAndRemainder(dividingBy: dayMilliseconds)
        return CivilDay(number: Int(rest < 0 ? days - 1 : days))
    }
}
