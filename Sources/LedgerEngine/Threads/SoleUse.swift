import Synchronization

/// Checks that something is used by one caller at a time: where two threads meet in it the process ends, for what they
/// would leave behind cannot be trusted.
final class SoleUse: Sendable {
    private let isUsed = Atomic(false)

    func during<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        precondition(!isUsed.exchange(true, ordering: .acquiring), "two threads are in what one may use at a time")
        defer { isUsed.store(false, ordering: .releasing) }
        return try body()
    }
}
