/// The bounds of the tables' connections and files, each with its reason.
package enum SQLiteLimits {
    /// Read-only connections: reports and histories that run at once beside the writer.
    static let readersMax = 5
    /// How long a connection waits for a lock. Only a start and the end of another process's recovery make one wait.
    static let busySeconds = 5.0
    /// The writer's page cache: what one large batch changes, so that no page is written before its transaction ends.
    static let writerCacheKibibytes = 64 << 10
    /// The loader's and each reader's page cache: the inner pages of every tree, which one batch of loads shares.
    static let readerCacheKibibytes = 8 << 10
    /// Pages in the WAL from which they are copied into the database after a commit (SQLite's default is 1,000): a
    /// large step brings more than these by itself, and of small ones few enough (2 MiB) come together that the log,
    /// which is synced meanwhile, does not wait long behind them for the disk.
    static let checkpointPages = 500
    /// Pages in the WAL from which the operator is told: someone keeps a read open for so long that the WAL cannot
    /// begin anew; 256 MiB.
    static let walPagesWarned = 64_000
    /// Pages in the WAL from which the tables are made anew beside it, so that whoever keeps the read open keeps the
    /// old ones and nobody else waits: 512 MiB.
    static let walPagesRenewed = 128_000
    /// Pages in the WAL from which nothing more is applied until that read ends, before the disk is full; 4 GiB.
    static let walPagesMax = 1_000_000
    /// Rows that a check of the tables reads at once: a few milliseconds, for which an exchange of the tables waits.
    static let checkedRowsAtOnce = 10_000
    /// Pages by which the WAL may grow while a check reads one table; 128 MiB, well below where the operator is told.
    static let checkWALPagesMax = 32_000
    /// How often several connections try to begin in the same state. One that applies blocks commits once a second.
    static let snapshotAttemptsMax = 100
    /// Steps of SQLite's machine after which a read looks whether it is wanted still, and whoever applies blocks gives
    /// way to others: one to three tenths of a millisecond.
    static let stepsBetweenChecks: Int32 = 5_000
    /// Faults of one check that SQLite names.
    static let integrityFaultsMax = 100
    /// Bytes that the WAL's file has at least, also while nobody has the tables open: on a disk that is full the tables
    /// can then still be brought to the end of the log, of which they lack 12 MiB at most, and be read.
    static let walBytesReserved = 32 << 20
    /// Bytes that the WAL's file keeps when it begins anew after it was longer.
    static let walBytesKept = 64 << 20
    /// Bytes that an entry takes in tables that were brought forward in the smallest steps: as many as were measured.
    static let bytesPerEntry: Int64 = 800
}

/// Those of the bounds that a test may choose.
package struct SQLiteBounds: Sendable {
    package var checkpointPages = SQLiteLimits.checkpointPages
    package var walPagesWarned = SQLiteLimits.walPagesWarned
    package var walPagesRenewed = SQLiteLimits.walPagesRenewed
    package var walPagesMax = SQLiteLimits.walPagesMax
    package var walBytesReserved = SQLiteLimits.walBytesReserved
    package var checkedRowsAtOnce = SQLiteLimits.checkedRowsAtOnce
    package var checkWALPagesMax = SQLiteLimits.checkWALPagesMax

    package init() {}
}
