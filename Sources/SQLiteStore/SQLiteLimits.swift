/// The bounds of the embedded engine that a deployment, or a test, may choose.
package struct SQLiteBounds: Sendable {
    /// Transfers behind the watermark before the projection is written: short enough to be replayed at start in well
    /// under a second, long enough that a wallet touched often is written once.
    package var tailTransfersMax: Int64 = 50_000
    /// Players kept in memory, each with one open lot (some 900 bytes); one with more lots counts for more, so that this bounds the
    /// memory.
    package var cachedPlayersMax = 500_000

    package init() {}
}

/// The bounds of the embedded engine that are no one's to choose, each with its reason.
enum SQLiteLimits {
    /// Rows of a block whose hash is computed on another core: below, to wake it costs more than the hash.
    static let digestBesideRowsMin = 128
    /// Lots and wallets written with a commit at the least: a cycle ends even when commits are small.
    static let sliceMin = 64
    /// Read-only connections: reports and histories that run at once beside the writer.
    static let readersMax = 4
    /// The writer's page cache: the inner pages of every tree of a file of ten million purchases, and the ends at which its tables
    /// grow. With SQLite's 2 MiB the inner pages are read again and again as soon as players must be loaded.
    static let writerCacheKibibytes = 32 << 10
    /// Pages in the WAL from which it is copied into the database beside the writer (SQLite's default is 1,000): larger, so that a
    /// page written by many commits is copied once.
    static let checkpointPages = 8_000
    /// Pages that the writer copies itself between two commits: some milliseconds.
    static let checkpointRestMax = 1_000
    /// Pages in the WAL at which the writer copies them all, however long it takes: 128 MiB, which a start after a crash
    /// reads in a fraction of a second.
    static let walPagesMax = 32_000
}
