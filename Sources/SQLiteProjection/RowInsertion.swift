import GRDB
import GRDBSQLite
import Ledger

/// Inserts rows into one table, many with one statement where there are many: what SQLite does once a statement
/// (opening its cursors, taking memory and giving it back) is then shared by the rows.
///
/// Texts and blobs are copied into memory of our own until the statement has run, which costs less than SQLite's
/// copies of them.
final class RowInsertion {
    /// The gain is flat from here on, and a batch of a few rows is inserted one by one anyway.
    static let rowsPerStatement = 16

    private let one: PreparedStatement
    private let many: PreparedStatement
    private let table: StoredTable
    private let columns: Int32
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 10, alignment: 8)

    /// - Parameter unique: a column of which the first row stays where another one has the same; otherwise that is an
    ///   error.
    init(_ db: Database, into table: StoredTable, firstOf unique: String? = nil) throws {
        // A row that is refused ends the transaction, which its caller gives up anyway. To take back only its own
        // statement, SQLite would copy every page before the statement's first change of it.
        let head = "INSERT OR ROLLBACK INTO \(table.name) (\(table.columns)) VALUES "
        let tail = unique.map { " ON CONFLICT (\($0)) DO NOTHING" } ?? ""
        let count = table.columnCount
        let row = "(" + repeatElement("?", count: Int(count)).joined(separator: ", ") + ")"
        one = try PreparedStatement(db, head + row + tail)
        many = try PreparedStatement(
            db, head + repeatElement(row, count: RowInsertion.rowsPerStatement).joined(separator: ", ") + tail)
        self.table = table
        columns = count
    }

    deinit { memory.deallocate() }

    /// Inserts the rows in their order.
    /// - Parameters:
    ///   - sums: to which the rows are added; they are not right where one of them is not in the table.
    ///   - bind: binds every column of the row at a place, in their order. (A row that is passed itself would be
    ///     copied, its texts and blobs each retained and released.)
    /// - Returns: whether all of them are in the table now; not where a first one with the same value stays.
    @discardableResult
    func run<Row>(
        _ rows: [Row], _ sums: inout TableSums, _ bind: (inout RowParameters, UnsafePointer<Row>) throws -> Void
    ) throws -> Bool {
        try rows.withUnsafeBufferPointer { rows in
            guard let first = rows.baseAddress else { return true }
            var inserted = 0
            var next = 0
            while next < rows.count {
                let isLarge = rows.count - next >= RowInsertion.rowsPerStatement
                let statement = isLarge ? many : one
                let end = isLarge ? next + RowInsertion.rowsPerStatement : next + 1
                var parameters = RowParameters(statement: statement, memory: memory)
                while next < end {
                    try bind(&parameters, first + next)
                    sums[table].add(parameters.endRow(columns))
                    next += 1
                }
                try statement.run()
                inserted += statement.changes
            }
            return inserted == rows.count
        }
    }
}

/// The parameters of one row of a ``RowInsertion``'s statement, counted from 1.
struct RowParameters: RowSink {
    private let statement: PreparedStatement
    /// Holds texts and blobs until the statement has run.
    private let memory: UnsafeMutableRawBufferPointer
    private var used = 0
    /// Parameters of the rows before it.
    private var before: Int32 = 0
    private var hash = RowHash()

    fileprivate init(statement: PreparedStatement, memory: UnsafeMutableRawBufferPointer) {
        self.statement = statement
        self.memory = memory
    }

    /// Goes on to the next row.
    /// - Returns: the hash of the row that was bound.
    fileprivate mutating func endRow(_ columns: Int32) -> RowHash {
        before += columns
        defer { hash = RowHash() }
        return hash
    }

    mutating func bind(_ column: Int32, _ value: Int64) {
        hash.add(value)
        statement.bind(before + column, value)
    }

    mutating func bind(_ column: Int32, _ value: Int64?) {
        hash.bind(column, value)
        statement.bind(before + column, value)
    }

    mutating func bind(_ column: Int32, _ name: StoredName) {
        hash.add(text: name.bytes)
        statement.bind(before + column, name)
    }

    mutating func bind(_ column: Int32, _ name: StoredName?) {
        if let name { bind(column, name) } else { bind(column, nil as Int64?) }
    }

    mutating func bind(_ column: Int32, _ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            let bytes = UnsafeRawBufferPointer(utf8)
            hash.add(text: bytes)
            if let kept = keep(bytes) {
                statement.bind(before + column, keptText: kept)
            } else {
                statement.bind(before + column, copiedText: bytes)
            }
        }
    }

    mutating func bind(_ column: Int32, _ value: String?) {
        if let value { bind(column, value) } else { bind(column, nil as Int64?) }
    }

    mutating func bind(_ column: Int32, _ value: ArraySlice<UInt8>) { value.withUnsafeBytes { bind(column, blob: $0) } }

    mutating func bind(_ column: Int32, _ value: Digest) { value.withUnsafeBytes { bind(column, blob: $0) } }

    private mutating func bind(_ column: Int32, blob bytes: UnsafeRawBufferPointer) {
        hash.add(blob: bytes)
        if let kept = keep(bytes) {
            statement.bind(before + column, keptBlob: kept)
        } else {
            statement.bind(before + column, copiedBlob: bytes)
        }
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard memory.count - used >= bytes.count, let start = memory.baseAddress else { return nil }
        let place = start + used
        if let first = bytes.baseAddress { place.copyMemory(from: first, byteCount: bytes.count) }
        used += bytes.count
        return UnsafeRawBufferPointer(start: place, count: bytes.count)
    }
}
