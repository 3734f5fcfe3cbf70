import AppStore
import Glibc
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
/// A lone JWS under certificates that are known is verified by the writer's thread too.
///
/// A stage that is free takes what has gathered while it was busy, so that a lone request on an idle server waits for
/// nothing and batches grow with load; how much it takes, ``SequencerQueues`` says.
///
/// Invariants:
/// 1. Submissions of one lane are committed and delivered in the order in which they were submitted. A submission
///    without a JWS skips the first stage only while none of its lane is in there; what is verified leaves the stage
///    in the order in which it came in, however its chunks overtake each other.
/// 2. At most `verifierThreads` chunks are being verified by the pool's threads and one by the writer's, or one batch
///    is committed there.
/// 3. Results are delivered after the commit that made them durable.
final class Sequencer: Sendable {
    private struct State {
        var queues: SequencerQueues
        /// Called when nothing is left to do.
        var idleWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Told the last entry of every commit.
    let journal = JournalWatch()
    /// NIO's lock, here and elsewhere: ThreadSanitizer knows it, and takes every use of the standard library's for a
    /// race.
    private let state: NIOLockedValueBox<State>
    /// Why the last commit failed; `nil` where it did not.
    private let failure = NIOLockedValueBox<String?>(nil)
    private let limits: ServerLimits
    private let store: any Store
    private let verifier: Verifier
    private let verifierPool: NIOThreadPool
    private let writerPool: NIOThreadPool
    private let logger: Logger
    private let now: @Sendable () -> Timestamp

    /// - Parameters:
    ///   - verifierPool: of `verifierThreads` threads.
    ///   - writerPool: of one thread, on which the store commits.
    init(
        store: any Store, verifier: Verifier, limits: ServerLimits, verifierPool: NIOThreadPool, verifierThreads: Int,
        writerPool: NIOThreadPool, logger: Logger, now: @escaping @Sendable () -> Timestamp
    ) {
        state = NIOLockedValueBox(State(queues: SequencerQueues(limits: limits, verifierThreads: verifierThreads)))
        self.store = store
        self.verifier = verifier
        self.limits = limits
        self.verifierPool = verifierPool
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
        update { $0.add(submissions, from: lane) }
    }

    /// Returns when everything that was submitted is answered.
    func idle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLockedValue { state in
                if !state.queues.isIdle { state.idleWaiters.append(continuation) }
                return state.queues.isIdle
            }
            if isIdle { continuation.resume() }
        }
    }

    /// The one way in which the queues change: afterwards threads are woken for what there is to do, and whoever waits
    /// for there being nothing is told, whichever thread was the last to have something.
    private func update<Result>(_ body: (inout SequencerQueues) -> Result) -> Result {
        let (result, wakes, waiters) = state.withLockedValue { state in
            let result = body(&state.queues)
            let wakes = state.queues.wakes()
            guard state.queues.isIdle, !state.idleWaiters.isEmpty else {
                return (result, wakes, [] as [CheckedContinuation<Void, Never>])
            }
            defer { state.idleWaiters = [] }
            return (result, wakes, state.idleWaiters)
        }
        if wakes.verifier { verifierPool.submit { _ in self.verify() } }
        if wakes.writer { writerPool.submit { _ in self.write() } }
        for waiter in waiters { waiter.resume() }
        return result
    }

    // MARK: The verifying threads

    /// Verifies chunk by chunk until nothing is left.
    private func verify() {
        giveWay()
        var done: SequencerQueues.Chunk?
        while true {
            let next = update { queues in
                if let done { queues.finish(done) }
                return queues.nextChunk()
            }
            guard var chunk = next else { return }
            verify(&chunk.submissions)
            done = chunk
        }
    }

    /// Makes the calling thread nicer than the others. (setpriority(2), "C library/kernel differences": on Linux a
    /// niceness is a thread's own.) Where the system refuses, everything goes on, only slower.
    private func giveWay() {
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, limits.verifierNiceness)
    }

    /// Verifies a chunk and gives it back.
    private func verify(_ chunk: SequencerQueues.Chunk) {
        var chunk = chunk
        verify(&chunk.submissions)
        update { $0.finish(chunk) }
    }

    private func remembersCertificates(of chunk: SequencerQueues.Chunk) -> Bool {
        chunk.submissions.allSatisfy { submission in
            submission.operations.allSatisfy { operation in
                guard case .signed(let object, _, _) = operation else { return true }
                return verifier.remembersCertificates(of: object)
            }
        }
    }

    /// Puts every JWS's verdict in its place: no JWS is left that was not verified.
    private func verify(_ submissions: inout [Submission]) {
        var objects: [SignedObject] = []
        for submission in submissions where submission.signedCount > 0 {
            for case .signed(let object, _, _) in submission.operations { objects.append(object) }
        }
        if objects.isEmpty { return }
        var verdicts = verifier.verify(objects, now: now())[...]
        for index in submissions.indices where submissions[index].signedCount > 0 {
            for place in submissions[index].operations.indices {
                guard case .signed(_, let account, let actor) = submissions[index].operations[place] else { continue }
                guard let verdict = verdicts.popFirst() else { preconditionFailure("a JWS has no verdict") }
                submissions[index].operations[place] = Operation(verdict, account: account, by: actor)
            }
        }
    }

    // MARK: The writer

    /// Commits until nothing is left.
    private func write() {
        while let work = update({ $0.nextForWriter() }) {
            switch work {
            case .commit(let batch, let isLast):
                commit(batch, isLast: isLast)
            case .verify(let chunk):
                // Certificates take milliseconds, and anybody can send some: not on the thread that all others wait
                // for.
                if remembersCertificates(of: chunk) {
                    verify(chunk)
                } else {
                    verifierPool.submit { _ in
                        self.giveWay()
                        self.verify(chunk)
                    }
                }
            }
        }
    }

    /// What a batch decided: one list of results for each submission.
    private struct Decided: Sendable {
        var results: [[OperationResult]]
        var lastEntry: EntryID
    }

    /// Decides a batch. Its results are delivered when it is durable, perhaps by another thread.
    private func commit(_ batch: [Submission], isLast: Bool) {
        let fault = store.fault()
        var needs = Needs()
        for submission in batch {
            for operation in submission.operations where fault == nil || !operation.mayWrite {
                switch operation {
                case .command(let command, _): needs.add(command)
                case .prepare(.history(let query)): needs.wallets.append(query.account)
                case .prepare, .signed, .refused: break
                }
            }
        }
        let time = store.time(at: now())
        store.commit(needs, isLast: isLast) { books in
            let results = batch.map { submission in
                submission.operations.map { operation in
                    if let fault, operation.mayWrite { return OperationResult.error(WireError(fault)) }
                    return books.perform(operation, at: time, mayClose: fault == nil)
                }
            }
            // While nothing can be made durable, what reads found due is not in the journal.
            return Decided(results: results, lastEntry: fault == nil ? books.position.entry : 0)
        } done: { [self] decided in
            switch decided {
            case .success(let decided):
                failure.withLockedValue { if $0 != nil { $0 = nil } }
                journal.committed(through: decided.lastEntry)
                deliver(decided.results, to: batch)
            case .failure(let error):
                // One line for as many as fail for the same reason, one after the other.
                let isNew = failure.withLockedValue { said in
                    defer { said = error.description }
                    return said != error.description
                }
                if isNew && error.kind != .opening {
                    let count = batch.reduce(0) { $0 + $1.operations.count }
                    logger.error("a commit failed", metadata: ["error": "\(error)", "requests": "\(count)"])
                }
                let answer = OperationResult.error(WireError(error))
                deliver(batch.map { Array(repeating: answer, count: $0.operations.count) }, to: batch)
            }
            update { $0.delivered() }
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
