import LedgerTestKit
import Testing

@testable import AppleReports

@Suite struct SettlingTests {
    private static let zone = ReportZone.pacific
    private static let november: ClosedRange<CivilDay> = "2026-11-01"..."2026-11-28"

    private static func purchase(
        _ id: String, _ product: String = Samples.gems, day: CivilDay = "2026-11-10", quantity: Int64 = 1,
        price: Thousandths? = "4.99", storefront: String = "USA", currency: String = "USD", refundedOn: CivilDay? = nil
    ) -> BookedTransaction {
        BookedTransaction(
            id: id, product: product, storefront: storefront, currency: currency, purchasedAt: zone.time(day),
            quantity: quantity, price: price, refundedAt: refundedOn.map { zone.time($0) })
    }

    private static func settle(
        _ purchases: [BookedTransaction], _ lines: [FinancialLine], products: Set<String>? = nil,
        knownThrough: Int64? = nil
    ) -> Settlement {
        var settling = Settling(zone: zone, products: products, knownThrough: knownThrough)
        for purchase in purchases { settling.add(purchase) }
        for line in lines { settling.add(line) }
        return settling.result()
    }

    // MARK: Shares

    @Test func aLineIsDividedAmongItsPurchasesToTheThousandth() throws {
        let settlement = Self.settle(
            ["1", "2", "3"].map { Self.purchase($0) },
            try Samples.financialLines([Samples.financial(quantity: "3", share: "3.33", extended: "10.00")]))
        #expect(settlement.parts.map(\.share) == ["3.333", "3.333", "3.334"])
        #expect(
            settlement.parts.map(\.transaction) == ["1", "2", "3"] && settlement.parts.allSatisfy { $0.units == 1 })
        #expect(settlement.parts.allSatisfy { $0.shareCurrency == "USD" && !$0.isReturn && !$0.isOtherPrice })
        #expect(settlement.unassigned == [] && settlement.open == [] && settlement.parts[0].source.line == 2)
    }

    @Test func severalUnitsHaveSeveralShares() throws {
        let settlement = Self.settle(
            [Self.purchase("1", quantity: 3, price: "14.97"), Self.purchase("2")],
            try Samples.financialLines([Samples.financial(quantity: "4", share: "3.49", extended: "13.96")]))
        #expect(settlement.parts.map(\.units) == [3, 1] && settlement.parts.map(\.share) == ["10.47", "3.49"])
    }

    @Test func returnsTakeBackFromWhatWasRefunded() throws {
        let settlement = Self.settle(
            [Self.purchase("1"), Self.purchase("2", refundedOn: "2026-11-20"), Self.purchase("3")],
            try Samples.financialLines([
                Samples.financial(quantity: "3", extended: "10.47"),
                Samples.financial(quantity: "-1", extended: "-3.49", sale: "R", price: "-4.99"),
            ]))
        #expect(settlement.parts.map(\.transaction) == ["1", "2", "3", "2"])
        #expect(settlement.parts.map(\.share) == ["3.49", "3.49", "3.49", "-3.49"])
        #expect(settlement.parts.map(\.isReturn) == [false, false, false, true] && settlement.open == [])
    }

    @Test func countriesCurrenciesAndProductsAreApart() throws {
        let settlement = Self.settle(
            [
                Self.purchase("us"), Self.purchase("de", price: "4.99", storefront: "DEU", currency: "EUR"),
                Self.purchase("gold", "gold"),
            ],
            try Samples.financialLines([
                Samples.financial(quantity: "1", extended: "3.49"),
                Samples.financial(quantity: "1", share: "2.93", extended: "2.93", currency: "EUR", country: "DE"),
            ]))
        #expect(settlement.parts.map(\.transaction) == ["us", "de"])
        #expect(settlement.parts.map(\.shareCurrency) == ["USD", "EUR"])
        #expect(settlement.open.map(\.transaction) == ["gold"] && settlement.open[0].reason == .notInReports)
    }

    // MARK: Which purchases

    @Test func theOldestOfTheMonthAndTheOneBeforeAreSettledFirst() throws {
        let purchases = [
            Self.purchase("november", day: "2026-11-27"), Self.purchase("october", day: "2026-10-31"),
            Self.purchase("july", day: "2026-07-01"), Self.purchase("december", day: "2026-11-29"),
        ]
        let settlement = Self.settle(
            purchases, try Samples.financialLines([Samples.financial(quantity: "1", extended: "3.49")]))
        #expect(settlement.parts.map(\.transaction) == ["october"])
        #expect(settlement.open.map(\.transaction) == ["july", "november", "december"])
        #expect(settlement.open.map(\.reason) == [.notInReports, .notInReports, .behindReports])
        let more = Self.settle(
            purchases, try Samples.financialLines([Samples.financial(quantity: "3", extended: "10.47")]))
        #expect(more.parts.map(\.transaction).sorted() == ["july", "november", "october"])
    }

    /// What our books do not have yet is none of what they have: a line of a month that goes on pays nothing of theirs
    /// at another price, and what names a later day only what is of that day.
    @Test func ofBooksUpToATimeALineIsNotForPurchasesThatItMayNotMean() throws {
        let end = Self.zone.start(of: "2026-11-12") - 1
        let purchases = [Self.purchase("cheap", price: "3.99"), Self.purchase("1", day: "2026-11-11")]
        let lines = try Samples.financialLines([Samples.financial(quantity: "3", extended: "10.47")])
        #expect(Self.settle(purchases, lines).parts.map(\.transaction) == ["1", "cheap"])
        let known = Self.settle(purchases, lines, knownThrough: end)
        #expect(known.parts.map(\.transaction) == ["1"] && known.unassigned.map(\.units) == [2])
        // The month is over: nothing of it can be missing.
        let whole = Self.settle(purchases, lines, knownThrough: Self.zone.start(of: "2026-11-29") - 1)
        #expect(whole.parts.map(\.transaction) == ["1", "cheap"])
    }

    @Test func aLineTakesPurchasesOfItsPriceFirst() throws {
        let purchases = [Self.purchase("old", day: "2026-11-02", price: "3.99"), Self.purchase("new")]
        let settlement = Self.settle(
            purchases,
            try Samples.financialLines([
                Samples.financial(quantity: "1", extended: "3.49"),
                Samples.financial(quantity: "1", share: "2.79", extended: "2.79", price: "3.99"),
            ]))
        #expect(settlement.parts.map(\.transaction) == ["new", "old"])
        #expect(settlement.parts.map(\.isOtherPrice) == [false, false])
        let other = Self.settle(purchases, try Samples.financialLines([Samples.financial()]))
        #expect(other.parts.map(\.transaction) == ["new", "old"] && other.parts.map(\.isOtherPrice) == [false, true])
    }

    @Test func whatWasFreeIsPaidByNoLine() throws {
        let settlement = Self.settle(
            [Self.purchase("free", price: "0")], try Samples.financialLines([Samples.financial()]))
        #expect(settlement.parts == [] && settlement.open == [])
        #expect(settlement.unassigned.map(\.units) == [2] && settlement.unassigned.map(\.share) == ["6.98"])
    }

    @Test func aDetailedLineTakesPurchasesOfItsDay() throws {
        let purchases = ["2026-11-18", "2026-11-19", "2026-11-20", "2026-11-21"].enumerated().map {
            Self.purchase("\($0.offset)", day: CivilDay(iso: $0.element)!)
        }
        let settlement = Self.settle(
            purchases,
            try Samples.financialLines(
                [Samples.detail(quantity: "1", extended: "3.49"), Samples.detail(day: "11/19/2026", quantity: "2")],
                header: Samples.detailHeader))
        // The second line's second unit is of a day beside, which the first has not taken.
        #expect(settlement.parts.map(\.transaction) == ["2", "0", "1"] && settlement.open.map(\.transaction) == ["3"])
    }

    @Test func twoMonthsAreSettledInTheirOrder() throws {
        let october = Samples.financial(quantity: "1", extended: "3.49", start: "09/27/2026", end: "10/31/2026")
        let settlement = Self.settle(
            [Self.purchase("1", day: "2026-10-10"), Self.purchase("2", day: "2026-10-30"), Self.purchase("3")],
            try Samples.financialLines([Samples.financial(), october]))
        let byLine = Dictionary(grouping: settlement.parts, by: \.source.line).mapValues { $0.map(\.transaction) }
        #expect(byLine == [2: ["2", "3"], 3: ["1"]])
    }

    // MARK: What is left over

    @Test func unitsWithoutAPurchaseOfOursAreToldWithTheirShare() throws {
        let settlement = Self.settle(
            [Self.purchase("1")],
            try Samples.financialLines([
                Samples.financial(quantity: "3", share: "3.33", extended: "10.00"),
                Samples.financial(quantity: "-1", extended: "-3.49", sale: "R", price: "-4.99"),
            ]))
        #expect(settlement.parts.map(\.share) == ["3.333"])
        #expect(
            settlement.unassigned.map(\.units) == [2, 1] && settlement.unassigned.map(\.share) == ["6.667", "-3.49"])
        #expect(settlement.unassigned.map(\.isReturn) == [false, true])
        #expect(settlement.unassigned[0].key == SalesKey(product: Samples.gems, country: "US", currency: "USD"))
        // The fiscal month and the one before, or the day that a detailed report states.
        #expect(settlement.unassigned.allSatisfy { $0.days == "2026-09-27"..."2026-11-28" })
        let detailed = Self.settle([], try Samples.financialLines([Samples.detail()], header: Samples.detailHeader))
        #expect(detailed.unassigned.map(\.days) == ["2026-11-20"..."2026-11-20"])
    }

    @Test func whatIsNotSettledYetIsTold() throws {
        let settlement = Self.settle(
            [
                Self.purchase("1", quantity: 2, price: "9.98", refundedOn: "2026-11-20"),
                Self.purchase("free", price: "0"),
            ],
            try Samples.financialLines([Samples.financial(quantity: "1", extended: "3.49")]))
        #expect(settlement.open.map(\.isReturn) == [false, true] && settlement.open.map(\.units) == [1, 2])
        #expect(settlement.open.allSatisfy { $0.transaction == "1" && $0.reason == .notInReports })
        let nothing = Self.settle([Self.purchase("1")], [])
        #expect(nothing.open.map(\.reason) == [.behindReports])
    }

    @Test func otherTypesAndOtherProductsArePassedOver() throws {
        let settlement = Self.settle(
            [Self.purchase("1")],
            try Samples.financialLines([
                Samples.financial("game", type: "1F"), Samples.financial("other.gems"),
                Samples.financial(quantity: "1", extended: "3.49"),
            ]), products: [Samples.gems])
        #expect(settlement.otherRowCount == 2 && settlement.unassigned == [] && settlement.parts.count == 1)
    }

    // MARK: Anything

    /// Whatever lines and purchases there are: the parts of each line are the line, and no unit is settled twice.
    @Test func thePartsOfEachLineAreTheLine() throws {
        var random = SplitMix64(seed: Seed.drawn())
        for _ in 0..<300 {
            let purchases = (0..<Int.random(in: 0...20, using: &random)).map { number in
                let quantity = Int64.random(in: 1...5, using: &random)
                let isRefunded = Bool.random(using: &random)
                let price: Int64? = [nil, 4_990, 5_990].randomElement(using: &random)!
                let bought = Self.purchase(
                    "\(number)", ["a", "b"].randomElement(using: &random)!,
                    day: Self.november.lowerBound.advanced(by: Int.random(in: -40...30, using: &random)),
                    quantity: quantity,
                    price: price.map { Thousandths(rawValue: $0 * quantity) },
                    refundedOn: isRefunded ? "2026-11-28" : nil)
                return bought
            }
            let rows = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                let isReturn = Bool.random(using: &random)
                let quantity = Int64.random(in: 1...30, using: &random) * (isReturn ? -1 : 1)
                let share = Thousandths(rawValue: Int64.random(in: 0...9_999, using: &random) * 10)
                let noise = Int64.random(in: -4...4, using: &random) * abs(quantity)
                let extended = share.times(quantity)!.adding(Thousandths(rawValue: noise))!
                return Samples.financial(
                    ["a", "b"].randomElement(using: &random)!, quantity: "\(quantity)", share: "\(share)",
                    extended: "\(extended)", sale: isReturn ? "R" : "S",
                    price: ["4.99", "5.99"].randomElement(using: &random)!)
            }
            let lines = try Samples.financialLines(rows)
            Self.check(Self.settle(purchases, lines), of: purchases, lines)
            let time = Self.zone.start(
                of: Self.november.lowerBound.advanced(by: Int.random(in: -9...40, using: &random)))
            Self.check(Self.settle(purchases, lines, knownThrough: time), of: purchases, lines)
        }
    }

    private static func check(_ settlement: Settlement, of purchases: [BookedTransaction], _ lines: [FinancialLine]) {
        for line in lines {
            let parts = settlement.parts.filter { $0.source.line == line.row.line }
            let rest = settlement.unassigned.filter { $0.source.line == line.row.line }
            let shares = parts.map(\.share.rawValue) + rest.map(\.share.rawValue)
            let units = parts.map(\.units) + rest.map(\.units)
            #expect(shares.reduce(0, +) == line.extendedPartnerShare.rawValue)
            #expect(units.reduce(0, +) == abs(line.quantity))
            #expect(parts.allSatisfy { $0.units > 0 && $0.isReturn == line.isReturn })
        }
        for purchase in purchases {
            for isReturn in [false, true] where !isReturn || purchase.refundedAt != nil {
                let id = purchase.id
                let parts = settlement.parts.filter { $0.transaction == id && $0.isReturn == isReturn }
                let open = settlement.open.filter { $0.transaction == id && $0.isReturn == isReturn }
                let units = parts.map(\.units) + open.map(\.units)
                #expect(units.reduce(0, +) == purchase.quantity)
            }
        }
    }
}
