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

    /// The app whose books these are, and its environment; `nil` before the first block.
    /// - Throws: ``StoreError``
    package func app() throws -> (bundleID: String, environment: String)? {
        try faults("reading whose books they are") {
            try queue.read { db in
                let select = try PreparedStatement(db, "SELECT bundle_id, environment FROM projection")
                return try select.first { row in
                    row.optionalText(0).flatMap { bundleID in row.optionalText(1).map { (bundleID, $0) } }
                } ?? nil
            }
        }
    }

    /// A whole report, all of its pages of one state of the tables, whatever is applied to them meanwhile.
    /// - Parameters:
    ///   - request: which report; where it says no time, entries up to the last block count.
    ///   - begin: told the last block that the tables have, and its time.
    ///   - each: given the pages.
    /// - Throws: ``StoreError``, and what `begin` and `each` throw.
    package func report(
        _ request: ReportRequest, begin: (_ block: BlockNumber, _ time: Timestamp) throws -> Void,
        each: ([ReportRow]) throws -> Void
    ) throws {
        try faults("reading a report") {
            try queue.read { db in
                let state = try StoredState(db)
                try begin(state.head?.number ?? 0, state.time)
                let reports = try Reports(db)
                var query = request.query(asOf: request.asOf ?? state.time)
                query.limit = Limits.reportPageMax
                repeat {
                    let page = try reports.page(query)
                    try each(page.rows)
                    query.after = page.next
                } while query.after != nil
            }
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
