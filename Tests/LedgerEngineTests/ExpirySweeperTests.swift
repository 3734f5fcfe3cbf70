import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// When a sweep is submitted, played with answers of a test's choice.
@Suite struct ExpirySweeperTests {
    /// Takes sweeps and answers them as a test says.
    private final class Line: Sendable {
        private let taken = Monitor<(sweeps: Int, swept: (@Sendable ([Answer]) -> Void)?)>((0, nil))

        var sweeps: Int { taken.withLock { $0.sweeps } }

        func take(_ operations: [LedgerOperation], _ swept: @escaping @Sendable ([Answer]) -> Void) {
            for operation in operations {
                guard case .command(.expire, _) = operation else {
                    Issue.record("a sweep is \(operation)")
                    return
                }
            }
            taken.withLock {
                $0.sweeps += operations.count
                $0.swept = swept
            }
        }

        func answer(_ answer: Answer) throws {
            let swept = try #require(taken.withLock { $0.swept })
            swept([answer])
        }
    }

    private let line = Line()

    private func sweeper(every milliseconds: Int64) throws -> ExpirySweeper {
        try ExpirySweeper(intervalMilliseconds: milliseconds) { [line] in line.take($0, $1) }
    }

    @Test func theFirstSweepIsSubmittedAtOnceAndTheNextAfterTheInterval() throws {
        let sweeper = try sweeper(every: 20)
        sweeper.start()
        #expect(line.sweeps == 1)
        // Not more than one is in flight, however long it takes.
        pause(milliseconds: 100)
        #expect(line.sweeps == 1)
        let answered = ContinuousClock.now
        try line.answer(.success(.expired(players: 0)))
        #expect(try eventually { line.sweeps == 2 })
        #expect(answered.duration(to: .now) >= .milliseconds(20))
        sweeper.stop()
    }

    @Test func aFullSweepIsFollowedByTheNextAtOnce() throws {
        let sweeper = try sweeper(every: 3_600_000)
        sweeper.start()
        for sweeps in 2...4 {
            try line.answer(.success(.expired(players: Limits.expirationsPerBatchMax)))
            #expect(try eventually { line.sweeps == sweeps })
        }
        try line.answer(.success(.expired(players: Limits.expirationsPerBatchMax - 1)))
        pause(milliseconds: 50)
        #expect(line.sweeps == 4)
        sweeper.stop()
    }

    @Test func aSweepThatFailedIsTriedAgainAtTheNextTime() throws {
        let sweeper = try sweeper(every: 200)
        sweeper.start()
        let answered = ContinuousClock.now
        try line.answer(.failure(.store(StoreError("the test's disk is full"))))
        #expect(try eventually { line.sweeps == 2 })
        #expect(answered.duration(to: .now) >= .milliseconds(200))
        sweeper.stop()
    }

    @Test func nothingIsSubmittedOnceItHasStopped() throws {
        let sweeper = try sweeper(every: 5)
        sweeper.start()
        try line.answer(.success(.expired(players: 0)))
        #expect(try eventually { line.sweeps == 2 })
        sweeper.stop()
        try line.answer(.success(.expired(players: Limits.expirationsPerBatchMax)))
        pause(milliseconds: 50)
        #expect(line.sweeps == 2)
    }
}
