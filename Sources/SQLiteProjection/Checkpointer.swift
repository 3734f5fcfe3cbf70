import GRDB
import GRDBSQLite
import Ledger
import Synchronization

/// Copies the WAL into the database, on the thread that applies blocks, after a commit: no reader and no loader waits
/// for it, nor it for them (https://sqlite.org/wal.html, "Checkpointing").
///
/// When all was copied and nobody reads what the WAL holds, the next commit begins it anew. A read that goes on keeps
/// it from that; then the WAL grows, the operator is told, and at the end nothing more is applied.
final class Checkpointer {
    /// What SQLite says after each commit: the pages in the WAL. Written on the writer's connection, read anywhere.
    private final class Gauge: Sendable {
        let pages = Atomic(0)
    }

    private let gauge = Gauge()
    private let warn: @Sendable (String) -> Void
    private let bounds: SQLiteBounds
    /// Pages at which is copied next: a WAL that could not begin anew is not tried again at once.
    private var next: Int
    private var warned: Int

    /// - Parameter writer: the writer's connection, whose own checkpoints are turned off.
    init(_ writer: Database, _ bounds: SQLiteBounds, warn: @escaping @Sendable (String) -> Void) {
        self.warn = warn
        self.bounds = bounds
        next = bounds.checkpointPages
        warned = bounds.walPagesWarned
        sqlite3_wal_hook(
            writer.sqliteConnection,
            { context, _, _, pages in
                if let context {
                    let gauge = Unmanaged<Gauge>.fromOpaque(context).takeUnretainedValue()
                    gauge.pages.store(Int(pages), ordering: .relaxed)
                }
                return SQLITE_OK
            }, Unmanaged.passUnretained(gauge).toOpaque())
    }

    /// Pages in the WAL, as of the last commit.
    var pages: Int { gauge.pages.load(ordering: .relaxed) }

    /// To be asked before each transaction of the writer.
    /// - Throws: ``StoreError`` where the WAL may not grow any more.
    func checkRoom(_ db: Database) throws {
        if pages < bounds.walPagesMax { return }
        // The read that kept it may have ended.
        _ = checkpoint(db)
        guard let state = checkpoint(db), state.copied == state.pages else {
            throw StoreError(
                """
                the log of the tables (WAL) has \(pages) pages, because someone has kept a read of them open since; \
                nothing is applied until that ends
                """)
        }
    }

    /// To be called after each commit.
    ///
    /// A checkpoint that fails takes nothing away, for the WAL has it all; it is tried again when the WAL has grown.
    func committed(_ db: Database) {
        if pages < next {
            if pages < bounds.checkpointPages { (next, warned) = (bounds.checkpointPages, bounds.walPagesWarned) }
            return
        }
        _ = checkpoint(db)
        next = pages + bounds.checkpointPages
        if pages >= warned {
            warned = pages * 2
            warn("the log of the tables (WAL) has \(pages) pages: someone keeps a read of them open")
        }
    }

    func close(_ writer: Database) {
        sqlite3_wal_hook(writer.sqliteConnection, nil, nil)
        _ = checkpoint(writer)
        // Nothing is left in the WAL that another program might copy, which knows nothing of the pages' checksums.
        // Where someone reads, it stays.
        sqlite3_busy_timeout(writer.sqliteConnection, 0)
        sqlite3_wal_checkpoint_v2(writer.sqliteConnection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    }

    /// How many pages the WAL has and how many of them are in the database; `nil` where it could not be done, or
    /// another process is doing it.
    private func checkpoint(_ db: Database) -> (pages: Int, copied: Int)? {
        var pages: Int32 = 0
        var copied: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(db.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied)
        return code == SQLITE_OK ? (Int(pages), Int(copied)) : nil
    }
}
