import Foundation
import LedgerClient
import LedgerTestKit
import LedgerWire
import Testing

/// A standby in a process of its own: it has what its leader has, is read, and leads when it is told to.
@Suite struct StandbyTests {
    private static let gems = CurrencyCode("gems")!
    private static let ann = AccountName("ann")!

    private static func grant(_ key: String, _ units: Int64, to account: AccountName = ann) -> Grant {
        Grant(key: RequestKey(key)!, account: account, currency: gems, amount: Amount(units)!)
    }

    private static func available(_ client: LedgerClient, _ account: AccountName = ann) async throws -> Int64 {
        try await client.balance(account, currency: gems).balances.first?.balance.available ?? 0
    }

    @Test func aStandbyIsReadAndRefusesWritesAndLeadsOnceItIsPromoted() async throws {
        let studio = try Studio()
        let (a, b) = (try Node(studio, "a"), try Node(studio, "b"))
        let leader = try a.start()
        let asked = try await leader.client()
        #expect(try await asked.info().ledger.standby == nil)
        #expect(try await asked.info().ledger.replication == nil)
        _ = try await asked.credit(signedTransaction: try studio.purchase(1), account: Self.ann)
        let standby = try b.start(following: a.address)
        let reader = try await standby.client()
        for number in 0..<20 { _ = try await asked.grant(Self.grant("g\(number)", 10)) }
        try await reader.waits(for: Int64(try a.blocks().count))

        #expect(try await Self.available(reader) == 700)
        #expect(try await reader.history(HistoryQuery(account: Self.ann)).entries.count == 21)
        #expect(try await reader.journal(after: 0).entries.count == 21)
        #expect(try await reader.report(.balances).rows.count == 1)
        #expect(try await reader.purchase(TransactionID("2000000000000001")!).grants.count == 1)
        #expect(try await reader.find(.key(RequestKey("g7")!)) == (try await asked.find(.key(RequestKey("g7")!))))
        let refused = await refusal { _ = try await reader.grant(Self.grant("w", 1)) }
        #expect(refused?.reason == "not_leader" && refused?["address"] == .string(a.address))
        let signed = await refusal {
            _ = try await reader.credit(signedTransaction: try studio.purchase(2), account: Self.ann)
        }
        #expect(signed?.reason == "not_leader")
        let standing = try #require(try await reader.info().ledger.standby)
        #expect(standing.leader == a.address && standing.state == .following && standing.blocksBehind == 0)
        #expect(standing.millisecondsBehind ?? .max < 20_000)
        let known = try #require(try await asked.info().ledger.replication)
        #expect(known.required == 0 && known.standbys.map(\.name.text) == ["b"])
        #expect(known.standbys[0].isConnected && known.standbys[0].block == known.block)

        // A change feed that waits at the standby is told what the leader commits.
        async let waiting = reader.journal(after: 21, wait: .seconds(30))
        _ = try await asked.grant(Self.grant("late", 5))
        #expect(try await waiting.entries.map(\.entry) == [22])

        let blocks = try a.blocks()
        try await reader.waits(for: Int64(blocks.count))
        leader.kill()
        #expect(try await Self.available(reader) == 705, "reads go on without the leader")
        let command = try Command.run(["promote", "--server", b.address])
        #expect(command.status == 0 && command.output.contains("it leads now, in term 2"), "\(command)")
        #expect(try await reader.info().ledger.standby == nil)
        #expect(try await reader.grant(Self.grant("w", 1)).replayed == false)
        #expect(try await reader.grant(Self.grant("g7", 10)).replayed == true)
        let again = try Command.run(["promote", "--server", b.address])
        #expect(again.output.contains("it led already"), "\(again)")
        #expect(Array(try b.blocks().prefix(blocks.count)) == blocks)

        // It leads again after a restart with the configuration of a standby.
        try await reader.close()
        #expect(standby.stop() == 0)
        let second = try b.start(following: a.address)
        #expect(try second.said.contains("this ledger was promoted and leads"))
        let writer = try await second.client()
        #expect(try await writer.grant(Self.grant("x", 1)).replayed == false)

        // Who is refused because it runs forgets nothing of that.
        try b.configure(following: "unix:" + b.folder.path("elsewhere"))
        let other = try Command.start(["serve", "--config", b.folder.path("ledger.json")], b.folder).finish()
        #expect(other.status == 1 && other.error.contains("is open for writing in another process"), "\(other.error)")
        #expect(FileManager.default.fileExists(atPath: b.ledger.path + "/promoted"))

        // The old leader's chain is the beginning of the new one's: it becomes its standby.
        let third = try a.start(following: b.address)
        let old = try await third.client()
        try await old.waits(for: Int64(try b.blocks().count))
        #expect(try await Self.available(old) == 707)
        #expect(try a.blocks() == b.blocks())
        for client in [asked, writer, old] { try? await client.close() }
        #expect(third.stop() == 0 && second.stop() == 0)
    }

    /// The old leader has what its standby never had: it is told so, by block, and nothing of it is touched.
    @Test func anOldLeaderWithBlocksOfItsOwnIsRefusedByTheFirstThatDiffers() async throws {
        let studio = try Studio()
        let (a, b) = (try Node(studio, "a"), try Node(studio, "b"))
        var leader = try a.start()
        var asked = try await leader.client()
        for number in 0..<9 { _ = try await asked.grant(Self.grant("g\(number)", 10)) }
        let standby = try b.start(following: a.address)
        let reader = try await standby.client()
        let common = try a.blocks().count
        try await reader.waits(for: Int64(common))
        #expect(try await reader.promote().promoted)
        // The promoted one does not follow any more, and this one does not know that.
        for number in 0..<5 { _ = try await asked.grant(Self.grant("lost\(number)", 10)) }
        _ = try await reader.grant(Self.grant("won", 10))
        try await asked.close()
        #expect(leader.stop() == 0)
        let blocks = try a.blocks()

        try a.configure(following: b.address)
        let refused = try Command.start(["serve", "--config", a.folder.path("ledger.json")], a.folder).finish()
        #expect(refused.status == 1)
        #expect(
            refused.error.contains("block \(common + 1) is not that of the leader \(b.address)")
                && refused.error.contains("blocks \(common + 1) to \(blocks.count) is only here"), "\(refused.error)")
        #expect(try a.blocks() == blocks)

        // With an empty folder it follows.
        try FileManager.default.moveItem(atPath: a.ledger.path, toPath: a.folder.path("kept"))
        leader = try a.start(following: b.address)
        asked = try await leader.client()
        try await asked.waits(for: Int64(try b.blocks().count))
        #expect(try await Self.available(asked) == 100)
        for client in [asked, reader] { try await client.close() }
        #expect(leader.stop() == 0 && standby.stop() == 0)
    }

    /// A leader that was put back from an old copy, or an empty one, never takes a standby's blocks away.
    @Test func aLeaderThatLacksBlocksIsNotFollowed() async throws {
        let studio = try Studio()
        let (a, b) = (try Node(studio, "a"), try Node(studio, "b"))
        var leader = try a.start()
        var asked = try await leader.client()
        _ = try await asked.grant(Self.grant("g", 10))
        #expect(leader.stop() == 0)
        try FileManager.default.copyItem(atPath: a.ledger.path, toPath: a.folder.path("copy"))
        let copied = try a.blocks().count
        leader = try a.start()
        asked = try await leader.client()
        for number in 0..<7 { _ = try await asked.grant(Self.grant("g\(number)", 10)) }
        let standby = try b.start(following: a.address)
        let reader = try await standby.client()
        let blocks = try a.blocks()
        try await reader.waits(for: Int64(blocks.count))
        try await asked.close()
        leader.kill()
        try a.loseLedger()
        try FileManager.default.moveItem(atPath: a.folder.path("copy"), toPath: a.ledger.path)
        leader = try a.start()
        // Its own term's block is where the standby has another.
        standby.process.waitUntilExit()
        #expect(standby.process.terminationStatus == 1)
        let said = try standby.said
        #expect(said.contains("block \(copied + 1) is not that of the leader \(a.address)"), "\(said)")
        #expect(try b.blocks() == blocks)
        #expect(leader.stop() == 0)
    }

    @Test func anotherAppsLeaderAndAnotherLedgerAreRefusedByName() async throws {
        let studio = try Studio()
        let (a, b, c) = (try Node(studio, "a"), try Node(studio, "b"), try Node(studio, "c"))
        let leader = try a.start()
        try b.configure(following: a.address, bundleID: "com.example.other")
        let serve = ["serve", "--create", "--config"]
        let other = try Command.start(serve + [b.folder.path("ledger.json")], b.folder).finish()
        #expect(other.status == 1)
        #expect(
            other.error.contains(
                "keeps the ledger of com.example.game, Sandbox; this configuration is of com.example.other, Sandbox"),
            "\(other.error)")
        // A ledger of its own, of the same app.
        #expect(try c.start().stop() == 0)
        try c.configure(following: a.address)
        let foreign = try Command.start(serve + [c.folder.path("ledger.json")], c.folder).finish()
        #expect(foreign.status == 1)
        #expect(foreign.error.contains("these are two ledgers, of one app and environment"), "\(foreign.error)")
        #expect(leader.stop() == 0)
    }

    @Test func aStandbyNeedsATokenOfItsRole() async throws {
        let studio = try Studio()
        let (a, b) = (try Node(studio, "a"), try Node(studio, "b"))
        let all = Studio.tokens(("b", "replica", "a token of a standby"), ("eu", "game", "a token of a game"))
        let tokens = #""tokens": \#(all),"#
        let leader = try a.start(more: tokens)
        let wrong = try b.start(following: a.address, environment: ["LEDGER_FOLLOW_TOKEN": "a token of a game"])
        #expect(try await eventually { try wrong.said.contains("the role game may not call blocks") })
        let reader = try await wrong.client()
        let standing = try #require(try await reader.info().ledger.standby)
        #expect(standing.state == .connecting && standing.reason?.contains("forbidden") == true)
        #expect(try await reader.balance(Self.ann).balances.isEmpty, "an empty standby answers")
        let empty = await refusal { _ = try await reader.promote() }
        #expect(empty?.reason == "storage_unavailable" && empty?.message.contains("no block") == true)
        try await reader.close()
        #expect(wrong.stop() == 0)
        let right = try b.start(following: a.address, environment: ["LEDGER_FOLLOW_TOKEN": "a token of a standby"])
        let follower = try await right.client()
        try await follower.waits(for: Int64(try a.blocks().count))
        try await follower.close()
        #expect(right.stop() == 0 && leader.stop() == 0)
    }

    @Test func aNameThatIsForgottenIsForgottenAtTheStandby() async throws {
        let studio = try Studio()
        let (a, b, c) = (try Node(studio, "a"), try Node(studio, "b"), try Node(studio, "c"))
        let name = try #require(AccountName("somebody-who-has-a-name"))
        let leader = try a.start()
        let asked = try await leader.client()
        _ = try await asked.grant(Self.grant("n", 70, to: name))
        for number in 0..<30 { _ = try await asked.grant(Self.grant("g\(number)", 1)) }
        let standby = try b.start(following: a.address)
        let reader = try await standby.client()
        try await reader.waits(for: Int64(try a.blocks().count))
        #expect(try await Self.available(reader, name) == 70)
        #expect(try await asked.forget(name))
        try await reader.waits(for: Int64(try a.blocks().count))
        #expect(try await reader.balance(name).balances.isEmpty)
        // One that comes later is never told the name.
        let late = try c.start(following: b.address)
        let last = try await late.client()
        try await last.waits(for: Int64(try a.blocks().count))
        for client in [asked, reader, last] { try await client.close() }
        for service in [late, standby, leader] { #expect(service.stop() == 0) }
        for node in [a, b, c] {
            let files = FileManager.default.enumerator(atPath: node.ledger.path)
            for case let file as String in try #require(files) {
                guard let bytes = FileManager.default.contents(atPath: node.ledger.path + "/" + file) else { continue }
                #expect(bytes.range(of: Data(name.text.utf8)) == nil, "\(node.name): \(file)")
            }
            #expect(try node.blocks() == a.blocks())
        }
    }
}
