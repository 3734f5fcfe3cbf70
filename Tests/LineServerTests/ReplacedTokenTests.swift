import AppStore
import Foundation
import Ledger
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// What becomes of connections that are open when the tokens are replaced.
    @Suite struct ReplacedTokens {
        private static let kept = Token("kept", [.game, .finance], "k")
        private static let gone = Token("gone", [.game, .finance], "g")

        @Test func whoseTokenIsGoneHasAStrangersTimeAndIsToldSo() async throws {
            try await TestServer.run(
                tokens: [Self.kept, Self.gone], limits: { $0.unauthenticatedMilliseconds = 500 }
            ) { server in
                let silent = try await server.connect(as: "g")
                let returning = try await server.connect(as: "g")
                let known = try await server.connect(as: "k")
                // Longer than a stranger's time.
                try await Task.sleep(for: .milliseconds(700))
                server.lines.reload(tokens: [Self.kept])
                #expect(try await returning.ask(Requests.authenticate("k")).reason == nil)
                let told = try JSON(try #require(try await silent.line()))
                #expect(told.reason == "unauthenticated" && told["id"].isNull)
                #expect(try await silent.line() == nil)
                for client in [returning, known] {
                    #expect(try await client.ask(Requests.balance("a")).reason == nil)
                }
            }
        }

        @Test func whatAConnectionWaitsForEndsWithItsToken() async throws {
            try await TestServer.run(tokens: [Self.kept, Self.gone]) { server in
                let wait = Requests.journal(after: 0, wait: 30_000, id: "2") + "\n"
                var waiting: [RawClient] = []
                for _ in 0..<4 {
                    let client = try await server.connect(as: "g")
                    try await client.send(wait)
                    waiting.append(client)
                }
                let other = try await server.connect(as: "k")
                try await other.send(wait)
                try await server.letEventLoopsRead()
                let replaced = ContinuousClock.now
                server.lines.reload(tokens: [Self.kept])
                for client in waiting {
                    let page = try JSON(try #require(try await client.line()))
                    #expect(page.id == 2 && page.result["entries"].count == 0)
                    #expect(try await client.ask(Requests.balance("a")).reason == "unauthenticated")
                }
                #expect(replaced.duration(to: .now) < .seconds(5))
                // Whose token is still there waits on.
                let writer = try await server.connect(as: "k")
                #expect(try await writer.ask(Requests.grant("g", "a", 1)).reason == nil)
                #expect(try await other.lines(1).map { try JSON($0).result["entries"].count } == [1])
            }
        }

        /// However the token is worth less.
        @Test func whoMayDoLessIsToldNothingNewByAReadThatWaits() async throws {
            try await TestServer.run(tokens: [Self.kept, Self.gone]) { server in
                let (client, other) = (try await server.connect(as: "g"), try await server.connect(as: "k"))
                let writer = try await server.connect(as: "k")
                for waiting in [client, other] {
                    try await waiting.send(Requests.journal(after: 0, wait: 30_000) + "\n")
                }
                try await server.letEventLoopsRead()
                var less = Self.gone
                less.roles = [.game]
                server.lines.reload(tokens: [Self.kept, less])
                #expect(try JSON(try #require(try await client.line())).result["entries"].count == 0)
                #expect(try await writer.ask(Requests.grant("new", "b", 1)).reason == nil)
                // Whose token is as before waits on, and is told.
                #expect(try JSON(try #require(try await other.line())).result["entries"].count == 1)
                #expect(try await client.ask(Requests.journal(after: 0)).reason == "forbidden")
            }
        }

        @Test(arguments: 0..<5)
        func whatStandsBehindAReadIsNotCarriedOutWhereATokenMayDoLess(way: Int) async throws {
            try await TestServer.run(tokens: [Self.kept, Self.gone]) { server in
                let client = try await server.connect(as: "g")
                let other = try await server.connect(as: "k")
                var grants = (0..<20).map { Requests.grant("g\($0)", "a", 1) }
                // Who it is by now says nothing of who asked.
                if way == 4 { grants.append(Requests.authenticate("k")) }
                let lines = [Requests.journal(after: 0, wait: 30_000)] + grants
                for waiting in [client, other] { try await waiting.send(lines.joined(separator: "\n") + "\n") }
                try await server.letEventLoopsRead()
                var less = Self.gone
                switch way {
                case 0, 4: less.name = "another"
                case 1: less.roles = [.finance]
                case 2: less.limits.isReadOnly = true
                default: less.limits.currencies = []
                }
                server.lines.reload(tokens: [Self.kept] + (way % 4 == 0 ? [] : [less]))
                #expect(try await client.line() == nil)
                let writer = try await server.connect(as: "k")
                let balance = try await writer.ask(Requests.balance("a"))
                #expect(balance.result["balances"].count == 0, "\(balance.result)")
                // Whose token is as before waits on.
                #expect(try await writer.ask(Requests.grant("new", "b", 1)).reason == nil)
                if way < 4 { #expect(try await other.lines(21).count == 21) }
            }
        }

        /// It has been somebody else, of whom nothing has changed.
        @Test func whoIsAnotherByItselfGoesOnThroughAReload() async throws {
            try await TestServer.run(tokens: [Self.kept, Self.gone]) { server in
                let client = try await server.connect(as: "g")
                #expect(try await client.ask(Requests.authenticate("k")).reason == nil)
                let lines = [Requests.journal(after: 0, wait: 30_000), Requests.grant("g", "a", 1)]
                try await client.send(lines.joined(separator: "\n") + "\n")
                try await server.letEventLoopsRead()
                server.lines.reload(tokens: [Self.kept, Self.gone])
                try await server.letEventLoopsRead()
                #expect(try await server.connect(as: "k").ask(Requests.grant("h", "a", 1)).reason == nil)
                #expect(try await client.lines(2).count == 2)
            }
        }

        /// A request may be first to find that its token is gone, before its connection is told; and its client may
        /// have sent another token by then.
        @Test(arguments: [false, true])
        func whoeverFindsFirstThatATokenIsGoneTheConnectionIsToldThatItMayDoLess(returns: Bool) {
            var transcript = Transcript(tokens: [Self.kept, Self.gone])
            let asked = transcript.send(
                Requests.authenticate("g", id: 1), Requests.history("a", id: "2"), Requests.spend("s", "a", 1, id: "3"))
            #expect(asked == ["history a", "spend s"])
            transcript.tokens.replace(by: [Self.kept])
            transcript.send(Requests.ping(4))
            if returns { transcript.send(Requests.authenticate("k", id: 5)) }
            #expect(transcript.state.holder?.name == (returns ? "kept" : nil))
            var losses: [Bool] = []
            for _ in 0..<2 { transcript.change { losses.append($0.renewIdentity()) } }
            #expect(losses == [true, false])
        }

        /// Over HTTP nothing of those before is under way when a request begins.
        @Test func aRequestOfHTTPLosesNothingByTheTokenOfTheOneBefore() {
            var transcript = Transcript(tokens: [Self.kept, Self.gone])
            for (secret, isReplaced) in [("g", false), ("k", true)] {
                if isReplaced { transcript.tokens.replace(by: [Self.kept]) }
                var refusal: WireError?
                transcript.change { refusal = $0.begin(.requests, from: TokenTable.credential(secret)) }
                #expect(refusal == nil)
                #expect(transcript.send("[\(Requests.history("a")),\(Requests.spend("s", "a", 1))]").count == 2)
                if !isReplaced { _ = transcript.answers(ConnectionStateTests.page, ConnectionStateTests.done) }
            }
            var hasLost = true
            transcript.change { hasLost = $0.renewIdentity() }
            #expect(!hasLost)
        }

        @Test func thePlaceOfATokenThatIsGoneIsAStrangers() async throws {
            try await TestServer.run(
                tokens: [Self.kept, Self.gone],
                limits: {
                    $0.connectionsMax = 6
                    $0.connectionsPerNameMax = 6
                    $0.connectionsKeptMax = 0
                }
            ) { server in
                var old: [RawClient] = []
                for _ in 0..<5 { old.append(try await server.connect(as: "g")) }
                var known = [try await server.connect(as: "k")]
                let late = try await server.connect()
                #expect(try JSON(try #require(try await late.line())).reason == "overloaded", "every place is taken")
                server.lines.reload(tokens: [Self.kept])
                try #require(
                    try await eventually {
                        guard let client = await server.connectIfAccepted(as: "k") else { return false }
                        known.append(client)
                        return true
                    })
                for _ in 0..<4 { known.append(try await server.connect(as: "k")) }
                for client in old {
                    #expect(try JSON(try #require(try await client.line())).reason == "overloaded", "it was put out")
                }
                for client in known { #expect(try await client.ask(Requests.balance("a")).reason == nil) }
            }
        }

        @Test func whoseTokenHasAnotherNameIsCountedUnderThat() async throws {
            try await TestServer.run(
                tokens: [Token("a", [.game, .finance], "moves"), Token("b", [.game, .finance], "b")],
                limits: { $0.connectionsPerNameMax = 1 }
            ) { server in
                let client = try await server.connect(as: "moves")
                server.lines.reload(tokens: [
                    Token("a", [.game, .finance], "a"), Token("b", [.game, .finance], "b", "moves"),
                ])
                // Though it says nothing.
                #expect(try await eventually { await server.connectIfAccepted(as: "a") != nil })
                let other = try await server.connect()
                #expect(try await other.ask(Requests.authenticate("b")).reason == "overloaded")
                #expect(try await client.ask(Requests.grant("g", "p", 1)).reason == nil)
                let history = try await client.ask(Requests.history("p"))
                #expect(history.result["entries"][0]["actor"].string == "b")
            }
        }

        @Test func thePlaceOfATokenThatIsTakenAwayIsFreeOverHTTPToo() async throws {
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], tokens: [Token("a", .game, "old")],
                limits: { $0.connectionsPerNameMax = 1 }
            ) { server in
                let former = try await server.connectHTTP()
                #expect(try await former.ask(HTTPClient.rpc(Requests.balance("p"), token: "old")).status == 200)
                server.lines.reload(tokens: [Token("a", .game, "new")])
                #expect(try await eventually { await server.connectIfAccepted(as: "new") != nil })
                // Its connection is there still, and somebody else's request is served on it.
                #expect(try await former.ask(HTTPClient.rpc(Requests.balance("p"), token: "old")).status == 401)
            }
        }

        @Test func whoseNewNameHasNoPlaceLeftIsAStranger() async throws {
            try await TestServer.run(
                tokens: [Token("a", [.game, .finance], "moves"), Token("b", [.game, .finance], "b")],
                limits: { $0.connectionsPerNameMax = 1 }
            ) { server in
                let moved = try await server.connect(as: "moves")
                let there = try await server.connect(as: "b")
                server.lines.reload(tokens: [
                    Token("a", [.game, .finance], "a"), Token("b", [.game, .finance], "b", "moves"),
                ])
                #expect(try await moved.ask(Requests.balance("p")).reason == "unauthenticated")
                #expect(try await there.ask(Requests.balance("p")).reason == nil)
                #expect(try await moved.ask(Requests.authenticate("a")).reason == nil)
            }
        }

        @Test func whatIsNotHandedOnYetIsRefused() async throws {
            let store = FaultyStore()
            try await TestServer.run(
                store: store, tokens: [Self.kept, Self.gone], limits: { $0.requestsInFlightMax = 10 }
            ) { server in
                let client = try await server.connect(as: "g")
                store.hold()
                try await client.send((0..<30).map { Requests.grant("g\($0)", "a", 1) + "\n" }.joined())
                #expect(try await eventually { store.waiting == 1 })
                server.lines.reload(tokens: [Self.kept])
                store.release()
                let reasons = try await client.lines(30).map { try JSON($0).reason }
                let carriedOut = reasons.prefix { $0 == nil }.count
                #expect((1...10).contains(carriedOut), "\(reasons)")
                #expect(reasons.dropFirst(carriedOut).allSatisfy { $0 == "unauthenticated" }, "\(reasons)")
            }
        }
    }
}
