import Ledger
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import LedgerServer

/// Who is woken by which commit.
@Suite struct JournalWatchTests {
    private final class Woken: Sendable {
        private let tickets = NIOLockedValueBox<[JournalWatch.Ticket]>([])
        var all: [JournalWatch.Ticket] { tickets.withLockedValue { $0 } }
        func note(_ ticket: JournalWatch.Ticket) { tickets.withLockedValue { $0.append(ticket) } }
    }

    private let watch = JournalWatch()
    private let woken = Woken()
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    private func wait(for after: EntryID, on other: (any EventLoop)? = nil) -> JournalWatch.Ticket? {
        watch.wait(for: after, on: other ?? eventLoop) { [woken] in woken.note($0) }
    }

    /// Everything that was on its way has arrived.
    private func settle() async throws {
        for eventLoop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            try await eventLoop.submit {}.get()
        }
    }

    @Test func aWaitIsWokenOnceByTheFirstNewerEntry() async throws {
        let ticket = try #require(wait(for: 0))
        watch.committed(through: 0)
        try await settle()
        #expect(woken.all == [] && watch.count == 1)
        watch.committed(through: 3)
        watch.committed(through: 4)
        try await settle()
        #expect(woken.all == [ticket] && watch.count == 0)
    }

    @Test func whereSomethingIsNewerNobodyWaits() async throws {
        watch.committed(through: 5)
        #expect(wait(for: 4) == nil && wait(for: 0) == nil)
        #expect(watch.count == 0)
        // One that is ahead of the ledger waits until the ledger has passed it.
        let ahead = try #require(wait(for: 7))
        let next = try #require(wait(for: 5))
        #expect(ahead != next)
        watch.committed(through: 6)
        try await settle()
        #expect(woken.all == [next] && watch.count == 1)
        watch.committed(through: 7)
        watch.committed(through: 8)
        try await settle()
        #expect(woken.all == [next, ahead])
    }

    @Test func aWaitTakenBackIsNotWoken() async throws {
        let ticket = try #require(wait(for: 0))
        let other = try #require(wait(for: 0))
        watch.cancel(ticket)
        watch.cancel(ticket)
        watch.committed(through: 1)
        try await settle()
        #expect(woken.all == [other])
    }

    /// Registered while commits go on: no entry is missed between looking and waiting.
    @Test func noWakeIsLostBetweenThreads() async throws {
        let commits = 2_000
        let watch = watch
        let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator())
        try await withThrowingTaskGroup(of: EntryID.self) { group in
            for number in 0..<8 {
                group.addTask {
                    var last: EntryID = 0
                    while last < commits {
                        // Nothing is newer than `last`, or the next commit wakes: either way this goes on.
                        await withCheckedContinuation { continuation in
                            let ticket = watch.wait(for: last, on: loops[number % loops.count]) { _ in
                                continuation.resume()
                            }
                            if ticket == nil { continuation.resume() }
                        }
                        last += 1
                    }
                    return last
                }
            }
            for entry in 1...commits {
                watch.committed(through: EntryID(entry))
                if entry.isMultiple(of: 50) { await Task.yield() }
            }
            for try await last in group { #expect(last == commits) }
        }
        #expect(watch.count == 0)
    }
}
