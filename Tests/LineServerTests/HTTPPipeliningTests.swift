import Foundation
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// Requests of HTTP that are sent behind one that is not answered yet.
    @Suite struct HTTPPipelining {
        private static let local = ServerAddress.tcp(host: "127.0.0.1", port: 0)

        private func serve(
            store: FaultyStore = FaultyStore(), at address: ServerAddress = local,
            limits: (inout ServerLimits) -> Void = { _ in },
            _ body: (TestServer, HTTPClient) async throws -> Void
        ) async throws {
            try await TestServer.run(store: store, listenHTTP: [address], limits: limits) { server in
                // The server ends only then, also where something in `body` fails.
                defer { store.release() }
                try await body(server, try await server.connectHTTP())
            }
        }

        /// Has the ledger keep a request, which is the first of `client`.
        private func holdFirst(_ client: HTTPClient, _ store: FaultyStore) async throws {
            store.hold()
            try await client.send(HTTPClient.rpc(Requests.grant("first", "p", 1, id: "0")))
            #expect(try await eventually { store.waiting == 1 })
        }

        /// Sends as much as the server takes, until it has taken none for half a second; gives how much.
        private static func sendAhead(_ bytes: [UInt8], _ client: HTTPClient) async throws -> Int {
            var (sent, quiet) = (0, 0)
            while sent < bytes.count && quiet < 50 {
                let count = client.raw.sendWithoutWaiting(Array(bytes[sent..<min(sent + 65_536, bytes.count)]))
                sent += count
                quiet = count == 0 ? quiet + 1 : 0
                if count == 0 { try await Task.sleep(for: .milliseconds(10)) }
            }
            return sent
        }

        private static func sendAll(_ bytes: ArraySlice<UInt8>, _ client: HTTPClient) async throws {
            try await client.raw.send(Array(bytes))
            client.raw.closeOutput()
        }

        /// Reads so many responses, each to the request of its number, and the end of the connection.
        private static func expectAnswers(_ numbers: Range<Int>, _ client: HTTPClient) async throws {
            for number in numbers {
                let response = try #require(try await client.response(), "the answer to \(number)")
                try #require(response.status == 200 && response.json.id == number, "\(number): \(response)")
            }
            #expect(try await client.response() == nil)
        }

        // MARK: To the last one

        /// Over a Unix-domain socket all of it has come when the client closes its side.
        @Test(arguments: [(isUnix: true, count: 1_200), (isUnix: false, count: 3_000)])
        func allThatAClientSendsBeforeItClosesItsSideIsAnsweredInOrder(isUnix: Bool, count: Int) async throws {
            let path = "\(NSTemporaryDirectory())pipelining-\(UUID().uuidString.prefix(8))"
            let store = FaultyStore()
            try await serve(store: store, at: isUnix ? .unix(path: path) : Self.local) { _, client in
                try await holdFirst(client, store)
                let pings = Array((1...count).map { HTTPClient.rpc(Requests.ping($0)) }.joined().utf8)
                let sent = try await Self.sendAhead(pings, client)
                #expect(!isUnix || sent == pings.count, "only \(sent) of \(pings.count) bytes were taken")
                if sent == pings.count {
                    client.raw.closeOutput()
                    // It is seen that the side is closed before anything is answered.
                    try await Task.sleep(for: .milliseconds(50))
                }
                store.release()
                async let sending: Void = Self.sendAll(pings[sent...], client)
                try await Self.expectAnswers(0..<count + 1, client)
                try await sending
            }
        }

        /// They ask for pages, which nobody waits for: a thousand of them come with one reading.
        @Test func allThatABrowserSendsBeforeItClosesItsSideIsAnsweredInOrder() async throws {
            try await TestServer.run(listenConsole: [Self.local], tokens: [Token(token: "f", role: .finance)]) {
                server in
                let browser = ConsoleBrowser(address: server.consoleAddresses[0])
                let client = HTTPClient(try await RawClient(browser.address))
                let asked = (0..<3_000).map { "/statement?account=player-\($0)" }
                let requests = asked.map { browser.head("GET", $0, from: nil, bytes: 0) }.joined()
                async let sending: Void = Self.sendAll(Array(requests.utf8)[...], client)
                for target in asked {
                    let page = try await ConsoleBrowser.page(of: client.raw)
                    // The form remembers what was asked for.
                    try #require(page.status == 401 && page.body.contains("value=\"\(target)\""), "\(target)")
                }
                #expect(try await client.raw.line() == nil)
                try await sending
            }
        }

        @Test func longBodiesBehindEachOtherAreReadToTheLastByte() async throws {
            let store = FaultyStore()
            try await serve(store: store) { _, client in
                try await holdFirst(client, store)
                let room = String(repeating: " ", count: 300_000)
                let requests = (1...4).map { HTTPClient.rpc(Requests.ping($0) + room) }.joined()
                store.release()
                async let sending: Void = Self.sendAll(Array(requests.utf8)[...], client)
                try await Self.expectAnswers(0..<5, client)
                try await sending
            }
        }

        // MARK: Pieces

        /// Each round has the ends of pieces one byte further on in all requests but the first.
        @Test func aRequestMayComeInPiecesThatEndAnywhere() async throws {
            let pieceBytes = 64
            let store = FaultyStore()
            try await serve(store: store, limits: { $0.pieceBytesMax = pieceBytes }) { _, client in
                for round in 0..<pieceBytes {
                    let first = HTTPClient.rpc(Requests.ping(1) + String(repeating: " ", count: round))
                    let chunks = Requests.grant("k\(round)", "p", 1, id: "2").map { HTTPClient.chunk(String($0)) }
                    let second = HTTPClient.chunked("/v1/rpc") + chunks.joined() + "0\r\nTrailer: t\r\n\r\n"
                    try await client.send(
                        first + second + HTTPClient.rpc(Requests.balance("p", id: "3"))
                            + HTTPClient.request("/nowhere", "a body that is dropped")
                            + HTTPClient.request("/health/live", "", method: "GET", headers: []))
                    for id in 1...3 {
                        let response = try #require(try await client.response())
                        try #require(response.status == 200 && response.json.id == id, "round \(round)")
                        if id == 3 {
                            #expect(response.json.result["balances"]["gems"]["available"].int == round + 1)
                        }
                    }
                    try #require(try await client.response()?.status == 404)
                    try #require(try await client.response()?.status == 200)
                }
            }
        }

        // MARK: What it holds

        /// - Parameter isAnswered: whether what it sends is answered, and its client reads nothing of that.
        @Test(arguments: [false, true])
        func whoSendsOnWithoutEndIsHeldBackAndLosesNothing(isAnswered: Bool) async throws {
            let store = FaultyStore()
            try await serve(store: store) { server, _ in
                let client = HTTPClient(try await RawClient(server.httpAddresses[0], receiveBufferBytes: 4_096))
                if isAnswered {
                    try await client.send(HTTPClient.rpc(Requests.ping(0)))
                } else {
                    try await holdFirst(client, store)
                }
                // What the kernel's buffers of both sides may take, and more than the server may.
                let kernelBytesMax = 24 << 20
                let room = String(repeating: " ", count: 4_096)
                var requests: [UInt8] = []
                var count = 0
                while requests.count < kernelBytesMax {
                    count += 1
                    requests += Array(HTTPClient.rpc(Requests.ping(count) + room).utf8)
                }
                let sent = try await Self.sendAhead(requests, client)
                #expect(sent < requests.count, "the server took \(sent) bytes and would have taken more")
                store.release()
                async let sending: Void = Self.sendAll(requests[sent...], client)
                try await Self.expectAnswers(0..<count + 1, client)
                try await sending
            }
        }

        @Test func whatWaitsBehindARequestIsNotItsClientsSlowness() async throws {
            let store = FaultyStore()
            try await serve(store: store, limits: { $0.requestMilliseconds = 100 }) { _, client in
                try await holdFirst(client, store)
                // The head and a part of the body come with the first piece.
                let long = HTTPClient.rpc(Requests.ping(1) + String(repeating: " ", count: 60_000))
                try await client.send(long + HTTPClient.rpc(Requests.ping(2)))
                try await Task.sleep(for: .milliseconds(300))
                store.release()
                client.raw.closeOutput()
                try await Self.expectAnswers(0..<3, client)
            }
        }

        // MARK: Waits

        @Test func whoClosesItsSideBehindAWaitIsAnsweredAtOnce() async throws {
            try await serve { _, client in
                // Each would wait three times as long as this client does.
                let waits = (0..<2).map { HTTPClient.rpc(Requests.journal(after: 0, wait: 30_000, id: "\($0)")) }
                let pings = (2..<100).map { HTTPClient.rpc(Requests.ping($0)) }
                try await client.send(waits.joined() + pings.joined())
                client.raw.closeOutput()
                try await Self.expectAnswers(0..<100, client)
            }
        }

        @Test(.enabled(if: TestAuthority.hasCommand, "openssl is not installed"))
        func soIsWhoClosesItsSideInTLS() async throws {
            let authority = try TestAuthority()
            try authority.issue("server", name: "server")
            let tls = ServerConfiguration.TLS {
                ServerConfiguration.TLS.Files(
                    certificate: try authority.bytes("server.pem"), key: try authority.bytes("server.key"),
                    clientAuthorities: nil)
            }
            try await TestServer.run(listenHTTP: [Self.local], tls: tls) { server in
                let client = try await TLSClient(server.httpAddresses[0], authority: authority.bytes("ca.pem"))
                client.send(HTTPClient.rpc(Requests.journal(after: 0, wait: 30_000, id: "0")))
                for number in 1...20 { client.send(HTTPClient.rpc(Requests.ping(number))) }
                try await client.closeOutput()
                let text = try await client.text { $0.contains("\"id\":20") }
                let ids = text.matches(of: /"id":(\d+)/).map { Int($0.1) }
                #expect(ids == Array(0...20), "\(text)")
                #expect(try await eventually { client.isEnded })
                try await client.close()
            }
        }
    }
}
