import LedgerClient
import NIOConcurrencyHelpers
import Testing

/// A client of several nodes: where it asks, and what becomes of its calls when another leads.
@Suite struct NodesTests {
    /// A node that does not lead, or one that does.
    private static func node(leader: NIOLockedValueBox<String?>) -> Peer.Script {
        { _, line in
            guard let line else { return [] }
            if let leader = leader.withLockedValue({ $0 }) {
                return [.send(answer(line) { _ in .error(.notLeader(leader)) })]
            }
            return [.send(answer(line, echo))]
        }
    }

    @Test func aClientOfNodesGoesWhereTheLeaderIs() async throws {
        let (ofFirst, ofSecond) = (NIOLockedValueBox<String?>(nil), NIOLockedValueBox<String?>(nil))
        let first = try await Peer.start(Self.node(leader: ofFirst))
        let second = try await Peer.start(Self.node(leader: ofSecond))
        ofFirst.withLockedValue { $0 = second.address.description }
        let waits = Waits()
        let client = try await LedgerClient.connect(
            toAnyOf: [first.address, second.address], configuration: waits.configuration())
        for _ in 0..<3 { #expect(try await client.balance(try account("p")).account.text == "p") }
        #expect(first.observed.lines.count == 1 && second.observed.lines.count == 3)
        #expect(first.observed.lines[0] == second.observed.lines[0], "the same bytes")
        // The lead changes hands.
        ofFirst.withLockedValue { $0 = nil }
        ofSecond.withLockedValue { $0 = first.address.description }
        #expect(try await client.balance(try account("p")).account.text == "p")
        #expect(first.observed.lines.count == 2)
        try await client.close()
        try await first.stop()
        try await second.stop()
    }

    @Test func aNodeThatCannotBeReachedIsPassedOver() async throws {
        let leads = NIOLockedValueBox<String?>(nil)
        let gone = try await Peer.start(Self.node(leader: leads))
        try await gone.stop()
        let there = try await Peer.start(Self.node(leader: leads))
        let client = try await LedgerClient.connect(
            toAnyOf: [gone.address, there.address], configuration: Waits().configuration())
        #expect(try await client.balance(try account("p")).account.text == "p")
        try await client.close()
        try await there.stop()
    }

    /// It was given one address, and is to ask nobody else.
    @Test func aClientOfOneServiceFollowsNobody() async throws {
        let other = NIOLockedValueBox<String?>("127.0.0.1:1")
        let standby = try await Peer.start(Self.node(leader: other))
        let client = try await LedgerClient.connect(to: standby.address, configuration: Waits().configuration())
        let error = await failure { _ = try await client.balance(try account("p")) }
        #expect((error as? WireError)?.reason == "not_leader")
        #expect(standby.observed.lines.count == 1)
        try await client.close()
        try await standby.stop()
    }
}
