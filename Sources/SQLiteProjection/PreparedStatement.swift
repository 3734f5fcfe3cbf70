import GRDB
import GRDBSQLite
import Ledger

/// A statement that GRDB prepared, bound and stepped through SQLite's C interface: a third of the time that
/// the same insert takes through GRDB's arguments. GRDB's statement owns the C pointer.
///
/// Used only on the connection that prepared it, by one thread at a time. Columns and parameters are counted as SQLite
/// counts them: parameters from 1, columns from 0.
struct PreparedStatement {
    private let statement: Statement
    private let handle: OpaquePointer
    /// Where a connection is given up without being closed, SQLite closes it with its last statement, and then calls
    /// hooks that are this object's.
    private let database: Database
    /// SQLite copies the bytes before the call returns.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ db: Database, _ sql: String) throws {
        statement = try db.makeStatement(sql: sql)
        handle = statement.sqliteStatement
        database = db
    }

    func bind(_ index: Int32, _ value: Int64) { sqlite3_bind_int64(handle, index, value) }

    func bind(_ index: Int32, _ value: Int64?) {
        if let value { sqlite3_bind_int64(handle, index, value) } else { sqlite3_bind_null(handle, index) }
    }

    func bind(_ index: Int32, _ value: String) {
        var value = value
        value.withUTF8 { bind(index, copiedText: UnsafeRawBufferPointer($0)) }
    }

    func bind(_ index: Int32, copiedText text: UnsafeRawBufferPointer) {
        sqlite3_bind_text(
            handle, index, text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count),
            PreparedStatement.transient)
    }

    func bind(_ index: Int32, _ value: String?) {
        if let value { bind(index, value) } else { sqlite3_bind_null(handle, index) }
    }

    func bind(_ index: Int32, copiedBlob blob: UnsafeRawBufferPointer) {
        sqlite3_bind_blob(handle, index, blob.baseAddress, Int32(blob.count), PreparedStatement.transient)
    }

    func bind(_ index: Int32, _ value: Digest) { value.withUnsafeBytes { bind(index, copiedBlob: $0) } }

    func bind(_ index: Int32, _ name: StoredName) { bind(index, keptText: name.bytes) }

    /// Binds bytes that stay where they are until the statement has run.
    func bind(_ index: Int32, keptText text: UnsafeRawBufferPointer) {
        sqlite3_bind_text(
            handle, index, text.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(text.count), nil)
    }

    func bind(_ index: Int32, keptBlob blob: UnsafeRawBufferPointer) {
        sqlite3_bind_blob(handle, index, blob.baseAddress, Int32(blob.count), nil)
    }

    /// Runs a statement that gives no rows.
    func run() throws {
        let code = sqlite3_step(handle)
        sqlite3_reset(handle)
        if code != SQLITE_DONE { throw failure(code) }
    }

    /// How many rows it changed when it was run last.
    var changes: Int { Int(sqlite3_changes(sqlite3_db_handle(handle))) }

    /// Runs a statement that must change so many rows: one that finds another number has met a table changed by other
    /// hands.
    func run(changing rows: Int32) throws {
        try run()
        let changed = sqlite3_changes(sqlite3_db_handle(handle))
        guard changed == rows else {
            throw StoreError(.corrupt, "a statement changed \(changed) rows, not \(rows): \(statement.sql)")
        }
    }

    /// Steps to the next row; `false` and reset where there is none.
    func next() throws -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        default:
            sqlite3_reset(handle)
            throw failure(code)
        }
    }

    /// Ends a reading that was not stepped to its end.
    func reset() { sqlite3_reset(handle) }

    /// Calls `body` at each row, and ends the reading also where `body` throws.
    func forEach(_ body: (PreparedStatement) throws -> Void) throws {
        while try next() {
            do {
                try body(self)
            } catch {
                reset()
                throw error
            }
        }
    }

    /// What `body` makes of the first row; `nil` where there is none.
    func first<Result>(_ body: (PreparedStatement) throws -> Result) throws -> Result? {
        guard try next() else { return nil }
        defer { reset() }
        return try body(self)
    }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    func optionalInteger(_ column: Int32) -> Int64? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : sqlite3_column_int64(handle, column)
    }

    /// A turnover as ``RowSink/bind(_:sum:)`` stores it; `nil` where it is none that can be.
    func sum(_ column: Int32) -> Int128? {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER:
            let value = integer(column)
            return value >= 0 ? Int128(value) : nil
        case SQLITE_TEXT:
            let text = text(column)
            guard let value = Int128(text), value > Int64.max, value < Totals.turnoverMax, String(value) == text
            else { return nil }
            return value
        default: return nil
        }
    }

    /// What ``SplitSum`` adds up, from two columns.
    func splitSum(_ column: Int32) -> Int128 { Int128(integer(column)) << 32 + Int128(integer(column + 1)) }

    func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func optionalText(_ column: Int32) -> String? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : text(column)
    }

    func blob(_ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, column) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// Adds a column's value, of whatever type it is.
    func add<Sink: ValueSink & ~Copyable>(_ column: Int32, to row: inout Sink) {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: row.add(sqlite3_column_int64(handle, column))
        case SQLITE_FLOAT: row.add(sqlite3_column_double(handle, column))
        case SQLITE_TEXT:
            let start = sqlite3_column_text(handle, column)
            row.add(
                text: UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(handle, column)
            row.add(
                blob: UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
        default: row.addNull()
        }
    }

    /// An error like GRDB's: code, message and SQL, but no bound values.
    private func failure(_ code: Int32) -> DatabaseError {
        let message = sqlite3_db_handle(handle).flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
        return DatabaseError(resultCode: ResultCode(rawValue: code), message: message, sql: statement.sql)
    }
}

/// Where the values of a row go as SQLite stores them.
protocol ValueSink: ~Copyable {
    mutating func addNull()
    mutating func add(_ value: Int64)
    mutating func add(_ value: Double)
    mutating func add(text: UnsafeRawBufferPointer)
    mutating func add(blob: UnsafeRawBufferPointer)
}

extension TableRow: ValueSink {}
