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

    /// The values of a row in words, for people.
    package static func words(_ bytes: ArraySlice<UInt8>) -> [String] {
        var words: [String] = []
        var rest = bytes
        func number() -> UInt64 {
            let number = rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            return number
        }
        while let tag = rest.popFirst() {
            switch tag {
            case Tag.integer: words.append(String(Int64(bitPattern: number())))
            case Tag.real: words.append(String(Double(bitPattern: number())))
            case Tag.text, Tag.blob:
                let value = rest.prefix(Int(number()))
                rest = rest.dropFirst(value.count)
                words.append(
                    tag == Tag.text
                        ? "'" + String(decoding: value, as: UTF8.self) + "'"
                        : "x'" + value.prefix(32).map { hexadecimal($0) }.joined() + "'")
            default: words.append("NULL")
            }
        }
        return words
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }
}
