import AppStore
import Ledger
import LedgerWire
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// The one order in which requests take effect, in two stages that work at the same time.
///
/// ```
/// connections → unverified → [verify, all cores] → verified → [commit, one thread] → connections
/// ```
///
/// A stage takes whatever has gathered while it was busy (up to a bound) as soon as it is free, so that a lone request
/// on an idle server waits for nothing and batches grow with load.
///
/// Invariants:
/// 1. Submissions of one lane are committed and delivered in the order in which they were submitted. A submission without a
///    JWS skips the first stage only while none of its lane is in there; what is verified leaves the stage in the order in
///    which it came in, however its chunks overtake each other.
/// 2. At most `verifierThreads` chunks are being verified, and one batch committed, at a time.
/// 3. Results are delivered after the commit that made them durable.
final class Sequencer: Sendable {
    /// Submissions that one thread verifies together.
    private struct Chunk {
        /// Empty while a thread has them.
        var submissions: [Submission] = []
        var isVerified = false
    }

    private struct Queues {
        var unverified = CircularBuffer<Submission>()
        /// JWS in `unverified`.
        var unverifiedCount = 0
        /// Chunks that were taken from `unverified`, in that order, until all before them are verified too.
        var chunks = CircularBuffer<Chunk>()
        /// The number of the first of them.
        var firstChunk = 0
        /// Threads that verify.
        var verifying = 0
        var verified = CircularBuffer<Submission>()
        var isCommitting = false
        /// Called when nothing is left to do.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []

        var isIdle: Bool {
            chunks.isEmpty && verifying == 0 && !isCommitting && unverified.isEmpty && verified.isEmpty
        }
    }

    /// What a thread verifies, and the number under which it gives it back.
    private struct Task {
        var number: Int
        var submissions: [Submission]
    }

    /// Told the last entry of every commit.
    let journal = JournalWatch()
    /// NIO's lock, here and elsewhere: ThreadSanitizer knows it, and takes every use of the standard library's for a race.
    private let queues = NIOLockedValueBox(Queues())
    private let limits: ServerLimits
    private let store: any Store
    private let verifier: Verifier
    private let verifierPool: NIOThreadPool
    private let verifierThreads: Int
    private let writerPool: NIOThreadPool
    private let logger: Logger
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - verifierPool: of `verifierThreads` threads.
    ///   - writerPool: of one thread, on which the store commits but for a lone credit's batch: one at a time, wherever.
    init(
        store: any Store, verifier: Verifier, limits: ServerLimits, verifierPool: NIOThreadPool, verifierThreads: Int,
        writerPool: NIOThreadPool, logger: Logger, now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.verifier = verifier
        self.limits = limits
        self.verifierPool = verifierPool
        self.verifierThreads = verifierThreads
        self.writerPool = writerPool
        self.logger = logger
        self.now = now
    }

    /// Takes over everything that one turn of a connection brought. Its results are delivered to the lane in order.
    func submit(_ operations: [Operation], from lane: Lane) {
        var submissions: [Submission] = []
        var rest = operations[...]
        while rest.count > limits.operationsPerSubmissionMax {
            submissions.append(
                Submission(lane: lane, operations: Array(rest.prefix(limits.operationsPerSubmissionMax))))
            rest = rest.dropFirst(limits.operationsPerSubmissionMax)
        }
        if !rest.isEmpty { submissions.append(Submission(lane: lane, operations: Array(rest))) }
        let (mustVerify, mustWrite) = queues.withLockedValue { queues in
            for submission in submissions {
                if submission.signedCount == 0 && lane.unverified == 0 {
                    queues.verified.append(submission)
                } else {
                    lane.unverified += 1
                    queues.unverified.append(submission)
                    queues.unverifiedCount += submission.signedCount
                }
            }
            return (takesVerifier(&queues), takesWriter(&queues))
        }
        wake(verifier: mustVerify, writer: mustWrite)
    }

    /// Returns when everything that was submitted is answered.
    func idle() async {
        await withCheckedContinuation { continuation in
            let isIdle = queues.withLockedValue { queues in
                if !queues.isIdle { queues.idleWaiters.append(continuation) }
                return queues.isIdle
            }
            if isIdle { continuation.resume() }
        }
    }

    // MARK: Waking, under the lock and then outside it

    /// Whether a verifying thread is to be woken; it counts as busy from here on.
    private func takesVerifier(_ queues: inout Queues) -> Bool {
        guard queues.verifying < verifierThreads, !queues.unverified.isEmpty else { return false }
        queues.verifying += 1
        return true
    }

    private func takesWriter(_ queues: inout Queues) -> Bool {
        guard !queues.isCommitting, !queues.verified.isEmpty else { return false }
        queues.isCommitting = true
        return true
    }

    private func wake(verifier: Bool, writer: Bool) {
        if verifier { verifierPool.submit { _ in self.verify() } }
        if writer { writerPool.submit { _ in self.write() } }
    }

    // MARK: The verifying threads

    /// Verifies chunk by chunk until nothing is left.
    private func verify() {
        var done: Task?
        while true {
            let (next, mustVerify, mustWrite) = queues.withLockedValue { queues in
                if let done { finish(done, &queues) }
                let next = nextChunk(&queues)
                return (next, takesVerifier(&queues), takesWriter(&queues))
            }
            guard var task = next else {
                wake(verifier: mustVerify, writer: false)
                // Nothing else to verify: a lone credit is committed here, without waiting for another thread to wake.
                if mustWrite { writeOnce() }
                return
            }
            wake(verifier: mustVerify, writer: mustWrite)
            verify(&task.submissions)
            done = task
        }
    }

    /// A share of what waits: what there is for each thread that is free, within the bounds.
    private func nextChunk(_ queues: inout Queues) -> Task? {
        guard !queues.unverified.isEmpty else {
            queues.verifying -= 1
            return nil
        }
        let free = verifierThreads - queues.verifying + 1
        let share = max(limits.verificationsPerThreadMin, (queues.unverifiedCount + free - 1) / free)
        let most = min(share, limits.verificationBatchMax)
        var task = Task(number: queues.firstChunk + queues.chunks.count, submissions: [])
        var signed = 0
        while let next = queues.unverified.first, task.submissions.isEmpty || signed + next.signedCount <= most {
            signed += next.signedCount
            task.submissions.append(queues.unverified.removeFirst())
        }
        queues.unverifiedCount -= signed
        queues.chunks.append(Chunk())
        return task
    }

    /// Puts every JWS's verdict in its place: no JWS is left that was not verified.
    private func verify(_ submissions: inout [Submission]) {
        var objects: [SignedObject] = []
        for submission in submissions where submission.signedCount > 0 {
            for case .signed(let object, _) in submission.operations { objects.append(object) }
        }
        if objects.isEmpty { return }
        var verdicts = verifier.verify(objects, now: now())[...]
        for index in submissions.indices where submissions[index].signedCount > 0 {
            for place in submissions[index].operations.indices {
                guard case .signed(_, let account) = submissions[index].operations[place] else { continue }
                guard let verdict = verdicts.popFirst() else { preconditionFailure("a JWS has no verdict") }
                submissions[index].operations[place] = Operation(verdict, account: account)
            }
        }
    }

    /// Passes on every chunk that is verified and has none before it that is not.
    private func finish(_ task: Task, _ queues: inout Queues) {
        let place = queues.chunks.index(queues.chunks.startIndex, offsetBy: task.number - queues.firstChunk)
        queues.chunks[place] = Chunk(submissions: task.submissions, isVerified: true)
        while let first = queues.chunks.first, first.isVerified {
            for submission in first.submissions {
                submission.lane.unverified -= 1
                queues.verified.append(submission)
            }
            queues.chunks.removeFirst()
            queues.firstChunk += 1
        }
    }

    // MARK: The writer

    /// Commits until nothing is left.
    private func write() {
        while let batch = nextBatch() { deliver(commit(batch), to: batch) }
    }

    /// Commits one batch; whatever came meanwhile is for the writer's thread.
    private func writeOnce() {
        guard let batch = nextBatch() else { return }
        deliver(commit(batch), to: batch)
        writerPool.submit { _ in self.write() }
    }

    private func nextBatch() -> [Submission]? {
        let (batch, waiters) = queues.withLockedValue { queues -> ([Submission]?, [CheckedContinuation<Void, Never>]) in
            var count = 0
            var batch: [Submission] = []
            while let next = queues.verified.first,
                batch.isEmpty || count + next.operations.count <= limits.operationsPerCommitMax
            {
                count += next.operations.count
                batch.append(queues.verified.removeFirst())
            }
            if !batch.isEmpty { return (batch, []) }
            queues.isCommitting = false
            if !queues.isIdle { return (nil, []) }
            defer { queues.idleWaiters = [] }
            return (nil, queues.idleWaiters)
        }
        for waiter in waiters { waiter.resume() }
        return batch
    }

    /// The results of a batch: one list for each submission.
    private func commit(_ batch: [Submission]) -> [[OperationResult]] {
        var needs = Needs()
        for submission in batch {
            for operation in submission.operations {
                if case .command(let command) = operation { needs.add(command) }
            }
        }
        let time = now()
        do {
            let (results, lastEntry) = try store.commit(needs) { books in
                let results = batch.map { submission in submission.operations.map { books.perform($0, at: time) } }
                return (results, books.position.entry)
            }
            journal.committed(through: lastEntry)
            return results
        } catch {
            let count = batch.reduce(0) { $0 + $1.operations.count }
            logger.error("a commit failed", metadata: ["error": "\(error)", "requests": "\(count)"])
            let answer = OperationResult.error(error is StoreError ? .storageUnavailable : .internalError)
            return batch.map { Array(repeating: answer, count: $0.operations.count) }
        }
    }

    /// One hop an event loop, one call a lane.
    private func deliver(_ results: [[OperationResult]], to batch: [Submission]) {
        var places: [ObjectIdentifier: Int] = [:]
        var deliveries: [(lane: Lane, results: [OperationResult])] = []
        for (submission, results) in zip(batch, results) {
            let lane = submission.lane
            if let place = places[ObjectIdentifier(lane)] {
                deliveries[place].results += results
            } else {
                places[ObjectIdentifier(lane)] = deliveries.count
                deliveries.append((lane, results))
            }
        }
        while let eventLoop = deliveries.first?.lane.eventLoop {
            let own = deliveries.filter { $0.lane.eventLoop === eventLoop }
            deliveries.removeAll { $0.lane.eventLoop === eventLoop }
            eventLoop.execute {
                for (lane, results) in own { lane.deliver(results) }
            }
        }
    }
}
