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

    /// Whole reports, all of their pages of one state of the tables, whatever is applied to them meanwhile.
    /// - Throws: ``StoreError``, and what `body` throws.
    package func read<Result>(_ body: (Snapshot) throws -> Result) throws -> Result {
        try faults("reading a report") { try queue.read { db in try body(Snapshot(db)) } }
    }

    /// One state of the tables.
    package struct Snapshot {
        private let reports: Reports
        /// Whose books these are; `nil` where nothing was applied yet.
        package let ledger: BlockRows.LedgerRow?
        /// The last block that the tables have; 0 where there is none.
        package let block: BlockNumber
        /// That block's time.
        package let time: Timestamp

        fileprivate init(_ db: Database) throws {
            let state = try StoredState(db)
            (ledger, block, time) = (state.ledger, state.head?.number ?? 0, state.time)
            reports = try Reports(db)
        }

        /// A report.
        /// - Parameters:
        ///   - request: which report; where it says no time, entries up to the last block count.
        ///   - each: given the pages.
        package func report(_ request: ReportRequest, each: ([ReportRow]) throws -> Void) throws {
            var query = request.query(asOf: request.asOf ?? time)
            query.limit = Limits.reportPageMax
            repeat {
                let page = try reports.page(query)
                try each(page.rows)
                query.after = page.next
            } while query.after != nil
        }
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
