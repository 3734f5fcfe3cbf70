import LedgerTestKit
import NIOConcurrencyHelpers
import Testing

@testable import LedgerClient

extension ClientConfiguration {
    /// One connection, one attempt.
    static let raw = patient(retryPolicy: .none)

    /// Time enough for a machine on which all tests run at once under a sanitizer.
    static func patient(requestsInFlightMax: Int? = nil, retryPolicy: RetryPolicy) -> ClientConfiguration {
        ClientConfiguration(
            requestTimeoutMilliseconds: 60_000, connectTimeoutMilliseconds: 60_000,
            requestsInFlightMax: requestsInFlightMax, retryPolicy: retryPolicy)
    }
}

/// Waits that take no time and are written down, with chances from a seed.
final class Waits: Sendable {
    private struct State {
        var slept: [Int64] = []
        var asked: [Int64] = []
        var random: SplitMix64
    }

    private let state: NIOLockedValueBox<State>

    init(seed: UInt64 = 1) { state = NIOLockedValueBox(State(random: SplitMix64(seed: seed))) }

    /// The waits that were slept, in milliseconds.
    var slept: [Int64] { state.withLockedValue { $0.slept } }
    /// The bounds of the waits that were drawn.
    var asked: [Int64] { state.withLockedValue { $0.asked } }

    var pacing: Pacing {
        Pacing(
            sleep: { milliseconds in
                try Task.checkCancellation()
                self.state.withLockedValue { $0.slept.append(milliseconds) }
                await Task.yield()
            },
            jitter: { max in
                self.state.withLockedValue { state in
                    state.asked.append(max)
                    return Int64.random(in: 0...max, using: &state.random)
                }
            })
    }

    /// A client that repeats as the policy says, without waiting.
    func configuration(_ policy: RetryPolicy = .standard) -> ClientConfiguration {
        var configuration = ClientConfiguration.patient(retryPolicy: policy)
        configuration.pacing = pacing
        return configuration
    }
}

/// Expects something to become true within ten seconds.
func expectEventually(
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
    for _ in 0..<2_000 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("it did not become true", sourceLocation: sourceLocation)
}

/// How an operation failed; `nil` where it did not.
func failure(_ operation: () async throws -> Void) async -> (any Error)? {
    do {
        try await operation()
        return nil
    } catch {
        return error
    }
}
