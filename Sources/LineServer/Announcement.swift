import NIOConcurrencyHelpers

/// One value, or one error, that comes once and is told to everyone who waits for it or asks later.
final class Announcement<Value: Sendable>: Sendable {
    private enum State {
        case waiting([CheckedContinuation<Value, any Error>])
        case known(Result<Value, any Error>)
    }

    private let state = NIOLockedValueBox(State.waiting([]))

    func succeed(_ value: Value) { tell(.success(value)) }

    /// Changes nothing where the value is known already.
    func fail(_ error: any Error) { tell(.failure(error)) }

    private func tell(_ result: Result<Value, any Error>) {
        let waiting = state.withLockedValue { state -> [CheckedContinuation<Value, any Error>] in
            guard case .waiting(let waiting) = state else { return [] }
            state = .known(result)
            return waiting
        }
        for continuation in waiting { continuation.resume(with: result) }
    }

    func value() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let known = state.withLockedValue { state -> Result<Value, any Error>? in
                switch state {
                case .known(let result):
                    return result
                case .waiting(let others):
                    state = .waiting(others + [continuation])
                    return nil
                }
            }
            if let known { continuation.resume(with: known) }
        }
    }
}
