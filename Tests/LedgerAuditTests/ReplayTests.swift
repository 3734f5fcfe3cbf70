import Ledger
import LedgerTestKit
import SQLiteProjection
import Synchronization
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

    private static func words(_ blocks: [SealedBlock], later: [SealedBlock]) throws -> [String] {
        let openings = Mutex(0)
        let identity = Digest(
            of: BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox"), Workload.hash)
        let audit = Audit(Audit.Configuration(jobs: 2), hash: Workload.hash) {
            let count = openings.withLock { count in
                count += 1
                return count
            }
            return Steps(count == 1 ? blocks : later, identity: identity)
        } openTables: {
            nil
        }
        var words: [String] = []
        _ = try audit.run(progress: { _, _ in }) { words.append("\($0)") }
        return words.filter { $0.contains("erases that name") }
    }

    /// The chain's hashes do not cover whether a name is there.
    @Test func aNameThatNoBlockErasesIsFound() async throws {
        try await apart {
            let seed = Seed.drawn()
            var blocks = try RandomLedger(seed: seed, commands: 400).blocks
            #expect(try Self.words(blocks, later: blocks) == [])
            let rows = try blocks.map { try Block(opening: $0, checks: .form).rows }
            let place = try #require(rows.firstIndex { $0.accounts.contains { $0.name != nil } })
            let account = try #require(rows[place].accounts.first { $0.name != nil }).id
            blocks[place].redactable = try blocks[place].redactable(erasing: [account])
            let words = try Self.words(blocks, later: blocks)
            #expect(words.count == 1 && words[0].contains("the name of account \(account) is erased"), "\(words)")
            #expect(words.allSatisfy { $0.contains("block \(blocks[place].number)") }, "\(words)")
            // A service erases one while the audit reads: the block that says so came behind what it reads.
            let erasing = try #require(rows.firstIndex { !$0.erasures.isEmpty })
            let other = rows[erasing].erasures[0].account
            let adding = try #require(rows.firstIndex { $0.accounts.contains { $0.id == other } })
            if adding < erasing {
                let early = Array(blocks[..<erasing])
                #expect(try !Self.words(early, later: early).filter { $0.contains("account \(other) ") }.isEmpty)
                #expect(try Self.words(early, later: blocks).filter { $0.contains("account \(other) ") }.isEmpty)
            }
        }
    }
}
