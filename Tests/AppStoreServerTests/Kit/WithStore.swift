import NIOSSL
import Testing

@testable import AppStoreServer

/// An App Store that answers as told, and a client of it, for one test.
@discardableResult
func withStore<Result>(
    retries: AppStoreServerClient.RetryPolicy = .standard, timeoutMilliseconds: Int64 = 10_000,
    time: TestTime = TestTime(), answer: @escaping @Sendable (TestStore.Request, Int) -> TestStore.Answer,
    _ body: (AppStoreServerClient, TestStore) async throws -> Result
) async throws -> Result {
    let store = try await TestStore.start(answer: answer)
    let client = AppStoreServerClient(
        key: try TestKeys.key(),
        configuration: AppStoreServerClient.Configuration(
            bundleID: "com.example.game", address: try AppStoreAddress("http://127.0.0.1:\(store.port)"),
            retries: retries, requestTimeoutMilliseconds: timeoutMilliseconds),
        tls: .makeClientConfiguration(), pacing: time.pacing)
    do {
        let result = try await body(client, store)
        await client.shutDown()
        try await store.stop()
        return result
    } catch {
        await client.shutDown()
        try await store.stop()
        throw error
    }
}

/// Apple's body of a refusal.
func refusal(_ code: Int64, _ message: String = "A sentence.") -> String {
    #"{"errorCode":\#(code),"errorMessage":"\#(message)"}"#
}

/// Fails the test: there was another error, or none.
func unexpected(_ error: (any Error)?, at place: SourceLocation = #_sourceLocation) {
    Issue.record("\(error.map { "\($0)" } ?? "nothing was thrown")", sourceLocation: place)
}
