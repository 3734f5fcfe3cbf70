import Ledger

/// Brings the projection forward behind the log, on a thread of its own.
///
/// Steps are large while blocks keep coming, and bounded in bytes, blocks and time; once no more come, or a read
/// waits, the rest is applied at once. Where the projection cannot be written it is tried again; the blocks stay here
/// meanwhile, until their bounds are reached and nothing more is decided.
final class Projector: Sendable {
    private struct State {
        var waiting: [SealedBlock] = []
        var waitingBytes = 0
        /// The bytes of the step that is being applied.
        var applyingBytes = 0
        var applyingBlocks = 0
        /// When the first and the last of those that wait came.
        var firstCame: UInt64 = 0
        var lastCame: UInt64 = 0
        /// The last block that is projected.
        var projected: BlockNumber
        /// The last block that was handed over.
        var last: BlockNumber
        /// How many want the projection to stay as it is.
        var holders = 0
        /// The last block that a read waits for.
        var wanted: BlockNumber = 0
        /// Why the last step failed, and when it is tried again.
        var failure: StoreError?
        var retryAt: UInt64 = 0
        /// Since when every step has failed.
        var failsSince: UInt64?
        var isStopping = false
    }

    private let projection: any Projection
    private let limits: EngineLimits
    private let state: Monitor<State>
    private let thread = OwnThread()
    /// Told of a failure, once, and of its end.
    private let report: @Sendable (StoreError?) -> Void

    /// - Parameter projected: the last block that the projection has.
    init(
        _ projection: any Projection, projected: BlockNumber, limits: EngineLimits,
        report: @escaping @Sendable (StoreError?) -> Void
    ) throws {
        self.projection = projection
        self.limits = limits
        self.report = report
        state = Monitor(State(projected: projected, last: projected))
        try thread.begin("ledger-project") { [self] in serve() }
    }

    /// The last block that is projected.
    var projected: BlockNumber { state.withLock { $0.projected } }

    /// The last block that is projected, the bytes of those that are not, and why the last step failed.
    var standing: (projected: BlockNumber, bytes: Int, failure: StoreError?) {
        state.withLock { ($0.projected, $0.waitingBytes + $0.applyingBytes, $0.failure) }
    }

    /// Takes over a block that is durable.
    func add(_ block: SealedBlock) {
        let now = monotonicNanoseconds()
        let mustWake = state.withLock { state in
            let wasEmpty = state.waiting.isEmpty
            let wasBelow = state.waitingBytes < limits.projectionStepBytes
            if wasEmpty { state.firstCame = now }
            state.lastCame = now
            state.waiting.append(block)
            state.last = block.number
            state.waitingBytes += block.byteCount
            return wasEmpty || wasBelow != (state.waitingBytes < limits.projectionStepBytes)
                || state.wanted >= block.number
        }
        if mustWake { state.wakeAll() }
    }

    /// Waits until the projection is within its bounds; and a little before it reaches them, the longer the nearer it
    /// is, so that it comes forward while requests are answered, and does not have all of them wait for a whole step.
    /// - Throws: ``StoreError`` where it cannot be written.
    func awaitRoom() throws {
        let begin = monotonicNanoseconds()
        let failure: StoreError? = state.waitOrUntil { state in
            let bytes = state.waitingBytes + state.applyingBytes
            if bytes >= limits.unprojectedBytesMax
                || state.waiting.count + state.applyingBlocks >= limits.unprojectedBlocksMax
            {
                return state.failure.map { .ready($0) } ?? .wait
            }
            let (from, to) = (limits.unprojectedBytesPaced, limits.unprojectedBytesMax)
            if bytes <= from { return .ready(nil) }
            let pace = limits.paceMillisecondsMax * 1_000_000 * UInt64(bytes - from) / UInt64(to - from)
            return monotonicNanoseconds() >= begin + pace ? .ready(nil) : .waitUntil(begin + pace)
        }
        if let failure { throw failure }
    }

    /// Since when the projection cannot be written; `nil` where it can.
    var failsSince: UInt64? { state.withLock { $0.failsSince } }

    /// Forgets a failure: what made the projection fail is over.
    func retry() {
        state.withLock { state in
            state.failure = nil
            state.failsSince = nil
            state.retryAt = 0
        }
        state.wakeAll()
    }

    /// Waits until the projection has a block.
    /// - Throws: ``StoreError`` where it cannot be written.
    func bring(to number: BlockNumber) throws {
        let mustWake = state.withLock { state in
            if state.projected >= number || state.wanted >= number { return false }
            state.wanted = number
            return true
        }
        if mustWake { state.wakeAll() }
        let failure: StoreError?? = state.wait { state in
            if state.projected >= number { return .some(nil) }
            return state.failure.map { .some($0) }
        }
        if case .some(.some(let failure)) = failure { throw failure }
    }

    /// Waits until the projection has every block that was handed over.
    /// - Throws: ``StoreError`` where it cannot be written.
    func bringToLast() throws { try bring(to: state.withLock { $0.last }) }

    /// Keeps the projection as it is until ``release()``, from the end of the step that is being applied on.
    func hold() {
        // First of all, so that no further step begins.
        state.withLock { $0.holders += 1 }
        state.wait { $0.applyingBlocks == 0 ? () : nil }
    }

    func release() {
        state.withLock { $0.holders -= 1 }
        state.wakeAll()
    }

    /// Applies what is left, and ends the thread. Where the projection cannot be written, the next start applies it.
    func stop() {
        state.withLock { $0.isStopping = true }
        state.wakeAll()
        thread.join()
    }

    // MARK: The thread

    private func serve() {
        beNicer(by: limits.projectorNiceness)
        TimeSlices.ofGivingWay.ask()
        while let step = state.waitOrUntil({ nextStep(&$0) }) {
            do throws(StoreError) {
                try apply(step)
                finish(step, nil)
            } catch {
                finish(step, error)
            }
        }
    }

    private func apply(_ step: [SealedBlock]) throws(StoreError) {
        do {
            try projection.apply(step)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError("the projection cannot be written: \(error)")
        }
    }

    /// What is applied next; `nil` at the end.
    private func nextStep(_ state: inout State) -> Monitor<State>.Next<[SealedBlock]?> {
        if state.holders > 0 { return .wait }
        guard let last = state.waiting.last else { return state.isStopping ? .ready(nil) : .wait }
        let now = monotonicNanoseconds()
        if state.isStopping {
            if state.failure != nil { return .ready(nil) }
            return .ready(takeStep(&state))
        }
        if state.failure != nil && now < state.retryAt { return .waitUntil(state.retryAt) }
        let isWanted = state.wanted > state.projected && last.number > state.projected
        let isLarge =
            state.waitingBytes >= limits.projectionStepBytes
            || state.waiting.count * 2 >= limits.unprojectedBlocksMax
        let idleAt = state.lastCame + limits.idleMilliseconds * 1_000_000
        let lateAt = state.firstCame + limits.projectionLagMilliseconds * 1_000_000
        if isWanted || isLarge || now >= idleAt || now >= lateAt { return .ready(takeStep(&state)) }
        return .waitUntil(min(idleAt, lateAt))
    }

    private func takeStep(_ state: inout State) -> [SealedBlock] {
        var bytes = 0
        var count = 0
        for block in state.waiting {
            if count > 0 && bytes + block.byteCount > limits.projectionStepBytesMax { break }
            bytes += block.byteCount
            count += 1
        }
        let step = Array(state.waiting.prefix(count))
        state.waiting.removeFirst(count)
        state.waitingBytes -= bytes
        state.applyingBytes = bytes
        state.applyingBlocks = count
        return step
    }

    private func finish(_ step: [SealedBlock], _ failure: StoreError?) {
        let hadFailed = state.withLock { state in
            let hadFailed = state.failure != nil
            state.failure = failure
            state.failsSince = failure.map { _ in state.failsSince ?? monotonicNanoseconds() }
            if failure == nil {
                if let last = step.last { state.projected = last.number }
                // The time of what is left begins anew with what came last.
                state.firstCame = state.lastCame
            } else {
                state.waiting = step + state.waiting
                state.waitingBytes += state.applyingBytes
                state.retryAt = monotonicNanoseconds() + limits.projectionRetryMilliseconds * 1_000_000
            }
            state.applyingBytes = 0
            state.applyingBlocks = 0
            return hadFailed
        }
        state.wakeAll()
        if (failure != nil) != hadFailed { report(failure) }
    }
}
