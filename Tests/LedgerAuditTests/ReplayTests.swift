import Ledger
import LedgerTestKit
import SQLiteProjection
import Testing

@testable import LedgerAudit

/// The books that an auditor computes from blocks are those that deciding left, and what the tables have.
@Suite struct ReplayTests {
    @Test(arguments: 0..<UInt64(4))
    func whatWasDecidedHolds(run: UInt64) async throws {
        try await apart {
            let seed = Seed.drawn() &+ run
            let ledger = try RandomLedger(seed: seed, commands: 1_500)
            let replayed = Replayed(ledger.blocks)
            #expect(replayed.findings == [], "seed \(seed)")
            #expect(replayed.replay.holds.count > 10 && replayed.replay.purchases.count > 20)
        }
    }

    @Test(arguments: 0..<UInt64(4))
    func theTablesHaveTheRowsThatTheBlocksSay(run: UInt64) async throws {
        try await apart {
            let seed = Seed.drawn() &+ run
            let ledger = try RandomLedger(seed: seed, commands: 1_000)
            let replayed = Replayed(ledger.blocks)
            let tables = try SQLiteTables(path: ledger.tables, connections: 2)
            #expect(tables.head == ledger.blocks.last?.head)
            #expect(try tables.check() == [])
            let scanned = TableScan(tables, []).sums(jobs: 2)
            #expect(scanned.unread.isEmpty && scanned.rows > 1_000)
            #expect(replayed.sums.differences(from: scanned.sums).isEmpty, "seed \(seed)")
        }
    }
}
