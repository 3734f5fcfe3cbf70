import Ledger

/// Has all tables of the projection compared with what is kept of them, once after they were opened, on a thread of its
/// own.
final class TableChecker: Sendable {
    private struct State {
        /// Whether there is something to compare.
        var isWanted = true
        /// When it is gone on with after it had to be left.
        var retryAt: UInt64 = 0
        var isStopping = false
    }

    private let projection: any Projection
    private let limits: EngineLimits
    private let state = Monitor(State())
    private let thread = OwnThread()
    /// Told of each thing that does not fit.
    private let found: @Sendable (StoreError) -> Void

    init(
        _ projection: any Projection, limits: EngineLimits, found: @escaping @Sendable (StoreError) -> Void
    ) throws {
        self.projection = projection
        self.limits = limits
        self.found = found
        try thread.begin("ledger-check") { [self] in serve() }
    }

    /// Compares the tables that have taken the others' place.
    func checkAnew() {
        state.withLock { $0 = State(isStopping: $0.isStopping) }
        state.wakeAll()
    }

    /// Ends the thread, wherever it is.
    func stop() {
        state.withLock { $0.isStopping = true }
        state.wakeAll()
        thread.join()
    }

    private func serve() {
        beNicer(by: limits.checkerNiceness)
        while state.waitOrUntil({ nextStep($0) }) {
            // Before the call: it may find that the tables were exchanged, and those are to be compared as well.
            state.withLock { $0.isWanted = false }
            do {
                if try projection.checkNext() { state.withLock { $0.isWanted = true } }
            } catch let error as StoreError where error.kind == .corrupt {
                found(error)
                state.withLock { $0.isWanted = true }
            } catch {
                state.withLock { state in
                    state.isWanted = true
                    state.retryAt = monotonicNanoseconds() + limits.checkRetryMilliseconds * 1_000_000
                }
            }
        }
    }

    /// Whether something is to be compared now; `false` at the end.
    private func nextStep(_ state: State) -> Monitor<State>.Next<Bool> {
        if state.isStopping { return .ready(false) }
        if !state.isWanted { return .wait }
        return monotonicNanoseconds() >= state.retryAt ? .ready(true) : .waitUntil(state.retryAt)
    }
}
