import Ledger
import Synchronization

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The newest sum of every page of the tables' file, kept apart from the pages.
///
/// A page has a sum of its own too (``PageChecks``). That one also fits a page that is an older version of itself,
/// because the disk lost the newer one, and whatever another program put together with its sum. Kept apart from what
/// it is about, as a Merkle tree keeps it and ZFS does, it fits nothing but what this program wrote last.
///
/// On the disk it is a file beside the tables, of records of 16 bytes, in the machine's order: a page's number from 1,
/// and its sum; or 0, and the block up to which pages were copied into the tables. A later record of a page takes the
/// place of the ones before; when most of them are of no use any more, the file is written anew. ``save()`` is called
/// when pages of the write-ahead log are in the tables and synced, before SQLite may begin that log anew. Where a
/// crash is quicker, the pages whose sums are not saved are all in the write-ahead log still: they are read from there,
/// and copied once more.
final class PageSums: Sendable {
    static let suffix = "-sums"
    private static let recordBytes = 16
    /// Below so many records the file is never written anew.
    private static let recordsMin = 1_024

    private struct State: ~Copyable {
        /// By page, from 0.
        var sums: [UInt64]
        /// Pages whose sums are not saved.
        var unsaved: Set<Int> = []
        var copied: BlockNumber
        /// Records in the file.
        var records: Int
        /// Whether others write the file from now on.
        var isEnded = false
    }

    /// The write-ahead log's, in which pages are that are not in the tables' file yet.
    let frames = OwnFrames()
    private let path: String
    private let state: Mutex<State>

    /// Reads what is saved.
    /// - Parameter tables: the path of the tables.
    /// - Returns: `nil` where it cannot be read.
    init?(tables: String) {
        path = tables + PageSums.suffix
        guard let bytes = PlainFile.read(path) else { return nil }
        var sums: [UInt64] = []
        var copied: BlockNumber = 0
        // What is left of a record that was not written whole is written over.
        let records = bytes.count / PageSums.recordBytes
        bytes.withUnsafeBytes { bytes in
            for record in 0..<records {
                let place = record * PageSums.recordBytes
                let page = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
                let value = bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self)
                // A crash may leave zeros in the place of a record.
                if page == 0 { copied = max(copied, BlockNumber(clamping: value)) }
                // Of every page but one (https://sqlite.org/fileformat2.html#the_lock_byte_page) there is a record.
                guard page > 0, page <= UInt64(records) + 1 else { continue }
                if page > sums.count { sums += repeatElement(0, count: Int(page) - sums.count) }
                sums[Int(page) - 1] = value
            }
        }
        state = Mutex(State(sums: sums, copied: copied, records: records))
    }

    /// Makes the file of tables that have no page yet.
    static func create(tables: String) -> Bool {
        let descriptor = PlainFile.descriptor(of: tables + suffix, O_WRONLY | O_CREAT | O_TRUNC)
        return descriptor >= 0 && close(descriptor) == 0
    }

    /// Whether this is what was written last of a page.
    func isNewest(_ sum: UInt64, ofPage page: Int) -> Bool {
        state.withLock { page < $0.sums.count && $0.sums[page] == sum }
    }

    /// Whether all that was committed to the write-ahead log is in the tables' file.
    var haveAllFrames: Bool {
        let copies = frames.copies
        return state.withLock { state in
            copies.allSatisfy { page, sum in page < state.sums.count && state.sums[page] == sum }
        }
    }

    /// Whether the page was written ever.
    func isKnown(page: Int) -> Bool { state.withLock { page < $0.sums.count && $0.sums[page] != 0 } }

    /// A page is written.
    func note(_ sum: UInt64, ofPage page: Int) {
        state.withLock { state in
            if page >= state.sums.count { state.sums += repeatElement(0, count: page + 1 - state.sums.count) }
            state.sums[page] = sum
            state.unsaved.insert(page)
        }
    }

    /// The tables' file has so many bytes from now on.
    func truncate(to bytes: Int64) {
        let pages = Int(bytes) / WriteAheadLog.pageBytes
        state.withLock { state in
            for page in pages..<max(pages, state.sums.count) {
                state.sums[page] = 0
                state.unsaved.insert(page)
            }
        }
    }

    /// The block up to which pages were copied, as far as that is saved or noted.
    var copied: BlockNumber { state.withLock { $0.copied } }

    /// Pages of no later block than this one are going to be copied.
    func note(copied block: BlockNumber) { state.withLock { $0.copied = block } }

    /// The tables are closed: nothing is saved any more.
    func end() { state.withLock { $0.isEnded = true } }

    /// Makes durable what was noted. Called by one thread at a time, and nothing is noted meanwhile; pages are read.
    /// - Returns: whether it is.
    func save() -> Bool {
        // Every page that is read waits for the lock: only references are taken under it.
        let (sums, unsaved, copied, records, isEnded) = state.withLock { state in
            (state.sums, state.unsaved, state.copied, state.records, state.isEnded)
        }
        if isEnded { return false }
        let isAnew = records + unsaved.count >= max(PageSums.recordsMin, 2 * sums.count)
        let first = isAnew ? 0 : records
        let pages = isAnew ? Array(sums.indices) : unsaved.sorted()
        var words = [0, UInt64(clamping: copied)]
        words.reserveCapacity(2 + 2 * pages.count)
        for page in pages { words += [UInt64(page + 1), sums[page]] }
        guard isAnew ? replace(words) : append(words, at: first) else { return false }
        state.withLock { state in
            state.unsaved = []
            state.records = first + words.count / 2
        }
        return true
    }

    private func append(_ words: [UInt64], at record: Int) -> Bool {
        let descriptor = PlainFile.descriptor(of: path, O_WRONLY)
        if descriptor < 0 { return false }
        defer { close(descriptor) }
        return write(words, to: descriptor, at: record)
    }

    private func replace(_ words: [UInt64]) -> Bool {
        let new = path + ".new"
        let descriptor = PlainFile.descriptor(of: new, O_WRONLY | O_CREAT | O_TRUNC)
        if descriptor < 0 { return false }
        defer { close(descriptor) }
        if write(words, to: descriptor, at: 0), rename(new, path) == 0 { return PlainFile.syncFolder(of: path) }
        // Where the disk is full it would keep room.
        unlink(new)
        return false
    }

    private func write(_ words: [UInt64], to descriptor: Int32, at record: Int) -> Bool {
        words.withUnsafeBytes { bytes in
            let place = off_t(record * PageSums.recordBytes)
            return pwrite(descriptor, bytes.baseAddress, bytes.count, place) == bytes.count
                && fdatasync(descriptor) == 0
        }
    }
}
