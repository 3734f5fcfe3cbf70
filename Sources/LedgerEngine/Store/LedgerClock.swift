import Glibc
import Ledger

/// The time of entries: the wall clock's, unless that is unreasonably far ahead.
///
/// An entry's time never runs backwards, and what has expired has expired for ever. So a wall clock that was once set
/// a year ahead would expire every hold and every free lot, and date all entries of a year alike. It is compared with
/// the time of the last block when the ledger is opened, and with the clock that counts from the machine's start while
/// it runs; where it is too far ahead, the time goes on from the last one that was reasonable, until an operator
/// accepts the clock. One that goes back is believed at once: no entry is dated earlier for it. When it comes right
/// again, it is where the machine's own clock has brought the time that was reasonable before.
final class LedgerClock: Sendable {
    /// A ledger in use has blocks more often than this: every start adds one.
    static let silenceMillisecondsMax: Timestamp = 31 * 86_400_000
    /// How far the wall clock may get ahead of the machine's own, from one comparison to the next: corrections are
    /// seconds.
    static let jumpMillisecondsMax: Timestamp = 300_000
    /// From one comparison to the next.
    static let comparisonMilliseconds: Timestamp = 3_600_000

    private struct State {
        /// A time that was reasonable, and the machine's clock at that moment.
        var base: Timestamp
        var machineBase: Timestamp
        var isHeldBack = false
    }

    private let state: Monitor<State>
    private let machine: @Sendable () -> Timestamp
    private let report: @Sendable (LedgerEvent) -> Void

    /// - Parameters:
    ///   - last: the time of the last block; `nil` in a new ledger.
    ///   - clock: what the wall clock says.
    ///   - accepts: whether an operator says that the wall clock is right, whatever the last block says.
    ///   - machine: milliseconds since the machine started, also while it was suspended.
    init(
        after last: Timestamp?, clock: Timestamp, accepts: Bool,
        machine: @escaping @Sendable () -> Timestamp = LedgerClock.sinceBoot,
        report: @escaping @Sendable (LedgerEvent) -> Void
    ) {
        self.machine = machine
        self.report = report
        var base = clock
        if let last, !accepts, clock > last + LedgerClock.silenceMillisecondsMax { base = last }
        state = Monitor(State(base: base, machineBase: machine()))
        _ = time(at: clock)
    }

    /// The time of what is decided when the wall clock says `clock`.
    func time(at clock: Timestamp) -> Timestamp {
        let (time, change) = state.withLock { state -> (Timestamp, LedgerEvent?) in
            let elapsed = machine() - state.machineBase
            let expected = state.base + elapsed
            if clock > expected + LedgerClock.jumpMillisecondsMax {
                defer { state.isHeldBack = true }
                return (expected, state.isHeldBack ? nil : .clockHeldBack(clock: clock, time: expected))
            }
            let wasHeldBack = state.isHeldBack
            state.isHeldBack = false
            // One that was set back is compared with what it was before: it may come right again.
            if elapsed > LedgerClock.comparisonMilliseconds, clock >= expected - LedgerClock.jumpMillisecondsMax {
                (state.base, state.machineBase) = (clock, machine())
            }
            return (clock, wasHeldBack ? .clockReasonable : nil)
        }
        if let change { report(change) }
        return time
    }

    /// (clock_gettime(2), CLOCK_BOOTTIME: monotonic, "it also includes any time that the system is suspended".)
    @Sendable static func sinceBoot() -> Timestamp {
        if let machine = SimulatedMachines.current { return Timestamp(machine.nanoseconds / 1_000_000) }
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Timestamp(time.tv_sec) * 1_000 + Timestamp(time.tv_nsec) / 1_000_000
    }
}
