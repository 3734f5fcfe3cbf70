/// Whether Apple can be told of anything, by how the calls of one look went. That those for one group of rows fail may
/// be these rows' fault, so one row from further on is tried: where that fails too, Apple is taken to be unreachable.
struct Reach {
    /// How the call for a row ended.
    enum End {
        /// Apple took it, or refused it for good.
        case answered
        /// Apple refuses this purchase for now, and may take others.
        case refused(any Error)
        /// There was no answer, or none that is of this purchase alone.
        case failed(any Error)
    }

    /// Rows that are told of at the same time. Apple allows 50 calls a second of a kind.
    static let groupMax = 8

    /// Whether Apple answered anything.
    private(set) var hasAnswered = false
    /// Why the last row could not be told of.
    private(set) var lastError: (any Error)?
    /// Why all calls since the last answer failed.
    private var reason: (any Error)?
    private var failures = 0

    /// How many rows are told of next.
    var groupMax: Int { reason == nil ? Reach.groupMax : 1 }

    /// Notes how the calls for a group of rows ended.
    /// - Throws: the first error, where Apple is taken to be unreachable: nothing further is told then.
    mutating func note(_ ends: [End]) throws {
        if ends.isEmpty { return }
        var isAnswered = false
        var first: (any Error)?
        for end in ends {
            switch end {
            case .answered: isAnswered = true
            case .refused(let error):
                isAnswered = true
                lastError = error
            case .failed(let error):
                first = first ?? error
                lastError = error
            }
        }
        guard let first, !isAnswered else {
            hasAnswered = true
            reason = nil
            failures = 0
            return
        }
        failures += ends.count
        if let reason { throw reason }
        reason = first
    }

    /// The look is over.
    /// - Throws: where several rows were tried last, and none could be told of.
    func end() throws { if let reason, failures > 1 { throw reason } }
}
