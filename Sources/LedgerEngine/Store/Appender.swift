import Ledger

/// Makes decided batches durable, in the order in which they were decided: encodes what they add as a block after the
/// one before, hashes it, appends it to the log, has the names erased that it says are, and tells whoever waits, once
/// as many standbys as are required have it too. A name that cannot be erased, because the block that has it is
/// damaged, is owed: its requests are told that, and appending goes on.
///
/// Batches that are decided while the log is busy become one block: they wait for the append that is under way and for
/// their own, however many they are (*group commit*), up to the bounds of a block. A block's append takes little longer
/// for what joins it.
///
/// States: *good*; *failed* (an append threw: that batch and all that were decided after it are told so); *reading*
/// (all of those are told, and whoever decides knows only what is durable: batches that add nothing are done, until
/// ``restart(at:)``). A standby is always *reading*, and so is a node while another leads: its blocks are its leader's,
/// and ``advance(to:)`` says that there are more.
///
/// A batch that adds nothing is done when the log has confirmed, after it was decided, that this writer leads still:
/// asked once for all that wait together, and not at all where they wait for a block, whose append confirms it.
///
/// A lone batch is appended by the thread that decided it, which has nothing else to do; with more behind it the
/// appender's own thread does it, and the next is decided meanwhile.
final class Appender: Sendable {
    /// A batch that was decided.
    struct Batch: Sendable {
        /// What it adds, as the block after the last one of which anything was decided; `nil` where it adds nothing,
        /// and only waits for the batches before it.
        var block: Block?
        /// Where the names stand that it erases.
        var places = NamePlaces()
        /// Called when it is durable, or with what kept it from being so.
        var done: @Sendable (StoreError?) -> Void
    }

    /// What one append makes durable: a block, and the batches that are part of it or wait for it; or, without a block,
    /// batches that add nothing.
    private struct Append {
        var block: Block?
        var places: NamePlaces
        /// In the order in which they were decided.
        var batches: [(adds: Bool, done: @Sendable (StoreError?) -> Void)]

        init(_ batch: Batch) {
            block = batch.block
            places = batch.places
            batches = [(batch.block != nil, batch.done)]
        }

        /// Whether a batch may become part of it, or wait for it.
        func isOpen(to batch: Batch, _ limits: EngineLimits) -> Bool {
            if batches.count >= limits.batchesPerBlockMax { return false }
            guard let later = batch.block?.rows else { return true }
            // A batch that adds nothing is not to wait for a block that is decided behind it.
            guard let rows = block?.rows else { return false }
            // A block's catalog is that of all of it; and where the names stand that a block erases was looked up for
            // one batch.
            return later.catalogs.isEmpty && rows.erasures.isEmpty && later.erasures.isEmpty
                && rows.transfers.count + later.transfers.count <= limits.transfersPerCommitMax
                && rows.operationCount + later.operationCount <= limits.operationsPerCommitWorthwhile
        }

        mutating func join(_ batch: Batch) {
            batches.append((batch.block != nil, batch.done))
            if let later = batch.block { block?.join(later) }
        }
    }

    private struct State {
        var waiting: [Append] = []
        /// Appends that are not done yet.
        var unfinished = 0
        /// Blocks of them that are not durable here yet.
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

        /// - Returns: the block with which a batch becomes durable, and whether that waited already.
        mutating func add(_ batch: Batch, _ limits: EngineLimits) -> (BlockNumber?, isJoined: Bool) {
            if let last = waiting.indices.last, waiting[last].isOpen(to: batch, limits) {
                waiting[last].join(batch)
                return (waiting[last].block?.number, true)
            }
            waiting.append(Append(batch))
            unfinished += 1
            if batch.block != nil { undurable += 1 }
            return (batch.block?.number, false)
        }
    }

    private let log: any BlockLog
    private let hash: HashFunction
    private let figures: EngineFigures
    private let limits: EngineLimits
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
        self.limits = limits
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
    func awaitRoom() {
        let unfinishedMax = limits.blocksAheadMax + limits.blocksHeldMax
        wait { state in
            // Between two blocks there may be batches that add nothing.
            state.undurable < limits.blocksAheadMax && state.waiting.count < 2 * limits.blocksAheadMax
                && state.unfinished < unfinishedMax
        }
    }

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
    /// - Returns: the block with which it becomes durable: its own, or the one before, which has what it adds then;
    ///   `nil` where it waits for none.
    @discardableResult
    func submit(_ batch: Batch, isLast: Bool) -> BlockNumber? {
        let (block, isJoined, isOurs) = state.withLock { state in
            let (block, isJoined) = state.add(batch, limits)
            let isOurs = isLast && !isJoined && !state.isBusy && state.waiting.count == 1
            if isOurs { state.isBusy = true }
            return (block, isJoined, isOurs)
        }
        if isOurs {
            work()
        } else if !isJoined {
            state.wakeAll()
        }
        return block
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
        TimeSlices.shortest.ask()
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
        while let append = takeFirst() { settle(append) }
    }

    /// Takes what nothing joins any more; where nothing waits, nobody is busy from then on.
    private func takeFirst() -> Append? {
        state.withLock { state in
            state.isBusy = !state.waiting.isEmpty
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
    }

    /// Makes batches durable, and has them done when what they saw is safe, or at once in their order where something
    /// kept them from being durable.
    private func settle(_ append: Append) {
        let (head, failed, isReading) = state.withLock { ($0.head, $0.failure != nil, $0.isReading) }
        /// What kept batches from being done: those that add something, and the others.
        var failure: (adding: StoreError?, other: StoreError?)
        var appended: SealedBlock?
        if failed && (append.block != nil || !isReading) {
            // What they saw may never have been durable.
            let lost = StoreError("a block before it was not appended")
            failure = (lost, lost)
        } else if let block = append.block {
            do throws(StoreError) {
                (appended, failure.adding) = try self.append(block, append.places, after: head)
            } catch {
                failure = (error, StoreError("a block before it was not appended"))
            }
        } else if !failed {
            do throws(LogError) {
                try log.confirmLead()
            } catch {
                state.withLock { $0.failure = error }
                failure.other = told(error, false)
            }
        }
        if append.block != nil { lessen { $0.undurable -= 1 } }
        hand(append, appended, seen: appended?.number ?? head.number, failure)
    }

    /// Has batches done, in their order, once what they saw is safe; at once behind those before them where something
    /// kept them from being durable.
    private func hand(
        _ append: Append, _ appended: SealedBlock?, seen: BlockNumber,
        _ failure: (adding: StoreError?, other: StoreError?)
    ) {
        let isDurable = appended != nil || failure.other == nil
        let safe = appended.map { block in { @Sendable [self] in self.appended(block) } }
        standbys.hold(until: isDurable ? seen : 0, safe: safe) { [self] lack in
            for batch in append.batches {
                let lack = batch.adds && appended != nil ? lack?.ofAdded : lack?.ofSeen
                batch.done((batch.adds ? failure.adding : failure.other) ?? lack)
            }
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
