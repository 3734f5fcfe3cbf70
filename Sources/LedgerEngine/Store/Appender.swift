import Ledger

/// Makes decided batches durable, one after the other in the order in which they were decided: encodes each as a block
/// after the one before, hashes it, appends it to the log, has the names erased that it says are, and tells whoever
/// waits, once as many standbys as are required have it too. A name that cannot be erased, because the block that has
/// it is damaged, is owed: its requests are told that, and appending goes on.
///
/// States: *good*; *failed* (an append threw: that batch and all that were decided after it are told so); *reading*
/// (all of those are told, and whoever decides knows only what is durable: batches that add nothing are done, until
/// ``restart(at:)``). A standby is always *reading*, and so is a node while another leads: its blocks are its leader's,
/// and ``advance(to:)`` says that there are more.
///
/// A batch that adds nothing is done when the log has confirmed, after it was decided, that this writer leads still:
/// asked once for all batches that are worked off together, and not at all behind one of them that was appended.
///
/// A lone batch is appended by the thread that decided it, which has nothing else to do; with more behind it the
/// appender's own thread does it, and the next is decided meanwhile.
final class Appender: Sendable {
    /// A batch that was decided.
    struct Batch: Sendable {
        /// What it adds; `nil` where it adds nothing, and only waits for the batches before it.
        var block: Block?
        /// Where the names stand that it erases.
        var places = NamePlaces()
        /// Called when it is durable, or with what kept it from being so.
        var done: @Sendable (StoreError?) -> Void
    }

    private struct State {
        var waiting: [Batch] = []
        /// Batches that are not done yet.
        var unfinished = 0
        /// Those of them that are not durable here yet.
        var undurable = 0
        /// Threads that wait until there are fewer of them.
        var waiters = 0
        /// Whether a thread is at work on them.
        var isBusy = false
        var isStopped = false
        /// The block that the next one follows.
        var head: LogHead
        var failure: LogError?
        /// Whether nobody decides any more on what was lost with the failure.
        var isReading = false
    }

    private let log: any BlockLog
    private let hash: HashFunction
    private let figures: EngineFigures
    private let batchesMax: Int
    private let batchesHeldMax: Int
    private let standbys: Standbys
    private let state: Monitor<State>
    /// What the requests of a batch are told that an append, or a confirmation, kept from being done.
    private let told: @Sendable (LogError, _ adds: Bool) -> StoreError
    /// Told every block that is safe, in order.
    private let appended: @Sendable (SealedBlock) -> Void
    /// Told why a name cannot be erased before somebody mends the log.
    private let owed: @Sendable (PlayerID, LogError) -> Void
    private let thread = OwnThread()

    /// - Parameter failure: why nothing can be appended from the beginning on.
    init(
        _ log: any BlockLog, head: LogHead, failure: LogError? = nil, standbys: Standbys, limits: EngineLimits,
        figures: EngineFigures, hash: @escaping HashFunction, owed: @escaping @Sendable (PlayerID, LogError) -> Void,
        told: @escaping @Sendable (LogError, _ adds: Bool) -> StoreError = { error, _ in StoreError(error) },
        appended: @escaping @Sendable (SealedBlock) -> Void
    ) throws {
        self.told = told
        self.log = log
        self.hash = hash
        self.figures = figures
        self.standbys = standbys
        batchesMax = limits.batchesAheadMax
        batchesHeldMax = limits.batchesAheadMax + limits.batchesHeldMax
        self.owed = owed
        self.appended = appended
        state = Monitor(State(head: head, failure: failure, isReading: failure != nil))
        try thread.begin("ledger-append") { [self] in serve() }
    }

    /// The last block that is durable.
    var head: LogHead { state.withLock { $0.head } }

    /// Why appending does not go on.
    var failure: LogError? { state.withLock { $0.failure } }

    /// Waits until another batch may be decided.
    func awaitRoom() { wait { $0.undurable < batchesMax && $0.unfinished < batchesHeldMax } }

    /// Waits until every batch is done.
    func awaitIdle() { wait { $0.unfinished == 0 } }

    private func wait(_ areFew: (State) -> Bool) {
        var isCounted = false
        state.wait { state -> Void? in
            if areFew(state) {
                if isCounted { state.waiters -= 1 }
                return ()
            }
            if !isCounted { state.waiters += 1 }
            isCounted = true
            return nil
        }
    }

    /// Counts something less, and wakes whoever waits for that: not the appender's own thread, which waits for more.
    private func lessen(_ change: (inout State) -> Void) {
        let isAwaited = state.withLock { state in
            change(&state)
            return state.waiters > 0
        }
        if isAwaited { state.wakeAll() }
    }

    /// Takes a batch over.
    /// - Parameter isLast: whether the calling thread has nothing else to do than to append it.
    func submit(_ batch: Batch, isLast: Bool) {
        let isOurs = state.withLock { state in
            state.waiting.append(batch)
            state.unfinished += 1
            state.undurable += 1
            guard isLast, !state.isBusy, state.waiting.count == 1 else { return false }
            state.isBusy = true
            return true
        }
        if isOurs { work() } else { state.wakeAll() }
    }

    /// Waits until all that was decided before a failure is told so. From now on only what is durable is known.
    func beginReading() {
        awaitIdle()
        state.withLock { $0.isReading = $0.failure != nil }
    }

    /// Says why nothing can be appended still, which may be another reason than before.
    func fail(because failure: LogError) {
        state.withLock { state in
            precondition(state.isReading, "an append that fails says so itself")
            state.failure = failure
        }
    }

    /// Appends nothing more, for another is to lead: everything decided is done by now.
    func beginReading(because failure: LogError) {
        awaitIdle()
        state.withLock { state in
            state.failure = failure
            state.isReading = true
        }
    }

    /// Goes on after a failure, behind another head. Nothing is unfinished.
    func restart(at head: LogHead) {
        state.withLock { state in
            precondition(state.unfinished == 0, "batches are under way behind a head that is no more")
            state.head = head
            state.failure = nil
            state.isReading = false
        }
    }

    /// Says that the log, of which another leads, has more blocks.
    func advance(to head: LogHead) {
        state.withLock { state in
            precondition(state.isReading, "a block of another came to who leads")
            state.head = head
        }
    }

    /// Finishes what it has, and ends its thread.
    func stop() {
        state.withLock { $0.isStopped = true }
        state.wakeAll()
        thread.join()
    }

    /// The appender's own thread.
    private func serve() {
        askForShortSlices()
        while true {
            let mayWork: Bool = state.wait { state in
                if !state.waiting.isEmpty && !state.isBusy {
                    state.isBusy = true
                    return true
                }
                return state.isStopped && state.waiting.isEmpty ? false : nil
            }
            guard mayWork else { return }
            work()
        }
    }

    /// Works off what waits. Whoever calls it has made itself the one that is busy.
    private func work() {
        while true {
            let batches = state.withLock { state -> [Batch] in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isBusy = false }
                return state.waiting
            }
            if batches.isEmpty { return }
            var isConfirmed = false
            for batch in batches { settle(batch, &isConfirmed) }
        }
    }

    /// Makes a batch durable, and has it done when what it saw is safe, or at once in its order where something kept
    /// it from being durable.
    /// - Parameter isConfirmed: whether it is known that this writer led when all these batches had been decided.
    private func settle(_ batch: Batch, _ isConfirmed: inout Bool) {
        let (head, failed, isReading) = state.withLock { ($0.head, $0.failure != nil, $0.isReading) }
        var failure: StoreError?
        var appended: SealedBlock?
        if let block = batch.block, !failed {
            do throws(StoreError) {
                (appended, failure) = try append(block, batch.places, after: head)
                isConfirmed = true
            } catch {
                failure = error
            }
        } else if failed && (batch.block != nil || !isReading) {
            // What it saw may never have been durable.
            failure = StoreError("a block before it was not appended")
        } else if !failed && !isConfirmed {
            do throws(LogError) {
                try log.confirmLead()
                isConfirmed = true
            } catch {
                state.withLock { $0.failure = error }
                failure = told(error, false)
            }
        }
        lessen { $0.undurable -= 1 }
        let seen = appended?.number ?? head.number
        standbys.hold(until: failure == nil || appended != nil ? seen : 0, adds: appended != nil) { [self, appended] in
            if let appended { self.appended(appended) }
        } done: { [self, failure] error in
            batch.done(failure ?? error)
            lessen { $0.unfinished -= 1 }
        }
    }

    /// - Returns: the block, and what its requests are told though it is durable: that a name is owed.
    /// - Throws: ``StoreError``; then nothing is appended any more.
    private func append(
        _ block: Block, _ places: NamePlaces, after head: LogHead
    ) throws(StoreError) -> (SealedBlock, StoreError?) {
        var block = block
        block.previous = head.hash
        precondition(block.number == head.number + 1, "block \(block.number) does not follow block \(head.number)")
        var random = MachineRandom()
        let sealed = SealedBlock(sealing: block, salts: &random, hash: hash)
        assert(isReadBack(sealed, as: block), "block \(block.number) is not read as it was written")
        do throws(LogError) {
            let begin = monotonicNanoseconds()
            try log.append(sealed)
            let end = monotonicNanoseconds()
            figures.append.note(end - begin)
            figures.appendedBytes.add(sealed.byteCount)
            if let recent = figures.recentAppends {
                recent.note(AppendTrace(block, sealed, begin, end), at: block.position)
            }
        } catch {
            state.withLock { $0.failure = error }
            throw told(error, true)
        }
        var isOwed: StoreError?
        do throws(LogError) {
            try log.eraseNames(block, places) { account, error in
                owed(account, error)
                isOwed = StoreError(.unknown, "block \(block.number) is durable, and a name is owed: \(error)")
            }
        } catch {
            state.withLock { $0.failure = error }
            // The block is durable: a repeat of its requests will know.
            throw StoreError(.unknown, error.description)
        }
        state.withLock { $0.head = sealed.head }
        standbys.feed.committed(through: sealed.number)
        return (sealed, isOwed)
    }

    private func isReadBack(_ sealed: SealedBlock, as block: Block) -> Bool {
        guard let read = try? Block(opening: sealed, checks: .hashes(hash)) else { return false }
        return read.number == block.number && read.term == block.term && read.time == block.time
            && read.previous == block.previous && read.position == block.position
            && read.rows.transfers == block.rows.transfers && read.rows.requests.count == block.rows.requests.count
    }
}

extension StoreError {
    /// What a log's failure means for the requests that met it.
    init(_ error: LogError) {
        switch error.kind {
        case .notAppended, .superseded, .archived: self.init(.unavailable, error.description)
        case .unknown: self.init(.unknown, error.description)
        case .corrupt: self.init(.corrupt, error.description)
        }
        isOfLog = true
    }

    /// What a log's failure means for requests that come after it: of them nothing was appended, for certain.
    init(behind error: LogError) {
        switch error.kind {
        case .notAppended, .unknown, .superseded, .archived: self.init(.unavailable, error.description)
        case .corrupt: self.init(.corrupt, error.description)
        }
        isOfLog = true
    }
}
