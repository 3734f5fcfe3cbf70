import AppStore
import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// What becomes of requests of HTTP while the tokens are replaced, as SIGHUP does, or the service goes.
    @Suite struct HTTPTokens {
        private static let kept = Token("kept", [.game, .finance], "k")
        private static let gone = Token("gone", [.game, .finance], "g")

        private func serve(
            store: any Store = MemoryStore(), limits: (inout ServerLimits) -> Void = { _ in },
            _ body: (TestServer, HTTPClient) async throws -> Void
        ) async throws {
            try await TestServer.run(
                store: store, listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], tokens: [Self.kept, Self.gone],
                limits: limits
            ) { server in try await body(server, try await server.connectHTTP()) }
        }

        @Test func aTokenHoldsFromTheNextRequestOn() async throws {
            try await serve { server, client in
                func status(_ secret: String) async throws -> Int {
                    try await client.ask(HTTPClient.rpc(Requests.balance("p"), token: secret)).status
                }
                let before = try await status("g")
                server.lines.reload(tokens: [Self.kept])
                let (without, other) = (try await status("g"), try await status("k"))
                server.lines.reload(tokens: [Self.kept, Self.gone])
                let again = try await status("g")
                #expect([before, without, other, again] == [200, 401, 200, 200])
            }
        }

        @Test(arguments: ["short", "long"])
        func aTokenThatGoesWhileTheBodyComesIsNone(body: String) async throws {
            try await serve { server, client in
                // Longer than a line of somebody whom nobody knows may be, or not.
                let grant = Requests.grant("k", "p", 1) + String(repeating: " ", count: body == "long" ? 60_000 : 0)
                let (head, text) = (HTTPClient.chunked("/v1/rpc", token: "g"), HTTPClient.chunk(grant) + "0\r\n\r\n")
                try await client.send(head + String(text.prefix(40)))
                try await server.letEventLoopsRead()
                server.lines.reload(tokens: [Self.kept])
                try await client.send(String(text.dropFirst(40)))
                let refusal = try #require(try await client.response())
                #expect(refusal.status == 401 && refusal.json.reason == "unauthenticated")
                #expect(refusal.headers["www-authenticate"] == "Bearer" && refusal.headers["connection"] == nil)
                let balance = try await client.ask(HTTPClient.rpc(Requests.balance("p"), token: "k"))
                #expect(balance.status == 200 && balance.json.result["balances"].count == 0)
            }
        }

        @Test func aJournalThatWaitsIsAnsweredWhenItsTokenGoes() async throws {
            try await serve { server, client in
                try await client.send(HTTPClient.rpc(Requests.journal(after: 0, wait: 30_000), token: "g"))
                try await server.letEventLoopsRead()
                let replaced = ContinuousClock.now
                server.lines.reload(tokens: [Self.kept])
                let response = try #require(try await client.response())
                #expect(response.status == 200 && response.json.result["entries"].count == 0)
                #expect(replaced.duration(to: .now) < .seconds(10))
                #expect(try await client.ask(HTTPClient.rpc(Requests.balance("p"), token: "k")).status == 200)
            }
        }

        /// The grants behind the reads are not begun.
        @Test(arguments: [false, true])
        func aBatchWhoseTokenGoesHalfwayIsRefusedAndItsRestNotCarriedOut(staysKnown: Bool) async throws {
            let store = FaultyStore()
            try await serve(store: store) { server, client in
                store.holdReads()
                let batch = [
                    Requests.grant("first", "p", 1), Requests.history("p", id: "2"), Requests.grant("last", "p", 1),
                ]
                try await client.send(HTTPClient.rpc("[\(batch.joined(separator: ","))]", token: "g"))
                #expect(try await eventually { store.reads == 1 })
                server.lines.reload(
                    tokens: staysKnown ? [Self.kept, Token("gone", .finance, "g")] : [Self.kept])
                let response = try #require(try await client.response())
                #expect(response.status == (staysKnown ? 503 : 401), "\(response.body)")
                #expect(response.json.reason == (staysKnown ? "overloaded" : "unauthenticated"))
                #expect(response.headers["connection"] == "close")
                #expect(try await client.response() == nil)
                store.releaseReads()
                let other = try await server.connectHTTP()
                let balance = try await other.ask(HTTPClient.rpc(Requests.balance("p"), token: "k"))
                #expect(balance.json.result["balances"]["gems"]["available"].int == 1)
            }
        }

        @Test func whoHasClosedItsSideBehindAJournalThatWaitsIsAnsweredAtOnce() async throws {
            try await serve { server, client in
                let begin = ContinuousClock.now
                let journal = HTTPClient.rpc(Requests.journal(after: 0, wait: 30_000), token: "k")
                try await client.send(journal)
                try await server.letEventLoopsRead()
                try await client.send(HTTPClient.rpc(Requests.ping(2), token: "g") + journal)
                client.raw.closeOutput()
                #expect(try await client.response()?.json.result["entries"].count == 0)
                #expect(try await client.response()?.json.id == 2)
                #expect(try await client.response()?.json.result["entries"].count == 0)
                #expect(try await client.response() == nil)
                #expect(begin.duration(to: .now) < .seconds(20))
            }
        }

        // MARK: Notifications while the service has no room, or goes

        private static func post(_ app: SandboxApp, _ id: String, padding: Int = 0) throws -> String {
            let body = #"{"signedPayload":"\#(try app.notification(id, type: "TEST"))"}"#
            return HTTPClient.request("/app-store/notifications", body + String(repeating: " ", count: padding))
        }

        @Test func postersThatStallAreCutOffAndTheirMemoryIsGivenBack() async throws {
            let app = try SandboxApp()
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], verifier: app.verifier,
                limits: { limits in
                    limits.requestMilliseconds = 300
                    // Room for a few bodies at a time.
                    limits.replyBytesMax = 2 << 20
                }
            ) { server in
                let long = try Self.post(app, "long", padding: 60_000)
                var stalled: [HTTPClient] = []
                for _ in 0..<30 {
                    let client = try await server.connectHTTP()
                    try await client.send(String(long.prefix(30_000)))
                    stalled.append(client)
                }
                // Who waits for room, and sends all, is not refused for that.
                let waiting = try await server.connectHTTP()
                async let response = waiting.ask(long)
                for client in stalled {
                    #expect(try await client.response()?.status == 408)
                    #expect(try await client.response() == nil)
                }
                let served = try await response
                #expect(served.status == 200)
            }
        }

        @Test func whatIsPostedWhileTheServiceGoesIsToBeSentAgainOrIsInTheBooks() async throws {
            let app = try SandboxApp()
            let store = FaultyStore()
            try await TestServer.run(
                store: store, listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], verifier: app.verifier,
                limits: { $0.eventLoopThreads = 1 }
            ) { server in
                let (taken, late) = (try await server.connectHTTP(), try await server.connectHTTP())
                try await late.send(String(try Self.post(app, "late").dropLast(3)))
                store.hold()
                try await taken.send(try Self.post(app, "taken"))
                #expect(try await eventually { store.waiting == 1 })
                await server.shutDown()
                let refused = try #require(try await late.response())
                #expect(refused.status == 503 && refused.json.reason == "shutting_down")
                #expect(refused.headers["retry-after"] == "1" && refused.headers["connection"] == "close")
                store.release()
                let answered = try #require(try await taken.response())
                #expect(answered.status == 200 && answered.headers["connection"] == "close")
            }
            #expect(store.base.rows.notifications.count == 1)
        }

        /// As Apple's rule of sending again needs it: what the service may do later is no success.
        @Test func eachErrorHasItsStatusForTheAppStore() {
            for reason in WireReason.allCases {
                let verdict = NotificationVerdict(WireError(reason, "words"))
                let isFinal = [
                    "parse_error", "invalid_request", "line_too_long", "invalid_params", "verification_failed",
                    "wrong_app", "wrong_environment", "not_consumable", "family_shared", "account_mismatch",
                    "purchase_conflict",
                ].contains(reason.rawValue)
                #expect(verdict.status == (isFinal ? .ok : .serviceUnavailable), "\(reason)")
                #expect((verdict.notice == nil) == (reason == .verificationFailed), "\(reason)")
            }
            #expect(NotificationVerdict(nil).status == .ok && NotificationVerdict(nil).notice == nil)
        }
    }
}
