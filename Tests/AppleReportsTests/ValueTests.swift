import Foundation
import LedgerTestKit
import Testing

@testable import AppleReports

@Suite struct ValueTests {
    // MARK: Amounts

    @Test(
        arguments: [
            ("4.99", 4_990), (".7", 700), ("-0.99", -990), ("12", 12_000), ("0", 0), ("-.70", -700), ("3.333", 3_333),
            ("1.5000", 1_500), ("9007199254740.991", 9_007_199_254_740_991), ("5.", 5_000), ("007", 7_000),
        ] as [(String, Int64)])
    func anAmountIsReadExactly(text: String, thousandths: Int64) {
        #expect(Thousandths(text)?.rawValue == thousandths)
    }

    @Test(arguments: [
        "", ".", "-", "1,5", "1.2345", "1.2.3", "4.99 USD", "+1", "1e3", "9007199254740.992", "٣", " 1", "--1",
        "99999999999999999999999",
    ])
    func whatIsNoExactAmountIsRefused(text: String) {
        #expect(Thousandths(text) == nil)
    }

    @Test func anAmountIsWrittenAsItIsRead() {
        #expect("\(Thousandths(rawValue: 4_990))" == "4.99")
        #expect("\(Thousandths(rawValue: -5))" == "-0.005")
        #expect("\(Thousandths(rawValue: 12_000))" == "12.00")
        var random = SplitMix64(seed: Seed.drawn())
        for _ in 0..<2_000 {
            let amount = Thousandths(rawValue: Int64.random(in: -(1 << 53) + 1..<1 << 53, using: &random))
            #expect(Thousandths("\(amount)") == amount)
        }
    }

    @Test func whatIsTooMuchIsNoSum() {
        let most = Thousandths(rawValue: .max)
        #expect(most.adding(Thousandths(rawValue: 1)) == nil && most.times(2) == nil)
        #expect(Thousandths("1.50").times(-3) == "-4.50")
    }

    @Test func aPartIsRoundedToTheNearestThousandth() {
        #expect(Thousandths("10.00").divided(by: 3) == "3.333" && Thousandths("0.002").divided(by: 3) == "0.001")
        #expect(Thousandths("-10.00").divided(by: 3) == "-3.333" && Thousandths("4.99").divided(by: 1) == "4.99")
        #expect(Thousandths("4.99").part(33_333) == "1.663" && Thousandths("4.99").part(100_000) == "4.99")
        #expect(Thousandths("4.99").part(0) == .zero)
    }

    // MARK: Days

    @Test func daysAreThoseOfTheGregorianCalendar() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        for number in stride(from: 0, to: 80_000, by: 13) {
            let day = CivilDay(number: number)
            let date = Date(timeIntervalSince1970: Double(number) * 86_400)
            let expected = calendar.dateComponents([.year, .month, .day, .weekday], from: date)
            #expect(day.parts == (expected.year!, expected.month!, expected.day!))
            #expect(day.weekday == expected.weekday! - 1)
            let (year, month, dayOfMonth) = day.parts
            #expect(CivilDay(year: year, month: month, day: dayOfMonth) == day)
            #expect(CivilDay(iso: "\(day)") == day && CivilDay(report: day.reportText) == day)
        }
    }

    @Test(arguments: ["02/29/2025", "13/01/2026", "00/10/2026", "2026-11-25", "11/25/26", "11/31/2026", "a/b/cccc", ""])
    func whatIsNoDayIsRefused(text: String) {
        #expect(CivilDay(report: text) == nil)
    }

    @Test func monthsAndDaysMayHaveOneDigit() {
        #expect(CivilDay(report: "3/7/2026") == "2026-03-07")
    }

    // MARK: Time zones

    private static let zones: [(ReportZone, String)] = [
        (.pacific, "America/Los_Angeles"), (.utc, "GMT"), (.centralEuropean, "Europe/Luxembourg"),
        (.japan, "Asia/Tokyo"), (.westernAustralia, "Australia/Perth"),
    ]

    @Test(arguments: zones) func daysAreThoseOfTheZone(zone: ReportZone, name: String) throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: name))
        var random = SplitMix64(seed: Seed.drawn(for: name))
        func check(_ time: Int64) {
            let date = Date(timeIntervalSince1970: Double(time) / 1_000)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let day = zone.day(at: time)
            #expect(day.parts == (parts.year!, parts.month!, parts.day!), "\(name) \(time)")
            let start = calendar.startOfDay(for: date)
            #expect(zone.start(of: day) == Int64(start.timeIntervalSince1970 * 1_000), "\(name) \(time)")
        }
        // From 2010 to 2036, where the system's rules reach too.
        for _ in 0..<3_000 { check(Int64.random(in: 1_262_304_000_000..<2_082_758_400_000, using: &random)) }
        // Every hour of the months in which clocks are changed.
        for hour in 0..<24 * 92 { check(1_740_787_200_000 + Int64(hour) * 3_600_000) }
        for hour in 0..<24 * 60 { check(1_759_276_800_000 + Int64(hour) * 3_600_000) }
    }

    @Test func zonesHaveNames() {
        for zone in ReportZone.allCases { #expect(ReportZone(name: zone.name) == zone) }
        #expect(ReportZone(name: "somewhere") == nil)
    }

    // MARK: The fiscal calendar

    /// As Apple paid by them: dates of published calendars and reports.
    @Test(
        arguments: [
            (2014, 12, "2014-08-31", "2014-09-27"), (2021, 2, "2020-11-01", "2020-11-28"),
            (2021, 3, "2020-11-29", "2020-12-26"), (2021, 4, "2020-12-27", "2021-01-30"),
            (2021, 5, "2021-01-31", "2021-02-27"), (2021, 7, "2021-03-28", "2021-05-01"),
            (2021, 12, "2021-08-29", "2021-09-25"), (2022, 1, "2021-09-26", "2021-10-30"),
            (2023, 1, "2022-09-25", "2022-10-29"), (2023, 3, "2022-11-27", "2022-12-31"),
            (2023, 4, "2023-01-01", "2023-02-04"), (2023, 12, "2023-09-03", "2023-09-30"),
            (2026, 2, "2025-11-02", "2025-11-29"),
        ] as [(Int, Int, CivilDay, CivilDay)])
    func aFiscalMonthHasApplesDays(year: Int, period: Int, first: CivilDay, last: CivilDay) throws {
        let month = try #require(FiscalMonth(year: year, period: period))
        #expect(month.days == first...last)
        #expect(FiscalMonth(containing: first) == month && FiscalMonth(containing: last) == month)
    }

    @Test func fiscalMonthsFollowOneAnother() throws {
        var month = try #require(FiscalMonth(year: 2000, period: 1))
        var longYears: [Int] = []
        for _ in 0..<1_200 {
            let next = try #require(FiscalMonth(containing: month.days.upperBound.advanced(by: 1)))
            #expect(next.days.lowerBound.number == month.days.upperBound.number + 1)
            #expect(next > month && next.previous == month)
            #expect(month.days.lowerBound.weekday == 0 && month.days.upperBound.weekday == 6)
            #expect([28, 35].contains(month.days.count))
            // The middle of a month is in the month of the calendar for which it is named.
            let middle = month.days.lowerBound.advanced(by: 14).parts
            #expect(middle.month == month.calendarMonth.month && middle.year == month.calendarMonth.year)
            if month.period == 3, month.days.count == 35 { longYears.append(month.year) }
            month = next
        }
        // Apple's years of 53 weeks so far.
        #expect(longYears.filter { $0 <= 2023 } == [2000, 2006, 2012, 2017, 2023])
    }

    @Test func aFiscalMonthIsOneOfTwelve() {
        #expect(FiscalMonth(year: 2026, period: 0) == nil && FiscalMonth(year: 2026, period: 13) == nil)
        #expect(FiscalMonth(year: 1_000, period: 1) == nil && FiscalMonth(containing: "1971-01-01") == nil)
        #expect("\(FiscalMonth(year: 2026, period: 2)!)" == "2026-02")
    }

    // MARK: Countries

    @Test func storefrontsHaveTwoLettersInReports() {
        #expect(CountryCode(alpha3: "USA")?.alpha2 == "US" && CountryCode(alpha3: "DEU")?.alpha2 == "DE")
        #expect(CountryCode(alpha3: "GBR")?.alpha2 == "GB" && CountryCode(alpha3: "XKS")?.alpha2 == "XK")
        #expect(CountryCode(alpha3: "ZZZ") == nil && CountryCode(alpha3: "usa") == nil)
        #expect(CountryCode(alpha2: "us") == nil && CountryCode(alpha2: "USA") == nil)
    }
}
