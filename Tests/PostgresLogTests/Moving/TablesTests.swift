#if Postgres
import Foundation
import GRDB
import Ledger
import LedgerAudit
import LedgerTestKit
import PostgresLog
import SQLiteProjection
import Synchronization
import Testing

/// The tables of a projection that are kept in PostgreSQL.
@Suite struct PostgresTablesTests {
    private static let made = Mutex(0)

    private let server: PostgresServer
    private let schema: String
    private let folder: TemporaryFolder

    init() throws {
        server = try PostgresServer.shared.get()
        folder = try TemporaryFolder()
        schema = Self.made.withLock { made in
            made += 1
            return "tables_\(made)"
        }
    }

    private var configuration: PostgresLogConfiguration {
        PostgresLogConfiguration(uri: server.uri(), schema: schema, node: "tables")
    }

    private var place: String { server.uri() + "&schema=\(schema)" }

    private func session() throws -> PlainSession {
        let session = try PlainSession(server.uri())
        try session.run("SET search_path = \(schema), pg_catalog")
        return session
    }

    /// A ledger of many kinds of rows, some thousands of transfers among them.
    private static let blocks = Result<[SealedBlock], any Error> {
        let folder = try TemporaryFolder()
        let source = try TestFolder(folder.path("ledger"))
        let game = try RandomGame(try source.open(), seed: 31)
        for _ in 0..<5 {
            try game.play(300)
            try game.linkAndForget()
        }
        try game.close()
        return try source.blocks()
    }

    /// What is wrong with the tables, row by row, as computed from blocks by code of the audit's own.
    private func findings(_ blocks: [SealedBlock]) throws -> (findings: [String], rows: Int64) {
        let audit = Audit(Audit.Configuration(jobs: 2, since: .max), hash: testSHA256) {
            Steps(blocks, identity: RandomGame.identity)
        } openTables: { [configuration] in
            try PostgresTableReader(configuration)
        }
        var findings: [String] = []
        let summary = try audit.run { _, _ in
        } tell: {
            findings.append("\($0)")
        }
        return (findings, summary.tableRows)
    }

    /// Applies blocks in random steps to local tables, and what they changed to PostgreSQL's.
    @Test func whateverStepsTheyAreBroughtForwardByTheyAreWhatTheBlocksSay() throws {
        let seed = Seed.drawn()
        let blocks = try Self.blocks.get()
        let own = try SQLiteProjection(
            path: folder.path("projection.sqlite"), ledger: RandomGame.row, hash: testSHA256)
        defer { try? own.close() }
        let tables = try PostgresTables(configuration, ledger: RandomGame.row)
        #expect(tables.head == nil)
        var random = SplitMix64(seed: seed)
        var next = 0
        while next < blocks.count {
            let end = min(blocks.count, next + Int.random(in: 1...40, using: &random))
            var changes = TableChanges(after: tables.head, tables.position)
            for block in blocks[next..<end] { changes.add(try Block(opening: block, checks: .bodyOnly)) }
            try own.apply(Array(blocks[next..<end]))
            let whole = tables.head == nil
            _ = try tables.write { batch in
                try own.copy(whole ? nil : changes) { table in
                    try batch.write(table.name, table.columns) { body in try table.forEach(body) }
                }
            }
            #expect(tables.head == blocks[end - 1].head)
            next = end
            if Int.random(in: 0..<6, using: &random) == 0 {
                #expect(try findings(blocks).findings == [], "seed \(seed), block \(end)")
            }
        }
        let (findings, rows) = try findings(blocks)
        #expect(findings == [], "seed \(seed)")
        #expect(rows > 3000)
        // What is compared is noticed where it differs.
        try session().run("UPDATE lot SET spent = spent + 1 WHERE id = (SELECT min(id) FROM lot)")
        #expect(try self.findings(blocks).findings.count == 1)
    }

    @Test func theViewsSayWhatThoseOfTheLocalTablesSay() throws {
        let blocks = try Self.blocks.get()
        let path = folder.path("projection.sqlite")
        let own = try SQLiteProjection(path: path, ledger: RandomGame.row, hash: testSHA256)
        try own.apply(blocks)
        let tables = try PostgresTables(configuration, ledger: RandomGame.row)
        _ = try tables.write { batch in
            try own.copy(nil) { table in
                try batch.write(table.name, table.columns) { body in try table.forEach(body) }
            }
        }
        try own.close()
        let local = try DatabaseQueue(path: path)
        for view in ["balance", "transfer_line", "owner"] {
            let rows = try local.read { db in
                try Row.fetchAll(db, sql: "SELECT * FROM \(view)").map { row in
                    row.map { _, value in String.fromDatabaseValue(value) ?? value.description }
                }
            }
            let found = try session().run("SELECT * FROM \(view)")
            #expect(!rows.isEmpty)
            let said = rows.map { $0.map { $0 == "NULL" ? "" : $0 } }
            #expect(said.sorted { "\($0)" < "\($1)" } == found.sorted { "\($0)" < "\($1)" }, "\(view)")
        }
        let names = "SELECT count(*) FROM account WHERE name LIKE 'linked%'"
        #expect(try session().run(names) == [["0"]], "a name that was forgotten")
        #expect(try session().run("SELECT count(*) FROM account WHERE name IS NULL")[0][0] != "0")
    }

    @Test func whatIsWrittenIsAllThereOrNothing() throws {
        let blocks = try Self.blocks.get()
        let own = try SQLiteProjection(
            path: folder.path("projection.sqlite"), ledger: RandomGame.row, hash: testSHA256)
        defer { try? own.close() }
        try own.apply(blocks)
        struct Cut: Error {}
        for stop in ["lot", "transfer", "projection"] {
            let tables = try PostgresTables(configuration, ledger: RandomGame.row)
            #expect(throws: Cut.self) {
                try tables.write { batch in
                    try own.copy(nil) { table in
                        if table.name == stop { throw Cut() }
                        try batch.write(table.name, table.columns) { body in try table.forEach(body) }
                    }
                }
            }
            for table in ["block", "entry", "wallet", "purchase"] {
                #expect(try session().run("SELECT count(*) FROM \(table)") == [["0"]])
            }
            #expect(try session().run("SELECT block FROM projection") == [["0"]])
        }
    }

    @Test func ofTwoWhoBringThemForwardOneIsRefused() throws {
        let blocks = try Self.blocks.get()
        let own = try SQLiteProjection(
            path: folder.path("projection.sqlite"), ledger: RandomGame.row, hash: testSHA256)
        defer { try? own.close() }
        try own.apply(blocks)
        let all = { (batch: PostgresTables.Batch) in
            try own.copy(nil) { table in
                try batch.write(table.name, table.columns) { body in try table.forEach(body) }
            }
        }
        let first = try PostgresTables(configuration, ledger: RandomGame.row)
        let second = try PostgresTables(configuration, ledger: RandomGame.row)
        _ = try first.write(all)
        let error = #expect(throws: StoreError.self) { _ = try second.write(all) }
        #expect(error?.description.contains("somebody else brings them forward") == true)
        #expect(try findings(blocks).findings == [])
    }

    @Test func aSchemaOfSomethingElseIsLeftAlone() throws {
        let ledger = try TestLedger()
        var configuration = self.configuration
        configuration.schema = ledger.schema
        let error = #expect(throws: StoreError.self) {
            _ = try PostgresTables(configuration, ledger: RandomGame.row)
        }
        #expect(error?.description.contains("it has other tables") == true)
        _ = try PostgresTables(self.configuration, ledger: RandomGame.row)
        let other = BlockRows.LedgerRow(bundleID: "com.example.other", environment: "Sandbox")
        #expect(throws: StoreError.self) { _ = try PostgresTables(self.configuration, ledger: other) }
    }
}

/// Blocks as an inspection hands them over.
private final class Steps: LogInspector {
    let identity: Digest?
    let head: LogHead?
    private var steps: ArraySlice<LogStep>

    init(_ blocks: [SealedBlock], identity: Digest?) {
        self.identity = identity
        head = blocks.last?.head
        steps = blocks.map { .block($0) }[...]
    }

    func next() -> LogStep? { steps.popFirst() }
}
#endif
