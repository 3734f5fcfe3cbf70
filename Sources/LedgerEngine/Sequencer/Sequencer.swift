import AppStore
import Ledger

/// The one order in which requests take effect, in two stages that work at the same time.
///
/// ```
/// lanes → unverified → [verify, all cores] → verified → [commit, one thread] → lanes
/// ```
///
/// A lone JWS under certificates that are known is verified by the writer's thread too. What takes long to verify is
/// put aside, for anybody can send some, and nobody else is to wait for it: certificates that were never seen, many
/// signatures that are doubtful (``Verifier``), and what a lane sends of which the last were mostly forged
/// (``LaneDoubt``).
///
/// A stage that is free takes what has gathered while it was busy, so that a lone request on an idle server waits for
/// nothing and batches grow with load; how much it takes, ``SequencerQueues`` says.
///
/// Invariants:
/// 1. Submissions of one lane are committed and delivered in the order in which they were submitted. A submission
///    without a JWS skips the first stage only while none of its lane is in there; of one lane, what is verified leaves
///    the stage in the order in which it came in, however its chunks overtake each other.
/// 2. At most `verifierThreads` chunks are being verified by the pool's threads, and at most one of them was put
///    aside before; the writer's thread commits one batch, or verifies one chunk.
/// 3. Results are delivered after the commit that made them durable.
final class Sequencer: Sendable {
    private let queues: Monitor<SequencerQueues>
    /// Why the last commit failed; `nil` where it did not.
    private let failure = Monitor<String?>(nil)
    private let limits: EngineLimits
    private let store: any Store
    private let verifier: Verifier
    private let feed: Feed
    private let figures: EngineFigures
    private let verifiers: WorkerPool
    /// Of one thread, so that the store sees one batch after the other.
    private let writer: WorkerPool
    private let now: @Sendable () -> Timestamp
    private let report: @Sendable (LedgerEvent) -> Void

    /// - Parameters:
    ///   - place: the ledger's among those that its tenants may ask.
    ///   - feed: told the last entry of every commit.
    ///   - verifiers: those of ``verifiers(_:)``.
    /// - Throws: ``StoreError`` where the system has no more threads.
    init(
        place: Int = 0, store: any Store, verifier: Verifier, feed: Feed, verifiers: WorkerPool, limits: EngineLimits,
        figures: EngineFigures = EngineFigures(), now: @escaping @Sendable () -> Timestamp,
        report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        queues = Monitor(SequencerQueues(limits: limits, place: place))
        self.store = store
        self.verifier = verifier
        self.feed = feed
        self.figures = figures
        self.verifiers = verifiers
        self.limits = limits
        self.now = now
        self.report = report
        writer = try WorkerPool("ledger-write", threads: 1, prepare: TimeSlices.shortest.ask)
    }

    /// Takes over operations, of which only the last may be a read. Their answers are delivered to the lane in order.
    /// - Parameters:
    ///   - tenant: in whose turns they are taken.
    ///   - deadline: when it is too late for them; see ``Submission``.
    ///   - readEnded: where the last is a read: see ``Submission``.
    func submit(
        _ operations: [LedgerOperation], from lane: Lane, of tenant: Tenant, deadline: UInt64 = .max,
        readEnded: (@Sendable (Query?) -> Void)? = nil
    ) {
        let submissions = Submission.parts(of: operations, limits).map { part in
            Submission(
                lane: lane, tenant: tenant, operations: Array(part), deadline: deadline,
                readEnded: part.endIndex == operations.endIndex ? readEnded : nil)
        }
        update { $0.add(submissions) }
    }

    /// Operations that wait for a batch.
    var waitingCount: Int { queues.withLock { $0.waitingCount } }

    /// The lane's client is gone: what of it waits is dropped.
    func drop(_ lane: Lane) { update { $0.drop(lane) } }

    /// Waits until everything that was submitted is answered, and ends the writer's thread.
    func stop() {
        queues.wait { $0.isIdle ? () : nil }
        writer.stop()
    }

    /// The one way in which the queues change: afterwards threads are woken for what there is to do, and whoever waits
    /// for there being nothing is told, whichever thread was the last to have something.
    private func update<Result>(_ body: (inout SequencerQueues) -> Result) -> Result {
        let (result, wakes, isIdle, late) = queues.withLock { queues in
            let result = body(&queues)
            return (result, queues.wakes(), queues.isIdle, queues.takeLateCount())
        }
        if wakes.verifier { verifiers.submit { self.verify() } }
        if wakes.writer { writer.submit { self.write() } }
        if isIdle { queues.wakeAll() }
        if let late { report(.cameTooLate(requests: late)) }
        return result
    }

    // MARK: The verifying threads

    /// Threads that verify: nicer than the writer's, and with short slices among those that are as nice.
    static func verifiers(_ limits: EngineLimits) throws -> WorkerPool {
        try WorkerPool("ledger-verify", threads: limits.verifierThreads) {
            beNicer(by: limits.verifierNiceness)
            TimeSlices.shortest.ask()
        }
    }

    /// Verifies chunk by chunk until nothing is left.
    private func verify() {
        var slices = TimeSlices.shortest
        defer { if slices != .shortest { TimeSlices.shortest.ask() } }
        var done: SequencerQueues.Chunk?
        while true {
            let next = update { queues in
                if let done { queues.finish(done) }
                return queues.nextChunk()
            }
            guard var chunk = next else { return }
            // While one thread is at what was put aside, another that verifies what others wait for goes first.
            let wanted = chunk.isPostponed ? TimeSlices.ofGivingWay : .shortest
            if slices != wanted {
                slices = wanted
                slices.ask()
            }
            verify(&chunk, givingWay: giveWay)
            done = chunk
        }
    }

    /// Puts the verdicts on a chunk's JWS in their places; what has no verdict yet is postponed.
    /// - Parameter givingWay: called now and then; the writer's thread gives way to nobody.
    private func verify(_ chunk: inout SequencerQueues.Chunk, givingWay: () -> Void = {}) {
        var objects: [SignedObject] = []
        for submission in chunk.submissions where submission.signedCount > 0 {
            for case .signed(let object, _, _) in submission.operations { objects.append(object) }
        }
        if objects.isEmpty { return }
        // By the wall clock itself, though entries may be dated by another that is held back: what Apple signs now must
        // not be refused because the ledger was idle for long.
        var verdicts = verifier.verify(
            objects, now: now(), newPathsMax: chunk.isPostponed ? limits.newPathsPerTurnMax : 0,
            doubtfulMax: chunk.isPostponed ? limits.doubtfulPerTurnMax : limits.doubtfulPerChunkMax,
            givingWay: givingWay)[...]
        for index in chunk.submissions.indices {
            chunk.submissions[index].settle {
                guard let verdict = verdicts.popFirst() else { preconditionFailure("a JWS was passed over") }
                if case .failure(let failure) = verdict { figures.note(failure) }
                return verdict
            }
        }
    }

    // MARK: The writer

    /// Commits until nothing is left.
    private func write() {
        while let work = update({ $0.nextForWriter() }) {
            switch work {
            case .commit(let batch, let isLast):
                let rest = commit(batch, isLast: isLast)
                if !rest.isEmpty { update { $0.putBack(rest) } }
            case .verify(var chunk):
                verify(&chunk)
                update { $0.finish(chunk) }
            }
        }
    }

    /// Decides a batch, or so much of it as makes a block of the size that is allowed. The results are delivered when
    /// it is durable, perhaps by another thread.
    /// - Returns: what is left.
    private func commit(_ batch: [Submission], isLast: Bool) -> [Submission] {
        figures.batchOperations.note(batch.reduce(0) { $0 + UInt64($1.operations.count) })
        let part = Monitor(BatchPart(batch))
        let (begin, coreBegin) = (monotonicNanoseconds(), coreNanoseconds())
        let queued = batch.reduce(0) { max($0, $1.waited(until: begin, limits)) }
        let promotion = batch.contains(where: \.hasPromotion) ? promote() : nil
        let fault = store.fault()
        let time = store.time(at: now())
        store.commit(
            needs(of: batch, at: time, fault), each: { needsOfEach(batch, at: time, fault) }, isLast: isLast
        ) { books, damage in
            var damage = damage[...]
            let durable = books.position.entry
            var decided = BatchPart()
            var decisions: [Decision] = []
            decisions.reserveCapacity(batch.count)
            // A promotion has its answer already.
            let transfersMax = promotion == nil ? books.position.transfer + Int64(limits.transfersPerCommitMax) : .max
            for submission in batch {
                guard books.position.transfer < transfersMax else {
                    decided.rest.append(submission)
                    continue
                }
                let before = books.position.transfer
                let decision = decide(submission, on: &books, at: time, fault, &damage, promotion, transfersMax)
                decisions.append(decision)
                decided.add(submission, decidedCount: decision.count, transfers: books.position.transfer - before)
            }
            decided.nanoseconds = monotonicNanoseconds() - begin
            decided.work = (decisions.reduce(0) { $0 + $1.count }, coreNanoseconds() - coreBegin)
            if figures.recentAppends != nil && !books.rows.isEmpty { decided.position = books.position }
            part.withLock { $0 = decided }
            // While nothing can be made durable, what reads found due is in no block.
            return (decisions, lastEntry: fault == nil ? books.position.entry : durable)
        } done: { [self] decided in
            let coreBegin = coreNanoseconds()
            let (batch, deciding, decidedWork) = part.withLock { ($0.submissions, $0.nanoseconds, $0.work) }
            var work = SequencerQueues.CommitWork()
            let trace = figures.recentAppends.map { commitTrace(part, since: begin, decided, $0) }
            switch decided {
            case .success(let (decisions, lastEntry)):
                failure.withLock { if $0 != nil { $0 = nil } }
                feed.committed(through: lastEntry)
                deliver(decisions, to: batch, trace)
                work.operations = decidedWork.operations
                work.core = decidedWork.core + coreNanoseconds() - coreBegin
            case .failure(let error):
                note(error, batch)
                for submission in batch where submission.operations.contains(where: \.mayWrite) {
                    submission.lane.refusals?.note(error)
                }
                let (write, read) = (Answer.failure(.store(error)), Answer.failure(.store(error.ofRead)))
                deliver(
                    batch.map { submission in
                        Decision(
                            answers: submission.operations.map {
                                $0.promotion(promotion) ?? ($0.mayWrite ? write : read)
                            })
                    }, to: batch, trace)
            }
            let duration = update { [work] in $0.delivered(work) }
            figures.commit.note(duration)
            if figures.slowCommits.isSlow(duration) { noteSlow(duration, queued, deciding, batch) }
        }
        let (rest, dear) = part.withLock { part in (part.rest, part.dear(operationTransfers: limits.transfersPerTurn)) }
        if !dear.isEmpty {
            update { queues in
                for (lane, cost) in dear { queues.charge(lane, cost) }
            }
        }
        return rest
    }

    /// - Parameters:
    ///   - duration: of the whole commit, in nanoseconds.
    ///   - queued: how long the oldest request had waited before.
    ///   - deciding: how much of the duration was over when it was decided.
    private func noteSlow(_ duration: UInt64, _ queued: UInt64, _ deciding: UInt64, _ batch: [Submission]) {
        guard let more = figures.slowCommits.take(at: monotonicNanoseconds()) else { return }
        let decided = min(deciding, duration)
        report(
            .slowCommit(
                SlowCommit(
                    total: duration / 1_000_000, queued: queued / 1_000_000, deciding: decided / 1_000_000,
                    durable: (duration - decided) / 1_000_000,
                    requests: batch.reduce(0) { $0 + $1.operations.count }, more: more)))
    }

    private func commitTrace<Success>(
        _ part: Monitor<BatchPart>, since begin: UInt64, _ decided: Result<Success, StoreError>,
        _ appends: RecentAppends
    ) -> CommitTrace {
        let part = part.withLock { $0 }
        let isDone = if case .success = decided { true } else { false }
        return CommitTrace(
            begin: begin, decided: begin + part.nanoseconds, end: monotonicNanoseconds(),
            requests: part.submissions.reduce(0) { $0 + $1.operations.count }, isDone: isDone,
            append: part.position.flatMap { appends.block(of: $0, since: begin) })
    }

    private func promote() -> Answer {
        do throws(StoreError) {
            return .success(.promoted(try store.promote()))
        } catch {
            return .failure(.store(error))
        }
    }

    private func needs(of batch: [Submission], at time: Timestamp, _ fault: StoreError?) -> Needs {
        var needs = Needs()
        needs.time = time
        for submission in batch {
            for operation in submission.operations { add(operation, to: &needs, fault) }
        }
        return needs
    }

    private func needsOfEach(_ batch: [Submission], at time: Timestamp, _ fault: StoreError?) -> [Needs] {
        batch.flatMap(\.operations).map { operation in
            var needs = Needs()
            needs.time = time
            add(operation, to: &needs, fault)
            return needs
        }
    }

    private func add(_ operation: LedgerOperation, to needs: inout Needs, _ fault: StoreError?) {
        if fault != nil && operation.mayWrite { return }
        if operation.isQuery { needs.isRead = true }
        switch operation {
        case .command(let command, _), .granting(let command, _, _): needs.add(command)
        case .query(.history(let query)):
            // While nothing can be made durable, nothing that has expired is posted for a read.
            if fault == nil { needs.expiring.append(query.account) }
        case .query(.lots(let query, _)), .query(.holds(let query, _)):
            if fault == nil { needs.expiring.append(query.account) }
        case .query(.purchase(let query)): needs.transactions.append(query.transaction)
        case .query, .signed, .promote, .refused: break
        }
    }

    /// - Parameters:
    ///   - damage: for each operation why it cannot be decided; nothing where all can.
    ///   - promotion: the answer to those that ask for it.
    ///   - transfersMax: the transfer at which no further operation is decided; one is in any case.
    private func decide(
        _ submission: Submission, on books: inout Books, at time: Timestamp, _ fault: StoreError?,
        _ damage: inout ArraySlice<StoreError?>, _ promotion: Answer?, _ transfersMax: TransferID
    ) -> Decision {
        var decision = Decision()
        decision.answers.reserveCapacity(submission.operations.count)
        let mayClose = fault == nil
        let refusals = submission.lane.refusals
        var refusal = refusals?.refusal
        for operation in submission.operations {
            if decision.count > 0 && books.position.transfer >= transfersMax { break }
            let damage = damage.popFirst() ?? nil
            let fault = damage ?? (operation.mayWrite ? fault ?? refusal : nil)
            if let promotion = operation.promotion(promotion) {
                decision.answers.append(promotion)
            } else if let fault {
                decision.answers.append(.failure(.store(fault)))
                if operation.mayWrite, let refusals {
                    refusals.note(fault)
                    refusal = refusals.refusal
                }
            } else {
                books.perform(operation, at: time, mayClose: mayClose, into: &decision)
            }
        }
        return decision
    }

    /// One event for as many as fail for the same reason, one after the other.
    private func note(_ error: StoreError, _ batch: [Submission]) {
        let isNew = failure.withLock { said in
            defer { said = error.description }
            return said != error.description
        }
        if isNew && error.kind != .notReady {
            report(.commitFailed(error, requests: batch.reduce(0) { $0 + $1.operations.count }))
        }
    }

    /// One hop a lane: an event loop may read between two of them.
    private func deliver(_ decisions: [Decision], to batch: [Submission], _ trace: CommitTrace?) {
        var places: [ObjectIdentifier: Int] = [:]
        var deliveries: [(lane: Lane, answers: [Answer])] = []
        for (submission, decision) in zip(batch, decisions) {
            if let place = places[ObjectIdentifier(submission.lane)] {
                deliveries[place].answers += decision.answers
            } else {
                places[ObjectIdentifier(submission.lane)] = deliveries.count
                deliveries.append((submission.lane, decision.answers))
            }
        }
        // Many answers take a while to be told: who asked for little does not wait for them.
        deliveries.sort { $0.answers.count < $1.answers.count }
        for (lane, answers) in deliveries where !answers.isEmpty {
            lane.outlet.execute {
                if let trace { lane.noteCommit?(trace) }
                lane.deliver(answers)
            }
        }
        for (submission, decision) in zip(batch, decisions) { submission.readEnded?(decision.read) }
    }
}

extension StoreError {
    /// What whoever only reads is told: that is never in doubt.
    fileprivate var ofRead: StoreError {
        guard kind == .unknown else { return self }
        return StoreError(
            .notReady, "what is durable is not known, and a read may be asked again at once: \(description)")
    }
}
