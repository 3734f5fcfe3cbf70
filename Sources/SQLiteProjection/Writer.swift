import GRDB
import Ledger

/// Applies blocks, on the writer's connection, which keeps the lock for writing from its first transaction until it is
/// closed: no other program can write into the tables while they are used (``PageChecks/keepLock(_:for:)``). What one
/// writes that heeds no locks is noticed before anything more is written or copied, and wherever it is read
/// (``OwnFrames``).
final class Writer {
    private struct Statements {
        let batch: BatchWriter
        let begin: PreparedStatement
        let commit: PreparedStatement
        /// Gives another number whenever another connection has committed something
        /// (https://sqlite.org/pragma.html#pragma_data_version).
        let version: PreparedStatement
    }

    private let ledger: BlockRows.LedgerRow
    private let usedKeys: UsedKeys
    private let suspects: SuspectTables
    private let checkpointer: Checkpointer
    /// `nil` when closed.
    private var statements: Statements?
    /// What the tables hold; `nil` where that must be read anew, after a transaction that failed.
    private var state: StoredState?
    /// As of the opening.
    private let version: Int64?

    init(
        _ db: Database, _ copier: DatabaseQueue, _ ledger: BlockRows.LedgerRow, _ hash: @escaping HashFunction,
        areMade: Bool, _ bounds: SQLiteBounds, _ path: String, _ known: DatabaseFile.Known, _ usedKeys: UsedKeys,
        _ suspects: SuspectTables, _ warn: @escaping @Sendable (String) -> Void
    ) throws {
        self.ledger = ledger
        self.usedKeys = usedKeys
        self.suspects = suspects
        let statements = Statements(
            batch: try BatchWriter(db, areMade: areMade, hash: hash, warn: warn),
            begin: try PreparedStatement(db, "BEGIN IMMEDIATE"),
            commit: try PreparedStatement(db, "COMMIT"),
            version: try PreparedStatement(db, "PRAGMA data_version"))
        self.statements = statements
        version = try statements.version.first { $0.integer(0) }
        checkpointer = Checkpointer(
            db, copier, bounds, path, known.sums, committed: try StoredState(db).head?.number ?? 0,
            marked: known.mark, warn: warn)
        checkpointer.reserve()
        PageChecks.keepLock(true, for: db.sqliteConnection)
        // A commit of ours, so that it is known where the write-ahead log ends. On a disk that is full, or takes no
        // writes, the next one is that.
        do {
            try transact(statements, db) {
                try db.execute(sql: "UPDATE projection SET id = id")
                return nil
            }
        } catch let error as DatabaseError where error.resultCode != .SQLITE_BUSY && !error.isDamage {
            return
        }
        // Who has the tables open reads and writes on behind what was cut off.
        if let end = known.end, !checkpointer.isNextCommit(after: end) {
            throw ProjectionOpeningError(.rebuild, "another program has \(path) open, and wrote into it")
        }
        checkpointer.noteCommit()
    }

    var walPages: Int { checkpointer.pages }
    var checkpoints: Int { checkpointer.checkpoints }
    /// Why there are so many.
    var reason: String { checkpointer.reason }
    /// Whether it is found to be another one than was written.
    var isLogDamaged: Bool { checkpointer.isDamaged }

    func apply(_ blocks: [OpenedBlock], _ db: Database) throws {
        guard let statements else { throw StoreError("the tables are closed") }
        if let row = blocks[0].block.rows.ledger, row != ledger {
            throw StoreError.corrupt(
                "the blocks are those of \(row.bundleID) in \(row.environment), which these tables are not")
        }
        if checkpointer.isFull { try makeRoom(statements, db) }
        try transact(statements, db) {
            let before = try state.take() ?? StoredState(db)
            let after = try statements.batch.apply(blocks, after: before)
            // Before the commit: a loader that sees the keys must also know that they were used.
            usedKeys.raise(to: blocks)
            return after
        }
        checkpointer.committed(blocks[blocks.count - 1].block.number)
        // A name that was erased stands in the tables' file until the page that lacks it is copied there.
        if checkpointer.isDue || blocks.contains(where: { !$0.block.rows.erasures.isEmpty }) { checkpointer.copy() }
    }

    /// Changes rows, with none of the blocks.
    func change(_ db: Database, _ body: (Database) throws -> Void) throws {
        guard let statements else { throw StoreError("the tables are closed") }
        try transact(statements, db) {
            try body(db)
            return nil
        }
        checkpointer.noteCommit()
    }

    /// One transaction, all of which or nothing of which is carried out.
    /// - Parameter body: gives what the tables hold afterwards, where it knows that.
    private func transact(_ statements: Statements, _ db: Database, _ body: () throws -> StoredState?) throws {
        try begin(statements, db)
        do {
            let after = try body()
            try statements.commit.run()
            state = after
        } catch {
            state = nil
            try leave(db)
            throw error
        }
    }

    /// - Throws: ``StoreError`` where the write-ahead log may not grow any more.
    private func makeRoom(_ statements: Statements, _ db: Database) throws {
        try begin(statements, db)
        // The read that kept it may have ended.
        let isWhole = checkpointer.copy()
        try leave(db)
        if isWhole { return }
        throw StoreError(
            """
            the log of the tables (WAL) has \(checkpointer.pages) pages: \(checkpointer.reason); nothing is applied \
            until that ends
            """)
    }

    /// Begins a transaction where none has begun.
    private func begin(_ statements: Statements, _ db: Database) throws {
        if db.isInsideTransaction { return }
        try statements.begin.run()
        do {
            try checkOnlyWriter(statements.version)
        } catch {
            state = nil
            try leave(db)
            throw error
        }
    }

    private func leave(_ db: Database) throws { if db.isInsideTransaction { try db.execute(sql: "ROLLBACK") } }

    /// - Throws: ``StoreError`` where anybody else has written since the tables were opened.
    private func checkOnlyWriter(_ select: PreparedStatement) throws {
        if try select.first({ $0.integer(0) }) == version { return }
        suspects.addAll()
        throw StoreError.corrupt("another program wrote into the tables; nothing of them is believed")
    }

    /// GRDB closes a connection only when its statements are gone.
    /// - Parameter sums: of the pages; what is written into them after the lock is given back is another program's.
    func close(_ db: Database, _ sums: PageSums) {
        guard let statements = statements.take() else { return }
        let isAlone = (try? begin(statements, db)) != nil
        let isWhole = isAlone && checkpointer.copy()
        sums.end()
        try? leave(db)
        if isWhole { checkpointer.close(db) }
    }
}
