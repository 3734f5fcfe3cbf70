import Foundation
import GRDB
import Ledger
import Synchronization
import Testing

@testable import SQLiteProjection

/// The WAL is copied into the database after commits, and begins anew.
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

    /// Blocks of 200 new players each.
    private static func blocks(_ count: Int) throws -> [SealedBlock] {
        var store = try Ledger(TemporaryFolder())
        for turn in 1..<count { _ = try store.decide(grants(turn, 200), at: Int64(turn)) }
        return store.blocks
    }

    private static var small: SQLiteBounds {
        var bounds = SQLiteBounds()
        bounds.checkpointPages = 200
        bounds.walPagesWarned = 600
        bounds.walPagesMax = 1_500
        bounds.walBytesReserved = 0
        return bounds
    }

    private static func size(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    @Test func theWALBeginsAnewWhileBlocksAreApplied() throws {
        let folder = try TemporaryFolder()
        let projection = try open(folder, bounds: Self.small) { Issue.record("\($0)") }
        for block in try Self.blocks(60) { try projection.apply([block]) }
        // Many times the pages from which it is copied were written.
        #expect(try Self.size(folder.database) > 1_000 * 4_096)
        #expect(try Self.size(folder.database + "-wal") < 500 * (4_096 + 24))
        try projection.close()
        #expect(try Self.size(folder.database) > 1_000 * 4_096)
    }

    /// A reader keeps the WAL from beginning anew: the operator is told, at the end nothing more is applied, and all
    /// goes on when the reader has gone.
    @Test func aReadThatNeverEndsIsToldOfAndThenStopsTheProjection() throws {
        let folder = try TemporaryFolder()
        let warnings = Mutex(0)
        let projection = try open(folder, bounds: Self.small) { _ in warnings.withLock { $0 += 1 } }
        var rest = try Self.blocks(60)[...]
        try projection.apply([rest.removeFirst(), rest.removeFirst()])
        let reader = try DatabaseQueue(path: folder.database)
        try reader.inDatabase { db in
            try db.execute(sql: "BEGIN")
            let before = try Int.fetchOne(db, sql: "SELECT count(*) FROM entry")
            var failure: StoreError?
            while failure == nil, let block = rest.first {
                do {
                    try projection.apply([block])
                    rest.removeFirst()
                } catch let error as StoreError { failure = error }
            }
            #expect(failure?.kind == .unavailable)
            #expect(failure?.description.contains("someone keeps a read of them open") == true)
            #expect(warnings.withLock { $0 } >= 1)
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM entry") == before)
            // Who loads and who reads does not wait.
            #expect(try projection.journal(JournalQuery(after: 0)).entries.isEmpty == false)
            try db.execute(sql: "COMMIT")
        }
        let count = rest.count
        #expect(count > 0)
        for block in rest { try projection.apply([block]) }
        #expect(try projection.state().position.entry == 59 * 200)
        #expect(projection.walPages < 1_500)
        try reader.close()
        try projection.close()
    }

    /// Room that a full disk cannot take away: of the WAL, also from one start to the next.
    @Test func theWALKeepsItsRoom() throws {
        let folder = try TemporaryFolder()
        var bounds = SQLiteBounds()
        bounds.walBytesReserved = 3 << 20
        let wal = folder.database + "-wal"
        let blocks = try Self.blocks(9)
        for turn in 0..<3 {
            let projection = try open(folder, bounds: bounds)
            for block in blocks[(turn * 3)..<(turn * 3 + 3)] { try projection.apply([block]) }
            #expect(try Self.size(wal) >= 3 << 20)
            try projection.close()
            // Nothing of it is left there for programs that know no checksums of pages.
            let bytes = try Data(contentsOf: URL(fileURLWithPath: wal))
            #expect(bytes.count == 3 << 20 && bytes.allSatisfy { $0 == 0 })
            var status = stat()
            #expect(stat(wal, &status) == 0 && status.st_blocks * 512 >= 3 << 20)
            var configuration = Configuration()
            configuration.readonly = true
            let outside = try DatabaseQueue(path: folder.database, configuration: configuration)
            let entries = try outside.read { try Int.fetchOne($0, sql: "SELECT max(id) FROM entry") }
            try outside.close()
            // The first block has no entries.
            #expect(entries == (turn * 3 + 2) * 200)
        }
    }
}
