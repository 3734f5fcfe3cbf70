import Synchronization

/// Has something used by one caller at a time. Where two threads meet in it they wait for each other, where they may
/// meet; otherwise the process ends, for what they would leave behind cannot be trusted.
final class SoleUse: Sendable {
    private let isUsed = Atomic(false)
    /// Where callers wait for each other.
    private let turn: Monitor<Void>?

    /// - Parameter waits: whether callers wait for each other.
    init(waits: Bool = false) { turn = waits ? Monitor(()) : nil }

    /// Not to be called within its own body.
    func during<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let turn else { return try check(body) }
        let result = turn.withLock { _ in Swift.Result { () throws(Failure) in try check(body) } }
        return try result.get()
    }

    private func check<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        precondition(!isUsed.exchange(true, ordering: .acquiring), "two threads are in what one may use at a time")
        defer { isUsed.store(false, ordering: .releasing) }
        return try body()
    }
}
