import LedgerTestKit
import Testing

@testable import StrictJSON

/// Against Foundation's JSONSerialization, on generated texts and on texts with changed bytes.
///
/// We may refuse what it accepts for these reasons only: a duplicate key, nesting or members beyond the limits, a
/// number beyond a double, a byte order mark, bytes or escapes that are no character, a comma before a closing
/// bracket or brace. What we accept it must accept, and read alike.
@Suite struct JSONDifferentialTests {
    @Test func generatedTextsAreReadAlike() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        for _ in 0..<3_000 {
            var text = ""
            Self.generate(&text, depth: 4, &random)
            let bytes = Array(text.utf8)
            let ours = try JSONTree.parse(bytes)
            #expect(Self.isAlike(ours, JSONTree.foundation(bytes)), "\(text)")
        }
    }

    @Test func changedTextsAreRefusedAlike() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        var accepted = 0, refused = 0
        for _ in 0..<3_000 {
            var text = ""
            Self.generate(&text, depth: 3, &random)
            var bytes = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) { Self.change(&bytes, &random) }
            let theirs = JSONTree.foundation(bytes)
            do throws(JSONError) {
                let ours = try JSONTree.parse(bytes)
                accepted += 1
                #expect(Self.isAlike(ours, theirs), "\(String(decoding: bytes, as: UTF8.self)) \(bytes)")
            } catch {
                refused += 1
                if theirs != nil, !Self.isStricter(error, bytes) {
                    Issue.record("\(error) in \(String(decoding: bytes, as: UTF8.self)) \(bytes)")
                }
            }
        }
        #expect(accepted > 100 && refused > 100)
    }

    /// Foundation converts numbers by way of decimals and misses the nearest double by some units; it drops U+FEFF
    /// from strings.
    private static func isAlike(_ ours: JSONTree, _ theirs: JSONTree?) -> Bool {
        switch (ours, theirs) {
        case (.number(let a), .number(let b)): abs(a - b) <= 1e-14 * max(abs(a), abs(b))
        case (.string(let a), .string(let b)): withoutMarks(a) == withoutMarks(b)
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { isAlike($0, $1) }
        case (.object(let a), .object(let b)):
            a.count == b.count
                && zip(a.sorted { $0.key < $1.key }, b.sorted { $0.key < $1.key })
                    .allSatisfy { withoutMarks($0.key) == withoutMarks($1.key) && isAlike($0.value, $1.value) }
        case (.bool(let a), .bool(let b)): a == b
        case (.null, .null): true
        default: false
        }
    }

    private static func withoutMarks(_ text: String) -> [Unicode.Scalar] {
        text.unicodeScalars.filter { $0 != "\u{FEFF}" }
    }

    private static func isStricter(_ error: JSONError, _ bytes: [UInt8]) -> Bool {
        switch error.kind {
        case .duplicateKey, .tooDeep, .tooManyMembers, .outOfRange, .invalidUTF8: true
        case .syntax(let what):
            what == "a low surrogate stands alone" || what == "a high surrogate stands alone" || bytes.first == 0xEF
                || bytes.contains(0)
                || (what == "an element is missing" || what == "a member's name is missing")
                    && (bytes[error.offset] == UInt8(ascii: "]") || bytes[error.offset] == UInt8(ascii: "}"))
        case .wrongType, .notAnInteger, .missing, .invalid: false
        }
    }

    private static func generate(_ text: inout String, depth: Int, _ random: inout SplitMix64) {
        let space = [" ", "\n", "", "", "", "\t", "\r\n"]
        text += space.randomElement(using: &random)!
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: text += ["true", "false", "null"].randomElement(using: &random)!
        case 1: text += "\(Int64.random(in: -9_007_199_254_740_991...9_007_199_254_740_991, using: &random))"
        case 2: text += "\(Int.random(in: -99...99, using: &random)).\(Int.random(in: 0...99_999, using: &random))"
        case 3:
            let sign = ["", "+", "-"].randomElement(using: &random)!
            text += "\(Int.random(in: 0...9, using: &random))e\(sign)\(Int.random(in: 0...30, using: &random))"
        case 4, 5: string(&text, &random)
        case 6:
            text += "["
            for i in 0..<Int.random(in: 0...4, using: &random) {
                if i > 0 { text += "," }
                generate(&text, depth: depth - 1, &random)
            }
            text += "]"
        default:
            text += "{"
            for i in 0..<Int.random(in: 0...20, using: &random) {
                if i > 0 { text += "," }
                text += space.randomElement(using: &random)! + "\"\(i)"
                string(&text, &random, isOpen: true)
                text += space.randomElement(using: &random)! + ":"
                generate(&text, depth: depth - 1, &random)
            }
            text += "}"
        }
        text += space.randomElement(using: &random)!
    }

    private static func string(_ text: inout String, _ random: inout SplitMix64, isOpen: Bool = false) {
        let parts = [
            "a", "bc", " ", "é", "😀", "\u{7ff}", "\u{ffff}", #"\n"#, #"\""#, #"\\"#, #"\/"#, #"\u00e9"#,
            #"\ud83d\ude00"#,
            "transactionId", "/", "{", "]", ",", #"\u0007"#,
        ]
        if !isOpen { text += "\"" }
        for _ in 0..<Int.random(in: 0...6, using: &random) { text += parts.randomElement(using: &random)! }
        text += "\""
    }

    private static func change(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
        guard !bytes.isEmpty else { return }
        let telling = Array("{}[]\",:\\u0123eE+-.tfn \n".utf8) + [0x00, 0x1F, 0x80, 0xC3, 0xED, 0xF4, 0xFF]
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] = telling.randomElement(using: &random)!
        case 1: bytes.insert(telling.randomElement(using: &random)!, at: place)
        case 2: bytes.remove(at: place)
        case 3: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        default: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &random)))
        }
    }
}
