import Ledger
import LedgerTestKit
import Testing

@testable import currency_ledger

/// Which refunds of imported purchases explain what Apple took back.
@Suite struct ImportedRefundsTests {
    private static let hour: Timestamp = 3_600_000
    private static let midnight: Timestamp = 1_767_225_600_000

    /// When the nth day begins.
    private static func start(ofDay day: Int64) -> Timestamp { midnight + (day - 1) * 24 * hour }

    /// A refund at an hour of the nth day, at noon unless told otherwise.
    private static func refund(
        _ transaction: String, day: Int64, hour: Int64 = 12, of product: String = "gems"
    ) -> ImportedRefund {
        ImportedRefund(transaction: transaction, product: product, time: start(ofDay: day) + hour * Self.hour)
    }

    /// A row of some days, near which are so many hours before and after them.
    private static func row(
        _ units: Int64, days: ClosedRange<Int64>, near hours: Int64 = 24, of product: String = "gems"
    ) -> ImportedRefunds.Row {
        let days = start(ofDay: days.lowerBound)..<start(ofDay: days.upperBound + 1)
        return ImportedRefunds.Row(
            product: product, units: units, days: days,
            near: days.lowerBound - hours * hour..<days.upperBound + hours * hour)
    }

    private static func row(_ units: Int64, day: Int64, of product: String = "gems") -> ImportedRefunds.Row {
        row(units, days: day...day, of: product)
    }

    private static func explanations(
        _ rows: [ImportedRefunds.Row?], _ refunds: [ImportedRefund]
    ) -> [[String]] {
        ImportedRefunds.explanations(of: rows, by: refunds).map { $0?.transactions ?? [] }
    }

    @Test func aRowIsExplainedByRefundsOfItsProductAndDay() {
        let refunds = [Self.refund("a", day: 5), Self.refund("b", day: 5, of: "gold")]
        #expect(Self.explanations([Self.row(1, day: 5, of: "gold")], refunds) == [["b"]])
        #expect(Self.explanations([Self.row(1, day: 8, of: "gold")], refunds) == [[]])
        #expect(Self.explanations([Self.row(1, day: 5, of: "silver")], refunds) == [[]])
        #expect(Self.explanations([nil], refunds) == [[]])
    }

    @Test func aRefundExplainsOneRowAlone() {
        let refunds = [Self.refund("a", day: 5)]
        #expect(Self.explanations([Self.row(1, day: 5), Self.row(1, day: 5)], refunds) == [["a"], []])
    }

    /// What is beside a row's days counts as far as it is near to them.
    @Test func whatIsNearToARowsDaysExplainsIt() {
        let row = Self.row(1, days: 5...5, near: 1)
        #expect(Self.explanations([row], [Self.refund("a", day: 4, hour: 22)]) == [[]])
        #expect(Self.explanations([row], [Self.refund("a", day: 4, hour: 23)]) == [["a"]])
        #expect(Self.explanations([row], [Self.refund("a", day: 6, hour: 0)]) == [["a"]])
        #expect(Self.explanations([row], [Self.refund("a", day: 6, hour: 1)]) == [[]])
    }

    /// The first row could take the second's refund, for it is of a day beside.
    @Test func aRefundOfTheDayBesideIsLeftToTheRowOfItsDay() {
        let refunds = [Self.refund("a", day: 4), Self.refund("b", day: 6)]
        let rows = [Self.row(1, day: 5), Self.row(1, day: 6)]
        #expect(Self.explanations(rows, refunds) == [["a"], ["b"]])
        #expect(Self.explanations(rows.reversed(), refunds) == [["b"], ["a"]])
    }

    /// Of a day beside and of its own, where nobody else needs either.
    @Test func aRowTakesARefundOfItsOwnDayFirst() {
        let refunds = [Self.refund("a", day: 4), Self.refund("b", day: 5), Self.refund("c", day: 5)]
        #expect(Self.explanations([Self.row(1, day: 5)], refunds) == [["b"]])
        #expect(Self.explanations([Self.row(2, day: 5)], refunds) == [["b", "c"]])
        #expect(Self.explanations([Self.row(3, day: 5)], refunds) == [["a", "b", "c"]])
    }

    /// The row of the 5th could take either refund, and the one of the 3rd only the earlier one.
    @Test func aRowThatComesFirstLeavesToAnotherWhatThatOneNeeds() {
        let refunds = [Self.refund("p", day: 4), Self.refund("q", day: 6)]
        #expect(Self.explanations([Self.row(1, day: 5), Self.row(1, day: 3)], refunds) == [["q"], ["p"]])
        #expect(Self.explanations([Self.row(1, day: 3), Self.row(1, day: 5)], refunds) == [["p"], ["q"]])
    }

    /// A file of January's comes by its name before one of December's, and either pays the month before as well.
    @Test func aLaterMonthLeavesToAnEarlierOneWhatThatOneNeeds() {
        let (november, december, january) = (Int64(1), Int64(31), Int64(61))
        let rows = [Self.row(1, days: december...january + 29), Self.row(1, days: november...december + 29)]
        let refunds = [Self.refund("p", day: december + 9), Self.refund("q", day: january + 9)]
        #expect(Self.explanations(rows, refunds) == [["q"], ["p"]])
    }

    @Test func aPartIsExplainedWhereNotAllIs() {
        let refunds = [Self.refund("a", day: 5), Self.refund("b", day: 6)]
        let explained = ImportedRefunds.explanations(of: [Self.row(5, day: 5)], by: refunds)
        #expect(explained.first??.units == 2)
        #expect(explained.first??.transactions == ["a", "b"])
        #expect(explained.first??.description == "of imported purchases a b")
    }

    /// What could be a part of the first row is the whole of the second.
    @Test func aRowThatIsExplainedWhollyComesBeforeOneOfWhichAPartIs() {
        let refunds = [Self.refund("a", day: 5), Self.refund("b", day: 5)]
        #expect(Self.explanations([Self.row(3, day: 5), Self.row(2, day: 5)], refunds) == [[], ["a", "b"]])
        #expect(Self.explanations([Self.row(2, day: 5), Self.row(1, day: 5)], refunds) == [["b"], ["a"]])
    }

    /// Refunds at any hours of eight days, a few.
    private static func refunds(_ random: inout SplitMix64) -> [ImportedRefund] {
        (0..<Int.random(in: 0...10, using: &random)).map { number in
            let day = Int64.random(in: 1...8, using: &random)
            return refund("\(number)", day: day, hour: .random(in: 0...23, using: &random))
        }
    }

    private static func days(_ random: inout SplitMix64) -> ClosedRange<Int64> {
        let first = Int64.random(in: 1...8, using: &random)
        return first...first + .random(in: 0...2, using: &random)
    }

    /// Augmenting paths find the most rows that can be explained.
    @Test func noOtherChoiceExplainsMoreRowsOfOneUnit() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        for _ in 0..<1_000 {
            let refunds = Self.refunds(&random)
            let rows = (0..<Int.random(in: 0...8, using: &random)).map { _ in
                Self.row(1, days: Self.days(&random), near: .random(in: 0...30, using: &random))
            }
            let explained = Self.explanations(rows, refunds)
            let used = explained.flatMap { $0 }
            #expect(Set(used).count == used.count, "seed \(seed)")
            for (row, ids) in zip(rows, explained) {
                let times = refunds.filter { ids.contains($0.transaction) }.map(\.time)
                #expect(times.count <= 1 && times.allSatisfy { row.near.contains($0) }, "seed \(seed)")
            }
            #expect(used.count == Self.most(rows, refunds), "seed \(seed): \(rows) \(refunds)")
        }
    }

    /// How many rows can be explained at most, each by a refund of its own.
    private static func most(_ rows: [ImportedRefunds.Row], _ refunds: [ImportedRefund]) -> Int {
        var rowOf = [Int?](repeating: nil, count: refunds.count)
        func find(_ row: Int, _ seen: inout Set<Int>) -> Bool {
            for place in refunds.indices where rows[row].near.contains(refunds[place].time) {
                guard seen.insert(place).inserted else { continue }
                if let other = rowOf[place], !find(other, &seen) { continue }
                rowOf[place] = row
                return true
            }
            return false
        }
        return rows.indices.count { row in
            var seen: Set<Int> = []
            return find(row, &seen)
        }
    }

    /// Of rows of any size none lacks what is left.
    @Test func nothingThatFitsIsLeft() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        for _ in 0..<300 {
            let refunds = Self.refunds(&random)
            // Without anything beside their days: what a row gives up may be near to one whose turn is over.
            let rows = (0..<Int.random(in: 1...5, using: &random)).map { _ in
                Self.row(.random(in: 1...5, using: &random), days: Self.days(&random), near: 0)
            }
            let explained = Self.explanations(rows, refunds)
            let used = explained.flatMap { $0 }
            #expect(Set(used).count == used.count, "seed \(seed)")
            for (row, ids) in zip(rows, explained) {
                #expect(ids.count <= row.units, "seed \(seed)")
                #expect(refunds.filter { ids.contains($0.transaction) }.allSatisfy { row.near.contains($0.time) })
                guard ids.count < row.units else { continue }
                let left = refunds.filter { !used.contains($0.transaction) && row.near.contains($0.time) }
                #expect(left.isEmpty, "seed \(seed): \(rows) \(refunds)")
            }
        }
    }

    /// Hundreds of thousands of each, of one product: each costs the logarithm of their number.
    @Test func manyRowsAndRefundsAreNoWork() {
        let count: Int64 = 200_000
        let refunds = (0..<count).map { Self.refund("\($0)", day: $0 % 300 + 1, hour: $0 % 24) }
        // Each could take any refund, and most find few left.
        let rows = (0..<count).map { Self.row($0 % 5 == 0 ? 1 : 1_000_000, days: 1...300) }
        let explained = Self.explanations(rows, refunds)
        #expect(explained.reduce(0) { $0 + $1.count } == Int(count))
        #expect(explained.count { !$0.isEmpty } == Int(count) / 5 + 1)
    }
}
