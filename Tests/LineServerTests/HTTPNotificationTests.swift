import AppStore
import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// What the App Store posts: the status tells it whether to send it again.
    @Suite struct HTTPNotifications {
        private func serve(
            _ app: SandboxApp, store: any Store = MemoryStore(), tokens: [Token] = [],
            beside others: [TestServer.Other] = [], logs: LogCapture = LogCapture(),
            _ body: (RawClient, HTTPClient) async throws -> Void
        ) async throws {
            try await TestServer.run(
                store: store, listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], tokens: tokens, verifier: app.verifier,
                beside: others, logs: logs
            ) { server in try await body(try await server.connect(), try await server.connectHTTP()) }
        }

        private static let account = "f47ac10b-58cc-4372-a567-0e02b2c3d479"

        @Test func aPurchaseIsInTheBooksWhenTheAnswerComesAndOnceHoweverOftenItIsPosted() async throws {
            let app = try SandboxApp()
            // Nobody has to show a token for it, and it opens nothing else.
            try await serve(app, tokens: [Token(token: "g", role: .game)]) { lines, client in
                let jws = try app.transaction(1, account: Self.account)
                let posted = HTTPClient.notification(
                    try app.notification("a", type: "ONE_TIME_CHARGE", transaction: jws))
                for _ in 1...3 {
                    let response = try await client.ask(posted)
                    #expect(response.status == 200 && response.body.isEmpty)
                }
                _ = try await lines.ask(Requests.authenticate("g"))
                let balance = try await lines.ask(Requests.balance(Self.account))
                #expect(balance.result["balances"]["gems"]["available"].int == 500)
                let refund = try app.transaction(
                    1, account: Self.account, revokedAt: SandboxApp.date, signedDate: SandboxApp.date + 1)
                let refunded = HTTPClient.notification(try app.notification("b", type: "REFUND", transaction: refund))
                #expect(try await client.ask(refunded).status == 200)
                #expect(
                    try await lines.ask(Requests.balance(Self.account)).result["balances"]["gems"]["available"].int == 0
                )
                #expect(try await client.ask(HTTPClient.rpc(Requests.balance(Self.account))).status == 401)
            }
        }

        @Test func theTestThatAppleSendsAndTypesThatNobodyKnowsAreAcknowledged() async throws {
            let app = try SandboxApp()
            try await serve(app) { _, client in
                for type in ["TEST", "A_TYPE_OF_LATER"] {
                    #expect(
                        try await client.ask(HTTPClient.notification(try app.notification(type, type: type))).status
                            == 200)
                }
                // Members that Apple may add beside the payload.
                let more = #"{"version":3,"signedPayload":"\#(try app.notification("c", type: "TEST"))","x":[{}]}"#
                #expect(
                    try await client.ask(HTTPClient.request("/app-store/notifications", more, headers: [])).status
                        == 200)
            }
        }

        @Test func whatCanNeverSucceedIsAnswered200SaidInTheLogAndStoredNowhere() async throws {
            let logs = LogCapture()
            let (app, other, forger) = (
                try SandboxApp(), try SandboxApp(bundleID: "com.example.other"), try SandboxApp()
            )
            let store = MemoryStore()
            try await serve(app, store: store, logs: logs) { _, client in
                let jws = try app.transaction(1, account: Self.account)
                let good = try app.notification("a", type: "ONE_TIME_CHARGE", transaction: jws)
                let cases: [(body: String, reason: String)] = [
                    (#"{"signedPayload":"\#(try forger.notification("a", type: "TEST"))"}"#, "verification_failed"),
                    (#"{"signedPayload":"\#(Flip.bit(of: good, 7))"}"#, "verification_failed"),
                    (#"{"signedPayload":"x.y.z"}"#, "verification_failed"),
                    (#"{"signedPayload":"\#(try other.notification("a", type: "TEST"))"}"#, "verification_failed"),
                    (#"{"signedPayload":1}"#, "parse_error"), ("{}", "parse_error"), ("", "parse_error"),
                    (#"["\#(good)"]"#, "parse_error"), (Requests.grant("k", "p", 1), "parse_error"),
                    (#"{"signedPayload":"\#(good)","signedPayload":"\#(good)"}"#, "parse_error"),
                ]
                for (body, reason) in cases {
                    let response = try await client.ask(HTTPClient.request("/app-store/notifications", body))
                    #expect(response.status == 200, "\(body)")
                    #expect(response.json.reason == reason, "\(body)")
                }
            }
            #expect(store.rows.entries.isEmpty && store.rows.notifications.isEmpty)
            #expect(logs.lines.contains { $0.hasPrefix("refused") && $0.contains("kind=verification_failed") })
            #expect(logs.lines.contains { $0.hasPrefix("a notification posted by HTTP is refused for good") })
            #expect(
                logs.lines.contains { $0.hasPrefix("more notifications are refused for good") && $0.contains("more=5") }
            )
        }

        @Test func whatMaySucceedLaterIsAnsweredByAnErrorAndThenTaken() async throws {
            let app = try SandboxApp()
            let (store, logs) = (FaultyStore(), LogCapture())
            try await serve(app, store: store, logs: logs) { lines, client in
                let jws = try app.transaction(1, account: Self.account)
                let posted = HTTPClient.notification(
                    try app.notification("a", type: "ONE_TIME_CHARGE", transaction: jws))
                store.failCommits(1)
                let failed = try await client.ask(posted)
                #expect(failed.status == 503 && failed.json.reason == "storage_unavailable")
                #expect(try await client.ask(posted).status == 200)
                let balance = try await lines.ask(Requests.balance(Self.account))
                #expect(balance.result["balances"]["gems"]["available"].int == 500)

                // The catalog may learn it.
                let unknown = try app.notification(
                    "b", type: "ONE_TIME_CHARGE",
                    transaction: try app.transaction(2, product: "com.example.game.later", account: Self.account))
                let response = try await client.ask(HTTPClient.notification(unknown))
                #expect(response.status == 503 && response.json.reason == "unknown_product")
            }
            #expect(logs.lines.contains { $0.contains("cannot be taken now") && $0.contains("storage_unavailable") })
        }

        /// Otherwise nobody knows what to put into the catalog.
        @Test func theLogSaysWhichNotificationWaitsAndForWhichProduct() async throws {
            let app = try SandboxApp()
            let logs = LogCapture()
            try await serve(app, logs: logs) { _, client in
                let purchase = try app.transaction(2, product: "com.example.game.later", account: Self.account)
                let posted = try app.notification("b", type: "ONE_TIME_CHARGE", transaction: purchase)
                #expect(try await client.ask(HTTPClient.notification(posted)).status == 503)
            }
            let line = try #require(logs.lines.first { $0.contains("unknown_product") })
            for part in ["(product: com.example.game.later)", "notification=b", "type=ONE_TIME_CHARGE", "transaction="]
            {
                #expect(line.contains(part), "\(line)")
            }
        }

        @Test func whatAppleMayHaveSignedIsSentAgainWhereADateSpeaksAgainstIt() async throws {
            let app = try SandboxApp()
            try await serve(app) { _, client in
                let ahead = try app.notification("a", type: "TEST", signedDate: SandboxApp.date + 3_600_000)
                let response = try await client.ask(HTTPClient.notification(ahead))
                #expect(response.status == 503 && response.json.reason == "verification_failed")
            }
        }

        @Test func whoIsPutOutHasItsAnswerFirst() async throws {
            let app = try SandboxApp()
            let store = FaultyStore()
            try await TestServer.run(
                store: store, listenHTTP: [.tcp(host: "127.0.0.1", port: 0)],
                tokens: [Token(token: "g", role: .game)], verifier: app.verifier,
                limits: { $0.unauthenticatedPerAddressMax = 1 }
            ) { server in
                let (first, jws) = (try await server.connectHTTP(), try app.transaction(1, account: Self.account))
                store.hold()
                try await first.send(
                    HTTPClient.notification(try app.notification("a", type: "ONE_TIME_CHARGE", transaction: jws)))
                #expect(try await eventually { store.waiting == 1 })
                let second = try await server.connectHTTP()
                let silent = try await second.ask(HTTPClient.rpc(Requests.ping(1), token: "g"))
                #expect(silent.status == 200)
                // Longer than the server lingers.
                try await Task.sleep(for: .milliseconds(500))
                store.release()
                let response = try #require(try await first.response())
                #expect(response.status == 200 && response.headers["connection"] == "close")
                #expect(try await first.response() == nil)
            }
        }

        @Test func eachGoesToTheLedgerOfItsApp() async throws {
            let (app, other) = (try SandboxApp(), try SandboxApp(bundleID: "com.example.other"))
            let (main, second) = (MemoryStore(), MemoryStore())
            try await serve(
                app, store: main, beside: [TestServer.Other(name: "second", app: other, store: second)]
            ) { lines, client in
                for (place, sandbox) in [app, other, other].enumerated() {
                    let jws = try sandbox.transaction(Int64(place + 1), account: Self.account)
                    let posted = try sandbox.notification("n\(place)", type: "ONE_TIME_CHARGE", transaction: jws)
                    #expect(try await client.ask(HTTPClient.notification(posted)).status == 200)
                }
                for (ledger, gems) in [("main", 500), ("second", 1_000)] {
                    let balance = try await lines.ask(
                        Requests.call("balance", #"{"account":"\#(Self.account)","ledger":"\#(ledger)"}"#))
                    #expect(balance.result["balances"]["gems"]["available"].int == gems)
                }
                let foreign = try SandboxApp(bundleID: "com.example.third").notification("n", type: "TEST")
                #expect(try await client.ask(HTTPClient.notification(foreign)).status == 200)
            }
        }

        @Test func manyArePostedOnOneConnectionByRequestsOfManyClients() async throws {
            let app = try SandboxApp()
            let tokens = [Token(token: "g", role: .game)]
            try await serve(app, tokens: tokens) { _, client in
                var requests: [String] = []
                for id in 1...20 {
                    let jws = try app.transaction(Int64(id), account: Self.account)
                    requests.append(
                        HTTPClient.notification(
                            try app.notification("n\(id)", type: "ONE_TIME_CHARGE", transaction: jws)))
                    requests.append(HTTPClient.rpc(Requests.balance(Self.account), token: "g"))
                }
                try await client.send(requests.joined())
                for id in 1...20 {
                    #expect(try await client.response()?.status == 200)
                    let balance = try #require(try await client.response())
                    #expect(balance.json.result["balances"]["gems"]["available"].int == 500 * id)
                }
            }
        }
    }
}
