package import Ledger
import Synchronization

/// The embedded log: segment files in a folder, one writer (docs: FileLog.md).
///
/// What holds at every moment, whatever fails:
/// 1. `append` returns only when the block's record was written and synced, and the file was then still the one at
///    its path.
/// 2. A block that was answered `notAppended` was overwritten with zeros, durably, or not one byte of it was written.
/// 3. Between an append that threw and the next `settle` nothing is written; `settle` makes the tail behind the last
///    acknowledged block durably zero before it reads the head.
/// 4. The head file is stored after the sync: what it says was acknowledged is on the disk, or was lost by the disk.
/// 5. At most one record, the last, can be without an acknowledgement; so a record that is not whole is a torn tail
///    only if no whole one follows it and the head file does not vouch for it. Anything else is damage, and is
///    refused by name.
/// 6. What is believed about the tail when a log is opened is written again and synced: a page cache that survived a
///    failed sync may show what is not on the disk.
package final class FileLog: BlockLog {
    package let engine = "FileLog 1"

    /// What is worth telling the operator about the opening: a tail that was cut off, a head file made anew.
    package let notices: [String]

    /// Whether it was opened for writing.
    package let isWritable: Bool

    let disk: any Disk
    let hash: HashFunction
    let catalog: SegmentCatalog
    /// `nil` where the log was opened for reading only, or was closed.
    private let writer: Mutex<LogWriter?>
    /// What is told whoever wants to write where there is no writer.
    private let unwritable: String
    /// Held while a redactable part is overwritten. A reader who finds one that does not check asks again under it.
    let redacting: Mutex<Void>

    init(
        _ disk: any Disk, _ hash: @escaping HashFunction, _ catalog: SegmentCatalog, _ notices: [String],
        _ writer: sending LogWriter?, unwritable: String = "the log is closed"
    ) {
        self.disk = disk
        self.hash = hash
        self.catalog = catalog
        self.notices = notices
        isWritable = writer != nil
        self.writer = Mutex(writer)
        self.unwritable = unwritable
        redacting = Mutex(())
    }

    /// The last block that is known to be durable.
    package var head: LogHead? { catalog.head }

    package var first: BlockNumber { catalog.beginning().first }

    package func settle() throws(LogError) {
        try writer.withLock { (writer) throws(LogError) in
            guard let writer else { throw notWritable }
            try writer.settle()
        }
    }

    package func append(_ block: SealedBlock) throws(LogError) {
        try writer.withLock { (writer) throws(LogError) in
            guard let writer else { throw notWritable }
            try writer.append(block)
        }
    }

    package func redact(_ number: BlockNumber, _ redactable: [UInt8]) throws(LogError) {
        try writer.withLock { (writer) throws(LogError) in
            guard let writer else { throw notWritable }
            // Whoever archives may hold the note's lock for a second: readers need not wait for that.
            let lock = try writer.lockedNote()
            defer { withExtendedLifetime(lock) {} }
            try redacting.withLock { (_) throws(LogError) in try writer.redact(number, redactable) }
        }
    }

    package func checkRedactable(_ number: BlockNumber) throws(LogError) {
        // Without the writer's lock: nobody is to wait here for an append.
        _ = try catalog.writableRecord(number, current: nil)
    }

    package func close() { writer.withLock { $0 = nil } }

    private var notWritable: LogError { LogError(.notAppended, unwritable) }
}

/// How a log's files are laid out. The sizes hold for segments that are begun from now on.
package struct FileLogConfiguration: Hashable, Sendable {
    /// A segment is begun when the next block does not fit into this; a larger block has a segment of its own.
    package var segmentBytes: Int
    /// How far beyond a small block its segment is filled with zeros.
    package var writeAheadBytes: Int
    /// The largest record that is followed by zeros.
    package var writeAheadRecordBytesMax: Int

    package init(
        segmentBytes: Int = FileLogLimits.segmentBytes, writeAheadBytes: Int = FileLogLimits.writeAheadBytes,
        writeAheadRecordBytesMax: Int = FileLogLimits.writeAheadRecordBytesMax
    ) {
        precondition(segmentBytes > SegmentHeader.byteCount && segmentBytes <= FileLogLimits.segmentBytesMax)
        precondition(writeAheadBytes >= 0 && writeAheadRecordBytesMax >= 0)
        self.segmentBytes = segmentBytes
        self.writeAheadBytes = writeAheadBytes
        self.writeAheadRecordBytesMax = writeAheadRecordBytesMax
    }
}
