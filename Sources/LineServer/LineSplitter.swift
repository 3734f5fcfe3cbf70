import NIOCore

#if canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Cuts what arrives into lines. Holds at most one unfinished line and one turn's reading.
struct LineSplitter {
    /// What stands at the front of the buffer.
    enum Front {
        /// A whole line, of so many bytes without its end, and with it.
        case line(length: Int, consumed: Int)
        /// A line that is longer than may be, ended or not.
        case tooLong
        /// Less than a line.
        case unfinished
    }

    private let lineBytesMax: Int
    private var buffer = ByteBuffer()
    /// How much of the buffer's front is known to hold no line end.
    private var searched = 0

    init(lineBytesMax: Int) { self.lineBytesMax = lineBytesMax }

    mutating func append(_ bytes: inout ByteBuffer) {
        if buffer.readableBytes == 0 {
            // Almost always: lines rarely straddle two reads, and then nothing is copied.
            buffer = bytes
            searched = 0
        } else {
            buffer.discardReadBytes()
            buffer.writeBuffer(&bytes)
        }
    }

    /// Whether a line, or what is too long for one, stands at the front.
    mutating func hasLine() -> Bool {
        switch front() {
        case .line, .tooLong: true
        case .unfinished: false
        }
    }

    mutating func removeAll() {
        buffer = ByteBuffer()
        searched = 0
    }

    /// Looks for a line at the front; empty lines are passed over.
    mutating func front() -> Front {
        while true {
            let start = searched
            let limit = lineBytesMax
            let found: (end: Int, isReturn: Bool)? = buffer.withUnsafeReadableBytes { bytes in
                guard start < bytes.count, let base = bytes.baseAddress,
                    let end = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
                else { return nil }
                let index = base.distance(to: UnsafeRawPointer(end))
                return (index, index > 0 && bytes[index - 1] == UInt8(ascii: "\r"))
            }
            guard let (end, isReturn) = found else {
                searched = buffer.readableBytes
                // One byte over, for it may be the `\r` before the end.
                return searched > limit + 1 ? .tooLong : .unfinished
            }
            searched = end
            let length = isReturn ? end - 1 : end
            if length > limit { return .tooLong }
            if length > 0 { return .line(length: length, consumed: end + 1) }
            buffer.moveReaderIndex(forwardBy: end + 1)
            searched = 0
        }
    }

    /// Lets `body` see the line at the front, and removes it.
    mutating func take<Result>(
        length: Int, consumed: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let result = buffer.withUnsafeReadableBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[..<length]).assumingMemoryBound(to: UInt8.self))
        }
        buffer.moveReaderIndex(forwardBy: consumed)
        searched = 0
        // An idle connection keeps no reading buffer.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
        return result
    }
}
