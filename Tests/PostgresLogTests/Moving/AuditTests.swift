#if Postgres
import AppStore
import Foundation
import Ledger
import LedgerAudit
import LedgerTestKit
import PostgresLog
import Testing

/// Whatever another hand changes in the tables of a log is found, and named.
@Suite struct PostgresAuditTests {
    private let ledger: TestLedger
    private let count: BlockNumber

    init() throws {
        ledger = try TestLedger(partitionBlocks: 10, identity: RandomGame.identity)
        let game = try RandomGame(try ledger.open(), seed: 21)
        try game.play(200)
        try game.linkAndForget()
        try game.close()
        count = BlockNumber(try ledger.blocks().count)
    }

    /// What does not hold. Nobody signed the purchases, so signatures are left out.
    private func findings() throws -> [String] {
        var configuration = ledger.configuration(node: "auditor")
        configuration.right = .reading
        let audit = Audit(Audit.Configuration(jobs: 1, since: .max), hash: testSHA256) { [configuration] in
            try PostgresInspection(configuration, hash: testSHA256)
        } openTables: {
            nil
        }
        var findings: [String] = []
        let summary = try audit.run { _, _ in
        } tell: {
            findings.append("\($0)")
        }
        #expect(summary.findings == findings.count)
        return findings
    }

    @Test func aLogThatNobodyChangedHolds() throws {
        #expect(count > 40, "several partitions")
        #expect(try findings() == [])
    }

    /// What is done, and what an audit says of it, in which `#` is the schema's name.
    private static let changes: [(sql: String, words: String)] = [
        (
            "UPDATE block SET body = set_byte(body, 90, (get_byte(body, 90) + 1) % 256) WHERE id = 30",
            "block 30 in #.block: its body does not have its hash"
        ),
        (
            "UPDATE block SET hash = set_byte(hash, 0, (get_byte(hash, 0) + 1) % 256) WHERE id = 30",
            "block 30 in #.block: its body does not have its hash"
        ),
        (
            "UPDATE block SET hash = '\\x00' WHERE id = 30", "block 30 in #.block: its body does not have its hash"
        ),
        (
            "UPDATE block SET previous = set_byte(previous, 9, (get_byte(previous, 9) + 1) % 256) WHERE id = 30",
            "block 30 in #.block: its row names another block before it than the block does"
        ),
        (
            "UPDATE block SET term = term + 1 WHERE id = 30",
            "block 30 in #.block: its row names term 2, and the block term 1"
        ),
        (
            """
            UPDATE block SET redactable = set_byte(redactable, 20, (get_byte(redactable, 20) + 1) % 256)
            WHERE id = (SELECT min(id) FROM block WHERE octet_length(redactable) > 0 AND get_byte(redactable, 0) = 1)
            """, "accounts"
        ),
        (
            """
            UPDATE block SET redactable = decode(repeat('00', octet_length(redactable)), 'hex')
            WHERE id = (SELECT min(id) FROM block WHERE octet_length(redactable) > 0 AND get_byte(redactable, 0) = 1)
            """, "accounts"
        ),
        ("DELETE FROM block WHERE id = 30", "block 30 in #.block: missing"),
        ("DELETE FROM block WHERE id BETWEEN 1 AND 3", "blocks 1 to 3 in #.block: missing"),
        ("DELETE FROM block WHERE id BETWEEN 21 AND 30", "blocks 21 to 30 in #.block: missing"),
        (
            """
            CREATE TEMP TABLE two AS SELECT * FROM block WHERE id IN (30, 31); UPDATE two SET id = 61 - id;
            DELETE FROM block WHERE id IN (30, 31); INSERT INTO block SELECT * FROM two
            """,
            "block 30 in #.block: block 31 stands in its place"
        ),
        (
            """
            UPDATE block a SET term = b.term, previous = b.previous, hash = b.hash, body = b.body,
                redactable = b.redactable FROM block b WHERE a.id + b.id = 67 AND a.id IN (33, 34)
            """, "block 33 in #.block: block 34 stands in its place"
        ),
        ("ALTER TABLE block DETACH PARTITION block_1", "the table #.block lacks its partition block_1"),
        ("ALTER TABLE block DROP CONSTRAINT block_pkey", "the table #.block_1 has no primary key that is in force"),
        ("ALTER TABLE block_1 RENAME TO block_77", "the table #.block_77 has other blocks than its name says"),
        ("ALTER TABLE block ADD COLUMN note text NOT NULL DEFAULT ''", "the table #.block has other columns"),
        (
            """
            CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
            CREATE TRIGGER quiet BEFORE INSERT ON block_1 FOR EACH ROW EXECUTE FUNCTION quiet()
            """, "the table #.block_1 has triggers or rules"
        ),
        ("ALTER TABLE block_1 SET UNLOGGED", "the table #.block_1 is unlogged"),
        ("ALTER TABLE block ENABLE ROW LEVEL SECURITY", "the table #.block has row security"),
        ("DELETE FROM leader", "the table #.leader has 0 rows"),
        ("UPDATE leader SET term = 0", "the table #.leader names term 0, which is before term 1 of block"),
        ("UPDATE leader SET lease_ms = -1", "#.leader.lease_ms is -1, and must be from 0 to 86400000"),
        ("UPDATE leader SET lease_ms = 1000, node = ''", "the table #.leader has a lease of nobody"),
        ("UPDATE ledger SET format = 2", "the table #.ledger names the form 2"),
        ("UPDATE ledger SET identity = '\\x00'", "the table #.ledger does not say whose it is"),
        ("DELETE FROM ledger", "the table #.ledger has 0 rows"),
    ]

    @Test(arguments: changes.indices)
    func everyChangeIsNamed(place: Int) throws {
        let (sql, words) = Self.changes[place]
        let session = try ledger.session()
        let before = try session.run("SELECT id, md5(body), md5(redactable), hash, previous, term FROM block")
        try session.run(sql)
        if sql.contains("UPDATE block SET") {
            let after = try session.run("SELECT id, md5(body), md5(redactable), hash, previous, term FROM block")
            #expect(before != after, "nothing was changed")
        }
        let said = words.replacing("#", with: ledger.schema)
        let findings = try findings()
        #expect(findings.contains { $0.contains(said) }, "\(said) is not among \(findings)")
    }

    /// Each byte of a body is covered by its hash, each of a redactable part that has names by their digests.
    @Test func everyByteOfARowCounts() throws {
        let session = try ledger.session()
        var random = SplitMix64(seed: Seed.drawn())
        for _ in 0..<25 {
            let id = Int64.random(in: 1...count, using: &random)
            let size = try #require(Int(try session.run("SELECT octet_length(body) FROM block WHERE id = \(id)")[0][0]))
            let place = Int.random(in: 0..<size, using: &random)
            let bit = Int.random(in: 0..<8, using: &random)
            let change =
                "UPDATE block SET body = set_byte(body, \(place), get_byte(body, \(place)) # \(1 << bit)) "
                + "WHERE id = \(id)"
            try session.run(change)
            let said = "block \(id) in \(ledger.schema).block: its body does not have its hash"
            #expect(try findings().contains { $0.contains(said) }, "byte \(place)")
            try session.run(change)
        }
        #expect(try findings() == [])
    }

    @Test func aServerThatIsGoneIsNoDamage() throws {
        let proxy = try FaultyProxy(of: ledger.server)
        var configuration = ledger.configuration(node: "auditor", folder: proxy.folder)
        configuration.right = .reading
        let inspection = try PostgresInspection(configuration, hash: testSHA256)
        proxy.stop()
        #expect(logError { _ = try inspection.next() }?.kind == .unknown)
    }

    @Test func theBlocksThatItHandsOverAreThoseThatANodeReads() throws {
        var configuration = ledger.configuration(node: "auditor")
        configuration.right = .reading
        let inspection = try PostgresInspection(configuration, hash: testSHA256)
        var blocks: [SealedBlock] = []
        while let step = try inspection.next() { if case .block(let block) = step { blocks.append(block) } }
        #expect(try blocks == ledger.blocks())
        #expect(inspection.head == blocks.last?.head && inspection.identity == RandomGame.identity)
    }
}
#endif
