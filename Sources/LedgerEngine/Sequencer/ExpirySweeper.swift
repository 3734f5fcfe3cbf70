import Ledger

/// Has the ledger post what has expired: once at the start, then at an interval, through the sequencer, so that each
/// sweep takes its place in the one order.
///
/// Not more than one sweep is in flight. One that found as many players as it may is followed by the next at once,
/// behind the requests that came meanwhile.
final class ExpirySweeper: Sendable {
    private enum State {
        case unstarted
        /// The next sweep is due, by the monotonic clock in nanoseconds.
        case resting(until: UInt64)
        case sweeping
        case stopped
    }

    private let state = Monitor(State.unstarted)
    private let thread = OwnThread()
    private let intervalNanoseconds: UInt64
    /// Hands a sweep to the one order; its answer comes to ``swept(_:)``.
    private let submit: @Sendable ([LedgerOperation], @escaping @Sendable ([Answer]) -> Void) -> Void

    /// - Throws: ``StoreError`` where the system has no more threads.
    init(
        intervalMilliseconds: Int64,
        submit: @escaping @Sendable ([LedgerOperation], @escaping @Sendable ([Answer]) -> Void) -> Void
    ) throws {
        intervalNanoseconds = UInt64(max(intervalMilliseconds, 1)) * 1_000_000
        self.submit = submit
        try thread.begin("ledger-sweep") { [self] in serve() }
    }

    /// Submits the first sweep before it returns. Called once.
    func start() {
        state.withLock { state in
            guard case .unstarted = state else { preconditionFailure("the sweeps were begun before") }
            state = .sweeping
        }
        sweep()
    }

    /// Nothing is submitted once this has returned.
    func stop() {
        state.withLock { $0 = .stopped }
        state.wakeAll()
        thread.join()
    }

    private func serve() {
        while true {
            let isDue: Bool = state.waitOrUntil { state in
                switch state {
                case .stopped: return .ready(false)
                case .unstarted, .sweeping: return .wait
                case .resting(let time):
                    if monotonicNanoseconds() < time { return .waitUntil(time) }
                    state = .sweeping
                    return .ready(true)
                }
            }
            guard isDue else { return }
            sweep()
        }
    }

    private func sweep() { submit([.command(.expire)]) { [weak self] in self?.swept($0) } }

    private func swept(_ answers: [Answer]) {
        let isNextDue = answers.contains(where: ExpirySweeper.mayHaveLeftSome)
        state.withLock { state in
            guard case .sweeping = state else { return }
            state = .resting(until: isNextDue ? 0 : monotonicNanoseconds() + intervalNanoseconds)
        }
        state.wakeAll()
    }

    /// A sweep that failed is tried again at the next time, as a commit's failure was told already.
    private static func mayHaveLeftSome(_ answer: Answer) -> Bool {
        guard case .success(.expired(let players)) = answer else { return false }
        return players >= Limits.expirationsPerBatchMax
    }
}
