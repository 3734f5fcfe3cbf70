import Ledger

/// How long the next look at the ledger waits.
enum Pace {
    /// Milliseconds from one look to the next.
    static let milliseconds: Int64 = 5_000
    /// Milliseconds up to which the next look waits while Apple cannot be told of anything.
    static let millisecondsMax: Int64 = 300_000

    /// - Parameters:
    ///   - failures: looks in a row in which Apple could not be told of anything.
    ///   - deadline: after which the first of what is open cannot be told any more.
    static func wait(failures: Int, deadline: Timestamp?, at now: Timestamp) -> Int64 {
        let wait = min(millisecondsMax, milliseconds << Int64(min(failures, 16)))
        return min(wait, deadline.map { milliseconds(before: $0, at: now) } ?? wait)
    }

    /// What Apple asks to be waited for, where it takes no more calls for now.
    /// - Parameters:
    ///   - until: when it takes calls again; where nothing says that (as of a proxy), the wait grows as after failures.
    ///   - limits: looks in a row in which it took none, and named no time.
    static func wait(until: Timestamp?, limits: Int, deadline: Timestamp?, at now: Timestamp) -> Int64 {
        guard let until else { return wait(failures: limits, deadline: deadline, at: now) }
        return min(millisecondsMax, max(1_000, until - now))
    }

    /// Half of what is left until a deadline: so there are the more attempts the nearer it is, and some before it.
    static func milliseconds(before deadline: Timestamp, at now: Timestamp) -> Int64 {
        max(milliseconds, (deadline - now) / 2)
    }
}
