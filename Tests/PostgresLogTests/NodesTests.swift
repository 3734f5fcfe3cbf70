#if Postgres
import Foundation
import LedgerClient
import LedgerTypes
import LedgerWire
import Synchronization
import Testing

/// Nodes as their operator runs them: processes of the command on one server, asked over sockets.
@Suite(.serialized) struct NodesTests {
    static let ann = AccountName("ann")!
    private static let gems = CurrencyCode("gems")!

    static func grant(_ key: String) throws -> Grant {
        Grant(key: try #require(RequestKey(key)), account: ann, currency: gems, amount: try #require(Amount(1)))
    }

    static func available(_ client: LedgerClient) async throws -> Int64 {
        try await client.balance(ann).balances.first?.balance.available ?? 0
    }

    private static func journal(_ node: RunningNode) async throws -> [JournalEntry] {
        let client = try await node.client()
        var entries: [JournalEntry] = []
        while true {
            let page = try await client.journal(after: entries.last?.entry ?? 0)
            if page.entries.isEmpty { break }
            entries += page.entries
        }
        try await client.close()
        return entries
    }

    static func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
        for _ in 0..<6_000 {
            if (try? await condition()) == true { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    /// Grants one after the other, each with a key of its own, until it is told to stop.
    private final class Writers: Sendable {
        struct Answered: Sendable {
            var key: String
            var entry: EntryID
        }

        private struct State {
            var answered: [Answered] = []
            var isStopped = false
            var lastAt = ContinuousClock.now
            /// The longest time without an answer.
            var longest = Duration.zero
        }

        private let state = Mutex(State())

        var answered: [Answered] { state.withLock { $0.answered } }
        func stop() { state.withLock { $0.isStopped = true } }

        /// Forgets the longest time, which is then another's.
        func takeLongest() -> Duration {
            state.withLock { state in
                defer { state.longest = .zero }
                return state.longest
            }
        }

        func run(_ client: LedgerClient, _ name: String) async throws {
            var number = 0
            while !state.withLock({ $0.isStopped }) {
                let key = "\(name)-\(number)"
                let receipt = try await client.grant(NodesTests.grant(key))
                state.withLock { state in
                    state.answered.append(Answered(key: key, entry: receipt.entry))
                    let now = ContinuousClock.now
                    state.longest = max(state.longest, now - state.lastAt)
                    state.lastAt = now
                }
                number += 1
            }
        }
    }

    /// No write fails, none is lost and none is done twice, however the leader ends.
    @Test func eachWriteIsDoneOnceWhenLeadersAreKilledAndEnded() async throws {
        let studio = try NodeStudio()
        var nodes: [String: RunningNode] = [:]
        for name in ["a", "b", "c"] { nodes[name] = try await studio.start(name) }
        let writers = Writers()
        let clients = try await [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]].asyncMap(studio.client)
        var told: [String] = []
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, client) in clients.enumerated() { group.addTask { try await writers.run(client, "w\(place)") } }
            for isKilled in [true, false, true] {
                let before = writers.answered.count
                #expect(try await Self.eventually { writers.answered.count > before + 50 })
                var leader: RunningNode?
                for node in nodes.values where try await node.leads() { leader = node }
                let old = try #require(leader)
                _ = writers.takeLongest()
                if isKilled { old.kill() } else { #expect(old.stop() == 0) }
                let count = writers.answered.count
                #expect(try await Self.eventually { writers.answered.count > count + 50 }, "\(old.said)")
                told.append("\(isKilled ? "killed" : "ended"): \(writers.takeLongest())")
                nodes[old.name] = try await studio.start(old.name)
            }
            writers.stop()
            try await group.waitForAll()
        }
        print("the longest time without an answer, by how the leader ended: \(told.joined(separator: ", "))")
        let answered = writers.answered
        let client = clients[0]
        #expect(try await Self.available(client) == Int64(answered.count))
        // A key that was answered by a leader that is gone has the same answer at the one that leads now.
        for answer in answered.suffix(300) {
            let again = try await client.grant(try Self.grant(answer.key))
            #expect(again.replayed && again.entry == answer.entry)
        }
        let journals = try await Array(nodes.values).asyncMap(Self.journal)
        #expect(journals[0].count == answered.count && journals.allSatisfy { $0 == journals[0] })
        #expect(Set(answered.map(\.entry)) == Set(journals[0].map(\.entry)))
        for client in clients { try await client.close() }
        for node in nodes.values { #expect(node.stop() == 0) }
    }

    /// Whoever asks any one node, and knows no other, is served by the one that leads: in the order sent, and also
    /// while the lead changes hands.
    @Test func anyNodeTakesAnyRequest() async throws {
        let studio = try NodeStudio()
        let a = try await studio.start("a", passesOn: true)
        let b = try await studio.start("b", passesOn: true)
        let ofB = try await b.client()
        for number in 0..<50 {
            let receipt = try await ofB.grant(Self.grant("\(number)"))
            #expect(receipt.balances.first?.balance.available == Int64(number) + 1)
            #expect(try await Self.available(ofB) == Int64(number) + 1, "it reads what it had passed on")
        }
        // Sent at once on one connection, and each sees what was sent before it.
        let seen = Mutex<[Int64]>([])
        try await ofB.pipeline(count: 200, inFlight: 200) { index, id, writer in
            if index.isMultiple(of: 2) {
                guard let grant = try? Self.grant("p\(index)") else { return }
                writer.write(Methods.grant, grant, id: id)
            } else {
                writer.write(Methods.balance, BalanceQuery(account: Self.ann), id: id)
            }
        } reply: { index, result in
            guard !index.isMultiple(of: 2), let json = try? result.get(),
                let balances = try? AccountBalances(json: Array(json))
            else { return }
            seen.withLock { $0.append(balances.balances.first?.balance.available ?? 0) }
        }
        #expect(seen.withLock { $0 } == (51...150).map { Int64($0) })
        // What a follower is asked while nobody leads waits until somebody does, and is not done twice.
        a.kill()
        #expect(try await ofB.grant(Self.grant("0")).replayed)
        #expect(try await ofB.grant(Self.grant("last")).balances.first?.balance.available == 151)
        #expect(try await b.leads())
        try await ofB.close()
        #expect(b.stop() == 0)
        // The log of the configuration, and this node's own tables.
        let audited = try BuiltCommand.run(["audit", "--config", "\(studio.folder)/b.json"]).output
        #expect(audited.contains("everything holds") && !audited.contains("not compared"), "\(audited)")
    }

    /// The lead goes to another node when it is asked for, whichever node is asked, and nobody who writes fails.
    @Test func theLeadIsHandedOverOnRequest() async throws {
        let studio = try NodeStudio()
        var nodes: [RunningNode] = []
        for name in ["a", "b", "c"] { nodes.append(try await studio.start(name, passesOn: true)) }
        let writers = Writers()
        // One goes to the leader by itself, and one knows only a single node.
        let clients = [try await studio.client(["a", "b", "c"]), try await nodes[1].client()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, client) in clients.enumerated() { group.addTask { try await writers.run(client, "w\(place)") } }
            for node in [nodes[0], nodes[1], nodes[2]] {
                let before = writers.answered.count
                #expect(try await Self.eventually { writers.answered.count > before + 50 })
                var old: String?
                for node in nodes where try await node.leads() { old = node.name }
                let asker = try await node.client()
                #expect(try await asker.stepDown().steppedDown)
                try await asker.close()
                #expect(
                    try await Self.eventually {
                        for node in nodes where node.name != old { if try await node.leads() { return true } }
                        return false
                    }, "another leads")
            }
            writers.stop()
            try await group.waitForAll()
        }
        print("the longest time without an answer, handed over on request: \(writers.takeLongest())")
        #expect(try await Self.available(clients[0]) == Int64(writers.answered.count))
        for client in clients { try await client.close() }
        for node in nodes { #expect(node.stop() == 0) }
    }

    /// Each node is ended and started anew, one after the other, under load: no request fails, and those of each client
    /// take effect in the order in which it asked.
    @Test func aRollingUpgradeIsNotNoticed() async throws {
        let studio = try NodeStudio()
        let names = ["a", "b", "c"]
        var nodes: [RunningNode] = []
        for name in names { nodes.append(try await studio.start(name, passesOn: true)) }
        let writers = Writers()
        let clients = try await [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]].asyncMap(studio.client)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, client) in clients.enumerated() { group.addTask { try await writers.run(client, "w\(place)") } }
            for place in nodes.indices {
                let before = writers.answered.count
                #expect(try await Self.eventually { writers.answered.count > before + 50 })
                #expect(nodes[place].stop() == 0)
                nodes[place] = try await studio.start(names[place], passesOn: true)
            }
            let before = writers.answered.count
            #expect(try await Self.eventually { writers.answered.count > before + 50 })
            writers.stop()
            try await group.waitForAll()
        }
        print("the longest time without an answer, in a rolling upgrade: \(writers.takeLongest())")
        let answered = writers.answered
        #expect(try await Self.available(clients[0]) == Int64(answered.count))
        for place in clients.indices {
            let entries = answered.filter { $0.key.hasPrefix("w\(place)-") }.map(\.entry)
            #expect(entries == entries.sorted() && Set(entries).count == entries.count)
        }
        for client in clients { try await client.close() }
        for node in nodes { #expect(node.stop() == 0) }
    }

    @Test func aLeaderThatStoodStillAnswersNothingThatIsOutOfDate() async throws {
        let studio = try NodeStudio()
        let a = try await studio.start("a")
        let b = try await studio.start("b")
        let (ofA, ofB) = try await (a.client(), b.client())
        _ = try await ofA.grant(Self.grant("1"))
        try await a.suspend()
        // It is there when the node goes on, before anything else can tell that node what became of it.
        async let late = Self.result { try await Self.available(ofA) }
        #expect(try await Self.eventually { try await ofB.grant(Self.grant("2")).entry > 0 })
        a.signal(SIGCONT)
        switch await late {
        // It had found out before it came to this, and read what it lacked.
        case .success(let available): #expect(available == 2)
        case .failure(let error):
            let refusal = error as? WireError
            let isOfFollower = refusal?.reason == "not_leader" && refusal?["address"] == .string(b.address)
            #expect(isOfFollower, "\(error)")
        }
        let isRefused = try await Self.eventually {
            let write = await Self.refusal { _ = try await ofA.grant(Self.grant("3")) }
            return write?.reason == "not_leader" && write?["address"] == .string(b.address)
        }
        #expect(isRefused)
        #expect(try await Self.available(ofA) == 2, "it follows, and has read what the other one appended")
        #expect(a.said.contains("this node leads no more"))
        for node in [a, b] { #expect(node.stop() == 0) }
    }

    /// Nothing comes from the database any more, nor goes there: what the node has in memory is soon out of date.
    @Test func readsOfALeaderThatIsCutOffAreNotAnswered() async throws {
        let studio = try NodeStudio()
        let proxy = try FaultyProxy(of: studio.server)
        defer { proxy.stop() }
        let a = try await studio.start("a", socket: proxy.folder, more: #", "leaseMilliseconds": 1000"#)
        let b = try await studio.start("b", more: #", "leaseMilliseconds": 1000"#)
        let (ofA, other, ofB) = try await (a.client(), a.client(), b.client())
        _ = try await ofA.grant(Self.grant("1"))
        #expect(try await a.leads())
        proxy.hold()
        #expect(try await Self.eventually { try await ofB.grant(Self.grant("2")).entry > 0 })
        // The read is in its hands when what was sent before that is answered, and so is much that comes later.
        let isAsked = Mutex(false)
        let read = Mutex<Result<[UInt8], WireError>?>(nil)
        async let asking: Void = ofA.pipeline(count: 2, inFlight: 2) { index, id, writer in
            if index == 0 {
                writer.write(Methods.ping, NoParams(), id: id)
            } else {
                writer.write(Methods.balance, BalanceQuery(account: Self.ann), id: id)
            }
        } reply: { index, result in
            if index == 0 { isAsked.withLock { $0 = true } } else { read.withLock { $0 = result.map { Array($0) } } }
        }
        #expect(try await Self.eventually { isAsked.withLock { $0 } })
        for _ in 0..<200 { try await other.ping() }
        proxy.release()
        #expect(try await Self.eventually { read.withLock { $0 != nil } }, "it does not hang for ever")
        try await ofA.close()
        _ = try? await asking
        switch read.withLock({ $0 }) {
        case .success(let json)?:
            let balances = try AccountBalances(json: json)
            #expect(balances.balances.first?.balance.available == 2, "it does not answer without the second grant")
        case .failure(let error)?: #expect(["not_leader", "storage_unavailable"].contains(error.reason), "\(error)")
        case nil: break
        }
        let again = try await a.client()
        #expect(try await Self.eventually { try await Self.available(again) == 2 })
        for node in [a, b] { #expect(node.stop() == 0) }
    }

    @Test func aReplicaForReadingNeverLeads() async throws {
        let studio = try NodeStudio()
        let a = try await studio.start("a")
        let reader = try await studio.start("r", more: #", "leads": false"#)
        let (ofA, ofReader) = try await (a.client(), reader.client())
        for number in 0..<50 {
            _ = try await ofA.grant(Self.grant("\(number)"))
            #expect(try await Self.available(ofReader) == Int64(number) + 1, "it looks before it reads")
        }
        let write = await Self.refusal { _ = try await ofReader.grant(Self.grant("x")) }
        #expect(write?.reason == "not_leader" && write?["address"] == .string(a.address))
        let standing = try #require(try await ofReader.info().ledger.standby)
        #expect(standing.state == .following && standing.leader == a.address)
        #expect(a.stop() == 0)
        let nobody = await Self.refusal { _ = try await ofReader.grant(Self.grant("x")) }
        #expect(nobody?.reason == "storage_unavailable", "\(nobody as Any)")
        #expect(try await Self.available(ofReader) == 50)
        #expect(reader.stop() == 0)
    }

    /// Whoever asks for it is told so, after the ten seconds for which the next leader is waited for.
    @Test func aLeadThatNobodyHasIsNotGivenAway() async throws {
        let studio = try NodeStudio()
        let a = try await studio.start("a")
        let reader = try await studio.start("r", passesOn: true, more: #", "leads": false"#)
        #expect(a.stop() == 0)
        let ofReader = try await reader.client()
        #expect(try await Self.eventually { try await ofReader.info().ledger.standby?.leader == "" })
        let refusal = await Self.refusal { _ = try await ofReader.stepDown() }
        #expect(refusal?.reason == "not_leader" && refusal?["address"] == nil, "\(refusal as Any)")
        let told = try BuiltCommand.run(["step-down", "--server", reader.address])
        #expect(told.status == 1 && told.output.contains("no node leads at this moment"), "\(told)")
        #expect(reader.stop() == 0)
    }

    /// Two processes would write the same tables.
    @Test func aNodesFolderIsThatOfOneProcess() async throws {
        let studio = try NodeStudio()
        let a = try await studio.start("a")
        let words = "/tables-a is open for writing in another process; a ledger has one writer"
        let settings = try String(contentsOfFile: "\(studio.folder)/a.json", encoding: .utf8)
            .replacing("\(studio.address("a"))", with: "\(studio.address("e"))")
            .replacing(#""name": "a""#, with: #""name": "e""#)
        try settings.write(toFile: "\(studio.folder)/e.json", atomically: true, encoding: .utf8)
        let second = try BuiltCommand.run(["serve", "--config", "\(studio.folder)/e.json"])
        #expect(second.status == 1 && second.output.contains(words), "\(second)")
        let log = studio.server.uri() + "&schema="
        let projecting = try BuiltCommand.run([
            "project", log + studio.schema, "--to", log + "tables_of_" + studio.schema, "--work",
            "\(studio.folder)/tables-a",
        ])
        #expect(projecting.status == 1 && projecting.output.contains(words), "\(projecting)")
        #expect(a.stop() == 0)
        let again = try await studio.start("a")
        #expect(again.stop() == 0)
        // What is done with ledgers in files names what is done with this one instead.
        let config = ["--config", "\(studio.folder)/a.json"]
        let refused = [
            ["rebuild"] + config: "move the folder of its tables away",
            ["backup", "--to", "\(studio.folder)/backup"] + config: "back the database up with its own tools",
            ["restore", "\(studio.folder)/backup"] + config: "restore the database with its own tools",
        ]
        for (command, words) in refused {
            let finished = try BuiltCommand.run(command)
            #expect(finished.status == 1 && finished.output.contains("is in PostgreSQL: "), "\(finished)")
            #expect(finished.output.contains(words), "\(finished)")
        }
    }

    /// A name that the leader erases is gone from the others' tables, and from what a later node reads.
    @Test func whatTheLeaderForgetsIsForgottenByAll() async throws {
        let studio = try NodeStudio()
        let name = "a-player-whose-name-stands-nowhere-else"
        let player = try #require(AccountName(name))
        /// Whether any file of a node's tables has it, those that SQLite keeps beside them too.
        func hasName(_ node: String) throws -> Bool {
            let folder = "\(studio.folder)/tables-\(node)"
            return try FileManager.default.contentsOfDirectory(atPath: folder).contains { file in
                let data = FileManager.default.contents(atPath: "\(folder)/\(file)") ?? Data()
                return data.range(of: Data(name.utf8)) != nil
            }
        }
        func available(_ client: LedgerClient) async throws -> Int64 {
            try await client.balance(player).balances.first?.balance.available ?? 0
        }
        let a = try await studio.start("a")
        let b = try await studio.start("b")
        let (ofA, ofB) = try await (a.client(), b.client())
        let grant = Grant(
            key: try #require(RequestKey("1")), account: player, currency: Self.gems, amount: try #require(Amount(1)))
        _ = try await ofA.grant(grant)
        #expect(try await available(ofB) == 1)
        #expect(try await Self.eventually { try hasName("b") }, "the name is looked for where it never is")
        #expect(try await ofA.forget(player))
        #expect(try await available(ofB) == 0)
        let c = try await studio.start("c")
        #expect(try await available(try await c.client()) == 0)
        for node in [a, b, c] {
            #expect(node.stop() == 0)
            #expect(try !hasName(node.name), "node \(node.name) has the name still")
        }
        let log = try PlainSession(studio.server.uri())
        let found = try log.run(
            "SELECT count(*) FROM \(studio.schema).block WHERE position('\(name)'::bytea IN redactable) > 0")
        #expect(found == [["0"]])
    }

    private static func result<Value>(_ body: () async throws -> Value) async -> Result<Value, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    /// What a node answers instead of a result; `nil` where it does what it is asked.
    private static func refusal(_ body: () async throws -> Void) async -> WireError? {
        if case .failure(let error) = await result(body) { return error as? WireError }
        return nil
    }
}

extension Array {
    func asyncMap<Result>(_ body: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
#endif
