package import GRDB
import GRDBSQLite
package import Ledger
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The tables in a local SQLite database.
///
/// Each of the port's callers has connections of its own, so that none waits for another: the pool's writer and
/// `copier` are used by `apply` alone, the loader's connection by `load` alone, the pool's readers by the reads,
/// `checking`'s by `checkNext`. `writer` and `loader` hold what belongs to these connections and are used only on their
/// queues, which GRDB serialises; `usedKeys` and `suspects` have locks.
package final class SQLiteProjection: Projection, @unchecked Sendable {
    let pool: DatabasePool
    private let loading: DatabaseQueue
    private let copier: DatabaseQueue
    private let usedKeys: UsedKeys
    private let hash: HashFunction
    private let bounds: SQLiteBounds
    private let writer: Writer
    private let loader: Loader
    private let checking: TableCheck
    private let suspects: SuspectTables
    private let renewal = Mutex<String?>(nil)
    private let path: String
    private let sums: PageSums

    /// Opens the tables at `path`, or creates them.
    /// - Parameters:
    ///   - ledger: whose books they must be.
    ///   - areMade: whether the caller has just made them out of the log, from nothing. For such tables, as for those
    ///     that are created, a key or a purchase that comes once more is in the log twice; others may have gained rows.
    ///   - warn: told what the operator should know.
    /// - Throws: ``ProjectionOpeningError``
    package init(
        path: String, ledger: BlockRows.LedgerRow, areMade: Bool = false, hash: @escaping HashFunction,
        bounds: SQLiteBounds = SQLiteBounds(),
        warn: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        self.path = path
        let isNew: Bool
        let known: DatabaseFile.Known
        (pool, loading, copier, known, isNew) = try DatabaseFile.open(path, ledger)
        sums = known.sums
        self.hash = hash
        self.bounds = bounds
        checking = TableCheck(path, bounds)
        let usedKeys = UsedKeys()
        self.usedKeys = usedKeys
        let suspects = SuspectTables()
        self.suspects = suspects
        writer = try DatabaseFile.opening(path, whenBusy: .rebuild) { [pool, copier] in
            try pool.writeWithoutTransaction { db in
                usedKeys.raise(to: try String.fetchOne(db, sql: "SELECT max(key) FROM request"))
                return try Writer(
                    db, copier, ledger, hash, areMade: isNew || areMade, bounds, path, known, usedKeys, suspects, warn)
            }
        }
        loader = try DatabaseFile.opening(path) { [loading] in
            try loading.inDatabase { db in try Loader(db, usedKeys, suspects) }
        }
        if PageChecks.isMemoryCounted {
            warn("SQLite was in use before the tables were opened, and counts its memory: reports slow down requests")
        }
    }

    /// Deletes the tables at `path`, which nobody has open; they are computed anew from the log.
    /// - Throws: ``StoreError``
    package static func remove(at path: String) throws { try DatabaseFile.remove(at: path) }

    /// Puts the tables at `old`, which nobody has open, in place of those at `new`.
    /// - Throws: ``StoreError``
    package static func move(from old: String, to new: String) throws { try DatabaseFile.move(from: old, to: new) }

    /// Copies the tables at `path`, of which nobody writes anything meanwhile, where there are any.
    /// - Throws: ``StoreError``
    package static func copy(at path: String, to copy: String) throws { try DatabaseFile.copy(at: path, to: copy) }

    package var engine: String { SQLiteProjection.engine }
    package static var engine: String { "SQLite \(String(cString: sqlite3_libversion()))" }

    /// Pages of the write-ahead log, as of the last commit.
    package var walPages: Int { writer.walPages }

    package func state() throws -> ProjectedState {
        try use("reading what the tables hold") {
            // What is signed, and on what everything is decided.
            try suspects.check(.currency, .total, .header, .actor, .block, .closing, .catalog)
            return try pool.read { db in try ProjectedState(db) }
        }
    }

    package func apply(_ blocks: [SealedBlock]) throws {
        do {
            // Their own hashes were checked by whoever read or sealed them. Evidence stays in the blocks.
            try apply(
                blocks.map { sealed in
                    OpenedBlock(
                        try Block(opening: sealed, checks: .names(hash)), hash: sealed.hash)
                })
        } catch let error as BlockError {
            throw StoreError.corrupt("applying blocks: \(error)")
        }
    }

    /// Brings the tables forward by the blocks after the last one applied, in their order, all of them or none.
    /// - Throws: ``StoreError``; then the tables are as they were.
    package func apply(_ blocks: [OpenedBlock]) throws {
        if blocks.isEmpty { return }
        try use("applying blocks") {
            try pool.writeWithoutTransaction { db in try db.givingWay { db in try writer.apply(blocks, db) } }
        }
        if writer.isLogDamaged {
            renewal.withLock { $0 = "their log (WAL), or its index, is not what this program wrote" }
        } else if walPages >= bounds.walPagesRenewed {
            renewal.withLock { [reason = writer.reason] in $0 = "their log (WAL) has \(walPages) pages: \(reason)" }
        }
    }

    /// Changes rows in one transaction, after which the tables have the blocks that they had. What their sums say of
    /// the rows is the caller's business: damage is made with it whose pages have right checksums.
    /// - Throws: what `body` throws, or SQLite's error.
    package func change(_ body: (Database) throws -> Void) throws {
        try pool.writeWithoutTransaction { db in try writer.change(db, body) }
    }

    package var reasonForRenewal: String? { renewal.withLock { $0 } }

    /// A lock is waited for, for as long as one can be kept in the course of things.
    private func use<Result>(_ what: String, _ body: () throws -> Result) throws -> Result {
        try faults(what) {
            do { return try body() } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                renewal.withLock { $0 = "another process keeps a lock on the tables" }
                throw error
            }
        }
    }

    @discardableResult
    package func load(_ needs: Needs, into books: inout Books) throws -> StoreError? {
        try use("loading") {
            try loading.inDatabase { db in try loader.load(needs, into: &books, db) }
        }
    }

    package func checkNext() throws -> Bool {
        try faults("comparing the tables with their sums") {
            do {
                return try checking.next(walPages: walPages)
            } catch let error as TableCheck.Mismatch {
                suspects.add(error.table)
                throw SuspectTables.error(error.table)
            }
        }
    }

    /// Reads of tables none of which is suspect, for as long as that is wanted.
    /// - Throws: ``StoreError``, or ``ReadEnded``.
    private func read<Result>(_ what: String, _ body: (Database) throws -> Result) throws -> Result {
        let condition = ReadCondition.current
        return try use(what) {
            try suspects.checkAll()
            return try pool.read { db in try db.reading(while: condition, body) }
        }
    }

    package func history(_ query: HistoryQuery) throws -> HistoryPage {
        try read("reading a history") { db in
            let before = query.before ?? Int64.max
            let last = try JournalClock(db).lastTransfer(before: before)
            guard var walk = try AccountWalk(db, query.account, only: query.currency, through: last) else {
                return HistoryPage(entries: [], next: nil)
            }
            return try walk.page(before: before, limit: query.limit, skipping: query.skipTransfers)
        }
    }

    package func lots(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenLot> {
        try read("reading open lots") { db in
            try OpenItemsReader(db, of: query.account, at: time, suspects, hash: hash).lots(query)
        }
    }

    package func holds(_ query: OpenItemsQuery, at time: Timestamp) throws -> OpenItemsPage<OpenHoldView> {
        try read("reading open holds") { db in
            try OpenItemsReader(db, of: query.account, at: time, suspects, hash: hash).holds(query)
        }
    }

    package func balances(
        _ account: AccountName, currency: CurrencyCode?, asOf: Timestamp
    ) throws -> [CurrencyBalance] {
        try read("reading past balances") { db in
            let last = try JournalClock(db).lastTransfer(asOf)
            guard var walk = try AccountWalk(db, account, only: currency, through: last, asOf: asOf) else { return [] }
            return try walk.pastBalances(through: last)
        }
    }

    package func report(_ query: ReportQuery) throws -> ReportPage {
        try read("reading a report") { db in try Reports(db).page(query) }
    }

    package func journal(_ query: JournalQuery) throws -> JournalPage {
        try read("reading the journal") { db in try JournalReader(db).page(query) }
    }

    package func find(_ query: FindQuery) throws -> Finding {
        try read("finding") { db in try Finder(db).find(query) }
    }

    package func closing(through time: Timestamp) throws -> PeriodClosing? {
        try read("reading a closing") { db in try StoredClosings(db).closing(through: time) }
    }

    package func appStoreWork(_ query: AppStoreWorkQuery) throws -> AppStoreWork {
        try read("reading what there is to tell Apple") { db in try AppStoreWorkReader(db).page(query) }
    }

    package func figures() throws -> ProjectedFigures? {
        var figures = try read("counting for metrics") { db in try ProjectedFigures(db) }
        figures.walPages = walPages
        figures.checkpoints = writer.checkpoints
        return figures
    }

    package func purchase(_ query: PurchaseQuery) throws -> PurchaseView {
        try read("reading a purchase") { db in try PurchaseReader(db).view(query) }
    }

    package func close() throws {
        defer {
            PageChecks.expectNewest(nil, at: path)
        }
        var failure: (any Error)?
        func attempt(_ body: () throws -> Void) {
            do { try faults("closing", body) } catch { failure = failure ?? error }
        }
        attempt { try checking.close() }
        loading.inDatabase { _ in loader.close() }
        pool.writeWithoutTransaction { db in writer.close(db, sums) }
        attempt { try copier.close() }
        attempt { try loading.close() }
        attempt { try pool.close() }
        if let failure { throw failure }
    }
}

/// Turns SQLite's errors into the port's, with code, message and statement but no values.
func faults<Result>(_ what: String, _ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let error as DatabaseError {
        if error.resultCode == .SQLITE_INTERRUPT { throw ReadEnded() }
        throw StoreError(error.isDamage ? .corrupt : .unavailable, "\(what): \(error.sentence)")
    } catch let error as StoreError {
        throw StoreError(error.kind, "\(what): \(error.description)")
    }
}

/// Loads, on the loader's connection: each time in one short read transaction.
private final class Loader {
    private struct Statements {
        let books: BooksLoader
        let begin: PreparedStatement
        let commit: PreparedStatement
    }

    /// `nil` when closed.
    private var statements: Statements?

    init(_ db: Database, _ usedKeys: UsedKeys, _ suspects: SuspectTables) throws {
        statements = Statements(
            books: try BooksLoader(db, usedKeys, suspects), begin: try PreparedStatement(db, "BEGIN"),
            commit: try PreparedStatement(db, "COMMIT"))
    }

    /// - Returns: why somebody of whom something has expired was left out.
    func load(_ needs: Needs, into books: inout Books, _ db: Database) throws -> StoreError? {
        guard let statements else { throw StoreError("the tables are closed") }
        var leftOut: StoreError?
        while true {
            do {
                try loadOnce(needs, into: &books, statements, db)
                return leftOut
            } catch let error as ExpiryLoader.Unreadable {
                // The transaction is over: SQLite ends it where a page cannot be read.
                statements.books.leaveOut(error.player)
                leftOut = leftOut ?? error.error
            }
        }
    }

    private func loadOnce(
        _ needs: Needs, into books: inout Books, _ statements: Statements, _ db: Database
    ) throws {
        try statements.begin.run()
        do {
            try statements.books.load(needs, into: &books)
            try statements.commit.run()
        } catch {
            if db.isInsideTransaction { try db.execute(sql: "ROLLBACK") }
            throw error
        }
    }

    func close() { statements = nil }
}

extension ProjectedState {
    init(_ db: Database) throws {
        let stored = try StoredState(db)
        self.init()
        head = stored.head
        time = stored.time
        position = stored.position
        closedThrough = stored.closedThrough
        periods = try StoredClosings(db).periods()
        catalog = try ProjectedState.catalog(db)
        currencies = stored.currencies
        totals = stored.totals.sums
        try PreparedStatement(db, "SELECT id, digest FROM jws_header").forEach { row in
            guard let digest = Digest(row.blob(1)) else {
                throw StoreError.corrupt("the digest of header \(row.integer(0)) cannot be read")
            }
            headers[digest] = row.integer(0)
        }
        try PreparedStatement(db, "SELECT id, name FROM actor").forEach { row in actors[row.text(1)] = row.integer(0) }
    }

    /// The last that the blocks name.
    private static func catalog(_ db: Database) throws -> BlockRows.CatalogRow? {
        let select = try PreparedStatement(
            db, "SELECT version, digest, time FROM catalog ORDER BY version DESC LIMIT 1")
        return try select.first { row in
            guard let digest = Digest(row.blob(1)), row.integer(0) > 0, Plausible.isTime(row.integer(2)) else {
                throw StoreError.corrupt("catalog \(row.integer(0)) names what cannot be")
            }
            return BlockRows.CatalogRow(version: row.integer(0), digest: digest, time: row.integer(2))
        }
    }
}

extension Database {
    /// Ends a statement of `body` with an error (`SQLITE_INTERRUPT`) as soon as the condition does not hold.
    fileprivate func reading<Result>(
        while condition: ReadCondition, _ body: (Database) throws -> Result
    ) throws -> Result {
        try withUnsafePointer(to: condition) { condition in
            sqlite3_progress_handler(
                sqliteConnection, SQLiteLimits.stepsBetweenChecks,
                { context in
                    guard let condition = context?.assumingMemoryBound(to: ReadCondition.self) else { return 0 }
                    return condition.pointee.holds ? 0 : 1
                }, UnsafeMutableRawPointer(mutating: condition))
            defer { sqlite3_progress_handler(sqliteConnection, 0, nil, nil) }
            return try body(self)
        }
    }

    /// Lets threads that wait for this core go first again and again while statements of `body` run.
    fileprivate func givingWay(_ body: (Database) throws -> Void) rethrows {
        sqlite3_progress_handler(
            sqliteConnection, SQLiteLimits.stepsBetweenChecks,
            { _ in
                sched_yield()
                return 0
            }, nil)
        defer { sqlite3_progress_handler(sqliteConnection, 0, nil, nil) }
        try body(self)
    }
}
