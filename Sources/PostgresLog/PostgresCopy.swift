#if Postgres
import Ledger

/// Rows on their way into a table, in the form of PostgreSQL's page COPY, "Binary Format".
struct PostgresCopy {
    private static let signature: [UInt8] = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [0, 0, 0, 0, 0, 0, 0, 0]
    /// What is sent together.
    private static let chunkBytes = 256 << 10

    private let session: PostgresConnection
    private let types: [PostgresColumnType]
    private let milliseconds: Int
    private var bytes = PostgresCopy.signature
    private(set) var count: Int64 = 0

    init(_ session: PostgresConnection, _ types: [PostgresColumnType], milliseconds: Int) {
        self.session = session
        self.types = types
        self.milliseconds = milliseconds
        bytes.reserveCapacity(PostgresCopy.chunkBytes + 4096)
    }

    mutating func add(_ row: borrowing TableRow) throws {
        append(Int16(types.count))
        var column = 0
        try row.forEachValue { value in
            guard column < types.count else { throw PostgresFault(.decided(.corrupt), "a row has too many values") }
            try append(value, types[column])
            column += 1
        }
        guard column == types.count else { throw PostgresFault(.decided(.corrupt), "a row has too few values") }
        count += 1
        if bytes.count >= PostgresCopy.chunkBytes { try send() }
    }

    mutating func end() throws(PostgresFault) {
        append(Int16(-1))
        try send()
    }

    private mutating func send() throws(PostgresFault) {
        try session.put(bytes, milliseconds: milliseconds)
        bytes.removeAll(keepingCapacity: true)
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func append(_ value: TableRow.Value, _ type: PostgresColumnType) throws(PostgresFault) {
        switch (value, type) {
        case (.null, _): append(Int32(-1))
        case (.integer(let value), .bigint):
            append(Int32(8))
            append(value)
        case (.integer(let value), .boolean):
            append(Int32(1))
            bytes.append(value == 0 ? 0 : 1)
        case (.integer(let value), .numeric): append(sum: Int128(value))
        case (.text(let text), .numeric):
            guard let sum = Int128(String(decoding: text, as: UTF8.self)) else {
                throw PostgresFault(.decided(.corrupt), "a sum cannot be read")
            }
            append(sum: sum)
        case (.text(let text), .text) where text.contains(0):
            // PostgreSQL's texts cannot have it.
            append(text.flatMap { $0 == 0 ? PostgresCopy.symbolForNull : [$0] }[...])
        case (.text(let value), .text), (.blob(let value), .bytea): append(value)
        default: throw PostgresFault(.decided(.corrupt), "a row has a value of another type than its column")
        }
    }

    /// U+2400.
    private static let symbolForNull: [UInt8] = [0xE2, 0x90, 0x80]

    private mutating func append(_ value: ArraySlice<UInt8>) {
        append(Int32(value.count))
        bytes.append(contentsOf: value)
    }

    /// A whole number that is not negative: digits to the base of 10,000, the highest first.
    private mutating func append(sum: Int128) {
        var digits: [Int16] = []
        var rest = sum.magnitude
        while rest > 0 {
            digits.append(Int16(rest % 10_000))
            rest /= 10_000
        }
        append(Int32(8 + 2 * digits.count))
        append(Int16(digits.count))
        append(Int16(max(0, digits.count - 1)))
        append(sum < 0 ? UInt16(0x4000) : UInt16(0))
        append(Int16(0))
        for digit in digits.reversed() { append(digit) }
    }
}
#endif
