#if Postgres
import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import PostgresLog
import Testing

/// A log that is copied into PostgreSQL and back.
@Suite struct LogCopyTests {
    private let folder: TemporaryFolder
    private let ledger: TestLedger

    init() throws {
        folder = try TemporaryFolder()
        ledger = try TestLedger(partitionBlocks: 50, identity: RandomGame.identity)
    }

    /// Copies what is in a folder, as a command does beside a service.
    @discardableResult
    private func copy(_ source: TestFolder) throws -> LogCopy.Summary {
        let (from, to) = (try source.openForReading(), try ledger.open())
        defer { to.close() }
        return try LogCopy(from: .init(from, "the folder"), to: .init(to, "the schema"), hash: testSHA256)
            .run { _, _ in }
    }

    private func source(_ commands: Int, seed: UInt64) throws -> (TestFolder, RandomGame) {
        let source = try TestFolder(folder.path("source"))
        let game = try RandomGame(try source.open(), seed: seed)
        try game.play(commands)
        return (source, game)
    }

    /// While the game goes on, and names are forgotten, most of them in blocks that were copied before.
    @Test func aLogThatIsCopiedThereAndBackIsTheSameBlocks() throws {
        let seed = Seed.drawn()
        let (source, game) = try source(200, seed: seed)
        var copied: Int64 = 0
        for _ in 0..<5 {
            let summary = try copy(source)
            copied += summary.blocks
            #expect(try ledger.blocks() == source.blocks(), "seed \(seed)")
            try game.linkAndForget()
            try game.play(60)
        }
        try game.close()
        copied += try copy(source).blocks
        let blocks = try source.blocks()
        #expect(copied == Int64(blocks.count))
        #expect(try ledger.blocks() == blocks, "seed \(seed)")
        let erasures = try blocks.flatMap { try Block(opening: $0, checks: .hashes(testSHA256)).rows.erasures }
        #expect(erasures.count >= 5)

        let back = try TestFolder(folder.path("back"))
        let (from, to) = (try ledger.open(), try back.open())
        let summary = try LogCopy(from: .init(from, "the schema"), to: .init(to, "back"), hash: testSHA256)
            .run { _, _ in }
        (from.close(), to.close())
        #expect(summary.blocks == Int64(blocks.count))
        #expect(summary.bytes == blocks.reduce(0) { $0 + Int64($1.byteCount) })
        #expect(try back.blocks() == blocks)
    }

    /// A name whose erasure came with the last block before a run ended, and was not carried out there.
    @Test func whatARunThatWasCutOffLeftOfANameTheNextOneErases() throws {
        let (source, game) = try source(40, seed: 7)
        try copy(source)
        let named = try source.blocks()
        try game.linkAndForget()
        try game.close()
        let blocks = try source.blocks()
        let to = try ledger.open()
        try to.settle()
        for block in blocks[named.count...] {
            // As the blocks were before anything was erased in them.
            try to.append(block)
        }
        let adding = try #require(blocks.last { !$0.redactable.isEmpty })
        let name = [UInt8](repeating: UInt8(ascii: "n"), count: adding.redactable.count)
        var kept = adding.redactable
        kept.replaceSubrange(2..., with: name[2...])
        try to.redact(adding.number, kept)
        to.close()
        #expect(try ledger.blocks() != blocks)
        #expect(try copy(source).blocks == 0)
        #expect(try ledger.blocks() == blocks)
    }

    @Test func aTargetWithOtherBlocksIsRefusedByTheFirstOfThem() throws {
        let (source, game) = try source(40, seed: 8)
        try copy(source)
        let common = try source.blocks().count
        // A service began on the target, and one on the source.
        let other = try ledger.open()
        let otherGame = try RandomGame(other, seed: 9)
        try otherGame.close()
        #expect(
            logError { try copy(source) }
                == LogError(
                    .superseded,
                    "the schema is ahead of the folder: it has block \(common + 1), and the folder ends with block "
                        + "\(common)"))
        try game.play(40)
        try game.close()
        #expect(
            logError { try copy(source) }
                == LogError(
                    .superseded,
                    "the schema is of another past than the folder: from block \(common + 1) on they have different "
                        + "blocks"))
        #expect(try ledger.blocks().count == common + 1)
    }

    /// In PostgreSQL no checksum covers it but that of its page.
    @Test func aNameThatIsDamagedInTheSourceIsNotCopied() throws {
        let (source, game) = try source(60, seed: 13)
        try game.close()
        try copy(source)
        let named = "(SELECT min(id) FROM block WHERE octet_length(redactable) > 20)"
        let session = try ledger.session()
        let number = try session.run("SELECT \(named)")[0][0]
        try session.run(
            "UPDATE block SET redactable = set_byte(redactable, 20, (get_byte(redactable, 20) + 1) % 256) "
                + "WHERE id = \(number)")
        let back = try TestFolder(folder.path("back"))
        let (from, to) = (try ledger.open(), try back.open())
        let error = logError {
            let copy = LogCopy(from: .init(from, "the schema"), to: .init(to, "back"), hash: testSHA256)
            _ = try copy.run { _, _ in }
        }
        from.close()
        to.close()
        #expect(error?.kind == .corrupt, "\(error as Any)")
        #expect(error?.description.hasPrefix("block \(number) of ") == true)
        #expect(try back.blocks().isEmpty || back.blocks().count < Int(number) ?? 0)
    }

    /// Each start of a service is a term of its own, and a log that blocks are copied to has had one leader.
    @Test func aCopyOfALogThatWasStartedOftenIsWhole() throws {
        let source = try TestFolder(folder.path("source"))
        for seed in 1...3 as ClosedRange<UInt64> {
            let game = try RandomGame(try source.open(), seed: seed)
            try game.close()
        }
        #expect(try source.blocks().last?.term == 3)
        try copy(source)
        var configuration = ledger.configuration(node: "auditor")
        configuration.right = .reading
        let inspection = try PostgresInspection(configuration, hash: testSHA256)
        var blocks = 0
        while let step = try inspection.next() {
            if case .block = step { blocks += 1 } else { Issue.record("\(step)") }
        }
        #expect(try blocks == source.blocks().count && blocks > 2)
    }

    /// Another node led the source while it was copied for the last time, or a block came that nobody saw.
    @Test func aSourceThatWasLedByAnotherMeanwhileIsNotMovedAway() throws {
        let node = try ledger.open(ledger.configuration(node: "b"))
        defer { node.close() }
        var random = SplitMix64(seed: 12)
        _ = try node.leadWithTestBlock(&random)
        node.giveBack()
        var configuration = ledger.configuration(node: "command")
        configuration.opensMoved = true
        let from = try ledger.open(configuration)
        defer { from.close() }
        let session = try ledger.session()
        let changes = [
            "UPDATE leader SET term = term + 1, node = 'c'",
            "INSERT INTO block SELECT id + 1, term, time, previous, hash, body, redactable FROM block",
        ]
        for change in changes {
            try from.settle()
            try session.run(change)
            #expect(logError { try from.note(movedTo: "elsewhere") }?.kind == .superseded, "\(change)")
        }
        try session.run("DELETE FROM block WHERE id = 2")
        try from.settle()
        try from.note(movedTo: "elsewhere")
        let said = "the ledger was moved away from the schema \(ledger.schema): it is in elsewhere now"
        // One that waited for the lead, and one that is started.
        #expect(logError { _ = try node.standing() }?.description.contains(said) == true)
        #expect(logError { try node.settle() }?.description.contains(said) == true)
        #expect(logError { _ = try ledger.open() }?.description.contains(said) == true)
        try from.settle()
        try from.note(movedTo: "")
        try node.settle()
    }

    @Test func aTargetThatANodeLeadsIsRefused() throws {
        let (source, game) = try source(10, seed: 10)
        try game.close()
        let node = try ledger.open(ledger.configuration(node: "b"))
        try node.settle()
        defer { node.close() }
        #expect(logError { try copy(source) }?.description.contains("node b leads, at b:7000") == true)
        #expect(try ledger.blocks().isEmpty)
    }

    @Test func aDamagedSourceIsNamedAndNothingBehindItIsCopied() throws {
        let (source, game) = try source(30, seed: 11)
        try game.close()
        try copy(source)
        try ledger.session().run(
            "UPDATE block SET body = set_byte(body, 70, (get_byte(body, 70) + 1) % 256) WHERE id = 5")
        let back = try TestFolder(folder.path("back"))
        let (from, to) = (try ledger.open(), try back.open())
        let error = logError {
            _ = try LogCopy(from: .init(from, "the schema"), to: .init(to, "back"), hash: testSHA256).run { _, _ in }
        }
        (from.close(), to.close())
        #expect(error?.kind == .corrupt && error?.description.hasPrefix("block 5 in ") == true)
        #expect(try back.blocks().count <= 4)
    }
}
#endif
