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

    /// The sum of a header, as it stands there.
    static func sum(_ headers: UnsafeRawBufferPointer, ofHeader header: Int) -> UInt64 {
        headers.loadUnaligned(fromByteOffset: header * headerBytes + 16, as: UInt64.self)
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
        var (first, second) = (number(16), number(20))
        func add(_ bytes: UnsafeRawBufferPointer) {
            for place in stride(from: 0, to: bytes.count, by: 8) {
                // This machine's order of bytes, in which SQLite makes new logs.
                first = first &+ bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self) &+ second
                second = second &+ bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self) &+ first
            }
        }
        add(UnsafeRawBufferPointer(rebasing: headers[headerBytes..<headerBytes + 8]))
        add(page)
        return first == number(headerBytes + 16) && second == number(headerBytes + 20)
    }
}
