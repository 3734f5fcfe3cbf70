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

/// Whether the last JWS of a lane were forged more often than not. Only ``SequencerQueues`` looks into it.
final class LaneDoubt: @unchecked Sendable {
    /// Forged ones count up, and good ones down.
    private var forged = 0

    /// Told in the order in which they came.
    func note(_ verdicts: Submission.Verdicts, _ limits: EngineLimits) {
        forged = min(max(forged + verdicts.forged - verdicts.good, 0), 2 * limits.forgedPerDoubtMin)
    }

    func isDoubted(_ limits: EngineLimits) -> Bool { forged >= limits.forgedPerDoubtMin }
}
