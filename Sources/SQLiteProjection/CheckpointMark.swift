import Ledger

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// How far the tables and their write-ahead log are this program's own work, in a small file beside the tables.
///
/// 1. The last block of which pages may have been copied out of the write-ahead log, durable before they are. SQLite
///    takes a log that is damaged in its middle, or is gone, as one that ends there. Pages that were copied from behind
///    that place are in the database all the same: an old inner page of a tree then stands over new leaves, and rows
///    that were there for long are out of its reach. So tables that name an earlier block than this are not to be gone
///    on with.
/// 2. The commit that the write-ahead log ends with. What comes after it another program added while this one did not
///    run, or this one when it was killed, and the blocks have that: it is cut off (``WriteAheadLog/cut(after:)``).
/// 3. The commit that it ended with when it was made durable last. Where power took the end of the log and left the
///    mark that names it, the log is cut off after this one.
struct CheckpointMark {
    static let suffix = "-checkpoint"
    /// Of the largest number.
    private static let digits = 20

    struct Content: Hashable {
        /// The last block of which pages may have been copied.
        var copied: BlockNumber = 0
        /// What the write-ahead log ends with.
        var commit = WALCommit()
        /// What it ended with when it was made durable last.
        var synced = WALCommit()

        fileprivate var numbers: [UInt64] {
            [UInt64(clamping: copied)]
                + [commit, synced].flatMap { [UInt64(clamping: $0.frames), $0.salts, $0.sums] }
        }
    }

    private let path: String

    /// - Parameter tables: the path of the tables.
    init(tables: String) { path = tables + CheckpointMark.suffix }

    /// What the file says; `nil` where it cannot be read. Tables are never without one.
    func read() -> Content? {
        guard let bytes = PlainFile.read(path) else { return nil }
        let numbers = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().map {
            $0.count == CheckpointMark.digits ? UInt64(String(decoding: $0, as: UTF8.self)) : nil
        }
        guard numbers.count == 8, let copied = numbers[0].flatMap(BlockNumber.init(exactly:)),
            let commit = CheckpointMark.commit(numbers[1..<4]), let synced = CheckpointMark.commit(numbers[4..<7]),
            let checksum = numbers[7]
        else { return nil }
        let content = Content(copied: copied, commit: commit, synced: synced)
        return checksum == CheckpointMark.checksum(content.numbers) ? content : nil
    }

    private static func commit(_ numbers: ArraySlice<UInt64?>) -> WALCommit? {
        let known = numbers.compactMap { $0 }
        guard known.count == 3, let frames = Int(exactly: known[0]) else { return nil }
        return WALCommit(frames: frames, salts: known[1], sums: known[2])
    }

    /// `false` where it cannot be written, or not be made durable.
    func write(_ content: Content, isDurable: Bool) -> Bool {
        let descriptor = PlainFile.descriptor(of: path, O_WRONLY | O_CREAT)
        if descriptor < 0 { return false }
        defer { close(descriptor) }
        let numbers = content.numbers
        let text = (numbers + [CheckpointMark.checksum(numbers)]).map { number in
            let text = String(number)
            return String(repeating: "0", count: CheckpointMark.digits - text.utf8.count) + text + "\n"
        }.joined()
        return pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count
            && (!isDurable || fdatasync(descriptor) == 0)
    }

    private static func checksum(_ numbers: [UInt64]) -> UInt64 {
        numbers.reduce(0) { PageChecks.step($0, $1) }
    }
}
