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
struct CheckpointMark {
    static let suffix = "-checkpoint"
    /// Of the largest number.
    private static let digits = 20

    struct Content: Hashable {
        /// The last block of which pages may have been copied.
        var copied: BlockNumber = 0
        /// What the write-ahead log ends with.
        var commit = WALCommit()

        fileprivate var numbers: [UInt64] {
            [UInt64(clamping: copied), UInt64(clamping: commit.frames), commit.salts, commit.sums]
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
        guard numbers.count == 5, let copied = numbers[0].flatMap(BlockNumber.init(exactly:)),
            let frames = numbers[1].flatMap(Int.init(exactly:)), let salts = numbers[2], let sums = numbers[3],
            let checksum = numbers[4]
        else { return nil }
        let content = Content(copied: copied, commit: WALCommit(frames: frames, salts: salts, sums: sums))
        return checksum == CheckpointMark.checksum(content.numbers) ? content : nil
    }

    /// `false` where it cannot be written, or not be made durable.
    func write(_ content: Content, isDurable: Bool) -> Bool {
        let descriptor = PlainFile.open(path, O_WRONLY | O_CREAT)
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
