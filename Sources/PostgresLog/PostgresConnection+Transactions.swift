#if Postgres
import CPostgres
import Ledger

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension PostgresConnection {
    /// Begins a transaction. After an error in it there is ``endTransaction(milliseconds:)``, or the session is given up,
    /// and the server takes everything back.
    func beginTransaction(milliseconds: Int) throws(PostgresFault) {
        isInTransaction = true
        try run("BEGIN", milliseconds: milliseconds)
    }

    /// Makes everything durable that was done since the transaction began.
    /// - Throws: ``PostgresFault``, as ``run(_:_:milliseconds:)``.
    func commitTransaction(milliseconds: Int) throws(PostgresFault) {
        let commit = Statement(name: "commit", text: "COMMIT")
        try prepare(commit, milliseconds: milliseconds)
        isInTransaction = false
        _ = try run(commit, milliseconds: milliseconds)
    }

    /// Takes everything back that was done since the transaction began, if it has not ended. Where the server does not
    /// say that it did, the session is lost, and the server does it for that reason.
    func endTransaction(milliseconds: Int) {
        guard isInTransaction else { return }
        isInTransaction = false
        do throws(PostgresFault) { try run("ROLLBACK", milliseconds: milliseconds) } catch { isLost = true }
    }

    /// Copies rows into a table, in the protocol's binary form.
    /// - Parameters:
    ///   - target: the table, with its columns in parentheses.
    ///   - rows: adds them.
    /// - Returns: how many there were.
    func copy(
        into target: String, _ types: [PostgresColumnType], milliseconds: Int,
        _ rows: (inout PostgresCopy) throws -> Void
    ) throws -> Int64 {
        try begin()
        try check(PQsendQuery(connection, "COPY \(target) FROM STDIN (FORMAT binary)"))
        try awaitCopying(milliseconds: milliseconds)
        var copy = PostgresCopy(self, types, milliseconds: milliseconds)
        do {
            try rows(&copy)
            try copy.end()
        } catch {
            // Otherwise the server would wait for the rest of it.
            isLost = true
            throw error
        }
        while true {
            let code = PQputCopyEnd(connection, nil)
            if code == 1 { break }
            guard code == 0 else { throw lost() }
            try flush(milliseconds: milliseconds)
        }
        _ = try answer(within: milliseconds)
        return copy.count
    }

    private func awaitCopying(milliseconds: Int) throws(PostgresFault) {
        let end = monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
        while PQflush(connection) == 1 { try pause(for: Int32(POLLIN | POLLOUT), until: end) }
        while PQisBusy(connection) == 1 { try pause(for: Int32(POLLIN), until: end) }
        guard let result = PQgetResult(connection) else { throw lost() }
        defer { PQclear(result) }
        guard PQresultStatus(result) == PGRES_COPY_IN else {
            isLost = true
            throw PostgresFault(of: result) ?? PostgresFault(.lost, words)
        }
    }

    /// Sends bytes of a copy.
    fileprivate func put(_ bytes: [UInt8], milliseconds: Int) throws(PostgresFault) {
        while true {
            let code = bytes.withUnsafeBytes { bytes in
                PQputCopyData(
                    connection, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
            }
            if code == 1 { return try flush(milliseconds: milliseconds) }
            guard code == 0 else { throw lost() }
            try flush(milliseconds: milliseconds)
        }
    }

    /// Waits until the server has taken what was sent.
    private func flush(milliseconds: Int) throws(PostgresFault) {
        let end = monotonicNanoseconds() + UInt64(milliseconds) * 1_000_000
        while true {
            switch PQflush(connection) {
            case 0: return
            case 1: try pause(for: Int32(POLLIN | POLLOUT), until: end)
            default: throw lost()
            }
        }
    }

    private func lost() -> PostgresFault {
        isLost = true
        return PostgresFault(.lost, words)
    }
}

/// The types of columns that tables have.
enum PostgresColumnType {
    case bigint, text, bytea, boolean, numeric

    /// - Parameter name: as `format_type` says it; `nil` where no column of ours has such a type.
    init?(_ name: String) {
        switch name {
        case "bigint": self = .bigint
        case "text": self = .text
        case "bytea": self = .bytea
        case "boolean": self = .boolean
        case "numeric": self = .numeric
        default: return nil
        }
    }
}

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

    fileprivate mutating func end() throws(PostgresFault) {
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
