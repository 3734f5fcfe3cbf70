import Ledger
import NIOConcurrencyHelpers
import NIOCore

/// Who waits for a first new entry of the journal, and the last entry that is committed.
///
/// The sequencer tells it the last entry of every commit, once that is durable. Each connection waits at most once at
/// a time, so `ServerLimits.connectionsMax` bounds the waits. A commit for which nobody waits costs one uncontended
/// lock.
final class JournalWatch: Sendable {
    /// Names one wait; never given twice.
    typealias Ticket = UInt64

    private struct Wait {
        var after: EntryID
        var eventLoop: any EventLoop
        var wake: @Sendable (Ticket) -> Void
    }

    private struct Waits {
        var last: EntryID = 0
        var nextTicket: Ticket = 0
        var waiting: [Ticket: Wait] = [:]
    }

    private let waits = NIOLockedValueBox(Waits())

    /// Calls `wake` once on `eventLoop`, with the wait's ticket, when an entry after `after` is committed; gives
    /// `nil`, and never calls it, where one is already. Both are decided under one lock, so no entry is missed in
    /// between.
    func wait(for after: EntryID, on eventLoop: any EventLoop, _ wake: @escaping @Sendable (Ticket) -> Void) -> Ticket?
    {
        waits.withLockedValue { waits in
            guard waits.last <= after else { return nil }
            waits.nextTicket += 1
            waits.waiting[waits.nextTicket] = Wait(after: after, eventLoop: eventLoop, wake: wake)
            return waits.nextTicket
        }
    }

    /// Takes a wait back. Its `wake` may be on its way already.
    func cancel(_ ticket: Ticket) {
        waits.withLockedValue { _ = $0.waiting.removeValue(forKey: ticket) }
    }

    /// How many wait.
    var count: Int { waits.withLockedValue { $0.waiting.count } }

    /// Everything up to `entry` can be read from the store. One hop an event loop.
    func committed(through entry: EntryID) {
        var woken = waits.withLockedValue { waits -> [(Ticket, Wait)] in
            guard entry > waits.last else { return [] }
            waits.last = entry
            if waits.waiting.isEmpty { return [] }
            let woken = waits.waiting.filter { $0.value.after < entry }
            for ticket in woken.keys { waits.waiting[ticket] = nil }
            return woken.map { ($0.key, $0.value) }
        }
        while let eventLoop = woken.first?.1.eventLoop {
            let own = woken.filter { $0.1.eventLoop === eventLoop }
            woken.removeAll { $0.1.eventLoop === eventLoop }
            eventLoop.execute {
                for (ticket, wait) in own { wait.wake(ticket) }
            }
        }
    }
}
