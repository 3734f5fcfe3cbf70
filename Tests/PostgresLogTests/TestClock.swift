#if Postgres
import Synchronization

@testable import PostgresLog

/// A monotonic clock that stands still until a test sets it forward, or lets it go.
final class TestClock: Sendable {
    private enum State {
        case stands(UInt64)
        /// So far from the machine's.
        case goes(UInt64)
    }

    private let state = Mutex(State.stands(boottimeNanoseconds()))

    var now: UInt64 {
        switch state.withLock({ $0 }) {
        case .stands(let now): now
        case .goes(let difference): boottimeNanoseconds() &+ difference
        }
    }

    func advance(milliseconds: UInt64) {
        state.withLock { state in
            switch state {
            case .stands(let now): state = .stands(now + milliseconds * 1_000_000)
            case .goes(let difference): state = .goes(difference &+ milliseconds * 1_000_000)
            }
        }
    }

    func go() {
        state.withLock { state in
            if case .stands(let now) = state { state = .goes(now &- boottimeNanoseconds()) }
        }
    }
}
#endif
