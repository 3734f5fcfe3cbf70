/// The bounds of the embedded engine that a deployment, or a test, may choose.
package struct SQLiteBounds: Sendable {
    /// Transfers behind the watermark before the projection is written: short enough to be replayed at start in well
    /// under a second, long enough that a wallet touched often is written once.
    package var tailTransfersMax: Int64 = 50_000
    /// Players kept in memory, with their wallets and open lots (some 500 bytes each).
    package var cachedPlayersMax = 500_000

    package init() {}
}

/// The bounds of the embedded engine that are no one's to choose, each with its reason.
enum SQLiteLimits {
    /// Players written with a commit at the least: a cycle ends even when commits are small.
    static let sliceMin = 64
    /// Read-only connections: reports and histories that run at once beside the writer.
    static let readersMax = 4
    /// Pages of the WAL after which a commit copies it into the database file (SQLite's default is 1,000): larger, so that a page
    /// written by many commits is copied once.
    static let checkpointPages = 4_000
}
