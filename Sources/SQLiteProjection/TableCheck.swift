import GRDB
import Ledger
import Synchronization

/// Compares the tables' rows with the sums that are kept of them, one table after the other, in parts. Then all indexes
/// are read: a page of one may be damaged, and be needed by nothing for long.
///
/// Each table is read in one transaction, beside whatever is written meanwhile. The write-ahead log cannot begin anew
/// as long as one lasts, so a table that is long is left and begun again where too much is written.
///
/// Used by one thread at a time.
final class TableCheck {
    private let path: String
    private let bounds: SQLiteBounds
    private var queue: DatabaseQueue?
    private var rest = (StoredTable.allCases.map { Part.table($0) } + [.indexes])[...]
    /// The table or index that is being read.
    private var reading: Reading?

    private enum Part {
        case table(StoredTable)
        /// Which there are.
        case indexes
        /// - select: gives a row for each entry.
        case index(name: String, select: String)
    }

    private struct Reading {
        let rows: PreparedStatement
        /// `nil` of an index.
        let expected: TableSum?
        let columns: Int32
        var sum = TableSum()
        /// The pages of the write-ahead log when it began.
        let walPages: Int
    }

    init(_ path: String, _ bounds: SQLiteBounds) {
        self.path = path
        self.bounds = bounds
    }

    /// Reads on.
    /// - Parameter walPages: of the write-ahead log.
    /// - Returns: whether there is more.
    /// - Throws: ``Mismatch``, a ``DatabaseError`` where a page is damaged, or a ``StoreError`` `corrupt` where the sum
    ///   cannot be read: it goes on with the next table. Another ``StoreError`` where it must be left for a while.
    func next(walPages: Int) throws -> Bool {
        guard let part = rest.first else {
            try close()
            return false
        }
        let queue = try opened()
        let fits: Bool? = try queue.inDatabase { db in
            do {
                return try check(part, db, walPages: walPages)
            } catch {
                // What is damaged of it can be read by nobody else either; the rest of it can be right.
                if (error as? DatabaseError)?.isDamage ?? ((error as? StoreError)?.kind == .corrupt) {
                    rest.removeFirst()
                }
                try end(db)
                throw error
            }
        }
        guard let fits else { return true }
        rest.removeFirst()
        if case .table(let table) = part, !fits { throw Mismatch(table: table) }
        return true
    }

    private func opened() throws -> DatabaseQueue {
        if let queue { return queue }
        do {
            let opened = try DatabaseFile.openFurther(path)
            queue = opened
            return opened
        } catch {
            // They were opened a moment ago.
            throw StoreError("the tables cannot be opened once more: \(error)")
        }
    }

    /// A table that has other rows than were written.
    struct Mismatch: Error {
        let table: StoredTable
    }

    /// - Returns: whether it is what was written; `nil` where there are more rows.
    private func check(_ part: Part, _ db: Database, walPages: Int) throws -> Bool? {
        switch part {
        case .table(let table):
            return try read(table.name, db, walPages: walPages) {
                // In the order of the table itself: an index may have all columns that are wanted, and lack rows.
                let expected = try StoredState.sums(db)[table]
                return ("SELECT \(table.columns) FROM \(table.name) NOT INDEXED", table.columnCount, expected)
            }
        case .indexes:
            rest += try TableCheck.indexes(db)
            return true
        case .index(let name, let select): return try read(name, db, walPages: walPages) { (select, 0, nil) }
        }
    }

    private static func indexes(_ db: Database) throws -> [Part] {
        var indexes: [Part] = []
        let list = "SELECT name, tbl_name, coalesce(sql, '') FROM sqlite_schema WHERE type = 'index' AND rootpage > 0"
        try PreparedStatement(db, list).forEach { row in
            // SQLite reads an index of some rows only for a condition like its own.
            let condition = row.text(2).range(of: " WHERE ").map { row.text(2)[$0.lowerBound...] } ?? ""
            let name = row.text(0)
            indexes.append(.index(name: name, select: "SELECT 1 FROM \(row.text(1)) INDEXED BY \(name)\(condition)"))
        }
        return indexes
    }

    /// - Parameter begin: within the transaction: what is to be read, of how many columns, and their rows' sum.
    /// - Returns: whether that is their sum; `nil` where there are more rows.
    private func read(
        _ name: String, _ db: Database, walPages: Int,
        _ begin: () throws -> (select: String, columns: Int32, expected: TableSum?)
    ) throws -> Bool? {
        var reading = try reading ?? beginReading(db, walPages: walPages, begin)
        // A copy of the statement would stay behind when the transaction is ended.
        self.reading = nil
        for _ in 0..<bounds.checkedRowsAtOnce {
            guard try reading.rows.next() else {
                try db.execute(sql: "COMMIT")
                return reading.expected.map { $0 == reading.sum } ?? true
            }
            if reading.expected != nil { reading.sum.add(RowHash(reading.rows, columns: reading.columns)) }
        }
        guard walPages - reading.walPages < bounds.checkWALPagesMax else {
            reading.rows.reset()
            throw StoreError("so much is written that \(name) cannot be compared with its sum now")
        }
        self.reading = reading
        return nil
    }

    private func beginReading(
        _ db: Database, walPages: Int, _ begin: () throws -> (select: String, columns: Int32, expected: TableSum?)
    ) throws -> Reading {
        try db.execute(sql: "BEGIN")
        let (select, columns, expected) = try begin()
        return Reading(
            rows: try PreparedStatement(db, select), expected: expected, columns: columns, walPages: walPages)
    }

    private func end(_ db: Database) throws {
        reading?.rows.reset()
        reading = nil
        if db.isInsideTransaction { try db.execute(sql: "ROLLBACK") }
    }

    func close() throws {
        guard let queue else { return }
        self.queue = nil
        try queue.inDatabase { db in try end(db) }
        try queue.close()
    }
}

/// Tables of which it is known that their rows are not those that were written. Nothing of them is believed: neither
/// what they have nor that they lack something.
final class SuspectTables: Sendable {
    private let tables = Mutex<Set<StoredTable>>([])
    /// Whether there are any.
    private let isAny = Atomic(false)

    func add(_ table: StoredTable) { add([table]) }

    func addAll() { add(Set(StoredTable.allCases)) }

    private func add(_ more: Set<StoredTable>) {
        tables.withLock { $0.formUnion(more) }
        isAny.store(true, ordering: .releasing)
    }

    var isEmpty: Bool { !isAny.load(ordering: .acquiring) }

    /// - Throws: ``StoreError`` where one of them is suspect.
    func check(_ wanted: StoredTable...) throws { try check(wanted) }

    /// - Throws: ``StoreError`` where any table is.
    func checkAll() throws { try check(StoredTable.allCases) }

    private func check(_ wanted: [StoredTable]) throws {
        if isEmpty { return }
        let suspect = tables.withLock { tables in wanted.first { tables.contains($0) } }
        if let suspect { throw SuspectTables.error(suspect) }
    }

    static func error(_ table: StoredTable) -> StoreError {
        .corrupt("table \(table.name) has other rows than were written; nothing of it is believed")
    }
}
