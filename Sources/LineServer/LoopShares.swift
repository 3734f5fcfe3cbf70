import LedgerEngine
import NIOConcurrencyHelpers
import NIOCore

/// Shares the time of one event loop between tenants: what their clients have sent is looked at in turns.
///
/// A line is cheap to send, and may be dear to read. So a tenant whose clients have kept the loop for some time waits
/// until the others may have had theirs: of two tenants of one share, one that sends without end has half of the
/// loop's time. A tenant that is alone waits for just so long that the loop can see whether anybody else has come.
///
/// It is touched on its event loop only, which `schedule` and `now` belong to.
final class LoopShares: @unchecked Sendable {
    /// Who sends. All that have not authenticated are one.
    private struct Use {
        let share: Int
        /// What it has used since it last waited.
        var used = TimeAmount.zero
        var lastUse: NIODeadline
        var waitsUntil = NIODeadline.distantPast
        var waiting = CircularBuffer<() -> Void>()
    }

    private let limits: ServerLimits
    private let now: () -> NIODeadline
    private let schedule: (NIODeadline, @escaping () -> Void) -> Void
    private var uses: [ObjectIdentifier?: Use] = [:]

    /// - Parameter schedule: calls something at a time, not before.
    init(
        limits: ServerLimits, now: @escaping () -> NIODeadline,
        schedule: @escaping (NIODeadline, @escaping () -> Void) -> Void
    ) {
        self.limits = limits
        self.now = now
        self.schedule = schedule
    }

    /// Does `work` for a client of `tenant` when its turn comes: mostly at once.
    func run(for tenant: Tenant?, _ work: @escaping () -> Void) {
        let id = tenant.map { ObjectIdentifier($0) }
        let begin = now()
        if let use = uses[id], !use.waiting.isEmpty || use.waitsUntil > begin {
            uses[id]?.waiting.append(work)
            if use.waiting.isEmpty { schedule(use.waitsUntil) { self.resume(id) } }
            return
        }
        work()
        charge(tenant, since: begin)
    }

    /// Counts what was done for a client of `tenant` and could not wait.
    func charge(_ tenant: Tenant?, since begin: NIODeadline) {
        charge(tenant.map { ObjectIdentifier($0) }, share: tenant?.share ?? 1, since: begin)
    }

    private func resume(_ id: ObjectIdentifier?) {
        guard let use = uses[id], let work = uses[id]?.waiting.popFirst() else { return }
        let begin = now()
        work()
        charge(id, share: use.share, since: begin)
        guard let use = uses[id], !use.waiting.isEmpty else { return }
        schedule(use.waitsUntil) { self.resume(id) }
    }

    private func charge(_ id: ObjectIdentifier?, share: Int, since begin: NIODeadline) {
        let end = now()
        var use = uses[id] ?? Use(share: share, lastUse: end)
        use.lastUse = end
        use.used = use.used + (end - begin)
        if use.used >= .nanoseconds(limits.loopTurnNanoseconds) {
            let pause = use.used.nanoseconds * Int64(othersShares(id, at: end)) / Int64(share)
            use.waitsUntil = end + .nanoseconds(max(pause, limits.loopPauseNanosecondsMin))
            use.used = .zero
        }
        uses[id] = use
    }

    /// The shares of the others that were active lately. Those that were not, and wait for nothing, are forgotten.
    private func othersShares(_ id: ObjectIdentifier?, at time: NIODeadline) -> Int {
        let from = time - .milliseconds(limits.loopActiveMilliseconds)
        uses = uses.filter { $0.value.lastUse >= from || !$0.value.waiting.isEmpty || $0.key == id }
        return uses.reduce(0) { $0 + ($1.key == id ? 0 : $1.value.share) }
    }

    /// Those of all event loops.
    final class Table: Sendable {
        private let loops = NIOLockedValueBox<[ObjectIdentifier: LoopShares]>([:])
        private let limits: ServerLimits

        init(limits: ServerLimits) { self.limits = limits }

        /// Called on the event loop.
        func shares(of eventLoop: any EventLoop) -> LoopShares {
            eventLoop.preconditionInEventLoop()
            return loops.withLockedValue { loops in
                if let known = loops[ObjectIdentifier(eventLoop)] { return known }
                let new = LoopShares(limits: limits, now: { eventLoop.now }) { time, work in
                    _ = eventLoop.assumeIsolated().scheduleTask(deadline: time, work)
                }
                loops[ObjectIdentifier(eventLoop)] = new
                return new
            }
        }
    }
}
