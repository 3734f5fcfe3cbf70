import Ledger

/// Who waits until a sequence grows, and the last number that it has: the journal's entries, or the chain's blocks. And
/// who waits for a time to come.
///
/// It is told each new last number once that is durable. A session has at most one wait at a time, so there are never
/// more waits than sessions. A growth for which nobody waits costs one uncontended lock.
package final class Feed: Sendable {
    /// Names one wait; never given twice.
    typealias Ticket = UInt64

    /// Why a wait has ended.
    enum Ending: Hashable, Sendable {
        case grown
        /// Its time is over, or the ledger is to be stopped.
        case nothingNew
    }

    /// What becomes of who asks to wait.
    enum Waiting: Hashable, Sendable {
        case waits(Ticket)
        /// Nothing is waited for.
        case ended(Ending)
    }

    private struct Wait {
        var after: Int64
        /// By the monotonic clock, in nanoseconds.
        var deadline: UInt64
        var wake: @Sendable (Ticket, Ending) -> Void
    }

    private struct State {
        var last: Int64 = 0
        var nextTicket: Ticket = 0
        var waiting: [Ticket: Wait] = [:]
        /// Not higher than the first number after which something is waited for.
        var nextAfter = Int64.max
        /// Not later than the first deadline.
        var nextDeadline = UInt64.max
        var isStopped = false
    }

    private let state = Monitor(State())
    private let thread = OwnThread()

    /// - Throws: ``StoreError`` where the system has no more threads.
    package init() throws { try thread.begin("ledger-feed") { [self] in serve() } }

    /// Calls `wake` once, on some thread, with the wait's ticket, when there is a number after `after` or the time is
    /// over; never, where there is one already or nobody may wait any more. Both are decided under one lock, so no
    /// number is missed in between.
    func wait(
        for after: Int64, milliseconds: Int64, _ wake: @escaping @Sendable (Ticket, Ending) -> Void
    ) -> Waiting {
        wait(for: after, until: monotonicNanoseconds() + UInt64(max(milliseconds, 0)) * 1_000_000, wake)
    }

    /// Calls `wake` once, on some thread, with the wait's ticket, when a time of the monotonic clock has come, in
    /// nanoseconds, or the ledger is to be stopped.
    /// - Returns: `nil` where nobody may wait any more; then `wake` is not called.
    func wait(until deadline: UInt64, _ wake: @escaping @Sendable (Ticket) -> Void) -> Ticket? {
        switch wait(for: .max, until: deadline, { ticket, _ in wake(ticket) }) {
        case .waits(let ticket): ticket
        case .ended: nil
        }
    }

    private func wait(
        for after: Int64, until deadline: UInt64, _ wake: @escaping @Sendable (Ticket, Ending) -> Void
    ) -> Waiting {
        let (waiting, mustWake) = state.withLock { state -> (Waiting, Bool) in
            if state.last > after { return (.ended(.grown), false) }
            if state.isStopped { return (.ended(.nothingNew), false) }
            state.nextTicket += 1
            state.waiting[state.nextTicket] = Wait(after: after, deadline: deadline, wake: wake)
            state.nextAfter = min(state.nextAfter, after)
            let isFirst = deadline < state.nextDeadline
            if isFirst { state.nextDeadline = deadline }
            return (.waits(state.nextTicket), isFirst)
        }
        if mustWake { state.wakeAll() }
        return waiting
    }

    /// Takes a wait back. Its `wake` may be on its way already.
    func cancel(_ ticket: Ticket) {
        state.withLock { _ = $0.waiting.removeValue(forKey: ticket) }
    }

    /// How many wait.
    var count: Int { state.withLock { $0.waiting.count } }

    /// Everything up to `number` can be read.
    func committed(through number: Int64) {
        wake(.grown) { state in
            guard number > state.last else { return nil }
            state.last = number
            // Who waits for a time only is not looked at with each commit.
            guard number > state.nextAfter else { return nil }
            state.nextAfter = state.waiting.values.map(\.after).filter { $0 >= number }.min() ?? .max
            return { $0.after < number }
        }
    }

    /// Ends every wait, and its thread. From now on nobody waits.
    func stop() {
        wake(.nothingNew) { state in
            state.isStopped = true
            return { _ in true }
        }
        state.wakeAll()
        thread.join()
    }

    /// Ends the waits that `choose` says, once the lock is free again.
    private func wake(_ ending: Ending, _ choose: (inout State) -> ((Wait) -> Bool)?) {
        let woken = state.withLock { state -> [Ticket: Wait] in
            guard let isChosen = choose(&state), !state.waiting.isEmpty else { return [:] }
            let woken = state.waiting.filter { isChosen($0.value) }
            for ticket in woken.keys { state.waiting[ticket] = nil }
            return woken
        }
        for (ticket, wait) in woken { wait.wake(ticket, ending) }
    }

    /// Its own thread: ends the waits whose time is over.
    private func serve() {
        while true {
            let goesOn: Bool = state.waitOrUntil { state in
                if state.isStopped { return .ready(false) }
                if state.nextDeadline == .max { return .wait }
                return monotonicNanoseconds() >= state.nextDeadline ? .ready(true) : .waitUntil(state.nextDeadline)
            }
            guard goesOn else { return }
            let now = monotonicNanoseconds()
            wake(.nothingNew) { state in
                state.nextDeadline = state.waiting.values.map(\.deadline).filter { $0 > now }.min() ?? .max
                return { $0.deadline <= now }
            }
        }
    }
}
