import DequeModule

/// What waits before and between the sequencer's stages, and who is at work: a value without threads, which the
/// sequencer asks under its lock.
///
/// Whoever is given work is busy from then on: a verifying thread until ``nextChunk()`` has none for it, the writer
/// until ``nextForWriter()`` has none.
struct SequencerQueues {
    /// What a thread verifies and gives back.
    struct Chunk {
        /// Whether it was postponed: then there is time for what takes long (``Verifier``); otherwise what needs that
        /// is postponed.
        var isPostponed = false
        var submissions: [Submission]
    }

    /// What the writer's thread does next.
    enum WriterWork {
        /// - isLast: whether nothing else waits for the writer.
        case commit([Submission], isLast: Bool)
        /// A lone JWS that nobody else verifies: to be given back, and then committed without waiting for another
        /// thread to wake.
        case verify(Chunk)
    }

    /// What a batch took.
    struct CommitWork {
        /// How many of its operations were decided; 0 where it failed.
        var operations = 0
        /// The nanoseconds of a core for which it was decided and its answers were handed out.
        var core: UInt64 = 0
    }

    /// Whom to wake.
    struct Wakes {
        var verifier: Bool
        var writer: Bool
    }

    /// The submissions of one lane in the first stage, in their order.
    private struct LaneOrder {
        enum Place {
            /// It waits, or is being verified.
            case unverified
            /// One before it is not verified yet.
            case verified(Submission)
            case dropped
        }

        /// The number of the first place.
        private var first = 0
        private var places = Deque<Place>()
        /// Whether its client is gone: then all of it is dropped, also what a thread has just now. Otherwise what
        /// stands behind would be carried out without it.
        var isDropped = false

        var isEmpty: Bool { places.isEmpty }
        var count: Int {
            places.count { place in
                switch place {
                case .unverified, .verified: true
                case .dropped: false
                }
            }
        }

        /// Its number.
        mutating func append() -> Int {
            places.append(.unverified)
            return first + places.count - 1
        }

        mutating func set(_ place: Place, at number: Int) { places[number - first] = place }

        /// Drops what is verified and waits for others.
        mutating func dropVerified() {
            for index in places.indices {
                if case .verified = places[index] { places[index] = .dropped }
            }
        }

        /// The next one that has none before it that is not verified.
        mutating func popVerified() -> Submission? {
            while let place = places.first {
                if case .unverified = place { return nil }
                places.removeFirst()
                first += 1
                if case .verified(let submission) = place { return submission }
            }
            return nil
        }
    }

    private let limits: EngineLimits
    private let verifierThreads: Int
    private var unverified: FairQueue
    /// JWS in `unverified`.
    private var unverifiedCount = 0
    /// Chunks of `unverified` that are being verified.
    private var chunkCount = 0
    /// What has certificates that were not seen before, or many doubtful signatures, and what comes from lanes of which
    /// the last were mostly forged: that takes long, and nothing of other lanes waits for it.
    private var postponed: FairQueue
    /// Whether a thread is at what was postponed; never more than one is.
    private var isVerifyingPostponed = false
    /// JWS of `unverified` that were taken since what is postponed had its turn; what has none counts as one.
    private var takenSincePostponed = 0
    /// Threads that verify.
    private var verifying = 0
    private var verified: FairQueue
    /// The first stage of each lane that has something in it.
    private var firstStage: [ObjectIdentifier: LaneOrder] = [:]
    /// What was left of a batch that was cut: it goes before all others.
    private var begun: [Submission] = []
    /// Operations in `verified`.
    private var verifiedCount = 0
    /// Submissions in `verified` that have no JWS.
    private var plainCount = 0
    /// Operations in `unverified`, in its chunks, and in `verified`: all that may be committed soon.
    private var operationCount = 0
    /// Whether the writer is at work.
    private var isWriting = false
    /// When the batches were begun that are not delivered yet.
    private var undelivered: Deque<UInt64> = []
    /// The work of the last batches: each counts for three fourths of the one behind it. Operations are in sixteenths,
    /// so that few of them are not rounded away.
    private var lately: (operations: UInt64, core: UInt64) = (0, 0)
    /// Whether it was woken for a lone JWS that it has not taken yet.
    private var isExpectedForLoneJWS = false
    /// Who asked last, and until when several count as asking.
    private var lastTenant: ObjectIdentifier?
    private var sharedUntil: UInt64 = 0
    /// When what is verified is committed, however little it is.
    private var nextCommitDue: UInt64 = 0
    /// Operations that came too late and were not told of, and when they may be told again.
    private var lateCount = 0
    private var lateToldAgain: UInt64 = 0
    private let now: @Sendable () -> UInt64

    /// - Parameters:
    ///   - place: the ledger's among those that its tenants may ask.
    ///   - now: the monotonic clock, in nanoseconds.
    init(limits: EngineLimits, place: Int = 0, now: @escaping @Sendable () -> UInt64 = monotonicNanoseconds) {
        self.limits = limits
        self.now = now
        verifierThreads = limits.verifierThreads
        unverified = FairQueue(
            lane: { $0.unverified }, tenant: { $0.queues[place].unverified }, cost: { max($0.signedCount, 1) })
        postponed = FairQueue(
            lane: { $0.postponed }, tenant: { $0.queues[place].postponed }, cost: { max($0.signedCount, 1) })
        verified = FairQueue(
            lane: { $0.verified }, tenant: { $0.queues[place].verified }, cost: { $0.cost(limits) })
    }

    /// Operations that wait, or are being verified, but for those that were put aside.
    var waitingCount: Int { operationCount }

    /// Whether nothing waits and nobody works.
    var isIdle: Bool {
        firstStage.isEmpty && verifying == 0 && !isWriting && verified.isEmpty && begun.isEmpty && undelivered.isEmpty
    }

    /// Whether nothing more will be verified soon: what was postponed does not count.
    private var isVerifyingDone: Bool { chunkCount == 0 && unverified.isEmpty }

    /// Submissions without a JWS go past the first stage where none of their lane is in it.
    mutating func add(_ submissions: [Submission]) {
        for var submission in submissions {
            noteTenant(of: submission)
            let id = ObjectIdentifier(submission.lane)
            let isFirst = firstStage[id] == nil
            if submission.signedCount == 0 && isFirst {
                appendVerified(submission)
                continue
            }
            submission.place = firstStage[id, default: LaneOrder()].append()
            // The first is verified as others' are, so that one that is sent behind the last answer waits for nothing.
            if isFirst || !submission.lane.doubt.isDoubted(limits) {
                appendUnverified(submission)
            } else if submission.signedCount == 0 {
                firstStage[id]?.set(.verified(submission), at: submission.place)
            } else {
                postponed.append(submission)
            }
        }
    }

    private mutating func appendUnverified(_ submission: Submission) {
        unverified.append(submission)
        unverifiedCount += submission.signedCount
        operationCount += submission.operations.count
    }

    /// What the ledger does by itself is nobody's, and never too late.
    private mutating func noteTenant(of submission: Submission) {
        let tenant = ObjectIdentifier(submission.tenant)
        if tenant == lastTenant || submission.deadline == .max { return }
        if lastTenant != nil { sharedUntil = now() + limits.sharedMilliseconds * 1_000_000 }
        lastTenant = tenant
    }

    /// Drops what of a lane whose client is gone is in no batch yet: nobody would learn what became of it. All of it,
    /// for what stands behind something that is dropped must not be carried out without it.
    mutating func drop(_ lane: Lane) {
        let id = ObjectIdentifier(lane)
        for submission in unverified.removeAll(of: lane) {
            firstStage[id]?.set(.dropped, at: submission.place)
            unverifiedCount -= submission.signedCount
            operationCount -= submission.operations.count
        }
        for submission in postponed.removeAll(of: lane) {
            firstStage[id]?.set(.dropped, at: submission.place)
        }
        firstStage[id]?.dropVerified()
        firstStage[id]?.isDropped = true
        passOn(id)
        for submission in verified.removeAll(of: lane) {
            verifiedCount -= submission.operations.count
            if submission.signedCount == 0 { plainCount -= 1 }
            operationCount -= submission.operations.count
        }
    }

    /// Whom there is work for who has none.
    mutating func wakes() -> Wakes {
        let isWriterWoken = !isWriting && (isWorthCommitting || hasLoneJWS)
        if isWriterWoken {
            isWriting = true
            isExpectedForLoneJWS = hasLoneJWS
        }
        let isVerifierWoken = wakesVerifier && !(isExpectedForLoneJWS && hasLoneJWS)
        if isVerifierWoken { verifying += 1 }
        return Wakes(verifier: isVerifierWoken, writer: isWriterWoken)
    }

    // MARK: What comes too late

    /// What has waited for too long is answered so when its turn comes, and nothing is done for it any more: those
    /// whose queue is short, for they send no more than their share, are not among them.
    private mutating func refusedIfLate(_ submission: Submission) -> Submission {
        guard isLate(submission) else { return submission }
        lateCount += submission.operations.count
        return submission.refused(.overloaded)
    }

    private func isLate(_ submission: Submission) -> Bool {
        submission.deadline < .max && submission.deadline <= now()
    }

    /// How many operations came too late since this was told; `nil` where there are none, or it was told just now.
    mutating func takeLateCount() -> Int? {
        if lateCount == 0 { return nil }
        let now = now()
        if now < lateToldAgain { return nil }
        lateToldAgain = now + limits.lateNoticeMilliseconds * 1_000_000
        defer { lateCount = 0 }
        return lateCount
    }

    // MARK: Verifying

    /// One thread verifies whatever there is when it is done with what it has, for many JWS together cost less than
    /// each alone; another helps where that would be many, or where the one is at what was postponed.
    private var wakesVerifier: Bool {
        if verifying == verifierThreads { return false }
        if unverified.isEmpty { return verifying == 0 && !postponed.isEmpty }
        return verifying == (isVerifyingPostponed ? 1 : 0) || unverifiedCount >= limits.verificationsPerThreadMin
    }

    /// Whether one JWS waits, and nobody is at another.
    private var hasLoneJWS: Bool { unverifiedCount == 1 && chunkCount == 0 && verified.isEmpty }

    /// A share of what waits: what there is for each thread that is free, within the bounds. `nil` where nothing
    /// waits.
    mutating func nextChunk() -> Chunk? {
        if isTurnOfPostponed {
            isVerifyingPostponed = true
            takenSincePostponed = 0
            var chunk = Chunk(isPostponed: true, submissions: [])
            // What came too late takes no turn.
            while let next = postponed.first(), isLate(next), chunk.submissions.count < limits.verificationBatchMax {
                chunk.submissions.append(refusedIfLate(postponed.removeFirst()))
            }
            // What is dear of it is bounded where it is verified, and only the first is not put aside again.
            var signed = 0
            while let next = postponed.first() {
                let count = max(next.signedCount, 1)
                if signed > 0 && signed + count > limits.doubtfulPerTurnMax { break }
                signed += count
                chunk.submissions.append(refusedIfLate(postponed.removeFirst()))
            }
            return chunk
        }
        guard !unverified.isEmpty else {
            verifying -= 1
            return nil
        }
        let free = verifierThreads - verifying + 1
        let share = max(limits.verificationsPerThreadMin, (unverifiedCount + free - 1) / free)
        return takeChunk(min(share, limits.verificationBatchMax))
    }

    private var isTurnOfPostponed: Bool {
        if postponed.isEmpty || isVerifyingPostponed { return false }
        return unverified.isEmpty || takenSincePostponed >= limits.verificationsPerPostponedTurn
    }

    private mutating func takeChunk(_ most: Int) -> Chunk {
        var chunk = Chunk(submissions: [])
        var signed = 0
        while let next = unverified.first(), chunk.submissions.isEmpty || signed + next.signedCount <= most {
            signed += next.signedCount
            takenSincePostponed += max(next.signedCount, 1)
            chunk.submissions.append(refusedIfLate(unverified.removeFirst()))
        }
        unverifiedCount -= signed
        chunkCount += 1
        return chunk
    }

    /// Takes back a chunk, postpones what of it is not verified, and passes on all that has none of its lane before it
    /// that is not.
    mutating func finish(_ chunk: Chunk) {
        if chunk.isPostponed { isVerifyingPostponed = false } else { chunkCount -= 1 }
        for var submission in chunk.submissions {
            if !chunk.isPostponed { operationCount -= submission.operations.count }
            let id = ObjectIdentifier(submission.lane)
            if firstStage[id]?.isDropped == true {
                firstStage[id]?.set(.dropped, at: submission.place)
            } else if submission.isPostponed {
                submission.isPostponed = false
                postponed.append(submission)
                continue
            } else {
                firstStage[id]?.set(.verified(submission), at: submission.place)
            }
            passOn(id)
        }
    }

    private mutating func passOn(_ id: ObjectIdentifier) {
        while let submission = firstStage[id]?.popVerified() {
            note(submission)
            appendVerified(submission)
        }
        if firstStage[id]?.isEmpty ?? false { firstStage[id] = nil }
    }

    /// Where a lane is not doubted any more, what of it was put aside is verified as that of others.
    private mutating func note(_ submission: Submission) {
        let doubt = submission.lane.doubt
        let wasDoubted = doubt.isDoubted(limits)
        doubt.note(submission.verdicts, limits)
        if !wasDoubted || doubt.isDoubted(limits) { return }
        for next in postponed.removeAll(of: submission.lane) { appendUnverified(next) }
    }

    /// How many submissions of a lane are in the first stage.
    func countInFirstStage(_ lane: Lane) -> Int { firstStage[ObjectIdentifier(lane)]?.count ?? 0 }

    private mutating func appendVerified(_ submission: Submission) {
        verified.append(submission)
        verifiedCount += submission.operations.count
        operationCount += submission.operations.count
        if submission.signedCount == 0 { plainCount += 1 }
    }

    // MARK: Committing

    /// While JWS are being verified a commit of others waits until it has a good part of everything, or for some
    /// milliseconds: each block is a sync. Where none are, and with a request that has none, it waits for nothing.
    private var isWorthCommitting: Bool {
        if verified.isEmpty { return false }
        if isVerifyingDone || plainCount > 0 { return true }
        if verifiedCount >= min(operationCount / 4, limits.operationsPerCommitWorthwhile) { return true }
        return now() >= nextCommitDue
    }

    /// What the writer does next; `nil` where there is nothing for it.
    mutating func nextForWriter() -> WriterWork? {
        isExpectedForLoneJWS = false
        if !begun.isEmpty {
            undelivered.append(now())
            defer { begun = [] }
            return .commit(begun, isLast: false)
        }
        if isWorthCommitting {
            undelivered.append(now())
            nextCommitDue = now() + limits.commitMicrosecondsMax * 1_000
            let batch = takeBatch()
            return .commit(batch, isLast: verified.isEmpty)
        }
        if hasLoneJWS { return .verify(takeChunk(1)) }
        isWriting = false
        return nil
    }

    /// A batch was cut, for it made a large block already: the rest is what the writer does next.
    mutating func putBack(_ rest: [Submission]) {
        precondition(isWriting && begun.isEmpty, "only the writer puts back, and takes it next")
        begun = rest
    }

    /// What a lane asked for has cost more than its operations are worth in turns.
    func charge(_ lane: Lane, _ cost: Int) { verified.charge(lane, cost) }

    /// The answers of the oldest batch were handed to its lanes.
    /// - Returns: the nanoseconds since it was begun.
    @discardableResult
    mutating func delivered(_ work: CommitWork) -> UInt64 {
        guard let begin = undelivered.popFirst() else { preconditionFailure("no batch was begun") }
        lately.operations = lately.operations * 3 / 4 + UInt64(work.operations) * 16
        lately.core = lately.core * 3 / 4 + work.core
        return now() - begin
    }

    /// As many as are decided and answered within the time that a token that asks for little may wait for others. What
    /// they take differs much: a player may have to be read from the tables, and a read is begun where it is answered.
    private var operationsPerSharedCommit: Int {
        let each = max(lately.core * 16 / max(lately.operations, 1), limits.operationNanosecondsMin)
        let most = max(Int(limits.sharedCommitNanoseconds / each), limits.operationsPerSharedCommitMin)
        return min(most, limits.operationsPerCommitMax)
    }

    /// No more than half of everything that is here: while that is committed the rest is verified, and while the rest
    /// is committed the clients of the first go on. One commit of all would leave the cores idle by turns.
    private mutating func takeBatch() -> [Submission] {
        let largest = now() < sharedUntil ? operationsPerSharedCommit : limits.operationsPerCommitMax
        let most = min(max(limits.operationsPerCommitMin, operationCount / 2), largest)
        var (count, cost) = (0, 0)
        var batch: [Submission] = []
        while let next = verified.first(), batch.isEmpty || cost + next.cost(limits) <= most {
            count += next.operations.count
            cost += next.cost(limits)
            if next.signedCount == 0 { plainCount -= 1 }
            batch.append(refusedIfLate(verified.removeFirst()))
        }
        operationCount -= count
        verifiedCount -= count
        return batch
    }
}
