import AppStore
import Foundation
import Ledger
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// What becomes of connections that are open when a token comes to open another ledger.
    @Suite struct MovedTokens {
        private static let kept = Token("kept", [.game, .finance], "k")
        private static let gone = Token("gone", [.game, .finance], "g")

        /// The same, where it opens one ledger alone.
        private static func bound(_ ledger: String) -> Token {
            var token = gone
            token.ledger = LedgerName(ledger)
            return token
        }

        /// A service with the ledgers `main`, which `gone` opens at first, and `second`.
        private func serve(
            store: FaultyStore = FaultyStore(), logs: LogCapture = LogCapture(),
            _ body: (TestServer) async throws -> Void
        ) async throws {
            let local = [ServerAddress.tcp(host: "127.0.0.1", port: 0)]
            let second = try SandboxApp(bundleID: "com.example.second")
            try await TestServer.run(
                store: store, listenHTTP: local, listenConsole: local, tokens: [Self.kept, Self.bound("main")],
                beside: [TestServer.Other(name: "second", app: second)], logs: logs, body)
        }

        /// What a player has of the currency in each ledger.
        private func gems(_ server: TestServer, _ account: String) async throws -> [String: Int] {
            let client = try await server.connect(as: "k")
            var gems: [String: Int] = [:]
            for ledger in ["main", "second"] {
                let balance = Requests.call("balance", "{\"account\":\"\(account)\",\"ledger\":\"\(ledger)\"}")
                gems[ledger] = try await client.ask(balance).result["balances"]["gems"]["available"].int
            }
            return gems
        }

        /// In the one ledger as in the other.
        @Test func whatStandsBehindAReadIsNotCarriedOutWhereATokenOpensAnotherLedgerNow() async throws {
            let second = try SandboxApp(bundleID: "com.example.second")
            try await TestServer.run(
                tokens: [Self.kept, Self.gone], beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                let client = try await server.connect(as: "g")
                func ask(_ method: String, _ params: String, of ledger: String) -> String {
                    Requests.call(method, "{\(params),\"ledger\":\"\(ledger)\"}")
                }
                let grant = #""key":"k","account":"a","currency":"gems","amount":1"#
                #expect(try await client.ask(ask("balance", #""account":"a""#, of: "second")).reason == nil)
                let lines = [
                    ask("journal", #""after":0,"waitMilliseconds":30000"#, of: "main"), ask("grant", grant, of: "main"),
                    ask("grant", grant, of: "second"),
                ]
                try await client.send(lines.joined(separator: "\n") + "\n")
                try await server.letEventLoopsRead()
                var moved = Self.gone
                moved.ledger = LedgerName("second")
                server.lines.reload(tokens: [Self.kept, moved])
                let word = try JSON(try #require(try await client.line()))
                #expect(word["id"].isNull && word.reason == "outcome_unknown" && word.isRetryable == false)
                #expect(try await client.line() == nil)
                let other = try await server.connect(as: "k")
                for ledger in ["main", "second"] {
                    let balance = try await other.ask(ask("balance", #""account":"a""#, of: ledger))
                    #expect(balance.result["balances"].count == 0, "\(ledger)")
                }
            }
        }

        /// They were sent when the token opened the former one, and read when it opens the other.
        @Test(arguments: [nil, "main", "second"])
        func requestsThatNameNoLedgerAreNotCarriedOutInAnotherThatTheirTokenOpensNow(former: String?) async throws {
            let second = try SandboxApp(bundleID: "com.example.second")
            var bound = Self.gone
            bound.ledger = former.flatMap { LedgerName($0) }
            try await TestServer.run(
                tokens: [Self.kept, bound], beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                let client = try await server.connect(as: "g")
                var moved = Self.gone
                moved.ledger = LedgerName(former == "second" ? "main" : "second")
                server.lines.reload(tokens: [Self.kept, moved])
                // Sent before its end comes, it is answered so by itself, and otherwise the connection is.
                try await client.send(Requests.grant("g", "a", 1) + "\n")
                var told = 0
                while let line = try await client.line() {
                    let error = try JSON(line)
                    let isOfConnection = error["id"].isNull
                    #expect(error.reason == "ledger_required" && (isOfConnection || error.id == 1))
                    // Repeated, it would be carried out in the other.
                    #expect(error["error"]["data"]["retryable"].bool == false)
                    told += 1
                }
                #expect(told > 0)
                let again = try await server.connect(as: "g")
                #expect(try await again.ask(Requests.grant("g", "a", 1)).result["entry"].int != nil)
                let other = try await server.connect(as: "k")
                for ledger in ["main", "second"] {
                    let balance = try await other.ask(
                        Requests.call("balance", "{\"account\":\"a\",\"ledger\":\"\(ledger)\"}"))
                    #expect(balance.result["balances"].count == (ledger == moved.ledger?.description ? 1 : 0))
                }
            }
        }

        /// It was gone between.
        @Test func aTokenThatComesBackForAnotherLedgerOpensThatToNewConnectionsAlone() {
            var transcript = Transcript(tokens: [Self.kept, Self.bound("a")], ledgers: ["a", "b"])
            transcript.send(Requests.authenticate("g", id: 1))
            transcript.tokens.replace(by: [Self.kept])
            transcript.send(Requests.balance("p", id: "2"))
            transcript.tokens.replace(by: [Self.kept, Self.bound("b")])
            #expect(transcript.send(Requests.balance("p", id: "3")) == [])
            #expect(transcript.replies() == ["1", "2 unauthenticated", "3 ledger_required"])
            #expect(transcript.send(Requests.authenticate("g", id: 4), Requests.balance("p", id: "5")) == [])
            transcript.change { $0.end(.otherLedgerNow) }
            #expect(transcript.replies() == ["4", "5 ledger_required", "null ledger_required"])
            #expect(transcript.actions().last == "linger")
        }

        /// They stand behind a read that waits, and their heads are looked at afterwards.
        @Test func whatWaitsBehindARequestOfHTTPIsNotCarriedOutWhereItsTokenOpensAnotherLedgerNow() async throws {
            let second = try SandboxApp(bundleID: "com.example.second")
            var bound = Self.gone
            bound.ledger = LedgerName("main")
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], tokens: [Self.kept, bound],
                beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                let client = try await server.connectHTTP()
                let journal = HTTPClient.rpc(Requests.journal(after: 0, wait: 30_000), token: "g")
                let grants = (0..<20).map { HTTPClient.rpc(Requests.grant("g\($0)", "a", 1), token: "g") }
                try await client.send(journal + grants.joined())
                try await server.letEventLoopsRead()
                var moved = bound
                moved.ledger = LedgerName("second")
                server.lines.reload(tokens: [Self.kept, moved])
                #expect(try await client.response()?.json.result["entries"].count == 0)
                // At most the first of them was looked at before the connection was told.
                while let response = try await client.response() { #expect(response.status == 409) }
                let other = try await server.connect(as: "k")
                for ledger in ["main", "second"] {
                    let balance = Requests.call("balance", "{\"account\":\"a\",\"ledger\":\"\(ledger)\"}")
                    #expect(try await other.ask(balance).result["balances"].count == 0, "\(ledger)")
                }
            }
        }

        /// The connection was there before, and its client says who it is behind the reload.
        @Test func whoShowsATokenThatHasMovedSinceTheConnectionWasMadeConnectsAgain() async throws {
            let second = try SandboxApp(bundleID: "com.example.second")
            var bound = Self.gone
            bound.ledger = LedgerName("main")
            try await TestServer.run(
                tokens: [Self.kept, bound], beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                let client = try await server.connect(as: "k")
                var moved = bound
                moved.ledger = LedgerName("second")
                server.lines.reload(tokens: [Self.kept, moved])
                try await client.send(Requests.authenticate("g") + "\n" + Requests.grant("g", "a", 1, id: "2") + "\n")
                #expect(try JSON(try #require(try await client.line())).reason == nil)
                while let line = try await client.line() { #expect(try JSON(line).reason != nil) }
                let again = try await server.connect(as: "g")
                #expect(try await again.ask(Requests.grant("g", "a", 1)).result["replayed"].bool == false)
            }
        }

        /// A proxy sends requests of many clients on one connection.
        @Test func whatWaitsBehindAnothersRequestOfHTTPIsNotCarriedOutWhereItsTokenOpensAnotherLedgerNow() async throws
        {
            let second = try SandboxApp(bundleID: "com.example.second")
            var bound = Self.gone
            bound.ledger = LedgerName("main")
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], tokens: [Self.kept, bound],
                beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                let client = try await server.connectHTTP()
                let wait = Requests.call("journal", #"{"after":0,"waitMilliseconds":30000,"ledger":"main"}"#)
                let grant = HTTPClient.rpc(Requests.grant("g", "a", 1), token: "g")
                try await client.send(HTTPClient.rpc(wait, token: "k") + grant)
                try await server.letEventLoopsRead()
                var moved = bound
                moved.ledger = LedgerName("second")
                server.lines.reload(tokens: [Self.kept, moved])
                // Another's grant ends the wait.
                let other = try await server.connect(as: "k")
                let first = #"{"key":"k","account":"b","currency":"gems","amount":1,"ledger":"main"}"#
                #expect(try await other.ask(Requests.call("grant", first)).reason == nil)
                #expect(try await client.response()?.json.result["entries"].count == 1, "its token has not moved")
                let refusal = try #require(try await client.response())
                #expect(refusal.status == 409 && refusal.json.reason == "ledger_required")
                #expect(try await client.response() == nil)
                for ledger in ["main", "second"] {
                    let balance = Requests.call("balance", "{\"account\":\"a\",\"ledger\":\"\(ledger)\"}")
                    #expect(try await other.ask(balance).result["balances"].count == 0, "\(ledger)")
                }
                let again = try await server.connectHTTP()
                try await again.send(grant)
                #expect(try await again.response()?.json.result["entry"].int != nil, "it came when the token opened it")
            }
        }

        /// Nothing that it has sent is for another ledger by that.
        @Test func whoseTokenOpensAllLedgersNowGoesOn() async throws {
            let second = try SandboxApp(bundleID: "com.example.second")
            var bound = Self.gone
            bound.ledger = LedgerName("main")
            try await TestServer.run(
                tokens: [Self.kept, bound], beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                let client = try await server.connect(as: "g")
                server.lines.reload(tokens: [Self.kept, Self.gone])
                for ledger in ["main", "second"] {
                    let balance = Requests.call("balance", "{\"account\":\"a\",\"ledger\":\"\(ledger)\"}")
                    #expect(try await client.ask(balance).reason == nil)
                }
                #expect(try await client.ask(Requests.balance("a")).reason == "ledger_required")
            }
        }

        /// Its head is looked at before the connection is told of the reload.
        @Test func aRequestOfHTTPIsRefusedWhereTheTokenOfTheOneBeforeOpensAnotherLedgerNow() {
            var transcript = Transcript(tokens: [Self.kept, Self.bound("a")], ledgers: ["a", "b"])
            var refusals: [String?] = []
            func begin() {
                transcript.change { refusals.append($0.begin(.requests, from: TokenTable.credential("g"))?.reason) }
            }
            begin()
            #expect(transcript.send("[\(Requests.balance("p"))]") == ["a: balance p"])
            _ = transcript.answers(ConnectionStateTests.done)
            transcript.tokens.replace(by: [Self.kept, Self.bound("b")])
            begin()
            #expect(refusals == [nil, "ledger_required"])
        }

        /// It is looked up by its digest, or by its certificate, whatever its name.
        @Test(arguments: [false, true])
        func aTokenThatComesBackUnderAnotherNameIsKnownToHaveMoved(byCertificate: Bool) {
            func token(_ name: String, _ ledger: String) -> Token {
                var token = Self.bound(ledger)
                token.name = name
                token.certificates = ["g.example"]
                return token
            }
            var transcript = Transcript(tokens: [Self.kept, token("gone", "a")], ledgers: ["a", "b"])
            transcript.tokens.replace(by: [Self.kept])
            transcript.tokens.replace(by: [Self.kept, token("another", "b")])
            if byCertificate {
                transcript.change { $0.authenticate(byCertificate: ["g.example"]) }
            } else {
                transcript.send(Requests.authenticate("g", id: 1))
            }
            #expect(transcript.state.holder?.name == "another")
            #expect(transcript.send(Requests.balance("p", id: "2")) == [])
            #expect(transcript.replies() == (byCertificate ? [] : ["1"]) + ["2 ledger_required"])
        }

        /// No token has come to open another ledger, and the client has.
        @Test(arguments: [false, true])
        func aCertificateWhoseNamesAreOfSeveralTokensIsKnownToHaveMoved(wasGone: Bool) {
            func token(_ name: String, _ ledger: String, _ certificates: [String]) -> Token {
                Token(
                    name: name, roles: .game, digests: [], certificates: certificates, ledger: LedgerName(ledger))
            }
            let (one, other) = (token("one", "a", ["g.example"]), token("other", "b", ["h.example"]))
            var transcript = Transcript(tokens: [Self.kept, one, other], ledgers: ["a", "b"])
            transcript.change { $0.authenticate(byCertificate: ["g.example", "h.example"]) }
            #expect(transcript.send(Requests.balance("p", id: "1")) == ["a: balance p"])
            _ = transcript.answers(ConnectionStateTests.done)
            if wasGone {
                transcript.tokens.replace(by: [Self.kept])
                transcript.change { _ = $0.renewIdentity() }
            }
            transcript.tokens.replace(by: [Self.kept, token("one", "a", ["i.example"]), other])
            #expect(transcript.send(Requests.balance("p", id: "2")) == [])
            #expect(transcript.state.holder?.name == "other" && transcript.state.hasMoved)
        }

        /// Its head is looked at before the connection is told of the reload.
        @Test func aRequestOfHTTPIsServedWhereTheTokenOfAnotherBeforeItOpensAnotherLedgerNow() {
            var transcript = Transcript(tokens: [Self.kept, Self.bound("a")], ledgers: ["a", "b"])
            var refusals: [String?] = []
            func begin(_ secret: String) {
                transcript.change { refusals.append($0.begin(.requests, from: TokenTable.credential(secret))?.reason) }
            }
            begin("g")
            #expect(transcript.send("[\(Requests.balance("p"))]") == ["a: balance p"])
            _ = transcript.answers(ConnectionStateTests.done)
            transcript.tokens.replace(by: [Self.kept, Self.bound("b")])
            begin("k")
            // Nor is it a matter of the other's what becomes of that token later.
            transcript.tokens.replace(by: [Self.kept])
            var losses: [Bool] = []
            transcript.change { losses.append($0.renewIdentity()) }
            transcript.tokens.replace(by: [Self.kept, Self.bound("b")])
            #expect(losses == [false] && !transcript.state.hasMoved)
            let balance = Requests.call("balance", #"{"account":"p","ledger":"a"}"#)
            #expect(transcript.send("[\(balance)]") == ["a: balance p"])
            _ = transcript.answers(ConnectionStateTests.done)
            begin("g")
            #expect(refusals == [nil, nil, "ledger_required"])
        }

        /// What was carried out of it is not asked for again in the other ledger.
        @Test func aBatchOfHTTPWhoseTokenMovesHalfwayIsNothingToSendAgain() async throws {
            let store = FaultyStore()
            try await serve(store: store) { server in
                // The server ends only then, also where something fails.
                defer { store.releaseReads() }
                let client = try await server.connectHTTP()
                store.holdReads()
                let batch = [
                    Requests.grant("first", "p", 1), Requests.history("p", id: "2"), Requests.grant("last", "p", 1),
                ]
                try await client.send(HTTPClient.rpc("[\(batch.joined(separator: ","))]", token: "g"))
                #expect(try await eventually { store.reads == 1 })
                server.lines.reload(tokens: [Self.kept, Self.bound("second")])
                let response = try #require(try await client.response())
                #expect(response.status == 409 && response.json.reason == "ledger_required", "\(response.body)")
                #expect(response.json["error"]["data"]["retryable"].bool == false)
                #expect(response.headers["connection"] == "close" && response.headers["retry-after"] == nil)
                #expect(try await client.response() == nil)
                store.releaseReads()
                #expect(try await gems(server, "p") == ["main": 1])
            }
        }

        @Test func whatIsRefusedForAMoveIsToldByItsStatus() async throws {
            let logs = LogCapture()
            try await serve(logs: logs) { server in
                let client = try await server.connectHTTP()
                #expect(try await client.ask(HTTPClient.rpc(Requests.ping(1), token: "k")).status == 200)
                server.lines.reload(tokens: [Self.kept, Self.bound("second")])
                #expect(try await client.ask(HTTPClient.rpc(Requests.ping(2), token: "g")).status == 409)
            }
            #expect(logs.lines.contains { $0.hasPrefix("a request of HTTP is refused") && $0.hasSuffix("status=409") })
        }

        @Test func aConnectionThatEndsForAMoveWaitsForNothingNew() async throws {
            try await serve { server in
                let client = try await server.connect(as: "k")
                let wait = #"{"after":0,"waitMilliseconds":30000,"ledger":"main"}"#
                try await client.send(Requests.call("journal", wait, id: 2) + "\n")
                try await server.letEventLoopsRead()
                server.lines.reload(tokens: [Self.kept, Self.bound("second")])
                let shown = ContinuousClock.now
                try await client.send(Requests.authenticate("g", id: 3) + "\n")
                #expect(try JSON(try #require(try await client.line())).result["entries"].count == 0)
                #expect(try JSON(try #require(try await client.line())).id == 3)
                let word = try JSON(try #require(try await client.line()))
                #expect(word["id"].isNull && word.reason == "ledger_required")
                #expect(try await client.line() == nil)
                #expect(shown.duration(to: .now) < .seconds(5))
            }
        }

        /// It has sent nothing yet.
        @Test(.enabled(if: TestAuthority.hasCommand, "openssl is not installed"))
        func whoseCertificateMovesDuringItsHandshakeIsToldSoAtOnce() async throws {
            let authority = try TestAuthority()
            try authority.issue("server", name: "server")
            try authority.issue("game", name: "game-1")
            let tls = ServerConfiguration.TLS {
                ServerConfiguration.TLS.Files(
                    certificate: try authority.bytes("server.pem"), key: try authority.bytes("server.key"),
                    clientAuthorities: try authority.bytes("ca.pem"))
            }
            func tokens(_ ledger: String) -> [Token] {
                [Token(name: "game", roles: .game, digests: [], certificates: ["game-1"], ledger: LedgerName(ledger))]
            }
            let second = try SandboxApp(bundleID: "com.example.second")
            try await TestServer.run(
                tokens: tokens("main"), tls: tls, beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                func connect(_ beforeHandshake: () async throws -> Void = {}) async throws -> TLSClient {
                    try await TLSClient(
                        server.address, authority: authority.bytes("ca.pem"), certificate: authority.bytes("game.pem"),
                        key: authority.bytes("game.key"), beforeHandshake: beforeHandshake)
                }
                let client = try await connect {
                    // Connections are accepted in their order: when these are answered, it was.
                    for number in 0..<4 {
                        let replies = try await connect().ask([Requests.ping(number)])
                        #expect(replies.map(\.id) == [number])
                    }
                    server.lines.reload(tokens: tokens("second"))
                }
                let word = try JSON(try #require(try await client.lines(1).first))
                #expect(word["id"].isNull && word.reason == "ledger_required")
                #expect(try await eventually { client.isEnded })
                #expect(try await connect().ask([Requests.grant("g", "a", 1)]).map(\.reason) == [nil])
            }
        }

        @Test func theConsoleSaysThatARightTokenIsToBeShownAgain() async throws {
            try await serve { server in
                let browser = ConsoleBrowser(address: server.consoleAddresses[0])
                var signedIn = browser
                _ = try await signedIn.signIn("g")
                let (login, view) = (try await RawClient(browser.address), try await RawClient(browser.address))
                // They are there before the reload.
                for client in [login, view] {
                    try await client.send(browser.head("GET", "/login", from: nil, bytes: 0))
                    #expect(try await ConsoleBrowser.page(of: client).status == 200)
                }
                server.lines.reload(tokens: [Self.kept, Self.bound("second")])
                try await view.send(signedIn.head("GET", "/statement?account=p", from: nil, bytes: 0))
                for page in [
                    try await browser.post("/login", "token=g", over: login), try await ConsoleBrowser.page(of: view),
                ] {
                    #expect(page.status == 503 && page.body.contains("Your token opens another ledger now."))
                    #expect(page.headers["connection"] == "close")
                }
                for client in [login, view] { #expect(try await client.line() == nil) }
                #expect(try await browser.post("/login", "token=g").status == 303)
            }
        }
    }
}
