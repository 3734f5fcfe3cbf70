import NIOConcurrencyHelpers
import NIOCore

/// What connections have done on one event loop apart from what they read: answers and messages that other threads hand
/// over, and turns that had to wait. Where that takes long, a moment follows in which the loop mostly reads.
///
/// NIO looks at its sockets only when nothing is left to be done on the loop, whatever is handed over meanwhile. So
/// while answers of some clients come without a pause, nobody else would be heard. (It looks whether anything is left
/// by the clock: where a core is not to be had for as long as the moment lasts, it reads behind the next one.)
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
    /// Turns whose time came in a pause.
    private var putOff = CircularBuffer<() -> Void>()
    private var isResumed = false
    /// What was used since the last pause, less the time in which none of this was done.
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
        if !isAwaited { wake { self.goOn() } }
    }

    /// Has something done at a time, or soon behind it.
    func execute(at time: NIODeadline, _ work: @escaping () -> Void) {
        schedule(time) {
            if self.isPausing {
                self.putOff.append(work)
                self.resumeBehindPause()
            } else {
                self.carryOut(work)
            }
        }
    }

    private var isPausing: Bool { now() < pausesUntil }

    private func resumeBehindPause() {
        if isResumed { return }
        isResumed = true
        schedule(pausesUntil) {
            self.isResumed = false
            self.goOn()
        }
    }

    /// What was put off and what was handed over come by turns, so that neither waits for all of the other.
    private func goOn() {
        var takesPutOff = true
        while !isPausing {
            let next = takesPutOff ? putOff.popFirst() ?? takeHanded() : takeHanded() ?? putOff.popFirst()
            guard let next else { return }
            carryOut(next)
            takesPutOff.toggle()
        }
        resumeBehindPause()
    }

    private func takeHanded() -> Work? {
        handed.withLockedValue { handed in
            if handed.queue.isEmpty { handed.isAwaited = false }
            return handed.queue.popFirst()
        }
    }

    private func carryOut(_ work: () -> Void) {
        let begin = now()
        work()
        note(since: begin)
    }

    private func note(since begin: NIODeadline) {
        let idle = begin - lastEnd
        lastEnd = now()
        used = max(.zero, used - idle) + (lastEnd - begin)
        if used.nanoseconds < limits.loopWorkNanoseconds { return }
        used = .zero
        pausesUntil = lastEnd + .nanoseconds(limits.loopReadNanoseconds)
    }
}
