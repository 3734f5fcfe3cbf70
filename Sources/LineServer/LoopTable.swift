import NIOConcurrencyHelpers
import NIOCore

/// What connections of one event loop have together, for all event loops.
final class LoopTable: Sendable {
    struct Loop: Sendable {
        let work: LoopWork
        let shares: LoopShares
    }

    private let loops = NIOLockedValueBox<[ObjectIdentifier: Loop]>([:])
    private let limits: ServerLimits

    init(limits: ServerLimits) { self.limits = limits }

    /// Called on the event loop.
    func loop(of eventLoop: any EventLoop) -> Loop {
        eventLoop.preconditionInEventLoop()
        return loops.withLockedValue { loops in
            if let known = loops[ObjectIdentifier(eventLoop)] { return known }
            let work = LoopWork(limits: limits, on: eventLoop)
            let shares = LoopShares(limits: limits, now: { eventLoop.now }, schedule: work.execute(at:_:))
            let new = Loop(work: work, shares: shares)
            loops[ObjectIdentifier(eventLoop)] = new
            return new
        }
    }
}
