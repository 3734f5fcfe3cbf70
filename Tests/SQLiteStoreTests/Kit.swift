import Foundation
import GRDB
import Ledger
import Testing

@testable import SQLiteStore

/// A folder that is gone when the test is.
final class TemporaryFolder {
    let url: URL
    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(at: url) }
    var database: String { url.appendingPathComponent("ledger.sqlite").path }
}

let identity = LedgerIdentity(bundleID: "com.example.game", environment: "Sandbox")

func open(
    _ folder: TemporaryFolder, identity: LedgerIdentity = identity, catalog: Catalog = Workload.catalog,
    tail: Int64 = 50_000,
    players: Int = 500_000
) throws -> SQLiteStore {
    var bounds = SQLiteBounds()
    bounds.tailTransfersMax = tail
    bounds.cachedPlayersMax = players
    return try SQLiteStore(
        path: folder.database, identity: identity, catalog: catalog, hash: Workload.hash, now: 1_800_000_000_000,
        bounds: bounds)
}

extension SQLiteStore {
    /// Decides commands as one batch.
    func run(_ commands: [Command], at now: Timestamp) throws -> [Outcome] {
        var needs = Needs()
        for command in commands { needs.add(command) }
        return try commit(needs) { books in commands.map { books.decide($0, at: now) } }
    }

    func run(_ command: Command, at now: Timestamp) throws -> Outcome { try run([command], at: now)[0] }

    func balances(_ account: AccountName) throws -> [CurrencyBalance] {
        guard case .balance(let answer) = try run(.balance(account: account, currency: nil), at: 0) else { return [] }
        return answer.balances
    }

    /// What the outside sees through the view, by account and currency.
    func viewed() throws -> [String: [Int64]] {
        try pool.read { db in
            var viewed: [String: [Int64]] = [:]
            for row in try Row.fetchAll(db, sql: "SELECT * FROM balance") {
                let key = "\(row["account"] as String) \(row["currency"] as String)"
                viewed[key] = [row["available"], row["paid"], row["free"], row["held"], row["debt"]]
            }
            return viewed
        }
    }
}
