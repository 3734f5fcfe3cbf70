/// The bounds of a log of files, with their reasons.
package enum FileLogLimits {
    /// Large enough that a ledger has few files, small enough that one is read through in a moment.
    package static let segmentBytes = 64 << 20

    /// How far beyond the last block a segment is filled with zeros, in one step. An append into bytes that are there
    /// already changes no size and no allocation, so that its sync writes no metadata.
    package static let writeAheadBytes = 1 << 20

    /// Larger records than this are not followed by zeros. Each byte of the log would be written twice, for less and
    /// less: a sync takes some 70 µs less in bytes that are there already, whatever is written, and the zeros of a
    /// megabyte cost more than that.
    package static let writeAheadRecordBytesMax = 16 << 10

    /// The most that one call writes on Linux (write(2), "Notes"), and a record is written by one call.
    static let recordBytesMax = 0x7FFF_F000

    /// Room for the leader's own block, which comes before the next one of others; it has some hundred bytes.
    static let leaderRecordBytes = 4096

    /// A page of the page cache, and the unit in which a segment grows.
    static let pageBytes = 4096

    /// Places in a segment have 32 bits.
    static let segmentBytesMax = Int(UInt32.max)

    /// A file that names a block beyond this one is damaged: no ledger gets there, and numbers up to it, with all that
    /// a segment can hold added, are numbers still.
    static let blockNumberMax: Int64 = 1 << 62

    /// How much of a segment is read at once while only the headers of its records are looked at.
    static let scanBytes = 64 << 10

    /// How much is read at once while blocks are read.
    static let readBytes = 1 << 20

    /// How much is read at once while a log is copied.
    static let copyBytes = 8 << 20

    /// How many segments' indexes are kept, beside the one that is written to: four bytes a block each.
    static let indexesMax = 8

    /// How often a backup is brought up to date anew because names were erased while it was: where that goes on and on,
    /// the next backup has what they lack.
    static let backupRunsMax = 5

    /// How many of the newest segments are never archived: the next start, a standby and a backup go on from them.
    package static let segmentsKept = 2

    /// How often, and how many microseconds after each other, a lock is asked for that another process has while it
    /// archives one segment: half a minute in all, in which a slow disk writes and reads one.
    static let noteLockAttemptsMax = 3_000
    static let noteLockMicroseconds: UInt32 = 10_000

    /// How often a file is read before what a writer may just be changing counts as damage.
    static let readingAttemptsMax = 5
}
