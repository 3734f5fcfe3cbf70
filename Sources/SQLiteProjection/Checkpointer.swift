import GRDB
import GRDBSQLite
import Ledger
import Synchronization

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Copies the WAL into the database, on the thread that applies blocks, after a commit: no reader and no loader waits
/// for it, nor it for them (https://sqlite.org/wal.html, "Checkpointing"). It has a connection of its own, for the
/// writer's keeps the lock for writing meanwhile.
///
/// When all was copied and nobody reads what the WAL holds, the next commit begins it anew. A read that goes on keeps
/// it from that; then the WAL grows, the operator is told, and at the end nothing more is applied.
final class Checkpointer {
    /// What SQLite says after each commit: the pages in the WAL. Written on the writer's thread, read anywhere.
    private final class Gauge: Sendable {
        let pages = Atomic(0)
        /// Checkpoints that copied something.
        let checkpoints = Atomic(0)
    }

    private let gauge = Gauge()
    private let copier: DatabaseQueue
    private let warn: @Sendable (String) -> Void
    private let bounds: SQLiteBounds
    private let mark: CheckpointMark
    private let sums: PageSums
    private let log: WriteAheadLog
    /// What the mark says.
    private var marked: CheckpointMark.Content
    /// Whether the mark names the commit that the WAL ends with.
    private var isCommitMarked = false
    /// Why nothing could be copied last time.
    private var fault: String?
    /// Whether the WAL or its index is not what this program wrote: then nothing can ever be copied.
    private(set) var isDamaged = false
    /// The last block that is committed.
    private var committed: BlockNumber
    /// Pages at which is copied next: a WAL that could not begin anew is not tried again at once.
    private var next: Int
    private var warned: Int

    /// - Parameters:
    ///   - writer: the writer's connection, whose own checkpoints are turned off.
    ///   - copier: the connection that copies.
    ///   - sums: of the pages that are written into the database.
    ///   - committed: the last block that the tables have.
    ///   - marked: what the mark says.
    init(
        _ writer: Database, _ copier: DatabaseQueue, _ bounds: SQLiteBounds, _ path: String, _ sums: PageSums,
        committed: BlockNumber, marked: CheckpointMark.Content, warn: @escaping @Sendable (String) -> Void
    ) {
        self.copier = copier
        let mark = CheckpointMark(tables: path)
        log = WriteAheadLog(tables: path)
        self.warn = warn
        self.mark = mark
        self.sums = sums
        self.committed = committed
        self.marked = marked
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

    /// Has the WAL's file take its room on the disk, in zeros, which SQLite takes as the end of the WAL
    /// (https://sqlite.org/fileformat2.html#walformat). Where there is no room now, the WAL grows as far as it can.
    func reserve() { log.reserve(bounds.walBytesReserved) }

    /// Pages in the WAL, as of the last commit.
    var pages: Int { gauge.pages.load(ordering: .relaxed) }

    /// How often it was copied.
    var checkpoints: Int { gauge.checkpoints.load(ordering: .relaxed) }

    /// Whether the WAL may not grow any more, unless ``copy()`` makes room.
    var isFull: Bool { pages >= bounds.walPagesMax }

    /// Why the WAL grows.
    var reason: String { fault.map { "it cannot be copied: \($0)" } ?? "someone keeps a read of them open" }

    /// To be called after each commit.
    func committed(_ block: BlockNumber) {
        committed = block
        noteCommit()
        if pages < bounds.checkpointPages { (next, warned) = (bounds.checkpointPages, bounds.walPagesWarned) }
    }

    /// Whether so much was written since the last time that ``copy()`` is to be called.
    var isDue: Bool { pages >= next }

    /// Copies the WAL. To be called while the writer has the lock for writing and has written nothing, so that nothing
    /// is copied that another program wrote. The writer's next transaction begins the WAL anew where all was copied.
    ///
    /// A checkpoint that fails takes nothing away, for the WAL has it all; it is tried again when the WAL has grown.
    /// - Returns: whether all was copied.
    @discardableResult
    func copy() -> Bool {
        let isWhole = checkpoint()
        next = pages + bounds.checkpointPages
        if pages >= warned {
            warned = pages * 2
            warn("the log of the tables (WAL) has \(pages) pages: \(reason)")
        }
        return isWhole
    }

    /// Whether the WAL's last commit is the first one after another.
    func isNextCommit(after earlier: WALCommit) -> Bool {
        log.commit(endingWith: pages).map { log.follows($0, earlier) } ?? false
    }

    /// What the WAL ends with is ours; what another program adds to it, while this one does not run, is not.
    ///
    /// Where it cannot be noted, a start goes on from an earlier commit. No page is copied before it is noted.
    func noteCommit() {
        isCommitMarked = false
        guard pages > 0, let commit = log.commit(endingWith: pages) else { return }
        marked.commit = commit
        isCommitMarked = mark.write(marked, isDurable: false)
    }

    /// To be called when all was copied, and the lock for writing is given back.
    func close(_ writer: Database) {
        sqlite3_wal_hook(writer.sqliteConnection, nil, nil)
        // Nothing is left in the WAL that another program might copy, which knows nothing of the pages' checksums.
        // Where someone reads, it stays.
        sqlite3_busy_timeout(writer.sqliteConnection, 0)
        // With a limit the last connection that is closed gives the file's room back.
        sqlite3_exec(writer.sqliteConnection, "PRAGMA journal_size_limit = -1", nil, nil, nil)
        let code = sqlite3_wal_checkpoint_v2(writer.sqliteConnection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        if code == SQLITE_OK {
            marked.commit = WALCommit()
            _ = mark.write(marked, isDurable: false)
        }
        reserve()
    }

    /// - Returns: whether all pages that the WAL has are in the database.
    private func checkpoint() -> Bool {
        // What the mark says is in the WAL must be there whatever happens: SQLite would sync it only after this.
        guard isCommitMarked, log.sync() else {
            fault = "its end could not be noted"
            return false
        }
        marked.copied = committed
        marked.synced = marked.commit
        guard mark.write(marked, isDurable: true) else {
            fault = "how far it is copied cannot be noted: \(String(cString: strerror(errno)))"
            return false
        }
        sums.note(copied: committed)
        return copier.inDatabase { db in
            var pages: Int32 = -1
            var copied: Int32 = -1
            let code = sqlite3_wal_checkpoint_v2(db.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied)
            let extended = sqlite3_extended_errcode(db.sqliteConnection)
            fault = code == SQLITE_OK ? nil : "SQLite error \(extended)"
            if code == SQLITE_OK { gauge.checkpoints.wrappingAdd(1, ordering: .relaxed) }
            isDamaged = isDamaged || code != SQLITE_OK && extended == PageChecks.ioErrorData
            return code == SQLITE_OK && pages >= 0 && copied == pages
        }
    }
}
