import Ledger
import Testing

@testable import LedgerEngine

/// Who waits for a time, and for nothing else.
@Suite struct FeedTimeTests {
    private let woken = Monitor<[Feed.Ticket]>([])

    private func wait(_ feed: Feed, milliseconds: UInt64) -> Feed.Ticket? {
        feed.wait(until: monotonicNanoseconds() + milliseconds * 1_000_000) { [woken] ticket in
            woken.withLock { $0.append(ticket) }
        }
    }

    private var tickets: [Feed.Ticket] { woken.withLock { $0 } }

    @Test func aTimeIsAwaitedWhateverIsCommitted() throws {
        let feed = try Feed()
        defer { feed.stop() }
        let begun = ContinuousClock.now
        let ticket = try #require(wait(feed, milliseconds: 60))
        let entries = Monitor(0)
        for entry in 1...10 {
            let waiting = feed.wait(for: EntryID(entry - 1), milliseconds: 3_600_000) { _, _ in
                entries.withLock { $0 += 1 }
            }
            guard case .waits = waiting else { throw StoreError("it does not wait") }
            feed.committed(through: EntryID(entry))
            #expect(entries.withLock { $0 } == entry, "beside them others are woken as ever")
        }
        #expect(try eventually { tickets == [ticket] })
        #expect(begun.duration(to: .now) >= .milliseconds(60) && feed.count == 0)
    }

    @Test func aStopEndsItAndNobodyWaitsAnyMore() throws {
        let feed = try Feed()
        let ticket = try #require(wait(feed, milliseconds: 3_600_000))
        let other = try #require(wait(feed, milliseconds: 3_600_000))
        feed.cancel(other)
        feed.stop()
        #expect(tickets == [ticket])
        #expect(wait(feed, milliseconds: 1) == nil)
    }
}
