import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// Who is woken by which commit, and by the time.
@Suite struct FeedTests {
    private struct Wake: Hashable {
        var ticket: Feed.Ticket
        var ending: Feed.Ending
    }

    private final class Woken: Sendable {
        private let wakes = Monitor<[Wake]>([])
        var all: [Wake] { wakes.withLock { $0 } }
        func note(_ wake: Wake) { wakes.withLock { $0.append(wake) } }
    }

    private let woken = Woken()

    private func wait(
        _ feed: Feed, for after: EntryID, milliseconds: Int64 = 3_600_000
    ) -> Feed.Waiting {
        feed.wait(for: after, milliseconds: milliseconds) { [woken] in woken.note(Wake(ticket: $0, ending: $1)) }
    }

    private func ticket(_ waiting: Feed.Waiting) throws -> Feed.Ticket {
        guard case .waits(let ticket) = waiting else { throw StoreError("nobody waits: \(waiting)") }
        return ticket
    }

    @Test func aWaitIsWokenOnceByTheFirstNewerEntry() throws {
        let feed = try Feed()
        defer { feed.stop() }
        let ticket = try ticket(wait(feed, for: 0))
        feed.committed(through: 0)
        #expect(woken.all == [] && feed.count == 1)
        feed.committed(through: 3)
        feed.committed(through: 4)
        #expect(woken.all == [Wake(ticket: ticket, ending: .grown)] && feed.count == 0)
    }

    @Test func whereSomethingIsNewerNobodyWaits() throws {
        let feed = try Feed()
        defer { feed.stop() }
        feed.committed(through: 5)
        #expect(wait(feed, for: 4) == .ended(.grown) && wait(feed, for: 0) == .ended(.grown))
        #expect(feed.count == 0)
        // One that is ahead of the ledger waits until the ledger has passed it.
        let ahead = try ticket(wait(feed, for: 7))
        let next = try ticket(wait(feed, for: 5))
        #expect(ahead != next)
        feed.committed(through: 6)
        #expect(woken.all.map(\.ticket) == [next] && feed.count == 1)
        feed.committed(through: 7)
        feed.committed(through: 8)
        #expect(woken.all.map(\.ticket) == [next, ahead])
    }

    @Test func aWaitTakenBackIsNotWoken() throws {
        let feed = try Feed()
        defer { feed.stop() }
        let gone = try ticket(wait(feed, for: 0))
        let other = try ticket(wait(feed, for: 0))
        feed.cancel(gone)
        feed.cancel(gone)
        feed.committed(through: 1)
        #expect(woken.all.map(\.ticket) == [other])
    }

    @Test func waitsEndEachAtItsTimeWhateverTheOrderInWhichTheyBegan() throws {
        let feed = try Feed()
        defer { feed.stop() }
        let begun = ContinuousClock.now
        let last = try ticket(wait(feed, for: 0, milliseconds: 120))
        let first = try ticket(wait(feed, for: 0, milliseconds: 20))
        let middle = try ticket(wait(feed, for: 0, milliseconds: 60))
        let never = try ticket(wait(feed, for: 0))
        #expect(try eventually { woken.all.count == 3 })
        #expect(begun.duration(to: .now) >= .milliseconds(120))
        #expect(woken.all == [first, middle, last].map { Wake(ticket: $0, ending: .nothingNew) })
        // After all of these there is a next time again.
        let later = try ticket(wait(feed, for: 0, milliseconds: 10))
        #expect(try eventually { woken.all.last?.ticket == later })
        #expect(feed.count == 1)
        feed.committed(through: 1)
        #expect(woken.all.last == Wake(ticket: never, ending: .grown))
    }

    @Test func atTheEndEveryWaitEndsAndNobodyWaitsAnyMore() throws {
        let feed = try Feed()
        defer { feed.stop() }
        feed.committed(through: 2)
        let ticket = try ticket(wait(feed, for: 2))
        feed.stop()
        #expect(woken.all == [Wake(ticket: ticket, ending: .nothingNew)])
        #expect(wait(feed, for: 2) == .ended(.nothingNew) && wait(feed, for: 1) == .ended(.grown))
    }

    /// Registered while commits go on: no entry is missed between looking and waiting.
    @Test func noWakeIsLostBetweenThreads() throws {
        let commits = 2_000
        let feed = try Feed()
        defer { feed.stop() }
        let followers = try (0..<8).map { _ in
            try EngineThread("test-follow") {
                for last in 0..<EntryID(commits) {
                    // Something is newer than `last`, or the next commit wakes: either way this goes on.
                    let isNewer = Monitor(false)
                    let waiting = feed.wait(for: last, milliseconds: 3_600_000) { _, _ in
                        isNewer.withLock { $0 = true }
                        isNewer.wakeAll()
                    }
                    if case .waits = waiting { isNewer.wait { $0 ? () : nil } }
                }
            }
        }
        for entry in 1...commits {
            feed.committed(through: EntryID(entry))
            if entry.isMultiple(of: 50) { pause(milliseconds: 1) }
        }
        for follower in followers { follower.join() }
        #expect(feed.count == 0)
    }
}
