import LedgerTestKit
import LedgerWire
import Testing

@Suite struct LineCutterTests {
    /// The lines of a text that comes in pieces, as a connection takes them; `nil` at the end for one too long.
    private static func cut(_ pieces: [[UInt8]], limit: Int) -> [String?] {
        var cutter = LineCutter(lineBytesMax: limit)
        var held: [UInt8] = []
        var lines: [String?] = []
        for piece in pieces {
            held += piece
            cutting: while true {
                let front = held.withUnsafeBytes { cutter.front(of: $0) }
                let again = held.withUnsafeBytes { cutter.front(of: $0) }
                #expect(front == again, "asking twice changes nothing")
                switch front {
                case .line(let range, let end):
                    lines.append(String(decoding: held[range], as: UTF8.self))
                    held.removeFirst(end)
                    cutter.dropped(end)
                case .unfinished(let empty):
                    held.removeFirst(empty)
                    cutter.dropped(empty)
                    break cutting
                case .tooLong:
                    return lines + [nil]
                }
            }
        }
        return lines
    }

    /// The same, by hand: the whole text is split at once.
    private static func expected(_ text: [UInt8], limit: Int) -> [String?] {
        var lines: [String?] = []
        var parts = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let rest = parts.removeLast()
        for part in parts {
            let line = part.last == UInt8(ascii: "\r") ? part.dropLast() : part
            if line.count > limit { return lines + [nil] }
            if !line.isEmpty { lines.append(String(decoding: line, as: UTF8.self)) }
        }
        return rest.count > limit + 1 ? lines + [nil] : lines
    }

    @Test func linesAreTheSameHoweverTheyCome() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        for _ in 0..<3_000 {
            let limit = Int.random(in: 1...12, using: &random)
            let text = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                Array("abc\r\n\n".utf8).randomElement(using: &random)!
            }
            var pieces: [[UInt8]] = []
            var rest = text[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...9, using: &random)
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(Self.cut(pieces, limit: limit) == Self.expected(text, limit: limit), "seed \(seed)")
        }
    }

    @Test func emptyLinesAreNotKept() {
        var cutter = LineCutter(lineBytesMax: 8)
        let empty = Array("\n\r\n\n".utf8)
        let front = empty.withUnsafeBytes { cutter.front(of: $0) }
        #expect(front == .unfinished(empty: 4))
    }
}
