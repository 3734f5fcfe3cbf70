import HeadSigning
import Ledger

/// Reads what sessions ask for, beside the writer, on threads of its own: first come, first served. A session has no
/// more than one read here, so the sessions take turns, and their number bounds what waits.
final class Readers: Sendable {
    private let store: any Store
    private let signer: HeadSigner?
    private let threads: WorkerPool
    /// Of one thread, so that no standby waits for a report.
    private let ofBlocks: WorkerPool
    private let report: @Sendable (LedgerEvent) -> Void

    /// - Throws: ``StoreError`` where the system has no more threads.
    init(
        store: any Store, signer: HeadSigner?, limits: EngineLimits, report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        self.store = store
        self.signer = signer
        self.report = report
        threads = try WorkerPool("ledger-read", threads: limits.readerThreads)
        ofBlocks = try WorkerPool("ledger-blocks", threads: 1)
    }

    /// Calls `done` with the answer, on a reader's thread.
    /// - Parameter isWanted: asked when the read's turn has come; where nobody wants it any more nothing is read, and
    ///   `done` is not called.
    func read(
        _ query: Query, isWanted: @escaping @Sendable () -> Bool, done: @escaping @Sendable (Answer) -> Void
    ) {
        (query.isOfBlocks ? ofBlocks : threads).submit {
            guard isWanted() else { return }
            do {
                done(.success(try query.answer(from: self.store, signer: self.signer)))
            } catch let fault as Fault {
                done(.failure(fault))
            } catch {
                self.report(.readFailed("\(error)"))
                done(.failure((error as? StoreError).map { .store($0) } ?? .unexpected("\(error)")))
            }
        }
    }

    /// Ends its threads, when what was asked is read.
    func stop() {
        threads.stop()
        ofBlocks.stop()
    }
}
