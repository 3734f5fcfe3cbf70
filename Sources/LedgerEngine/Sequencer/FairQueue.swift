import DequeModule

/// What one lane has in one queue. Only a ``FairQueue`` looks into it.
final class LaneQueue: @unchecked Sendable {
    fileprivate let share: Int
    fileprivate var waiting = Deque<Submission>()
    /// What may be taken from it before the next lane has its turn.
    fileprivate var credit = 0

    init(share: Int) {
        precondition(share >= 1, "a lane without a share would wait for ever")
        self.share = share
    }
}

/// Submissions that wait: within a lane first come, first served; the lanes in turn, each by its share, so that none
/// waits behind all that another has sent.
///
/// (Deficit round robin: M. Shreedhar, G. Varghese, "Efficient Fair Queueing using Deficit Round Robin", SIGCOMM 1995.
/// Taking one costs the same however many lanes there are.)
struct FairQueue {
    /// What a lane of share 1 may have taken in one turn. A turn suffices for any submission, which holds at most as
    /// many operations.
    private let turn: Int
    private let lane: @Sendable (Submission) -> LaneQueue
    private let cost: @Sendable (Submission) -> Int
    /// The lanes that have something here; the first one's turn it is.
    private var lanes = Deque<LaneQueue>()
    /// How many submissions wait.
    private(set) var count = 0

    /// - Parameters:
    ///   - turn: at least the largest cost.
    ///   - lane: what a submission's lane has in this queue.
    ///   - cost: at least 1.
    init(
        turn: Int, lane: @escaping @Sendable (Submission) -> LaneQueue, cost: @escaping @Sendable (Submission) -> Int
    ) {
        self.turn = turn
        self.lane = lane
        self.cost = cost
    }

    var isEmpty: Bool { count == 0 }

    mutating func append(_ submission: Submission) {
        let lane = lane(submission)
        if lane.waiting.isEmpty {
            lane.credit = turn * lane.share
            lanes.append(lane)
        }
        lane.waiting.append(submission)
        count += 1
    }

    /// The next one in turn, which stays where it is.
    mutating func first() -> Submission? {
        while let lane = lanes.first, let submission = lane.waiting.first {
            let cost = cost(submission)
            if cost <= lane.credit { return submission }
            precondition(cost <= turn * lane.share, "a submission is longer than a turn")
            lanes.removeFirst()
            lane.credit += turn * lane.share
            lanes.append(lane)
        }
        return nil
    }

    /// Takes all away that a lane has here.
    mutating func removeAll(of lane: LaneQueue) -> [Submission] {
        defer { lane.waiting = Deque() }
        if lane.waiting.isEmpty { return [] }
        lanes.removeAll { $0 === lane }
        count -= lane.waiting.count
        return Array(lane.waiting)
    }

    /// Takes what ``first()`` gives.
    mutating func removeFirst() -> Submission {
        guard let submission = first(), let lane = lanes.first else { preconditionFailure("nothing waits") }
        lane.waiting.removeFirst()
        lane.credit -= cost(submission)
        count -= 1
        if lane.waiting.isEmpty { lanes.removeFirst() }
        return submission
    }
}
