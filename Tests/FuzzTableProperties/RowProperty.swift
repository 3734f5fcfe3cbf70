import Foundation
public import FuzzProperties
import GRDB
import Ledger
import SQLiteProjection

extension FuzzProperty {
    /// Rows of the tables.
    public static let row = FuzzProperty("row", seeds: { RowProperty.seeds }, check: RowProperty.check)
}

/// Tables of which rows were changed: whatever is asked of them is answered or refused by name, and their own sums
/// notice the change.
enum RowProperty {
    /// What is asked of the tables: one of these, for all of them take long. To open the tables once more and compare
    /// them with their sums takes ten times as long as any other.
    private enum Question {
        case players, purchases, keys, reports, sums

        init(_ byte: UInt8) {
            switch byte {
            case 0xFF: self = .sums
            case _ where byte % 4 == 0: self = .players
            case _ where byte % 4 == 1: self = .purchases
            case _ where byte % 4 == 2: self = .keys
            case _: self = .reports
            }
        }
    }

    /// What a changed value is.
    private enum Value: UInt8, CaseIterable {
        case null, small, integer, text, blob, other, removal
    }

    private static let tables = Tables()

    /// An input is a question and changes, one after the other: a table, a row, a column, and a value behind what it
    /// is.
    static func check(_ bytes: [UInt8]) -> Bool {
        var input = InputReader(bytes)
        let question = Question(input.byte())
        var changes = 0
        while !input.isAtEnd, changes < 8 {
            if tables.change(&input) { changes += 1 }
        }
        defer { tables.restore() }
        switch question {
        case .players, .purchases, .keys, .reports: return tables.ask(question)
        case .sums:
            let isNoticed = tables.isChangeNoticed()
            require(isNoticed == tables.isChanged, "the tables' sums notice what was changed, and nothing else")
            return !isNoticed
        }
    }

    /// Every column of some row of each table as another value.
    static let seeds: [[UInt8]] = {
        let largest = [2, 0x7F] + [UInt8](repeating: 0xFF, count: 7)
        let values: [[UInt8]] = [[0], [1, 0xFF], [1, 0], largest, [3, 2, 0x61, 0x62], [5, 1], [6]]
        var seeds: [[UInt8]] = [[0], [1], [2], [3], [0xFF]]
        for table in UInt8(0)..<16 {
            for column in UInt8(0)..<21 {
                let value = values[Int(column + table) % values.count]
                let question = column == table ? 0xFF : column % 4
                seeds.append([question, table, column, column] + value)
            }
        }
        return seeds
    }()

    /// The tables of the sample ledger, in a folder of the process's own.
    private final class Tables: @unchecked Sendable {
        private struct Table {
            var name: String
            var columns: [String]
            /// The rows as they were written.
            var rows: [[DatabaseValue]]
        }

        private let path: String
        private let queue: DatabaseQueue
        private let projection: SQLiteProjection
        private let state: ProjectedState
        private let all: [Table]
        /// The tables that were changed.
        private var changed: Set<Int> = []

        init() {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fuzz-\(UUID().uuidString)")
            (path, projection, state, queue, all) = certain("making tables") {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let path = folder.appendingPathComponent("tables.sqlite").path
                let made = try Tables.open(path)
                try made.apply(SampleLedger.blocks)
                try made.close()
                let projection = try Tables.open(path)
                let queue = try DatabaseQueue(path: path)
                try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
                let all = try queue.write { db in
                    try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
                    return try Tables.tables(db)
                }
                return (path, projection, try projection.state(), queue, all)
            }
            atexit {
                certain("removing tables") { try FileManager.default.removeItem(atPath: RowProperty.tables.folder) }
            }
        }

        private var folder: String { (path as NSString).deletingLastPathComponent }

        private static func open(_ path: String) throws -> SQLiteProjection {
            try SQLiteProjection(path: path, ledger: SampleLedger.row, hash: SampleLedger.hash)
        }

        private static func tables(_ db: Database) throws -> [Table] {
            let names = try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
            return try names.filter { $0 != "projection" }.map { name in
                let columns = try db.columns(in: name).map(\.name)
                let rows = try Row.fetchAll(db, sql: "SELECT * FROM \(name)").map { Array($0.databaseValues) }
                return Table(name: name, columns: columns, rows: rows)
            }
        }

        // MARK: Changes

        /// - Returns: whether there was something to change.
        func change(_ input: inout InputReader) -> Bool {
            let number = Int(input.byte()) % all.count
            let table = all[number]
            let rowNumber = Int(input.byte())
            let columnNumber = Int(input.byte()) % table.columns.count
            guard !table.rows.isEmpty else { return false }
            let row = table.rows[rowNumber % table.rows.count]
            let value: DatabaseValue
            switch Value(rawValue: input.byte() % UInt8(Value.allCases.count)) ?? .null {
            case .null: value = .null
            case .small: value = Int64(Int8(bitPattern: input.byte())).databaseValue
            case .integer: value = input.integer(Int64.self).databaseValue
            case .text:
                value = String(decoding: input.bytes(Int(input.byte())), as: UTF8.self).databaseValue
            case .blob: value = Data(input.bytes(Int(input.byte()))).databaseValue
            case .other: value = table.rows[Int(input.byte()) % table.rows.count][columnNumber]
            case .removal:
                execute("DELETE FROM \(table.name) WHERE \(condition(table))", row, number)
                return true
            }
            let sql = "UPDATE \(table.name) SET \(table.columns[columnNumber]) = ? WHERE \(condition(table))"
            execute(sql, [value] + row, number)
            return true
        }

        private func condition(_ table: Table) -> String {
            table.columns.map { "\($0) IS ?" }.joined(separator: " AND ")
        }

        private func execute(_ sql: String, _ arguments: [DatabaseValue], _ table: Int) {
            do {
                try queue.writeWithoutTransaction { db in
                    try db.execute(sql: sql, arguments: StatementArguments(arguments))
                }
                changed.insert(table)
            } catch {
                // A STRICT table takes no value of another type, and no key twice.
                let code = (error as? DatabaseError)?.resultCode
                require(code == .SQLITE_CONSTRAINT || code == .SQLITE_MISMATCH, "a table is changed or not: \(error)")
            }
        }

        private func rows(_ db: Database, _ table: Int) throws -> [[DatabaseValue]] {
            try Row.fetchAll(db, sql: "SELECT * FROM \(all[table].name)").map { Array($0.databaseValues) }
        }

        /// Whether the tables have other rows than were written.
        var isChanged: Bool {
            certain("reading tables") {
                try queue.read { db in try changed.contains { try rows(db, $0) != all[$0].rows } }
            }
        }

        func restore() {
            certain("restoring tables") {
                try queue.write { db in
                    for number in changed where try rows(db, number) != all[number].rows {
                        let table = all[number]
                        try db.execute(sql: "DELETE FROM \(table.name)")
                        let places = table.columns.map { _ in "?" }.joined(separator: ", ")
                        for row in table.rows {
                            try db.execute(
                                sql: "INSERT INTO \(table.name) VALUES (\(places))",
                                arguments: StatementArguments(row))
                        }
                    }
                }
            }
            changed = []
        }

        // MARK: Questions

        /// - Returns: whether everything was answered.
        func ask(_ question: Question) -> Bool {
            var answered = true
            func attempt(_ body: () throws -> Void) {
                do { try body() } catch {
                    guard let error = error as? StoreError else { fatalError("an error of another kind: \(error)") }
                    require(error.kind == .corrupt && !error.description.isEmpty, "damage is named: \(error)")
                    answered = false
                }
            }
            switch question {
            case .players: askOfPlayers(attempt)
            case .purchases: askOfPurchases(attempt)
            case .keys: askOfKeys(attempt)
            case .reports:
                for kind in ReportKind.allCases {
                    attempt { _ = try projection.report(ReportQuery(kind: kind, asOf: 2_700)) }
                }
                attempt { _ = try projection.journal(JournalQuery(after: 0, limit: 1_000)) }
            case .sums: break
            }
            return answered
        }

        private func askOfPlayers(_ attempt: (() throws -> Void) -> Void) {
            for account in SampleLedger.accounts {
                attempt { try decide([.balance(account: account, currency: nil)]) }
                attempt { try decide([spend(account)]) }
                attempt { _ = try projection.history(HistoryQuery(account: account)) }
                attempt { _ = try projection.balances(account, currency: nil, asOf: 2_700) }
                attempt { _ = try projection.find(.account(account)) }
            }
        }

        private func askOfPurchases(_ attempt: (() throws -> Void) -> Void) {
            for (number, transaction) in SampleLedger.transactions.enumerated() {
                let signed = SampleLedger.purchase(Int64(number + 1), signedDate: 5_000, revoked: 50_000)
                attempt { try decide([.consumption(ConsumptionQuery(transaction: transaction))]) }
                attempt { try decide([.credit(signed, account: nil)]) }
                attempt { _ = try projection.find(.transaction(transaction)) }
                if SampleLedger.books.purchases[transaction] != nil {
                    attempt { _ = try projection.purchase(PurchaseQuery(transaction: transaction, limit: 3)) }
                }
            }
        }

        private func askOfKeys(_ attempt: (() throws -> Void) -> Void) {
            let new = SampleLedger.key("new")
            for key in SampleLedger.keys {
                attempt { try decide([.keyed(.reverse(Reversal(key: new, spendKey: key)))]) }
                attempt { try decide([.keyed(.release(Release(key: new, holdKey: key)))]) }
                attempt { try decide([.keyed(.release(Release(key: key, holdKey: new)))]) }
                attempt { _ = try projection.find(.key(key)) }
            }
        }

        private func spend(_ account: AccountName) -> Command {
            .keyed(
                .spend(
                    Spend(
                        key: SampleLedger.key("new"), account: account,
                        debits: [SampleLedger.amount(7, SampleLedger.gems)])))
        }

        private func decide(_ commands: [Command]) throws {
            // Whatever the tables say now: books over them are begun once, when they are opened.
            var books = Books(
                catalog: SampleLedger.catalog, known: state.currencies, position: state.position,
                totals: state.totals, closedThrough: state.closedThrough, headers: state.headers, actors: state.actors,
                hash: SampleLedger.hash)
            var needs = Needs()
            for command in commands { needs.add(command) }
            try projection.load(needs, into: &books)
            for command in commands { _ = books.decide(command, at: 9_000) }
        }

        /// Whether tables that are opened now are refused, or do not fit their sums.
        func isChangeNoticed() -> Bool {
            do {
                let opened = try Tables.open(path)
                defer { certain("closing tables") { try opened.close() } }
                while try opened.checkNext() {}
                return false
            } catch {
                let isCorrupt = (error as? StoreError)?.kind == .corrupt
                let isRefused = (error as? ProjectionOpeningError)?.kind == .rebuild
                require(isCorrupt || isRefused, "damage is named: \(error)")
                return true
            }
        }
    }
}
