import Foundation
import GRDB
import Ledger
import Testing

@testable import SQLiteStore

/// The WAL is copied into the database beside the commits, and begins anew.
@Suite struct CheckpointTests {
    private static let gems = CurrencyCode("gems")!

    private static func grants(_ turn: Int, _ count: Int) -> [Command] {
        (0..<count).map { number in
            .grant(
                Grant(
                    key: RequestKey("\(turn)-\(number)")!, account: AccountName("player-\(turn)-\(number)")!,
                    currency: gems, amount: Amount(1)!, note: String(repeating: "n", count: 500)))
        }
    }

    private static func size(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    @Test func theWALBeginsAnewWhileCommitsGoOn() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        let page = try store.pool.read { db in try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 0 }
        // Several times the pages from which it is copied.
        var turn = 0
        while turn < 200 {
            _ = try store.run(Self.grants(turn, 500), at: Int64(turn))
            turn += 1
        }
        let written = try store.pool.read { db in try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0 }
        #expect(written > 2 * SQLiteLimits.checkpointPages)
        #expect(try Self.size(folder.database + "-wal") <= (SQLiteLimits.walPagesMax + written) * (page + 24))
        // Small commits go on until what was written is in the database itself, and not in the WAL alone.
        let end = Date(timeIntervalSinceNow: 60)
        while try Self.size(folder.database) < written * page * 9 / 10, Date() < end {
            _ = try store.run(Self.grants(turn, 1), at: Int64(turn))
            turn += 1
        }
        #expect(try Self.size(folder.database) >= written * page * 9 / 10)
        try store.close()
        let again = try open(folder)
        #expect(try again.balances(AccountName("player-199-499")!).first?.balance.available == 1)
        try again.close()
    }

    /// A reader keeps the WAL from beginning anew; commits go on, and the reader sees what it saw.
    @Test func aLongReadStopsNeitherCommitsNorCheckpoints() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        _ = try store.run(Self.grants(1_000, 1), at: 1)
        let reader = try DatabaseQueue(path: folder.database)
        try reader.inDatabase { db in
            try db.execute(sql: "BEGIN")
            let before = try Int.fetchOne(db, sql: "SELECT count(*) FROM entry")
            for turn in 0..<150 { _ = try store.run(Self.grants(turn, 500), at: Int64(turn)) }
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM entry") == before)
            try db.execute(sql: "COMMIT")
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM entry") == 75_001)
        }
        try reader.close()
        try store.close()
    }
}
