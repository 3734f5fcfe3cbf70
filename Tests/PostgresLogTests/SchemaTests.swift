#if Postgres
import Ledger
import LedgerTestKit
import Testing

@testable import PostgresLog

@Suite struct SchemaTests {
    private static func filled(_ log: PostgresLog, _ count: Int, seed: UInt64) throws -> [SealedBlock] {
        var random = SplitMix64(seed: seed)
        var blocks = [try log.leadWithTestBlock(&random)]
        while blocks.count < count {
            let block = TestBlock.after(blocks.last?.head, bodyBytes: 100, redactableBytes: 10, &random)
            try log.append(block)
            blocks.append(block)
        }
        return blocks
    }

    @Test func anotherLedgersSchemaIsRefused() throws {
        let ledger = try TestLedger()
        let other = Digest(of: Array("com.example.other".utf8), testSHA256)
        #expect(
            logError { _ = try PostgresLog.open(ledger.configuration(), identity: other, hash: testSHA256) }?.kind
                == .corrupt)
        #expect(
            logError { try PostgresLog.create(ledger.configuration(), identity: other) }?.kind == .notAppended,
            "a ledger was made over another")
        var missing = ledger.configuration()
        missing.schema = "nothing_here"
        #expect(
            logError { _ = try PostgresLog.open(missing, identity: other, hash: testSHA256) }
                == LogError(.corrupt, "there is no ledger in the schema nothing_here"))
    }

    @Test func aServerThatIsNotThereCanBeTriedAgain() throws {
        let ledger = try TestLedger()
        let configuration = ledger.configuration(folder: "/tmp/nothing-is-here")
        #expect(logError { _ = try ledger.open(configuration) }?.kind == .unknown)
    }

    @Test func nothingOfAURIThatCannotBeReadIsSaid() throws {
        let ledger = try TestLedger()
        let uris = [
            "postgresql://u:top%zzsecret@localhost/x", "postgresql://u:topsecret@[localhost/x",
            "postgresql://u:top@secret@localhost/x", "pg://u:topsecret@localhost/x", "user=u password='topsecret",
        ]
        for uri in uris {
            var configuration = ledger.configuration()
            configuration.uri = uri
            let error = try #require(logError { _ = try ledger.open(configuration) })
            #expect(error.kind == .unknown && error.description.contains("the database's URI"), "\(error)")
            #expect(!error.description.contains("secret"), "\(error)")
        }
    }

    /// They mean something in SQL.
    @Test func anyNameThatIsAllowedNamesASchema() throws {
        let server = try PostgresServer.shared.get()
        for name in ["order", "user", "select"] {
            let configuration = PostgresLogConfiguration(uri: server.uri(), schema: name, node: "a")
            try PostgresLog.create(configuration, identity: TestLedger.identity)
            let log = try PostgresLog.open(configuration, identity: TestLedger.identity, hash: testSHA256)
            var random = SplitMix64(seed: 10)
            let block = try log.leadWithTestBlock(&random)
            #expect(try log.readAll() == [block])
            log.close()
            let inspection = try PostgresInspection(configuration, hash: testSHA256)
            #expect(inspection.head == block.head)
        }
    }

    @Test func namesOfSchemasAreChecked() {
        #expect(PostgresLogConfiguration.isSchema("games_2"))
        for name in ["", "Games", "a b", "a;b", "2a", "pg_games", String(repeating: "a", count: 49)] {
            #expect(!PostgresLogConfiguration.isSchema(name), "\(name)")
        }
    }

    @Test func damageIsNamed() throws {
        let ledger = try TestLedger()
        let log = try ledger.open()
        defer { log.close() }
        let blocks = try Self.filled(log, 9, seed: 1)
        let session = try ledger.session()
        try session.run("UPDATE block SET body = set_byte(body, 3, (get_byte(body, 3) + 1) % 256) WHERE id = 4")
        let damaged = try #require(logError { _ = try log.readAll() })
        #expect(damaged.kind == .corrupt && damaged.description.hasPrefix("block 4 in \(ledger.schema).block: "))
        #expect(try log.read(after: 4, bytesMax: 1 << 20) == Array(blocks[4...]))
        try session.run("DELETE FROM block WHERE id = 4")
        let lost = try #require(logError { _ = try log.readAll() })
        #expect(lost.kind == .corrupt && lost.description.hasPrefix("block 4 in "))
        #expect(logError { _ = try log.read(after: 3, bytesMax: 0) }?.kind == .corrupt)
        #expect(logError { try log.checkRedactable(4) }?.kind == .corrupt)
        #expect(logError { try log.checkRedactable(5) } == nil)
    }

    /// A server that came back without a block that was acknowledged.
    @Test func whereTheServerLostTheLastBlockNothingIsAppendedBehindIt() throws {
        let ledger = try TestLedger()
        let log = try ledger.open()
        defer { log.close() }
        let blocks = try Self.filled(log, 4, seed: 2)
        try ledger.session().run("DELETE FROM block WHERE id = 4")
        var random = SplitMix64(seed: 3)
        let next = TestBlock.after(blocks[3].head, bodyBytes: 10, redactableBytes: 0, &random)
        #expect(logError { try log.append(next) }?.kind == .superseded)
        #expect(try ledger.session().run("SELECT count(*) FROM block") == [["3"]])
    }

    @Test func partitionsAreMadeWhileOthersRead() throws {
        let ledger = try TestLedger(partitionBlocks: 10)
        let reading = try ledger.session()
        try reading.run("BEGIN")
        try reading.run("SELECT count(*) FROM block")
        let log = try ledger.open()
        defer { log.close() }
        let blocks = try Self.filled(log, 35, seed: 4)
        #expect(try log.readAll() == blocks)
        let partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'block'::regclass"
        #expect(try ledger.session().run(partitions) == [["4"]])
        #expect(try ledger.session().run("SELECT count(*) FROM block_3") == [["5"]])
    }

    /// As an ANALYZE of the table does.
    @Test func whoeverHasTheTableKeepsNobodyFromAppendingAndLeading() throws {
        let ledger = try TestLedger(partitionBlocks: 40)
        let log = try ledger.open()
        defer { log.close() }
        var blocks = try Self.filled(log, 28, seed: 8)
        let other = try ledger.session()
        try other.run("BEGIN")
        try other.run("LOCK TABLE block IN SHARE UPDATE EXCLUSIVE MODE")
        var random = SplitMix64(seed: 9)
        let begin = boottimeNanoseconds()
        // The next partition is due, and cannot be made.
        for _ in 0..<6 {
            blocks.append(TestBlock.after(blocks.last?.head, bodyBytes: 100, redactableBytes: 10, &random))
            try log.append(blocks[blocks.count - 1])
        }
        log.giveBack()
        blocks.append(try log.leadWithTestBlock(&random))
        #expect(boottimeNanoseconds() - begin < 2_500_000_000, "each of them waited for the table")
        #expect(try ledger.session().run("SELECT to_regclass('block_1') IS NULL") == [["t"]])
        try other.run("COMMIT")
        while blocks.count < 45 {
            blocks.append(TestBlock.after(blocks.last?.head, bodyBytes: 100, redactableBytes: 10, &random))
            try log.append(blocks[blocks.count - 1])
        }
        #expect(try log.readAll() == blocks)
    }

    @Test func bodiesAreCompressedWithLZ4() throws {
        let ledger = try TestLedger()
        let log = try ledger.open()
        defer { log.close() }
        let first = try Self.filled(log, 1, seed: 5)[0]
        let body = [UInt8](repeating: 7, count: 5_000_000)
        let block = SealedBlock(
            number: 2, term: 1, previous: first.hash, hash: Digest(of: body, testSHA256), body: body, redactable: [])
        try log.append(block)
        #expect(try log.readAll() == [first, block])
        let session = try ledger.session()
        let has = try session.run(
            "SELECT enumvals @> '{lz4}' FROM pg_settings WHERE name = 'default_toast_compression'")
        if has == [["t"]] {
            let found = try session.run(
                "SELECT pg_column_compression(body), pg_column_size(body) < 100000 FROM block WHERE id = 2")
            #expect(found == [["lz4", "t"]])
        }
    }

    @Test func aRoleThatOnlyReadsFollows() throws {
        let ledger = try TestLedger()
        let log = try ledger.open()
        defer { log.close() }
        let blocks = try Self.filled(log, 5, seed: 6)
        let session = try ledger.session()
        _ = try? session.run("CREATE ROLE reader LOGIN")
        try session.run(
            """
            GRANT USAGE ON SCHEMA \(ledger.schema) TO reader;
            GRANT SELECT ON ALL TABLES IN SCHEMA \(ledger.schema) TO reader
            """)
        var configuration = ledger.configuration(node: "finance", user: "reader")
        configuration.right = .reading
        let follower = try ledger.open(configuration)
        defer { follower.close() }
        #expect(follower.head == blocks.last?.head)
        #expect(try follower.readAll() == blocks)
        #expect(logError { try follower.settle() }?.kind == .superseded)
        #expect(try follower.leader()?.node == "a")
        var random = SplitMix64(seed: 7)
        let next = TestBlock.after(blocks.last?.head, bodyBytes: 10, redactableBytes: 0, &random)
        #expect(logError { try follower.append(next) }?.kind == .notAppended)
        try log.append(next)
        #expect(try follower.read(after: 5, bytesMax: 0) == [next])
        #expect(follower.head == next.head)
    }
}
#endif
