import Ledger

/// What of a batch was decided, and what is left of it.
struct BatchPart: Sendable {
    /// What was decided; of the last one perhaps its first operations only.
    private(set) var submissions: [Submission] = []
    /// For each of them how many transfers it made; empty before anything is decided.
    private var transfers: [Int64] = []
    var rest: [Submission] = []
    /// How long it took until it was decided.
    var nanoseconds: UInt64 = 0
    /// How many operations were decided, and the nanoseconds of a core that it took.
    var work: (operations: Int, core: UInt64) = (0, 0)
    /// Where the books stood then, where that is traced.
    var position: LastNumbers?

    init() {}

    /// All of a batch, of which nothing is decided yet.
    init(_ batch: [Submission]) { submissions = batch }

    /// Adds a submission of which so many operations were decided.
    mutating func add(_ submission: Submission, decidedCount: Int, transfers: Int64) {
        var submission = submission
        if decidedCount < submission.operations.count { rest.append(submission.cut(after: decidedCount)) }
        submissions.append(submission)
        self.transfers.append(transfers)
    }

    /// What the lanes owe whose operations made many transfers, in operations.
    /// - Parameter operationTransfers: how many cost as much as an operation.
    func dear(operationTransfers: Int) -> [(lane: Lane, cost: Int)] {
        zip(submissions, transfers).compactMap { submission, transfers in
            let cost = Int(transfers) / operationTransfers - submission.operations.count
            return cost > 0 ? (submission.lane, cost) : nil
        }
    }
}
