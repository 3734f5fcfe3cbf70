import LedgerEngine
import NIOEmbedded
import Testing

@testable import LineServer

/// What a connection is given time for, by a clock of its own.
@Suite struct ConnectionTimeoutsTests {
    /// A connection, and what it was ended for.
    private final class Connection {
        let loop = EmbeddedEventLoop()
        let timeouts: ConnectionTimeouts
        var isStranger = false
        var awaitsAnswers = false
        var unreadBytes = 0
        var refusesChanges = false
        var goesOn = false
        var stretches = 0
        var ended: [ConnectionEnd] = []

        init(isHTTP: Bool = true) {
            var limits = ServerLimits()
            (limits.keptAliveMilliseconds, limits.idleMilliseconds) = (1_000, 5_000)
            limits.unauthenticatedMilliseconds = 300
            timeouts = ConnectionTimeouts(
                limits, memory: ReplyMemory(bytesMax: 1 << 20), isHTTP: isHTTP, eventLoop: loop)
        }

        func begin() {
            timeouts.begin(
                isStranger: isStranger,
                standing: { [self] in
                    .init(isStranger: isStranger, awaitsAnswers: awaitsAnswers, unreadBytes: unreadBytes)
                },
                kept: { (nil, nil) }, refusesChanges: { [self] in refusesChanges },
                endRefusingStretch: { [self] in
                    stretches += 1
                    return goesOn
                },
                overdue: { [self] in
                    ended.append($0)
                    timeouts.end()
                })
        }

        func pass(_ milliseconds: Int64) { loop.advanceTime(by: .milliseconds(milliseconds)) }
    }

    @Test func whoHasNotAuthenticatedInTimeIsOverdue() {
        let connection = Connection(isHTTP: false)
        connection.isStranger = true
        connection.begin()
        connection.pass(299)
        #expect(connection.ended == [])
        connection.pass(1)
        #expect(connection.ended == [.neverAuthenticated])
    }

    @Test func whoSaysAndTakesNothingIsIdleUnlessItWaits() {
        let connection = Connection()
        connection.begin()
        connection.pass(700)
        connection.timeouts.noteProgress()
        connection.pass(999)
        connection.awaitsAnswers = true
        connection.pass(3_000)
        #expect(connection.ended == [], "an answer is still to come")
        connection.awaitsAnswers = false
        connection.pass(1_001)
        #expect(connection.ended == [.idle])
    }

    @Test func whoReadsALongReplySlowlyIsNotIdleAndWhoReadsNothingIs() {
        let connection = Connection()
        connection.unreadBytes = 9_000
        connection.begin()
        for _ in 0..<8 {
            connection.pass(1_000)
            connection.unreadBytes -= 1_000
        }
        #expect(connection.ended == [] && connection.unreadBytes == 1_000)
        connection.pass(1_000)
        #expect(connection.ended == [], "some was read since the last look")
        connection.pass(1_000)
        #expect(connection.ended == [.idle])
    }

    @Test func whoAsksOnAndOnWhileChangesAreRefusedIsOverdue() {
        let connection = Connection(isHTTP: false)
        connection.awaitsAnswers = true
        connection.begin()
        connection.timeouts.watchRefusals()
        connection.pass(2_000)
        #expect(connection.ended == [])
        connection.refusesChanges = true
        connection.timeouts.watchRefusals()
        connection.pass(600)
        // It was quiet for a moment.
        connection.timeouts.watchRefusals()
        connection.pass(5_000)
        #expect(connection.ended == [] && connection.stretches == 5)
        connection.goesOn = true
        connection.refusesChanges = false
        connection.pass(2_000)
        #expect(connection.ended == [] && connection.stretches == 5)
        connection.refusesChanges = true
        connection.timeouts.watchRefusals()
        connection.pass(999)
        #expect(connection.ended == [])
        connection.pass(1)
        #expect(connection.ended == [.changesRefused])
        connection.timeouts.watchRefusals()
        connection.pass(5_000)
        #expect(connection.ended.count == 1)
    }
}
