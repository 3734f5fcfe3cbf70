import LedgerTestKit
import NIOConcurrencyHelpers
import Testing

@testable import LedgerClient

/// Keys of the client's own: RFC 9562 §5.7.
@Suite struct TimeOrderedIDTests {
    @Test func theTextIsAUUIDOfVersion7() throws {
        let key = RequestKey.timeOrdered()
        #expect(
            try /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/.wholeMatch(in: key.text) != nil)
        #expect(RequestKey(key.text) == key)
    }

    /// RFC 9562 appendix A.6: the time of its example, with the other bits of this layout.
    @Test func theFirst48BitsAreTheMillisecondsOfTheClock() {
        let ids = TimeOrderedID(now: { 0x017F_22E2_79B0 })
        var random = SplitMix64(seed: 7)
        let first = ids.next(using: &random)
        #expect(first.high >> 16 == 0x017F_22E2_79B0)
        #expect(TimeOrderedID.text(high: first.high, low: first.low).hasPrefix("017f22e2-79b0-7"))
        #expect(
            TimeOrderedID.text(high: 0x017F_22E2_79B0_7CC3, low: 0x98C4_DC0C_0C07_398F)
                == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
        let before = TimeOrderedID.systemMilliseconds()
        let text = RequestKey.timeOrdered().text
        let milliseconds = UInt64(text.replacing("-", with: "").prefix(12), radix: 16) ?? 0
        // The generator of the process may be ahead by what was made in one millisecond; never behind.
        #expect(milliseconds >= before && milliseconds < before + 60_000)
    }

    @Test func eachIsGreaterThanTheOneBeforeWhateverTheClockDoes() {
        let clock = NIOLockedValueBox<[UInt64]>([5_000, 5_000, 5_000, 5_001, 4_000, 0, 5_002, 5_002])
        let ids = TimeOrderedID(now: { clock.withLockedValue { $0.count > 1 ? $0.removeFirst() : $0[0] } })
        var random = SplitMix64(seed: 11)
        let texts = (0..<200).map { _ in
            let id = ids.next(using: &random)
            return TimeOrderedID.text(high: id.high, low: id.low)
        }
        for (earlier, later) in zip(texts, texts.dropFirst()) { #expect(earlier < later) }
    }

    @Test func theCounterHasItsHighestBitClearAtFirstAndTakesTheNextMillisecondWhenItIsUsedUp() {
        var ones = AllOnes()
        let first = TimeOrderedID(now: { 9 }).next(using: &ones)
        #expect(first.high == 9 << 16 | 0x7000 | 0x7FF)
        #expect(first.low >> 48 == 0b10 << 14 | 0x3FFF)
        let last = TimeOrderedID.State(milliseconds: 9, counter: 1 << TimeOrderedID.counterBits - 1)
        let next = TimeOrderedID(after: last, now: { 9 }).next(using: &ones)
        #expect(next.high >> 16 == 10)
    }

    private struct AllOnes: RandomNumberGenerator {
        mutating func next() -> UInt64 { .max }
    }

    @Test func manyThreadsGetDifferentOnesEachInAscendingOrder() async {
        let keys = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<5_000).map { _ in RequestKey.timeOrdered().text } }
            }
            return await group.reduce(into: [[String]]()) { $0.append($1) }
        }
        #expect(Set(keys.joined()).count == 40_000)
        for run in keys {
            let isAscending = zip(run, run.dropFirst()).allSatisfy { $0 < $1 }
            #expect(isAscending)
        }
    }
}
