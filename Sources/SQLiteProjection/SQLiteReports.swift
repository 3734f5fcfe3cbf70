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

    /// A whole report, all of its pages of one state of the tables, whatever is applied to them meanwhile.
    /// - Parameters:
    ///   - asOf: entries up to and with this time count; those up to the last block where `nil`.
    ///   - from: only what was recorded at this time or later. Of `notifications`.
    ///   - scope: of `consumption_requests`.
    ///   - begin: told the last block that the tables have, and its time.
    ///   - each: given the pages.
    /// - Throws: ``StoreError``, and what `begin` and `each` throw.
    package func report(
        _ kind: ReportKind, asOf: Timestamp?, from: Timestamp? = nil, scope: ReportScope = .open,
        currency: CurrencyCode?,
        begin: (_ block: BlockNumber, _ time: Timestamp) throws -> Void, each: ([ReportRow]) throws -> Void
    ) throws {
        try faults("reading a report") {
            try queue.read { db in
                let state = try StoredState(db)
                try begin(state.head?.number ?? 0, state.time)
                let reports = try Reports(db)
                var query = ReportQuery(
                    kind: kind, asOf: asOf ?? state.time, from: from, scope: scope, currency: currency,
                    limit: Limits.reportPageMax)
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
