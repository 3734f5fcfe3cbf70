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
