import Ledger

/// Whether Apple can be told of anything, by how the calls of one look went. That those for one group of rows fail may
/// be these rows' fault, so one row from further on is tried: where that fails too, Apple is taken to be unreachable.
struct Reach {
    /// How the call for a row ended.
    enum End {
        /// Apple took it, or refused it for good.
        case answered
        /// Apple refuses this purchase for now, and may take others.
        case refused(any Error)
        /// Apple's server failed (500 and above): of this purchase, or of all.
        case serverFailed(any Error)
        /// There were too many calls, and Apple may have named a time to come again.
        case limited(until: Timestamp?)
        /// There was no answer, or none that is of this purchase alone.
        case failed(any Error)
    }

    /// Apple is taken to be unreachable.
    struct Unreachable: Error {
        let reason: any Error
        /// Whether it answered anything in the look.
        let hasAnswered: Bool
    }

    /// Apple takes no more calls for now. That is no failure of the rows.
    struct Limited: Error {
        let until: Timestamp?
        /// Whether it took anything in the look.
        let hasAnswered: Bool
    }

    /// Rows that are told of at the same time. Apple allows 50 calls a second of a kind.
    static let groupMax = 8
    /// Rows of which Apple's server fails, or says nothing beside such ones, one after the other, until it is taken to
    /// fail for all.
    static let serverFailuresMax = 200

    /// Whether Apple answered anything.
    private(set) var hasAnswered = false
    /// Why the last row could not be told of.
    private var lastError: (any Error)?
    /// Why all calls since the last answer failed.
    private var reason: (any Error)?
    private var failures = 0
    private var serverFailures = 0

    /// How many rows are told of next.
    var groupMax: Int { reason == nil ? Reach.groupMax : 1 }

    /// Notes how the calls for a group of rows ended.
    /// - Throws: ``Unreachable`` or ``Limited``: nothing further is told then.
    mutating func note(_ ends: [End]) throws {
        if ends.isEmpty { return }
        var isAnswered = false
        var hasServerFailed = false
        var isLimited = false
        var until: Timestamp?
        var first: (any Error)?
        for end in ends {
            switch end {
            case .answered: isAnswered = true
            case .refused(let error):
                isAnswered = true
                lastError = error
            case .serverFailed(let error):
                hasServerFailed = true
                lastError = error
            case .limited(let time):
                isLimited = true
                until = [until, time].compactMap(\.self).max()
            case .failed(let error):
                first = first ?? error
                lastError = error
            }
        }
        if isAnswered {
            hasAnswered = true
            serverFailures = 0
        } else if hasServerFailed {
            // Those that had no answer at all beside it count as well: each took its time.
            serverFailures += ends.count
        }
        if isLimited { throw Limited(until: until, hasAnswered: hasAnswered) }
        if serverFailures >= Reach.serverFailuresMax, let lastError { throw unreachable(lastError) }
        guard let first, !isAnswered, !hasServerFailed else {
            reason = nil
            failures = 0
            return
        }
        failures += ends.count
        if let reason { throw unreachable(reason) }
        reason = first
    }

    /// The look is over.
    /// - Throws: where several rows were tried last, and none could be told of.
    func end() throws { if let reason, failures > 1 { throw unreachable(reason) } }

    private func unreachable(_ reason: any Error) -> Unreachable {
        Unreachable(reason: reason, hasAnswered: hasAnswered)
    }
}
