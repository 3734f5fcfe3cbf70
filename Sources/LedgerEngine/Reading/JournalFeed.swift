import Ledger

/// Who waits for a first new entry of the journal, and the last entry that is committed.
///
/// The sequencer tells it the last entry of every commit, once that is durable. A session has at most one wait at a
/// time, so there are never more waits than sessions. A commit for which nobody waits costs one uncontended lock.
final class JournalFeed: Sendable {
    /// Names one wait; never given twice.
    typealias Ticket = UInt64

    /// Why a wait has ended.
    enum Ending: Hashable, Sendable {
        case newEntry
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
        var after: EntryID
        /// By the monotonic clock, in nanoseconds.
        var deadline: UInt64
        var wake: @Sendable (Ticket, Ending) -> Void
    }

    private struct State {
        var last: EntryID = 0
        var nextTicket: Ticket = 0
        var waiting: [Ticket: Wait] = [:]
        /// Not later than the first deadline.
        var nextDeadline = UInt64.max
        var isStopped = false
    }

    private let state = Monitor(State())
    private let thread = OwnThread()

    /// - Throws: ``StoreError`` where the system has no more threads.
    init() throws { try thread.begin("ledger-feed") { [self] in serve() } }

    /// Calls `wake` once, on some thread, with the wait's ticket, when an entry after `after` is committed or the time
    /// is over; never, where one is committed already or nobody may wait any more. Both are decided under one lock, so
    /// no entry is missed in between.
    func wait(
        for after: EntryID, milliseconds: Int64, _ wake: @escaping @Sendable (Ticket, Ending) -> Void
    ) -> Waiting {
        let deadline = monotonicNanoseconds() + UInt64(max(milliseconds, 0)) * 1_000_000
        let (waiting, mustWake) = state.withLock { state -> (Waiting, Bool) in
            if state.last > after { return (.ended(.newEntry), false) }
            if state.isStopped { return (.ended(.nothingNew), false) }
            state.nextTicket += 1
            state.waiting[state.nextTicket] = Wait(after: after, deadline: deadline, wake: wake)
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

    /// Everything up to `entry` can be read from the store.
    func committed(through entry: EntryID) {
        wake(.newEntry) { state in
            guard entry > state.last else { return nil }
            state.last = entry
            return { $0.after < entry }
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
