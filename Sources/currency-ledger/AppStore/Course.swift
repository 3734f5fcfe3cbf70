import Ledger

/// How the last looks at the ledger went: what the operator is told of that, and how long the next one waits.
struct Course: Sendable {
    /// How a look ended.
    enum End {
        /// Apple was told what there was to tell, but for rows that wait.
        /// - hasAnswered: whether Apple answered anything.
        case told(hasAnswered: Bool)
        /// Apple takes no more calls for now, and may have named a time to come again.
        /// - hasAnswered: whether it took any before.
        case limited(until: Timestamp?, hasAnswered: Bool)
        /// Apple is taken to be unreachable.
        /// - hasAnswered: whether it answered anything before.
        case unreachable(hasAnswered: Bool)
        /// The ledger could not be read or written, which is no fault of Apple's.
        case ledgerFailed
    }

    /// What the operator is told.
    enum News: Hashable {
        case unreachable, reachable, ledgerFailed, ledgerWorks
    }

    /// Looks in a row in which Apple could not be told of anything.
    private var failures = 0
    /// Whether the last look ended because Apple took no more calls.
    private var isLimited = false
    /// Looks in a row in which it took none, and named no time.
    private var limits = 0
    /// Looks in a row in which the ledger failed.
    private var faults = 0
    private var until: Timestamp?

    /// A look has ended.
    /// - Returns: what is to be said of it: each once until it changes.
    mutating func note(_ end: End) -> [News] {
        var news: [News] = []
        if case .ledgerFailed = end {
            if faults == 0 { news.append(.ledgerFailed) }
            faults += 1
        } else {
            if faults > 0 { news.append(.ledgerWorks) }
            faults = 0
        }
        if case .limited(let time, let hasAnswered) = end {
            (isLimited, until) = (true, time)
            limits = time == nil && !hasAnswered ? limits + 1 : 0
        } else {
            (isLimited, until, limits) = (false, nil, 0)
        }
        switch end {
        case .told(hasAnswered: true), .limited:
            if failures > 0 { news.append(.reachable) }
            failures = 0
        case .unreachable(let hasAnswered):
            if failures == 0 { news.append(.unreachable) }
            failures = hasAnswered ? 1 : failures + 1
        case .told(hasAnswered: false), .ledgerFailed: break
        }
        return news
    }

    /// Milliseconds until the next look.
    /// - Parameter deadline: after which the first of what is open cannot be told any more.
    func wait(deadline: Timestamp?, at now: Timestamp) -> Int64 {
        if isLimited { return Pace.wait(until: until, limits: limits, deadline: deadline, at: now) }
        return Pace.wait(failures: max(failures, faults), deadline: deadline, at: now)
    }
}
