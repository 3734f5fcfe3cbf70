import Ledger
import Synchronization
import Testing

@testable import LedgerEngine

/// A clock that is set far ahead once must not expire everything for ever.
@Suite struct ClockTests {
    private static let day: Timestamp = 86_400_000
    private static let start: Timestamp = 1_750_000_000_000

    private final class Machine: Sendable {
        private let time = Mutex<Timestamp>(5_000)
        private let list = Mutex<[String]>([])
        var reports: [String] { list.withLock { $0 } }
        func pass(_ milliseconds: Timestamp) { time.withLock { $0 += milliseconds } }

        func clock(after last: Timestamp?, at clock: Timestamp, accepts: Bool = false) -> LedgerClock {
            LedgerClock(
                after: last, clock: clock, accepts: accepts, machine: { self.time.withLock { $0 } },
                report: { event in self.list.withLock { $0.append("\(event)") } })
        }
    }

    @Test func theTimeIsTheClocks() {
        let machine = Machine()
        let clock = machine.clock(after: Self.start - 30 * Self.day, at: Self.start)
        for step in 0..<100 as Range<Timestamp> {
            #expect(clock.time(at: Self.start + step * 60_000) == Self.start + step * 60_000)
            machine.pass(60_000)
        }
        // Corrected by a minute, and set back by a day.
        #expect(clock.time(at: Self.start + 101 * 60_000) == Self.start + 101 * 60_000)
        #expect(clock.time(at: Self.start - Self.day) == Self.start - Self.day)
        machine.pass(1_000)
        #expect(clock.time(at: Self.start - Self.day + 1_000) == Self.start - Self.day + 1_000)
        #expect(machine.reports.isEmpty)
    }

    @Test func aNewLedgerBelievesTheClock() {
        let machine = Machine()
        #expect(
            machine.clock(after: nil, at: Self.start + 10_000 * Self.day).time(at: Self.start + 10_000 * Self.day)
                == Self.start + 10_000 * Self.day)
    }

    @Test func aJumpAheadIsHeldBackAndSaidOnce() {
        let machine = Machine()
        let clock = machine.clock(after: Self.start, at: Self.start)
        machine.pass(1_000)
        #expect(clock.time(at: Self.start + 365 * Self.day) == Self.start + 1_000)
        machine.pass(500)
        #expect(clock.time(at: Self.start + 365 * Self.day + 500) == Self.start + 1_500)
        #expect(machine.reports.count == 1 && machine.reports[0].contains("clockHeldBack"))
        // Set right again: the time is the clock's, as if nothing had been.
        machine.pass(500)
        #expect(clock.time(at: Self.start + 2_000) == Self.start + 2_000)
        #expect(machine.reports.count == 2 && machine.reports[1].contains("clockReasonable"))
    }

    @Test func manySmallStepsAreNotAWayAround() {
        let machine = Machine()
        let clock = machine.clock(after: Self.start, at: Self.start)
        var last: Timestamp = 0
        for step in 1...1_000 as ClosedRange<Timestamp> {
            machine.pass(1)
            last = clock.time(at: Self.start + step * 240_000)
        }
        #expect(last <= Self.start + LedgerClock.jumpMillisecondsMax + 1_000)
    }

    @Test func aLedgerThatWasSilentForLongWaitsForAnOperator() {
        let machine = Machine()
        let late = Self.start + 400 * Self.day
        let clock = machine.clock(after: Self.start, at: late)
        machine.pass(10)
        #expect(clock.time(at: late + 10) == Self.start + 10)
        #expect(machine.reports.count == 1)
        #expect(machine.clock(after: Self.start, at: late, accepts: true).time(at: late) == late)
    }

    /// What an operator does to a clock that is wrong, and does again when it was not.
    @Test func aClockThatWasSetBackAndComesRightIsBelieved() {
        let machine = Machine()
        let clock = machine.clock(after: Self.start, at: Self.start)
        machine.pass(60_000)
        #expect(clock.time(at: Self.start - Self.day) == Self.start - Self.day)
        var passed: Timestamp = 60_000
        for _ in 0..<30 {
            machine.pass(600_000)
            passed += 600_000
            #expect(clock.time(at: Self.start - Self.day + passed) == Self.start - Self.day + passed)
        }
        #expect(clock.time(at: Self.start - Self.day / 2 + passed) == Self.start - Self.day / 2 + passed)
        #expect(clock.time(at: Self.start + passed) == Self.start + passed)
        #expect(machine.reports.isEmpty)
        #expect(clock.time(at: Self.start + Self.day + passed) == Self.start + passed, "and no further")
        #expect(machine.reports.count == 1)
    }
}
