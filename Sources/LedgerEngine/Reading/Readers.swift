import Ledger

/// Reads what sessions ask for, beside the writer, on threads of its own: first come, first served. A session has no
/// more than one read here, so the sessions take turns.
final class Readers: Sendable {
    /// Where a session waits before the journal is read.
    let feed: JournalFeed
    private let store: any Store
    private let threads: WorkerPool
    private let report: @Sendable (LedgerEvent) -> Void

    /// - Throws: ``StoreError`` where the system has no more threads.
    init(
        store: any Store, feed: JournalFeed, limits: EngineLimits, report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws {
        self.store = store
        self.feed = feed
        self.report = report
        threads = try WorkerPool("ledger-read", threads: limits.readerThreads)
    }

    /// Calls `done` with the answer, on a reader's thread.
    func read(_ query: Query, done: @escaping @Sendable (Answer) -> Void) {
        threads.submit {
            do {
                done(.success(try query.answer(from: self.store)))
            } catch {
                self.report(.readFailed("\(error)"))
                done(.failure((error as? StoreError).map { .store($0) } ?? .unexpected("\(error)")))
            }
        }
    }

    /// Ends its threads, when what was asked is read.
    func stop() { threads.stop() }
}
