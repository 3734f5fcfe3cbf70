import NIOConcurrencyHelpers

/// A value that one task waits for and that one of several others gives: the first one counts.
final class OneShot<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiter: CheckedContinuation<Value, Never>?
    }

    private let state = NIOLockedValueBox(State())

    var isGiven: Bool { state.withLockedValue { $0.value != nil } }

    /// Gives the value unless there is one, and tells whether it did. `value` is made under the lock.
    @discardableResult
    func give(_ value: @autoclosure () -> Value) -> Bool {
        let (given, waiter) = state.withLockedValue { state -> (Value?, CheckedContinuation<Value, Never>?) in
            guard state.value == nil else { return (nil, nil) }
            let value = value()
            state.value = value
            defer { state.waiter = nil }
            return (value, state.waiter)
        }
        guard let given else { return false }
        waiter?.resume(returning: given)
        return true
    }

    /// Runs `body` under the lock unless there is a value, and tells whether it did.
    func whileOpen(_ body: () -> Void) -> Bool {
        state.withLockedValue { state in
            guard state.value == nil else { return false }
            body()
            return true
        }
    }

    /// The value, when it is there. Called once. `cancel` is to give one: it runs where the waiting task is cancelled.
    func value(onCancel cancel: @escaping @Sendable () -> Void) async -> Value {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let given = state.withLockedValue { state -> Value? in
                    if state.value == nil { state.waiter = continuation }
                    return state.value
                }
                if let given { continuation.resume(returning: given) }
            }
        } onCancel: {
            cancel()
        }
    }
}
