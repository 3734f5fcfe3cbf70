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
    private let columns: Int32
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 10, alignment: 8)

    /// - Parameters:
    ///   - columns: their names with commas between them.
    ///   - unique: a column of which the first row stays where another one has the same; otherwise that is an error.
    init(_ db: Database, into table: String, _ columns: String, firstOf unique: String? = nil) throws {
        // A row that is refused ends the transaction, which its caller gives up anyway. To take back only its own
        // statement, SQLite would copy every page before the statement's first change of it.
        let head = "INSERT OR ROLLBACK INTO \(table) (\(columns)) VALUES "
        let tail = unique.map { " ON CONFLICT (\($0)) DO NOTHING" } ?? ""
        let count = columns.split(separator: ",").count
        let row = "(" + repeatElement("?", count: count).joined(separator: ", ") + ")"
        one = try PreparedStatement(db, head + row + tail)
        many = try PreparedStatement(
            db, head + repeatElement(row, count: RowInsertion.rowsPerStatement).joined(separator: ", ") + tail)
        self.columns = Int32(count)
    }

    deinit { memory.deallocate() }

    /// Inserts the rows in their order.
    /// - Parameter bind: binds every column of the row at a place. (A row that is passed itself would be copied, its
    ///   texts and blobs each retained and released.)
    /// - Returns: whether all of them are in the table now; not where a first one with the same value stays.
    @discardableResult
    func run<Row>(_ rows: [Row], _ bind: (inout RowParameters, UnsafePointer<Row>) throws -> Void) throws -> Bool {
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
                    parameters.before += columns
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
struct RowParameters {
    private let statement: PreparedStatement
    /// Holds texts and blobs until the statement has run.
    private let memory: UnsafeMutableRawBufferPointer
    private var used = 0
    /// Parameters of the rows before it.
    fileprivate var before: Int32 = 0

    fileprivate init(statement: PreparedStatement, memory: UnsafeMutableRawBufferPointer) {
        self.statement = statement
        self.memory = memory
    }

    func bind(_ column: Int32, _ value: Int64) { statement.bind(before + column, value) }

    func bind(_ column: Int32, _ value: Int64?) { statement.bind(before + column, value) }

    func bind(_ column: Int32, _ name: StoredName) { statement.bind(before + column, name) }

    func bind(_ column: Int32, _ name: StoredName?) {
        if let name { bind(column, name) } else { bind(column, nil as Int64?) }
    }

    mutating func bind(_ column: Int32, _ value: String) {
        let isKept: Void? = value.utf8.withContiguousStorageIfAvailable { utf8 in
            guard let kept = keep(UnsafeRawBufferPointer(utf8)) else { return statement.bind(before + column, value) }
            statement.bind(before + column, keptText: kept)
        }
        if isKept == nil { statement.bind(before + column, value) }
    }

    mutating func bind(_ column: Int32, _ value: String?) {
        if let value { bind(column, value) } else { statement.bind(before + column, nil as Int64?) }
    }

    mutating func bind(_ column: Int32, _ value: ArraySlice<UInt8>) {
        value.withUnsafeBytes { bytes in
            if let kept = keep(bytes) {
                statement.bind(before + column, keptBlob: kept)
            } else {
                statement.bind(before + column, value)
            }
        }
    }

    mutating func bind(_ column: Int32, _ value: Digest) {
        value.withUnsafeBytes { bytes in
            if let kept = keep(bytes) {
                statement.bind(before + column, keptBlob: kept)
            } else {
                statement.bind(before + column, value)
            }
        }
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard memory.count - used >= bytes.count else { return nil }
        let place = UnsafeMutableRawBufferPointer(rebasing: memory[used..<used + bytes.count])
        place.copyMemory(from: bytes)
        used += bytes.count
        return UnsafeRawBufferPointer(place)
    }
}
