import NIOConcurrencyHelpers
import NIOCore
import Testing

@testable import LedgerClient

/// A client of several nodes: where it asks, and what becomes of its calls when another leads.
@Suite struct NodesTests {
    /// A node that does not lead, or one that does.
    private static func node(leader: NIOLockedValueBox<String?>) -> Peer.Script {
        { _, line in
            guard let line else { return [] }
            let leader = leader.withLockedValue { $0 }
            return [
                .send(
                    answer(line) { request in
                        if case .authenticate(let own) = request {
                            return own.isDirect ? .authenticated(Samples.game) : .error(.unknownToken)
                        }
                        return leader.map { .error(.notLeader($0)) } ?? echo(request)
                    })
            ]
        }
    }

    /// What it was asked behind the greetings.
    private static func calls(_ peer: Peer) -> [[UInt8]] {
        peer.observed.lines.filter { !String(decoding: $0, as: UTF8.self).contains("authenticate") }
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
        #expect(Self.calls(first).count == 1 && Self.calls(second).count == 3)
        #expect(Self.calls(first)[0] == Self.calls(second)[0], "the same bytes")
        // The lead changes hands.
        ofFirst.withLockedValue { $0 = nil }
        ofSecond.withLockedValue { $0 = first.address.description }
        #expect(try await client.balance(try account("p")).account.text == "p")
        #expect(Self.calls(first).count == 2)
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

    @Test func aNodeWithoutRoomForAConnectionIsPassedOver() async throws {
        let full = try await Peer.start(answering { _ in .error(.overloaded) })
        let there = try await Peer.start(Self.node(leader: NIOLockedValueBox(nil)))
        let client = try await LedgerClient.connect(
            toAnyOf: [full.address, there.address], configuration: Waits().configuration())
        #expect(try await client.balance(try account("p")).account.text == "p")
        #expect(full.observed.lines.count == 1)
        try await client.close()
        try await full.stop()
        try await there.stop()
    }

    /// It leads no more, and does not reach what the nodes share: it cannot know who leads, and another can.
    @Test(arguments: [WireError.storageUnavailable, .shuttingDown, .outcomeUnknown])
    func aNodeThatCannotServeIsLeftForAnother(error: WireError) async throws {
        let cutOff = try await Peer.start { _, line in
            guard let line else { return [] }
            return [
                .send(
                    answer(line) { request in
                        if case .authenticate = request { return .authenticated(Samples.game) }
                        return .error(error)
                    })
            ]
        }
        let leader = try await Peer.start(Self.node(leader: NIOLockedValueBox(nil)))
        let client = try await LedgerClient.connect(
            toAnyOf: [cutOff.address, leader.address], configuration: Waits().configuration())
        for _ in 0..<3 { #expect(try await client.balance(try account("p")).account.text == "p") }
        #expect(Self.calls(cutOff).count == 1 && Self.calls(leader).count == 3)
        try await client.close()
        try await cutOff.stop()
        try await leader.stop()
    }

    /// One call was told where the leader is, and another, behind it, only that it was not carried out; nobody knows
    /// which of them is looked at first.
    @Test func theLeaderIsFollowedWhoeverLeavesTheConnectionFirst() async throws {
        let peer = try await Peer.start(Self.node(leader: NIOLockedValueBox(nil)))
        let other = try await Peer.start(Self.node(leader: NIOLockedValueBox(nil)))
        let leader = try await Peer.start(Self.node(leader: NIOLockedValueBox(nil)))
        for isKnownFirst in [true, false] {
            let keeper = ConnectionKeeper(
                connector: Connector(
                    addresses: [peer.address, other.address], configuration: Waits().configuration()), token: nil)
            let deadline = NIODeadline.now() + .seconds(60)
            guard case .connected(let connection) = await keeper.connection(deadline: deadline) else {
                Issue.record("not connected")
                return
            }
            keeper.leave(connection, for: isKnownFirst ? leader.address : nil)
            keeper.leave(connection, for: isKnownFirst ? nil : leader.address)
            guard case .connected(let next) = await keeper.connection(deadline: deadline) else {
                Issue.record("not connected again")
                return
            }
            #expect(next.address == leader.address)
            keeper.close()?.abandon(ClientError.closed)
        }
        try await peer.stop()
        try await other.stop()
        try await leader.stop()
    }

    /// What the system is told of a connection: that a machine is lost cannot be shown between sockets of one machine.
    @Test(arguments: [1, 2])
    func aConnectionToANodeWhoseMachineIsLostEndsSoon(addresses: Int) async throws {
        let peer = try await Peer.start(Self.node(leader: NIOLockedValueBox(nil)))
        let connector = Connector(
            addresses: Array(repeating: peer.address, count: addresses), configuration: Waits().configuration())
        let connection = try await connector.connect(to: peer.address, token: nil) { 1 }
        let isAsked = try await connection.channel.getOption(.socketOption(.so_keepalive)).get()
        let silence = try await connection.channel.getOption(.tcpOption(.userTimeout)).get()
        let idle = try await connection.channel.getOption(.tcpOption(.keepIdle)).get()
        #expect((isAsked != 0) == (addresses > 1))
        #expect(silence == (addresses > 1 ? 3_000 : 0), "milliseconds")
        if addresses > 1 { #expect(idle == 1, "second") }
        connection.abandon(ClientError.closed)
        try await peer.stop()
    }

    /// It was given one address, and is to ask nobody else.
    @Test func aClientOfOneServiceFollowsNobody() async throws {
        let standby = try await Peer.start(Self.node(leader: NIOLockedValueBox("127.0.0.1:1")))
        let client = try await LedgerClient.connect(to: standby.address, configuration: Waits().configuration())
        let error = await failure { _ = try await client.balance(try account("p")) }
        #expect((error as? WireError)?.reason == "not_leader")
        #expect(standby.observed.lines.count == 1)
        try await client.close()
        try await standby.stop()
    }
}
