/// A player's id: 1 … 128 bytes of UTF-8 without control characters.
///
/// A UUID in any letter case is the same account (it is lower-cased), because the App Store lower-cases the
/// `appAccountToken` that an app may have sent in upper case.
public struct AccountName: Hashable, Sendable, CustomStringConvertible {
    /// The normalised name.
    public let text: String
    private let hash: NameHash

    /// `nil` where `text` is empty, too long or holds a control character.
    public init?(_ text: String) {
        var text = text
        let count = text.utf8.count
        guard count >= 1, count <= Limits.accountBytesMax else { return nil }
        let isFit = text.withUTF8 { bytes in
            var before: UInt8 = 0
            for byte in bytes {
                // C0 and DEL are one byte; C1, U+0080 … U+009F, is C2 and that byte.
                if byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte <= 0x9F) { return false }
                before = byte
            }
            return true
        }
        guard isFit else { return nil }
        self.init(stored: count == 36 && AccountName.isUUID(text) ? text.lowercased() : text)
    }

    /// A name that was normalised before it was stored.
    package init(stored text: String) {
        self.text = text
        hash = NameHash(text)
    }

    /// A name as the ledger tells it: one that a player may have, or what stands in place of an erased one.
    package init?(told text: String) {
        let isErased = text.hasPrefix("\u{7F}erased ") && text.utf8.count <= Limits.accountBytesMax
        if isErased { self.init(stored: text) } else { self.init(text) }
    }

    /// Whether the name was erased, and this stands in its place: U+007F, `erased`, a space and the
    /// account's number.
    public var isErased: Bool { text.utf8.first == 0x7F }

    static func isUUID(_ text: String) -> Bool {
        var index = 0
        for byte in text.utf8 {
            switch index {
            case 8, 13, 18, 23:
                if byte != UInt8(ascii: "-") { return false }
            default:
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    break
                default: return false
                }
            }
            index += 1
        }
        return index == 36
    }

    /// The normalised name.
    public var description: String { text }

    /// Names are equal byte for byte; Unicode's canonical equivalence would make two players one.
    public static func == (left: AccountName, right: AccountName) -> Bool {
        guard left.hash == right.hash else { return false }
        var left = left.text
        var right = right.text
        return left.withUTF8 { left in right.withUTF8 { left.elementsEqual($0) } }
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
