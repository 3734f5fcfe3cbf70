import NIOCore
import Testing

@testable import LineServer

@Suite struct LineSplitterTests {
    private static func split(_ chunks: [String], limit: Int = 8) -> (lines: [String], isTooLong: Bool) {
        var splitter = LineSplitter(lineBytesMax: limit)
        var lines: [String] = []
        for chunk in chunks {
            var buffer = ByteBuffer(string: chunk)
            splitter.append(&buffer)
            search: while true {
                switch splitter.front() {
                case .line(let range, let end):
                    // Asking twice changes nothing.
                    let again = splitter.front()
                    #expect(again == .line(range, end: end))
                    lines.append(splitter.read(range) { String(decoding: $0, as: UTF8.self) })
                    splitter.removeFirst(end)
                case .tooLong: return (lines, true)
                case .unfinished: break search
                }
            }
        }
        return (lines, false)
    }

    @Test func linesAreTheSameHoweverTheyArrive() {
        let text = "one\n\n\r\ntwo\r\nthree\nrest"
        for size in 1...text.utf8.count {
            let bytes = Array(text.utf8)
            let chunks = stride(from: 0, to: bytes.count, by: size).map {
                String(decoding: bytes[$0..<min($0 + size, bytes.count)], as: UTF8.self)
            }
            let (lines, isTooLong) = Self.split(chunks)
            #expect(lines == ["one", "two", "three"] && !isTooLong, "in pieces of \(size)")
        }
    }

    @Test func theLimitCountsNeitherLineEndNorReturn() {
        #expect(Self.split(["12345678\n"]).lines == ["12345678"])
        #expect(Self.split(["12345678\r\n"]).lines == ["12345678"])
        #expect(Self.split(["12345678", "\r", "\n"]).lines == ["12345678"])
        #expect(Self.split(["123456789\n"]).isTooLong)
        #expect(Self.split(["123456789\r\n"]).isTooLong)
    }

    @Test func whatALongLineTookIsGivenBackWithIt() {
        var splitter = LineSplitter(lineBytesMax: 1 << 20)
        var text = ByteBuffer(string: String(repeating: "x", count: 500_000) + "\none\nha")
        splitter.append(&text)
        guard case .line(let range, let end) = splitter.front() else { return #expect(Bool(false)) }
        #expect(range.count == 500_000 && splitter.capacity > 500_000)
        splitter.removeFirst(end)
        #expect(splitter.bytes == 6 && splitter.capacity < 1_000)
        #expect(splitter.front() == .line(0..<3, end: 4))
    }

    @Test func theLimitMayChangeWhileALineStandsThere() {
        var splitter = LineSplitter(lineBytesMax: 4)
        var text = ByteBuffer(string: "one\nlonger\n")
        splitter.append(&text)
        splitter.removeFirst(4)
        #expect(splitter.front() == .tooLong)
        splitter.lineBytesMax = 8
        #expect(splitter.front() == .line(0..<6, end: 7))
    }

    @Test func anEndlessLineIsTooLongBeforeItEnds() {
        #expect(Self.split(["1234", "5678", "90"]).isTooLong)
        let (lines, isTooLong) = Self.split(["one\n1234567890"])
        #expect(lines == ["one"] && isTooLong)
    }
}
