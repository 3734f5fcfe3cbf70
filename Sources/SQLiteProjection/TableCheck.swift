import GRDB
import Ledger
import Synchronization

/// Compares the tables' rows with the sums that are kept of them, one table after the other, in parts.
///
/// Each table is read in one transaction, beside whatever is written meanwhile. The write-ahead log cannot begin anew
/// as long as one lasts, so a table that is long is left and begun again where too much is written.
///
/// Used by one thread at a time.
final class TableCheck {
    private let path: String
    private let bounds: SQLiteBounds
    private var queue: DatabaseQueue?
    private var rest = StoredTable.allCases[...]
    /// The table that is being read.
    private var reading: Reading?

    private struct Reading {
        let rows: PreparedStatement
        let expected: TableSum
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
        guard let table = rest.first else {
            try close()
            return false
        }
        let queue = try opened()
        let fits: Bool? = try queue.inDatabase { db in
            do {
                return try compare(table, db, walPages: walPages)
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
        if !fits { throw Mismatch(table: table) }
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

    /// - Returns: `nil` where there are more rows.
    private func compare(_ table: StoredTable, _ db: Database, walPages: Int) throws -> Bool? {
        var reading = try reading ?? begin(table, db, walPages: walPages)
        // A copy of the statement would stay behind when the transaction is ended.
        self.reading = nil
        let columns = table.columnCount
        for _ in 0..<bounds.checkedRowsAtOnce {
            guard try reading.rows.next() else {
                try db.execute(sql: "COMMIT")
                return reading.sum == reading.expected
            }
            reading.sum.add(RowHash(reading.rows, columns: columns))
        }
        guard walPages - reading.walPages < bounds.checkWALPagesMax else {
            reading.rows.reset()
            throw StoreError("so much is written that table \(table.name) cannot be compared with its sum now")
        }
        self.reading = reading
        return nil
    }

    private func begin(_ table: StoredTable, _ db: Database, walPages: Int) throws -> Reading {
        try db.execute(sql: "BEGIN")
        let expected = try StoredState.sums(db)[table]
        // In the order of the table itself: an index may have all columns that are wanted, and lack rows.
        let rows = try PreparedStatement(db, "SELECT \(table.columns) FROM \(table.name) NOT INDEXED")
        return Reading(rows: rows, expected: expected, walPages: walPages)
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
