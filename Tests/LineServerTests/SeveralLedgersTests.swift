import AppStore
import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

/// Which ledger a request goes to where a service has several, and what they share.
@Suite struct SeveralLedgersTests {
    private static let done = ConnectionStateTests.done

    fileprivate static func balance(_ account: String, _ id: Int, of ledger: String? = nil) -> String {
        let ledger = ledger.map { #","ledger":"\#($0)""# } ?? ""
        return Requests.call("balance", #"{"account":"\#(account)"\#(ledger)}"#, id: id)
    }

    @Test func aRequestGoesToTheLedgerThatItNames() {
        var transcript = Transcript(ledgers: ["a", "b"])
        #expect(transcript.send(Self.balance("p", 1, of: "b")) == ["b: balance p"])
        #expect(transcript.answers(Self.done) == ["1"])
        #expect(transcript.send(Self.balance("p", 2, of: "a")) == ["a: balance p"])
        #expect(transcript.answers(Self.done) == ["2"])
        transcript.send(Self.balance("p", 3), Self.balance("p", 4, of: "c"))
        #expect(transcript.replies() == ["3 ledger_required", "4 unknown_ledger"])
    }

    @Test func whereThereIsOneItHasNoName() {
        var transcript = Transcript()
        #expect(transcript.send(Self.balance("p", 1)) == ["balance p"])
        transcript.send(Self.balance("p", 2, of: "a"))
        #expect(transcript.answers(Self.done) == ["1", "2 unknown_ledger"])
    }

    @Test func whatIsForAnotherLedgerWaitsUntilAllBeforeItIsAnswered() {
        var transcript = Transcript(ledgers: ["a", "b"])
        #expect(
            transcript.send(
                Self.balance("p", 1, of: "a"), Self.balance("q", 2, of: "a"), Self.balance("p", 3, of: "b"),
                Requests.ping(4), Self.balance("p", 5, of: "a")) == ["a: balance p", "a: balance q"])
        #expect(transcript.answers(Self.done) == ["1"])
        #expect(transcript.operations() == [])
        #expect(transcript.answers(Self.done) == ["2"])
        #expect(transcript.operations() == ["b: balance p"])
        #expect(transcript.answers(Self.done) == ["3", "4"])
        #expect(transcript.operations() == ["a: balance p"])
        #expect(transcript.answers(Self.done) == ["5"])
    }

    @Test func aBatchMayBeForSeveral() {
        var transcript = Transcript(ledgers: ["a", "b"])
        let requests = [("a", 1), ("b", 2), ("b", 3), ("a", 4)].map { Self.balance("p", $1, of: $0) }
        #expect(transcript.send("[\(requests.joined(separator: ","))]") == ["a: balance p"])
        #expect(transcript.answers(Self.done) == [])
        #expect(transcript.operations() == ["b: balance p", "b: balance p"])
        #expect(transcript.answers(Self.done, Self.done) == [])
        #expect(transcript.operations() == ["a: balance p"])
        #expect(transcript.answers(Self.done) == ["[1, 2, 3, 4]"])
    }

    @Test func whereTheConnectionOrItsTokenHasOneNoneIsNamed() {
        let tokens = [
            Token(token: "all", role: .game), Token(token: "one", role: .purchases, ledger: "b"),
        ]
        var transcript = Transcript(tokens: tokens, ledgers: ["a", "b"])
        let named = Requests.call("authenticate", #"{"token":"all","ledger":"b"}"#, id: 1)
        #expect(transcript.send(named, Self.balance("p", 2)) == ["b: balance p"])
        #expect(transcript.answers(Self.done) == ["1", "2"])
        // It may ask the others still.
        #expect(transcript.send(Self.balance("p", 3, of: "a")) == ["a: balance p"])
        #expect(transcript.answers(Self.done) == ["3"])
        // The ledger alone, without a token.
        let other = Requests.call("authenticate", #"{"ledger":"a"}"#, id: 4)
        #expect(transcript.send(other, Self.balance("p", 5)) == ["a: balance p"])
        #expect(transcript.answers(Self.done) == ["4", "5"])

        var bound = Transcript(tokens: tokens, ledgers: ["a", "b"])
        bound.send(other, Requests.call("authenticate", "{}", id: 5))
        #expect(bound.replies() == ["4 unauthenticated", "5 invalid_params"])
        #expect(bound.send(Requests.authenticate("one"), Self.balance("p", 2)) == ["b: balance p"])
        #expect(bound.answers(Self.done) == ["1", "2"])
        let foreign = Requests.call("authenticate", #"{"token":"one","ledger":"a"}"#, id: 4)
        bound.send(Self.balance("p", 3, of: "a"), foreign, Requests.call("info", #"{"ledger":"a"}"#, id: 5))
        #expect(bound.replies() == ["3 forbidden", "4 forbidden", "5 forbidden"])
    }

    @Test func aTokenAndALedgerHoldTogetherOrNeitherDoes() {
        let tokens = [
            Token(token: "all", role: .game), Token(token: "one", role: .purchases, ledger: "b"),
        ]
        var transcript = Transcript(tokens: tokens, ledgers: ["a", "b"])
        let named = Requests.call("authenticate", #"{"token":"all","ledger":"a"}"#, id: 1)
        #expect(transcript.send(named, Self.balance("p", 2)) == ["a: balance p"])
        #expect(transcript.answers(Self.done) == ["1", "2"])
        // Neither the token of another, nor a ledger that there is not, changes who it is and what it asks.
        let foreign = Requests.call("authenticate", #"{"token":"one","ledger":"a"}"#, id: 3)
        let unknown = Requests.call("authenticate", #"{"token":"all","ledger":"c"}"#, id: 4)
        transcript.send(foreign, unknown)
        #expect(transcript.replies() == ["3 forbidden", "4 unknown_ledger"])
        #expect(transcript.send(Requests.spend("k", "p", 1, id: "5")).count == 1)
        #expect(transcript.answers(Self.done) == ["5"])
        // Nobody learns from the token of one which others there are.
        var bound = Transcript(tokens: tokens, ledgers: ["a", "b"])
        bound.send(Requests.authenticate("one"), Self.balance("p", 2, of: "a"), Self.balance("p", 3, of: "nothing"))
        #expect(bound.replies() == ["1", "2 forbidden", "3 forbidden"])
    }

    /// Parameters of every method that a ledger answers.
    private static let params: [String: String] = [
        "spend": #""key":"k","account":"p","debits":[{"currency":"gems","amount":1}]"#,
        "credit": #""signedTransaction":"\#(Self.jws)""#, "notify": #""signedPayload":"\#(Self.notification)""#,
        "balance": #""account":"p""#, "purchase": #""transactionId":"1""#,
        "consumption": #""transactionId":"1","customerConsented":true"#,
        "link": #""token":"5f0e8c2a-0000-4000-8000-00000000000c","account":"p""#,
        "relink": #""token":"5f0e8c2a-0000-4000-8000-00000000000c","account":"p""#,
        "consent": #""key":"k","account":"p","consumption":true"#,
        "grant": #""key":"k","account":"p","currency":"gems","amount":1"#, "reverse": #""key":"k","spendKey":"s""#,
        "hold": #""key":"k","account":"p","currency":"gems","amount":1,"timeoutMilliseconds":1"#,
        "capture": #""key":"k","holdKey":"h""#, "release": #""key":"k","holdKey":"h""#,
        "atomic": #""key":"k","operations":[\#(Self.release),\#(Self.release)]"#,
        "history": #""account":"p""#, "lots": #""account":"p""#, "holds": #""account":"p""#,
        "report": #""kind":"trial""#, "journal": #""after":0"#, "find": #""account":"p""#,
        "head": "", "close": #""through":1"#,
        "adjust":
            #""key":"k","account":"p","currency":"gems","class":"free","amount":1,"reason":"r","approval":"other""#,
        "import": #""key":"k","account":"p","lots":[{"currency":"gems","amount":1}]"#,
        "external": #""source":"shop","transactionId":"1","account":"p","product":"gems","purchaseDate":1"#,
        "forget": #""account":"p""#, "promote": "", "step_down": "",
        "blocks": #""standby":"s","after":0,"hash":"\#(String(repeating: "0", count: 64))""#,
    ]

    private static let release = #"{"method":"release","params":{"holdKey":"h"}}"#

    /// Claims the app of the second ledger, and nothing else of it is right.
    private static let jws = signed(
        #"""
        {"transactionId":"1","bundleId":"com.example.b","productId":"p","purchaseDate":1,"quantity":1,\#
        "type":"Consumable","signedDate":1,"environment":"Sandbox"}
        """#)

    private static let notification = signed(
        #"""
        {"notificationType":"TEST","notificationUUID":"u","signedDate":1,\#
        "data":{"bundleId":"com.example.b","environment":"Sandbox"}}
        """#)

    private static func signed(_ payload: String) -> String {
        let text = Data(payload.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        return "e30." + text.replacing("=", with: "") + ".AAAA"
    }

    @Test(arguments: Methods.all.filter { Self.params[$0.description] != nil })
    func everyMethodGoesToTheLedgerThatIsMeant(method: LedgerWire.Method) throws {
        let tokens = [
            Token(token: "all", role: .admin), Token(token: "replica", role: .replica),
            Token(token: "of b", role: .admin, ledger: "b"), Token(token: "replica of b", role: .replica, ledger: "b"),
            Token(token: "other", role: .finance),
        ]
        let own = try #require(Self.params[method.description])
        let token = method.isAllowed(to: .admin) ? "all" : "replica"
        /// The place to which it goes, or why it goes to none.
        func goes(_ token: String, named: String? = nil, connection: String? = nil) -> String {
            var transcript = Transcript(tokens: tokens, ledgers: ["a", "b"])
            let ledger = connection.map { #","ledger":"\#($0)""# } ?? ""
            transcript.send(Requests.call("authenticate", #"{"token":"\#(token)"\#(ledger)}"#, id: 1))
            #expect(transcript.replies() == ["1"])
            let members = [own, named.map { #""ledger":"\#($0)""# } ?? ""].filter { !$0.isEmpty }
            let handedOn = transcript.send(
                Requests.call(method.description, "{\(members.joined(separator: ","))}", id: 2))
            return handedOn.first.map { String($0.prefix(1)) } ?? transcript.replies().joined()
        }
        let isSigned = ["credit", "notify"].contains(method.description)
        #expect(goes(token, named: "a") == "a" && goes(token, named: "b") == "b")
        #expect(goes(token, named: "b", connection: "a") == "b")
        #expect(goes(token, connection: "a") == (isSigned ? "b" : "a"))
        let bound = token == "all" ? "of b" : "replica of b"
        #expect(goes(bound) == "b" && goes(bound, named: "a") == "2 forbidden")
        #expect(goes(token, named: "c") == "2 unknown_ledger")
        #expect(goes(token) == (isSigned ? "b" : "2 ledger_required"))
    }

    @Test func aNotificationThatIsNoneClaimsNothingAndTheFirstJudgesIt() {
        let tokens = [Token(token: "all", role: .admin)]
        var transcript = Transcript(tokens: tokens, ledgers: ["a", "b"])
        transcript.send(Requests.authenticate("all"))
        let handedOn = transcript.send(Requests.call("notify", #"{"signedPayload":"\#(Self.jws)"}"#, id: 2))
        #expect(handedOn.first?.prefix(1) == "a")
    }

    @Test func theTableHasEveryMethodOfALedger() {
        let own: Set = ["ping", "authenticate", "info", "reload"]
        #expect(Set(Self.params.keys).union(own) == Set(Methods.all.map(\.description)))
    }

    /// Found by an attacker: it was refused for the old token, and then carried out where the connection stood.
    @Test func whereATokenIsMovedARequestGoesToTheLedgerThatItNamesOrToNone() {
        func token(_ ledger: String?) -> Token { Token(token: "t", role: .game, ledger: ledger) }
        var transcript = Transcript(tokens: [token("a")], ledgers: ["a", "b"])
        #expect(transcript.send(Requests.authenticate("t"), Self.balance("p", 2)) == ["a: balance p"])
        #expect(transcript.answers(Self.done) == ["1", "2"])
        for (ledger, other) in [("b", "a"), ("a", "b"), ("b", "a")] {
            transcript.tokens.replace(by: [token(ledger)])
            #expect(transcript.send(Self.balance("p", 3, of: ledger)) == ["\(ledger): balance p"])
            transcript.send(Self.balance("p", 4, of: other), Self.balance("p", 6))
            #expect(transcript.answers(Self.done) == ["3", "4 forbidden", "6 ledger_required"])
        }
        transcript.tokens.replace(by: [token(nil)])
        #expect(transcript.send(Self.balance("p", 5, of: "a")) == ["a: balance p"])
    }

    @Test func aStrangerLearnsNoNames() {
        var transcript = Transcript(tokens: [Token(token: "all", role: .game)], ledgers: ["a", "b"])
        transcript.send(Self.balance("p", 1), Self.balance("p", 2, of: "a"), Self.balance("p", 3, of: "c"))
        #expect(transcript.replies() == ["1 unauthenticated", "2 unauthenticated", "3 unauthenticated"])
    }

    @Test func aJWSIsJudgedByTheLedgerOfItsAppAndEnvironment() throws {
        let (game, other) = (try SandboxApp(bundleID: "com.example.a"), try SandboxApp(bundleID: "com.example.b"))
        let production = App(bundleID: "com.example.b", environment: .production)
        let directory = LedgerDirectory([
            (LedgerName("one"), production), (LedgerName("two"), other.app), (LedgerName("three"), game.app),
        ])
        func place(_ app: SandboxApp) throws -> [Int] {
            let note = try app.notification("n", type: "TEST", transaction: nil)
            return [
                directory.place(claimedBy: .transaction(Array(try app.transaction(1).utf8))),
                directory.place(claimedBy: .notification(Array(note.utf8))),
            ]
        }
        #expect(try place(game) == [2, 2])
        #expect(try place(other) == [1, 1])
        // None is for it: its environment's first ledger refuses it.
        #expect(try place(try SandboxApp(bundleID: "com.example.c")) == [1, 1])
        for text in ["", "a.b.c", "a.!.c", "a.e30.c"] {
            #expect(directory.place(claimedBy: .transaction(Array(text.utf8))) == 0)
            #expect(directory.place(claimedBy: .notification(Array(text.utf8))) == 0)
        }
    }
}

@Suite struct LedgerChoiceTests {
    /// It opened one ledger alone, and comes to open all.
    @Test func aTokenThatComesToOpenAllLedgersAsksNoneThatAnotherHasNamed() {
        let (other, own) = (Token("other", .game, "o"), Token(token: "t", role: .game, ledger: "a"))
        var transcript = Transcript(tokens: [other, own], ledgers: ["a", "b"])
        transcript.send(Requests.call("authenticate", #"{"token":"o","ledger":"b"}"#))
        #expect(transcript.send(Requests.balance("p", id: "2")) == ["b: balance p"])
        _ = transcript.answers(ConnectionStateTests.done)
        transcript.send(Requests.authenticate("t"))
        #expect(transcript.send(Requests.balance("p", id: "3")) == ["a: balance p"])
        _ = transcript.answers(ConnectionStateTests.done)
        transcript.tokens.replace(by: [other, Token(token: "t", role: .game)])
        #expect(transcript.send(Requests.balance("p", id: "4")) == [])
        #expect(transcript.replies() == ["4 ledger_required"])
    }
}

extension ServerTests {
    @Suite struct SeveralLedgersServerTests {
        @Test func eachLedgerHasItsOwnBooks() async throws {
            let (main, other) = (try SandboxApp(), try SandboxApp(bundleID: "com.example.other"))
            let beside = [TestServer.Other(name: "other", app: other)]
            try await TestServer.run(verifier: main.verifier, beside: beside) { server in
                let client = try await server.connect()
                let credits = try await client.ask([
                    Requests.credit(try main.transaction(1), account: "p"),
                    Requests.credit(try other.transaction(1, quantity: 2), account: "p"),
                    Requests.credit(try main.transaction(1), account: "p"),
                    Requests.notify(try other.notification("n", type: "TEST")),
                ])
                #expect(credits.map { $0.result["ledger"].string } == ["main", "other", "main", "other"])
                #expect(credits.prefix(3).map { $0.result["entry"].int } == [1, 1, 1])
                // Signed for one, and named for the other.
                let jws = try main.transaction(2)
                let foreign = #"{"signedTransaction":"\#(jws)","account":"p","ledger":"other"}"#
                #expect(try await client.ask(Requests.call("credit", foreign)).reason == "verification_failed")
                let unknown = try SandboxApp(bundleID: "com.example.third").transaction(1)
                #expect(try await client.ask(Requests.credit(unknown, account: "p")).reason == "verification_failed")
                let balances = try await client.ask([
                    SeveralLedgersTests.balance("p", 1, of: "main"), SeveralLedgersTests.balance("p", 2, of: "other"),
                ])
                #expect(balances.map { $0.result["balances"]["gems"]["available"].int } == [500, 1_000])
                // A read's result says nothing: who asks knows.
                #expect(!balances[0].result["ledger"].exists)
                let info = try await client.ask(Requests.call("info", #"{"ledger":"other"}"#))
                #expect(info.result["bundleId"].string == "com.example.other")
                #expect(info.result["ledgers"].array?.map { $0["ledger"].string } == ["main", "other"])
            }
        }

        /// Reads wait for permission, which counts those of each ledger by themselves.
        @Test func readsOfSeveralLedgersAreAnsweredInTheOrderSent() async throws {
            let beside = [TestServer.Other(name: "other", app: try SandboxApp(bundleID: "com.example.other"))]
            try await TestServer.run(beside: beside) { server in
                let client = try await server.connect()
                let seed = Seed.drawn()
                var random = SplitMix64(seed: seed)
                let names = ["main", "other"]
                var requests: [String] = []
                var written = ["main": 0, "other": 0]
                var expected: [Int?] = []
                for number in 1...600 {
                    let name = names[Int.random(in: 0...1, using: &random)]
                    if random.chance(60) {
                        let params = #"{"account":"p","limit":1,"ledger":"\#(name)"}"#
                        requests.append(Requests.call("history", params, id: number))
                        expected.append(written[name] == 0 ? nil : written[name])
                    } else {
                        written[name, default: 0] += 1
                        let params =
                            #"{"key":"\#(number)","account":"p","currency":"gems","amount":1,"ledger":"\#(name)"}"#
                        requests.append(Requests.call("grant", params, id: number))
                        expected.append(written[name])
                    }
                }
                let replies = try await client.ask(requests)
                #expect(replies.map(\.id) == Array(1...600), "seed \(seed)")
                let entries = replies.map { $0.result["entry"].int ?? $0.result["entries"][0]["entry"].int }
                #expect(entries == expected, "seed \(seed)")
            }
        }

        @Test func aLedgerThatCannotBeWrittenLeavesTheOthersAlone() async throws {
            let store = FaultyStore(MemoryStore())
            let beside = [TestServer.Other(name: "other", app: try SandboxApp(bundleID: "com.example.other"))]
            try await TestServer.run(store: store, beside: beside) { server in
                let client = try await server.connect()
                func grant(_ key: String, _ ledger: String) async throws -> JSON {
                    let params = #"{"key":"\#(key)","account":"p","currency":"gems","amount":1,"ledger":"\#(ledger)"}"#
                    return try await client.ask(Requests.call("grant", params))
                }
                #expect(try await grant("1", "main").reason == nil)
                store.failCommits(2)
                #expect(try await grant("2", "main").isRetryable == true)
                #expect(try await grant("3", "other").result["ledger"].string == "other")
                #expect(try await grant("4", "main").isRetryable == true)
            }
        }
    }
}
