import HeadSigning
import Ledger
import Synchronization

/// Reads what sessions ask for, beside the writer, on threads of its own, in the turns of their tenants. A session has
/// no more than one read here, so their number bounds what waits.
///
/// A read ends without an answer where its client is gone, and is answered ``Fault/overloaded`` where it takes too long
/// or the ledger stops. Reports and blocks have threads of their own, so that nobody else's read waits for them.
final class Readers: Sendable {
    /// Threads, and what waits for one of them.
    private final class Pool: Sendable {
        private let threads: WorkerPool
        private let waiting = Monitor(ReadTurns<WorkerPool.Work>())

        init(_ name: String, threads: Int) throws { self.threads = try WorkerPool(name, threads: threads) }

        func submit(of tenant: Tenant, _ read: @escaping WorkerPool.Work) {
            waiting.withLock { $0.append(read, of: tenant) }
            // Whichever is next then.
            threads.submit { self.waiting.withLock { $0.popFirst() }?() }
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
        threads = try Pool("ledger-read", threads: limits.readerThreads)
        ofReports = try Pool("ledger-report", threads: limits.reportThreads)
        ofBlocks = try Pool("ledger-blocks", threads: 1)
    }

    private func threads(for query: Query) -> Pool {
        switch query {
        case .report: ofReports
        case .blocks: ofBlocks
        case .history, .balances, .journal, .purchase, .find, .head: threads
        }
    }

    /// Calls `done` with the answer, on a reader's thread.
    /// - Parameters:
    ///   - tenant: in whose turns it is read.
    ///   - isWanted: asked when the read's turn has come, and while it is read; where nobody wants it any more nothing
    ///     is read, and `done` is not called.
    func read(
        _ query: Query, of tenant: Tenant, isWanted: @escaping @Sendable () -> Bool,
        done: @escaping @Sendable (Answer) -> Void
    ) {
        threads(for: query).submit(of: tenant) {
            guard isWanted() else { return }
            let end = monotonicNanoseconds() + self.limits.readMilliseconds * 1_000_000
            let condition = ReadCondition {
                isWanted() && !self.isStopped.load(ordering: .relaxed) && monotonicNanoseconds() < end
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
