import GRDB
import Ledger
import LedgerSchema

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Whose books a database holds: recorded when it is created, required when it is opened.
package struct LedgerIdentity: Hashable, Sendable {
    package var bundleID: String
    package var environment: String

    package init(bundleID: String, environment: String) {
        self.bundleID = bundleID
        self.environment = environment
    }
}

/// Opening, creating and locking the file.
enum DatabaseFile {
    /// "CLdg": marks the file as one of ours (`PRAGMA application_id`).
    static let applicationID: Int64 = 0x434C_6467

    static func open(_ path: String, _ identity: LedgerIdentity, now: Timestamp) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "ledger"
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = SQLiteLimits.readersMax
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            if !db.configuration.readonly { try db.execute(sql: "PRAGMA temp_store = MEMORY") }
        }
        // Before anything is written: opening a pool makes a database a WAL one.
        if access(path, F_OK) == 0 {
            var reading = Configuration()
            reading.readonly = true
            reading.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: path, configuration: reading)
            try queue.read { db in try checkOwner(db, path) }
            try queue.close()
        }
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { db in
            // A reply means durable: every commit reaches the disk (https://sqlite.org/wal.html, "Performance Considerations").
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            try db.execute(sql: "PRAGMA cache_size = -\(SQLiteLimits.writerCacheKibibytes)")
        }
        var migrator = DatabaseMigrator()
        for migration in LedgerSchema.sqlite {
            migrator.registerMigration(migration.name) { db in try db.execute(sql: migration.sql) }
        }
        try migrator.migrate(pool)
        try pool.write { db in
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            try db.execute(
                sql:
                    "INSERT OR IGNORE INTO ledger (id, format, bundle_id, environment, created) VALUES (1, ?, ?, ?, ?)",
                arguments: [LedgerSchema.sqlite.count, identity.bundleID, identity.environment, now])
            try checkIdentity(db, path, identity)
        }
        return pool
    }

    static func openReadOnly(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.read { db in
            try checkOwner(db, path)
            guard try db.tableExists("ledger") else { throw StoreError("\(path) is not a ledger") }
        }
        return queue
    }

    /// Refuses another program's database, and one that a newer version wrote.
    private static func checkOwner(_ db: Database, _ path: String) throws {
        let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") ?? 0
        if tables == 0 { return }
        let mark = try Int64.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        let hasLedger = try db.tableExists("ledger")
        guard mark == applicationID || hasLedger else {
            throw StoreError("\(path) is a database of another program; it is left as it is")
        }
        guard hasLedger else { return }
        let format = try Int.fetchOne(db, sql: "SELECT format FROM ledger") ?? 0
        guard format <= LedgerSchema.sqlite.count else {
            throw StoreError(
                "\(path) has format \(format), written by a newer version; this one reads up to \(LedgerSchema.sqlite.count)"
            )
        }
    }

    private static func checkIdentity(_ db: Database, _ path: String, _ identity: LedgerIdentity) throws {
        guard let row = try Row.fetchOne(db, sql: "SELECT bundle_id, environment FROM ledger") else {
            throw StoreError("\(path) does not say whose ledger it is")
        }
        let recorded = LedgerIdentity(bundleID: row["bundle_id"], environment: row["environment"])
        guard recorded == identity else {
            throw StoreError(
                """
                \(path) is the ledger of \(recorded.bundleID) in \(recorded.environment), \
                not of \(identity.bundleID) in \(identity.environment)
                """)
        }
    }
}

/// The right to write a database, held by one process at a time. The kernel releases it when the process ends, however it ends.
final class WriterLock {
    private var descriptor: Int32

    init(_ path: String) throws {
        // One file, one lock, by whatever name it is opened.
        var target = path
        if let resolved = realpath(path, nil) {
            target = String(cString: resolved)
            free(resolved)
            var status = stat()
            if stat(target, &status) == 0, status.st_nlink > 1 {
                throw StoreError("\(path) has another hard link; SQLite and the writer's lock need a file of one name")
            }
        }
        let lockPath = target + "-lock"
        descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw StoreError("\(lockPath) cannot be opened: \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            release()
            throw StoreError("\(path) is open for writing in another process; a ledger has one writer")
        }
    }

    func release() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    deinit { release() }
}
