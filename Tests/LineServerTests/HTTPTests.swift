import AppStore
import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// The line protocol's requests by HTTP, over real sockets.
    @Suite struct HTTPRequests {
        private func serve(
            store: any Store = MemoryStore(), tokens: [Token] = [],
            limits: (inout ServerLimits) -> Void = { _ in }, logs: LogCapture = LogCapture(),
            _ body: (TestServer, HTTPClient) async throws -> Void
        ) async throws {
            try await TestServer.run(
                store: store, listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], tokens: tokens, logs: logs, limits: limits
            ) { server in try await body(server, try await server.connectHTTP()) }
        }

        @Test func aRequestIsAnsweredByItsReplyAndTheConnectionGoesOn() async throws {
            try await serve { _, client in
                for number in 1...3 {
                    let response = try await client.ask(HTTPClient.rpc(Requests.grant("k\(number)", "p", 10)))
                    #expect(response.status == 200)
                    #expect(response.headers["content-type"] == "application/json")
                    #expect(response.headers["connection"] == nil)
                    #expect(response.headers["date"]?.hasSuffix(" GMT") == true)
                    #expect(response.json.result["balances"]["gems"]["available"].int == number * 10)
                }
                let line = try await client.ask(HTTPClient.rpc(Requests.balance("p")))
                #expect(line.body.hasSuffix("}\n"), "the reply is the line protocol's, byte for byte")
            }
        }

        @Test func aBatchIsAnsweredInItsOrderAndARequestWithoutAnIDByNothing() async throws {
            try await serve { _, client in
                let batch = [Requests.grant("a", "p", 5), Requests.spend("b", "p", 7), Requests.ping(3)]
                let response = try await client.ask(HTTPClient.rpc("[\(batch.joined(separator: ","))]"))
                let replies = try #require(response.json.array)
                #expect(response.status == 200 && replies.count == 3)
                #expect(replies[0].result["entry"].exists && replies[1].reason == "insufficient_funds")

                let silent = Requests.grant("c", "p", 1, id: nil)
                let one = try await client.ask(HTTPClient.rpc(silent))
                #expect(one.status == 204 && one.body.isEmpty && one.headers["content-length"] == nil)
                let several = try await client.ask(
                    HTTPClient.rpc("[\(silent),\(Requests.grant("d", "p", 1, id: nil))]"))
                #expect(several.status == 204)
                let balance = try await client.ask(HTTPClient.rpc(Requests.balance("p")))
                #expect(balance.json.result["balances"]["gems"]["available"].int == 7)
            }
        }

        @Test func everyRequestShowsByItselfWhoSendsIt() async throws {
            let logs = LogCapture()
            let tokens = [Token(token: "g", role: .game), Token(token: "f", role: .finance)]
            try await serve(tokens: tokens, logs: logs) { server, client in
                let game = try await client.ask(HTTPClient.rpc(Requests.grant("k", "p", 10), token: "g"))
                #expect(game.status == 200 && game.json.result["entry"].exists)
                let finance = try await client.ask(HTTPClient.rpc(Requests.spend("s", "p", 1), token: "f"))
                #expect(finance.status == 200 && finance.json.reason == "forbidden")
                let again = try await client.ask(HTTPClient.rpc(Requests.spend("s", "p", 1), token: "g"))
                #expect(again.json.result["balances"]["gems"]["available"].int == 9)
                // Nothing of it is left for who shows nothing.
                let nobody = try await client.ask(HTTPClient.rpc(Requests.balance("p")))
                #expect(nobody.status == 401 && nobody.headers["www-authenticate"] == "Bearer")
                #expect(nobody.json.reason == "unauthenticated" && nobody.headers["connection"] == nil)
                #expect(try await client.ask(HTTPClient.rpc(Requests.ping(1), token: "f")).status == 200)

                let wrong = try await server.connectHTTP().ask(HTTPClient.rpc(Requests.ping(1), token: "wrong"))
                #expect(wrong.status == 401 && wrong.json.reason == "unauthenticated")
                for header in [
                    "Authorization: Basic Zzpn", "Authorization: Bearer",
                    "Authorization: Bearer g\r\nAuthorization: Bearer g",
                ] {
                    let odd = try await server.connectHTTP().ask(
                        HTTPClient.request(
                            "/v1/rpc", Requests.ping(1), headers: ["Content-Type: application/json", header]))
                    #expect(odd.status == 401, "\(header)")
                }
                let small = HTTPClient.request(
                    "/v1/rpc", Requests.ping(1),
                    headers: ["content-type: Application/JSON; charset=utf-8", "authorization: bearer  g"])
                #expect(try await server.connectHTTP().ask(small).status == 200)
            }
            #expect(logs.lines.contains { $0.hasPrefix("refused") && $0.contains("kind=unknown_token") })
        }

        @Test func whatIsNoRequestOfItsKindIsRefusedByItsStatus() async throws {
            try await serve { server, _ in
                let ping = Requests.ping(1)
                let head = "POST /v1/rpc HTTP/1.1\r\nHost: localhost\r\n"
                let cases: [(request: String, status: Int)] = [
                    (HTTPClient.request("/", ping), 404),
                    (HTTPClient.request("/v1/rpc/", ping), 404),
                    (HTTPClient.request("/v1/rpc", ping, method: "PUT"), 405),
                    (HTTPClient.request("/app-store/notifications", "", method: "GET"), 405),
                    (HTTPClient.request("/v1/rpc", ping, headers: []), 415),
                    (HTTPClient.request("/v1/rpc", ping, headers: ["Content-Type: text/plain"]), 415),
                    (
                        HTTPClient.request(
                            "/v1/rpc", ping, headers: ["Content-Type: application/json", "Origin: http://localhost"]),
                        403
                    ),
                    (
                        HTTPClient.request(
                            "/v1/rpc", ping, headers: ["Content-Type: application/json", "Content-Encoding: gzip"]),
                        415
                    ),
                    (
                        HTTPClient.request("/app-store/notifications", "{}", headers: ["Content-Encoding: br"]), 415
                    ),
                    (head + "Content-Type: application/json\r\nContent-Length: 1048577\r\n\r\n", 413),
                    ("POST /app-store/notifications HTTP/1.1\r\nHost: a\r\nContent-Length: 131073\r\n\r\n", 413),
                    (head + "Content-Type: application/json\r\nContent-Length: \(UInt64.max)\r\n\r\n", 413),
                    ("\(ping)\n", 400),
                    ("POST /v1/rpc HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 400),
                    (head + "Host: b\r\nContent-Length: 0\r\n\r\n", 400),
                    (head + "Content-Length: two\r\n\r\n", 400),
                    (head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
                    (head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
                    (head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
                    (head + "Transfer-Encoding:\r\n\r\n", 400),
                    (head + "Transfer-Encoding: chunked, gzip\r\n\r\n", 400),
                    (
                        "POST /v1/rpc HTTP/1.0\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
                        400
                    ),
                    ("POST http:///v1/rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 400),
                    ("POST http://a@localhost/v1/rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 400),
                    ("CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
                    (HTTPClient.request("/", ping).replacing("HTTP/1.1", with: "HTTP/1.0"), 404),
                ]
                for (request, status) in cases {
                    let client = try await server.connectHTTP()
                    let response = try await client.ask(request)
                    #expect(response.status == status, "\(request)")
                    #expect(response.json.reason != nil)
                    if status == 405 { #expect(response.headers["allow"] == "POST") }
                    // Where nobody knows where the next request begins, there is none.
                    if [403, 404, 405, 415].contains(status) && request.contains(" HTTP/1.1\r\nHost")
                        && !request.hasPrefix("CONNECT")
                    {
                        #expect(response.headers["connection"] == nil, "\(request)")
                        #expect(try await client.ask(HTTPClient.rpc(ping)).status == 200, "\(request)")
                    } else {
                        #expect(response.headers["connection"] == "close", "\(request)")
                        #expect(try await client.response() == nil, "the connection is closed")
                    }
                }
                let query = try await server.connectHTTP().ask(HTTPClient.request("/v1/rpc?from=test", ping))
                #expect(query.status == 200)
            }
        }

        @Test func aBodyMayComeInAnyPiecesAndHaveLinesOfItsOwn() async throws {
            try await serve { server, client in
                let pretty = """
                    {
                      "jsonrpc": "2.0", "id": 1,
                      "method": "grant",
                      "params": {"key": "k", "account": "p",\r
                                 "currency": "gems", "amount": 3}
                    }

                    """
                let first = try await client.ask(HTTPClient.rpc(pretty))
                #expect(first.json.result["balances"]["gems"]["available"].int == 3)
                // A line's end within a string is none of JSON, as over TCP.
                let broken = try await client.ask(HTTPClient.rpc(Requests.ping(1).replacing("ping", with: "pi\nng")))
                #expect(broken.status == 200 && broken.json.reason == "parse_error")
                for nothing in ["", "\n", "\r\n", "\r", " "] {
                    let empty = try await client.ask(HTTPClient.rpc(nothing))
                    #expect(empty.json.reason == "parse_error", "\(nothing.debugDescription)")
                }
                let head = HTTPClient.chunked("/v1/rpc")
                for byte in (head + Requests.ping(2).map { "1\r\n\($0)\r\n" }.joined() + "0\r\n\r\n").utf8 {
                    try await client.raw.send([byte])
                }
                #expect(try await client.response()?.json.id == 2)

                // More than may be, chunk by chunk.
                let long = try await server.connectHTTP()
                try await long.send(head)
                _ = long.raw.sendWithoutWaiting(Array("110000\r\n".utf8))
                let flood = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
                try? await long.raw.send(flood + flood)
                #expect(try await long.response()?.status == 413)
            }
        }

        @Test func theLongestBodyIsServed() async throws {
            try await serve { _, client in
                let ping = Requests.ping(1)
                let body = ping + String(repeating: " ", count: WireLimits.lineBytesMax - ping.utf8.count)
                let response = try await client.ask(HTTPClient.rpc(body))
                #expect(response.json.id == 1)
            }
        }

        @Test func whatIsNoHTTPIsRefusedBehindTheAnswersToWhatCameBefore() async throws {
            let store = FaultyStore()
            try await serve(store: store) { _, client in
                store.hold()
                let requests = (1...3).map { HTTPClient.rpc(Requests.grant("k\($0)", "p", 1, id: "\($0)")) }
                try await client.send(requests.joined() + "NO HTTP\r\n\r\n")
                #expect(try await eventually { store.waiting == 1 })
                store.release()
                for number in 1...3 {
                    let response = try #require(try await client.response())
                    #expect(response.status == 200 && response.json.id == number)
                }
                #expect(try await client.response()?.status == 400)
                #expect(try await client.response() == nil)
            }
        }

        @Test func partOfARequestAndThenNoHTTPIsRefusedBehindTheAnswerToo() async throws {
            let store = FaultyStore()
            try await serve(store: store) { _, client in
                store.hold()
                let first = HTTPClient.rpc(Requests.grant("k", "p", 1))
                try await client.send(first + HTTPClient.chunked("/v1/rpc"))
                try await client.send("2\r\n{}\r\nno number\r\n")
                #expect(try await eventually { store.waiting == 1 })
                store.release()
                #expect(try await client.response()?.status == 200)
                #expect(try await client.response()?.status == 400)
                #expect(try await client.response() == nil)
            }
        }

        @Test func nobodyChangesToAnotherProtocol() async throws {
            try await serve { server, client in
                let offer = HTTPClient.request(
                    "/v1/rpc", Requests.ping(1),
                    headers: ["Content-Type: application/json", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"])
                let response = try await client.ask(offer)
                // Behind it nothing is read: so the client is told to connect anew.
                #expect(response.status == 200 && response.headers["connection"] == "close")
                #expect(try await client.response() == nil)
                let tunnel = try await server.connectHTTP()
                try await tunnel.send("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n")
                let refusal = try #require(try await tunnel.response())
                #expect(refusal.status == 404 || refusal.status == 405)
                let head = try await server.connectHTTP()
                for _ in 0..<2 {
                    try await head.send("HEAD /v1/rpc HTTP/1.1\r\nHost: a\r\n\r\n")
                    let none = try #require(try await head.response(hasBody: false))
                    #expect(none.status == 405 && none.headers["content-length"] != "0")
                }
            }
        }

        @Test func aHeadIsBounded() async throws {
            try await serve { server, _ in
                let long = String(repeating: "a", count: 20_000)
                for lines in ["X: \(long)", (1...100).map { "X\($0): a" }.joined(separator: "\r\n")] {
                    let client = try await server.connectHTTP()
                    let response = try await client.ask("POST /v1/rpc HTTP/1.1\r\nHost: a\r\n\(lines)\r\n\r\n")
                    #expect(response.status == 400)
                }
            }
        }

        @Test func whatARequestSaysOfItsLedgerHoldsForNoOther() async throws {
            let second = try SandboxApp(bundleID: "com.example.second")
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                let client = try await server.connectHTTP()
                let named = Requests.call("authenticate", #"{"ledger":"second"}"#)
                let batch = try await client.ask(HTTPClient.rpc("[\(named),\(Requests.grant("k", "p", 1))]"))
                #expect(batch.json.array?.allSatisfy { $0.reason == nil } == true)
                let next = try await client.ask(HTTPClient.rpc(Requests.balance("p")))
                #expect(next.json.reason == "ledger_required")
            }
        }

        @Test func aLongResponseIsReadWholeHoweverSlowly() async throws {
            try await serve { server, client in
                let grants = (0..<1_000).map { Requests.grant("k\($0)", "p", 1) }
                _ = try await client.ask(HTTPClient.rpc("[\(grants.joined(separator: ","))]"))
                let pages = (0..<12).map { Requests.call("journal", #"{"after":0,"limit":1000}"#, id: $0) }
                let slow = HTTPClient(try await RawClient(server.httpAddresses[0], receiveBufferBytes: 4_096))
                try await slow.send(
                    HTTPClient.request(
                        "/v1/rpc", "[\(pages.joined(separator: ","))]",
                        headers: ["Content-Type: application/json", "Connection: close"]))
                // Longer than the server lingers.
                try await Task.sleep(for: .milliseconds(700))
                let response = try #require(try await slow.response())
                #expect(response.json.array?.count == 12 && response.headers["connection"] == "close")
                #expect(try await slow.response() == nil)
            }
        }

        @Test func whoHasClosedItsSideIsToldThatItsRequestHasNoAnswer() async throws {
            try await serve { _, client in
                try await client.send(HTTPClient.rpc(Requests.grant("k", "p", 1, id: nil)))
                client.raw.closeOutput()
                #expect(try await client.response()?.status == 204)
                #expect(try await client.response() == nil)
            }
        }

        @Test func requestsSentBehindEachOtherAreAnsweredInOrder() async throws {
            try await serve { server, client in
                let requests = (1...200).map { HTTPClient.rpc(Requests.grant("k\($0)", "p", 1, id: "\($0)")) }
                try await client.send(requests.joined())
                client.raw.closeOutput()
                for number in 1...200 {
                    let response = try #require(try await client.response())
                    #expect(response.json.id == number)
                    #expect(response.json.result["balances"]["gems"]["available"].int == number)
                }
                #expect(try await client.response() == nil)
                let old = try await server.connectHTTP()
                let response = try await old.ask(
                    "POST /v1/rpc HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n"
                        + Requests.ping(1).padding(toLength: 40, withPad: " ", startingAt: 0))
                #expect(response.status == 200 && response.headers["connection"] == "close")
                #expect(try await old.response() == nil)
            }
        }

        @Test func aClientThatAsksLeaveToSendIsGivenItOrTheRefusal() async throws {
            let tokens = [Token(token: "g", role: .game)]
            try await serve(tokens: tokens) { server, client in
                func head(_ token: String) -> String {
                    """
                    POST /v1/rpc HTTP/1.1\r
                    Host: a\r
                    Content-Type: application/json\r
                    Authorization: Bearer \(token)\r
                    Expect: 100-continue\r
                    Content-Length: \(Requests.ping(1).utf8.count)\r
                    \r

                    """
                }
                let leave = try await client.ask(head("g"))
                let response = try await client.ask(Requests.ping(1))
                let refusal = try await server.connectHTTP().ask(head("x"))
                #expect(leave.status == 100 && response.json.id == 1 && refusal.status == 401)
            }
        }

        @Test func whoSendsTooSlowlyOrNothingIsCutOff() async throws {
            try await serve(limits: { limits in
                limits.requestMilliseconds = 200
                limits.keptAliveMilliseconds = 400
            }) { server, client in
                let request = HTTPClient.rpc(Requests.ping(1))
                let begin = ContinuousClock.now
                try await client.send(String(request.dropLast(3)))
                #expect(try await client.response()?.status == 408)
                #expect(ContinuousClock.now - begin >= .milliseconds(190))
                #expect(try await client.response() == nil)
                // Neither a head that does not end, nor a connection that has answered, is kept for ever.
                let head = try await server.connectHTTP()
                try await head.send("POST /v1/rpc HTTP/1.1\r\n")
                let idle = try await server.connectHTTP()
                #expect(try await idle.ask(request).status == 200)
                #expect(try await head.response() == nil)
                #expect(try await idle.response() == nil)
            }
        }

        @Test func aShutdownAnswersWhatTheLedgerHasAndTellsWhoIsStillSending() async throws {
            let store = FaultyStore()
            try await serve(store: store, limits: { $0.eventLoopThreads = 1 }) { server, client in
                let half = try await server.connectHTTP()
                try await half.send(String(HTTPClient.rpc(Requests.ping(1)).dropLast(3)))
                // On the one event loop what came before is read before.
                #expect(try await client.ask(HTTPClient.rpc(Requests.ping(2))).status == 200)
                store.hold()
                // The server ends only then, also where something below fails.
                defer { store.release() }
                try await client.send(HTTPClient.rpc(Requests.grant("k", "p", 1)))
                #expect(try await eventually { store.waiting == 1 })
                await server.shutDown()
                let refused = try #require(try await half.response())
                #expect(refused.status == 503 && refused.json.reason == "shutting_down")
                #expect(refused.headers["retry-after"] == "1")
                #expect(try await half.response() == nil)
                store.release()
                let answered = try #require(try await client.response())
                #expect(answered.status == 200 && answered.json.result["entry"].exists)
                #expect(try await client.response() == nil)
            }
        }

        @Test func whoIsOverTheLimitIsToldSoInHTTP() async throws {
            try await serve(limits: { $0.connectionsMax = 1 }) { server, client in
                #expect(try await client.ask(HTTPClient.rpc(Requests.ping(1))).status == 200)
                let further = try await server.connectHTTP()
                let response = try #require(try await further.response())
                #expect(response.status == 503 && response.json.reason == "overloaded")
                #expect(try await further.response() == nil)
            }
        }
    }
}
