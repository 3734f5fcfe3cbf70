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

    /// What is known of tables that are opened, besides what they say themselves.
    struct Known {
        let sums: PageSums
        let mark: CheckpointMark.Content
        /// What the write-ahead log ends with; `nil` where it is not begun yet.
        let end: WALCommit?
    }

    /// Opens the tables at `path`, or creates them where there is no file, or an empty one.
    /// - Throws: ``ProjectionOpeningError``
    static func open(_ path: String, _ ledger: BlockRows.LedgerRow) throws
        -> (pool: DatabasePool, loader: DatabaseQueue, copier: DatabaseQueue, known: Known, isNew: Bool)
    {
        try opening(path, whenBusy: .rebuild) {
            // Before anything is written: opening a pool makes a database a WAL one.
            for suffix in suffixes { try checkKind(path + suffix) }
            let found = try isAbsentOrEmpty(path) ? nil : check(path, ledger)
            let isNew = found == nil
            let known = try found ?? begin(path)
            var configuration = Configuration()
            configuration.label = "projection"
            configuration.foreignKeysEnabled = false
            configuration.maximumReaderCount = SQLiteLimits.readersMax
            configuration.busyMode = .timeout(SQLiteLimits.busySeconds)
            // Transactions are begun and ended by statements of ours.
            configuration.allowsUnsafeTransactions = true
            configuration.prepareDatabase { db in
                keepWAL(db)
                if db.configuration.readonly {
                    try db.execute(sql: "PRAGMA cache_size = -\(SQLiteLimits.readerCacheKibibytes)")
                } else if isNew {
                    // In the file itself before it has a write-ahead log, so that its header always says whose it is.
                    PageChecks.reserve(in: db.sqliteConnection)
                    try db.execute(sql: "PRAGMA application_id = \(applicationID)")
                }
            }
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.writeWithoutTransaction { db in
                // A commit that power takes away is applied again from the log.
                try db.execute(sql: "PRAGMA synchronous = NORMAL")
                try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
                try db.execute(sql: "PRAGMA journal_size_limit = \(SQLiteLimits.walBytesKept)")
                try db.execute(sql: "PRAGMA cache_size = -\(SQLiteLimits.writerCacheKibibytes)")
                try db.execute(sql: "PRAGMA temp_store = MEMORY")
                // A page that is written twice in one transaction would stand in the log with a sum of before.
                try db.execute(sql: "PRAGMA cache_spill = OFF")
                if isNew { try create(db) }
            }
            var reading = configuration
            reading.readonly = true
            var copying = Configuration()
            copying.busyMode = configuration.busyMode
            copying.prepareDatabase { db in keepWAL(db) }
            return (
                pool, try DatabaseQueue(path: path, configuration: reading),
                try DatabaseQueue(path: path, configuration: copying), known, isNew
            )
        }
    }

    /// Makes what stands beside tables that have no page yet.
    private static func begin(_ path: String) throws -> Known {
        try remove(at: path)
        let mark = CheckpointMark.Content()
        guard PageSums.create(tables: path), let sums = PageSums(tables: path),
            CheckpointMark(tables: path).write(mark, isDurable: true)
        else { throw ProjectionOpeningError(.unavailable, "\(path): \(String(cString: strerror(errno)))") }
        PageChecks.expectNewest(sums, at: path)
        return Known(sums: sums, mark: mark, end: nil)
    }

    /// Has the write-ahead log's file stay where it is when the last connection is closed, with the room that it has.
    private static func keepWAL(_ db: Database) {
        var keeps: Int32 = 1
        _ = sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_PERSIST_WAL, &keeps)
    }

    /// Opens tables that nobody else of this process has open.
    /// - Parameter keepsTransactions: whether a transaction may stay open from one access to the next.
    /// - Throws: ``ProjectionOpeningError``
    static func openReadOnly(_ path: String, keepsTransactions: Bool = false) throws -> DatabaseQueue {
        try opening(path) {
            for suffix in suffixes { try checkKind(path + suffix) }
            if try isEmpty(path) { throw ProjectionOpeningError(.rebuild, "\(path) is empty") }
            try expectChecks(path)
            let queue = try readOnlyQueue(path, keepsTransactions: keepsTransactions)
            guard try queue.read({ db in try checkForm(db, path) }) else {
                throw ProjectionOpeningError(.rebuild, "\(path) has no tables")
            }
            return queue
        }
    }

    /// A further connection to tables that this process has open.
    ///
    /// The file's header is not read again. Closing any descriptor of a file gives up all locks that the process has on
    /// it (fcntl(2)): then another program could take the write-ahead log away from under the other connections.
    static func openFurther(_ path: String) throws -> DatabaseQueue {
        try opening(path) { try readOnlyQueue(path, keepsTransactions: true) }
    }

    private static func readOnlyQueue(_ path: String, keepsTransactions: Bool = false) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.allowsUnsafeTransactions = keepsTransactions
        configuration.busyMode = .timeout(SQLiteLimits.busySeconds)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func create(_ db: Database) throws {
        try db.execute(sql: "BEGIN IMMEDIATE")
        do {
            try db.execute(sql: LedgerSchema.projection)
            try StoredState().write(to: PreparedStatement(db, StoredState.insert))
            try db.execute(sql: "COMMIT")
        } catch {
            if db.isInsideTransaction { try db.execute(sql: "ROLLBACK") }
            throw error
        }
    }

    /// - Throws: ``ProjectionOpeningError`` where there is something that is not a file.
    private static func checkKind(_ path: String) throws {
        var status = stat()
        // SQLite follows no link of these names.
        let isFollowed = !ownSuffixes.contains { path.hasSuffix($0) }
        if (isFollowed ? stat(path, &status) : lstat(path, &status)) != 0 { return }
        let words =
            switch status.st_mode & S_IFMT {
            case S_IFREG: nil as String?
            case S_IFLNK: "a symbolic link"
            case S_IFDIR: "a folder"
            case S_IFIFO: "a fifo"
            case S_IFSOCK: "a socket"
            default: "a device"
            }
        if let words {
            throw ProjectionOpeningError(.foreign, "\(path) is \(words), not a file of the tables; it is left as it is")
        }
    }

    static func isAbsentOrEmpty(_ path: String) throws -> Bool {
        if access(path, F_OK) != 0 && errno == ENOENT { return true }
        return try isEmpty(path)
    }

    private static func isEmpty(_ path: String) throws -> Bool {
        var status = stat()
        if stat(path, &status) == 0 { return status.st_size == 0 }
        throw ProjectionOpeningError(.unavailable, "\(path): \(String(cString: strerror(errno)))")
    }

    /// Has the pages of the file at `path` checked, where its header says that it is ours.
    /// - Returns: whether they are.
    @discardableResult
    private static func expectChecks(_ path: String) throws -> Bool {
        let header = try firstBytes(of: path)
        let hasChecks = isOurs(header) && Int(header[20]) == PageChecks.bytes
        PageChecks.expectOwn(hasChecks, at: path)
        return hasChecks
    }

    static func isOurs(_ header: [UInt8]) -> Bool {
        let mark = header[68..<72].reduce(0) { $0 << 8 | Int64($1) }
        return header.starts(with: "SQLite format 3".utf8) && mark == applicationID
    }

    /// Whether there are tables that can be gone on with.
    /// - Returns: `nil` where a start ended before it made them.
    private static func check(_ path: String, _ ledger: BlockRows.LedgerRow) throws -> Known? {
        let ours = try expectChecks(path) ? believeOnlyOurs(path) : nil
        return try readOnlyQueue(path).read { db in
            guard try checkForm(db, path) else { return nil }
            guard let ours else {
                throw ProjectionOpeningError(.rebuild, "\(path) has pages without checksums")
            }
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
            guard max(ours.mark.copied, ours.sums.copied) <= state.head?.number ?? 0 else {
                throw ProjectionOpeningError(
                    .rebuild, "the write-ahead log of \(path) lost blocks that were copied out of it already")
            }
            return ours
        }
    }

    /// Has nothing read but what this program wrote last: no page that another program wrote, or that went back to what
    /// it was before, and nothing that another program added to the write-ahead log.
    private static func believeOnlyOurs(_ path: String) throws -> Known {
        guard let mark = CheckpointMark(tables: path).read(), let sums = PageSums(tables: path) else {
            throw ProjectionOpeningError(.rebuild, "\(path) has lost what says which of its pages are the newest")
        }
        let log = WriteAheadLog(tables: path)
        let end = log.lacks(mark.commit) ? mark.synced : mark.commit
        guard log.cut(after: end) else {
            throw ProjectionOpeningError(
                .unavailable, "\(path)\(WriteAheadLog.suffix): \(String(cString: strerror(errno)))")
        }
        log.note(through: end, in: sums.frames)
        PageChecks.expectNewest(sums, at: path)
        return Known(sums: sums, mark: mark, end: end)
    }

    /// Refuses another program's database, and asks for tables of another form to be computed anew.
    /// - Returns: `false` for a file of ours that has no tables yet.
    private static func checkForm(_ db: Database, _ path: String) throws -> Bool {
        let tables = try tableNames(db)
        let mark = try Int64.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        // A database with a table `ledger` is a whole ledger, as versions before the log of blocks kept it.
        guard mark == applicationID, !tables.contains("ledger") else {
            throw ProjectionOpeningError(
                .foreign, "\(path) is a database of another program, or a ledger; it is left as it is")
        }
        if tables.isEmpty { return false }
        guard tables.contains("projection") else {
            throw ProjectionOpeningError(.rebuild, "\(path) lacks tables")
        }
        let format = try Int64.fetchOne(db, sql: "SELECT format FROM projection WHERE id = 1")
        guard let format else { throw ProjectionOpeningError(.rebuild, "\(path) does not say what it holds") }
        guard format == LedgerSchema.projectionFormat else {
            throw ProjectionOpeningError(
                .rebuild, "\(path) has tables of form \(format), not \(LedgerSchema.projectionFormat)")
        }
        return true
    }

    private static func tableNames(_ db: Database) throws -> Set<String> {
        try String.fetchSet(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
    }

    /// Gives every error a kind.
    /// - Parameter whenBusy: of a lock that another program keeps for longer than is waited.
    static func opening<Result>(
        _ path: String, whenBusy: ProjectionOpeningError.Kind = .unavailable, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as ProjectionOpeningError {
            throw error
        } catch let error as DatabaseError {
            // A header that was changed can make SQLite take a file that may be written for one that may not.
            // So can another program's journal beside the file: this one never leaves any.
            let isMarkedReadOnly = error.resultCode == .SQLITE_READONLY && access(path, W_OK) == 0
            if error.resultCode == .SQLITE_BUSY {
                throw ProjectionOpeningError(whenBusy, "another process keeps a lock on \(path)")
            }
            throw ProjectionOpeningError(
                error.isDamage || isMarkedReadOnly ? .rebuild : .unavailable, "\(path): \(error.sentence)")
        } catch let error as StoreError {
            throw ProjectionOpeningError(error.kind == .corrupt ? .rebuild : .unavailable, "\(path): \(error)")
        }
    }
}

/// The header of a database (https://sqlite.org/fileformat2.html#the_database_header); zeros where the file has none.
func firstBytes(of path: String) throws -> [UInt8] {
    let descriptor = PlainFile.descriptor(of: path, O_RDONLY)
    guard descriptor >= 0 else {
        throw ProjectionOpeningError(.unavailable, "\(path): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 100)
    guard bytes.withUnsafeMutableBytes({ pread(descriptor, $0.baseAddress, $0.count, 0) }) >= 0 else {
        throw ProjectionOpeningError(.unavailable, "\(path): \(String(cString: strerror(errno)))")
    }
    return bytes
}

extension DatabaseError {
    /// Whether what is stored is not what was written.
    var isDamage: Bool {
        if extendedResultCode == .SQLITE_IOERR_DATA { return true }
        switch resultCode.primaryResultCode {
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_ERROR, .SQLITE_FORMAT:
            return true
        // SQLite tries for ten seconds to read the index of the write-ahead log (`-shm`).
        case .SQLITE_PROTOCOL: return true
        default:
            return false
        }
    }

    /// Code, message and statement, but no values.
    var sentence: String {
        let sql = sql.map { " in: \($0)" } ?? ""
        let words =
            extendedResultCode == .SQLITE_IOERR_DATA
            ? "a page of the tables is not what this program wrote" : message ?? ""
        return "SQLite error \(extendedResultCode.rawValue): \(words)\(sql)"
    }
}
