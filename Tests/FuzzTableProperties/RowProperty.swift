import Foundation
public import FuzzProperties
import GRDB
import Ledger
import SQLiteProjection

extension FuzzProperty {
    /// Rows of the tables.
    public static let row = FuzzProperty(
        "row", seeds: { RowProperty.seeds }, change: RowProperty.change, check: RowProperty.check)
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
        case null, edge, integer, text, blob, other, removal

        init(_ byte: UInt8) {
            self = certain(Value(rawValue: byte % UInt8(Value.allCases.count)), "a kind of value")
        }

        /// Numbers at which something changes, behind a small one of their own.
        static let edges: [Int64] = [
            0, 1, -1, 100_000, 100_001, 1 << 53 - 1, 1 << 53, 1 << 60, 1 << 60 + 1, -1 << 60, .max, .min,
        ]
    }

    /// One change of an input. It takes itself from the input's front.
    private struct Change {
        var table: UInt8
        var row: UInt8
        var column: UInt8
        var kind: UInt8
        /// The value, or what says which it is.
        var bytes: [UInt8]

        init(_ input: inout InputReader) {
            table = input.byte()
            row = input.byte()
            column = input.byte()
            kind = input.byte()
            switch Value(kind) {
            case .null, .removal: bytes = []
            case .edge, .other: bytes = input.bytes(1)
            case .integer: bytes = input.bytes(8)
            case .text, .blob: bytes = input.bytes(Int(input.byte()))
            }
        }

        var input: [UInt8] {
            let head = [table, row, column, kind]
            switch Value(kind) {
            case .null, .edge, .other, .integer, .removal: return head + bytes
            case .text, .blob: return head + [UInt8(bytes.count)] + bytes
            }
        }
    }

    /// Changes the question or one change; adds one, of the same row or of any; or takes one out.
    static func change(_ input: [UInt8], _ number: UInt32, _ body: ([UInt8]) -> [UInt8]) -> [UInt8] {
        var choice = Choice(number)
        guard choice.of(8) > 0 else { return body(input) }
        var reader = InputReader(input)
        var question = reader.byte()
        var changes: [Change] = []
        while !reader.isAtEnd { changes.append(Change(&reader)) }
        let random = [UInt8(choice.of(256)), UInt8(choice.of(256)), UInt8(choice.of(256))]
        if changes.isEmpty { return [question] + [random[0], random[1], random[2], Value.edge.rawValue, random[0]] }
        let place = choice.of(changes.count)
        switch random[0] % 8 {
        case 0: question = random[1] == 0xFF ? 0xFF : random[1] % 4
        case 1: changes[place].bytes = Array(body(changes[place].bytes).prefix(0xFF))
        case 2: changes[place].column = random[1]
        case 3: changes[place].row = random[1]
        case 4: (changes[place].table, changes[place].column) = (random[1], random[2])
        case 5: changes.remove(at: place)
        case 6:
            changes[place].kind = random[1] % 4 == 0 ? random[2] : Value.edge.rawValue
            changes[place].bytes = [random[2]]
        case _:
            var another = changes[place]
            (another.column, another.kind, another.bytes) = (random[1], Value.edge.rawValue, [random[2]])
            changes.append(another)
        }
        return [question] + changes.flatMap(\.input)
    }

    private static let tables = Tables()

    /// An input is a question and changes, one after the other: a table, a row, a column, and a value behind what it
    /// is.
    static func check(_ bytes: [UInt8]) -> Bool {
        var input = InputReader(bytes)
        let question = Question(input.byte())
        var changes = 0
        while !input.isAtEnd, changes < 8 {
            tables.make(Change(&input))
            changes += 1
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
        for (table, columns) in tables.columnCounts.enumerated().map({ (UInt8($0.offset), UInt8($0.element)) }) {
            for column in 0..<columns {
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
            /// The places of the columns that tell its rows apart.
            var key: [Int]
            /// The rows as they were written.
            var rows: [[DatabaseValue]]
        }

        private let folder: URL
        private let queue: DatabaseQueue
        private let projection: SQLiteProjection
        private let state: ProjectedState
        private let all: [Table]
        /// The tables that were changed.
        private var changed: Set<Int> = []
        /// What changed them.
        private var statements: [(sql: String, arguments: StatementArguments)] = []

        init() {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fuzz-\(UUID().uuidString)")
            self.folder = folder
            (projection, state, queue, all) = certain("making tables") {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let made = try Tables.open(Tables.original(folder))
                try made.apply(SampleLedger.blocks)
                try made.close()
                let path = folder.appendingPathComponent("tables.sqlite").path
                try SQLiteProjection.copy(at: Tables.original(folder), to: path)
                let projection = try Tables.open(path)
                var configuration = Configuration()
                configuration.readonly = true
                let queue = try DatabaseQueue(path: path, configuration: configuration)
                try projection.change { try $0.execute(sql: "PRAGMA ignore_check_constraints = ON") }
                return (projection, try projection.state(), queue, try queue.read { try Tables.tables($0) })
            }
            atexit {
                certain("removing tables") { try FileManager.default.removeItem(at: RowProperty.tables.folder) }
            }
        }

        /// The tables as they were made, which nobody has open.
        private static func original(_ folder: URL) -> String {
            folder.appendingPathComponent("original.sqlite").path
        }

        private static func open(_ path: String) throws -> SQLiteProjection {
            try SQLiteProjection(path: path, ledger: SampleLedger.row, hash: SampleLedger.hash)
        }

        private static func tables(_ db: Database) throws -> [Table] {
            let names = try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
            return try names.filter { $0 != "projection" }.map { name in
                let columns = try db.columns(in: name).map(\.name)
                let rows = try Row.fetchAll(db, sql: "SELECT * FROM \(name)").map { Array($0.databaseValues) }
                let key = try db.primaryKey(name).columns.compactMap { columns.firstIndex(of: $0) }
                return Table(name: name, columns: columns, key: key, rows: rows)
            }
        }

        var columnCounts: [Int] { all.map(\.columns.count) }

        // MARK: Changes

        func make(_ change: Change) {
            let number = Int(change.table) % all.count
            let table = all[number]
            guard !table.rows.isEmpty else { return }
            let column = Int(change.column) % table.columns.count
            let row = table.rows[Int(change.row) % table.rows.count]
            let condition = table.key.map { "\(table.columns[$0]) IS ?" }.joined(separator: " AND ")
            let key = table.key.map { row[$0] }
            let first = change.bytes.first ?? 0
            let value: DatabaseValue
            switch Value(change.kind) {
            case .null: value = .null
            case .edge:
                let places = UInt8(Value.edges.count)
                value = (first < 128 ? Value.edges[Int(first % places)] : Int64(first) - 192).databaseValue
            case .integer: value = change.bytes.reduce(0) { $0 << 8 | Int64($1) }.databaseValue
            case .text: value = String(decoding: change.bytes, as: UTF8.self).databaseValue
            case .blob: value = Data(change.bytes).databaseValue
            case .other: value = table.rows[Int(first) % table.rows.count][column]
            case .removal: return execute("DELETE FROM \(table.name) WHERE \(condition)", key, number)
            }
            execute("UPDATE \(table.name) SET \(table.columns[column]) = ? WHERE \(condition)", [value] + key, number)
        }

        private func execute(_ sql: String, _ arguments: [DatabaseValue], _ table: Int) {
            let arguments = StatementArguments(arguments)
            do {
                try projection.change { try $0.execute(sql: sql, arguments: arguments) }
                changed.insert(table)
                statements.append((sql, arguments))
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
                try projection.change { db in
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
            statements = []
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
                attempt { _ = try projection.lots(OpenItemsQuery(account: account), at: 3_000) }
                attempt { _ = try projection.holds(OpenItemsQuery(account: account), at: 3_000) }
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
            let copy = folder.appendingPathComponent("copy.sqlite").path
            certain("changing a copy of the tables") {
                try SQLiteProjection.copy(at: Tables.original(folder), to: copy)
                let opened = try Tables.open(copy)
                try opened.change { db in
                    try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
                    for (sql, arguments) in statements { try db.execute(sql: sql, arguments: arguments) }
                }
                try opened.close()
            }
            defer { certain("removing tables") { try SQLiteProjection.remove(at: copy) } }
            do {
                let opened = try Tables.open(copy)
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
