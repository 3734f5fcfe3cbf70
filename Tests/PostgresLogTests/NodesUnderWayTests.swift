#if Postgres
import LedgerClient
import LedgerTypes
import LedgerWire
import Synchronization
import Testing

/// What is under way at nodes that pass it on, while the lead changes hands.
extension NodesTests {
    /// Many requests of one connection, as one test sends them, and what came of them.
    private struct Sent {
        var grants = 0
        /// Whether nothing more is granted.
        var isEnough = false
        var entries: [EntryID] = []
        var refused: [String] = []

        /// Whether each grant was answered, and took effect behind the one before it.
        var isInOrder: Bool { entries.count == grants && zip(entries, entries.dropFirst()).allSatisfy { $0 < $1 } }

        /// - Parameter result: the answer to the request of this index.
        mutating func note(_ index: Int, _ result: Result<UnsafeBufferPointer<UInt8>, WireError>) {
            if index >= grants { return }
            do {
                entries.append(try GrantReceipt(json: Array(try result.get())).entry)
            } catch {
                refused.append("\(index): \(error)")
            }
        }
    }

    /// Hundreds of requests of one connection are under way, at a node that passes them on, whenever the lead changes
    /// hands: each is carried out once, in the order sent.
    @Test func whatIsUnderWayKeepsItsOrderWhenTheLeadChangesHands() async throws {
        let studio = try NodeStudio()
        var nodes: [RunningNode] = []
        for name in ["a", "b", "c"] { nodes.append(try await studio.start(name, passesOn: true)) }
        let (sender, asker) = try await (nodes[2].client(timeoutMilliseconds: 60_000), nodes[1].client())
        let countMax = 50_000
        let sent = Mutex(Sent())
        // Grants, of which there are always as many under way, until the lead has changed hands often enough.
        async let sending: Void = sender.pipeline(count: countMax, inFlight: 500) { index, id, writer in
            let isGrant = sent.withLock { sent in
                if !sent.isEnough { sent.grants += 1 }
                return !sent.isEnough
            }
            if isGrant, let grant = try? Self.grant("o\(index)") {
                writer.write(Methods.grant, grant, id: id)
            } else {
                writer.write(Methods.ping, NoParams(), id: id)
            }
        } reply: { index, result in
            sent.withLock { $0.note(index, result) }
        }
        // The first is the leader of a start; each of the others may be the node that the requests are sent to.
        for _ in 1...3 {
            let before = sent.withLock { $0.entries.count }
            #expect(try await Self.eventually { sent.withLock { $0.entries.count } >= before + 100 })
            #expect(try await asker.stepDown().steppedDown)
        }
        sent.withLock { $0.isEnough = true }
        try await sending
        let (grants, isInOrder, refused) = sent.withLock { ($0.grants, $0.isInOrder, $0.refused) }
        #expect(refused == [] && isInOrder)
        #expect(grants < countMax, "some were under way each time")
        #expect(try await Self.available(asker) == Int64(grants))
        for client in [sender, asker] { try await client.close() }
        for node in nodes { #expect(node.stop() == 0) }
    }

    /// The leader's process stands still: its machine acknowledges what it is sent, and nothing is answered. What was
    /// passed on to it is asked of the node that leads next, which is the node itself for clients of one, and another
    /// for those of the other.
    @Test func whatALeaderThatStandsStillDoesNotAnswerIsAskedOfTheNext() async throws {
        let studio = try NodeStudio()
        let a = try await studio.start("a", passesOn: true)
        let b = try await studio.start("b", passesOn: true)
        let reader = try await studio.start("r", passesOn: true, more: #", "leads": false"#)
        let clients = try await [b, reader].asyncMap { try await $0.client(timeoutMilliseconds: 60_000) }
        // From here on both have a connection to it.
        for (place, client) in clients.enumerated() { _ = try await client.grant(Self.grant("first-\(place)")) }
        #expect(try await a.leads())
        try await a.suspend()
        let all = try await withThrowingTaskGroup(of: Sent.self) { group in
            for (place, client) in clients.enumerated() {
                group.addTask {
                    let sent = Mutex(Sent(grants: 100, isEnough: true))
                    try await client.pipeline(count: 100, inFlight: 100) { index, id, writer in
                        guard let grant = try? Self.grant("\(place)-\(index)") else { return }
                        writer.write(Methods.grant, grant, id: id)
                    } reply: { index, result in
                        sent.withLock { $0.note(index, result) }
                    }
                    return sent.withLock { $0 }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for sent in all { #expect(sent.refused == [] && sent.isInOrder) }
        #expect(try await b.leads())
        #expect(try await Self.available(clients[1]) == 202)
        for client in clients { try await client.close() }
        a.kill()
        for node in [b, reader] { #expect(node.stop() == 0) }
    }
}
#endif
