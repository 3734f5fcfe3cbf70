/// A currency's code as the catalog spells it: 1 … 100 bytes of letters, digits, `_`, `-` and `.`.
public struct CurrencyCode: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The code.
    public let text: String

    /// `nil` where a character is not allowed, or there are too many or none.
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Limits.codeBytesMax else { return nil }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                continue
            default: return nil
            }
        }
        self.text = text
    }

    /// Codes are ordered as text.
    public static func < (left: CurrencyCode, right: CurrencyCode) -> Bool { left.text < right.text }

    /// The code.
    public var description: String { text }
}

/// The App Store's id of a purchase: decimal digits, unique for ever, on which the ledger deduplicates.
///
/// Kept as a number, because it is the primary key of every purchase; Apple's ids have 15 or 16 digits, Xcode's start
/// at 0.
public struct TransactionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The digits as a number.
    public let number: Int64

    /// `nil` unless `text` is the canonical decimal form (no sign, no leading zero) of a number below 2^63.
    public init?(_ text: String) {
        // A first digit rules out both signs; `Int64` takes nothing but digits after it.
        guard let first = text.utf8.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
            first != UInt8(ascii: "0") || text.utf8.count == 1, let number = Int64(text)
        else { return nil }
        self.number = number
    }

    package init(number: Int64) { self.number = number }

    /// The App Store's ids are below this: from there on the ledger numbers purchases of other stores.
    package static let ownNumbers: Int64 = 1 << 62

    /// Ids are ordered by number, which for the App Store's is roughly by time.
    public static func < (left: TransactionID, right: TransactionID) -> Bool { left.number < right.number }

    /// The digits, as Apple sends them.
    public var description: String { String(number) }
}

/// The caller's name for one request: 1 … 64 printable ASCII characters, unique for ever in a ledger.
public struct RequestKey: Hashable, Sendable, CustomStringConvertible {
    /// The key.
    public let text: String
    private let hash: NameHash

    /// `nil` where `text` is empty, too long, or holds anything but printable ASCII.
    public init?(_ text: String) {
        var text = text
        let isFit = text.withUTF8 { bytes in
            !bytes.isEmpty && bytes.count <= Limits.keyBytesMax && bytes.allSatisfy { $0 >= 0x20 && $0 <= 0x7E }
        }
        guard isFit else { return nil }
        self.init(stored: text)
    }

    package init(stored text: String) {
        self.text = text
        hash = NameHash(text)
    }

    /// Keys are equal byte for byte.
    public static func == (left: RequestKey, right: RequestKey) -> Bool {
        left.hash == right.hash && left.text == right.text
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(hash) }

    /// The key.
    public var description: String { text }
}

/// The hash of a name's bytes, kept beside it: a table of names hashes 8 bytes, and compares 8 bytes of the names
/// that it passes, instead of reading each where it stands. Its seed is the process's own, so nobody outside can
/// choose names that collide.
struct NameHash: Hashable, Sendable {
    private let value: Int

    init(_ name: String) {
        var name = name
        var hasher = Hasher()
        name.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        value = hasher.finalize()
    }
}

/// Integer milliseconds since the UNIX epoch, UTC.
public typealias Timestamp = Int64

/// The number of an entry, dense from 1 in the order of posting.
public typealias EntryID = Int64

/// The number of a transfer, dense from 1 in the order of posting.
public typealias TransferID = Int64

/// A lot's number: that of the transfer that opened it.
public typealias LotID = Int64
