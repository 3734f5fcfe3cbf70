import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Synchronization
import Testing

/// SIGKILL on both sides while everything is asked at once, with one standby required: nothing that was acknowledged
/// is lost when the leader's machine is, nothing is done twice, and both have the same chain, byte for byte.
@Suite struct StandbyKillTests {
    /// What happens in a round, at a random moment of it.
    private enum Blow: CaseIterable {
        case standbyKilled
        case leaderKilled
        case bothKilled
        /// The leader is killed, its folder is deleted, and the standby is promoted.
        case machineLost
    }

    private struct Pair {
        var leader: Node
        var standby: Node
        var leading: RunningService
        var following: RunningService
    }

    private static func start(_ leader: Node, _ standby: Node) throws -> Pair {
        Pair(
            leader: leader, standby: standby, leading: try leader.start(required: 1),
            following: try standby.start(following: leader.address))
    }

    /// Sends requests, of which those that are known must be answered as repetitions.
    /// - Returns: what was answered as it must not be.
    private static func send(
        _ wanted: [Int], known: Set<Int>, _ purchases: [[UInt8]], to client: LedgerClient,
        acknowledge: @escaping @Sendable (Int) -> Void
    ) async -> [String] {
        let failures = Monitored<[String]>([])
        do {
            try await client.pipeline(
                count: wanted.count, inFlight: 500,
                write: { index, id, writer in MixedLoad.write(wanted[index], purchases, id, to: &writer) },
                reply: { index, result in
                    let number = wanted[index]
                    switch result {
                    case .success(let json):
                        let text = String(decoding: json, as: UTF8.self)
                        if known.contains(number) && !MixedLoad.isReplay(text) {
                            failures.change { $0.append("request \(number) was lost, or done twice: \(text)") }
                        }
                        acknowledge(number)
                    case .failure(let error):
                        if !["outcome_unknown", "storage_unavailable", "shutting_down"].contains(error.reason) {
                            failures.change { $0.append("request \(number): \(error)") }
                        }
                    }
                })
        } catch {
            // The connection was lost with the leader.
        }
        return failures.value
    }

    @Test func nothingAcknowledgedIsLostWhateverIsKilled() async throws {
        let rounds = Int(ProcessInfo.processInfo.environment["LEDGER_STANDBY_KILLS"] ?? "") ?? 8
        let perRound = 1_500
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let studio = try Studio()
        let purchases = try (0...rounds * perRound / 5).map { Array(try studio.purchase($0).utf8) }
        let acknowledged = Monitored<Set<Int>>([])
        var pair = try Self.start(try Node(studio, "a"), try Node(studio, "b"))
        var client = try await pair.leading.client()
        try await MixedLoad.begin(client)
        var (killed, lost, repeated) = (0, 0, 0)
        for round in 0..<rounds {
            let count = (round + 1) * perRound
            let known = acknowledged.value
            // What was not acknowledged, and some of what was: that must be known.
            let wanted = (0..<count).filter { !known.contains($0) || random.chance(2) }
            repeated += wanted.filter(known.contains).count
            let blow = Blow.allCases.randomElement(using: &random) ?? .machineLost
            let after = random.chance(20) ? 0 : Int.random(in: 0..<400, using: &random)
            let place = "seed \(seed), round \(round): \(blow) after \(after) ms"
            async let sent = Self.send(wanted, known: known, purchases, to: client) { number in
                acknowledged.change { _ = $0.insert(number) }
            }
            try await Task.sleep(for: .milliseconds(after))
            switch blow {
            case .standbyKilled:
                pair.following.kill()
                pair.following = try pair.standby.start(following: pair.leader.address)
                killed += 1
            case .leaderKilled, .machineLost:
                pair.leading.kill()
                killed += 1
            case .bothKilled:
                pair.leading.kill()
                pair.following.kill()
                killed += 2
            }
            let failures = await sent
            #expect(failures == [], "\(place)")
            switch blow {
            case .standbyKilled: continue
            case .leaderKilled: pair.leading = try pair.leader.start(required: 1)
            case .bothKilled: pair = try Self.start(pair.leader, pair.standby)
            case .machineLost:
                try pair.leader.loseLedger()
                let survivor = try await pair.following.client()
                #expect(try await survivor.promote().promoted, "\(place)")
                try await survivor.close()
                // With the settings of a leader it waits for a standby of its own: a new machine.
                pair.following.kill()
                pair = try Self.start(pair.standby, pair.leader)
                lost += 1
            }
            try? await client.close()
            client = try await pair.leading.client()
            // A new machine has everything when the first answer comes. To lose the other one before that would be to
            // lose both.
            if case .machineLost = blow { _ = try await client.balance(MixedLoad.account(0)) }
        }
        // Everything, until all of it is acknowledged: as repetitions where it was before.
        for _ in 0..<20 {
            let known = acknowledged.value
            if known.count == rounds * perRound { break }
            let failures = await Self.send(
                Array(0..<rounds * perRound), known: known, purchases, to: client
            ) { number in acknowledged.change { _ = $0.insert(number) } }
            #expect(failures == [], "seed \(seed), at the end")
        }
        #expect(acknowledged.value.count == rounds * perRound, "seed \(seed)")
        #expect(try await MixedLoad.differences(client, after: rounds * perRound) == [], "seed \(seed)")
        let reader = try await pair.following.client()
        let blocks = try pair.leader.blocks()
        try await reader.waits(for: Int64(blocks.count))
        #expect(try await MixedLoad.differences(reader, after: rounds * perRound) == [], "seed \(seed)")
        try await client.close()
        try await reader.close()
        #expect(pair.leading.stop() == 0 && pair.following.stop() == 0)
        #expect(try pair.standby.blocks() == pair.leader.blocks(), "seed \(seed)")
        if ChainVerifier.isThere {
            for node in [pair.leader, pair.standby] {
                let verified = try ChainVerifier.run(node.ledger.path)
                #expect(verified.status == 0, "seed \(seed): \(verified.output)")
            }
        }
        print(
            "StandbyKillTests: \(rounds) rounds, \(killed) kills, \(lost) machines lost, \(repeated) repetitions of "
                + "what was acknowledged, \(blocks.count) blocks")
    }

    /// A line that is cut, waits and changes bytes: nothing wrong is appended, and the standby comes through.
    @Test func aBadLineDelaysAndChangesNothing() async throws {
        let count = 6_000
        let seed = Seed.drawn()
        let studio = try Studio()
        let (a, b) = (try Node(studio, "a"), try Node(studio, "b"))
        let purchases = try (0...count / 5).map { Array(try studio.purchase($0).utf8) }
        let leading = try a.start()
        let line = try BadLine(at: b.folder.path("line"), to: a.folder.path("s"), seed: seed)
        defer { line.stop() }
        let following = try b.start(following: line.address)
        let client = try await leading.client()
        let reader = try await following.client()
        try await MixedLoad.begin(client)
        for part in 0..<6 {
            let wanted = Array(part * count / 6..<(part + 1) * count / 6)
            let failures = await Self.send(wanted, known: [], purchases, to: client) { _ in }
            #expect(failures == [], "seed \(seed)")
            // What is there already is the leader's.
            let (blocks, all) = (try b.blocks(), try a.blocks())
            #expect(Array(all.prefix(blocks.count)) == blocks, "seed \(seed)")
        }
        for _ in 0..<1_200 where line.done.changed < 10 || line.done.cuts < 5 {
            _ = try await client.grant(
                Grant(
                    key: RequestKey("more \(line.done.connections) \(UInt64.random(in: 0 ... .max))")!,
                    account: AccountName("another")!, currency: MixedLoad.gems, amount: Amount(1)!))
            try await Task.sleep(for: .milliseconds(50))
        }
        let done = line.done
        line.becomeGood()
        try await reader.waits(for: Int64(try a.blocks().count))
        #expect(try await MixedLoad.differences(reader, after: count) == [], "seed \(seed)")
        #expect(try a.blocks() == b.blocks(), "seed \(seed)")
        #expect(done.changed > 5 && done.cuts > 3, "seed \(seed): \(done)")
        let told = try following.said.components(separatedBy: "no blocks come from the leader").count - 1
        #expect(told >= 1 && told < done.connections, "seed \(seed): told \(told) times of \(done)")
        try await client.close()
        try await reader.close()
        #expect(leading.stop() == 0 && following.stop() == 0)
    }

    /// The old leader is not down, only its standby was promoted: nobody acknowledges, so it answers no write.
    @Test func anOldLeaderAnswersNoWriteOnceItsStandbyWasPromoted() async throws {
        let studio = try Studio()
        let (a, b) = (try Node(studio, "a"), try Node(studio, "b"))
        var pair = Pair(
            leader: a, standby: b, leading: try a.start(required: 1, timeout: 300),
            following: try b.start(following: a.address))
        let once = ClientConfiguration(
            requestTimeoutMilliseconds: 60_000, connectTimeoutMilliseconds: 60_000, retryPolicy: .none)
        let old = try await LedgerClient.connect(to: try ServerAddress(a.address), configuration: once)
        func grant(_ key: String) -> Grant {
            Grant(
                key: RequestKey(key)!, account: MixedLoad.account(1), currency: MixedLoad.gems, amount: Amount(7)!)
        }
        func answer(_ body: () async throws -> Void) async -> String {
            do {
                try await body()
                return "answered"
            } catch {
                return (error as? WireError)?.reason ?? "\(error)"
            }
        }
        #expect(try await eventually { await answer { _ = try await old.grant(grant("before")) } == "answered" })
        let new = try await pair.following.client()
        #expect(try await new.promote().promoted)
        _ = try await new.grant(grant("new"))
        #expect(await answer { _ = try await old.grant(grant("old")) } == "outcome_unknown")
        for number in 0..<20 {
            #expect(await answer { _ = try await old.grant(grant("old \(number)")) } == "storage_unavailable")
            #expect(await answer { _ = try await old.balance(MixedLoad.account(1)) } == "storage_unavailable")
            #expect(await answer { _ = try await old.journal(after: 0) } == "storage_unavailable")
        }
        #expect(try pair.leading.said.contains("too few standbys have the last blocks in time"))
        // Nor after a restart.
        try await old.close()
        pair.leading.kill()
        pair.leading = try a.start(required: 1, timeout: 300)
        let again = try await LedgerClient.connect(to: try ServerAddress(a.address), configuration: once)
        #expect(await answer { _ = try await again.balance(MixedLoad.account(1)) } == "storage_unavailable")
        #expect(await answer { _ = try await again.grant(grant("old")) } == "storage_unavailable")
        #expect(try await new.balance(MixedLoad.account(1)).balances.first?.balance.available == 14)
        try await again.close()
        try await new.close()
        pair.leading.kill()
        #expect(pair.following.stop() == 0)
    }

    /// Without a standby requests end by an error; when it is back everything goes on, and a repetition tells.
    @Test func requestsWaitForTheStandbyAndGoOnWithIt() async throws {
        let studio = try Studio()
        let (a, b) = (try Node(studio, "a"), try Node(studio, "b"))
        let leading = try a.start(required: 1, timeout: 200)
        var following = try b.start(following: a.address)
        let client = try await leading.client()
        func grant(_ number: Int) -> Grant {
            Grant(
                key: RequestKey("g\(number)")!, account: MixedLoad.account(1), currency: MixedLoad.gems,
                amount: Amount(1)!)
        }
        // The client itself repeats what is retryable.
        for round in 0..<3 {
            _ = try await client.grant(grant(round * 2))
            following.kill()
            let said = try leading.said.components(separatedBy: "too few standbys").count
            async let late = client.grant(grant(round * 2 + 1))
            #expect(try await eventually { try leading.said.components(separatedBy: "too few standbys").count > said })
            following = try b.start(following: a.address)
            _ = try await late
        }
        #expect(try leading.said.components(separatedBy: "enough standbys have the last").count >= 3)
        #expect(try await client.balance(MixedLoad.account(1)).balances.first?.balance.available == 6)
        try await client.close()
        #expect(leading.stop() == 0 && following.stop() == 0)
        #expect(try Array(a.blocks().prefix(b.blocks().count)) == b.blocks())
    }
}

/// A value that several threads change.
final class Monitored<Value: Sendable>: Sendable {
    private let state: Mutex<Value>
    init(_ value: Value) { state = Mutex(value) }
    var value: Value { state.withLock { $0 } }
    func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}
