import NIOSSL
import Testing

@testable import AppStoreServer

/// A call whose task is cancelled ends at once.
@Suite struct CancellationTests {
    private static func wait(until condition: () -> Bool) async throws {
        for _ in 0..<2_000 where !condition() { try await Task.sleep(for: .milliseconds(5)) }
        try #require(condition())
    }

    @Test(arguments: [TestStore.Answer.silence, .drip])
    func whileItWaitsForAReply(answer: TestStore.Answer) async throws {
        try await withStore(timeoutMilliseconds: 60_000, answer: { _, _ in answer }) { client, store in
            let started = ContinuousClock.now
            let task = Task { try await client.transactionInfo(transactionID: "1") }
            try await Self.wait { store.requests.count == 1 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(ContinuousClock.now - started < .seconds(30))
            #expect(store.requests.count == 1)
        }
    }

    @Test func whileItWaitsBetweenAttempts() async throws {
        let store = try await TestStore.start { _, _ in
            .reply(429, "", headers: ["Retry-After": "60"])
        }
        // The system's own clock and waits.
        let client = AppStoreServerClient(
            key: try TestKeys.key(),
            configuration: .init(
                bundleID: "com.example.game", address: try AppStoreAddress("http://127.0.0.1:\(store.port)")))
        let started = ContinuousClock.now
        let task = Task { try await client.transactionInfo(transactionID: "1") }
        try await Self.wait { store.requests.count == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(ContinuousClock.now - started < .seconds(30))
        await client.shutDown()
        try await store.stop()
    }

    @Test func beforeItBegins() async throws {
        try await withStore(answer: { _, _ in .reply(200, "{}") }) { client, store in
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await client.finishTransaction(transactionID: "1")
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(store.requests.isEmpty)
        }
    }

    @Test func aHistoryInTheMiddle() async throws {
        try await withStore(
            timeoutMilliseconds: 60_000,
            answer: { _, number in
                number == 1 ? .reply(200, #"{"hasMore":true,"revision":"1"}"#) : .silence
            }
        ) { client, store in
            let task = Task {
                var count = 0
                for try await _ in client.refundHistory(transactionID: "1") { count += 1 }
                return count
            }
            try await Self.wait { store.requests.count == 2 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
