import DequeModule

/// What one lane has in one queue. Only a ``FairQueue`` looks into it.
final class LaneQueue: @unchecked Sendable {
    fileprivate var waiting = Deque<Submission>()
    fileprivate var credit = 0
    /// Whose turns it has, as long as something waits.
    fileprivate var tenant: TenantQueue?
}

/// The lanes of one tenant that have something in one queue. Only a ``FairQueue`` looks into it.
final class TenantQueue: @unchecked Sendable {
    fileprivate let share: Int
    fileprivate var lanes = Deque<LaneQueue>()
    fileprivate var credit = 0

    init(share: Int) {
        precondition(share >= 1, "a tenant without a share would wait for ever")
        self.share = share
    }
}

/// Submissions that wait: within a lane first come, first served; the tenants in turn, each by its share, and within
/// a tenant its lanes in turn. So nobody waits behind all that another has sent, on however many connections it did.
///
/// (Deficit round robin, in two levels: M. Shreedhar, G. Varghese, "Efficient Fair Queueing using Deficit Round Robin",
/// SIGCOMM 1995. Taking one costs the same however many lanes there are.)
struct FairQueue {
    /// What a lane, or a tenant of share 1, may have taken in one turn. A turn suffices for any submission, which holds
    /// at most as many operations.
    private let turn: Int
    private let lane: @Sendable (Lane) -> LaneQueue
    private let tenant: @Sendable (Tenant) -> TenantQueue
    private let cost: @Sendable (Submission) -> Int
    /// The tenants that have something here; the first one's turn it is.
    private var tenants = Deque<TenantQueue>()
    /// How many submissions wait.
    private(set) var count = 0

    /// - Parameters:
    ///   - turn: at least the largest cost.
    ///   - lane: what a lane has in this queue.
    ///   - tenant: what a tenant has in this queue.
    ///   - cost: at least 1.
    init(
        turn: Int, lane: @escaping @Sendable (Lane) -> LaneQueue,
        tenant: @escaping @Sendable (Tenant) -> TenantQueue, cost: @escaping @Sendable (Submission) -> Int
    ) {
        self.turn = turn
        self.lane = lane
        self.tenant = tenant
        self.cost = cost
    }

    var isEmpty: Bool { count == 0 }

    /// A lane's turns are those of the tenant for whom it has asked first among what waits.
    mutating func append(_ submission: Submission) {
        let lane = lane(submission.lane)
        if lane.waiting.isEmpty {
            let tenant = tenant(submission.tenant)
            if tenant.lanes.isEmpty {
                tenant.credit = turn * tenant.share
                tenants.append(tenant)
            }
            lane.credit = turn
            lane.tenant = tenant
            tenant.lanes.append(lane)
        }
        lane.waiting.append(submission)
        count += 1
    }

    /// The next one in turn, which stays where it is.
    mutating func first() -> Submission? {
        while let tenant = tenants.first, let submission = first(of: tenant) {
            let cost = cost(submission)
            if cost <= tenant.credit { return submission }
            tenants.removeFirst()
            tenant.credit += turn * tenant.share
            tenants.append(tenant)
        }
        return nil
    }

    /// The next one in turn among a tenant's lanes.
    private func first(of tenant: TenantQueue) -> Submission? {
        while let lane = tenant.lanes.first, let submission = lane.waiting.first {
            let cost = cost(submission)
            precondition(cost <= turn, "a submission is longer than a turn")
            if cost <= lane.credit { return submission }
            tenant.lanes.removeFirst()
            lane.credit += turn
            tenant.lanes.append(lane)
        }
        return nil
    }

    /// Takes what ``first()`` gives.
    mutating func removeFirst() -> Submission {
        guard let submission = first(), let tenant = tenants.first, let lane = tenant.lanes.first else {
            preconditionFailure("nothing waits")
        }
        let cost = cost(submission)
        lane.waiting.removeFirst()
        lane.credit -= cost
        tenant.credit -= cost
        count -= 1
        if lane.waiting.isEmpty { tenant.lanes.removeFirst() }
        if tenant.lanes.isEmpty { tenants.removeFirst() }
        return submission
    }

    /// Takes all away that a lane has here.
    mutating func removeAll(of lane: Lane) -> [Submission] {
        let lane = self.lane(lane)
        defer { lane.waiting = Deque() }
        guard !lane.waiting.isEmpty, let tenant = lane.tenant else { return [] }
        tenant.lanes.removeAll { $0 === lane }
        if tenant.lanes.isEmpty { tenants.removeAll { $0 === tenant } }
        count -= lane.waiting.count
        return Array(lane.waiting)
    }
}
