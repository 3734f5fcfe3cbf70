/// A client as the sequencer sees it: an order of its own within the one order, and its turns in every queue.
final class Lane: Sendable {
    /// Where its answers are delivered.
    let outlet: Outlet
    /// Called on the outlet, with answers in the order in which the operations were submitted.
    let deliver: @Sendable ([Answer]) -> Void
    /// Called before that with the batch whose answers come, where batches are traced; `nil` where nobody asks.
    let noteCommit: (@Sendable (CommitTrace) -> Void)?
    /// `nil` where no other node leads its ledger, ever.
    let refusals: LaneRefusals?
    /// What of it waits for, or is in, each stage.
    let unverified = LaneQueue()
    let postponed = LaneQueue()
    let verified = LaneQueue()
    let doubt = LaneDoubt()

    init(
        outlet: Outlet, refusals: LaneRefusals? = nil, noteCommit: (@Sendable (CommitTrace) -> Void)? = nil,
        deliver: @escaping @Sendable ([Answer]) -> Void
    ) {
        self.outlet = outlet
        self.refusals = refusals
        self.noteCommit = noteCommit
        self.deliver = deliver
    }
}

/// Whether JWS of a lane have been refused lately more often than not. Only ``SequencerQueues`` looks into it.
final class LaneDoubt: @unchecked Sendable {
    /// Refused ones count up, and good ones down.
    private var refused = 0

    func note(_ verdicts: (refused: Int, good: Int), _ limits: EngineLimits) {
        refused = min(max(refused + verdicts.refused - verdicts.good, 0), 2 * limits.refusedPerDoubtMin)
    }

    func isDoubted(_ limits: EngineLimits) -> Bool { refused >= limits.refusedPerDoubtMin }
}
