#if Postgres
package import Ledger
import LedgerSchema

/// The tables of a projection in PostgreSQL, in a schema of their own: a copy for others' SQL, on which no decision is
/// made.
///
/// The row of `projection` names the block up to which all of them are exact. It is changed in one transaction with
/// the rows, and only by whoever knows which block it names: of two who bring the same tables forward one is refused.
///
/// One thread at a time uses it. After an error it is opened anew.
package final class PostgresTables {
    private struct Table {
        var columns: [String] = []
        var types: [PostgresColumnType] = []
        var key: [String] = []
    }

    /// Tables of which rows are changed; to all others rows are only added.
    private static let changing: Set<String> = [
        "account", "wallet", "lot", "hold", "total", "request", "purchase", "link", "projection",
    ]

    /// The block up to which the tables are exact; `nil` where they are empty.
    package private(set) var head: LogHead?
    /// The last numbers after that block.
    package private(set) var position: LastNumbers

    private let session: PostgresConnection
    private let name: String
    /// As statements say it.
    private let schema: String
    private let tables: [String: Table]

    /// Opens the tables, or makes them where there are none.
    /// - Parameters:
    ///   - configuration: where they are; the `schema` is the tables' own.
    ///   - ledger: whose books they must be.
    /// - Throws: ``StoreError``: `corrupt` where they are another ledger's, or of another form, or the schema has other
    ///   things; `unavailable` where the server cannot be reached.
    package init(_ configuration: PostgresLogConfiguration, ledger: BlockRows.LedgerRow) throws {
        name = configuration.schema
        schema = PostgresSchema.quoted(name)
        do {
            session = try PostgresConnection(configuration.settings(writing: true))
            try session.run(configuration.beginning(writing: true), milliseconds: PostgresTables.milliseconds)
            try PostgresTables.makeWhereAbsent(session, schema, ledger)
            let row = try PostgresTables.state(session, schema, ledger)
            (head, position) = (row.head, row.position)
            tables = try PostgresTables.tables(session, schema)
            for name in PostgresTables.changing {
                try session.run(
                    "CREATE TEMPORARY TABLE new_\(name) (LIKE \(schema).\(name)) ON COMMIT DELETE ROWS",
                    milliseconds: PostgresTables.milliseconds)
            }
        } catch {
            throw PostgresTables.storeError(error, "opening the tables in the schema \(configuration.schema)")
        }
    }

    /// How long one statement may take: the tables of a large ledger are filled by one.
    private static let milliseconds = 3_600_000

    // MARK: - Bringing them forward

    /// Brings the tables forward in one transaction.
    /// - Parameter body: writes all rows that were added or changed since ``head``, the row of `projection` with them.
    ///   Where the tables are empty, that is all rows.
    /// - Returns: how many rows were written.
    /// - Throws: ``StoreError``, or what `body` throws; then the tables have what they had, or, where the commit's
    ///   answer did not come, all of it.
    package func write(_ body: (_ batch: Batch) throws -> Void) throws -> Int64 {
        let batch = Batch(self, isWhole: head == nil)
        do {
            try session.beginTransaction(milliseconds: PostgresTables.milliseconds)
            do {
                try checkIsMine()
                try body(batch)
            } catch {
                session.isLost = true
                throw error
            }
            try session.commitTransaction(milliseconds: PostgresTables.milliseconds)
            let row = try PostgresTables.state(session, schema, nil)
            (head, position) = (row.head, row.position)
        } catch {
            throw PostgresTables.storeError(error, "writing the tables in the schema \(name)")
        }
        return batch.rows
    }

    /// What is written in one transaction.
    package final class Batch {
        private let tables: PostgresTables
        private let isWhole: Bool
        package private(set) var rows: Int64 = 0

        fileprivate init(_ tables: PostgresTables, isWhole: Bool) {
            self.tables = tables
            self.isWhole = isWhole
        }

        /// Writes rows of a table; one that is there is replaced.
        /// - Parameters:
        ///   - columns: the names of the values of each row, in their order.
        ///   - each: hands the rows over.
        package func write(
            _ name: String, _ columns: [String], _ each: ((borrowing TableRow) throws -> Void) throws -> Void
        ) throws {
            guard let table = tables.tables[name] else {
                throw PostgresFault(.decided(.corrupt), "there is no table \(name)")
            }
            let types = try columns.map { column in
                guard let place = table.columns.firstIndex(of: column) else {
                    throw PostgresFault(.decided(.corrupt), "the table \(name) has no column \(column)")
                }
                return table.types[place]
            }
            let list = columns.joined(separator: ", ")
            let replaces = PostgresTables.changing.contains(name) && (!isWhole || name == "projection")
            let target = "\(tables.schema).\(name)"
            let count = try tables.session.copy(
                into: "\(replaces ? "pg_temp.new_\(name)" : target) (\(list))", types,
                milliseconds: PostgresTables.milliseconds
            ) { copy in
                try each { row in try copy.add(row) }
            }
            rows += count
            guard replaces, count > 0 else { return }
            let key = table.key.joined(separator: ", ")
            let changes = columns.filter { !table.key.contains($0) }.map { "\($0) = EXCLUDED.\($0)" }
            // By their keys: a name that was erased is free before another account gets it.
            try tables.session.run(
                """
                INSERT INTO \(target) (\(list)) SELECT \(list) FROM pg_temp.new_\(name) ORDER BY \(key)
                ON CONFLICT (\(key)) DO UPDATE SET \(changes.joined(separator: ", "))
                """, milliseconds: PostgresTables.milliseconds)
        }
    }

    /// Locks the row of `projection`, which must name the block that these tables know.
    private func checkIsMine() throws {
        let rows = try session.run(
            .init(
                name: "own_row", text: "SELECT block, hash FROM \(schema).projection WHERE id = 1 FOR UPDATE"),
            milliseconds: PostgresTables.milliseconds)
        guard rows.count == 1, rows.number(0, 0) == head?.number ?? 0,
            rows.bytes(0, 1).elementsEqual((head?.hash ?? .zero).bytes)
        else { throw PostgresFault(.decided(.superseded), "somebody else brings them forward too") }
    }

    // MARK: - What is there

    private static func makeWhereAbsent(
        _ session: PostgresConnection, _ schema: String, _ ledger: BlockRows.LedgerRow
    ) throws {
        let found = try session.run(
            .init(
                name: "found",
                text: """
                    SELECT to_regclass('\(schema).projection') IS NOT NULL,
                        EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('\(schema)'))
                    """), milliseconds: milliseconds)
        if found.flag(0, 0) { return }
        guard !found.flag(0, 1) else {
            throw PostgresFault(.decided(.corrupt), "it has other tables; these have a schema of their own")
        }
        try session.run(
            """
            CREATE SCHEMA IF NOT EXISTS \(schema); SET search_path = \(schema), pg_catalog;
            \(LedgerSchema.postgresTables)
            SET search_path = pg_catalog;
            INSERT INTO \(schema).projection VALUES (
                1, \(LedgerSchema.projectionFormat), \(quoted(ledger.bundleID)), \(quoted(ledger.environment)),
                0, 0, decode('\(Digest.zero.hexadecimal)', 'hex'), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1);
            """, milliseconds: milliseconds)
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.flatMap { $0 == "'" ? "''" : String($0) } + "'"
    }

    private static func state(
        _ session: PostgresConnection, _ schema: String, _ ledger: BlockRows.LedgerRow?
    ) throws -> (head: LogHead?, position: LastNumbers) {
        let rows = try session.run(
            .init(
                name: "state",
                text: """
                    SELECT format, bundle_id, environment, block, term, hash, currency, actor, account, header, entry,
                        transfer, evidence, assignment, notification, request, entry_time
                    FROM \(schema).projection WHERE id = 1
                    """), milliseconds: milliseconds)
        guard rows.count == 1, let hash = Digest(Array(rows.bytes(0, 5))) else {
            throw PostgresFault(.decided(.corrupt), "they do not say what they hold")
        }
        guard rows.number(0, 0) == LedgerSchema.projectionFormat else {
            throw PostgresFault(
                .decided(.corrupt),
                "they have the form of another version (\(rows.number(0, 0)), not \(LedgerSchema.projectionFormat)): "
                    + "drop the schema, and they are made anew")
        }
        if let ledger, rows.text(0, 1) != ledger.bundleID || rows.text(0, 2) != ledger.environment {
            throw PostgresFault(
                .decided(.corrupt), "they are those of \(rows.text(0, 1)) in \(rows.text(0, 2)), another ledger")
        }
        func number(_ column: Int32, _ name: String) throws -> Int64 {
            try rows.number(0, column, in: PostgresRanges.counts, "projection.\(name)")
        }
        let block = try number(3, "block")
        let head = block == 0 ? nil : LogHead(number: block, term: try number(4, "term"), hash: hash)
        var position = LastNumbers()
        position.currency = try number(6, "currency")
        position.actor = try number(7, "actor")
        position.account = try number(8, "account")
        position.header = try number(9, "header")
        position.entry = try number(10, "entry")
        position.transfer = try number(11, "transfer")
        position.evidence = try number(12, "evidence")
        position.assignment = try number(13, "assignment")
        position.notification = try number(14, "notification")
        position.request = try number(15, "request")
        position.time = rows.number(0, 16)
        return (head, position)
    }

    /// The tables' columns and primary keys.
    private static func tables(_ session: PostgresConnection, _ schema: String) throws -> [String: Table] {
        let rows = try session.run(
            .init(
                name: "columns",
                text: """
                    SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                        coalesce(a.attnum = ANY (i.indkey), false)
                    FROM pg_class c
                        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                        LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
                    WHERE c.relnamespace = '\(schema)'::regnamespace AND c.relkind = 'r'
                    ORDER BY c.relname, a.attnum
                    """), milliseconds: milliseconds)
        var tables: [String: Table] = [:]
        for row in 0..<rows.count {
            let (table, column) = (rows.text(row, 0), rows.text(row, 1))
            guard let type = PostgresColumnType(rows.text(row, 2)) else { continue }
            tables[table, default: Table()].columns.append(column)
            tables[table, default: Table()].types.append(type)
            if rows.flag(row, 3) { tables[table, default: Table()].key.append(column) }
        }
        return tables
    }

    static func storeError(_ error: any Error, _ doing: String) -> any Error {
        guard let fault = error as? PostgresFault else { return error }
        let error = fault.error(doing)
        switch error.kind {
        case .corrupt, .superseded: return StoreError(.corrupt, error.description)
        case .notAppended, .unknown, .archived: return StoreError(.unavailable, error.description)
        }
    }
}
#endif
