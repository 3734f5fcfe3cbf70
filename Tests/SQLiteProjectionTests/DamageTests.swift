import Foundation
import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

private let gems = CurrencyCode("gems")!

/// Tables that other hands or a disk have changed: whatever is asked of them ends with a named error or with the
/// right answer. A test that traps has failed.
@Suite struct DamageTests {
    /// What a player has, as far as the tables are compared with themselves.
    private struct Holdings: Hashable {
        var balances: [CurrencyID: [Int64]]
        var lots: [[Int64]]

        init(_ player: Player) {
            balances = [:]
            lots = []
            for wallet in player.wallets where !wallet.open.isEmpty {
                balances[wallet.currency] = [wallet.available, wallet.paid, wallet.held, wallet.debt]
                for lot in wallet.lots where lot.isOpen { lots.append([lot.remaining, lot.held, lot.owed]) }
            }
            lots.sort { $0.lexicographicallyPrecedes($1) }
        }
    }

    /// Tables with a bit of everything, closed, and what they should say.
    private struct Sample {
        var folder: TemporaryFolder
        /// The blocks after those that the tables have.
        var next: SealedBlock
        var books: Books
        var state: ProjectedState
        var keys: [RequestKey]

        init() throws {
            folder = try TemporaryFolder()
            var store = try Ledger(folder)
            var workload = Workload(seed: 11)
            for batch in 1...60 {
                workload.now = Int64(batch) * 10
                _ = try store.decide((0..<8).map { _ in workload.next() }, at: workload.now)
            }
            try store.project()
            state = try store.projection.state()
            books = store.books
            keys = Array(store.books.answers.keys).sorted { $0.text < $1.text }
            _ = try store.decide((0..<40).map { _ in workload.next() }, at: 700)
            next = try #require(store.blocks.last)
            try store.projection.close()
        }

        func copy() throws -> TemporaryFolder { try folder.copy() }

        func freshBooks() -> Books {
            Books(
                catalog: Workload.catalog, known: state.currencies, position: state.position, totals: state.totals,
                closedThrough: state.closedThrough, headers: state.headers, actors: state.actors, hash: Workload.hash)
        }

        /// Whether the tables were opened and everything was answered.
        func ask(_ folder: TemporaryFolder, _ place: String) throws -> Bool {
            let projection: SQLiteProjection
            do {
                projection = try open(folder)
            } catch let error as ProjectionOpeningError {
                #expect(!error.description.isEmpty && error.kind != .unavailable, "\(place): \(error)")
                return false
            }
            var answered = true
            func attempt(_ body: () throws -> Void) rethrows {
                do { try body() } catch let error as StoreError {
                    #expect(!error.description.isEmpty)
                    answered = false
                }
            }
            try attempt { _ = try projection.state() }
            for number in 0..<12 {
                let account = Workload.account(number)
                try attempt { try load(account, projection, place) }
                try attempt { _ = try projection.history(HistoryQuery(account: account)) }
                try attempt { _ = try projection.lots(OpenItemsQuery(account: account), at: 300) }
                try attempt { _ = try projection.holds(OpenItemsQuery(account: account), at: 300) }
                try attempt { _ = try projection.balances(account, currency: nil, asOf: 300) }
            }
            for number in 0..<60 {
                let query = ConsumptionQuery(transaction: Workload.transaction(number))
                let refund = Workload.purchase(number, signedDate: 50, revoked: 50_000)
                try attempt { try decide([.consumption(query), .credit(refund, account: nil)], projection) }
                guard books.purchases[query.transaction] != nil else { continue }
                try attempt { _ = try projection.purchase(PurchaseQuery(transaction: query.transaction, limit: 3)) }
            }
            for key in keys {
                try attempt { try decide([.reverse(Reversal(key: RequestKey("new")!, spendKey: key))], projection) }
                try attempt { try decide([.release(Release(key: RequestKey("new")!, holdKey: key))], projection) }
            }
            try attempt { try decide([.expire], projection) }
            for kind in ReportKind.allCases {
                try attempt { _ = try projection.report(ReportQuery(kind: kind, asOf: 300)) }
                try attempt { _ = try projection.report(ReportQuery(kind: kind, asOf: 900)) }
            }
            try attempt { _ = try projection.journal(JournalQuery(after: 0, limit: 1_000)) }
            for query in AppStoreWorkQuery.all { try attempt { _ = try projection.appStoreWork(query) } }
            for query in FindQuery.ofWorkload(keys) { try attempt { _ = try projection.find(query) } }
            try attempt { try projection.apply([next]) }
            try? projection.close()
            return answered
        }

        private func load(_ account: AccountName, _ projection: SQLiteProjection, _ place: String) throws {
            var books = freshBooks()
            var needs = Needs()
            needs.accounts = [account]
            do {
                try projection.load(needs, into: &books)
            } catch {
                #expect(books.players.isEmpty, "\(place): a load that failed left a player behind")
                throw error
            }
            guard let id = books.playerIDs[account], let player = books.players[id] else { return }
            let expected = try #require(self.books.players[id], "\(place): \(account)")
            #expect(Holdings(player) == Holdings(expected), "\(place): \(account)")
            _ = books.decide(
                .spend(
                    Spend(
                        key: RequestKey("new")!, account: account,
                        debits: [CurrencyAmount(currency: gems, amount: Amount(7)!)])), at: 800)
        }

        private func decide(_ commands: [Command], _ projection: SQLiteProjection) throws {
            var books = freshBooks()
            var needs = Needs()
            for command in commands { needs.add(command) }
            try projection.load(needs, into: &books)
            for command in commands { _ = books.decide(command, at: 800) }
        }
    }

    @Test func theSampleItselfIsAnsweredWhole() throws {
        let sample = try Sample()
        #expect(try sample.ask(sample.copy(), "unchanged"))
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func aValueThatWasChangedIsNamedOrHarmless(seed: UInt64) throws {
        let sample = try Sample()
        var random = SplitMix64(seed: seed)
        var noticed = 0
        for round in 0..<120 {
            let folder = try sample.copy()
            guard let change = try Self.changeOneValue(folder, &random) else { continue }
            if try !sample.ask(folder, "seed \(seed), round \(round): \(change)") { noticed += 1 }
        }
        #expect(noticed > 20, "seed \(seed)")
    }

    @Test(arguments: [1, 2] as [UInt64])
    func aRowThatIsGoneIsNamedOrHarmless(seed: UInt64) throws {
        let sample = try Sample()
        var random = SplitMix64(seed: seed)
        var noticed = 0
        for round in 0..<60 {
            let folder = try sample.copy()
            let (table, key) = try Self.anyRow(folder, &random)
            try folder.change("DELETE FROM \(table) WHERE \(key)")
            if try !sample.ask(folder, "seed \(seed), round \(round): \(table), \(key)") { noticed += 1 }
        }
        #expect(noticed > 20, "seed \(seed)")
    }

    @Test(arguments: [1, 2] as [UInt64])
    func aFileWithFlippedBytesIsNamedOrHarmless(seed: UInt64) throws {
        let sample = try Sample()
        var random = SplitMix64(seed: seed)
        var noticed = 0
        for round in 0..<100 {
            let folder = try sample.copy()
            var bytes = [UInt8](try Data(contentsOf: folder.url.appendingPathComponent("tables.sqlite")))
            var places: [Int] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<(random.chance(20) ? 200 : bytes.count), using: &random)
                bytes[place] ^= UInt8.random(in: 1...255, using: &random)
                places.append(place)
            }
            if random.chance(10) { bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random)) }
            try Data(bytes).write(to: folder.url.appendingPathComponent("tables.sqlite"))
            if try !sample.ask(folder, "seed \(seed), round \(round): bytes \(places)") { noticed += 1 }
        }
        #expect(noticed > 20, "seed \(seed)")
    }

    /// The report of debts goes from account to account up to the last.
    @Test(arguments: [Int64.max, 1 << 51, 0], [nil, Int64.max - 2])
    func aReportEndsWhateverTheLastAccountsNumberIs(number: Int64, after: Int64?) throws {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        for debtor in 1...3 { try store.run(store.debt(of: debtor, payments: 0), at: 1) }
        try store.projection.close()
        try folder.change(
            """
            UPDATE transfer SET account = \(number) WHERE id = (
                SELECT id FROM transfer WHERE debit = 'receivable'
                ORDER BY account \(number == 0 ? "" : "DESC") LIMIT 1)
            """)
        let projection = try open(folder)
        let cursor = after.map { ReportCursor(.debts, account: $0).text }
        func report() throws {
            _ = try projection.report(ReportQuery(kind: .debts, asOf: 900, limit: 10, after: cursor))
        }
        if after ?? 0 <= number {
            let error = #expect(throws: StoreError.self) { try report() }
            #expect(error?.description.contains("account \(number) has a number that was never given") == true)
            #expect(error?.kind == .corrupt)
        } else {
            try report()
        }
        try projection.close()
    }

    /// A table and the condition that finds one of its rows.
    private static func anyRow(_ folder: TemporaryFolder, _ random: inout SplitMix64) throws -> (String, String) {
        let queue = try DatabaseQueue(path: folder.database)
        defer { try? queue.close() }
        return try queue.read { db in
            while true {
                let tables = try String.fetchAll(
                    db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
                let table = tables.randomElement(using: &random) ?? "wallet"
                let rows = try Row.fetchAll(db, sql: "SELECT * FROM \(table)")
                guard let row = rows.randomElement(using: &random) else { continue }
                let keys = try db.primaryKey(table).columns
                let condition = try keys.map { key -> String in
                    let value: DatabaseValue = row[key]
                    return try "\(key) = \(String.fetchOne(db, sql: "SELECT quote(?)", arguments: [value]) ?? "")"
                }
                return (table, condition.joined(separator: " AND "))
            }
        }
    }

    /// Gives the statement; `nil` where the table refused it.
    private static func changeOneValue(_ folder: TemporaryFolder, _ random: inout SplitMix64) throws -> String? {
        let (table, condition) = try anyRow(folder, &random)
        let queue = try DatabaseQueue(path: folder.database)
        let columns = try queue.read { try $0.columns(in: table).map(\.name) }
        try queue.close()
        let column = columns.randomElement(using: &random) ?? ""
        let values = [
            "NULL", "0", "-1", "1", "\(column) + 1", "\(column) - 1", "\(column) * 2", "9223372036854775807",
            "-9223372036854775808", "9007199254740992", "'x'", "'wallet'", "''", "x'00'", "zeroblob(32)",
            "(SELECT \(column) FROM \(table) ORDER BY random() LIMIT 1)",
        ]
        let value = values.randomElement(using: &random) ?? "0"
        let statement = "UPDATE \(table) SET \(column) = \(value) WHERE \(condition)"
        do {
            try folder.change(statement)
            return statement
        } catch is DatabaseError {
            return nil
        }
    }
}

/// Files that are not the tables that were asked for.
@Suite struct OpeningTests {
    private func failure(_ folder: TemporaryFolder, _ row: BlockRows.LedgerRow = ledger) -> ProjectionOpeningError? {
        #expect(throws: ProjectionOpeningError.self) { try open(folder, row) }
    }

    private func closed() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        try store.run(.credit(Workload.purchase(1, signedDate: 1), account: Workload.account(1)), at: 1)
        try store.projection.close()
        return folder
    }

    @Test func anotherProgramsDatabaseIsLeftAsItIs() throws {
        let folder = try TemporaryFolder()
        let other = try DatabaseQueue(path: folder.database)
        try other.write { try $0.execute(sql: "CREATE TABLE theirs (id INTEGER)") }
        try other.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        #expect(failure(folder)?.kind == .foreign)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == before)
        #expect(throws: ProjectionOpeningError.self) { try SQLiteReports(path: folder.database) }
    }

    /// A version before the log of blocks kept the ledger itself in a database that has our mark.
    @Test func aWholeLedgerInADatabaseIsLeftAsItIs() throws {
        let folder = try TemporaryFolder()
        let other = try DatabaseQueue(path: folder.database)
        try other.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE TABLE ledger (id INTEGER)")
            try db.execute(sql: "PRAGMA application_id = \(DatabaseFile.applicationID)")
        }
        try other.close()
        #expect(failure(folder)?.kind == .foreign)
    }

    @Test(arguments: ["a fifo", "a folder", "a device"]) func whatIsNoFileIsLeftAsItIs(kind: String) throws {
        let folder = try TemporaryFolder()
        switch kind {
        case "a fifo": #expect(mkfifo(folder.database, 0o600) == 0)
        case "a folder":
            try FileManager.default.createDirectory(atPath: folder.database, withIntermediateDirectories: false)
        default: try FileManager.default.createSymbolicLink(atPath: folder.database, withDestinationPath: "/dev/zero")
        }
        let error = failure(folder)
        #expect(error?.kind == .foreign && error?.description.contains("is \(kind), not a file of the tables") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["tables.sqlite"])
    }

    /// SQLite opens them by itself, follows no link, and names the tables' file then.
    @Test(arguments: ["-shm", "-wal", "-journal"], ["to a file", "to nothing", "to itself"])
    func aLinkInThePlaceOfAFileBesideTheTablesIsRefusedByItsName(suffix: String, to target: String) throws {
        let folder = try closed()
        let path = folder.database + suffix
        _ = unlink(path)
        let other = folder.url.appendingPathComponent("other").path
        if target == "to a file" { try Data([1]).write(to: URL(fileURLWithPath: other)) }
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: target == "to itself" ? path : other)
        let error = failure(folder)
        #expect(error?.kind == .foreign)
        #expect(error?.description.contains("\(path) is a symbolic link, not a file of the tables") == true)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path).isEmpty == false)
    }

    @Test func tablesForWhichThereIsNoRoomSayHowMuchTheyNeed() throws {
        let folder = try TemporaryFolder()
        #expect(SQLiteProjection.wantOfRoom(at: folder.database, entries: 0) == nil)
        let words = SQLiteProjection.wantOfRoom(at: folder.database, entries: 1_000_000_000_000)
        #expect(words?.contains("need about 762939518 MiB at most") == true, "\(words ?? "")")
        #expect(words?.contains("the disk of \(folder.url.path) has ") == true)
        #expect(SQLiteProjection.wantOfRoom(at: folder.database, entries: .max) != nil)
    }

    /// A header that is damaged looks like a file of somebody else's.
    @Test func aFileThatMayBeSomebodyElsesIsSetAsideWhenTablesTakeItsPlace() throws {
        let folder = try TemporaryFolder()
        let text = Data(String(repeating: "notes that nobody has twice\n", count: 20).utf8)
        try text.write(to: URL(fileURLWithPath: folder.database))
        #expect(failure(folder)?.kind == .rebuild)
        let new = try closed()
        try SQLiteProjection.move(from: new.database, to: folder.database)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database + ".set-aside")) == text)
        try open(folder).close()
        // Tables of ours are replaced.
        try SQLiteProjection.move(from: try closed().database, to: folder.database)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database + ".set-aside")) == text)
    }

    @Test func aCopyHasWhatTheTablesHave() throws {
        let folder = try closed()
        let copy = folder.url.appendingPathComponent("copy.sqlite").path
        try SQLiteProjection.copy(at: folder.database, to: copy)
        let (one, other) = (try open(folder), try SQLiteProjection(path: copy, ledger: ledger, hash: Workload.hash))
        #expect(try one.state().head == other.state().head && other.checkAll().isEmpty)
        try other.close()
        try one.close()
        #expect(throws: StoreError.self) { try SQLiteProjection.copy(at: folder.database, to: copy) }
        try SQLiteProjection.copy(at: folder.database + "none", to: copy + "2")
        #expect(!FileManager.default.fileExists(atPath: copy + "2"))
    }

    @Test(arguments: [
        "UPDATE projection SET format = 99", "UPDATE projection SET format = 0", "DELETE FROM projection",
        "DROP TABLE projection", "UPDATE projection SET entry = entry + 1", "DELETE FROM entry", "DELETE FROM total",
        "UPDATE total SET debits = debits + 1", "UPDATE projection SET bundle_id = NULL", "DELETE FROM currency",
    ])
    func tablesThatCannotBeGoneOnWithAreToBeRebuilt(change: String) throws {
        let folder = try closed()
        try folder.change(change)
        #expect(failure(folder)?.kind == .rebuild)
        try SQLiteProjection.remove(at: folder.database)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
        #expect(try open(folder).state().head == nil)
    }

    @Test func anotherLedgersTablesAreToBeRebuilt() throws {
        let folder = try closed()
        for other in [
            BlockRows.LedgerRow(bundleID: "com.example.other", environment: "Sandbox"),
            BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Production"),
        ] {
            #expect(failure(folder, other)?.kind == .rebuild)
        }
        try open(folder).close()
    }

    @Test func anotherLedgersBlocksAreNotApplied() throws {
        let store = try Ledger(TemporaryFolder())
        let folder = try TemporaryFolder()
        let projection = try open(folder, BlockRows.LedgerRow(bundleID: "com.example.other", environment: "Sandbox"))
        let error = #expect(throws: StoreError.self) { try projection.apply(store.blocks) }
        #expect(error?.kind == .corrupt)
        #expect(try projection.state().head == nil)
    }

    /// The state has the last of them, which the books go on with.
    @Test func theTablesHaveTheCatalogsThatBlocksName() throws {
        var store = try Ledger(TemporaryFolder())
        try store.run(.credit(Workload.purchase(1, signedDate: 1), account: Workload.account(1)), at: 1)
        let last = try #require(store.blocks.last)
        #expect(try store.projection.state().catalog == nil)
        var block = try Block(opening: last, checks: .form)
        (block.number, block.previous, block.rows) = (last.number + 1, last.hash, BlockRows())
        let rows = [
            BlockRows.CatalogRow(version: 1, digest: last.hash, time: block.time),
            BlockRows.CatalogRow(version: 2, digest: .zero, time: block.time),
        ]
        block.rows.catalogs = rows
        var salts = SplitMix64(seed: 1)
        try store.projection.apply([SealedBlock(sealing: block, salts: &salts, hash: Workload.hash)])
        #expect(try store.projection.state().catalog == rows[1])
        #expect(try store.projection.state().head?.number == last.number + 1)
    }

    @Test func aFileThatIsNoDatabaseIsToBeRebuilt() throws {
        let folder = try TemporaryFolder()
        try Data(repeating: 7, count: 10_000).write(to: URL(fileURLWithPath: folder.database))
        #expect(failure(folder)?.kind == .rebuild)
    }

    @Test func anEmptyFileBecomesTables() throws {
        let folder = try TemporaryFolder()
        try Data().write(to: URL(fileURLWithPath: folder.database))
        #expect(try open(folder).state().head == nil)
    }

    @Test func aFolderThatIsNotThereIsNamed() throws {
        let error = #expect(throws: ProjectionOpeningError.self) {
            try SQLiteProjection(path: "/nowhere/at/all/tables.sqlite", ledger: ledger, hash: Workload.hash)
        }
        #expect(error?.kind == .unavailable)
    }
}
