import Testing

@testable import LedgerClient

/// A call whose task is cancelled ends at once, at whatever stage it is, and disturbs no other; and so does closing.
@Suite struct CancellationTests {
    private static func expectCancelled(_ task: Task<Void, any Error>) async {
        task.cancel()
        let clock = ContinuousClock()
        let start = clock.now
        let error = await failure { try await task.value }
        #expect(error is CancellationError, "\(String(describing: error))")
        #expect(clock.now - start < .seconds(5))
    }

    @Test func aTaskThatIsCancelledAlreadySendsNothing() async throws {
        try await Peer.with(answering(echo)) { peer, client in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await client.ping()
            }
            await Self.expectCancelled(task)
            try await client.ping()
            #expect(peer.observed.lines.count == 1)
        }
    }

    @Test func aReplyToACancelledCallIsDroppedAndTheOthersGetTheirs() async throws {
        let held = Held(until: 3)
        try await Peer.with(configuration: .raw, { _, _, line in line.map { held.add($0) } ?? [] }) { peer, client in
            let first = Task { try await client.balance(try account("first")) }
            try await expectEventually { peer.observed.lines.count == 1 }
            let cancelled = Task { _ = try await client.balance(try account("cancelled")) }
            try await expectEventually { peer.observed.lines.count == 2 }
            await Self.expectCancelled(cancelled)
            #expect(try await client.balance(try account("last")).account.text == "last")
            #expect(try await first.value.account.text == "first")
            #expect(peer.observed.connections.count == 1)
        }
    }

    @Test func aCallThatWaitsForRoomIsNeverSent() async throws {
        let configuration = ClientConfiguration.patient(requestsInFlightMax: 1, retryPolicy: .none)
        try await Peer.with(configuration: configuration, { _, _, _ in [] }) { peer, client in
            let first = Task { try await client.ping() }
            try await expectEventually { peer.observed.lines.count == 1 }
            let waiting = Task { _ = try await client.balance(try account("never")) }
            try await Task.sleep(for: .milliseconds(50))
            await Self.expectCancelled(waiting)
            // Its place on the wire is not free: the reply has not come.
            await Self.expectCancelled(first)
            let third = Task { try await client.ping() }
            try await Task.sleep(for: .milliseconds(50))
            #expect(peer.observed.lines.count == 1)
            await Self.expectCancelled(third)
        }
    }

    /// A server whose first connection breaks at its first line, and where nobody answers the token after that.
    private static let vanishing: Peer.ConnectionScript = { connection, index, line in
        guard let line, connection == 0 else { return [] }
        return index == 0 ? [.send(answer(line) { _ in .authenticated(Samples.game) })] : [.close]
    }

    @Test func aCallThatWaitsForANewConnectionEndsAtOnce() async throws {
        try await Peer.with(configuration: .patient(retryPolicy: .standard), token: "t", Self.vanishing) {
            peer, client in
            let calls = (0..<2).map { _ in Task { try await client.ping() } }
            try await expectEventually { peer.observed.connections.count == 2 }
            for call in calls { await Self.expectCancelled(call) }
        }
    }

    @Test func closingEndsACallThatWaitsForANewConnection() async throws {
        let peer = try await Peer.start(eachConnection: Self.vanishing)
        let client = try await LedgerClient.connect(to: peer.address, token: "t")
        let call = Task { try await client.ping() }
        try await expectEventually { peer.observed.connections.count == 2 }
        try await client.close()
        #expect(await failure { try await call.value } as? ClientError == .closed)
        #expect(await failure { try await client.ping() } as? ClientError == .closed)
        try await peer.stop()
    }

    @Test func aCallThatWaitsToBeRepeatedEndsAtOnce() async throws {
        var configuration = ClientConfiguration(
            requestTimeoutMilliseconds: 600_000, connectTimeoutMilliseconds: 60_000,
            retryPolicy: RetryPolicy(attemptsMax: 3, baseMilliseconds: 300_000, capMilliseconds: 300_000))
        configuration.pacing.jitter = { $0 }
        try await Peer.with(
            configuration: configuration,
            { _, _, line in line.map { [.send(answer($0) { _ in .error(.overloaded) })] } ?? [] }
        ) { peer, client in
            let call = Task { try await client.ping() }
            try await expectEventually { peer.observed.lines.count == 1 }
            try await Task.sleep(for: .milliseconds(50))
            await Self.expectCancelled(call)
            #expect(peer.observed.lines.count == 1)
        }
    }

    @Test func cancelledCallsStillCountUntilTheirRepliesCome() async throws {
        let configuration = ClientConfiguration.patient(requestsInFlightMax: 5, retryPolicy: .none)
        try await Peer.with(configuration: configuration, { _, _, _ in [] }) { peer, client in
            for _ in 0..<50 {
                let call = Task { try await client.ping() }
                try await Task.sleep(for: .milliseconds(2))
                await Self.expectCancelled(call)
            }
            #expect(peer.observed.lines.count <= 5)
        }
    }

    @Test func closingEndsWhatIsInFlightAndWhatWaitsForRoom() async throws {
        let peer = try await Peer.start { _, _ in [] }
        let client = try await LedgerClient.connect(
            to: peer.address, configuration: .patient(requestsInFlightMax: 3, retryPolicy: .standard))
        let calls = (0..<10).map { _ in Task { try await client.ping() } }
        try await expectEventually { peer.observed.lines.count == 3 }
        try await client.close()
        for call in calls { #expect(await failure { try await call.value } as? ClientError == .closed) }
        #expect(peer.observed.lines.count == 3)
        try await peer.stop()
    }

    @Test func aClientThatIsDroppedLeavesNothingBehind() async throws {
        let peer = try await Peer.start(eachConnection: { _, _, line in line.map { [.send(answer($0, echo))] } ?? [] })
        weak var dropped: LedgerClient?
        do {
            let client = try await LedgerClient.connect(to: peer.address)
            try await client.ping()
            dropped = client
        }
        try await expectEventually { dropped == nil }
        try await expectEventually { peer.openConnections == 0 }
        try await peer.stop()
    }
}
