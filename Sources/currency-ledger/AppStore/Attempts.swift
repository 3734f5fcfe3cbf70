import Ledger

/// Which rows failed, how often, and when each is tried again: after a random time below a bound that doubles each
/// time ("full jitter"), so that what failed together does not come again together. Time and chance are passed in.
struct Attempts: Sendable {
    /// What a row that failed waits for.
    struct Wait: Hashable, Sendable {
        var failures = 0
        var notBefore: Timestamp = 0
    }

    /// Milliseconds below which the first wait is.
    static let waitMilliseconds: Int64 = 5_000
    /// Milliseconds below which any wait is.
    static let waitMillisecondsMax: Int64 = 900_000
    /// Failures of a row from which on it is no accident: the operator is told of it.
    static let lastingFailures = 4

    private(set) var waits: [Int64: Wait] = [:]
    /// Why the one that failed last did; `nil` where none has.
    private(set) var reason: String?

    /// Whether it is tried now: it never failed, or has waited.
    func isDue(_ number: Int64, at now: Timestamp) -> Bool { waits[number].map { $0.notBefore <= now } ?? true }

    /// It failed.
    /// - Parameters:
    ///   - until: when Apple asks to be told again, where it says so: the wait is not shorter, but ``waitMax`` at most.
    ///   - waitMax: a lower bound than the row's own, where its time runs out.
    ///   - jitter: a random number within 0 … its argument.
    mutating func fail(
        _ number: Int64, _ reason: String, at now: Timestamp, until: Timestamp? = nil,
        waitMax: Int64 = waitMillisecondsMax, jitter: (Int64) -> Int64
    ) {
        self.reason = reason
        var wait = waits[number] ?? Wait()
        // The bound is reached long before a shift of 16.
        let own = Attempts.waitMilliseconds << Int64(min(wait.failures, 16))
        let waitMax = min(waitMax, Attempts.waitMillisecondsMax)
        let bound = min(waitMax, own)
        wait.failures += 1
        // Never in the same moment, so that what failed is not due once more in the look in which it did.
        wait.notBefore = now + 1 + max(jitter(bound), min(waitMax, (until ?? now) - now))
        waits[number] = wait
    }

    /// Nothing is to be done of it any more.
    mutating func settle(_ number: Int64) { waits[number] = nil }

    /// Rows that failed again and again.
    var lasting: Int { waits.values.count { $0.failures >= Attempts.lastingFailures } }

    /// What is to be said of the rows that failed again and again: how many they are when there are some, and when they
    /// have become twice as many; 0 when there are none any more; `nil` where nothing is to be said.
    /// - Parameter said: what was said last.
    func news(since said: Int) -> Int? {
        let count = lasting
        if count == 0 { return said > 0 ? 0 : nil }
        return said == 0 || count >= 2 * said ? count : nil
    }
}
