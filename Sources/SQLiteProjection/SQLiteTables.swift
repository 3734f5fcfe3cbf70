import Dispatch
import GRDB
package import Ledger
import LedgerSchema
import Synchronization

/// The tables as an auditor reads them: read-only, beside their writer or without one. Each connection keeps one read
/// transaction from the beginning to the end, all of the same state; the write-ahead log cannot begin anew meanwhile.
package final class SQLiteTables: TableReader {
    package let head: LogHead?
    /// Those that nobody reads from at the moment.
    private let connections: Connections

    /// - Parameter connections: how many tables can be read at once.
    /// - Throws: ``ProjectionOpeningError`` or ``StoreError``
    package init(path: String, connections: Int) throws {
        var attempt = 1
        while true {
            let first = try DatabaseFile.openReadOnly(path, keepsTransactions: true)
            let queues = try [first] + (1..<max(connections, 1)).map { _ in try DatabaseFile.openFurther(path) }
            let heads = try queues.map { try SQLiteTables.begin($0) }
            if heads.allSatisfy({ $0 == heads[0] }) {
                head = heads[0]
                self.connections = Connections(queues)
                return
            }
            // Something was applied in between.
            attempt += 1
            guard attempt <= SQLiteLimits.snapshotAttemptsMax else {
                throw StoreError("the tables change too quickly to be read by several connections in one state")
            }
        }
    }

    /// The head as the tables' row says it; whether all of that row is right, the auditor finds.
    private static func begin(_ queue: DatabaseQueue) throws -> LogHead? {
        try faults("reading what the tables hold") {
            try queue.inDatabase { db in
                try db.execute(sql: "BEGIN")
                return try PreparedStatement(db, "SELECT block, term, hash FROM projection WHERE id = 1").first { row in
                    guard let hash = Digest(row.blob(2)) else {
                        throw StoreError.corrupt("the tables do not say what they hold")
                    }
                    return row.integer(0) == 0
                        ? nil : LogHead(number: row.integer(0), term: row.integer(1), hash: hash)
                } ?? nil
            }
        }
    }

    deinit {
        for queue in connections.all {
            // What is read only is given back whether or not the transaction can be ended.
            try? queue.inDatabase { db in try db.execute(sql: "ROLLBACK") }
            try? queue.close()
        }
    }

    package func check() throws -> [String] {
        try connections.withOne { queue in
            try faults("checking the tables' files") {
                try queue.inDatabase { db in
                    try SQLiteTables.definitions(db) + SQLiteTables.ownRow(db) + SQLiteTables.integrity(db)
                }
            }
        }
    }

    package func read(
        _ table: String, _ columns: [String], keyColumns: Int, _ each: (borrowing TableRow) throws -> Void
    ) throws {
        try connections.withOne { queue in
            try faults("reading table \(table)") {
                try queue.inDatabase { db in
                    var row = TableRow()
                    let sql = "SELECT \(columns.joined(separator: ", ")) FROM \(table)"
                    try PreparedStatement(db, sql).forEach { statement in
                        row.begin()
                        for column in columns.indices {
                            statement.add(Int32(column), to: &row)
                            if column + 1 == keyColumns { row.endKey() }
                        }
                        try each(row)
                    }
                }
            }
        }
    }

    // MARK: What is no row

    private struct Definition: Hashable {
        var type: String
        var name: String
        var sql: String
    }

    /// What is defined otherwise than this program defines it: another hand may have added a trigger.
    private static func definitions(_ db: Database) throws -> [String] {
        let expected = try DatabaseQueue().write { model in
            try model.execute(sql: LedgerSchema.projection)
            return try definitions(of: model)
        }
        let actual = try definitions(of: db)
        return expected.subtracting(actual).map { "\($0.type) \($0.name) is not defined as it must be" }.sorted()
            + actual.subtracting(expected).filter { definition in !expected.contains { $0.name == definition.name } }
            .map { "there is a \($0.type) \($0.name) that must not be" }.sorted()
    }

    private static func definitions(of db: Database) throws -> Set<Definition> {
        var definitions: Set<Definition> = []
        try PreparedStatement(db, "SELECT type, name, coalesce(sql, '') FROM sqlite_schema").forEach { row in
            definitions.insert(Definition(type: row.text(0), name: row.text(1), sql: row.text(2)))
        }
        return definitions
    }

    /// The row that says what the tables hold, with the sums that no block repeats.
    private static func ownRow(_ db: Database) throws -> [String] {
        do {
            _ = try StoredState(rowOf: db)
            return []
        } catch let error as StoreError where error.kind == .corrupt {
            return [error.description]
        }
    }

    /// SQLite's own check: pages, the order of rows, indexes, constraints.
    private static func integrity(_ db: Database) throws -> [String] {
        var words: [String] = []
        try PreparedStatement(db, "PRAGMA integrity_check(\(SQLiteLimits.integrityFaultsMax))").forEach { row in
            words.append(row.text(0))
        }
        return words == ["ok"] ? [] : words
    }
}

/// Connections that are lent to one reader at a time.
private final class Connections: Sendable {
    let all: [DatabaseQueue]
    private let count: DispatchSemaphore
    private let free: Mutex<[DatabaseQueue]>

    init(_ queues: [DatabaseQueue]) {
        all = queues
        count = DispatchSemaphore(value: queues.count)
        free = Mutex(queues)
    }

    func withOne<Result>(_ body: (DatabaseQueue) throws -> Result) throws -> Result {
        count.wait()
        guard let queue = free.withLock({ $0.popLast() }) else {
            preconditionFailure("a semaphore counts the connections that are free")
        }
        defer {
            free.withLock { $0.append(queue) }
            count.signal()
        }
        return try body(queue)
    }
}
