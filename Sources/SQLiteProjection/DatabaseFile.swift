import GRDB
import GRDBSQLite
import Ledger
import LedgerSchema

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Why tables were not opened: a kind, by which callers decide, then words.
package struct ProjectionOpeningError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// Another program's database, or a ledger of another kind: it was left as it is, and must be.
        case foreign
        /// Tables of ours that cannot be gone on with: damaged, of another form, or of another ledger. The caller
        /// deletes them (``SQLiteProjection/remove(at:)``) and computes them anew from the log.
        case rebuild
        /// It cannot be read now.
        case unavailable
    }

    package var kind: Kind
    package var description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

/// Opening and creating the file.
enum DatabaseFile {
    /// "CLdg": marks the file as one of ours (`PRAGMA application_id`).
    static let applicationID: Int64 = 0x434C_6467

    /// Opens the tables at `path`, or creates them where there is no file, or an empty one.
    /// - Throws: ``ProjectionOpeningError``
    static func open(_ path: String, _ ledger: Journal.LedgerRow) throws -> (pool: DatabasePool, loader: DatabaseQueue)
    {
        try opening(path) {
            // Before anything is written: opening a pool makes a database a WAL one.
            let isNew = try isAbsentOrEmpty(path)
            if !isNew { try check(path, ledger) }
            var configuration = Configuration()
            configuration.label = "projection"
            configuration.foreignKeysEnabled = false
            configuration.maximumReaderCount = SQLiteLimits.readersMax
            configuration.busyMode = .timeout(SQLiteLimits.busySeconds)
            // Transactions are begun and ended by statements of ours.
            configuration.allowsUnsafeTransactions = true
            configuration.prepareDatabase { db in
                guard db.configuration.readonly else { return }
                try db.execute(sql: "PRAGMA cache_size = -\(SQLiteLimits.readerCacheKibibytes)")
            }
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.writeWithoutTransaction { db in
                // A commit that power takes away is applied again from the log.
                try db.execute(sql: "PRAGMA synchronous = NORMAL")
                try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
                try db.execute(sql: "PRAGMA journal_size_limit = \(SQLiteLimits.walBytesKept)")
                try db.execute(sql: "PRAGMA cache_size = -\(SQLiteLimits.writerCacheKibibytes)")
                try db.execute(sql: "PRAGMA temp_store = MEMORY")
                if isNew { try create(db) }
            }
            var reading = configuration
            reading.readonly = true
            return (pool, try DatabaseQueue(path: path, configuration: reading))
        }
    }

    /// - Throws: ``ProjectionOpeningError``
    static func openReadOnly(_ path: String) throws -> DatabaseQueue {
        try opening(path) {
            let queue = try readOnlyQueue(path)
            try queue.read { db in try checkForm(db, path) }
            return queue
        }
    }

    private static func readOnlyQueue(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(SQLiteLimits.busySeconds)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func create(_ db: Database) throws {
        try db.execute(sql: "BEGIN IMMEDIATE")
        do {
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            try db.execute(sql: LedgerSchema.projection)
            let row = try PreparedStatement(db, StoredState.insert)
            StoredState().bind(to: row)
            try row.run()
            try db.execute(sql: "COMMIT")
        } catch {
            if db.isInsideTransaction { try db.execute(sql: "ROLLBACK") }
            throw error
        }
    }

    private static func isAbsentOrEmpty(_ path: String) throws -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT { return true }
            throw ProjectionOpeningError(.unavailable, "\(path): \(String(cString: strerror(errno)))")
        }
        if status.st_size == 0 { return true }
        let queue = try readOnlyQueue(path)
        // A start that ended before the tables were there leaves a database with nothing in it.
        return try queue.read { db in
            try tableNames(db).isEmpty && Int64.fetchOne(db, sql: "PRAGMA application_id") == 0
        }
    }

    private static func check(_ path: String, _ ledger: Journal.LedgerRow) throws {
        try readOnlyQueue(path).read { db in
            try checkForm(db, path)
            let state = try StoredState(db)
            if let recorded = state.ledger, recorded != ledger {
                throw ProjectionOpeningError(
                    .rebuild,
                    """
                    \(path) has the tables of \(recorded.bundleID) in \(recorded.environment), not of \
                    \(ledger.bundleID) in \(ledger.environment)
                    """)
            }
            guard (state.ledger == nil) == (state.head == nil) else {
                throw ProjectionOpeningError(.rebuild, "\(path) does not say whose ledger it is")
            }
        }
    }

    /// Refuses another program's database, and asks for tables of another form to be computed anew.
    private static func checkForm(_ db: Database, _ path: String) throws {
        let tables = try tableNames(db)
        let mark = try Int64.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        // A database with a table `ledger` is a whole ledger, as versions before the log of blocks kept it.
        guard mark == applicationID, !tables.contains("ledger") else {
            throw ProjectionOpeningError(
                .foreign, "\(path) is a database of another program, or a ledger; it is left as it is")
        }
        guard tables.contains("projection") else {
            throw ProjectionOpeningError(.rebuild, "\(path) lacks tables")
        }
        let format = try Int64.fetchOne(db, sql: "SELECT format FROM projection WHERE id = 1")
        guard let format else { throw ProjectionOpeningError(.rebuild, "\(path) does not say what it holds") }
        guard format == LedgerSchema.projectionFormat else {
            throw ProjectionOpeningError(
                .rebuild, "\(path) has tables of form \(format), not \(LedgerSchema.projectionFormat)")
        }
    }

    private static func tableNames(_ db: Database) throws -> Set<String> {
        try String.fetchSet(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
    }

    /// Gives every error a kind.
    static func opening<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as ProjectionOpeningError {
            throw error
        } catch let error as DatabaseError {
            // A header that was changed can make SQLite take a file that may be written for one that may not.
            let isMarkedReadOnly = error.extendedResultCode == .SQLITE_READONLY && access(path, W_OK) == 0
            throw ProjectionOpeningError(
                error.isDamage || isMarkedReadOnly ? .rebuild : .unavailable, "\(path): \(error.sentence)")
        } catch let error as StoreError {
            throw ProjectionOpeningError(error.kind == .corrupt ? .rebuild : .unavailable, "\(path): \(error)")
        }
    }

    static func remove(at path: String) throws {
        for suffix in ["", "-wal", "-shm", "-journal"] where unlink(path + suffix) != 0 && errno != ENOENT {
            throw StoreError("\(path + suffix) cannot be deleted: \(String(cString: strerror(errno)))")
        }
    }
}

extension DatabaseError {
    /// Whether what is stored is not what was written.
    var isDamage: Bool {
        switch resultCode.primaryResultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_ERROR, .SQLITE_FORMAT: true
        default: false
        }
    }

    /// Code, message and statement, but no values.
    var sentence: String {
        let sql = sql.map { " in: \($0)" } ?? ""
        return "SQLite error \(resultCode.rawValue): \(message ?? "")\(sql)"
    }
}
