import Foundation
import GRDB
import Ledger
import LedgerTestKit
import SQLiteProjection
import Synchronization
import Testing

@testable import LedgerAudit

/// Whatever another hand changes in the tables, by a program that leaves the pages' checksums right, is found.
@Suite struct TableTests {
    /// Only a longer ledger has totals of its past.
    private static let ofPast: [AuditedTable] = [.walletPast, .totalPast, .expiryPast]
    private static let others = AuditedTable.allCases.filter { !ofPast.contains($0) }

    /// A ledger that has rows in the table.
    private static func ledger(for table: AuditedTable, seed: UInt64) throws -> RandomLedger {
        if ofPast.contains(table) { return try RandomLedger(seed: seed, transfers: 4_100) }
        return try RandomLedger(seed: seed, commands: 500)
    }

    @Test(arguments: [(others, 900), (ofPast, 100)])
    func everyChangedMissingOrAddedRowIsFound(chosen: [AuditedTable], rounds: Int) async throws {
        try await apart {
            let seed = Seed.drawn()
            let ledger = try Self.ledger(for: chosen[0], seed: seed)
            let expected = Replayed(ledger.blocks).sums
            var generator = SplitMix64(seed: seed)
            var tables: [AuditedTable: Int] = [:]
            var refused = 0
            for number in 0..<rounds {
                let table = chosen[number % chosen.count]
                let copy = ledger.folder.path("copy.sqlite")
                try copyTables(ledger.tables, to: copy)
                guard let what = try edit(copy, table, &generator) else { continue }
                tables[table, default: 0] += 1
                let scanned = TableScan(try SQLiteTables(path: copy, connections: 1), []).sums(jobs: 1)
                let differences = expected.differences(from: scanned.sums)
                #expect(differences[table]?.count == 1 || differences[table]?.count == 2, "seed \(seed): \(what)")
                #expect(differences.count == 1, "seed \(seed): \(what) in \(differences.keys)")
                let told = toldByTheTables(copy)
                #expect(told.count == 1, "seed \(seed): \(what): \(told)")
                let opens = told.first?.hasPrefix("cannot be opened") == true
                #expect(opens || told.first?.contains("table \(table.rawValue) has other rows") == true, "\(told)")
                refused += opens ? 1 : 0
            }
            #expect(refused < rounds * 2 / 5)
            #expect(tables.count == chosen.count, "only \(tables)")
        }
    }

    @Test(arguments: AuditedTable.allCases)
    func theRowIsNamed(table: AuditedTable) async throws {
        try await apart {
            let seed = Seed.drawn()
            let ledger = try Self.ledger(for: table, seed: seed)
            var generator = SplitMix64(seed: seed)
            for _ in 0..<3 {
                let copy = ledger.folder.path("copy.sqlite")
                try copyTables(ledger.tables, to: copy)
                guard let what = try edit(copy, table, &generator) else { continue }
                var findings: [String] = []
                let blocks = ledger.blocks
                let identity = Digest(
                    of: BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox"), Workload.hash)
                // Nobody signed what these random commands credit.
                let configuration = Audit.Configuration(jobs: 2, since: blocks.last?.number ?? 0)
                let audit = Audit(configuration, hash: Workload.hash) {
                    Steps(blocks, identity: identity)
                } openTables: {
                    try SQLiteTables(path: copy, connections: 2)
                }
                let summary = try audit.run(progress: { _, _ in }) { findings.append("\($0)") }
                var own = findings
                if table == .projection {
                    // The row has a hash of its own.
                    #expect(own.contains { $0.contains("does not fit their sums") }, "seed \(seed): \(what)")
                    own.removeAll { $0.contains("does not fit their sums") }
                }
                if findings.contains(where: { $0.contains("the tables are of another block") }) {
                    // Of tables that say that they are of another block no row can be compared.
                    #expect(table == .projection && summary.tables == nil)
                    continue
                }
                #expect(own.count >= 1 && own.count <= 2, "seed \(seed): \(what): \(own)")
                #expect(own.allSatisfy { $0.hasPrefix("table \(table.rawValue), ") }, "seed \(seed): \(what): \(own)")
                #expect(summary.tables == blocks.last?.number)
            }
        }
    }

    @Test func aDefinitionThatIsNotOursIsFound() async throws {
        try await apart {
            let ledger = try RandomLedger(seed: 1, commands: 50)
            for (sql, words) in [
                ("CREATE TRIGGER thief AFTER INSERT ON entry BEGIN SELECT 1; END", "there is a trigger thief"),
                ("CREATE TABLE more (a)", "there is a table more"),
                ("DROP INDEX hold_open", "index hold_open is not defined"),
                ("DROP VIEW balance", "view balance is not defined"),
            ] {
                let copy = ledger.folder.path("copy.sqlite")
                try copyTables(ledger.tables, to: copy)
                try write(copy) { try $0.execute(sql: sql) }
                let found = try SQLiteTables(path: copy, connections: 1).check()
                #expect(found.count == 1 && found[0].hasPrefix(words), "\(sql): \(found)")
            }
        }
    }

    @Test func tablesThatAreBehindOrAheadAreCompared() async throws {
        try await apart {
            let ledger = try RandomLedger(seed: 7, commands: 200)
            let folder = try TemporaryFolder()
            let behind = folder.path("behind.sqlite")
            let some = Array(ledger.blocks.prefix(ledger.blocks.count / 2))
            let row = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
            let projection = try SQLiteProjection(path: behind, ledger: row, hash: Workload.hash)
            try projection.apply(some)
            try projection.close()
            let identity = Digest(of: row, Workload.hash)
            for (blocks, tables) in [(ledger.blocks, behind), (some, ledger.tables)] {
                let all = ledger.blocks
                let opened = Opened()
                let audit = Audit(Audit.Configuration(jobs: 2), hash: Workload.hash) {
                    // A writer goes on while the audit reads: the second time the log has more.
                    Steps(opened.next() == 1 ? blocks : all, identity: identity)
                } openTables: {
                    try SQLiteTables(path: tables, connections: 2)
                }
                var own: [String] = []
                let summary = try audit.run(progress: { _, _ in }) { finding in
                    if finding.block == nil { own.append("\(finding)") }
                }
                #expect(own == [])
                #expect(summary.tables == (tables == behind ? some : ledger.blocks).last?.number)
            }
        }
    }

    /// What the tables themselves say when they are opened to be used.
    private func toldByTheTables(_ path: String) -> [String] {
        do {
            let row = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
            let projection = try SQLiteProjection(path: path, ledger: row, hash: Workload.hash)
            defer { try? projection.close() }
            return projection.checkAll().map { "\($0)" }
        } catch {
            return ["cannot be opened: \(error)"]
        }
    }

    // MARK: Editing

    private func copyTables(_ path: String, to copy: String) throws {
        for suffix in ["", "-wal", "-shm", "-checkpoint", "-sums"] {
            try? FileManager.default.removeItem(atPath: copy + suffix)
        }
        try SQLiteProjection.copy(at: path, to: copy)
    }

    /// As a fault of this program would: everything but the rows fits.
    private func write(_ path: String, _ body: (Database) throws -> Void) throws {
        let tables = try SQLiteProjection(
            path: path, ledger: BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox"),
            hash: Workload.hash)
        defer { try? tables.close() }
        try tables.change { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = 1")
            try body(db)
        }
    }

    /// Changes, deletes or adds a row.
    /// - Returns: what was done; `nil` where the table has no row.
    private func edit(_ path: String, _ table: AuditedTable, _ generator: inout SplitMix64) throws -> String? {
        var what: String?
        let name = table.rawValue
        let kind = Int.random(in: 0..<4, using: &generator)
        let column = table.columns[table.keyColumns...].randomElement(using: &generator) ?? table.columns[0]
        let bits = generator.next()
        try write(path) { db in
            let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(name)") ?? 0
            if count == 0 { return }
            let row = try Row.fetchOne(
                db, sql: "SELECT \(table.columns.joined(separator: ", ")) FROM \(name) LIMIT 1 OFFSET ?",
                arguments: [Int(bits % UInt64(count))])
            guard let row else { return }
            let key = table.columns.prefix(table.keyColumns)
            let condition = key.map { "\($0) = ?" }.joined(separator: " AND ")
            let keys = key.map { row[$0] as DatabaseValue }
            switch kind {
            case 0 where table != .projection:
                try db.execute(sql: "DELETE FROM \(name) WHERE \(condition)", arguments: StatementArguments(keys))
                what = "\(name) without \(keys)"
            case 1 where table != .projection:
                // The same row under another key.
                var values = table.columns.map { row[$0] as DatabaseValue }
                let last = table.keyColumns - 1
                if let number = Int64.fromDatabaseValue(values[last]) {
                    values[last] = (number + 1_000_000).databaseValue
                } else if let text = String.fromDatabaseValue(values[last]) {
                    values[last] = (text + "x").databaseValue
                }
                // Names are unique; one more is another.
                for (index, name) in table.columns.enumerated()
                where name == "name" || (table == .currency && name == "code") {
                    values[index] = "another".databaseValue
                }
                if let digest = table.columns.firstIndex(of: "digest") {
                    values[digest] = Data(repeating: 7, count: 32).databaseValue
                }
                let marks = values.map { _ in "?" }.joined(separator: ", ")
                try db.execute(
                    sql: "INSERT INTO \(name) (\(table.columns.joined(separator: ", "))) VALUES (\(marks))",
                    arguments: StatementArguments(values))
                what = "\(name) with one more, like \(keys)"
            default:
                let old = row[column] as DatabaseValue
                let new: DatabaseValue
                if let number = Int64.fromDatabaseValue(old) {
                    new = (number ^ (1 << Int64(bits >> 32 % 40))).databaseValue
                } else if let data = Data.fromDatabaseValue(old), case .blob = old.storage {
                    var bytes = Array(data)
                    bytes[Int(bits >> 32) % bytes.count] ^= 1
                    new = Data(bytes).databaseValue
                } else if let text = String.fromDatabaseValue(old) {
                    new = (text + "x").databaseValue
                } else {
                    // Of the type that the column has.
                    let isText =
                        ["name", "note", "key", "reason", "subtype", "spend_order", "storefront", "offer_id"]
                        .contains(column) || column.hasPrefix("offer_d") || column == "ownership"
                        || column == "price_currency"
                    new = isText ? "x".databaseValue : 7.databaseValue
                }
                try db.execute(
                    sql: "UPDATE \(name) SET \(column) = ? WHERE \(condition)",
                    arguments: StatementArguments([new] + keys))
                what = "\(name) \(keys) with \(column) \(new) instead of \(old)"
            }
        }
        return what
    }
}

/// How often something was opened.
final class Opened: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
