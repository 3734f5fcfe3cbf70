import GRDB
import GRDBSQLite
package import Ledger

/// The embedded engine: one writer, readers beside it, whole batches in one transaction.
///
/// Everything mutable is in ``Writer``, which is used only inside the pool's writes: GRDB's writer queue serialises them.
package final class SQLiteStore: Store, @unchecked Sendable {
    let pool: DatabasePool
    private let lock: WriterLock
    let writer: Writer

    /// Opens the ledger at `path`, which is created where there is none, and replays what the projection lacks.
    /// - Parameters:
    ///   - identity: the app and environment; another ledger's file is refused.
    ///   - bounds: of memory and of the tail that a start replays.
    ///   - now: recorded as the time of creation.
    /// - Throws: ``StoreError`` where another process has it open for writing, where it is no ledger, another app's or a
    ///   newer version's, or where it cannot be read.
    package init(
        path: String, identity: LedgerIdentity, catalog: Catalog, hash: @escaping HashFunction, now: Timestamp,
        bounds: SQLiteBounds = SQLiteBounds()
    ) throws {
        (lock, pool, writer) = try SQLiteStore.faults("opening \(path)") {
            let lock = try WriterLock(path)
            let pool = try DatabaseFile.open(path, identity, now: now)
            let writer = try pool.writeWithoutTransaction { db in
                try Writer(
                    db, checkpointer: try Checkpointer(path, writer: db), catalog: catalog, hash: hash,
                    genesis: Journal.genesis(
                        bundleID: identity.bundleID, environment: identity.environment, hash: hash),
                    bounds: bounds)
            }
            return (lock, pool, writer)
        }
        // The catalog's new currencies are journaled before anything uses them.
        try commit(Needs()) { _ in }
    }

    package var engine: String { "SQLite \(String(cString: sqlite3_libversion()))" }

    package func commit<Result>(_ needs: Needs, _ decide: (inout Books) -> Result) throws -> Result {
        try SQLiteStore.faults("committing a batch") {
            try pool.writeWithoutTransaction { db in try writer.commit(db, needs, decide) }
        }
    }

    package func close() throws {
        try SQLiteStore.faults("closing") {
            do {
                try pool.writeWithoutTransaction { db in try writer.finish(db) }
            } catch {
                try abandon()
                throw error
            }
            // A reader in another process may hold the WAL: then it stays, and the next start reads it.
            do {
                try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.passive) }
            } catch is DatabaseError {
                return try abandon()
            }
            try abandon()
        }
    }

    /// Closes as a crash would: what is committed is durable, and the projection stays behind.
    func abandon() throws {
        try pool.writeWithoutTransaction { db in try writer.close(db) }
        try pool.close()
        lock.release()
    }

    /// Turns SQLite's errors into the port's, with code, message and statement but no values.
    static func faults<Result>(_ what: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            let sql = error.sql.map { " in: \($0)" } ?? ""
            throw StoreError("\(what): SQLite error \(error.resultCode.rawValue): \(error.message ?? "")\(sql)")
        } catch let error as StoreError {
            throw StoreError("\(what): \(error.description)")
        }
    }
}
