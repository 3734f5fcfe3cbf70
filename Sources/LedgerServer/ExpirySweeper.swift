import Ledger
import NIOCore

/// Has the ledger post what has expired: once at the start, then at an interval, through the sequencer, so that each
/// sweep takes its place in the one order.
///
/// Not more than one sweep is in flight. One that found as many players as it may is followed by the next at once,
/// behind the requests that came meanwhile. Everything but `start` and `stop` happens on its event loop, which
/// serialises what changes.
final class ExpirySweeper: @unchecked Sendable {
    private let submit: @Sendable ([Operation], Lane) -> Void
    private let eventLoop: any EventLoop
    private let interval: TimeAmount
    private var lane: Lane?
    private var timer: Scheduled<Void>?
    private var isStopped = false

    convenience init(sequencer: Sequencer, eventLoop: any EventLoop, intervalMilliseconds: Int64) {
        self.init(eventLoop: eventLoop, intervalMilliseconds: intervalMilliseconds) { operations, lane in
            sequencer.submit(operations, from: lane)
        }
    }

    /// - Parameter submit: hands a sweep to the one order; its result comes to the lane.
    init(
        eventLoop: any EventLoop, intervalMilliseconds: Int64,
        submit: @escaping @Sendable ([Operation], Lane) -> Void
    ) {
        self.submit = submit
        self.eventLoop = eventLoop
        interval = .milliseconds(intervalMilliseconds)
        lane = Lane(eventLoop: eventLoop) { [weak self] results in self?.swept(results) }
    }

    /// Submits the first sweep before it returns. Called once.
    func start() { sweep() }

    /// Nothing is submitted once this has returned.
    func stop() async {
        await withCheckedContinuation { continuation in
            eventLoop.execute {
                self.isStopped = true
                self.timer?.cancel()
                continuation.resume()
            }
        }
    }

    private func sweep() {
        guard let lane else { preconditionFailure("a sweeper has its lane from the beginning") }
        submit([.command(.expire)], lane)
    }

    private func swept(_ results: [OperationResult]) {
        guard !isStopped else { return }
        if results.contains(where: ExpirySweeper.mayHaveLeftSome) {
            sweep()
        } else {
            timer = eventLoop.scheduleTask(in: interval) { self.sweep() }
        }
    }

    /// A sweep that failed is tried again at the next time, as a commit's failure was logged already.
    private static func mayHaveLeftSome(_ result: OperationResult) -> Bool {
        guard case .outcome(.expired(let players)) = result else { return false }
        return players >= Limits.expirationsPerBatchMax
    }
}
