import LedgerWire
import NIOCore

/// Cuts what arrives into lines. Holds at most one unfinished line and one turn's reading.
struct LineSplitter {
    /// A larger buffer is given back with the long line that needed it.
    private static let keptCapacityMax = 128 << 10

    private var cutter: LineCutter
    private var buffer = ByteBuffer()

    init(lineBytesMax: Int) { cutter = LineCutter(lineBytesMax: lineBytesMax) }

    /// How long a line may be without its end; it may change at any time.
    var lineBytesMax: Int {
        get { cutter.lineBytesMax }
        set { cutter.lineBytesMax = newValue }
    }

    /// How many bytes it holds, and how many its memory has room for.
    var bytes: Int { buffer.readableBytes }
    var capacity: Int { buffer.storageCapacity }

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

    /// What stands at the front. Empty lines without another behind them are dropped.
    mutating func front() -> LineCutter.Front {
        let front = buffer.withUnsafeReadableBytes { cutter.front(of: $0) }
        guard case .unfinished(let empty) = front, empty > 0 else { return front }
        removeFirst(empty)
        return .unfinished(empty: 0)
    }

    /// Lets `body` see the line at the front.
    func read<Result>(_ line: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        buffer.withUnsafeReadableBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[line]).assumingMemoryBound(to: UInt8.self))
        }
    }

    /// Takes bytes away from the front: those up to the end of a line.
    mutating func removeFirst(_ count: Int) {
        cutter.dropped(count)
        buffer.moveReaderIndex(forwardBy: count)
        if buffer.readableBytes == 0 {
            // An idle connection keeps no reading buffer.
            buffer = ByteBuffer()
        } else if buffer.storageCapacity > LineSplitter.keptCapacityMax
            && buffer.readableBytes <= LineSplitter.keptCapacityMax / 2
        {
            buffer = ByteBuffer(bytes: buffer.readableBytesView)
        }
    }
}
