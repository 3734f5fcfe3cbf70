import GRDB
package import Ledger

/// Reports of the tables without a server: read-only, beside their writer or without one.
package final class SQLiteReports: Sendable {
    private let queue: DatabaseQueue

    /// - Throws: ``ProjectionOpeningError``
    package init(path: String) throws { queue = try DatabaseFile.openReadOnly(path) }

    /// What the tables hold.
    /// - Throws: ``StoreError``
    package func state() throws -> ProjectedState {
        try faults("reading what the tables hold") { try queue.read { db in try ProjectedState(db) } }
    }

    /// - Throws: ``StoreError``
    package func report(_ query: ReportQuery) throws -> ReportPage {
        try faults("reading a report") { try queue.read { db in try Reports(db).page(query) } }
    }

    /// The size of the database as of its last commit, in bytes: what is still in the WAL only counts, pages in both
    /// once.
    /// - Throws: ``StoreError``
    package func databaseBytes() throws -> Int64 {
        try faults("reading the size") {
            try queue.read { db in
                let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                return try pages * (Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
            }
        }
    }
}
