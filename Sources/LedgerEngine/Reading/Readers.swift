import HeadSigning
import Ledger
import Synchronization

/// Reads what sessions ask for, beside the writer, on threads of its own, in the turns of their tenants. A session has
/// no more than one read here, so their number bounds what waits.
///
/// A read ends without an answer where its client is gone, and is answered ``Fault/overloaded`` where its time is over
/// before it is read, or the ledger stops. Reports and blocks have threads of their own, so that nobody else's read
/// waits for them.
final class Readers: Sendable {
    /// Threads, and what waits for one of them. Where there are several a tenant never has all of them, so that others
    /// do not wait for reads that take long.
    private final class Pool: Sendable {
        private struct Read: Sendable {
            let tenant: ObjectIdentifier
            let body: WorkerPool.Work
        }

        private struct State {
            var waiting = TenantTurns<Read>()
            /// How many reads of each tenant are under way.
            var running: [ObjectIdentifier: Int] = [:]
        }

        private let threads: WorkerPool
        private let runningMax: Int
        private let state = Monitor(State())

        init(_ name: String, threads: Int, niceness: Int32) throws {
            runningMax = max(threads - 1, 1)
            self.threads = try WorkerPool(name, threads: threads) {
                beNicer(by: niceness)
                TimeSlices.ofGivingWay.ask()
            }
        }

        func submit(of tenant: Tenant, _ read: @escaping WorkerPool.Work) {
            state.withLock { $0.waiting.append(Read(tenant: ObjectIdentifier(tenant), body: read), of: tenant) }
            threads.submit { self.readAll() }
        }

        /// Reads until nothing waits that may be read: what may not has its tenant's threads, one of which comes to it.
        private func readAll() {
            while let read = next() {
                read.body()
                state.withLock { state in
                    let left = (state.running[read.tenant] ?? 0) - 1
                    state.running[read.tenant] = left == 0 ? nil : left
                }
            }
        }

        /// Whichever is next in turn.
        private func next() -> Read? {
            state.withLock { state in
                let running = state.running
                let read = state.waiting.popFirst { running[$0.tenant, default: 0] < runningMax }
                if let read { state.running[read.tenant, default: 0] += 1 }
                return read
            }
        }

        func stop() { threads.stop() }
    }

    private let store: any Store
    private let signer: HeadSigner?
    private let limits: EngineLimits
    private let threads: Pool
    private let ofReports: Pool
    private let ofBlocks: Pool
    private let isStopped = Atomic(false)
    private let report: @Sendable (LedgerEvent) -> Void

    /// - Throws: ``StoreError`` where the system has no more threads.
    init(
        store: any Store, signer: HeadSigner?, limits: EngineLimits, report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        self.store = store
        self.signer = signer
        self.limits = limits
        self.report = report
        threads = try Pool("ledger-read", threads: limits.readerThreads, niceness: limits.readerNiceness)
        ofReports = try Pool("ledger-report", threads: limits.reportThreads, niceness: limits.reportNiceness)
        ofBlocks = try Pool("ledger-blocks", threads: 1, niceness: 0)
    }

    private func threads(for query: Query) -> Pool {
        switch query {
        case .report: ofReports
        case .blocks: ofBlocks
        case .history, .lots, .holds, .balances, .journal, .purchase, .find, .appStoreWork, .head, .closing, .stepDown:
            threads
        }
    }

    /// When the time is over of a read that begins now: its wait for memory, that for its turn, and the reading. By the
    /// monotonic clock, in nanoseconds.
    var deadline: UInt64 { monotonicNanoseconds() + limits.readMilliseconds * 1_000_000 }

    /// Calls `done` with the answer, on a reader's thread.
    /// - Parameters:
    ///   - tenant: in whose turns it is read.
    ///   - deadline: what ``deadline`` was when it began.
    ///   - isWanted: asked when the read's turn has come, and while it is read; where nobody wants it any more nothing
    ///     is read, and `done` is not called.
    func read(
        _ query: Query, of tenant: Tenant, until deadline: UInt64, isWanted: @escaping @Sendable () -> Bool,
        done: @escaping @Sendable (Answer) -> Void
    ) {
        threads(for: query).submit(of: tenant) {
            guard isWanted() else { return }
            if monotonicNanoseconds() >= deadline { return done(.failure(.overloaded)) }
            let condition = ReadCondition {
                giveWay()
                return isWanted() && !self.isStopped.load(ordering: .relaxed) && monotonicNanoseconds() < deadline
            }
            do {
                let outcome = try ReadCondition.$current.withValue(condition) {
                    try query.answer(from: self.store, signer: self.signer)
                }
                done(.success(outcome))
            } catch let fault as Fault {
                done(.failure(fault))
            } catch is ReadEnded {
                if isWanted() { done(.failure(.overloaded)) }
            } catch {
                self.report(.readFailed("\(error)"))
                done(.failure((error as? StoreError).map { .store($0) } ?? .unexpected("\(error)")))
            }
        }
    }

    /// Ends its threads, and what they read.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        threads.stop()
        ofReports.stop()
        ofBlocks.stop()
    }
}
