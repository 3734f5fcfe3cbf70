import GRDB
import Ledger

/// The one writer: the books in memory, and the statements that load, append and project them.
///
/// States: *ready* (books are what the tables say), *lost* (a commit failed; the books were dropped and are read anew from
/// the tables before the next batch), *closed*.
final class Writer {
    private struct Statements {
        let loader: BooksLoader
        let journal: JournalWriter
        let projection: ProjectionWriter
        let begin: PreparedStatement
        let commit: PreparedStatement

        init(_ db: Database, projection: ProjectionWriter) throws {
            loader = try BooksLoader(db)
            journal = try JournalWriter(db)
            self.projection = projection
            // Deferred: a batch that appends nothing takes no lock that another process may hold.
            begin = try PreparedStatement(db, "BEGIN")
            commit = try PreparedStatement(db, "COMMIT")
        }
    }

    private let checkpointer: Checkpointer
    private let catalog: Catalog
    private let hash: HashFunction
    private let genesis: Digest
    private let bounds: SQLiteBounds
    private var statements: Statements?
    private var books: Books?
    private var head: BlockHead
    /// Outlives the books: a period that a report has seen stays closed when they are read anew.
    private var closedThrough: Timestamp = -1

    init(
        _ db: Database, checkpointer: Checkpointer, catalog: Catalog, hash: @escaping HashFunction, genesis: Digest,
        bounds: SQLiteBounds
    ) throws {
        self.checkpointer = checkpointer
        self.catalog = catalog
        self.hash = hash
        self.genesis = genesis
        self.bounds = bounds
        head = BlockHead(id: 0, hash: genesis)
        try recover(db)
    }

    func commit<Result>(_ db: Database, _ needs: Needs, _ decide: (inout Books) -> Result) throws -> Result {
        if books == nil { try recover(db) }
        guard var books = books.take(), let statements else { throw StoreError("the ledger is closed") }
        // Where anything below throws, the books are gone, and are read anew before the next batch.
        let (result, next) = try transaction(db, statements) {
            try statements.loader.load(needs, into: &books)
            let result = decide(&books)
            if books.journal.isEmpty { return (result, head) }
            let next = try statements.journal.append(books, after: head)
            try statements.projection.step(&books, appended: books.journal.transfers.count)
            return (result, next)
        }
        head = next
        closedThrough = books.closedThrough
        books.committed()
        books.forgetCleanPlayers(keeping: bounds.cachedPlayersMax)
        self.books = consume books
        checkpointer.committed(db)
        return result
    }

    /// Writes what the projection lacks.
    func finish(_ db: Database) throws {
        if books == nil { try recover(db) }
        guard var books = books.take(), let statements else { return }
        try transaction(db, statements) { try statements.projection.finish(&books) }
    }

    private func transaction<Result>(
        _ db: Database, _ statements: Statements, _ body: () throws -> Result
    ) throws -> Result {
        try statements.begin.run()
        do {
            let result = try body()
            try statements.commit.run()
            return result
        } catch {
            if db.isInsideTransaction { try db.execute(sql: "ROLLBACK") }
            throw error
        }
    }

    /// GRDB closes a connection only when its statements are gone.
    func close(_ db: Database) throws {
        statements = nil
        try checkpointer.close(db)
    }

    /// What the books have of an account's wallets, perhaps without their lots, for a reader that follows their chains.
    func player(_ db: Database, _ name: AccountName) throws -> (player: Player, codes: [CurrencyCode])? {
        var needs = Needs()
        needs.wallets = [name]
        return try commit(db, needs) { books in
            books.playerIDs[name].flatMap { books.players[$0] }.map { ($0, books.currencies.map(\.code)) }
        }
    }

    /// Reads the books from the tables: the last block's position, the totals, and the journal's tail.
    private func recover(_ db: Database) throws {
        let recovery = try Recovery(db, catalog: catalog, hash: hash)
        let statements = try Statements(
            db,
            projection: try ProjectionWriter(
                db, watermark: recovery.watermark, tailTransfersMax: bounds.tailTransfersMax))
        var books = recovery.books
        try recovery.replay(db, into: &books, statements.loader)
        books.close(through: closedThrough)
        head = recovery.head ?? BlockHead(id: 0, hash: genesis)
        self.statements = statements
        self.books = books
    }
}
