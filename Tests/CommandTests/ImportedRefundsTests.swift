import AppleReports
import Ledger
import Testing

@testable import currency_ledger

/// Which refunds of imported purchases explain what Apple took back.
@Suite struct ImportedRefundsTests {
    private static let zone = ReportZone.utc
    private static let dayMilliseconds: Int64 = 86_400_000

    /// A refund at noon of the nth day of January 2026.
    private static func refund(_ transaction: String, _ units: Int64 = 1, day: Int64, of product: String = "gems")
        throws -> ImportedRefund
    {
        let first: Timestamp = 1_767_225_600_000
        return ImportedRefund(
            transaction: transaction, product: product, units: units,
            time: first + (day - 1) * dayMilliseconds + dayMilliseconds / 2)
    }

    private static func row(_ units: Int64, day: Int64, of product: String = "gems") throws -> ImportedRefunds.Row {
        let day = zone.day(at: try refund("", day: day).time)
        return ImportedRefunds.Row(product: product, units: units, days: day...day)
    }

    private static func explanations(
        _ rows: [ImportedRefunds.Row?], _ refunds: [ImportedRefund]
    ) -> [[String]] {
        ImportedRefunds.explanations(of: rows, by: refunds, zone: zone).map { $0?.transactions ?? [] }
    }

    @Test func aRowIsExplainedByRefundsOfItsProductAndDay() throws {
        let refunds = [try Self.refund("a", day: 5), try Self.refund("b", day: 5, of: "gold")]
        #expect(Self.explanations([try Self.row(1, day: 5, of: "gold")], refunds) == [["b"]])
        #expect(Self.explanations([try Self.row(1, day: 8, of: "gold")], refunds) == [[]])
        #expect(Self.explanations([nil], refunds) == [[]])
    }

    @Test func aRefundExplainsOneRowAlone() throws {
        let refunds = [try Self.refund("a", day: 5)]
        #expect(Self.explanations([try Self.row(1, day: 5), try Self.row(1, day: 5)], refunds) == [["a"], []])
    }

    /// The first row could take the second's refund, for it is of a day beside.
    @Test func aRefundOfTheDayBesideIsLeftToTheRowOfItsDay() throws {
        let refunds = [try Self.refund("a", day: 4), try Self.refund("b", day: 6)]
        let rows = [try Self.row(1, day: 5), try Self.row(1, day: 6)]
        #expect(Self.explanations(rows, refunds) == [["a"], ["b"]])
        #expect(Self.explanations(rows, [refunds[1]]) == [[], ["b"]])
    }

    /// Two of 2 units come first, and only the one of 3 makes up the row.
    @Test func theRefundsThatMakeUpTheUnitsAreFound() throws {
        let refunds = [
            try Self.refund("a", 2, day: 5), try Self.refund("b", 2, day: 5), try Self.refund("c", 3, day: 5),
        ]
        #expect(Self.explanations([try Self.row(3, day: 5)], refunds) == [["c"]])
        #expect(Self.explanations([try Self.row(5, day: 5)], refunds) == [["a", "c"]])
        #expect(Self.explanations([try Self.row(7, day: 5)], refunds) == [["a", "b", "c"]])
    }

    @Test func aPartIsExplainedWhereNotAllIs() throws {
        let refunds = [try Self.refund("a", 2, day: 5), try Self.refund("b", day: 6)]
        let explained = ImportedRefunds.explanations(of: [try Self.row(5, day: 5)], by: refunds, zone: Self.zone)
        #expect(explained.first??.units == 3)
        #expect(explained.first??.transactions == ["a", "b"])
        #expect(explained.first??.description == "of imported purchases a b")
    }

    /// What could be a part of the first row is the whole of the second.
    @Test func aRowThatIsExplainedWhollyComesBeforeOneOfWhichAPartIs() throws {
        let refunds = [try Self.refund("a", day: 5)]
        #expect(Self.explanations([try Self.row(2, day: 5), try Self.row(1, day: 5)], refunds) == [[], ["a"]])
    }

    /// Held against every subset of a few refunds.
    @Test func noOtherChoiceMakesMoreUnits() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let sizes = (0..<Int.random(in: 0...7, using: &random)).map { _ in Int64.random(in: 1...6, using: &random) }
            let units = Int64.random(in: 1...20, using: &random)
            let refunds = try sizes.enumerated().map { try Self.refund("\($0)", $1, day: 5) }
            let sums = (0..<(1 << sizes.count)).map { chosen in
                sizes.enumerated().reduce(0) { $0 + (chosen >> $1.offset & 1 == 1 ? $1.element : 0) }
            }
            let best = sums.filter { $0 <= units }.max() ?? 0
            let row = try Self.row(units, day: 5)
            let explained = ImportedRefunds.explanations(of: [row], by: refunds, zone: Self.zone)
            #expect(explained.first??.units ?? 0 == best, "\(units) of \(sizes)")
            let ids = explained.first??.transactions ?? []
            #expect(Set(ids).count == ids.count)
            #expect(ids.reduce(0) { $0 + (Int($1).map { sizes[$0] } ?? 0) } == best)
        }
    }
}
