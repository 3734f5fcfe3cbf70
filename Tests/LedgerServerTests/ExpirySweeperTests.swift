import Ledger
import LedgerTestKit
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import LedgerServer

/// When a sweep is submitted, played with answers of a test's choice.
@Suite struct ExpirySweeperTests {
    /// Takes sweeps and answers them as a test says.
    private final class Line: Sendable {
        private let taken = NIOLockedValueBox<(sweeps: Int, lane: Lane?)>((0, nil))

        var sweeps: Int { taken.withLockedValue { $0.sweeps } }

        func take(_ operations: [LedgerServer.Operation], _ lane: Lane) {
            for operation in operations {
                guard case .command(.expire, _) = operation else {
                    Issue.record("a sweep is \(operation)")
                    return
                }
            }
            taken.withLockedValue {
                $0.sweeps += operations.count
                $0.lane = lane
            }
        }

        func answer(_ result: OperationResult) async throws {
            let lane = try #require(taken.withLockedValue { $0.lane })
            try await lane.eventLoop.submit { lane.deliver([result]) }.get()
        }
    }

    private let line = Line()

    private func sweeper(every milliseconds: Int64) -> ExpirySweeper {
        ExpirySweeper(
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(), intervalMilliseconds: milliseconds
        ) { [line] in line.take($0, $1) }
    }

    @Test func theFirstSweepIsSubmittedAtOnceAndTheNextAfterTheInterval() async throws {
        let sweeper = sweeper(every: 20)
        sweeper.start()
        #expect(line.sweeps == 1)
        // Not more than one is in flight, however long it takes.
        try await Task.sleep(for: .milliseconds(100))
        #expect(line.sweeps == 1)
        let answered = ContinuousClock.now
        try await line.answer(.outcome(.expired(players: 0)))
        #expect(try await eventually { line.sweeps == 2 })
        #expect(answered.duration(to: .now) >= .milliseconds(20))
        await sweeper.stop()
    }

    @Test func aFullSweepIsFollowedByTheNextAtOnce() async throws {
        let sweeper = sweeper(every: 3_600_000)
        sweeper.start()
        for sweeps in 2...4 {
            try await line.answer(.outcome(.expired(players: Limits.expirationsPerBatchMax)))
            #expect(line.sweeps == sweeps)
        }
        try await line.answer(.outcome(.expired(players: Limits.expirationsPerBatchMax - 1)))
        #expect(line.sweeps == 4)
        await sweeper.stop()
    }

    @Test func aSweepThatFailedIsTriedAgainAtTheNextTime() async throws {
        let sweeper = sweeper(every: 5)
        sweeper.start()
        try await line.answer(.error(.storageUnavailable))
        #expect(try await eventually { line.sweeps == 2 })
        await sweeper.stop()
    }

    @Test func nothingIsSubmittedOnceItHasStopped() async throws {
        let sweeper = sweeper(every: 5)
        sweeper.start()
        try await line.answer(.outcome(.expired(players: 0)))
        #expect(try await eventually { line.sweeps == 2 })
        await sweeper.stop()
        try await line.answer(.outcome(.expired(players: Limits.expirationsPerBatchMax)))
        try await Task.sleep(for: .milliseconds(50))
        #expect(line.sweeps == 2)
    }
}

extension ServerTests {
    /// The service's own sweeps.
    @Suite struct Sweeps {
        @Test func theServiceSweepsFromItsStartToItsEndOneAtATime() async throws {
            let store = FaultyStore()
            try await TestServer.run(store: store, limits: { $0.expirySweepMilliseconds = 10 }) { server in
                #expect(try await eventually { store.commits >= 5 })
                let blocks = store.base.blocks
                store.hold()
                #expect(try await eventually { store.waiting == 1 })
                let begun = store.commits
                try await Task.sleep(for: .milliseconds(100))
                #expect(store.waiting == 1 && store.commits == begun)
                store.release()
                // A sweep that fails is not the last, and a request is answered in between.
                store.failCommits(1)
                #expect(try await eventually { store.commits >= begun + 5 })
                let reply = try await server.connect().ask(Requests.grant("g", "a", 1))
                #expect(reply.result["entry"].int == 1)
                #expect(store.base.blocks == blocks + 1, "a sweep that finds nothing writes nothing")
            }
            let commits = store.commits
            try await Task.sleep(for: .milliseconds(50))
            #expect(store.commits == commits && store.base.isClosed)
        }
    }
}
