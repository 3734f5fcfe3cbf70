import AppStore
import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import NIOHTTP1
import Synchronization
import Testing

@testable import LineServer

extension ServerTests {
    /// Metrics and health, over real sockets.
    @Suite struct Watching {
        private static let local = [ServerAddress.tcp(host: "127.0.0.1", port: 0)]

        private struct Page {
            let status: Int
            let headers: [String: String]
            let body: String
        }

        /// One request, on a connection of its own.
        private static func get(
            _ path: String, from address: ServerAddress, method: String = "GET", host: String = "localhost"
        ) async throws -> Page {
            let client = try await RawClient(address)
            try await client.send("\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
            return try await page(of: client, hasBody: method != "HEAD")
        }

        private static func page(of client: RawClient, hasBody: Bool = true) async throws -> Page {
            let first = try #require(try await client.line())
            var headers: [String: String] = [:]
            while let line = try await client.line(), line != "\r" {
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespacesAndNewlines)
            }
            let count = hasBody ? Int(headers["content-length"] ?? "0") ?? 0 : 0
            return Page(
                status: Int(first.split(separator: " ")[1]) ?? 0, headers: headers,
                body: String(decoding: try await client.bytes(count), as: UTF8.self))
        }

        private static func metrics(_ server: TestServer) async throws -> ParsedExposition {
            let page = try await get("/metrics", from: server.metricsAddresses[0])
            #expect(page.status == 200 && page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            return try ParsedExposition(page.body)
        }

        // MARK: Metrics

        @Test func requestsAreCountedByMethodAndByWhatBecameOfThem() async throws {
            let app = try SandboxApp()
            let tokens = [Token(token: "g", role: .game), Token(token: "p", role: .purchases)]
            try await TestServer.run(listenMetrics: Self.local, tokens: tokens, verifier: app.verifier) { server in
                let client = try await server.connect()
                _ = try await client.ask(Requests.authenticate("g"))
                for number in 1...3 { _ = try await client.ask(Requests.grant("k\(number)", "p", 10)) }
                #expect(try await client.ask(Requests.spend("s", "p", 31)).reason == "insufficient_funds")
                #expect(try await client.ask(Requests.report("trial")).reason == "forbidden")
                #expect(try await client.ask(Requests.call("spend", "{}")).reason == "invalid_params")
                #expect(try await client.ask("nothing of the kind").reason == "parse_error")
                _ = try await client.ask(Requests.authenticate("p"))
                #expect(try await client.ask(Requests.credit("not.a.jws")).reason == "verification_failed")

                let figures = try await Self.metrics(server)
                func count(_ method: String, _ outcome: String) -> Double? {
                    figures["ledger_requests_total", ["method": method, "outcome": outcome]]
                }
                #expect(count("grant", "ok") == 3 && count("grant", "refused") == 0)
                #expect(count("spend", "refused") == 1 && count("spend", "ok") == 0)
                #expect(count("report", "denied") == 1)
                // Of these nobody knows what they would be.
                #expect(count("", "invalid") == 2)
                #expect(count("credit", "unverified") == 1)
                #expect(count("authenticate", "ok") == 2)
                #expect(figures["ledger_request_seconds_count", ["method": "grant"]] == 3)
                #expect(figures["ledger_request_seconds_sum", ["method": "grant"]] ?? 0 > 0)
                #expect(count("balance", "ok") == nil, "what nobody asked has no figure")
                #expect(figures["ledger_refused_signatures_total", ["reason": "malformed"]] == 1)
                #expect(figures["ledger_notices_total", ["notice": "forbidden"]] == 1)
                #expect(figures["ledger_connections"] == 1)
                #expect(figures["ledger_received_bytes_total"] ?? 0 > 500)
                #expect(figures["ledger_sent_bytes_total"] ?? 0 > 500)
                #expect(figures["ledger_batch_operations_count"] ?? 0 >= 5)
                #expect(figures["ledger_waiting_operations"] == 0)
                #expect(figures["ledger_ready"] == 1)
                #expect(figures["process_resident_memory_bytes"] ?? 0 > 1_000_000)
            }
        }

        @Test func requestsInABatchAndByHTTPAreCountedOneByOne() async throws {
            try await TestServer.run(listenHTTP: Self.local, listenMetrics: Self.local) { server in
                let batch = [Requests.grant("a", "p", 5), Requests.spend("b", "p", 7), Requests.ping(3)]
                let client = try await server.connectHTTP()
                _ = try await client.ask(HTTPClient.rpc("[\(batch.joined(separator: ","))]"))
                _ = try await client.ask(HTTPClient.rpc(Requests.grant("c", "p", 1, id: nil)))
                let figures = try await Self.metrics(server)
                #expect(figures["ledger_requests_total", ["method": "grant", "outcome": "ok"]] == 2)
                #expect(figures["ledger_requests_total", ["method": "spend", "outcome": "refused"]] == 1)
                #expect(figures["ledger_requests_total", ["method": "ping", "outcome": "ok"]] == 1)
            }
        }

        @Test func eachLedgerHasFiguresOfItsOwn() async throws {
            let second = try SandboxApp(bundleID: "com.example.second")
            try await TestServer.run(
                listenMetrics: Self.local, beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                let client = try await server.connect()
                for (ledger, count) in [("main", 1), ("second", 2)] {
                    for number in 1...count {
                        let request = Requests.grant("\(number)", "p", 1)
                            .replacing("\"params\":{", with: "\"params\":{\"ledger\":\"\(ledger)\",")
                        #expect(try await client.ask(request).reason == nil)
                    }
                }
                _ = try await client.ask(Requests.ping(1))
                let figures = try await Self.metrics(server)
                let name = "ledger_requests_total"
                #expect(figures[name, ["ledger": "main", "method": "grant", "outcome": "ok"]] == 1)
                #expect(figures[name, ["ledger": "second", "method": "grant", "outcome": "ok"]] == 2)
                #expect(figures[name, ["method": "ping", "outcome": "ok"]] == 1)
                #expect(figures["ledger_ready", ["ledger": "second"]] == 1)
            }
        }

        @Test(.enabled(if: PrometheusProgram.promtool.isWanted, "promtool is not installed"))
        func prometheusAcceptsWhatTheServiceSays() async throws { try await Self.check(by: .promtool) }

        @Test(.enabled(if: PrometheusProgram.python.isWanted, "prometheus_client is not installed"))
        func thePythonClientAcceptsWhatTheServiceSays() async throws { try await Self.check(by: .python) }

        private static func check(by program: PrometheusProgram) async throws {
            let folder = FileManager.default.temporaryDirectory.path
            try await TestServer.run(listenMetrics: local, folder: folder) { server in
                let client = try await server.connect()
                _ = try await client.ask(Requests.grant("k", "p", 10))
                _ = try await client.ask(Requests.call("nothing"))
                let page = try await get("/metrics", from: server.metricsAddresses[0])
                try program.check(figures: Array(page.body.utf8))
            }
        }

        @Test func figuresAreToldWhileEachPlaceIsTaken() async throws {
            try await TestServer.run(listenMetrics: Self.local, limits: { $0.connectionsMax = 2 }) { server in
                let clients = [try await server.connect(), try await server.connect()]
                for client in clients { _ = try await client.ask(Requests.ping(1)) }
                let third = try await server.connect()
                #expect(try JSON(try #require(try await third.line())).reason == "overloaded")
                let figures = try await Self.metrics(server)
                #expect(figures["ledger_connections"] == 2 && figures["ledger_connections_max"] == 2)
                for client in clients { #expect(try await client.ask(Requests.ping(2)).id == 2) }
            }
        }

        @Test func whoSaysNothingGivesTheirPlaceToWhoAsks() async throws {
            // Nobody is put out meanwhile for the time they take.
            let limits: (inout ServerLimits) -> Void = { ($0.watchersMax, $0.watchMilliseconds) = (2, 600_000) }
            try await TestServer.run(listenMetrics: Self.local, limits: limits) { server in
                var silent: [RawClient] = []
                for _ in 0..<5 { silent.append(try await server.connectMetrics()) }
                #expect(try await eventually { silent.count(where: \.isEnded) == 3 })
                let page = try await Self.get("/health/live", from: server.metricsAddresses[0])
                #expect(page.status == 200)
                #expect(try await eventually { silent.count(where: \.isEnded) == 4 })
            }
        }

        @Test func whoIsBeingAnsweredKeepsTheirPlace() throws {
            var places = WatchPlaces(max: 2)
            let first = try #require(places.take(for: .v4(1)) {})
            let second = try #require(places.take(for: .v4(1)) {})
            #expect(first.putOut == nil && second.putOut == nil)
            places.noteRequest(of: first.id)
            places.noteRequest(of: second.id)
            #expect(places.take(for: .v4(2)) {} == nil)
            places.leave(first.id)
            let third = try #require(places.take(for: .v4(2)) {})
            #expect(third.putOut == nil)
        }

        @Test func silentConnectionsOfOneAddressGiveWayBeforeThoseOfOthers() throws {
            let closed = Mutex<[Int]>([])
            var places = WatchPlaces(max: 3)
            // The oldest of all is from elsewhere.
            for (number, peer) in [PeerAddress.v4(1), .v4(2), .v4(2), .v4(2), .v4(2), .v4(3)].enumerated() {
                let taken = try #require(places.take(for: peer) { closed.withLock { $0.append(number) } })
                taken.putOut?()
            }
            #expect(closed.withLock { $0 } == [1, 2, 3])
        }

        @Test func whoAsksNothingInTimeIsPutOut() async throws {
            try await TestServer.run(listenMetrics: Self.local, limits: { $0.watchMilliseconds = 50 }) { server in
                let client = try await server.connectMetrics()
                try await client.send("GET /metrics HTTP/1.1\r\n")
                #expect(try await client.line() == nil)
            }
        }

        @Test func metricsAreToldOnlyWhereTheyAreMeantToBe() async throws {
            try await TestServer.run(listenHTTP: Self.local, listenMetrics: Self.local) { server in
                #expect(try await Self.get("/metrics", from: server.httpAddresses[0]).status == 404)
                #expect(try await Self.get("/v1/rpc", from: server.metricsAddresses[0]).status == 404)
                #expect(
                    try await Self.get("/metrics", from: server.metricsAddresses[0], method: "POST").status == 405)
                // A page in a browser that has its own name lead here.
                let page = try await Self.get("/metrics", from: server.metricsAddresses[0], host: "evil.example")
                #expect(page.status == 403 && !page.body.contains("ledger_ready"))
            }
        }

        @Test func otherMachinesNeedACertificateOrANetworkThatIsTrusted() async throws {
            let everywhere = [ServerAddress.tcp(host: "0.0.0.0", port: 0)]
            let refusal = await #expect(throws: ServerError.self) {
                try await TestServer.run(listenMetrics: everywhere) { _ in }
            }
            #expect(refusal?.kind == .unprotected && refusal?.description.contains("tls.clientCA") == true)
            try await TestServer.run(listenMetrics: everywhere, allowsInsecurePlaintext: true) { server in
                guard case .tcp(_, let port) = server.metricsAddresses[0] else { return }
                let page = try await Self.get(
                    "/metrics", from: .tcp(host: "127.0.0.1", port: port), host: "any.example")
                #expect(page.status == 200)
            }
        }

        // MARK: Health

        @Test func healthIsToldWithoutATokenWhereHTTPIsSpoken() async throws {
            let tokens = [Token(token: "g", role: .game)]
            try await TestServer.run(listenHTTP: Self.local, listenMetrics: Self.local, tokens: tokens) { server in
                for address in [server.httpAddresses[0], server.metricsAddresses[0]] {
                    let live = try await Self.get("/health/live", from: address)
                    #expect(live.status == 200 && live.body == "{\"live\":true}\n")
                    #expect(live.headers["content-type"] == "application/json")
                    let ready = try await Self.get("/health/ready?verbose", from: address)
                    #expect(ready.status == 200 && ready.body == "{\"ready\":true,\"reasons\":[]}\n")
                    #expect(ready.headers["cache-control"] == "no-store")
                    let head = try await Self.get("/health/ready", from: address, method: "HEAD")
                    #expect(head.status == 200 && head.headers["content-length"] == "\(ready.body.utf8.count)")
                    let post = try await Self.get("/health/ready", from: address, method: "POST")
                    #expect(post.status == 405 && post.headers["allow"] == "GET, HEAD")
                }
            }
        }

        @Test func aConnectionOfHTTPGoesOnBehindAPage() async throws {
            try await TestServer.run(listenHTTP: Self.local) { server in
                let client = try await server.connectHTTP()
                let ask = "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
                // What comes behind a page waits for it.
                try await client.send(ask + HTTPClient.rpc(Requests.grant("k", "p", 10)) + ask)
                let replies = [
                    try await client.response(), try await client.response(), try await client.response(),
                ].compactMap(\.self)
                #expect(replies.map(\.status) == [200, 200, 200])
                #expect(replies[0].json["live"].bool == true && replies[1].json.result["entry"].exists)
                #expect(replies[2].json["live"].bool == true)
                let body = String(repeating: "x", count: 20_000)
                let long = try await client.ask(HTTPClient.request("/health/live", body, method: "GET"))
                #expect(long.status == 413)
            }
        }

        @Test func whatIsNotReadyIsSaidAndNothingElse() async throws {
            let store = FaultyStore()
            var standings: [(StoreStanding, String)] = []
            var standing = StoreStanding()
            standing.state = .opening(progress: "the ledger's tables are being made: block 7 of 9")
            standings.append((standing, "opening"))
            standing.state = .failed("/var/lib/secret: no such file")
            standings.append((standing, "failed"))
            standing = StoreStanding()
            standing.logFailure = LogError(.notAppended, "/var/lib/secret: no space left")
            standings.append((standing, "log_failing"))
            standing = StoreStanding()
            standing.projectionFailure = StoreError("SQLite error 13")
            standings.append((standing, "tables_failing"))
            standing = StoreStanding()
            standing.lacksStandbys = true
            standings.append((standing, "standbys_lacking"))
            try await TestServer.run(
                store: store, listenHTTP: Self.local, listenMetrics: Self.local,
                limits: { $0.readinessMilliseconds = 0 }
            ) { server in
                for (standing, reason) in standings {
                    store.setStanding(standing)
                    let page = try await Self.get("/health/ready", from: server.httpAddresses[0])
                    #expect(page.status == 503 && page.headers["retry-after"] == "1")
                    #expect(page.body == "{\"ready\":false,\"reasons\":[\"\(reason)\"]}\n")
                    #expect(try await Self.get("/health/live", from: server.httpAddresses[0]).status == 200)
                    let figures = try await Self.metrics(server)
                    #expect(figures["ledger_ready"] == 0)
                    #expect(figures["ledger_not_ready", ["reason": reason]] == 1)
                    #expect(figures.sum("ledger_not_ready") == 1)
                }
                store.setStanding(StoreStanding())
                #expect(try await Self.get("/health/ready", from: server.httpAddresses[0]).status == 200)
            }
        }

        @Test(arguments: [
            (StandbyStanding.State.following, Int64?(0), [String]()), (.following, 31_000, ["behind"]),
            (.following, nil, ["behind"]), (.connecting, 0, ["not_following"]), (.stopped, nil, ["not_following"]),
        ])
        func aStandbyIsReadyWhereItHasWhatItsLeaderHas(
            state: StandbyStanding.State, milliseconds: Int64?, reasons: [String]
        ) async throws {
            let standby = StandbyStanding(
                leader: "leader:7117", state: state, reason: nil, block: 7, leaderBlock: 9,
                millisecondsBehind: milliseconds)
            try await TestServer.run(listenMetrics: Self.local, standby: standby) { server in
                let page = try await Self.get("/health/ready", from: server.metricsAddresses[0])
                #expect(page.status == (reasons.isEmpty ? 200 : 503) && !page.body.contains("leader:7117"))
                for reason in reasons { #expect(page.body.contains("\"\(reason)\"")) }
                let figures = try await Self.metrics(server)
                #expect(figures["ledger_behind_blocks"] == 2)
                #expect(figures["ledger_follows"] == (state == .following ? 1 : 0))
                #expect(figures["ledger_behind_seconds"] == milliseconds.map { Double($0) / 1_000 })
            }
        }

        @Test func aDiskWithoutRoomIsNotReady() async throws {
            let folder = FileManager.default.temporaryDirectory.path
            try await TestServer.run(
                listenMetrics: Self.local, folder: folder, limits: { $0.readyDiskBytes = .max }
            ) { server in
                let page = try await Self.get("/health/ready", from: server.metricsAddresses[0])
                #expect(page.status == 503 && page.body.contains("[\"disk_full\"]"))
                let figures = try await Self.metrics(server)
                #expect(figures["ledger_disk_free_bytes"] ?? 0 > 0)
                #expect(figures["ledger_disk_size_bytes"] ?? 0 >= figures["ledger_disk_free_bytes"] ?? 0)
            }
        }

        @Test func oneLedgerOfSeveralThatFailsTakesNotTheOthersAway() {
            #expect(Readiness(ledgers: [[]], isShuttingDown: false).isReady)
            #expect(!Readiness(ledgers: [[.diskFull]], isShuttingDown: false).isReady)
            let some = Readiness(ledgers: [[.logFailing, .diskFull], []], isShuttingDown: false)
            #expect(some.isReady && some.reasons == [.logFailing, .diskFull])
            #expect(!Readiness(ledgers: [[.opening], []], isShuttingDown: false).isReady)
            #expect(!Readiness(ledgers: [[.logFailing], [.failed]], isShuttingDown: false).isReady)
            let ending = Readiness(ledgers: [[]], isShuttingDown: true)
            #expect(!ending.isReady && ending.reasons == [.shuttingDown])
        }

        // MARK: TLS

        @Test(.enabled(if: TestAuthority.hasCommand, "openssl is not installed"))
        func whoWatchesFromElsewhereHasACertificate() async throws {
            let authority = try TestAuthority()
            try authority.issue("server", name: "server")
            try authority.issue("prometheus", name: "prometheus")
            let tls = ServerConfiguration.TLS {
                ServerConfiguration.TLS.Files(
                    certificate: try authority.bytes("server.pem"), key: try authority.bytes("server.key"),
                    clientAuthorities: try authority.bytes("ca.pem"))
            }
            let tokens = [Token(token: "g", role: .game)]
            try await TestServer.run(
                listenMetrics: [.tcp(host: "0.0.0.0", port: 0)], tokens: tokens, tls: tls
            ) { server in
                guard case .tcp(_, let port) = server.metricsAddresses[0] else { return }
                let address = ServerAddress.tcp(host: "127.0.0.1", port: port)
                let client = try await TLSClient(
                    address, authority: authority.bytes("ca.pem"), certificate: authority.bytes("prometheus.pem"),
                    key: authority.bytes("prometheus.key"))
                client.send("GET /metrics HTTP/1.1\r\nHost: ledger.example:9117\r\n\r\n")
                #expect(try await client.lines(1)[0].hasPrefix("HTTP/1.1 200"))
                let stranger = try? await TLSClient(address, authority: authority.bytes("ca.pem"))
                stranger?.send("GET /metrics HTTP/1.1\r\nHost: ledger.example:9117\r\n\r\n")
                #expect(try await eventually { stranger?.isEnded ?? true })
            }
        }
    }
}
