import GRDB
import GRDBSQLite
import Ledger
import Synchronization

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

// The call whose name is that of the checkpointer's method too.
private func closeFile(_ descriptor: Int32) { close(descriptor) }

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
    private let mark: CheckpointMark
    private let walPath: String
    /// The last block that is committed.
    private var committed: BlockNumber
    /// Pages at which is copied next: a WAL that could not begin anew is not tried again at once.
    private var next: Int
    private var warned: Int

    /// - Parameters:
    ///   - writer: the writer's connection, whose own checkpoints are turned off.
    ///   - committed: the last block that the tables have.
    init(
        _ writer: Database, _ bounds: SQLiteBounds, _ path: String, committed: BlockNumber,
        warn: @escaping @Sendable (String) -> Void
    ) {
        let mark = CheckpointMark(tables: path)
        walPath = path + "-wal"
        self.warn = warn
        self.mark = mark
        self.committed = committed
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
    func reserve() {
        let descriptor = open(walPath, O_WRONLY | O_CLOEXEC)
        if descriptor < 0 { return }
        defer { closeFile(descriptor) }
        _ = posix_fallocate(descriptor, 0, off_t(bounds.walBytesReserved))
    }

    /// Pages in the WAL, as of the last commit.
    var pages: Int { gauge.pages.load(ordering: .relaxed) }

    /// Whether the WAL may not grow any more, unless ``checkRoom(_:)`` makes room.
    var isFull: Bool { pages >= bounds.walPagesMax }

    /// To be called outside of a transaction.
    /// - Throws: ``StoreError`` where the WAL may not grow any more.
    func checkRoom(_ db: Database) throws {
        if !isFull { return }
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
    func committed(_ block: BlockNumber, _ db: Database) {
        committed = block
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
        // With a limit the last connection that is closed gives the file's room back.
        sqlite3_exec(writer.sqliteConnection, "PRAGMA journal_size_limit = -1", nil, nil, nil)
        sqlite3_wal_checkpoint_v2(writer.sqliteConnection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        reserve()
    }

    /// How many pages the WAL has and how many of them are in the database; `nil` where it could not be done, or
    /// another process is doing it.
    private func checkpoint(_ db: Database) -> (pages: Int, copied: Int)? {
        guard mark.write(committed) else { return nil }
        var pages: Int32 = 0
        var copied: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(db.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied)
        return code == SQLITE_OK ? (Int(pages), Int(copied)) : nil
    }
}

/// The last block of which pages may have been copied out of the WAL, in a small file beside the tables that is durable
/// before each checkpoint.
///
/// SQLite takes a WAL that is damaged in its middle, or is gone, as one that ends there. Pages that were copied from
/// behind that place are in the database all the same: an old inner page of a tree then stands over new leaves, and
/// rows that were there for long are out of its reach. So tables that name an earlier block than this are not to be
/// gone on with.
struct CheckpointMark {
    static let suffix = "-checkpoint"
    /// Of the largest number.
    private static let digits = 19

    private let path: String

    /// - Parameter tables: the path of the tables.
    init(tables: String) { path = tables + CheckpointMark.suffix }

    /// 0 where there is none; `nil` where it cannot be read.
    func read() -> BlockNumber? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { return errno == ENOENT ? 0 : nil }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: CheckpointMark.digits + 2) { memory in
            let count = pread(descriptor, memory.baseAddress, memory.count, 0)
            // Of the first one nothing may have come to be written; then no page was copied either.
            if count == 0 { return 0 }
            guard count == CheckpointMark.digits + 1, memory[count - 1] == UInt8(ascii: "\n") else { return nil }
            return BlockNumber(String(decoding: memory[..<(count - 1)], as: UTF8.self))
        }
    }

    /// `false` where it cannot be written.
    func write(_ block: BlockNumber) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor < 0 { return false }
        defer { close(descriptor) }
        let text = String(block)
        let line = String(repeating: "0", count: CheckpointMark.digits - text.utf8.count) + text + "\n"
        return pwrite(descriptor, line, line.utf8.count, 0) == line.utf8.count && fdatasync(descriptor) == 0
    }
}
