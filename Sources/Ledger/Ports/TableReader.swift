/// The tables of a projection as an auditor reads them: every row, all of one state, whatever is applied meanwhile.
///
/// `read` may be called from several threads at once; each may block.
package protocol TableReader: AnyObject, Sendable {
    /// The block up to which the tables are exact; `nil` where they are empty.
    var head: LogHead? { get }

    /// Checks what is no row: the form of the files, the tables' definitions, the indexes.
    /// - Returns: in words what is wrong.
    /// - Throws: ``StoreError``
    func check() throws -> [String]

    /// Hands over all rows of a table.
    /// - Parameters:
    ///   - columns: which, in which order.
    ///   - keyColumns: how many of them, from the first, tell a row from all others.
    ///   - each: given each row in the same memory.
    /// - Throws: ``StoreError``, and what `each` throws.
    func read(
        _ table: String, _ columns: [String], keyColumns: Int, _ each: (borrowing TableRow) throws -> Void) throws
}

/// The values of one row in the order of some columns, as bytes of which no two rows have the same.
package struct TableRow: ~Copyable {
    private enum Tag {
        static let null: UInt8 = 0
        static let integer: UInt8 = 1
        static let text: UInt8 = 2
        static let blob: UInt8 = 3
        static let real: UInt8 = 4
    }

    package private(set) var bytes: [UInt8] = []
    /// Where the key's values end; 0 until they do.
    package private(set) var keyEnd = 0

    package init() { bytes.reserveCapacity(256) }

    /// Begins another row in the same memory.
    package mutating func begin() {
        bytes.removeAll(keepingCapacity: true)
        keyEnd = 0
    }

    /// Says that the values so far tell the row from all others.
    package mutating func endKey() { keyEnd = bytes.count }

    package mutating func addNull() { bytes.append(Tag.null) }

    package mutating func add(_ value: Int64) { add(Tag.integer, UInt64(bitPattern: value)) }

    /// A sum stands as an integer where 64 bits hold it, and otherwise as decimal text.
    package mutating func add(sum: Int128) {
        if let value = Int64(exactly: sum) { add(value) } else { add(String(sum)) }
    }

    package mutating func add(_ value: Int64?) { if let value { add(value) } else { addNull() } }

    /// No column holds such a number, but another hand may have written one.
    package mutating func add(_ value: Double) { add(Tag.real, value.bitPattern) }

    package mutating func add(text: UnsafeRawBufferPointer) { add(Tag.text, text) }

    package mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(Tag.text, UnsafeRawBufferPointer($0)) }
    }

    package mutating func add(_ text: String?) { if let text { add(text) } else { addNull() } }

    package mutating func add(blob: UnsafeRawBufferPointer) { add(Tag.blob, blob) }

    package mutating func add(_ digest: Digest) { digest.withUnsafeBytes { add(Tag.blob, $0) } }

    private mutating func add(_ tag: UInt8, _ value: UInt64) {
        bytes.append(tag)
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func add(_ tag: UInt8, _ value: UnsafeRawBufferPointer) {
        add(tag, UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    /// One of a row's values.
    package enum Value {
        case null
        case integer(Int64)
        case real(Double)
        case text(ArraySlice<UInt8>)
        case blob(ArraySlice<UInt8>)
    }

    /// Hands over the values in their order.
    package func forEachValue(_ body: (Value) throws -> Void) rethrows {
        try TableRow.forEachValue(of: bytes[...], body)
    }

    private static func forEachValue(of bytes: ArraySlice<UInt8>, _ body: (Value) throws -> Void) rethrows {
        var place = bytes.startIndex
        func number() -> UInt64 {
            let number = bytes[place..<place + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            place += 8
            return number
        }
        while place < bytes.endIndex {
            let tag = bytes[place]
            place += 1
            switch tag {
            case Tag.integer: try body(.integer(Int64(bitPattern: number())))
            case Tag.real: try body(.real(Double(bitPattern: number())))
            case Tag.text, Tag.blob:
                let count = Int(number())
                let value = bytes[place..<place + count]
                place += count
                try body(tag == Tag.text ? .text(value) : .blob(value))
            default: try body(.null)
            }
        }
    }

    /// The values of a row in words, for people.
    package static func words(_ bytes: ArraySlice<UInt8>) -> [String] {
        var words: [String] = []
        forEachValue(of: bytes) { value in
            switch value {
            case .null: words.append("NULL")
            case .integer(let value): words.append(String(value))
            case .real(let value): words.append(String(value))
            case .text(let value): words.append("'" + String(decoding: value, as: UTF8.self) + "'")
            case .blob(let value): words.append("x'" + value.prefix(32).map { hexadecimal($0) }.joined() + "'")
            }
        }
        return words
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }
}
