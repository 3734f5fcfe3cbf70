import GRDB
import GRDBSQLite
import Synchronization

/// Copies the WAL into the database beside the writer, so that no commit waits for it.
///
/// A pass on a connection of its own copies what the WAL holds while commits go on; passes follow each other until
/// little is left. That rest the writer copies itself between two commits: only when everything is copied does SQLite begin the WAL
/// anew (https://sqlite.org/wal.html, "Checkpointing"), and only the writer can be sure that nothing is added meanwhile.
///
/// The writer's thread decides, and alone touches what is not atomic; a pass runs on its connection's queue.
final class Checkpointer: @unchecked Sendable {
    /// What SQLite says after each commit: the frames in the WAL. Written and read on the writer's connection.
    private final class Gauge {
        var frames = 0
    }

    private let connection: DatabaseQueue
    private let gauge = Gauge()
    /// Whether a pass is going on.
    private let isPassing = Atomic(false)
    /// Frames that the last pass found copied when it ended.
    private let copied = Atomic(0)
    /// Whether a pass has ended since the writer looked.
    private let hasPassed = Atomic(false)
    /// Frames at which the writer copies whatever there is, though it takes long.
    private var framesMax = SQLiteLimits.walPagesMax

    /// - Parameter writer: the writer's connection, whose own checkpoints are turned off.
    init(_ path: String, writer: Database) throws {
        var configuration = Configuration()
        configuration.label = "checkpoints"
        configuration.busyMode = .immediateError
        connection = try DatabaseQueue(path: path, configuration: configuration)
        try connection.writeWithoutTransaction { db in
            // A page is in the database for good before the WAL that held it is written over.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        }
        sqlite3_wal_hook(
            writer.sqliteConnection,
            { context, _, _, frames in
                if let context { Unmanaged<Gauge>.fromOpaque(context).takeUnretainedValue().frames = Int(frames) }
                return SQLITE_OK
            }, Unmanaged.passUnretained(gauge).toOpaque())
    }

    /// To be called after each commit, on the writer's thread.
    ///
    /// A checkpoint that fails takes nothing away: the WAL has it all, and grows until the disk is full, which fails commits. So
    /// it does not fail the batch that is durable already.
    func committed(_ db: Database) {
        let frames = gauge.frames
        if isPassing.load(ordering: .acquiring) { return }
        if hasPassed.exchange(false, ordering: .acquiringAndReleasing),
            frames - copied.load(ordering: .acquiring) <= SQLiteLimits.checkpointRestMax
        {
            return finish(db)
        }
        if frames >= framesMax {
            finish(db)
            // A reader may keep the WAL from beginning anew: then the next try is not at the next commit.
            framesMax = max(SQLiteLimits.walPagesMax, frames + SQLiteLimits.checkpointPages)
        } else if frames >= SQLiteLimits.checkpointPages {
            pass()
        }
    }

    /// Copies what is left: the next commit begins the WAL anew if all was copied.
    private func finish(_ db: Database) {
        guard let pass = Checkpointer.checkpoint(db), pass.copied == pass.frames else { return }
        gauge.frames = 0
        copied.store(0, ordering: .releasing)
        framesMax = SQLiteLimits.walPagesMax
    }

    private func pass() {
        isPassing.store(true, ordering: .releasing)
        connection.asyncWriteWithoutTransaction { [self] db in
            if let pass = Checkpointer.checkpoint(db) { copied.store(pass.copied, ordering: .releasing) }
            hasPassed.store(true, ordering: .releasing)
            isPassing.store(false, ordering: .releasing)
        }
    }

    /// Waits for a pass that is going on and gives the connection back.
    func close(_ writer: Database) throws {
        sqlite3_wal_hook(writer.sqliteConnection, nil, nil)
        try connection.close()
    }

    /// How many frames the WAL has and how many of them are in the database; `nil` where it could not be done, or another process
    /// is doing it.
    private static func checkpoint(_ db: Database) -> (frames: Int, copied: Int)? {
        var frames: Int32 = 0
        var copied: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(db.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, &frames, &copied)
        return code == SQLITE_OK ? (Int(frames), Int(copied)) : nil
    }
}
