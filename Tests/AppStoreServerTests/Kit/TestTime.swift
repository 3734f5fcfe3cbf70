import NIOConcurrencyHelpers

@testable import AppStoreServer

/// A clock that stands still but for waits, which take no time; and chance that is always the longest wait.
final class TestTime: Sendable {
    /// 2026-04-27 00:00 UTC.
    static let start: Int64 = 1_777_248_000_000

    private let state = NIOLockedValueBox((now: start, waits: [Int64]()))

    var now: Int64 { state.withLockedValue { $0.now } }
    /// The waits so far, in milliseconds.
    var waits: [Int64] { state.withLockedValue { $0.waits } }

    func advance(_ milliseconds: Int64) { state.withLockedValue { $0.now += milliseconds } }

    var pacing: Pacing {
        Pacing(
            now: { self.now },
            sleep: { milliseconds in
                try Task.checkCancellation()
                self.state.withLockedValue {
                    $0.now += milliseconds
                    $0.waits.append(milliseconds)
                }
            },
            jitter: { $0 })
    }
}
