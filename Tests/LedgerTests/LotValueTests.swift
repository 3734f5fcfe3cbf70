import Ledger
import LedgerTestKit
import Testing

/// What becomes of the price of a lot as its units change.
@Suite struct LotValueTests {
    private static func units(_ left: Int64, _ consumed: Int64, _ refunded: Int64) -> LotValue.Units {
        let units = LotValue.Units(granted: left + consumed + refunded, left: left, refunded: refunded)
        #expect(units.left == left && units.consumed == consumed)
        return units
    }

    @Test(
        arguments: [
            // A third each, rounded down; the last unit takes what is over.
            (
                10, [(3, 0, 0), (2, 1, 0), (1, 2, 0), (0, 3, 0)],
                [(10, 0, 0), (7, 3, 0), (4, 6, 0), (0, 10, 0)]
            ),
            // What comes back brings its part along, and all of it brings all.
            (
                10, [(3, 0, 0), (1, 2, 0), (2, 1, 0), (3, 0, 0)],
                [(10, 0, 0), (4, 6, 0), (7, 3, 0), (10, 0, 0)]
            ),
            // A refund takes what is left first, then what was earned.
            (
                100, [(4, 0, 0), (1, 3, 0), (0, 2, 2), (0, 0, 4)],
                [(100, 0, 0), (25, 75, 0), (0, 50, 50), (0, 0, 100)]
            ),
            // What a hold had set aside is left, and what was spent is refunded with it: two parts get something.
            (
                100, [(4, 0, 0), (0, 4, 0), (1, 0, 3)],
                [(100, 0, 0), (0, 100, 0), (25, 0, 75)]
            ),
            // Without a price there is nothing to move, and a price below a thousandth a unit is not lost.
            (0, [(3, 0, 0), (0, 3, 0)], [(0, 0, 0), (0, 0, 0)]),
            (1, [(3, 0, 0), (1, 2, 0), (0, 3, 0), (1, 2, 0)], [(1, 0, 0), (1, 0, 0), (0, 1, 0), (0, 1, 0)]),
        ] as [(Int64, [(Int64, Int64, Int64)], [(Int64, Int64, Int64)])])
    func unitsTakeTheirPartOfTheMoney(
        price: Int64, _ steps: [(Int64, Int64, Int64)], _ money: [(Int64, Int64, Int64)]
    ) {
        var value = LotValue(deferred: price)
        for (before, (after, expected)) in zip(steps, zip(steps, money).dropFirst()) {
            value = value.changed(
                from: Self.units(before.0, before.1, before.2), to: Self.units(after.0, after.1, after.2))
            #expect((value.deferred, value.recognised, value.refunded) == expected, "\(before) to \(after)")
        }
    }

    /// Whatever happens to a lot: its parts are its price, none is negative, and units that there are none of have no
    /// money.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func noUnitsHaveNoMoney(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let most = Limits.amountMax
        for _ in 0..<300 {
            let granted = Int64.random(in: 1...(random.chance(20) ? most : 60), using: &random)
            let price = Int64.random(in: 0...(random.chance(20) ? most : 5_000), using: &random)
            var value = LotValue(deferred: price)
            var parts: [Int64] = [granted, 0, 0]
            for _ in 0..<40 {
                let before = parts
                // Some of one or two kinds of units become units of another kind.
                let to = Int.random(in: 0..<3, using: &random)
                for from in 0..<3 where from != to && random.chance(60) {
                    let count = random.chance(30) ? parts[from] : Int64.random(in: 0...parts[from], using: &random)
                    parts[from] -= count
                    parts[to] += count
                }
                let old = value
                value = value.changed(
                    from: Self.units(before[0], before[1], before[2]), to: Self.units(parts[0], parts[1], parts[2]))
                let money = [value.deferred, value.recognised, value.refunded]
                #expect(money.reduce(0, +) == price && money.allSatisfy { $0 >= 0 }, "seed \(seed): \(value)")
                for (place, was) in [old.deferred, old.recognised, old.refunded].enumerated() {
                    #expect(parts[place] > 0 || money[place] == 0, "seed \(seed): \(parts) \(value)")
                    // What became less lost its part, rounded down to a thousandth, and nothing else.
                    if parts[place] < before[place] {
                        let gone = Int128(was) * Int128(before[place] - parts[place]) / Int128(before[place])
                        #expect(Int128(money[place]) == Int128(was) - gone, "seed \(seed): \(before) to \(parts)")
                    }
                }
            }
        }
    }
}
