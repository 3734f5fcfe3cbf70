import NIOConcurrencyHelpers
import Testing

@testable import LedgerClient

/// Calls end in time, and say what may have become of them.
@Suite struct TimeoutTests {
    private static func configuration(
        _ milliseconds: Int64, inFlight: Int? = nil, _ policy: RetryPolicy = .none
    ) -> ClientConfiguration {
        ClientConfiguration(
            requestTimeoutMilliseconds: milliseconds, connectTimeoutMilliseconds: 60_000, requestsInFlightMax: inFlight,
            retryPolicy: policy)
    }

    @Test func aCallWithoutAnAnswerTimesOutAndItsLateReplyIsDropped() async throws {
        let held = Held(until: 2)
        try await Peer.with(
            configuration: Self.configuration(1_000), { _, _, line in line.map { held.add($0) } ?? [] }
        ) { peer, client in
            let late = await failure { _ = try await client.balance(try account("late")) }
            #expect(late as? ClientError == .timedOut(mayHaveBeenCarriedOut: true))
            // Both replies come now, in order; each call gets its own or none.
            let next = try await client.balance(try account("next"))
            #expect(next.account.text == "next")
            #expect(peer.observed.connections.count == 1)
        }
    }

    @Test func eachCallHasItsOwnDeadline() async throws {
        try await Peer.with(configuration: Self.configuration(300), { _, _, _ in [] }) { _, client in
            let clock = ContinuousClock()
            let start = clock.now
            let ends = await withTaskGroup(of: Duration.self) { group in
                for delay in [0, 50, 100, 150] {
                    group.addTask {
                        try? await Task.sleep(for: .milliseconds(delay))
                        let error = await failure { try await client.ping() }
                        #expect(error as? ClientError == .timedOut(mayHaveBeenCarriedOut: true))
                        return clock.now - start - .milliseconds(delay)
                    }
                }
                return await group.reduce(into: [Duration]()) { $0.append($1) }
            }
            for end in ends { #expect(end >= .milliseconds(300) && end < .seconds(30), "\(end)") }
        }
    }

    @Test func aConnectionThatStaysSilentIsMadeAnew() async throws {
        try await Peer.with(
            configuration: Self.configuration(2_000, .standard),
            { connection, _, line in
                guard let line else { return [] }
                return connection == 0 ? [] : [.send(answer(line, echo))]
            }
        ) { peer, client in
            let error = await failure { try await client.ping() }
            #expect(error as? ClientError == .timedOut(mayHaveBeenCarriedOut: true))
            try await client.ping()
            #expect(peer.observed.connections.count == 2)
        }
    }

    @Test func aCallThatWaitsForRoomWasNotCarriedOut() async throws {
        try await Peer.with(configuration: Self.configuration(1_000, inFlight: 1), { _, _, _ in [] }) { peer, client in
            async let first = failure { try await client.ping() }
            try await expectEventually { peer.observed.lines.count == 1 }
            let second = await failure { try await client.ping() }
            #expect(second as? ClientError == .timedOut(mayHaveBeenCarriedOut: false))
            #expect(await first as? ClientError == .timedOut(mayHaveBeenCarriedOut: true))
            #expect(peer.observed.lines.count == 1)
        }
    }

    @Test func theTimeoutCoversTheWaitForANewConnection() async throws {
        // The second connection's token is never answered.
        try await Peer.with(
            configuration: Self.configuration(2_000, .standard), token: "t",
            { connection, index, line in
                guard let line, connection == 0 else { return [] }
                return index == 0 ? [.send(answer(line) { _ in .authenticated(Samples.game) })] : [.close]
            }
        ) { peer, client in
            let error = await failure { try await client.ping() }
            #expect(error as? ClientError == .timedOut(mayHaveBeenCarriedOut: true))
            let unsent = await failure { try await client.ping() }
            #expect(unsent as? ClientError == .timedOut(mayHaveBeenCarriedOut: false))
            #expect(peer.observed.connections.count == 2)
        }
    }

    @Test func connectingTimesOutWhereTheTokenIsNotAnswered() async throws {
        let peer = try await Peer.start { _, _ in [] }
        var configuration = ClientConfiguration()
        configuration.connectTimeoutMilliseconds = 150
        let error = await failure {
            _ = try await LedgerClient.connect(to: peer.address, token: "t", configuration: configuration)
        }
        guard case .cannotConnect = error as? ClientError else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await peer.stop()
    }
}
