import DequeModule

/// What one lane has in one queue. Only a ``FairQueue`` looks into it.
final class LaneQueue: TurnTaker, @unchecked Sendable {
    fileprivate var waiting = Deque<Submission>()
    /// Whose turns it has.
    fileprivate var tenant: TenantQueue?
    var credit = 0
    var takesTurns = false

    var hasSome: Bool { !waiting.isEmpty }
    var quantum: Int { FairQueue.quantum }
}

/// What the lanes of one tenant have in one queue. Only a ``FairQueue`` looks into it.
final class TenantQueue: TurnTaker, @unchecked Sendable {
    private let share: Int
    fileprivate var lanes = Turns<LaneQueue>()
    /// How many submissions its lanes have.
    fileprivate var count = 0
    var credit = 0
    var takesTurns = false

    var hasSome: Bool { count > 0 }
    var quantum: Int { FairQueue.quantum * share }

    init(share: Int) {
        precondition(share >= 1, "a tenant without a share would wait for ever")
        self.share = share
    }
}

/// Submissions that wait: within a lane first come, first served; the tenants in turn, each by its share, and within
/// a tenant its lanes in turn. So nobody waits behind all that another has sent, on however many connections it did.
struct FairQueue {
    /// What the turn of a lane, or of a tenant of share 1, is worth. Short, for others wait meanwhile; a submission
    /// that costs more is paid with turns to come.
    static let quantum = 16

    private let lane: @Sendable (Lane) -> LaneQueue
    private let tenant: @Sendable (Tenant) -> TenantQueue
    private let cost: @Sendable (Submission) -> Int
    private var tenants = Turns<TenantQueue>()
    /// How many submissions wait.
    private(set) var count = 0

    /// - Parameters:
    ///   - lane: what a lane has in this queue.
    ///   - tenant: what a tenant has in this queue.
    ///   - cost: at least 1.
    init(
        lane: @escaping @Sendable (Lane) -> LaneQueue, tenant: @escaping @Sendable (Tenant) -> TenantQueue,
        cost: @escaping @Sendable (Submission) -> Int
    ) {
        self.lane = lane
        self.tenant = tenant
        self.cost = cost
    }

    var isEmpty: Bool { count == 0 }

    /// A lane's turns are those of the tenant for whom the first was asked of all that waits.
    mutating func append(_ submission: Submission) {
        let lane = lane(submission.lane)
        if lane.waiting.isEmpty {
            let tenant = tenant(submission.tenant)
            if lane.tenant !== tenant { lane.tenant?.lanes.remove(lane) }
            lane.tenant = tenant
        }
        guard let tenant = lane.tenant else { preconditionFailure("a lane has no tenant") }
        lane.waiting.append(submission)
        tenant.lanes.add(lane)
        tenant.count += 1
        tenants.add(tenant)
        count += 1
    }

    /// The next one in turn, which stays where it is.
    mutating func first() -> Submission? { tenants.first()?.lanes.first()?.waiting.first }

    /// Takes what ``first()`` gives.
    mutating func removeFirst() -> Submission {
        guard let tenant = tenants.first(), let lane = tenant.lanes.first(), let submission = lane.waiting.popFirst()
        else { preconditionFailure("nothing waits") }
        let cost = cost(submission)
        lane.credit -= cost
        tenant.credit -= cost
        tenant.count -= 1
        count -= 1
        return submission
    }

    /// What was taken of a lane has cost more than was known then: that is paid with turns to come.
    func charge(_ lane: Lane, _ cost: Int) {
        let lane = self.lane(lane)
        lane.credit -= cost
        lane.tenant?.credit -= cost
    }

    /// Takes all away that a lane has here.
    mutating func removeAll(of lane: Lane) -> [Submission] {
        let lane = self.lane(lane)
        defer { lane.waiting = Deque() }
        guard let tenant = lane.tenant else { return [] }
        tenant.lanes.remove(lane)
        tenant.count -= lane.waiting.count
        count -= lane.waiting.count
        return Array(lane.waiting)
    }
}
