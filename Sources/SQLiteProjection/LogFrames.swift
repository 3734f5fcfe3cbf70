/// What the header of a frame says.
struct FrameHeader {
    /// The page that it has, from 1.
    let page: UInt32
    /// How many pages the tables have, where a commit ends with it; 0 where none does.
    let pages: UInt32
    /// As they stand there.
    let salts: UInt64
    let sum: UInt64

    init(_ bytes: UnsafeRawBufferPointer) {
        page = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
        pages = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        salts = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        sum = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
    }
}

/// The frames of a write-ahead log, each a header and a page (https://sqlite.org/fileformat2.html#walformat). Of each
/// the sum goes on from that of the frame before, or from that of the log's own header.
enum LogFrames {
    static let headerBytes = WriteAheadLog.frameHeaderBytes
    /// Of the log itself; its last 24 bytes end with a sum as a frame's header does.
    private static let logHeaderBytes = WriteAheadLog.headerBytes

    /// Whether so many bytes at this place are a frame's page.
    static func isPage(_ count: Int, at offset: Int64) -> Bool {
        guard count >= 512, count & (count - 1) == 0 else { return false }
        let start = offset - Int64(logHeaderBytes + headerBytes)
        return start >= 0 && start % Int64(count + headerBytes) == 0
    }

    /// Where the header stands that the frame's sum goes on from, where the frame's own does, and the log's.
    static func headers(ofPage count: Int, at offset: Int64) -> [Int64] {
        let own = offset - Int64(headerBytes)
        let before = own - Int64(count + headerBytes)
        let log = Int64(logHeaderBytes - headerBytes)
        return [before < 0 ? log : before, own, log]
    }

    /// Whether the page and its frame's header fit the sum, and the frame has the log's salts: one that is left of an
    /// earlier log in the same file has others.
    /// - Parameter headers: the one before, its own, and the log's.
    static func isWhole(_ page: UnsafeRawBufferPointer, _ headers: UnsafeRawBufferPointer) -> Bool {
        func salts(_ header: Int) -> UInt64 {
            headers.loadUnaligned(fromByteOffset: header * headerBytes + 8, as: UInt64.self)
        }
        if salts(1) != salts(2) { return false }
        func number(_ place: Int) -> UInt32 {
            UInt32(bigEndian: headers.loadUnaligned(fromByteOffset: place, as: UInt32.self))
        }
        var sum = (number(16), number(20))
        add(UnsafeRawBufferPointer(rebasing: headers[headerBytes..<headerBytes + 8]), to: &sum)
        add(page, to: &sum)
        return sum == (number(headerBytes + 16), number(headerBytes + 20))
    }

    /// Has a sum go on.
    static func add(_ bytes: UnsafeRawBufferPointer, to sum: inout (UInt32, UInt32)) {
        var (first, second) = sum
        for place in stride(from: 0, to: bytes.count, by: 8) {
            // This machine's order of bytes, in which SQLite makes new logs.
            first = first &+ bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self) &+ second
            second = second &+ bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self) &+ first
        }
        sum = (first, second)
    }
}
