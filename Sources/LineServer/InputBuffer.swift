import LedgerWire
import NIOCore

/// What the client of one connection has sent and is not accepted yet, and the memory that its line at the front has.
///
/// A line that is longer than a few requests takes all memory that it may need before the rest of it is read, or waits
/// for that with what has come.
struct InputBuffer {
    private var lines = LineSplitter(lineBytesMax: 0)
    /// What was taken for the long line at the front; 0 where that has none.
    private(set) var room = 0
    /// What the line at the front was found to need, where there was no room for it.
    var awaitedRoom = 0
    /// What was read of the batch at the front, where that is read in several goes.
    private var parser = LineParser()
    /// Whether the line at the front was found to have ended.
    private var isFrontWhole = false
    /// How many long lines have taken room.
    private var longLines = 0

    /// What it holds.
    var bytes: Int { lines.bytes }

    /// The number of the long line that has memory, and that the client has not ended; no other line has it again.
    var longLine: Int? { room > 0 && !isFrontWhole ? longLines : nil }

    mutating func append(_ bytes: inout ByteBuffer) { lines.append(&bytes) }

    /// Whether there is a line, or what begins as one too long.
    /// - Parameter lineBytesMax: how long a line may be without its end.
    mutating func hasLine(within lineBytesMax: Int) -> Bool {
        lines.lineBytesMax = lineBytesMax
        return lines.hasLine()
    }

    /// What stands at the front.
    /// - Parameter lineBytesMax: how long a line may be without its end.
    mutating func front(within lineBytesMax: Int) -> LineCutter.Front {
        lines.lineBytesMax = lineBytesMax
        let front = lines.front()
        if case .line = front { isFrontWhole = true }
        return front
    }

    /// Whether the line at the front begins as HTTP's do ("POST / HTTP/1.1"), and no JSON text: what follows is not
    /// meant for a ledger. Without this the body of a request that a web page sends to this machine would be carried
    /// out.
    func isOfAnotherProtocol(_ line: Range<Int>) -> Bool {
        lines.read(line) { ($0.first).map((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains) ?? false }
    }

    /// Reads on with the line at the front.
    /// - Parameter requestsMax: how many requests of a batch are read in this go.
    /// - Returns: the line, which is read from its beginning again where it stays at the front, and how many requests
    ///   of a batch were read in this go; `nil` where there is more of it.
    mutating func parse(_ line: Range<Int>, as form: LineForm, requestsMax: Int) -> (line: Line, requests: Int)? {
        let before = parser.requests
        let parsed = lines.read(line) { form.parse($0, by: &parser, requestsMax: requestsMax) }
        guard let parsed else { return nil }
        parser = LineParser()
        guard case .batch(let messages) = parsed else { return (parsed, 0) }
        return (parsed, messages.count - before)
    }

    /// Whether memory has to be taken before more of the line at the front is read.
    /// - Parameter freeBytesMax: what is read of a line without that.
    func needsRoom(beyond freeBytesMax: Int) -> Bool { room == 0 && lines.bytes >= freeBytesMax }

    /// So much memory was taken for the long line at the front.
    mutating func give(room bytes: Int) {
        room = bytes
        longLines += 1
    }

    /// Takes the line at the front away: all bytes up to its end.
    mutating func removeFirst(_ end: Int) {
        lines.removeFirst(end)
        parser = LineParser()
        isFrontWhole = false
        room = 0
        awaitedRoom = 0
    }

    mutating func removeAll() { removeFirst(lines.bytes) }
}
