#if Postgres
package import Ledger
import LedgerSchema
import Synchronization

/// The tables of a projection in PostgreSQL as an auditor reads them: all of one state.
///
/// The session is used by one thread at a time, which the lock sees to.
package final class PostgresTableReader: TableReader, @unchecked Sendable {
    package let head: LogHead?

    private let session: PostgresConnection
    private let lock = Mutex(())
    private let schema: String
    private let format: Int64

    /// How long one statement may take.
    private static let milliseconds = 600_000
    private static let rowsPerStep = 10_000

    /// - Throws: ``StoreError`` where there are no such tables, or they cannot be read.
    package init(_ configuration: PostgresLogConfiguration) throws {
        schema = PostgresSchema.quoted(configuration.schema)
        do {
            session = try PostgresConnection(configuration.settings(writing: false))
            try session.run(
                configuration.beginning(writing: false), milliseconds: PostgresTableReader.milliseconds)
            session.isInTransaction = true
            try session.run(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", milliseconds: PostgresTableReader.milliseconds)
            let rows = try session.run(
                .init(name: "state", text: "SELECT block, term, hash, format FROM \(schema).projection WHERE id = 1"),
                milliseconds: PostgresTableReader.milliseconds)
            guard rows.count == 1, let hash = Digest(Array(rows.bytes(0, 2))) else {
                throw PostgresFault(.decided(.corrupt), "they do not say what they hold")
            }
            let number = try rows.number(0, 0, in: PostgresRanges.counts, "projection.block")
            let term = try rows.number(0, 1, in: PostgresRanges.terms, "projection.term")
            head = number == 0 ? nil : LogHead(number: number, term: term, hash: hash)
            format = rows.number(0, 3)
        } catch {
            throw PostgresTables.storeError(error, "opening the tables in the schema \(configuration.schema)")
        }
    }

    package func check() throws -> [String] {
        format == LedgerSchema.projectionFormat
            ? [] : ["they have the form \(format), not \(LedgerSchema.projectionFormat)"]
    }

    package func read(
        _ table: String, _ columns: [String], keyColumns: Int, _ each: (borrowing TableRow) throws -> Void
    ) throws {
        try lock.withLock { _ in
            do {
                let types = try types(of: table, columns)
                let list = zip(columns, types).map { column, type in
                    switch type {
                    case .bigint, .text, .bytea: column
                    case .boolean: "\(column)::int::bigint"
                    case .numeric: "\(column)::text"
                    }
                }
                try session.run(
                    "DECLARE rows NO SCROLL CURSOR FOR SELECT \(list.joined(separator: ", ")) FROM \(schema).\(table)",
                    milliseconds: PostgresTableReader.milliseconds)
                var row = TableRow()
                while true {
                    // Prepared anew for each table: a session's statement knows its columns.
                    let rows = try session.run(
                        .init(name: "fetch_\(table)", text: "FETCH \(PostgresTableReader.rowsPerStep) FROM rows"),
                        milliseconds: PostgresTableReader.milliseconds)
                    for index in 0..<rows.count {
                        row.begin()
                        for (column, type) in types.enumerated() {
                            add(rows, index, Int32(column), type, to: &row)
                            if column + 1 == keyColumns { row.endKey() }
                        }
                        try each(row)
                    }
                    if rows.count < PostgresTableReader.rowsPerStep { break }
                }
                try session.run("CLOSE rows", milliseconds: PostgresTableReader.milliseconds)
            } catch {
                throw PostgresTables.storeError(error, "reading table \(table)")
            }
        }
    }

    private func types(of table: String, _ columns: [String]) throws -> [PostgresColumnType] {
        let rows = try session.run(
            .init(
                name: "types",
                text: """
                    SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
                    WHERE attrelid = to_regclass('\(schema).' || $1::text) AND attnum > 0 AND NOT attisdropped
                    """), [.text(table)], milliseconds: PostgresTableReader.milliseconds)
        let found = Dictionary((0..<rows.count).map { (rows.text($0, 0), rows.text($0, 1)) }) { first, _ in first }
        return try columns.map { column in
            guard let type = found[column].flatMap(PostgresColumnType.init) else {
                throw PostgresFault(.decided(.corrupt), "it has no column \(column), or one of another type")
            }
            return type
        }
    }

    private func add(
        _ rows: PostgresRows, _ index: Int, _ column: Int32, _ type: PostgresColumnType, to row: inout TableRow
    ) {
        if rows.isNull(index, column) { return row.addNull() }
        switch type {
        case .bigint, .boolean: row.add(rows.number(index, column))
        case .text: row.add(text: rows.bytes(index, column))
        case .bytea: row.add(blob: rows.bytes(index, column))
        case .numeric:
            let text = rows.text(index, column)
            if let sum = Int128(text) { row.add(sum: sum) } else { row.add(text) }
        }
    }
}
#endif
