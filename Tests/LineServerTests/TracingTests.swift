import AppStore
import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import Testing
import TraceExport

@testable import LineServer

extension ServerTests {
    /// Requests of a real server, as a real collector is told of them.
    @Suite struct Tracing {
        private static let local = [ServerAddress.tcp(host: "127.0.0.1", port: 0)]
        private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        private static let parent = "00f067aa0ba902b7"

        private static func exporter(
            to endpoint: String, ratio: Double, logs: LogCapture = LogCapture(),
            limits: (inout TraceExportLimits) -> Void = { _ in }
        ) throws -> TraceExporter {
            var chosen = TraceExportLimits()
            chosen.intervalMilliseconds = 10
            limits(&chosen)
            return TraceExporter(
                try #require(TraceEndpoint(endpoint)), ratio: ratio, resource: [("service.name", "test")],
                limits: chosen, logger: logs.logger)
        }

        private static func rpc(_ body: String, token: String, traceParents: [String]) -> String {
            HTTPClient.request(
                "/v1/rpc", body, token: token,
                headers: ["Content-Type: application/json"] + traceParents.map { "traceparent: \($0)" })
        }

        /// One span of a trace by its name.
        private static func one(_ name: String, of trace: [CollectedSpan]) throws -> CollectedSpan {
            let found = trace.filter { $0.name == name }
            #expect(found.count == 1, "\(name)")
            return try #require(found.first)
        }

        @Test func aRequestIsASpanWithItsOutcomeAndItsBatchInIt() async throws {
            let collector = try await TraceCollector.start()
            let exporter = try Self.exporter(to: collector.endpoint, ratio: 1)
            let begin = UInt64(Date().timeIntervalSince1970 * 1e9)
            try await TestServer.run(exporter: exporter) { server in
                let client = try await server.connect()
                _ = try await client.ask(Requests.grant("k", "p", 10))
                _ = try await client.ask(Requests.spend("s", "p", 70))
                _ = try await client.ask(Requests.call("nonsense"))
                _ = try await client.ask(Requests.ping(1))
            }
            let end = UInt64(Date().timeIntervalSince1970 * 1e9)
            let spans = try collector.spans
            #expect(spans.allSatisfy(\.isWellFormed) && spans.allSatisfy { $0.resource == ["service.name": "test"] })
            #expect(Set(spans.map(\.spanID)).count == spans.count)
            // The wall clock may be set by some milliseconds meanwhile.
            let slack: UInt64 = 1_000_000_000
            #expect(spans.allSatisfy { $0.begin <= $0.end && $0.begin + slack >= begin && $0.end <= end + slack })
            let requests = spans.filter { $0.parentID == nil }
            #expect(requests.allSatisfy { $0.kind == 2 } && Set(requests.map(\.traceID)).count == 4)
            #expect(Set(requests.map(\.name)) == ["grant", "spend", "invalid", "ping"])

            let granted = try Self.one("grant", of: requests)
            #expect(
                granted.attributes == ["rpc.system": "jsonrpc", "rpc.method": "grant", "ledger.outcome": "ok"])
            let refused = try Self.one("spend", of: requests)
            #expect(refused.attributes["ledger.outcome"] == "refused" && refused.status == nil)
            #expect(refused.attributes["ledger.reason"] == "insufficient_funds")
            #expect(refused.attributes["rpc.jsonrpc.error_code"] == "-32012")
            let invalid = try Self.one("invalid", of: requests)
            #expect(invalid.attributes["ledger.outcome"] == "invalid" && invalid.attributes["rpc.method"] == nil)

            for request in [granted, refused] {
                let commit = try Self.one("commit", of: spans.filter { $0.parentID == request.spanID })
                let decide = try Self.one("decide", of: spans.filter { $0.parentID == commit.spanID })
                #expect(commit.kind == 1 && commit.attributes == ["ledger.commit.requests": "1"])
                #expect(commit.traceID == request.traceID && decide.traceID == request.traceID)
                #expect(request.begin <= commit.begin && commit.end <= request.end)
                #expect(commit.begin <= decide.begin && decide.end <= commit.end)
            }
            for request in [invalid, try Self.one("ping", of: requests)] {
                #expect(!spans.contains { $0.parentID == request.spanID }, "\(request.name) was in no batch")
            }
            try await collector.stop()
        }

        @Test func whoSendsARequestByHTTPSaysOfWhichTraceItIs() async throws {
            let collector = try await TraceCollector.start()
            let exporter = try Self.exporter(to: collector.endpoint, ratio: 0)
            let tokens = [Token(token: "a game's token", role: .game)]
            let sampled = "00-\(Self.trace)-\(Self.parent)-01"
            try await TestServer.run(listenHTTP: Self.local, tokens: tokens, exporter: exporter) { server in
                let client = try await server.connectHTTP()
                func ask(_ body: String, _ traceParents: String...) async throws {
                    let response = try await client.ask(
                        Self.rpc(body, token: "a game's token", traceParents: traceParents))
                    #expect(response.status == 200, "\(response.body)")
                }
                try await ask("[\(Requests.grant("a", "p", 1)),\(Requests.grant("b", "p", 1))]", sampled)
                // Each request of the connection says it by itself; and none of these is recorded, by the ratio 0.
                try await ask(Requests.grant("c", "p", 1))
                try await ask(Requests.grant("d", "p", 1), "00-\(Self.trace)-\(Self.parent)-00")
                try await ask(Requests.grant("e", "p", 1), "nonsense")
                try await ask(Requests.grant("f", "p", 1), sampled, sampled)
                // Whoever shows no token is not heard, and has nothing traced.
                let stranger = try await server.connectHTTP().ask(
                    Self.rpc(Requests.ping(1), token: "wrong", traceParents: [sampled]))
                #expect(stranger.status == 401)
            }
            let spans = try collector.spans
            #expect(spans.allSatisfy { $0.traceID == Self.trace && $0.isWellFormed })
            let requests = spans.filter { $0.kind == 2 }
            #expect(requests.map(\.name) == ["grant", "grant"])
            #expect(requests.allSatisfy { $0.parentID == Self.parent })
            try await collector.stop()
        }

        /// Anybody may post there.
        @Test func whoPostsANotificationDoesNotHaveItTraced() async throws {
            let app = try SandboxApp()
            let collector = try await TraceCollector.start()
            let exporter = try Self.exporter(to: collector.endpoint, ratio: 0)
            try await TestServer.run(listenHTTP: Self.local, verifier: app.verifier, exporter: exporter) { server in
                let response = try await server.connectHTTP().ask(
                    HTTPClient.request(
                        "/app-store/notifications", #"{"signedPayload":"a.forged.jws"}"#,
                        headers: [
                            "Content-Type: application/json", "traceparent: 00-\(Self.trace)-\(Self.parent)-01",
                        ]))
                // It can never be in the books, and need not be sent again.
                #expect(response.status == 200)
            }
            #expect(collector.requests.isEmpty)
            try await collector.stop()
        }

        @Test func nothingThatIsSomebodysIsSent() async throws {
            let app = try SandboxApp()
            let collector = try await TraceCollector.start()
            let exporter = try Self.exporter(to: collector.endpoint, ratio: 1)
            let tokens = [
                Token(token: "secret-of-the-game", role: .game), Token(token: "secret-of-the-shop", role: .purchases),
            ]
            let jws = try app.transaction(1)
            try await TestServer.run(
                listenHTTP: Self.local, tokens: tokens, verifier: app.verifier, exporter: exporter
            ) { server in
                let client = try await server.connect()
                _ = try await client.ask(Requests.authenticate("secret-of-the-shop"))
                let credited = try await client.ask(Requests.credit(jws, account: "player-of-flesh"))
                #expect(credited.result["entry"].exists, "\(credited)")
                _ = try await client.ask(Requests.credit("a.forged.jws", account: "player-of-flesh"))
                _ = try await client.ask(Requests.authenticate("secret-that-is-wrong"))
                let http = try await server.connectHTTP()
                for request in [
                    Requests.spend("key-of-a-spend", "player-of-flesh", 5), Requests.balance("player-of-flesh"),
                    Requests.history("player-of-flesh"), Requests.grant("key-of-a-grant", "\"", 1),
                    #"{"jsonrpc":"2.0","method":"player-of-flesh","id":1}"#,
                ] {
                    _ = try await http.ask(HTTPClient.rpc(request, token: "secret-of-the-game"))
                }
            }
            let text = collector.text
            #expect(try collector.spans.count { $0.kind == 2 } >= 9)
            let parts = jws.split(separator: ".").map(String.init)
            for word in ["secret", "flesh", "key-of", "eyJ", "forged", "gems", "example", "127.0.0.1"] + parts {
                #expect(!text.contains(word), "\(word)")
            }
            try await collector.stop()
        }

        @Test func aLedgersNameIsSaidWhereThereAreSeveral() async throws {
            let other = try SandboxApp(bundleID: "com.example.other")
            let collector = try await TraceCollector.start()
            let exporter = try Self.exporter(to: collector.endpoint, ratio: 1)
            try await TestServer.run(beside: [.init(name: "second", app: other)], exporter: exporter) { server in
                let client = try await server.connect()
                for name in ["main", "second"] {
                    _ = try await client.ask(
                        Requests.call("balance", #"{"account":"p","ledger":"\#(name)"}"#))
                }
            }
            let requests = try collector.spans.filter { $0.kind == 2 }
            #expect(requests.map { $0.attributes["ledger.name"] } == ["main", "second"], "\(requests)")
            try await collector.stop()
        }

        @Test func aDeadCollectorCostsSpansAndNoRequest() async throws {
            let collector = try await TraceCollector.start { _ in .silence }
            let logs = LogCapture()
            let exporter = try Self.exporter(to: collector.endpoint, ratio: 1, logs: logs) { limits in
                (limits.spansMax, limits.batchMax) = (20, 5)
                limits.requestMilliseconds = 600_000
                limits.endMilliseconds = 50
            }
            try await TestServer.run(listenMetrics: Self.local, exporter: exporter) { server in
                let client = try await server.connect()
                for number in 1...100 {
                    let reply = try await client.ask(Requests.grant("k\(number)", "p", 1))
                    #expect(reply.result["entry"].exists)
                }
                let watcher = try await server.connectMetrics()
                try await watcher.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
                var dropped: String?
                while let line = try await watcher.line() {
                    if line.hasPrefix(#"ledger_spans_total{result="dropped"}"#) { dropped = line }
                }
                // Each is a span with two in it; twenty wait, and five are on their way at the most.
                let count = try #require(dropped?.split(separator: " ").last.flatMap { Int($0) })
                #expect((275...280).contains(count), "\(count)")
            }
            try await collector.stop()
        }
    }
}
