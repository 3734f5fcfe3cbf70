import AppStore
import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// What becomes of a connection, and of who is on it, where a request of HTTP is refused.
    @Suite struct HTTPRefusals {
        private func serve(
            store: any Store = MemoryStore(), listenHTTP: [ServerAddress] = [.tcp(host: "127.0.0.1", port: 0)],
            tokens: [Token] = [], limits: (inout ServerLimits) -> Void = { _ in }, logs: LogCapture = LogCapture(),
            _ body: (TestServer, HTTPClient) async throws -> Void
        ) async throws {
            try await TestServer.run(
                store: store, listenHTTP: listenHTTP, tokens: tokens, logs: logs, limits: limits
            ) { server in try await body(server, try await server.connectHTTP()) }
        }

        private static let tokens = [
            Token(token: "g", role: .game), Token(token: "f", role: .finance), Token(token: "r", role: .replica),
            Token(token: "a", role: .admin),
        ]

        /// What is served on it afterwards shows that each refused body was read to its end.
        @Test func aConnectionGoesOnBehindWhatIsRefused() async throws {
            try await serve(tokens: Self.tokens) { _, client in
                let body = Requests.grant("never", "p", 1)
                let refused: [(request: String, status: Int)] = [
                    (HTTPClient.rpc(body), 401), (HTTPClient.rpc(body, token: "wrong"), 401),
                    (HTTPClient.request("/elsewhere", body, token: "g"), 404),
                    (HTTPClient.request("/v1/rpc", "", method: "GET", headers: []), 405),
                    (HTTPClient.request("/v1/rpc", body, headers: []), 415),
                    (
                        HTTPClient.chunked("/elsewhere") + HTTPClient.chunk(body) + HTTPClient.chunk("x\r\n\r\n")
                            + "0\r\n\r\n", 404
                    ),
                ]
                // One by one, and all at once.
                for (number, refused) in refused.enumerated() {
                    #expect(try await client.ask(refused.request).status == refused.status, "\(refused.request)")
                    let good = try await client.ask(HTTPClient.rpc(Requests.grant("k\(number)", "p", 1), token: "g"))
                    #expect(good.status == 200 && good.json.result["entry"].exists)
                }
                let all = refused.map { $0.request + HTTPClient.rpc(Requests.ping(1), token: "g") }
                try await client.send(all.joined())
                for (request, status) in refused {
                    #expect(try await client.response()?.status == status, "\(request)")
                    #expect(try await client.response()?.status == 200, "\(request)")
                }
                let balance = try await client.ask(HTTPClient.rpc(Requests.balance("p"), token: "g"))
                #expect(balance.json.result["balances"]["gems"]["available"].int == refused.count)
            }
        }

        @Test func aBodyThatIsRefusedIsReadOnlyWhereItEndsSoon() async throws {
            try await serve(limits: { $0.requestMilliseconds = 200 }) { server, client in
                // It does not end in time.
                try await client.send(String(HTTPClient.request("/elsewhere", "body").dropLast()))
                let late = try #require(try await client.response())
                #expect(late.status == 404 && late.headers["connection"] == "close")
                #expect(try await client.response() == nil)
                // It is longer than any body may be.
                let long = try await server.connectHTTP()
                try await long.send("POST /elsewhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048577\r\n\r\n")
                let refusal = try #require(try await long.response())
                #expect(refusal.status == 404 && refusal.headers["connection"] == "close")
                #expect(try await long.response() == nil)
                // Or turns out to be.
                let chunks = try await server.connectHTTP()
                try await chunks.send(HTTPClient.chunked("/elsewhere") + "110000\r\n")
                try? await chunks.raw.send([UInt8](repeating: 32, count: 0x110000 - 1))
                #expect(try await chunks.response()?.status == 404)
                #expect(try await chunks.response() == nil)
            }
        }

        @Test func threeWrongTokensInARowEndAConnectionAndOthersBetweenThemDoNot() async throws {
            try await serve(tokens: Self.tokens) { _, client in
                let (good, wrong) = (
                    HTTPClient.rpc(Requests.ping(1), token: "g"), HTTPClient.rpc(Requests.ping(1), token: "x")
                )
                for _ in 0..<3 {
                    for _ in 0..<2 { #expect(try await client.ask(wrong).status == 401) }
                    #expect(try await client.ask(good).status == 200)
                }
                for isLast in [false, false, true] {
                    let refusal = try await client.ask(wrong)
                    #expect(refusal.status == 401)
                    #expect(refusal.headers["connection"] == (isLast ? "close" : nil))
                }
                #expect(try await client.response() == nil)
            }
        }

        /// Pages of health, which a load balancer asks for, are nothing in vain.
        @Test func aStrangerWhoseHeadsAreAllRefusedIsSoonNotListenedTo() async throws {
            try await serve(tokens: Self.tokens) { server, client in
                let elsewhere = HTTPClient.request("/elsewhere", "")
                let live = HTTPClient.request("/health/live", "", method: "GET", headers: [])
                try await client.send(String(repeating: elsewhere + live, count: 80))
                for number in 1...ServerLimits().strangerVainLinesMax {
                    if number > 1 { #expect(try await client.response()?.status == 200) }
                    let refusal = try #require(try await client.response(), "\(number)")
                    let isLast = number == ServerLimits().strangerVainLinesMax
                    #expect(refusal.status == 404 && refusal.headers["connection"] == (isLast ? "close" : nil))
                }
                #expect(try await client.response() == nil)
                let balancer = try await server.connectHTTP()
                for _ in 0..<200 { #expect(try await balancer.ask(live).status == 200) }
                // Who is known is not counted so.
                let known = try await server.connectHTTP()
                #expect(try await known.ask(HTTPClient.rpc(Requests.ping(1), token: "g")).status == 200)
                for _ in 0..<100 { #expect(try await known.ask(elsewhere).headers["connection"] == nil) }
            }
        }

        /// Anybody may post a notification, and nobody is known by that.
        @Test func whoPostsANotificationIsAStrangerAllTheSame() async throws {
            try await serve(tokens: Self.tokens) { server, client in
                let elsewhere = HTTPClient.request("/elsewhere", "")
                for number in 1...ServerLimits().strangerVainLinesMax {
                    if number == 2 { _ = try await client.ask(HTTPClient.request("/app-store/notifications", "{}")) }
                    let isLast = number == ServerLimits().strangerVainLinesMax
                    let refusal = try await client.ask(elsewhere)
                    #expect(refusal.status == 404 && refusal.headers["connection"] == (isLast ? "close" : nil))
                }
                #expect(try await client.response() == nil)
            }
        }

        @Test func whatIsRefusedIsCountedByItsStatusAndFillsNoLog() async throws {
            let logs = LogCapture()
            try await serve(
                tokens: Self.tokens,
                limits: {
                    $0.requestMilliseconds = 100
                    $0.noticeMilliseconds = 3_600_000
                }, logs: logs
            ) { server, client in
                for _ in 0..<50 { _ = try await client.ask(HTTPClient.request("/elsewhere", "")) }
                // The first would not be listened to for so long.
                let second = try await server.connectHTTP()
                for _ in 0..<20 { _ = try await second.ask(HTTPClient.rpc(Requests.ping(1))) }
                _ = try await client.ask(HTTPClient.request("/v1/rpc", "", method: "GET"))
                _ = try await client.ask(HTTPClient.request("/v1/rpc", "", headers: []))
                let origin = ["Content-Type: application/json", "Origin: http://a"]
                _ = try await client.ask(HTTPClient.request("/v1/rpc", "", headers: origin))
                let long = try await server.connectHTTP()
                _ = try await long.ask(
                    "POST /app-store/notifications HTTP/1.1\r\nHost: a\r\nContent-Length: 131073\r\n\r\n")
                let slow = try await server.connectHTTP()
                _ = try await slow.ask(String(HTTPClient.rpc(Requests.ping(1), token: "g").dropLast()))
                _ = try await server.connectHTTP().ask("no HTTP\r\n\r\n")
                _ = try await server.connectHTTP().ask(HTTPClient.rpc(Requests.ping(1), token: "wrong"))
            }
            let one = "a request of HTTP is refused, whatever it asks"
            for status in [400, 401, 403, 404, 405, 408, 413, 415] {
                let lines = logs.lines.filter { $0.hasPrefix(one) && $0.hasSuffix("status=\(status)") }
                #expect(lines.count == 1 && lines[0].contains("peer=127.0.0.1"), "\(status): \(lines)")
            }
            #expect(logs.lines.contains { $0.contains("status=413") && $0.contains("/app-store/notifications") })
            let more = logs.lines.filter { $0.hasPrefix("more requests of HTTP are refused") }
            #expect(more.count == 2)
            #expect(more.contains { $0.contains("more=49 ") && $0.hasSuffix("status=404") }, "\(more)")
            #expect(more.contains { $0.contains("more=19 ") && $0.hasSuffix("status=401") }, "\(more)")
            #expect(logs.lines.filter { $0.contains("kind=unknown_token") }.count == 1)
        }

        // MARK: By which name

        @Test func whereNobodyNeedsATokenTheServerIsAskedByItsOwnNameAlone() async throws {
            try await serve(listenHTTP: [.tcp(host: "127.0.0.1", port: 0)]) { server, client in
                let ping = Requests.ping(1)
                for host in [
                    "localhost", "LOCALHOST:7118", "127.0.0.1", "127.0.0.1:80", "127.8.9.1:1", "[::1]", "[::1]:7118",
                ] {
                    let response = try await client.ask(HTTPClient.request("/v1/rpc", ping, host: host))
                    #expect(response.status == 200, "\(host)")
                }
                for host in [
                    "evil.example", "evil.example:7118", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]",
                    "10.0.0.1", "0.0.0.0", "", "localhost:80@evil.example", "127.1", "[::1].evil.example",
                    "[127.0.0.1", "::1",
                ] {
                    let response = try await client.ask(HTTPClient.request("/v1/rpc", ping, host: host))
                    #expect(response.status == 403, "\(host)")
                    #expect("\(response.json)".contains("no name of this machine"))
                }
                // Who posts what Apple signed needs no token anyway, and comes through a tunnel, perhaps.
                let posted = HTTPClient.request("/app-store/notifications", "{}", host: "tunnel.example")
                #expect(try await client.ask(posted).status == 200)
            }
        }

        @Test func theNameByWhichItListensIsItsOwn() throws {
            let hosts = LocalHosts([.tcp(host: "Ledger.Local", port: 1), .tcp(host: "::1", port: 1)])
            #expect(hosts.has("ledger.local:7118") && hosts.has("[::1]:1") && !hosts.has("ledger.locale"))
        }

        @Test func whereTokensOrTheFileSystemGuardItItsNameIsNoMatter() async throws {
            try await serve(tokens: Self.tokens) { _, client in
                let request = HTTPClient.request("/v1/rpc", Requests.ping(1), host: "ledger.example", token: "g")
                let response = try await client.ask(request)
                #expect(response.status == 200)
            }
            let path = "\(NSTemporaryDirectory())http-\(UUID().uuidString.prefix(8))"
            try await serve(listenHTTP: [.unix(path: path)]) { _, client in
                let response = try await client.ask(HTTPClient.request("/v1/rpc", Requests.ping(1), host: "any"))
                #expect(response.status == 200)
            }
        }

        @Test func aTargetInAbsoluteFormNamesTheHostItself() async throws {
            try await serve { _, client in
                let cases: [(target: String, host: String, status: Int)] = [
                    ("http://localhost/v1/rpc", "localhost", 200),
                    ("HTTP://127.0.0.1:7118/v1/rpc?a=b", "127.0.0.1:7118", 200),
                    ("https://localhost/elsewhere", "localhost", 404), ("http://localhost", "localhost", 404),
                    // RFC 9112 §3.2.2: Host is passed over then.
                    ("http://localhost/v1/rpc", "evil.example", 200), ("http://evil.example/v1/rpc", "localhost", 403),
                ]
                for (target, host, status) in cases {
                    let response = try await client.ask(HTTPClient.request(target, Requests.ping(1), host: host))
                    #expect(response.status == status, "\(target) at \(host)")
                }
            }
        }

        @Test func aBodyThatIsIdentityIsNotCoded() async throws {
            try await serve { _, client in
                let plain = ["Content-Type: application/json", "Content-Encoding: Identity"]
                #expect(
                    try await client.ask(HTTPClient.request("/v1/rpc", Requests.ping(1), headers: plain)).status == 200)
                let coded = ["Content-Type: application/json", "Content-Encoding: identity, gzip"]
                let refusal = try await client.ask(HTTPClient.request("/v1/rpc", Requests.ping(1), headers: coded))
                #expect(refusal.status == 415 && refusal.headers["accept-encoding"] == "identity")
            }
        }

        // MARK: Standbys

        @Test func aStandbyIsToldToSpeakTheLineProtocol() async throws {
            try await serve(tokens: Self.tokens) { server, client in
                let blocks = Requests.call(
                    "blocks", #"{"standby":"s","after":0,"hash":"\#(String(repeating: "0", count: 64))"}"#)
                for (request, token) in [
                    (blocks, "r"), (Requests.call("promote"), "a"), (Requests.call("step_down"), "a"),
                ] {
                    let alone = try await client.ask(HTTPClient.rpc(request, token: token))
                    #expect(alone.status == 200 && alone.json.reason == "method_not_found", "\(alone.body)")
                    #expect(alone.body.contains("is not offered over HTTP"))
                    let batch = try await client.ask(HTTPClient.rpc("[\(request)]", token: token))
                    #expect(batch.json[0].reason == "method_not_found")
                }
                // Who may not call it is told that.
                #expect(try await client.ask(HTTPClient.rpc(blocks, token: "g")).json.reason == "forbidden")
                // The connection is no standby's: it does not outlast those of others at the end.
                let lines = try await server.connect()
                _ = try await lines.ask(Requests.authenticate("r"))
                #expect(try await lines.ask(blocks).reason != "method_not_found")
            }
        }

        // MARK: The time that heads take

        /// Whoever has the event loop do anything has the next turn an hour later.
        private static func withoutASecondTurn(_ limits: inout ServerLimits) {
            limits.eventLoopThreads = 1
            limits.loopTurnNanoseconds = 1
            limits.loopPauseNanosecondsMin = 3_600_000_000_000
            limits.loopPauseNanosecondsMax = 3_600_000_000_000
            limits.keptAliveMilliseconds = 3_600_000
            limits.requestMilliseconds = 3_600_000
        }

        /// A chunk of one byte takes as long to be decoded as one of a kilobyte.
        @Test(arguments: ["g", "wrong"])
        func aBodyIsDecodedInTheTurnsOfWhoSendsIt(token: String) async throws {
            try await serve(tokens: Self.tokens, limits: Self.withoutASecondTurn) { server, client in
                let chunks = String(repeating: "1;x=y\r\n \r\n", count: 10_000) + "2\r\n[]\r\n0\r\n\r\n"
                try await client.send(HTTPClient.chunked("/v1/rpc", token: token) + chunks)
                // Others are served meanwhile.
                let other = try await server.connectHTTP()
                #expect(try await other.ask(HTTPClient.rpc(Requests.ping(1), token: "f")).status == 200)
                await server.shutDown()
                let response = try await client.response()
                #expect(response?.status == (token == "g" ? 503 : 401), "its end was not decoded")
                #expect(response?.headers["connection"] == "close")
            }
        }

        /// However much strangers have sent.
        @Test func aNewcomersFirstLineWaitsForNobodyElses() async throws {
            try await serve(tokens: Self.tokens, limits: Self.withoutASecondTurn) { server, client in
                #expect(try await client.ask(HTTPClient.request("/elsewhere", "")).status == 404)
                let stranger = try await server.connect()
                #expect(try await stranger.ask(Requests.ping(1)).reason == nil)
                // The second waits with those of all strangers.
                try await stranger.send(Requests.ping(2) + "\n")
                let newcomer = try await server.connect()
                #expect(try await newcomer.ask(Requests.authenticate("g")).reason == nil)
            }
        }

        /// Though all of it is read as soon as it has come.
        @Test func aFirstLineThatIsReadInManyTurnsWaitsForTheLastOfThem() async throws {
            func limits(_ limits: inout ServerLimits) {
                Self.withoutASecondTurn(&limits)
                limits.shutdownMilliseconds = 300
            }
            try await serve(tokens: Self.tokens, limits: limits) { server, client in
                #expect(try await client.ask(HTTPClient.request("/elsewhere", "")).status == 404)
                let stranger = try await server.connect()
                try await stranger.send("[" + String(repeating: "1,", count: 100) + "\n")
                let newcomer = try await server.connect()
                #expect(try await newcomer.ask(Requests.authenticate("g")).reason == nil)
                await server.shutDown()
                let answer = try? await stranger.line()
                #expect(answer == nil, "it was found to be no JSON")
            }
        }

        /// Another of its sender's has had the last one.
        @Test func aBodyThatWaitsForATurnIsNotWaitedForWithoutEnd() async throws {
            func limits(_ limits: inout ServerLimits) {
                Self.withoutASecondTurn(&limits)
                limits.requestMilliseconds = 100
            }
            try await serve(tokens: Self.tokens, limits: limits) { server, client in
                let posted = HTTPClient.request("/app-store/notifications", "{}")
                #expect(try await client.ask(posted).status == 200)
                let late = try await server.connectHTTP()
                try await late.send(String(posted.dropLast()))
                let refusal = try #require(try await late.response())
                #expect(refusal.status == 408 && refusal.headers["connection"] == "close")
            }
        }

        /// In one piece with it.
        @Test func whatIsSentBehindARequestWaitsForItsSendersTurn() async throws {
            try await serve(tokens: Self.tokens, limits: Self.withoutASecondTurn) { server, client in
                let elsewhere = HTTPClient.request("/elsewhere", "")
                try await client.send(elsewhere + elsewhere)
                #expect(try await client.response()?.status == 404)
                // Others are served meanwhile.
                for token in ["g", "f"] {
                    let other = try await server.connectHTTP()
                    #expect(try await other.ask(HTTPClient.rpc(Requests.ping(1), token: token)).status == 200)
                }
                await server.shutDown()
                #expect(try await client.response() == nil, "it was looked at")
            }
        }

        @Test func theTimeThatHeadsTakeIsPaidByWhoSendsThem() async throws {
            try await serve(tokens: Self.tokens, limits: Self.withoutASecondTurn) { server, client in
                let elsewhere = HTTPClient.request("/elsewhere", "")
                // The first piece says who sends it; the turn of the next is to be waited for.
                #expect(try await client.ask(elsewhere).status == 404)
                try await client.send(elsewhere)
                // Others are served meanwhile.
                for token in ["g", "f"] {
                    let other = try await server.connectHTTP()
                    #expect(try await other.ask(HTTPClient.rpc(Requests.ping(1), token: token)).status == 200)
                }
                await server.shutDown()
                #expect(try await client.response() == nil, "it was not read again")
            }
        }
    }
}
