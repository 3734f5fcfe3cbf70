import LedgerTestKit
import Testing

@testable import AppleReports

@Suite struct MatchingTests {
    private static let zone = ReportZone.pacific

    /// A purchase of ours at noon, unless it is said.
    private static func purchase(
        _ id: String, _ product: String = Samples.gems, storefront: String = "USA", currency: String = "USD",
        day: CivilDay = Samples.day, hour: Int64 = 12, minute: Int64 = 0, quantity: Int64 = 1,
        price: Thousandths? = "4.99", refundedAt: Int64? = nil, refundedPrice: Thousandths? = nil
    ) -> BookedTransaction {
        BookedTransaction(
            id: id, product: product, storefront: storefront, currency: currency,
            purchasedAt: zone.time(day, hour: hour, minute: minute), quantity: quantity, price: price,
            refundedAt: refundedAt, refundedPrice: refundedPrice)
    }

    private static func match(
        _ purchases: [BookedTransaction], _ rows: [SalesLine], app: String? = nil,
        covered: [ClosedRange<CivilDay>] = []
    ) throws -> SalesMatch {
        var matching = SalesMatching(zone: zone, app: app)
        for purchase in purchases { matching.add(purchase) }
        for days in covered { try matching.cover(days) }
        for row in rows { try matching.add(row) }
        return matching.result(explainedBy: purchases)
    }

    private static func ids(_ difference: SalesDifference?) -> [String]? { difference?.explanation?.transactions }

    // MARK: What agrees

    @Test func theSameUnitsAtTheSamePriceAgree() throws {
        let purchases = [
            Self.purchase("1"), Self.purchase("2", quantity: 2, price: "9.98"),
            Self.purchase("3", storefront: "DEU", currency: "EUR", price: "5.99"),
        ]
        let match = try Self.match(
            purchases,
            Samples.salesLines(
                Samples.sales(), Samples.sales(units: "1", currency: "EUR", country: "DE", price: "5.99")))
        #expect(match.agrees && match.differences == [] && match.daysWithoutReport == [])
        #expect(match.lines.map(\.key.country) == ["DE", "US"] && match.lines.allSatisfy(\.agrees))
        let us = try #require(match.lines.last)
        #expect(us.booked == us.reported && us.booked.unitsSold == 3 && us.booked.money == "14.97")
        #expect(us.days == Samples.day...Samples.day)
    }

    /// Apple's rows are told apart by more than ours: by device, version, client.
    @Test func rowsOfTheSameAreAddedUp() throws {
        let match = try Self.match(
            [Self.purchase("1"), Self.purchase("2"), Self.purchase("3")],
            Samples.salesLines(Samples.sales(units: "1"), Samples.sales(units: "2").replacing("iPhone", with: "iPad")))
        #expect(match.differences == [] && match.lines.count == 1)
    }

    @Test func severalPricesOfADayAreComparedEach() throws {
        let purchases = [Self.purchase("1"), Self.purchase("2", price: "3.99"), Self.purchase("3", price: "3.99")]
        let match = try Self.match(
            purchases, Samples.salesLines(Samples.sales(units: "1"), Samples.sales(units: "2", price: "3.99")))
        #expect(match.differences == [] && match.lines.first?.booked.money == "12.97")
    }

    @Test func refundsAreOfTheDayOnWhichTheyWereMade() throws {
        let refundedAt = Self.zone.time("2026-11-27")
        let purchases = [
            Self.purchase("1", refundedAt: refundedAt), Self.purchase("2"),
            Self.purchase("3", refundedAt: refundedAt, refundedPrice: "2.50"),
        ]
        let match = try Self.match(
            purchases,
            Samples.salesLines(
                Samples.sales(), Samples.sales(units: "-1", begin: "11/27/2026", price: "-4.99"),
                Samples.sales(units: "-1", begin: "11/27/2026", price: "-2.50")))
        #expect(match.differences == [])
        #expect(match.lines.map(\.reported.unitsRefunded) == [0, 2])
        #expect(match.lines.map(\.booked.money) == ["14.97", "-7.49"])
    }

    @Test func purchasesWithoutAPriceAgreeWithAny() throws {
        let purchases = [Self.purchase("1", price: nil), Self.purchase("2"), Self.purchase("3", price: nil)]
        let match = try Self.match(
            purchases, Samples.salesLines(Samples.sales(units: "2"), Samples.sales(units: "1", price: "3.99")))
        #expect(match.differences == [])
        #expect(match.lines.first?.booked.unitsWithoutPrice == 2)
        let fewer = try Self.match(purchases, Samples.salesLines(Samples.sales(units: "2")))
        #expect(fewer.differences.map(\.kind) == [.fewerInReport] && fewer.differences.map(\.units) == [1])
        #expect(fewer.differences.first?.unitPrice == nil && Self.ids(fewer.differences.first) == ["1", "3"])
    }

    @Test func rowsOfOurOwnReportAreComparedAsPurchasesAre() throws {
        var matching = SalesMatching(zone: Self.zone)
        for row in try Samples.salesLines(Samples.sales(), Samples.sales(units: "-1", price: "-4.99")) {
            try matching.add(row)
        }
        matching.add(
            BookedLine(
                product: Samples.gems, storefront: "USA", currency: "USD", day: Samples.day, unitsSold: 3,
                unitsRefunded: 1, customerPrice: "4.99"))
        #expect(matching.result().differences == [])
    }

    // MARK: What differs

    @Test func whatTheReportLacksIsMissingAndOurTransactionsAreNamed() throws {
        let purchases = [
            Self.purchase("1", "gold"), Self.purchase("2", "gold", quantity: 2, price: "9.98"), Self.purchase("3"),
        ]
        let match = try Self.match(purchases, Samples.salesLines(Samples.sales(units: "1")))
        let difference = try #require(match.differences.first)
        #expect(match.differences.count == 1 && difference.kind == .missingInReport && difference.units == 3)
        #expect(difference.key.product == "gold" && difference.bookedUnits == 3 && difference.reportedUnits == 0)
        #expect(difference.explanation?.isExact == true && Self.ids(difference) == ["1", "2"])
        #expect(!match.agrees && !difference.isNatural)
        #expect("\(difference)" == "gold in US, 2026-11-25: 3 sold at 4.99 USD missing in the report")
        #expect(match.lines.map(\.agrees) == [true, false])
    }

    @Test func whatOurBooksLackIsMissingThere() throws {
        let match = try Self.match(
            [Self.purchase("1", "gold")],
            Samples.salesLines(Samples.sales("gold", units: "1"), Samples.sales(units: "2")))
        #expect(match.differences.map(\.kind) == [.missingInBooks] && match.differences.map(\.units) == [2])
        #expect(match.differences.first?.explanation == nil)
    }

    @Test func otherNumbersOfUnitsAreToldWithBothSides() throws {
        let purchases = ["1", "2", "3", "4"].map { Self.purchase($0) }
        let fewer = try Self.match(purchases, Samples.salesLines(Samples.sales(units: "3"))).differences
        #expect(fewer.map(\.kind) == [.fewerInReport] && fewer.map(\.units) == [1])
        // Which of the four it is nobody can say.
        #expect(fewer.first?.explanation?.isExact == false && fewer.first?.explanation?.count == 4)
        let more = try Self.match(purchases, Samples.salesLines(Samples.sales(units: "5"))).differences
        #expect(more.map(\.kind) == [.moreInReport] && more.map(\.units) == [1] && more.first?.explanation == nil)
        #expect("\(more[0])".hasSuffix("1 sold at 4.99 USD more in the report (books 4, report 5)"))
    }

    @Test func twiceTheUnitsAreARowThatIsThereTwice() throws {
        let purchases = ["1", "2", "3"].map { Self.purchase($0) }
        let match = try Self.match(purchases, Samples.salesLines(Samples.sales(), Samples.sales()))
        #expect(match.differences.map(\.kind) == [.doubledInReport] && match.differences.map(\.units) == [3])
        #expect(Self.ids(match.differences.first) == ["1", "2", "3"])
    }

    @Test func anotherPriceOfTheSameUnitsIsToldAsOne() throws {
        let purchases = ["1", "2", "3"].map { Self.purchase($0) }
        let match = try Self.match(purchases, Samples.salesLines(Samples.sales(price: "5.99")))
        #expect(match.differences.map(\.kind) == [.price(booked: "4.99", reported: "5.99")])
        #expect(match.differences.first?.explanation?.isExact == true && match.differences.first?.units == 3)
        #expect("\(match.differences[0])".contains("3 sold at 4.99 in the books, at 5.99 USD in the report"))
    }

    @Test func refundsDifferOnTheirOwn() throws {
        let purchases = [Self.purchase("1", refundedAt: Self.zone.time(Samples.day, hour: 20)), Self.purchase("2")]
        let match = try Self.match(purchases, Samples.salesLines(Samples.sales(units: "2")))
        #expect(
            match.differences.map(\.direction) == [.refunded] && match.differences.map(\.kind) == [.missingInReport])
        #expect(Self.ids(match.differences.first) == ["1"])
        #expect("\(match.differences[0])".contains("1 refunded at 4.99 USD missing in the report"))
    }

    @Test func aStorefrontThatNoReportCanHaveIsMissing() throws {
        let match = try Self.match(
            [Self.purchase("1", storefront: "ZZZ"), Self.purchase("2")], Samples.salesLines(Samples.sales(units: "1")))
        #expect(match.differences.map(\.key.country) == ["ZZZ"] && match.differences.map(\.kind) == [.missingInReport])
    }

    // MARK: Midnight

    /// The report of the next day has what was bought in the last hour.
    @Test func purchasesBeforeMidnightMayBeOfTheNextDay() throws {
        let purchases = [
            Self.purchase("early", hour: 9), Self.purchase("late", hour: 23, minute: 40),
            Self.purchase("latest", hour: 23, minute: 59), Self.purchase("next", day: "2026-11-26"),
        ]
        let match = try Self.match(
            purchases, Samples.salesLines(Samples.sales(units: "1"), Samples.sales(units: "3", begin: "11/26/2026")))
        let difference = try #require(match.differences.first)
        #expect(match.differences.count == 1 && difference.kind == .otherDay("2026-11-26"..."2026-11-26"))
        #expect(difference.days == Samples.day...Samples.day && difference.units == 2)
        #expect(Self.ids(difference) == ["late", "latest"] && difference.explanation?.isExact == true)
        #expect(difference.explanation?.fromMidnightMilliseconds == 1_200_000)
        #expect(difference.isNatural && match.agrees && match.lines.map(\.agrees) == [false, false])
    }

    @Test func purchasesAfterMidnightMayBeOfTheDayBefore() throws {
        let purchases = [
            Self.purchase("1"), Self.purchase("2", day: "2026-11-26", hour: 0, minute: 5),
            Self.purchase("3", day: "2026-11-26", hour: 15),
        ]
        let match = try Self.match(
            purchases, Samples.salesLines(Samples.sales(units: "2"), Samples.sales(units: "1", begin: "11/26/2026")))
        #expect(match.differences.map(\.kind) == [.otherDay(Samples.day...Samples.day)])
        #expect(Self.ids(match.differences.first) == ["2"] && match.agrees)
    }

    @Test func whatIsFarFromMidnightIsOnAWrongDay() throws {
        let purchases = [Self.purchase("1"), Self.purchase("2", hour: 15)]
        let match = try Self.match(
            purchases, Samples.salesLines(Samples.sales(units: "1"), Samples.sales(units: "1", begin: "11/26/2026")))
        #expect(match.differences.map(\.kind) == [.otherDay("2026-11-26"..."2026-11-26")])
        #expect(!match.agrees && match.differences.first?.explanation?.fromMidnightMilliseconds == 32_400_000)
    }

    /// A difference at the edge of what there are reports of.
    @Test func purchasesAtMidnightMayBeInAReportThatWasNotGiven() throws {
        let purchases = [
            Self.purchase("1"), Self.purchase("late", hour: 23, minute: 30),
            Self.purchase("before", "gold", day: "2026-11-24", hour: 23, minute: 50), Self.purchase("4", "gold"),
        ]
        let match = try Self.match(
            purchases, Samples.salesLines(Samples.sales(units: "1"), Samples.sales("gold", units: "2")))
        #expect(
            match.differences.map(\.kind) == [
                .dayWithoutReport("2026-11-26", isBookedThere: false),
                .dayWithoutReport("2026-11-24", isBookedThere: true),
            ])
        #expect(match.differences.map { Self.ids($0) } == [["late"], ["before"]])
        #expect(match.agrees && match.daysWithoutReport == ["2026-11-24"])
        // A report of that day in which they are not takes the excuse away.
        let covered = try Self.match(
            purchases, Samples.salesLines(Samples.sales(units: "1"), Samples.sales("gold", units: "2")),
            covered: ["2026-11-24"..."2026-11-24", "2026-11-26"..."2026-11-26"])
        #expect(covered.differences.map(\.kind).contains(.fewerInReport) && !covered.agrees)
    }

    @Test func midnightIsThatOfTheReportsZone() throws {
        // 26 November, 5:00 UTC, is still the 25th in California.
        let purchase = BookedTransaction(
            id: "1", product: Samples.gems, storefront: "USA", currency: "USD",
            purchasedAt: ReportZone.utc.time("2026-11-26", hour: 5), price: "4.99")
        for (zone, agrees) in [(ReportZone.pacific, true), (.utc, false)] {
            var matching = SalesMatching(zone: zone)
            matching.add(purchase)
            for row in try Samples.salesLines(Samples.sales(units: "1")) { try matching.add(row) }
            #expect(matching.result(explainedBy: [purchase]).differences.isEmpty == agrees)
        }
    }

    // MARK: Which rows, and which days

    @Test func onlyDaysWithAReportAreCompared() throws {
        let purchases = [
            Self.purchase("1"), Self.purchase("2", day: "2026-11-20"), Self.purchase("3", day: "2026-12-20"),
        ]
        let match = try Self.match(purchases, Samples.salesLines(Samples.sales(units: "1")))
        #expect(match.differences == [] && match.daysWithoutReport == ["2026-11-20", "2026-12-20"])
        let covered = try Self.match(
            purchases, Samples.salesLines(Samples.sales(units: "1")), covered: ["2026-11-20"..."2026-11-20"])
        #expect(covered.differences.map(\.kind) == [.missingInReport] && covered.daysWithoutReport == ["2026-12-20"])
    }

    @Test func aWeeksReportIsComparedWithTheWeek() throws {
        let purchases = [
            Self.purchase("1", day: "2026-11-23"), Self.purchase("2", day: "2026-11-25"),
            Self.purchase("3", day: "2026-11-29"),
            Self.purchase("4", day: "2026-11-30"),
        ]
        let match = try Self.match(
            purchases, Samples.salesLines(Samples.sales(begin: "11/23/2026", end: "11/29/2026")))
        #expect(match.differences == [] && match.daysWithoutReport == ["2026-11-30"])
        #expect(match.lines.map(\.days) == ["2026-11-23"..."2026-11-29"])
    }

    @Test func reportsThatOverlapAreRefused() throws {
        var matching = SalesMatching(zone: Self.zone)
        for row in try Samples.salesLines(Samples.sales(begin: "11/23/2026", end: "11/29/2026")) {
            try matching.add(row)
        }
        let daily = try Samples.salesLines(Samples.sales())
        let fault = #expect(throws: ReportFault.self) { try matching.add(daily[0]) }
        #expect(fault?.words.contains("2026-11-23 to 2026-11-29") == true)
    }

    @Test func otherTypesAndOtherAppsArePassedOver() throws {
        let match = try Self.match(
            [Self.purchase("1")],
            Samples.salesLines(
                Samples.sales(units: "1"), Samples.sales("game", type: "1F"), Samples.sales("game", type: "7F"),
                Samples.sales("other.gems", parent: "com.example.other")),
            app: Samples.app)
        #expect(match.differences == [] && match.otherTypeRowCount == 2 && match.otherAppRowCount == 1)
    }

    @Test func noMoreTransactionsAreNamedThanTheBound() throws {
        var limits = ReportLimits.standard
        limits.explainedMax = 10
        let purchases = (0..<500).map { Self.purchase("\(1_000 + $0)", "gold", hour: Int64($0 % 24)) }
        var matching = SalesMatching(zone: Self.zone, limits: limits)
        for purchase in purchases { matching.add(purchase) }
        try matching.cover(Samples.day...Samples.day)
        let difference = try #require(matching.result(explainedBy: purchases).differences.first)
        #expect(difference.explanation?.count == 500 && difference.explanation?.units == 500)
        #expect(difference.explanation?.isExact == true && difference.explanation?.transactions.count == 10)
        #expect(Self.ids(difference)?.first == "1000")
    }

    @Test func sumsThatAreTooLargeAreRefused() throws {
        let row = try Samples.salesLines(Samples.sales(units: "9000000000000", price: "9000.00"))[0]
        var matching = SalesMatching(zone: Self.zone)
        let fault = #expect(throws: ReportFault.self) { for _ in 0..<2_000 { try matching.add(row) } }
        #expect(fault?.column == "Units")
    }

    // MARK: Anything

    /// Whatever the two sides have, the differences make the one out of the other.
    @Test func theDifferencesAreWhatIsBetweenTheSides() throws {
        var random = SplitMix64(seed: Seed.drawn())
        for _ in 0..<300 {
            var purchases: [BookedTransaction] = []
            for number in 0..<Int.random(in: 0...30, using: &random) {
                let day = Samples.day.advanced(by: Int.random(in: 0...3, using: &random))
                let quantity = Int64.random(in: 1...3, using: &random)
                let price = Thousandths(rawValue: [4_990, 5_990].randomElement(using: &random)! * quantity)
                purchases.append(
                    Self.purchase(
                        "\(number)", ["a", "b"].randomElement(using: &random)!, day: day,
                        hour: Int64.random(in: 0...23, using: &random), quantity: quantity, price: price))
            }
            var rows: [String] = []
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let day = Samples.day.advanced(by: Int.random(in: 0...3, using: &random))
                rows.append(
                    Samples.sales(
                        ["a", "b"].randomElement(using: &random)!, units: "\(Int.random(in: 1...9, using: &random))",
                        begin: day.reportText, price: ["4.99", "5.99"].randomElement(using: &random)!))
            }
            let lines = try rows.flatMap { try Samples.salesLines($0) }
            let match = try Self.match(
                purchases, lines,
                covered: (0...3).map {
                    Samples.day.advanced(by: $0)...Samples.day.advanced(by: $0)
                })
            var units = match.lines.reduce(into: [SalesKey: [CivilDay: Int64]]()) {
                $0[$1.key, default: [:]][$1.days.lowerBound] = $1.booked.unitsSold
            }
            for difference in match.differences {
                let day = difference.days.lowerBound
                switch difference.kind {
                case .missingInReport, .fewerInReport: units[difference.key]?[day]? -= difference.units
                case .missingInBooks, .moreInReport, .doubledInReport: units[difference.key]?[day]? += difference.units
                case .price: break
                case .otherDay(let other):
                    units[difference.key]?[day]? -= difference.units
                    units[difference.key]?[other.lowerBound]? += difference.units
                case .dayWithoutReport(let beyond, let isBookedThere):
                    // The excuse is beyond the days of the reports.
                    #expect(beyond == Samples.day.advanced(by: -1) || beyond == Samples.day.advanced(by: 4))
                    units[difference.key]?[day]? += isBookedThere ? difference.units : -difference.units
                }
                if let explanation = difference.explanation, explanation.isExact {
                    #expect(explanation.units == difference.units)
                }
            }
            for line in match.lines {
                #expect(units[line.key]?[line.days.lowerBound] == line.reported.unitsSold)
            }
        }
    }
}
