import DequeModule

/// What waits before and between the sequencer's stages, and who is at work: a value without threads, which the
/// sequencer asks under its lock.
///
/// Whoever is given work is busy from then on: a verifying thread until ``nextChunk()`` has none for it, the writer
/// until ``nextForWriter()`` has none.
struct SequencerQueues {
    /// What a thread verifies, and the number under which it gives it back.
    struct Chunk {
        var number: Int
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

    /// Whom to wake.
    struct Wakes {
        var verifier: Bool
        var writer: Bool
    }

    /// The place in the order of a chunk that is being verified.
    private struct Place {
        /// Empty while a thread has them.
        var submissions: [Submission] = []
        var isVerified = false
    }

    private let limits: EngineLimits
    private let verifierThreads: Int
    private var unverified: FairQueue
    /// JWS in `unverified`.
    private var unverifiedCount = 0
    /// Chunks that were taken from `unverified`, in that order, until all before them are verified too.
    private var chunks = Deque<Place>()
    /// The number of the first of them.
    private var firstChunk = 0
    /// Chunks of these that the writer took and left to a thread.
    private var handedOver = Deque<Chunk>()
    /// Threads that verify.
    private var verifying = 0
    private var verified: FairQueue
    /// Submissions in the first stage, waiting or being verified, of each lane that has any.
    private var inFirstStage: [ObjectIdentifier: Int] = [:]
    /// Operations in `verified`.
    private var verifiedCount = 0
    /// Submissions in `verified` that have no JWS.
    private var plainCount = 0
    /// Operations in all of these.
    private var operationCount = 0
    /// Whether the writer is at work.
    private var isWriting = false
    /// Batches that the writer has committed and that are not delivered yet.
    private var undelivered = 0
    /// Whether it was woken for a lone JWS that it has not taken yet.
    private var isExpectedForLoneJWS = false

    init(limits: EngineLimits) {
        self.limits = limits
        verifierThreads = limits.verifierThreads
        unverified = FairQueue(
            turn: limits.operationsPerSubmissionMax, lane: { $0.lane.unverified }, cost: { max($0.signedCount, 1) })
        verified = FairQueue(
            turn: limits.operationsPerSubmissionMax, lane: { $0.lane.verified }, cost: { $0.operations.count })
    }

    /// Whether nothing waits and nobody works.
    var isIdle: Bool { isVerifyingDone && verifying == 0 && !isWriting && verified.isEmpty && undelivered == 0 }

    private var isVerifyingDone: Bool { chunks.isEmpty && unverified.isEmpty }

    /// Submissions without a JWS go past the first stage where none of their lane is in it.
    mutating func add(_ submissions: [Submission], from lane: Lane) {
        for submission in submissions {
            operationCount += submission.operations.count
            if submission.signedCount == 0 && inFirstStage[ObjectIdentifier(lane)] == nil {
                appendVerified(submission)
            } else {
                inFirstStage[ObjectIdentifier(lane), default: 0] += 1
                unverified.append(submission)
                unverifiedCount += submission.signedCount
            }
        }
    }

    /// Drops what waits of a lane whose client is gone: nobody would learn what became of it. What is being verified or
    /// decided goes on.
    mutating func drop(_ lane: Lane) {
        for submission in unverified.removeAll(of: lane.unverified) {
            leaveFirstStage(lane)
            unverifiedCount -= submission.signedCount
            operationCount -= submission.operations.count
        }
        for submission in verified.removeAll(of: lane.verified) {
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

    // MARK: Verifying

    /// One thread verifies whatever there is when it is done with what it has, for many JWS together cost less than
    /// each alone; another helps where that would be many.
    private var wakesVerifier: Bool {
        if (unverified.isEmpty && handedOver.isEmpty) || verifying == verifierThreads { return false }
        return verifying == 0 || !handedOver.isEmpty || unverifiedCount >= limits.verificationsPerThreadMin
    }

    /// Whether one JWS waits, and nobody is at another.
    private var hasLoneJWS: Bool { unverifiedCount == 1 && chunks.isEmpty && verified.isEmpty }

    /// A share of what waits: what there is for each thread that is free, within the bounds. `nil` where nothing
    /// waits.
    mutating func nextChunk() -> Chunk? {
        if let chunk = handedOver.popFirst() { return chunk }
        guard !unverified.isEmpty else {
            verifying -= 1
            return nil
        }
        let free = verifierThreads - verifying + 1
        let share = max(limits.verificationsPerThreadMin, (unverifiedCount + free - 1) / free)
        return takeChunk(min(share, limits.verificationBatchMax))
    }

    /// Leaves a chunk that the writer was given to the next thread that is free: all that is behind it waits for it.
    mutating func handOver(_ chunk: Chunk) { handedOver.append(chunk) }

    private mutating func takeChunk(_ most: Int) -> Chunk {
        var chunk = Chunk(number: firstChunk + chunks.count, submissions: [])
        var signed = 0
        while let next = unverified.first(), chunk.submissions.isEmpty || signed + next.signedCount <= most {
            signed += next.signedCount
            chunk.submissions.append(unverified.removeFirst())
        }
        unverifiedCount -= signed
        chunks.append(Place())
        return chunk
    }

    /// Takes back a chunk that is verified, and passes on every one that has none before it that is not.
    mutating func finish(_ chunk: Chunk) {
        chunks[chunk.number - firstChunk] = Place(submissions: chunk.submissions, isVerified: true)
        while let first = chunks.first, first.isVerified {
            for submission in first.submissions {
                leaveFirstStage(submission.lane)
                appendVerified(submission)
            }
            chunks.removeFirst()
            firstChunk += 1
        }
    }

    private mutating func leaveFirstStage(_ lane: Lane) {
        guard let count = inFirstStage[ObjectIdentifier(lane)] else {
            preconditionFailure("a lane leaves a stage in which it has nothing")
        }
        inFirstStage[ObjectIdentifier(lane)] = count > 1 ? count - 1 : nil
    }

    /// How many submissions of a lane are in the first stage.
    func countInFirstStage(_ lane: Lane) -> Int { inFirstStage[ObjectIdentifier(lane)] ?? 0 }

    private mutating func appendVerified(_ submission: Submission) {
        verified.append(submission)
        verifiedCount += submission.operations.count
        if submission.signedCount == 0 { plainCount += 1 }
    }

    // MARK: Committing

    /// While JWS are being verified a commit of others waits until it has a good part of everything: each
    /// block is a sync. Where none are, and with a request that has none, it waits for nothing.
    private var isWorthCommitting: Bool {
        if verified.isEmpty { return false }
        if isVerifyingDone || plainCount > 0 { return true }
        return verifiedCount >= min(operationCount / 4, limits.operationsPerCommitWorthwhile)
    }

    /// What the writer does next; `nil` where there is nothing for it.
    mutating func nextForWriter() -> WriterWork? {
        isExpectedForLoneJWS = false
        if isWorthCommitting {
            undelivered += 1
            let batch = takeBatch()
            return .commit(batch, isLast: verified.isEmpty)
        }
        if hasLoneJWS { return .verify(takeChunk(1)) }
        isWriting = false
        return nil
    }

    /// A batch's answers were handed to its lanes.
    mutating func delivered() { undelivered -= 1 }

    /// No more than half of everything that is here: while that is committed the rest is verified, and while the rest
    /// is committed the clients of the first go on. One commit of all would leave the cores idle by turns.
    private mutating func takeBatch() -> [Submission] {
        let most = min(max(limits.operationsPerCommitMin, operationCount / 2), limits.operationsPerCommitMax)
        var count = 0
        var batch: [Submission] = []
        while let next = verified.first(), batch.isEmpty || count + next.operations.count <= most {
            count += next.operations.count
            if next.signedCount == 0 { plainCount -= 1 }
            batch.append(verified.removeFirst())
        }
        operationCount -= count
        verifiedCount -= count
        return batch
    }
}
