import NIOConcurrencyHelpers
import NIOCore

/// What is done on one event loop, but for what is read there: answers that other threads hand over, and turns that had
/// to wait. After some of it the loop pauses for a moment, in which it reads.
///
/// NIO looks at its sockets only when nothing is left to be done on the loop, whatever is handed over meanwhile. So
/// while answers of some clients come without a pause, nobody else would be heard.
///
/// Work is handed over by any thread; all else is touched on the event loop only, which `now` and `schedule` belong to.
final class LoopWork: @unchecked Sendable {
    typealias Work = @Sendable () -> Void

    private struct Handed {
        var queue = CircularBuffer<Work>()
        /// Whether the loop was told, and will look.
        var isAwaited = false
    }

    private let limits: ServerLimits
    private let now: () -> NIODeadline
    private let schedule: (NIODeadline, @escaping () -> Void) -> Void
    private let wake: (@escaping Work) -> Void
    private let handed = NIOLockedValueBox(Handed())
    /// What was used since the last pause, or since the loop had nothing to do for as long.
    private var used = TimeAmount.zero
    private var lastEnd = NIODeadline.distantPast
    private var pausesUntil = NIODeadline.distantPast

    /// - Parameters:
    ///   - schedule: calls something at a time, not before.
    ///   - wake: calls something on the event loop soon, and is called from any thread.
    init(
        limits: ServerLimits, now: @escaping () -> NIODeadline,
        schedule: @escaping (NIODeadline, @escaping () -> Void) -> Void, wake: @escaping (@escaping Work) -> Void
    ) {
        self.limits = limits
        self.now = now
        self.schedule = schedule
        self.wake = wake
    }

    convenience init(limits: ServerLimits, on eventLoop: any EventLoop) {
        self.init(limits: limits, now: { eventLoop.now }) { time, work in
            _ = eventLoop.assumeIsolated().scheduleTask(deadline: time, work)
        } wake: {
            eventLoop.execute($0)
        }
    }

    /// Has something done behind all that was handed over before, and not before this returns. Called from any thread.
    func execute(_ work: @escaping Work) {
        let isAwaited = handed.withLockedValue { handed in
            defer { handed.isAwaited = true }
            handed.queue.append(work)
            return handed.isAwaited
        }
        if !isAwaited { wake { self.doHanded() } }
    }

    /// Has something done at a time, or soon behind it.
    func execute(at time: NIODeadline, _ work: @escaping () -> Void) {
        schedule(time) {
            let begin = self.now()
            if begin < self.pausesUntil { return self.execute(at: self.pausesUntil, work) }
            work()
            self.note(since: begin)
        }
    }

    private func doHanded() {
        var begin = now()
        while begin >= pausesUntil {
            let next = handed.withLockedValue { handed in
                if handed.queue.isEmpty { handed.isAwaited = false }
                return handed.queue.popFirst()
            }
            guard let next else { return }
            next()
            note(since: begin)
            begin = lastEnd
        }
        schedule(pausesUntil) { self.doHanded() }
    }

    private func note(since begin: NIODeadline) {
        let idle = begin - lastEnd
        lastEnd = now()
        used = max(.zero, used - idle) + (lastEnd - begin)
        if used.nanoseconds < limits.loopTurnNanoseconds { return }
        used = .zero
        pausesUntil = lastEnd + .nanoseconds(limits.loopPauseNanosecondsMin)
    }
}
