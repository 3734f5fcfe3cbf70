import Ledger
import LedgerEngine
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LineServer

/// What becomes of what a client sends behind a change that was not carried out for want of a node that leads.
@Suite struct RefusedChangesTests {
    private static let done = ConnectionStateTests.done
    private static let granted = Reply.outcome(.written(Array(#"{"entry":7,"replayed":false}"#.utf8)))
    private static let noLeader = Answer.failure(.store(StoreError(.notReady, "no node leads at this moment")))
    private static let unavailable = Answer.failure(.store(StoreError(.unavailable, "")))
    private static let otherLeads = Answer.failure(.store(StoreError(.notLeader(address: "b:1"), "")))

    private static func transcript(ledElsewhere: @escaping @Sendable (Int) -> Bool = { _ in true }) -> Transcript {
        Transcript(isLedElsewhere: ledElsewhere)
    }

    /// It waited for those before it, and the first of them was told as not carried out.
    @Test func whatWaitsBehindAChangeThatWasRefusedIsRefused() {
        let leads = NIOLockedValueBox(true)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        let grants = (1...4).map { Requests.grant("\($0)", "a", 1, id: "\($0)") }
        transcript.send(grants[0], grants[1], grants[2])
        leads.withLockedValue { $0 = false }
        #expect(transcript.send(grants[3]) == [] && transcript.passedOn() == [])
        leads.withLockedValue { $0 = true }
        #expect(transcript.answers(Self.unavailable) == ["1 storage_unavailable"])
        leads.withLockedValue { $0 = false }
        #expect(transcript.answers(Self.noLeader, Self.noLeader) == (2...4).map { "\($0) storage_unavailable" })
        #expect(transcript.passedOn() == [])
    }

    /// What has come when a refusal is told was sent by a client that could not know of it, however many turns it takes
    /// to look at that. Reads are answered.
    @Test func whatHasComeBehindARefusedChangeIsRefusedUntilTheConnectionIsQuiet() {
        var transcript = Self.transcript { _ in false }
        transcript.state.turn.begin(lines: 1)
        let lines = (1...4).map { Requests.grant("\($0)", "a", 1, id: "\($0)") } + [Requests.balance("a", id: "5")]
        #expect(transcript.send(lines.joined(separator: "\n")) == ["grant 1"])
        #expect(transcript.answers(Self.unavailable) == ["1 storage_unavailable"])
        #expect(transcript.state.refusesChanges)
        transcript.change { $0.turn.begin(lines: 2) }
        #expect(transcript.operations() == [])
        #expect(transcript.replies() == ["2 storage_unavailable", "3 storage_unavailable"])
        transcript.change { $0.turn.begin(lines: 9) }
        #expect(transcript.operations() == ["balance a"] && transcript.replies() == ["4 storage_unavailable"])
        #expect(transcript.state.refusesChanges, "its client has an answer to come")
        #expect(transcript.send(Requests.grant("6", "a", 1, id: "6")) == [])
        #expect(transcript.answers(Self.done) == ["5", "6 storage_unavailable"])
        #expect(!transcript.state.refusesChanges)
        #expect(transcript.send(Requests.grant("1", "a", 1, id: "7")) == ["grant 1"])
        #expect(transcript.answers(Self.unavailable) == ["7 storage_unavailable"])
        #expect(!transcript.state.refusesChanges, "nothing has come behind it")
    }

    /// It lay in the socket when the refusal was told.
    @Test func whatHadComeAndWasNotReadIsRefusedToo() {
        var transcript = Self.transcript { _ in false }
        let grants = (2...3).map { Requests.grant("\($0)", "a", 1, id: "\($0)") }
        transcript.unread = grants.reduce(0) { $0 + $1.utf8.count + 1 }
        #expect(transcript.send(Requests.grant("1", "a", 1, id: "1")) == ["grant 1"])
        #expect(transcript.answers(Self.unavailable) == ["1 storage_unavailable"])
        for (grant, number) in zip(grants, 2...) {
            transcript.unread -= grant.utf8.count + 1
            #expect(transcript.state.refusesChanges)
            #expect(transcript.send(grant) == [])
            #expect(transcript.replies() == ["\(number) storage_unavailable"])
        }
        #expect(!transcript.state.refusesChanges)
        #expect(transcript.send(Requests.grant("1", "a", 1, id: "4")) == ["grant 1"])
    }

    /// Packets cut lines anywhere: what has begun to come was sent by a client that could not know.
    @Test func aLineWhoseBeginningHadComeIsRefusedToo() {
        var transcript = Self.transcript { _ in false }
        let second = Requests.grant("2", "a", 1, id: "2")
        let middle = second.index(second.startIndex, offsetBy: 20)
        transcript.receive(Requests.grant("1", "a", 1, id: "1") + "\n" + second[..<middle])
        #expect(transcript.answers(Self.unavailable) == ["1 storage_unavailable"])
        #expect(transcript.receive(second[middle...] + "\n") == [])
        #expect(transcript.replies() == ["2 storage_unavailable"] && !transcript.state.refusesChanges)
        #expect(transcript.send(Requests.grant("1", "a", 1, id: "3")) == ["grant 1"])
    }

    /// It reads its answers as soon as they are written, and sends on before the server has done anything else.
    @Test func whoWaitsForAllAnswersIsNotRefusedAgain() {
        var transcript = Self.transcript { _ in false }
        transcript.send(Requests.grant("1", "a", 1, id: "1"))
        transcript.unreadOnceWritten = 99
        #expect(transcript.answers(Self.unavailable) == ["1 storage_unavailable"])
        #expect(transcript.send(Requests.grant("1", "a", 1, id: "2")) == ["grant 1"])
    }

    /// A client that waits for a long answer is none that sends on, whatever it had sent before, and however late the
    /// server reads that.
    @Test func onlyWhatComesBehindAllThatHadComeCountsAsSentOn() {
        var transcript = Self.transcript { _ in false }
        func grant(_ number: Int) -> String { Requests.grant("\(number)", "a", 1, id: "\(number)") }
        transcript.send(grant(1), Requests.balance("a", id: "2"))
        transcript.unread = 1
        #expect(transcript.answers(Self.unavailable) == ["1 storage_unavailable"])
        func goesOn() -> Bool {
            var goesOn = false
            transcript.change { goesOn = $0.endRefusingStretch() }
            return goesOn
        }
        for number in 3...6 { transcript.send(grant(number)) }
        let first = goesOn()
        #expect(!first, "it had sent more, which was not read")
        for number in 7...8 { transcript.send(grant(number)) }
        let second = goesOn()
        #expect(!second, "nor is this")
        transcript.unread = 0
        transcript.send(grant(9))
        let third = goesOn()
        #expect(!third, "this had come")
        for number in 10...11 { transcript.send(grant(number)) }
        let fourth = goesOn()
        #expect(fourth)
        #expect(transcript.answers(Self.done) == ["2"] + (3...11).map { "\($0) storage_unavailable" })
        #expect(!transcript.state.refusesChanges)
    }

    /// However seldom.
    @Test func whoSendsOneChangeInEachStretchSendsOn() {
        var transcript = Self.transcript { _ in false }
        transcript.send(Requests.grant("1", "a", 1, id: "1"), Requests.balance("a", id: "2"))
        _ = transcript.answers(Self.unavailable)
        var ends: [Bool] = []
        for number in 3...5 {
            transcript.send(Requests.grant("\(number)", "a", 1, id: "\(number)"))
            transcript.change { ends.append($0.endRefusingStretch()) }
        }
        #expect(ends == [false, false, true])
    }

    /// It has not been told yet, for it reads nothing.
    @Test func whatComesBeforeARefusalIsWrittenIsRefusedToo() {
        var transcript = Self.transcript { _ in false }
        transcript.send(Requests.grant("1", "a", 1, id: "1"))
        transcript.isWritable = false
        #expect(transcript.answers(Self.unavailable) == [])
        #expect(transcript.send(Requests.grant("2", "a", 1, id: "2")) == [])
        transcript.isWritable = true
        transcript.change { _ in }
        #expect(transcript.operations() == [])
        #expect(transcript.replies() == ["1 storage_unavailable", "2 storage_unavailable"])
        #expect(transcript.send(Requests.grant("1", "a", 1, id: "3")) == ["grant 1"])
    }

    /// What it sends is never read as a whole.
    @Test func whoSendsFasterThanItIsReadForAVeryLongTimeIsSentAway() {
        var transcript = Self.transcript { _ in false }
        transcript.send(Requests.grant("1", "a", 1, id: "1"), Requests.balance("a", id: "2"))
        transcript.unread = 1
        _ = transcript.answers(Self.unavailable)
        var stretches = 0
        var goesOn = false
        while !goesOn && stretches < 99 {
            transcript.send(Requests.grant("g\(stretches)", "a", 1, id: "9"))
            transcript.change { goesOn = $0.endRefusingStretch() }
            stretches += 1
        }
        #expect(stretches == 30)
    }

    /// What is under way in the network when the client is told has come within the first stretch.
    @Test func whatComesInTheFirstStretchesIsNotSentOn() {
        var transcript = Self.transcript { _ in false }
        transcript.send(Requests.grant("1", "a", 1, id: "1"), Requests.balance("a", id: "2"))
        _ = transcript.answers(Self.unavailable)
        // The first may have begun before that.
        for number in 3...4 {
            for line in 0..<3 { transcript.send(Requests.grant("\(number) \(line)", "a", 1, id: "\(number)")) }
            var goesOn = false
            transcript.change { goesOn = $0.endRefusingStretch() }
            #expect(!goesOn)
        }
    }

    /// The ledger keeps the order of what it has; the connection that of what it has not handed on.
    @Test func theLedgerGoesOnWhereItHasAnsweredAllThatItWasHanded() {
        var transcript = Self.transcript { _ in false }
        transcript.send(Requests.grant("1", "a", 1, id: "1"))
        transcript.send(Requests.grant("2", "a", 1, id: "2"), Requests.ping(3))
        #expect(transcript.answers(Self.done) == ["1"])
        transcript.send(Requests.balance("a", id: "4"))
        #expect(transcript.answers(Self.done, Self.done) == ["2", "3", "4"])
        transcript.send(Requests.grant("3", "a", 1, id: "5"))
        #expect(transcript.goneOn == [true, false, false, true])
    }

    /// No node leads: the first has waited for one as long as it may. Another that leads by now would carry out what
    /// stands behind it before its client can ask again for it.
    @Test func whatIsNotPassedOnYetIsRefusedWithWhatWasPassedOnBefore() {
        var transcript = Self.transcript()
        transcript.send(Requests.grant("1", "a", 1, id: "1"))
        transcript.send(Requests.grant("2", "a", 1, id: "2"), Requests.balance("a", id: "3"))
        transcript.send(Requests.grant("3", "a", 1, id: "4"))
        #expect(transcript.passedOn() == ["grant 1 for anybody"], "one after the other")
        let told = transcript.answersOfLeader(.error(.storageUnavailable))
        #expect(told == ["1 storage_unavailable", "2 storage_unavailable"])
        #expect(transcript.passedOn() == [] && transcript.operations() == ["balance a"])
        #expect(transcript.answers(Self.done) == ["3", "4 storage_unavailable"])
        #expect(transcript.passedOn() == [] && transcript.state.inFlight == (0, 0))
        transcript.send(Requests.grant("1", "a", 1, id: "5"), Requests.grant("2", "a", 1, id: "6"))
        #expect(transcript.passedOn() == ["grant 1 for anybody", "grant 2 for anybody"])
        transcript.send(Requests.grant("3", "a", 1, id: "7"))
        #expect(transcript.answersOfLeader(Self.granted, Self.granted) == ["5", "6"])
        #expect(transcript.passedOn() == ["grant 3 for anybody"])
    }

    /// What the ledger refuses it has decided, and a read changes nothing.
    @Test(arguments: [WireError(.insufficientFunds, ""), .overloaded, .outcomeUnknown])
    func behindWhatIsRefusedForAnotherReasonAllGoesOn(error: WireError) {
        var transcript = Self.transcript()
        transcript.send(Requests.grant("1", "a", 1, id: "1"))
        transcript.send(Requests.grant("2", "a", 1, id: "2"))
        #expect(transcript.passedOn() == ["grant 1 for anybody"])
        #expect(transcript.answersOfLeader(.error(error)) == ["1 \(error.reason)"])
        #expect(transcript.passedOn() == ["grant 2 for anybody"])
    }

    /// A node that passes nothing on, or a client that is told where the leader is.
    @Test func whereNothingIsPassedOnChangesAreRefusedToo() {
        var transcript = Transcript(leadPlace: { _ in .unknown })
        transcript.state.turn.begin(lines: 1)
        let grants = (1...2).map { Requests.grant("\($0)", "a", 1, id: "\($0)") }
        #expect(transcript.send(grants.joined(separator: "\n")) == ["grant 1"])
        #expect(transcript.answers(Self.otherLeads) == ["1 not_leader"])
        transcript.change { $0.turn.begin(lines: 9) }
        #expect(transcript.operations() == [] && transcript.replies() == ["2 storage_unavailable"])
    }

    /// A session with a node that leads, which notes what it is told.
    private final class Relay: LeaderRelaySession {
        let notes = NIOLockedValueBox<[String]>([])

        func submit(_ requests: [LedgerRequest]) { notes.withLockedValue { $0.append("\(requests.count) asked") } }
        func giveUp(afterMilliseconds milliseconds: Int64) {
            notes.withLockedValue { $0.append("gives up after \(milliseconds)") }
        }
        func close() { notes.withLockedValue { $0.append("closed") } }
    }

    /// Where all nodes are ended no other comes to lead: what was passed on does not keep a shutdown waiting for one.
    @Test func aShutdownWaitsOnlyForAWhileForANodeThatLeads() {
        let request = LedgerRequest.balance(BalanceQuery(account: AccountName("a")!))
        var sessions = ConnectionSessions()
        let relays = [Relay(), Relay()]
        sessions.relay([request], to: 0, for: nil) { relays[0] }
        sessions.beginShutdown(relayMilliseconds: 7)
        sessions.relay([request], to: 1, for: nil) { relays[1] }
        sessions.close()
        #expect(relays[0].notes.withLockedValue { $0 } == ["1 asked", "gives up after 7", "closed"])
        #expect(relays[1].notes.withLockedValue { $0 } == ["gives up after 7", "1 asked", "closed"])
    }
}
