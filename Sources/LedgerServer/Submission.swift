import NIOCore

/// A connection as the sequencer sees it.
///
/// `unverified` is read and written only under the sequencer's lock; the rest never changes.
final class Lane: @unchecked Sendable {
    let eventLoop: any EventLoop
    /// Called on `eventLoop`, with results in the order in which the operations were submitted.
    let deliver: @Sendable ([OperationResult]) -> Void
    /// Submissions that have not left the first stage.
    var unverified = 0

    init(eventLoop: any EventLoop, deliver: @escaping @Sendable ([OperationResult]) -> Void) {
        self.eventLoop = eventLoop
        self.deliver = deliver
    }
}

/// Operations of one connection that pass through the stages together.
struct Submission: Sendable {
    let lane: Lane
    var operations: [Operation]
    let signedCount: Int

    init(lane: Lane, operations: [Operation]) {
        self.lane = lane
        self.operations = operations
        signedCount = operations.reduce(0) { $0 + ($1.isSigned ? 1 : 0) }
    }
}
