import LedgerWire
import NIOCore

/// Cuts what arrives into lines. Holds at most one unfinished line and one turn's reading.
struct LineSplitter {
    private var cutter: LineCutter
    private var buffer = ByteBuffer()

    init(lineBytesMax: Int) { cutter = LineCutter(lineBytesMax: lineBytesMax) }

    mutating func append(_ bytes: inout ByteBuffer) {
        if buffer.readableBytes == 0 {
            // Almost always: lines rarely straddle two reads, and then nothing is copied.
            buffer = bytes
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

    mutating func removeAll() { drop(buffer.readableBytes) }

    /// What stands at the front. Empty lines without another behind them are dropped.
    mutating func front() -> LineCutter.Front {
        let front = buffer.withUnsafeReadableBytes { cutter.front(of: $0) }
        guard case .unfinished(let empty) = front, empty > 0 else { return front }
        drop(empty)
        return .unfinished(empty: 0)
    }

    /// Lets `body` see the line at the front, and removes it.
    mutating func take<Result>(
        _ line: Range<Int>, end: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let result = buffer.withUnsafeReadableBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[line]).assumingMemoryBound(to: UInt8.self))
        }
        drop(end)
        return result
    }

    private mutating func drop(_ count: Int) {
        cutter.dropped(count)
        buffer.moveReaderIndex(forwardBy: count)
        // An idle connection keeps no reading buffer.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
    }
}
