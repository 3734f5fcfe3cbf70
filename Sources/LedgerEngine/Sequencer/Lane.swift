/// A client as the sequencer sees it: an order of its own within the one order, and a share of every queue.
final class Lane: Sendable {
    /// Where its answers are delivered.
    let outlet: Outlet
    /// Called on the outlet, with answers in the order in which the operations were submitted.
    let deliver: @Sendable ([Answer]) -> Void
    /// What of it waits for, or is in, each stage.
    let unverified: LaneQueue
    let postponed: LaneQueue
    let verified: LaneQueue

    /// - Parameter share: how much of a queue it is given for what another lane of share 1 is given; at least 1.
    init(share: Int = 1, outlet: Outlet, deliver: @escaping @Sendable ([Answer]) -> Void) {
        self.outlet = outlet
        self.deliver = deliver
        unverified = LaneQueue(share: share)
        postponed = LaneQueue(share: share)
        verified = LaneQueue(share: share)
    }
}

/// Operations of one lane that pass through the stages together. A read is the last of them.
struct Submission: Sendable {
    let lane: Lane
    var operations: [LedgerOperation]
    /// Where the last of them is a read: told, once everything before it was handed to the outlet, that it may begin;
    /// or nothing, where it was answered with the others.
    let readEnded: (@Sendable (Query?) -> Void)?
    let signedCount: Int
    let hasPromotion: Bool
    /// Its place among those of its lane that are in the first stage.
    var place = 0
    /// Whether a JWS of it waits for certificates to be verified that were not seen before.
    var isPostponed = false

    init(lane: Lane, operations: [LedgerOperation], readEnded: (@Sendable (Query?) -> Void)? = nil) {
        self.lane = lane
        self.operations = operations
        self.readEnded = readEnded
        hasPromotion = operations.contains(where: \.isPromotion)
        signedCount = operations.reduce(0) { $0 + ($1.isSigned ? 1 : 0) }
    }
}
