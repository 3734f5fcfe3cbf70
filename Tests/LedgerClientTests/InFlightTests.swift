import Testing

@testable import LedgerClient

/// How much is on the wire at once.
@Suite struct InFlightTests {
    private static func balances(_ client: LedgerClient, _ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask {
                    let name = try account("p\(number)")
                    #expect(try await client.balance(name).account == name)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func noMoreRequestsAreUnansweredThanAllowed() async throws {
        let held = Held(until: 7)
        let configuration = ClientConfiguration.patient(requestsInFlightMax: 7, retryPolicy: .none)
        try await Peer.with(configuration: configuration, { _, _, line in line.map { held.add($0) } ?? [] }) {
            try await Self.balances($1, 700)
            #expect($0.observed.lines.count == 700)
        }
        #expect(held.countMax == 7)
    }

    @Test func whatWaitsForRoomLeavesInOneWrite() async throws {
        let held = Held(until: 100)
        let configuration = ClientConfiguration.patient(requestsInFlightMax: 100, retryPolicy: .none)
        try await Peer.with(configuration: configuration, { _, _, line in line.map { held.add($0) } ?? [] }) {
            try await Self.balances($1, 2_000)
            // The first hundred leave as their tasks run; after that a whole round of answers makes room at a time.
            #expect($0.observed.reads < 400, "\($0.observed.reads)")
        }
    }

    @Test func noMoreBytesAreUnansweredThanAllowedAndALongerLineGoesAlone() {
        var outbox = Outbox(inFlightMax: 100, bytesInFlightMax: 1_000)
        let lengths = [300, 300, 300, 300, 2_000, 100, 900, 1]
        for (id, length) in lengths.enumerated() {
            outbox.add(PendingCall(id: Int64(id), line: Array(repeating: 10, count: length), deadline: .distantFuture))
        }
        #expect(outbox.calls.map(\.id) == [0, 1, 2])
        outbox.release(calls: 1, bytes: 300)
        #expect(outbox.calls.map(\.id) == [0, 1, 2, 3])
        // The short ones behind the long one keep their place in the order.
        outbox.release(calls: 2, bytes: 600)
        #expect(outbox.calls.count == 4 && outbox.bytesInFlight == 300)
        outbox.release(calls: 1, bytes: 300)
        #expect(outbox.calls.map(\.id) == [0, 1, 2, 3, 4] && outbox.bytesInFlight == 2_000)
        outbox.release(calls: 1, bytes: 2_000)
        #expect(outbox.calls.map(\.id) == [0, 1, 2, 3, 4, 5, 6] && outbox.bytesInFlight == 1_000)
        outbox.release(calls: 2, bytes: 1_000)
        #expect(outbox.inFlight == 1 && outbox.bytesInFlight == 1 && outbox.queue.isEmpty)
    }

    @Test func callsThatAreGivenUpInTheQueueAreForgotten() {
        var outbox = Outbox(inFlightMax: 1, bytesInFlightMax: 1_000)
        let calls = (0..<101).map { PendingCall(id: $0, line: [10], deadline: .distantFuture) }
        for call in calls { outbox.add(call) }
        #expect(outbox.inFlight == 1 && outbox.queue.count == 100)
        var longest = 0
        for call in calls[1...90] {
            call.timeOut()
            outbox.noteAbandoned()
            longest = max(longest, outbox.queue.count(where: \.hasEnded) * 2 - outbox.queue.count)
        }
        #expect(longest <= 0)
        #expect(outbox.queue.count <= 20)
        // Those that are left are sent in their order.
        var sent: [Int64] = []
        for _ in 0..<11 {
            outbox.release(calls: 1, bytes: 1)
            sent = outbox.calls.map(\.id)
        }
        #expect(sent == [0] + (91...100).map { Int64($0) })
        #expect(outbox.queue.isEmpty && outbox.inFlight == 0)
    }
}
