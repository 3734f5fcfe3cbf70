import AppStore
import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LineServer
@testable import TraceExport

/// What a connection of a node that follows passes on to the one that leads.
@Suite struct PassingOnTests {
    private static let done = ConnectionStateTests.done
    private static let granted = Reply.outcome(.written(Array(#"{"entry":7,"replayed":false}"#.utf8)))

    private static func transcript(
        tokens: [Token] = [], ledgers: [String] = [], ledElsewhere: @escaping @Sendable (Int) -> Bool = { _ in true }
    ) -> Transcript { Transcript(tokens: tokens, ledgers: ledgers, isLedElsewhere: ledElsewhere) }

    @Test func whatChangesTheLedgerIsPassedOnAndWhatReadsItIsNot() {
        var transcript = Self.transcript()
        #expect(transcript.send(Requests.grant("g", "a", 1, id: "1"), Requests.spend("s", "a", 1, id: "2")) == [])
        #expect(transcript.passedOn() == ["grant g for anybody", "spend s for anybody"])
        #expect(transcript.answersOfLeader(Self.granted) == ["1"])
        #expect(transcript.answersOfLeader(.error(.overloaded)) == ["2 overloaded"])
        #expect(
            transcript.send(Requests.balance("a", id: "3"), Requests.history("a", id: "4")) == [
                "balance a", "history a",
            ])
        #expect(transcript.passedOn() == [])
        #expect(transcript.answers(Self.done, Self.done) == ["3", "4"])
        #expect(transcript.state.inFlight == (0, 0))
    }

    /// A read that is sent behind a write begins when that is answered, and sees it; and the other way round.
    @Test func theOrderSentIsKeptAcrossBoth() {
        var transcript = Self.transcript()
        let operations = transcript.send(
            Requests.grant("1", "a", 1, id: "1"), Requests.balance("a", id: "2"), Requests.grant("2", "a", 1, id: "3"),
            Requests.grant("3", "a", 1, id: "4"), Requests.ping(5))
        #expect(operations == [])
        #expect(transcript.passedOn() == ["grant 1 for anybody"])
        #expect(transcript.answersOfLeader(Self.granted) == ["1"])
        #expect(transcript.operations() == ["balance a"])
        #expect(transcript.passedOn() == [])
        #expect(transcript.answers(Self.done) == ["2"])
        #expect(transcript.passedOn() == ["grant 2 for anybody", "grant 3 for anybody"])
        #expect(transcript.answersOfLeader(Self.granted, Self.granted) == ["3", "4", "5"])
    }

    @Test func aBatchIsPassedOnInPartAndAnsweredByOneLine() {
        var transcript = Self.transcript()
        let batch = [
            Requests.balance("a", id: "1"), Requests.grant("g", "a", 1, id: "2"), Requests.balance("b", id: "3"),
        ]
        #expect(transcript.send("[\(batch.joined(separator: ","))]") == ["balance a"])
        #expect(transcript.answers(Self.done) == [])
        #expect(transcript.passedOn() == ["grant g for anybody"])
        #expect(transcript.answersOfLeader(Self.granted) == [])
        #expect(transcript.operations() == ["balance b"])
        #expect(transcript.answers(Self.done) == ["[1, 2, 3]"])
    }

    @Test func aConnectionThatGoesToTheLeaderByItselfIsToldWhereItIs() {
        var transcript = Self.transcript()
        let direct = Requests.call("authenticate", #"{"direct":true}"#, id: 1)
        #expect(transcript.send(direct, Requests.grant("g", "a", 1, id: "2")) == ["grant g"])
        #expect(transcript.passedOn() == [])
        #expect(
            transcript.answers(.failure(.store(StoreError(.notLeader(address: "b:1"), "")))) == ["1", "2 not_leader"])
    }

    /// What concerns standbys is meant for the service that is asked.
    @Test func promoteAndBlocksAreNotPassedOn() {
        var transcript = Self.transcript()
        let blocks = #"{"standby":"b","after":0,"hash":"\#(String(repeating: "0", count: 64))"}"#
        #expect(transcript.send(Requests.call("promote")) == ["promote"])
        #expect(transcript.answers(Self.done) == ["1"])
        #expect(transcript.send(Requests.call("blocks", blocks)) == ["blocks after 0"])
        #expect(transcript.passedOn() == [])
    }

    @Test func eachIsPassedOnInTheNameOfWhoAsksIt() {
        var transcript = Self.transcript(tokens: [
            Token(token: "g", role: .game), Token(token: "p", role: .purchases), Token(token: "f", role: .finance),
        ])
        #expect(transcript.send(Requests.grant("0", "a", 1, id: "0")) == [])
        #expect(transcript.replies() == ["0 unauthenticated"])
        transcript.send(
            Requests.authenticate("g", id: 1), Requests.grant("1", "a", 1, id: "2"), Requests.authenticate("p", id: 3),
            Requests.notify("x", id: "4"), Requests.authenticate("f", id: 5), Requests.grant("2", "a", 1, id: "6"))
        #expect(transcript.passedOn() == ["grant 1 for \(Token(token: "g", role: .game).name)"])
        #expect(transcript.answersOfLeader(Self.granted) == ["1", "2", "3"])
        #expect(transcript.passedOn() == ["notify for \(Token(token: "p", role: .purchases).name)"])
        #expect(transcript.answersOfLeader(Self.granted) == ["4", "5", "6 forbidden"], "roles hold here too")
    }

    @Test func eachOfSeveralLedgersHasALeaderOfItsOwn() {
        var transcript = Self.transcript(ledgers: ["x", "y"]) { $0 == 1 }
        let grant = { (key: String, ledger: String, id: Int) in
            Requests.call(
                "grant", #"{"key":"\#(key)","account":"a","currency":"gems","amount":1,"ledger":"\#(ledger)"}"#, id: id)
        }
        #expect(transcript.send(grant("1", "x", 1), grant("2", "y", 2)) == ["x: grant 1"])
        #expect(transcript.answers(Self.done) == ["1"])
        #expect(transcript.passedOn() == ["y: grant 2 for anybody"])
        #expect(transcript.answersOfLeader(Self.granted) == ["2"])
    }

    private static let noLeader = Answer.failure(.store(StoreError(.notReady, "no node leads at this moment")))
    private static let unavailable = Answer.failure(.store(StoreError(.unavailable, "")))
    private static let otherLeads = Answer.failure(.store(StoreError(.notLeader(address: "b:1"), "")))

    /// The lead went to another node while the last requests were here: that one carries them out, in their order.
    @Test func whatTheLeadLeftBehindIsPassedOn() {
        let leads = NIOLockedValueBox(true)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        let grants = (1...4).map { Requests.grant("\($0)", "a", 1, id: "\($0)") }
        #expect(
            transcript.send(grants[0], grants[1], grants[2]) == ["grant 1", "grant 2", "grant 3"])
        leads.withLockedValue { $0 = false }
        #expect(transcript.answers(Self.done, Self.noLeader) == ["1"])
        #expect(transcript.send(grants[3]) == [] && transcript.passedOn() == [], "the one before is not answered")
        #expect(transcript.answers(Self.otherLeads) == [])
        #expect(transcript.passedOn() == (2...4).map { "grant \($0) for anybody" })
        #expect(transcript.answersOfLeader(Self.granted, Self.granted, Self.granted) == ["2", "3", "4"])
        #expect(transcript.state.inFlight == (0, 0))
    }

    /// What was sent behind it was answered by then: it would take effect after that.
    @Test func whatWasAnsweredOutOfItsOrderIsNotPassedOn() {
        let leads = NIOLockedValueBox(true)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        for other in [Requests.grant("2", "a", 1, id: "2"), Requests.history("a", id: "2")] {
            leads.withLockedValue { $0 = true }
            transcript.send(Requests.grant("1", "a", 1, id: "1"), other)
            leads.withLockedValue { $0 = false }
            let answer = other.contains("history") ? ConnectionStateTests.page : Self.done
            #expect(transcript.answers(Self.noLeader, answer) == ["1 storage_unavailable", "2"])
            #expect(transcript.passedOn() == [])
        }
    }

    /// It is to show what stands before it, and what stands behind it comes after it.
    @Test func aBalanceAmongWhatTheLeadLeftBehindIsAskedOfTheNextLeader() {
        let leads = NIOLockedValueBox(true)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        let operations = transcript.send(
            Requests.grant("1", "a", 1, id: "1"), Requests.balance("a", id: "2"), Requests.grant("2", "a", 1, id: "3"),
            Requests.balance("b", id: "4"))
        #expect(operations == ["grant 1", "balance a", "grant 2", "balance b"])
        leads.withLockedValue { $0 = false }
        #expect(transcript.answers(Self.noLeader, Self.done, Self.otherLeads) == [])
        #expect(transcript.answers(Self.noLeader) == [])
        #expect(
            transcript.passedOn() == [
                "grant 1 for anybody", "balance a for anybody", "grant 2 for anybody", "balance b for anybody",
            ])
        let balance = Reply.outcome(.written(Array(#"{"account":"a","balances":[]}"#.utf8)))
        #expect(transcript.answersOfLeader(Self.granted, balance, Self.granted, balance) == ["1", "2", "3", "4"])
        #expect(transcript.state.inFlight == (0, 0))
    }

    /// The last changes that the leader made are in doubt. What stands behind them was not carried out.
    @Test func whatStandsBehindWhatIsInDoubtIsPassedOn() {
        let leads = NIOLockedValueBox(true)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        transcript.send(
            Requests.balance("a", id: "1"), Requests.grant("1", "a", 1, id: "2"), Requests.grant("2", "a", 1, id: "3"),
            Requests.balance("a", id: "4"))
        leads.withLockedValue { $0 = false }
        let unknown = Answer.failure(.store(StoreError(.unknown, "")))
        #expect(
            transcript.answers(Self.noLeader, unknown, Self.otherLeads, Self.done) == [
                "1 storage_unavailable", "2 outcome_unknown",
            ])
        #expect(transcript.passedOn() == ["grant 2 for anybody", "balance a for anybody"])
        #expect(transcript.answersOfLeader(Self.granted, Self.granted) == ["3", "4"])
    }

    /// A change that was refused is before one that may have been carried out: it would take effect after that.
    @Test func whatStandsBeforeWhatIsInDoubtIsNotPassedOn() {
        let leads = NIOLockedValueBox(true)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        transcript.send(
            Requests.grant("1", "a", 1, id: "1"), Requests.grant("2", "a", 1, id: "2"),
            Requests.grant("3", "a", 1, id: "3"))
        leads.withLockedValue { $0 = false }
        let unknown = Answer.failure(.store(StoreError(.unknown, "")))
        #expect(
            transcript.answers(Self.noLeader, unknown, Self.noLeader) == [
                "1 storage_unavailable", "2 outcome_unknown", "3 storage_unavailable",
            ])
        #expect(transcript.passedOn() == [])
    }

    /// A read of pages begins only when the one before it was told: nothing waits for one.
    @Test func nothingWaitsForAReadOfPages() {
        let leads = NIOLockedValueBox(true)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        transcript.send(
            Requests.grant("1", "a", 1, id: "1"), Requests.history("a", id: "2"), Requests.history("b", id: "3"),
            Requests.grant("2", "a", 1, id: "4"))
        leads.withLockedValue { $0 = false }
        #expect(transcript.answers(Self.noLeader) == ["1 storage_unavailable"])
        #expect(transcript.answers(ConnectionStateTests.page) == ["2"])
        #expect(transcript.answers(ConnectionStateTests.page) == ["3"])
        #expect(transcript.answers(Self.noLeader) == ["4 storage_unavailable"], "the first is asked for again before")
        #expect(transcript.passedOn() == [])
        transcript.send(Requests.grant("1", "a", 1, id: "5"))
        #expect(transcript.passedOn() == ["grant 1 for anybody"])
    }

    /// The first was told in a batch before: its client asks for it again, and what was sent behind it comes later.
    @Test func nothingIsPassedOnBehindAChangeWhoseRefusalWasTold() {
        let leads = NIOLockedValueBox(true)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        let grants = (1...4).map { Requests.grant("\($0)", "a", 1, id: "\($0)") }
        transcript.send(grants[0], grants[1], grants[2])
        #expect(transcript.answers(Self.unavailable) == ["1 storage_unavailable"], "this node leads")
        leads.withLockedValue { $0 = false }
        #expect(transcript.send(grants[3]) == [], "it waits for nothing")
        #expect(transcript.answers(Self.noLeader, Self.noLeader) == (2...4).map { "\($0) storage_unavailable" })
        #expect(transcript.passedOn() == [])
        // From here on its client knows.
        transcript.send(grants[0])
        #expect(transcript.passedOn() == ["grant 1 for anybody"])
    }

    /// Meanwhile this node found that the log is not the one that it had read.
    @Test func whereTheLedgerIsLedIsLookedAtAgainWhenAllIsAnswered() {
        let place = NIOLockedValueBox(LeadPlace.here)
        var transcript = Transcript(leadPlace: { _ in place.withLockedValue { $0 } })
        transcript.send(Requests.grant("1", "a", 1, id: "1"), Requests.grant("2", "a", 1, id: "2"))
        place.withLockedValue { $0 = .elsewhere }
        #expect(transcript.answers(Self.noLeader) == [])
        place.withLockedValue { $0 = .unknown }
        #expect(transcript.answers(Self.noLeader) == ["1 storage_unavailable", "2 storage_unavailable"])
        #expect(transcript.passedOn() == [])
    }

    /// Another ledger of the service is one of a node, and this one is a standby's.
    @Test func whatNoOtherNodeIsAskedOfIsToldWhateverKeptItFromBeingDone() {
        var transcript = Transcript(ledgers: ["x", "y"], leadPlace: { $0 == 0 ? .elsewhere : .unknown })
        transcript.send(
            Requests.call("grant", #"{"key":"1","account":"a","currency":"gems","amount":1,"ledger":"y"}"#, id: 1))
        #expect(transcript.answers(Self.noLeader) == ["1 storage_unavailable"])
        #expect(transcript.passedOn() == [])
    }

    /// Here it is a read, and the ledger's next one would wait for that to be taken.
    @Test func whatIsPassedOnIsNoReadOfTheLedgerHere() {
        var transcript = Self.transcript { _ in true }
        transcript.send(Requests.call("close", #"{"through":1}"#, id: 1), Requests.call("step_down", "{}", id: 2))
        #expect(transcript.passedOn().count == 2)
        #expect(transcript.state.readPermission(isWritable: true) == nil)
        #expect(transcript.answersOfLeader(.error(.overloaded), .error(.overloaded)).count == 2)
        #expect(transcript.state.readsAnswered == 0)
    }

    /// By the time that its refusal is told this node leads: it asks itself, as it would ask another.
    @Test func whatWasRefusedBeforeThisNodeLedIsAskedOfIt() {
        var transcript = Self.transcript { _ in false }
        transcript.send(Requests.grant("1", "a", 1, id: "1"), Requests.grant("2", "a", 1, id: "2"))
        #expect(transcript.answers(Self.noLeader, Self.noLeader) == [])
        #expect(transcript.passedOn() == ["grant 1 for anybody", "grant 2 for anybody"])
        #expect(transcript.answersOfLeader(Self.granted, Self.granted) == ["1", "2"])
    }

    /// Its trace has no batch then: the one that was noted last is that of the answers for which it waited.
    @Test func anAnswerThatWaitedIsNotSaidToBeOfALaterBatch() {
        let leads = NIOLockedValueBox(true)
        let queue = SpanQueue(TraceExportLimits())
        let directory = LedgerDirectory([(nil, App(bundleID: "b", environment: .sandbox))])
        let spans = RequestSpans(ExportingTracer(queue: queue, ratio: 1), directory)
        var transcript = Transcript(
            isLedElsewhere: { _ in !leads.withLockedValue { $0 } }, figures: RequestFigures(ledgers: 1, spans: spans))
        func note(_ requests: Int) {
            transcript.state.noteCommit(
                CommitTrace(begin: 1, decided: 2, end: 3, requests: requests, isDone: true, append: nil))
        }
        transcript.send(
            Requests.balance("a", id: "1"), Requests.grant("1", "a", 1, id: "2"), Requests.grant("2", "a", 1, id: "3"))
        leads.withLockedValue { $0 = false }
        note(2)
        #expect(transcript.answers(Self.done, Self.noLeader) == ["1"])
        #expect(queue.takeBatch().map(\.name) == ["decide", "commit", "balance"], "it did not wait")
        note(1)
        #expect(transcript.answers(Self.done) == ["2 storage_unavailable", "3"])
        #expect(queue.takeBatch().map(\.name) == ["grant", "grant"])
    }

    /// Nobody knows whether it was carried out, or no other node leads.
    @Test(arguments: [true, false])
    func whatMayHaveBeenDoneIsNotPassedOn(isLedElsewhere: Bool) {
        let leads = NIOLockedValueBox(true)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        transcript.send(Requests.grant("1", "a", 1, id: "1"))
        leads.withLockedValue { $0 = !isLedElsewhere }
        let kind: StoreError.Kind = isLedElsewhere ? .unknown : .unavailable
        let reason = isLedElsewhere ? "outcome_unknown" : "storage_unavailable"
        #expect(transcript.answers(.failure(.store(StoreError(kind, "")))) == ["1 \(reason)"])
        #expect(transcript.passedOn() == [])
    }

    /// The node came to lead while what it had passed on was under way.
    @Test func whoLeadsIsAskedAnewForEachRequest() {
        let leads = NIOLockedValueBox(false)
        var transcript = Self.transcript { _ in !leads.withLockedValue { $0 } }
        transcript.send(Requests.grant("1", "a", 1, id: "1"))
        #expect(transcript.passedOn() == ["grant 1 for anybody"])
        leads.withLockedValue { $0 = true }
        #expect(transcript.send(Requests.grant("2", "a", 1, id: "2")) == [], "it waits for the one before")
        #expect(transcript.answersOfLeader(Self.granted) == ["1"])
        #expect(transcript.operations() == ["grant 2"])
        #expect(transcript.answers(Self.done) == ["2"])
    }
}

extension PassingOnTests {
    /// What was passed on is answered. What waits for that is not passed on any more; what comes later is judged anew.
    @Test(arguments: [nil, Token("gone", .finance, "g")])
    func whatWaitsForANodeThatLeadsIsRefusedWhereItsTokenIsTakenAway(instead: Token?) {
        let (kept, gone) = (Token("kept", .game, "k"), Token("gone", .game, "g"))
        var transcript = Transcript(tokens: [kept, gone], isLedElsewhere: { _ in true })
        transcript.send(Requests.authenticate("g"))
        transcript.send(Requests.grant("1", "a", 1, id: "2"))
        transcript.send(Requests.grant("2", "a", 1, id: "3"), Requests.grant("3", "a", 1, id: "4"))
        #expect(transcript.passedOn() == ["grant 1 for gone"])
        _ = transcript.replies()
        transcript.tokens.replace(by: [kept] + (instead.map { [$0] } ?? []))
        var hasLostRights = false
        transcript.change { hasLostRights = $0.renewIdentity() }
        #expect(hasLostRights && transcript.replies() == [])
        transcript.send(Requests.authenticate("k"), Requests.grant("4", "a", 1, id: "6"))
        let reason = instead == nil ? "unauthenticated" : "overloaded"
        #expect(transcript.answersOfLeader(Self.granted) == ["2", "3 \(reason)", "4 \(reason)", "1"])
        #expect(transcript.passedOn() == ["grant 4 for kept"])
        #expect(transcript.answersOfLeader(Self.granted) == ["6"] && transcript.state.inFlight == (0, 0))
    }

    /// It was first to notice that tokens were replaced, and was judged by those that there are.
    @Test func whatIsAskedUnderLesserRightsLosesNothing() {
        let gone = Token("gone", [.game, .finance], "g")
        var transcript = Transcript(tokens: [gone], isLedElsewhere: { _ in true })
        transcript.send(Requests.authenticate("g"))
        transcript.tokens.replace(by: [Token("gone", .game, "g")])
        transcript.send(Requests.grant("1", "a", 1, id: "2"))
        #expect(transcript.passedOn() == ["grant 1 for gone"])
        let hasLostRights = transcript.state.renewIdentity()
        #expect(!hasLostRights)
    }

    /// The lead is lost behind that: what the ledger here answers is told.
    @Test func whatTheLedgerHereHasIsNotPassedOnWhereItsTokenIsTakenAway() {
        let (kept, gone) = (Token("kept", .game, "k"), Token("gone", .game, "g"))
        let leads = NIOLockedValueBox(true)
        var transcript = Transcript(
            tokens: [kept, gone], isLedElsewhere: { _ in !leads.withLockedValue { $0 } })
        transcript.send(Requests.authenticate("g"))
        #expect(transcript.send(Requests.grant("1", "a", 1, id: "2")) == ["grant within a limit"])
        transcript.tokens.replace(by: [kept])
        let hasLostRights = transcript.state.renewIdentity()
        #expect(hasLostRights)
        leads.withLockedValue { $0 = false }
        _ = transcript.replies()
        let told = transcript.answers(.failure(.store(StoreError(.notLeader(address: "b:1"), ""))))
        #expect(told == ["2 not_leader"] && transcript.passedOn() == [])
    }
}

extension ServerTests {
    /// A node's connection to the one that leads: it asks in the name of others.
    @Suite struct ClientsOfNodes {
        private static func greeting(_ token: String, for client: String) -> String {
            Requests.call("authenticate", #"{"token":"\#(token)","client":"\#(client)","direct":true}"#)
        }

        @Test func aNodeAsksInTheNameOfItsClientsAndMayNoMoreThanThose() async throws {
            let tokens = [
                Token("node", .admin, "node's"), Token("game", .game, "game's"),
                Token("reader", .admin, "reader's") { $0.isReadOnly = true },
                Token("few", .game, "few's") { $0.grantsPerDay = [CurrencyCode("gems")!: 5] },
            ]
            let logs = LogCapture()
            try await TestServer.run(tokens: tokens, logs: logs) { server in
                let node = try await server.connect()
                let greeting = try await node.ask(Self.greeting("node's", for: "game"))
                #expect(greeting.result["name"].string == "game")
                #expect(greeting.result["roles"].array?.map(\.string) == ["game"])
                #expect(try await node.ask(Requests.grant("1", "a", 7)).reason == nil)
                #expect(try await node.ask(Requests.report("trial")).reason == "forbidden")
                let entries = try await node.ask(Requests.history("a")).result["entries"]
                #expect(entries.array?.first?["actor"].string == "game")

                // Its limits are those of the client, wherever that asks.
                #expect(try await node.ask(Self.greeting("node's", for: "few")).reason == nil)
                #expect(try await node.ask(Requests.grant("2", "a", 4)).reason == nil)
                let few = try await server.connect()
                _ = try await few.ask(Requests.authenticate("few's"))
                #expect(try await few.ask(Requests.grant("3", "a", 4)).reason == "forbidden")

                // The App Store posts what is verified, and may nothing else.
                #expect(try await node.ask(Self.greeting("node's", for: "App Store")).reason == nil)
                #expect(try await node.ask(Requests.notify("x")).reason == "verification_failed")
                #expect(try await node.ask(Requests.grant("4", "a", 1)).reason == "forbidden")
            }
        }

        /// Only a token that may everything may be others'. Who it is stays as it was.
        @Test(arguments: [("game's", "game"), ("reader's", "game"), ("node's", "nobody"), ("wrong", "game")])
        func nobodyElseAsksInTheNameOfOthers(token: String, client: String) async throws {
            let tokens = [
                Token("node", .admin, "node's"), Token("game", .game, "game's"),
                Token("reader", .admin, "reader's") { $0.isReadOnly = true },
            ]
            let logs = LogCapture()
            try await TestServer.run(tokens: tokens, logs: logs) { server in
                let asker = try await server.connect()
                #expect(try await asker.ask(Self.greeting(token, for: client)).reason == "unauthenticated")
                #expect(try await asker.ask(Requests.grant("1", "a", 1)).reason == "unauthenticated")
                // It is a guess, as any other wrong token is.
                for _ in 0..<2 { _ = try await asker.ask(Self.greeting(token, for: client)) }
                await #expect(throws: (any Error).self) {
                    for _ in 0..<3 { _ = try await asker.ask(Requests.authenticate("game's")) }
                }
            }
        }
    }
}
