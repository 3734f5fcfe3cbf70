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
///    JWS skips the first stage only while none of its lane is in there.
/// 2. Each stage has one batch at a time: `isVerifying`, `isCommitting`.
/// 3. Results are delivered after the commit that made them durable.
final class Sequencer: Sendable {
    private struct Queues {
        var unverified = CircularBuffer<Submission>()
        var verified = CircularBuffer<Submission>()
        var isVerifying = false
        var isCommitting = false
        /// Called when nothing is left to do.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []

        var isIdle: Bool { !isVerifying && !isCommitting && unverified.isEmpty && verified.isEmpty }
    }

    /// What a submission sets going.
    private enum Wake {
        case nothing
        case verification([Submission])
        case writer
    }

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
    ///   - writerPool: of one thread, the only one on which the store commits.
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
        while !rest.isEmpty {
            submissions.append(
                Submission(lane: lane, operations: Array(rest.prefix(limits.operationsPerSubmissionMax))))
            rest = rest.dropFirst(limits.operationsPerSubmissionMax)
        }
        let wakes = queues.withLockedValue { queues in
            for submission in submissions {
                if submission.signedCount == 0 && lane.unverified == 0 {
                    queues.verified.append(submission)
                } else {
                    lane.unverified += 1
                    queues.unverified.append(submission)
                }
            }
            return (verification(&queues), writer(&queues))
        }
        wake(wakes.0)
        wake(wakes.1)
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

    private func verification(_ queues: inout Queues) -> Wake {
        guard !queues.isVerifying, !queues.unverified.isEmpty else { return .nothing }
        queues.isVerifying = true
        var signed = 0
        var batch: [Submission] = []
        while let next = queues.unverified.first,
            batch.isEmpty || signed + next.signedCount <= limits.verificationBatchMax
        {
            signed += next.signedCount
            batch.append(queues.unverified.removeFirst())
        }
        return .verification(batch)
    }

    private func writer(_ queues: inout Queues) -> Wake {
        guard !queues.isCommitting, !queues.verified.isEmpty else { return .nothing }
        queues.isCommitting = true
        return .writer
    }

    private func wake(_ wake: Wake) {
        switch wake {
        case .nothing:
            break
        case .verification(let batch):
            let verification = Verification(
                batch, threads: verifierThreads, perThreadMin: limits.verificationsPerThreadMin)
            for chunk in verification.chunks {
                verifierPool.submit { _ in
                    let objects = verification.objects(chunk)
                    let results = self.verifier.verify(objects, now: self.now())
                    if let batch = verification.finish(chunk, results) { self.verified(batch) }
                }
            }
        case .writer:
            writerPool.submit { _ in self.write() }
        }
    }

    private func verified(_ batch: [Submission]) {
        let wakes = queues.withLockedValue { queues in
            for submission in batch {
                submission.lane.unverified -= 1
                queues.verified.append(submission)
            }
            queues.isVerifying = false
            return (writer(&queues), verification(&queues))
        }
        wake(wakes.0)
        wake(wakes.1)
    }

    // MARK: The writer's thread

    /// Commits until nothing is left.
    private func write() {
        while let batch = nextBatch() { deliver(commit(batch), to: batch) }
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
            return try store.commit(needs) { books in
                batch.map { submission in submission.operations.map { books.perform($0, at: time) } }
            }
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
