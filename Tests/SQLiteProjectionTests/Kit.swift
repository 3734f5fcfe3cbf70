import Foundation
import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// A folder that is gone when the test is.
final class TemporaryFolder {
    let url: URL
    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(at: url) }
    var database: String { url.appendingPathComponent("tables.sqlite").path }

    /// Everything that the tables consist of on the disk.
    static let suffixes = ["", WriteAheadLog.suffix, CheckpointMark.suffix, PageSums.suffix]

    /// Files that are a copy of these as they are now, also while somebody has them open.
    func copy() throws -> TemporaryFolder {
        let copy = try TemporaryFolder()
        for suffix in TemporaryFolder.suffixes where FileManager.default.fileExists(atPath: database + suffix) {
            try FileManager.default.copyItem(atPath: database + suffix, toPath: copy.database + suffix)
        }
        return copy
    }

    /// Changes tables that nobody has open as a fault of this program would: everything but the rows fits.
    func change(_ sql: String) throws {
        let tables = try open(self)
        defer { try? tables.close() }
        try tables.changeWrongly(sql)
    }

    /// Changes the tables as another program would.
    func changeAsOthers(_ sql: String) throws {
        let queue = try DatabaseQueue(path: database)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try db.execute(sql: sql)
        }
        try queue.close()
    }

    /// Every row of every table.
    func dump() throws -> [String] {
        let queue = try DatabaseQueue(path: database)
        defer { try? queue.close() }
        return try queue.read { db in
            var lines: [String] = []
            let tables = try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
            for table in tables {
                let rows = try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { row in
                    row.databaseValues.map(\.description).joined(separator: "|")
                }
                lines += rows.sorted().map { "\(table) \($0)" }
            }
            return lines
        }
    }
}

extension SQLiteProjection {
    /// Changes rows as a fault of this program would.
    func changeWrongly(_ sql: String) throws {
        try change { db in
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            defer { try? db.execute(sql: "PRAGMA ignore_check_constraints = OFF") }
            try db.execute(sql: sql)
        }
    }
}

let ledger = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")

func open(
    _ folder: TemporaryFolder, _ row: BlockRows.LedgerRow = ledger, bounds: SQLiteBounds = SQLiteBounds(),
    warn: @escaping @Sendable (String) -> Void = { _ in }
) throws -> SQLiteProjection {
    try SQLiteProjection(path: folder.database, ledger: row, hash: Workload.hash, bounds: bounds, warn: warn)
}

/// Books over a projection, as an engine keeps them: what is not projected yet stays in memory, everything else may
/// go.
struct Ledger {
    let folder: TemporaryFolder
    private(set) var projection: SQLiteProjection
    private(set) var books: Books
    /// Every block so far.
    private(set) var blocks: [SealedBlock] = []
    /// How many of them are projected.
    private(set) var projected = 0
    private var time: Timestamp = 0
    private let catalog: Catalog
    private var random: SplitMix64

    init(
        _ folder: TemporaryFolder, catalog: Catalog = Workload.catalog, bounds: SQLiteBounds = SQLiteBounds(),
        seed: UInt64 = 1
    ) throws {
        self.folder = folder
        self.catalog = catalog
        random = SplitMix64(seed: seed)
        projection = try open(folder, bounds: bounds)
        books = Books(
            catalog: catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0),
            hash: Workload.hash)
        seal(at: 0)
    }

    /// Decides commands as one batch, which is one block where it adds anything.
    mutating func decide(_ commands: [Command], at now: Timestamp) throws -> [Outcome] {
        var needs = Needs()
        for command in commands { needs.add(command) }
        try projection.load(needs, into: &books)
        let outcomes = commands.map { books.decide($0, by: commands.count % 3 == 0 ? "shop" : nil, at: now) }
        seal(at: now)
        return outcomes
    }

    /// Has in the books what is needed, as far as it can be loaded.
    mutating func load(_ needs: Needs) throws { try projection.load(needs, into: &books) }

    /// Posts what has expired of an account, as before a read.
    mutating func settle(_ account: AccountName, at now: Timestamp) { books.settle(account, at: now) }

    /// Decides commands and projects them.
    @discardableResult
    mutating func run(_ commands: [Command], at now: Timestamp) throws -> [Outcome] {
        let outcomes = try decide(commands, at: now)
        try project()
        return outcomes
    }

    @discardableResult
    mutating func run(_ command: Command, at now: Timestamp) throws -> Outcome { try run([command], at: now)[0] }

    mutating func close(through time: Timestamp) throws {
        books.close(through: time)
        seal(at: time)
        try project()
    }

    /// Closes by name the period up to `time`.
    mutating func closePeriod(through time: Timestamp, by actor: String? = nil) throws {
        books.closePeriod(through: time, by: actor, at: time)
        seal(at: time)
        try project()
    }

    /// Has the next block that is sealed name a catalog.
    mutating func record(catalog digest: Digest, at now: Timestamp) { books.record(catalog: digest, at: now) }

    mutating func seal(at now: Timestamp) {
        var rows = books.takeRows()
        if rows.isEmpty && !blocks.isEmpty { return }
        if blocks.isEmpty { rows.ledger = ledger }
        time = max(time, now)
        let block = Block(
            number: Int64(blocks.count + 1), term: 1, time: time, previous: blocks.last?.hash ?? .zero,
            position: books.position, rows: rows)
        blocks.append(SealedBlock(sealing: block, salts: &random, hash: Workload.hash))
    }

    /// Applies the next `count` blocks, or all that are left, in one step.
    mutating func project(_ count: Int = Int.max) throws {
        let step = blocks[projected...].prefix(count)
        try projection.apply(Array(step))
        projected += step.count
    }

    /// Forgets a player, of whom the projection has everything.
    mutating func forget(_ account: AccountName) {
        if let player = books.playerIDs[account] { books.forget(player) }
    }

    /// Forgets what the projection has of what `chance` in a hundred chooses.
    mutating func forget(chance: Int) throws {
        let waiting = try blocks[projected...].map {
            try Block(opening: $0, checks: .form, evidence: .leftOut)
        }
        let position = try projection.state().position
        var players: Set<PlayerID> = []
        var transactions: Set<TransactionID> = []
        var keys: Set<RequestKey> = []
        var notifications: Set<String> = []
        var called: Set<TransactionID> = []
        var references: Set<TransferID> = []
        for rows in waiting.map(\.rows) {
            players.formUnion(rows.accounts.map(\.id) + rows.transfers.map(\.player))
            players.formUnion(rows.links.flatMap { [$0.token, $0.account] } + rows.consents.map(\.account))
            transactions.formUnion(rows.evidence.map(\.transaction) + rows.assignments.map(\.transaction))
            transactions.formUnion(rows.statements.map(\.transaction))
            keys.formUnion(rows.requests.map(\.key))
            notifications.formUnion(rows.notifications.map(\.uuid))
            called.formUnion(rows.calls.map(\.transaction))
            references.formUnion(rows.transfers.compactMap(\.reference))
        }
        for player in books.players.values.map(\.id).sorted() {
            books.forgetClosedLots(of: player, through: position.transfer)
            if !players.contains(player), random.chance(chance) { books.forget(player) }
        }
        for key in books.answers.keys where !keys.contains(key) { books.forget(key) }
        for transaction in books.purchases.keys where !transactions.contains(transaction) { books.forget(transaction) }
        for uuid in books.notifications.keys where !notifications.contains(uuid) { books.forget(notification: uuid) }
        for call in books.calls.keys where !called.contains(call.transaction) { books.forget(call) }
        for first in Array(books.returned.keys) + Array(books.holdEnds.keys) where !references.contains(first) {
            books.forget(reference: first)
        }
    }

    /// Begins anew with what the tables hold, as after a crash; the blocks they lack are applied first.
    /// - Parameter change: changes the tables meanwhile.
    mutating func restart(bounds: SQLiteBounds = SQLiteBounds(), _ change: () throws -> Void = {}) throws {
        try projection.close()
        try change()
        projection = try open(folder, bounds: bounds)
        projected = Int(try projection.state().head?.number ?? 0)
        try project()
        let state = try projection.state()
        books = Books(
            catalog: catalog, known: state.currencies, position: state.position, totals: state.totals,
            closedThrough: state.closedThrough, periods: state.periods, headers: state.headers,
            actors: state.actors, hash: Workload.hash)
    }

    mutating func balances(_ account: AccountName) throws -> [CurrencyBalance] {
        guard case .balance(let answer) = try decide([.balance(account: account, currency: nil)], at: 0)[0] else {
            return []
        }
        return answer.balances
    }

    /// What leaves a player, of whom a workload knows nothing, with a debt of 400 gems, less so many payments of one.
    func debt(of number: Int, payments: Int) -> [Command] {
        let gems = CurrencyCode("gems")!
        let account = AccountName("debtor-\(number)")!
        let all = CurrencyAmount(currency: gems, amount: Amount(400)!)
        let purchase = 1_000 + 6 * number
        return [
            .credit(Workload.purchase(purchase, signedDate: 1), account: account),
            .spend(Spend(key: RequestKey("debt \(number)")!, account: account, debits: [all])),
            .credit(Workload.purchase(purchase, signedDate: 2, revoked: 100_000), account: account),
        ]
            + (0..<payments).map { payment in
                .grant(
                    Grant(
                        key: RequestKey("payment \(number) \(payment)")!, account: account, currency: gems,
                        amount: Amount(1)!))
            }
    }

    /// What the outside sees through the view, by account and currency.
    func viewed() throws -> [String: [Int64]] {
        let queue = try DatabaseQueue(path: folder.database)
        return try queue.read { db in
            var viewed: [String: [Int64]] = [:]
            for row in try Row.fetchAll(db, sql: "SELECT * FROM balance") {
                let key = "\(row["account"] as String) \(row["currency"] as String)"
                viewed[key] = [row["available"], row["paid"], row["free"], row["held"], row["debt"]]
            }
            return viewed
        }
    }
}

/// The steps in which SQLite carries out each query that `body` makes of the tables.
func plans(of folder: TemporaryFolder, _ body: (Database) throws -> Void) throws -> [String: [String]] {
    final class Statements: @unchecked Sendable {
        private(set) var all: Set<String> = []
        /// Only while the test reads, on its queue.
        func add(_ sql: String) { all.insert(sql) }
    }
    let statements = Statements()
    return try DatabaseQueue(path: folder.database).read { db in
        db.trace { event in if case .statement(let statement) = event { statements.add(statement.sql) } }
        try body(db)
        db.trace(options: [])
        let queries = statements.all.filter { $0.hasPrefix("SELECT") || $0.hasPrefix("WITH") }
        return try Dictionary(
            uniqueKeysWithValues: queries.map { sql in
                let steps = try PreparedStatement(db, "EXPLAIN QUERY PLAN \(sql)")
                var details: [String] = []
                try steps.forEach { details.append($0.text(3)) }
                return (sql, details)
            })
    }
}

extension AppStoreWorkQuery {
    static let all: [AppStoreWorkQuery] = [
        .consumptionRequests(after: 0), .purchases(after: 0), .assignments(after: 0),
        .consumptionRequests(after: 0, since: 200), .purchases(after: 0, since: 200),
        .assignments(after: 0, since: 200),
    ]
}

extension FindQuery {
    /// Everything that a workload can have made, and some that nothing made.
    static func ofWorkload(_ keys: [RequestKey]) -> [FindQuery] {
        keys.map { .key($0) } + [.key(RequestKey("never used")!)]
            + (0..<61).map { .transaction(Workload.transaction($0)) }
            + (0..<13).map { .account(Workload.account($0)) }
            + (0..<Workload.guests).map { .token(Workload.token($0)) }
    }
}
