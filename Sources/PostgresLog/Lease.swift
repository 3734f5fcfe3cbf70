#if Postgres
/// What a leader knows of its own lease. Times are of one machine's monotonic clock, in nanoseconds.
struct Lease: Hashable {
    private let nanoseconds: UInt64
    /// Before the statement was sent that renewed it: whoever saw that statement's commit saw it later.
    private var begin: UInt64

    init(milliseconds: Int, begin: UInt64) {
        nanoseconds = UInt64(milliseconds) * 1_000_000
        self.begin = begin
    }

    mutating func renew(_ begin: UInt64) { self.begin = max(begin, self.begin) }

    /// Until when nobody else leads.
    var end: UInt64 { begin + nanoseconds / 100 * PostgresLogLimits.leasePercent }

    /// Whether it is time to renew it.
    func isDue(at now: UInt64) -> Bool { now >= begin + nanoseconds / 100 * PostgresLogLimits.renewalPercent }
}

/// What the leader's row says.
package struct PostgresLeader: Hashable, Sendable {
    /// Grows by one with each taking of the lead; not below the term of any block.
    package var reign: Int64
    package var node: String
    /// Where the node is reached.
    package var address: String
    /// 0 where nobody leads: the leader gave the lead back.
    package var leaseMilliseconds: Int64
    /// Grows by one with each renewal.
    var renewals: Int64
    /// The leader's session: a process of the server, and when it began, in the server's microseconds.
    var backendPID: Int64
    var backendStart: Int64
    /// Where the ledger is since it was moved away from here; empty while it is here.
    package var movedTo = ""
}

/// One taking of the lead, as the leader's row has it until the next. Terms alone do not tell two of them apart: where
/// the database loses the commit of one, or somebody lowers the row's term, the next has the same term or a lower one.
struct PostgresTaking: Hashable, Sendable {
    var reign: Int64 = 0
    /// The session that took it, which is no other's.
    var backendPID: Int64 = 0
    var backendStart: Int64 = 0

    /// As ``LogStanding/taking`` says it: other words for each taking.
    var words: String { "\(reign) \(backendPID) \(backendStart)" }
}

extension PostgresLeader {
    var taking: PostgresTaking {
        PostgresTaking(reign: reign, backendPID: backendPID, backendStart: backendStart)
    }
}

/// What a challenger knows of another's lease: when it first saw what it sees still. It compares no clocks. Whoever
/// looks at the leader's row tells it: a challenger that has watched for a whole lease does not begin anew.
struct LeaseWatch {
    enum Finding: Hashable {
        /// The lease ran out, or there is none.
        case over
        /// It may run still.
        case runs
        /// The leader was heard of since the watch began, or there is another.
        case renewed
    }

    private var first: (leader: PostgresLeader, time: UInt64)?

    /// - Parameters:
    ///   - isOwn: whether the row is of this process's last taking: of its own lease it knows itself. Another of the
    ///     same name is as any other: it may be cut off, and not know yet that this one was started in its place.
    ///   - asked: a time before the row was read. Only at that time the lease had not been renewed for certain: where
    ///     the challenger stood still since, it may have been.
    ///   - now: a time after the row was read.
    mutating func see(_ leader: PostgresLeader, isOwn: Bool, asked: UInt64, now: UInt64) -> Finding {
        if leader.leaseMilliseconds == 0 || isOwn { return .over }
        guard let first else {
            first = (leader, now)
            return .runs
        }
        if first.leader != leader {
            self.first = (leader, now)
            return .renewed
        }
        return asked >= first.time + UInt64(leader.leaseMilliseconds) * 1_000_000 ? .over : .runs
    }
}
#endif
