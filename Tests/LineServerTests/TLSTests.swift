import Foundation
import LedgerClient
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LineServer

extension ServerTests {
    /// The same service behind TLS. The certificates are made by OpenSSL's command: without it these are skipped.
    @Suite(.enabled(if: TestAuthority.hasCommand, "openssl is not installed")) struct TLSConnections {
        private static let tokens: [Token] = [.init(token: "the admin's token", role: .admin)]

        private static func tls(
            _ authority: TestAuthority, server: String = "server", isMutual: Bool = false
        ) -> ServerConfiguration.TLS {
            ServerConfiguration.TLS {
                ServerConfiguration.TLS.Files(
                    certificate: try authority.bytes("\(server).pem"), key: try authority.bytes("\(server).key"),
                    clientAuthorities: isMutual ? try authority.bytes("ca.pem") : nil)
            }
        }

        /// Tokens, and clients that are known by a name in their certificates.
        private static func tokens(_ clients: (name: String, certificate: String, role: Roles)...) -> [Token] {
            tokens
                + clients.map { Token(name: $0.name, roles: $0.role, digests: [], certificates: [$0.certificate]) }
        }

        private static func authority() throws -> TestAuthority {
            let authority = try TestAuthority()
            try authority.issue("server", name: "server")
            return authority
        }

        // MARK: The protocol, as without TLS

        @Test func requestsArePipelinedAndAnsweredAlsoAfterTheClientHasClosedItsSide() async throws {
            let authority = try Self.authority()
            try await TestServer.run(tls: Self.tls(authority)) { server in
                let client = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                let requests = (1...5_000).map {
                    $0 % 5 == 0 ? Requests.grant("k\($0)", "a", 1, id: "\($0)") : Requests.ping($0)
                }
                client.send(requests.joined(separator: "\n") + "\n")
                try await client.closeOutput()
                let replies = try await client.lines(5_000).map { try JSON($0) }
                #expect(replies.map(\.id) == Array(1...5_000))
                #expect(replies.allSatisfy { $0.reason == nil })
                #expect(try await eventually { client.isEnded })
            }
        }

        @Test func itSpeaksHTTPWithTheSameCertificates() async throws {
            let authority = try Self.authority()
            try authority.issue("client", name: "game-1")
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)],
                tokens: Self.tokens(("game", certificate: "game-1", role: Roles(.game))),
                tls: Self.tls(authority, isMutual: true)
            ) { server in
                let client = try await TLSClient(
                    server.httpAddresses[0], authority: authority.bytes("ca.pem"),
                    certificate: authority.bytes("client.pem"), key: authority.bytes("client.key"))
                // The certificate says who it is, where no token does; then a token, and the certificate again.
                client.send(HTTPClient.rpc(Requests.grant("k", "p", 4)))
                client.send(HTTPClient.rpc(Requests.report("trial"), token: "the admin's token"))
                client.send(HTTPClient.rpc(Requests.report("trial")))
                let replies = try await client.lines(18).filter { $0.hasPrefix("{") }.map { try JSON($0) }
                #expect(replies[0].result["balances"]["gems"]["available"].int == 4)
                #expect(replies[1].result["rows"].exists)
                #expect(replies[2].reason == "forbidden")

                let plain = HTTPClient(try await RawClient(server.httpAddresses[0]))
                #expect(try await plain.ask(HTTPClient.rpc(Requests.ping(1))).status == 400)
            }
        }

        @Test func aRequestOverHTTPNeedsAPlaceUnderTheNameOfItsCertificateOrOfItsToken() async throws {
            let authority = try Self.authority()
            try authority.issue("client", name: "game-1")
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)],
                tokens: Self.tokens(("game", certificate: "game-1", role: Roles(.game))),
                tls: Self.tls(authority, isMutual: true), limits: { $0.connectionsPerNameMax = 1 }
            ) { server in
                func connect() async throws -> TLSClient {
                    try await TLSClient(
                        server.httpAddresses[0], authority: authority.bytes("ca.pem"),
                        certificate: authority.bytes("client.pem"), key: authority.bytes("client.key"))
                }
                let first = try await connect()
                first.send(HTTPClient.rpc(Requests.grant("k", "p", 4)))
                #expect(try await first.lines(1).first?.hasPrefix("HTTP/1.1 200 ") == true)
                let second = try await connect()
                second.send(HTTPClient.rpc(Requests.grant("l", "p", 4)))
                #expect(try await second.lines(1).first?.hasPrefix("HTTP/1.1 503 ") == true)
                let third = try await connect()
                third.send(HTTPClient.rpc(Requests.report("trial"), token: "the admin's token"))
                #expect(try await third.lines(1).first?.hasPrefix("HTTP/1.1 200 ") == true)
            }
        }

        @Test func whoSpeaksHTTPNeedsACertificateOnlyWhereThatIsSaid() async throws {
            let authority = try Self.authority()
            for needed in [true, false] {
                let logs = LogCapture()
                try await TestServer.run(
                    listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], tokens: Self.tokens,
                    tls: Self.tls(authority, isMutual: true), needsCertificatesOverHTTP: needed, logs: logs
                ) { server in
                    let poster = try await TLSClient(server.httpAddresses[0], authority: authority.bytes("ca.pem"))
                    poster.send(HTTPClient.request("/app-store/notifications", "{}"))
                    let head = try await poster.lines(1)
                    #expect(head.prefix(1) == (needed ? [] : ["HTTP/1.1 200 OK\r"]))
                    // Others need one either way.
                    let client = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                    client.send(Requests.ping(1) + "\n")
                    #expect(try await client.lines(1) == [])
                }
                let warned = logs.lines.contains { $0.hasPrefix("the App Store cannot post notifications here") }
                #expect(warned == needed)
            }
        }

        @Test func aWaiterThatClosesItsSideIsAnsweredAtOnce() async throws {
            let authority = try Self.authority()
            try await TestServer.run(tls: Self.tls(authority)) { server in
                let client = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                client.send(Requests.ping(1) + "\n" + Requests.journal(after: 0, wait: 30_000, id: "2") + "\n")
                #expect(try await client.lines(1).map { try JSON($0).id } == [1])
                try await client.closeOutput()
                #expect(try await client.lines(1).map { try JSON($0).id } == [2])
                #expect(try await eventually { client.isEnded })
            }
        }

        @Test func aShutdownAnswersWhatWasAcceptedAndSaysGoodbye() async throws {
            let authority = try Self.authority()
            let store = FaultyStore()
            try await TestServer.run(store: store, tls: Self.tls(authority)) { server in
                let client = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                store.hold()
                client.send((1...50).map { Requests.grant("k\($0)", "a", 1, id: "\($0)") + "\n" }.joined())
                #expect(try await eventually { store.waiting == 1 })
                await server.shutDown()
                try await Task.sleep(for: .milliseconds(50))
                store.release()
                let replies = try await client.lines(50).map { try JSON($0) }
                #expect(replies.map(\.id) == Array(1...50))
                #expect(try await eventually { client.isEnded })
            }
        }

        @Test func aClientThatDoesNotReadIsNotReadFrom() async throws {
            let authority = try Self.authority()
            try await TestServer.run(tls: Self.tls(authority)) { server in
                let client = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                #expect(try await client.ask([Requests.ping(0)]).map(\.id) == [0])
                try await client.setReading(false)
                var (sent, bytes, quiet) = (0, 0, 0)
                while quiet < 50 && bytes < 72 << 20 {
                    if client.isWritable {
                        let lines = (1...500).map { Requests.ping(sent + $0) + "\n" }.joined()
                        client.send(lines)
                        (sent, bytes, quiet) = (sent + 500, bytes + lines.utf8.count, 0)
                    } else {
                        quiet += 1
                        try await Task.sleep(for: .milliseconds(10))
                    }
                }
                #expect(bytes < 72 << 20, "the server took \(bytes) bytes and would have taken more")
                try await client.setReading(true)
                var replies: [String] = []
                _ = try await eventually {
                    replies += try await client.lines(1)
                    return replies.count >= sent
                }
                let ids = try replies.map { try JSON($0).id }
                #expect(ids == Array(1...sent))
            }
        }

        @Test func aLineOfAMebibyteComesWhole() async throws {
            let authority = try Self.authority()
            try await TestServer.run(tls: Self.tls(authority)) { server in
                let client = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                let padding = String(repeating: " ", count: WireLimits.lineBytesMax - 200)
                #expect(try await client.ask([Requests.ping(1) + padding]).map(\.id) == [1])
                #expect(try await client.ask([padding + padding]).map(\.reason) == ["line_too_long"])
                #expect(try await eventually { client.isEnded })
            }
        }

        // MARK: Who comes without

        @Test func plaintextIsToldThatTheAddressSpeaksTLS() async throws {
            let authority = try Self.authority()
            let logs = LogCapture()
            try await TestServer.run(tls: Self.tls(authority), logs: logs) { server in
                for text in [Requests.ping(1) + "\n", "GET / HTTP/1.1\r\n\r\n", "\n"] {
                    let client = try await server.connect()
                    try await client.send(text)
                    let told = try JSON(try #require(try await client.line()))
                    #expect(told.reason == "parse_error" && told["error"]["message"].string?.contains("TLS") == true)
                    #expect(try await client.line() == nil)
                }
                let error = await #expect(throws: WireError.self) {
                    try await LedgerClient.connect(to: server.address, token: "a token")
                }
                #expect(error?.message.contains("TLS") == true)
                let said = logs.lines.filter { $0.hasPrefix("connections were closed that do not speak TLS") }
                #expect(said.count == 1 && said[0].contains("peer=127.0.0.1"), "\(logs.lines)")
            }
        }

        @Test(arguments: [[], [22], [22, 3, 1, 2, 0, 1]] as [[UInt8]])
        func aSlowHandshakeIsUnauthenticatedTime(beginning: [UInt8]) async throws {
            let authority = try Self.authority()
            try await TestServer.run(
                tokens: Self.tokens, tls: Self.tls(authority), limits: { $0.unauthenticatedMilliseconds = 200 }
            ) { server in
                let slow = try await server.connect()
                try await slow.send(beginning)
                #expect(try await slow.line() == nil, "it is closed")
                // One that shook hands, and says nothing then, is told why.
                let silent = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                #expect(try await silent.lines(1).map { try JSON($0).reason } == ["unauthenticated"])
                #expect(try await eventually { silent.isEnded })
            }
        }

        @Test func whoNeedsNoTokenMustShakeHandsInTimeToo() async throws {
            let authority = try Self.authority()
            try await TestServer.run(tls: Self.tls(authority), limits: { $0.unauthenticatedMilliseconds = 200 }) {
                server in
                let slow = try await server.connect()
                let client = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                #expect(try await client.ask([Requests.ping(1)]).map(\.id) == [1])
                #expect(try await slow.line() == nil, "it is closed")
                #expect(try await client.ask([Requests.ping(2)]).map(\.id) == [2])
            }
        }

        @Test func strangersInTheirHandshakesLockNobodyOut() async throws {
            let authority = try Self.authority()
            try await TestServer.run(
                tokens: Self.tokens, tls: Self.tls(authority),
                limits: {
                    $0.connectionsMax = 12
                    $0.unauthenticatedMax = 6
                    $0.unauthenticatedPerAddressMax = 4
                    $0.refusedConnectionsMax = 2
                }
            ) { server in
                var strangers: [RawClient] = []
                var known: [TLSClient] = []
                for _ in 0..<6 {
                    for _ in 0..<10 {
                        strangers.append(try await server.connect())
                        try await strangers.last?.send([22, 3, 1])
                    }
                    // Where the places are few, strangers that came at the same time may take its place.
                    #expect(
                        try await eventually {
                            let token = Requests.authenticate("the admin's token")
                            guard
                                let client = try? await TLSClient(
                                    server.address, authority: authority.bytes("ca.pem")),
                                let replies = try? await client.ask([token]), replies.map(\.reason) == [nil]
                            else { return false }
                            known.append(client)
                            return true
                        })
                }
                for client in known { #expect(try await client.ask([Requests.balance("a")]).map(\.reason) == [nil]) }
            }
        }

        @Test func unixSocketsSpeakNoTLS() async throws {
            let authority = try Self.authority()
            let path = authority.path("s")
            try await TestServer.run(
                listen: [.unix(path: path), .tcp(host: "127.0.0.1", port: 0)], tls: Self.tls(authority)
            ) { server in
                #expect(try await RawClient(server.addresses[0]).ask(Requests.ping(1)).id == 1)
                let client = try await TLSClient(server.addresses[1], authority: authority.bytes("ca.pem"))
                #expect(try await client.ask([Requests.ping(2)]).map(\.id) == [2])
            }
        }

        // MARK: Versions and ciphers, by OpenSSL's client

        @Test func oldVersionsAreRefusedAndNewOnesAreNot() async throws {
            let authority = try Self.authority()
            let logs = LogCapture()
            try await TestServer.run(tls: Self.tls(authority), logs: logs) { server in
                for version in ["-tls1", "-tls1_1"] {
                    let refused = try await OpenSSLClient.run(
                        server.address, [version, "-cipher", "ALL:@SECLEVEL=0"], input: Requests.ping(1) + "\n")
                    #expect(!refused.isConnected && refused.output.contains("alert protocol version"), "\(refused)")
                }
                #expect(
                    logs.lines.contains { $0.contains("did not come to terms") && $0.contains("UNSUPPORTED_PROTOCOL") })
                for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
                    let served = try await OpenSSLClient.run(
                        server.address, [version, "-CAfile", authority.authority, "-verify_return_error"],
                        input: Requests.ping(7) + "\n")
                    #expect(served.isConnected && served.output.contains(name), "\(served)")
                    #expect(served.output.contains(#""id":7"#), "\(served)")
                    #expect(served.output.contains("Compression: NONE"), "\(served)")
                }
            }
        }

        @Test func weakCiphersAreRefused() async throws {
            let authority = try Self.authority()
            try await TestServer.run(tls: Self.tls(authority)) { server in
                for cipher in [
                    "eNULL", "aNULL", "3DES", "RC4", "EXPORT", "AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA",
                    "ECDHE-ECDSA-AES256-SHA384", "DHE", "PSK",
                ] {
                    let refused = try await OpenSSLClient.run(
                        server.address, ["-tls1_2", "-cipher", "\(cipher):@SECLEVEL=0"])
                    #expect(!refused.isConnected, "\(cipher): \(refused)")
                }
                for cipher in ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"] {
                    let served = try await OpenSSLClient.run(server.address, ["-tls1_2", "-cipher", cipher])
                    #expect(served.isConnected && served.output.contains(cipher), "\(served)")
                }
            }
        }

        @Test func aClientCannotRenegotiate() async throws {
            let authority = try Self.authority()
            try await TestServer.run(tls: Self.tls(authority)) { server in
                // A line of R alone has OpenSSL's client ask for it.
                let refused = try await OpenSSLClient.run(server.address, ["-tls1_2"], input: "R\n")
                #expect(refused.isConnected && refused.output.contains("RENEGOTIATING"), "\(refused)")
                #expect(
                    refused.output.contains(/unexpected eof|no renegotiation/), "it ends the connection: \(refused)")
            }
        }

        // MARK: Clients with certificates

        @Test func clientsNeedACertificateOfTheAuthority() async throws {
            let authority = try Self.authority()
            try authority.issue("client", name: "game-1")
            try authority.issue("expired", name: "game-1", days: -1)
            let foreign = try TestAuthority()
            try foreign.issue("client", name: "game-1")
            try await TestServer.run(
                tokens: Self.tokens(("eu-1", "game-1", .game)), tls: Self.tls(authority, isMutual: true)
            ) { server in
                for version in ["-tls1_2", "-tls1_3"] {
                    func ask(_ more: [String]) async throws -> String {
                        try await OpenSSLClient.run(
                            server.address, [version, "-CAfile", authority.authority] + more,
                            input: Requests.ping(7) + "\n" + Requests.balance("a", id: "8") + "\n"
                        ).output
                    }
                    for (certificate, key) in [
                        (authority.path("expired.pem"), authority.path("expired.key")),
                        (foreign.path("client.pem"), foreign.path("client.key")),
                    ] {
                        let refused = try await ask(["-cert", certificate, "-key", key])
                        #expect(!refused.contains(#""id":7"#) && refused.contains("alert"), "\(refused)")
                    }
                    let without = try await ask([])
                    #expect(!without.contains(#""id":7"#) && without.contains("alert"), "\(without)")
                    let served = try await ask(
                        ["-cert", authority.path("client.pem"), "-key", authority.path("client.key")])
                    #expect(served.contains(#""id":7"#) && served.contains(#""id":8,"result""#), "\(served)")
                }
            }
        }

        @Test func aSessionThatIsResumedKeepsWhoItWas() async throws {
            let authority = try Self.authority()
            try authority.issue("client", name: "game-1")
            try await TestServer.run(
                tokens: Self.tokens(("eu-1", "game-1", .game)), tls: Self.tls(authority, isMutual: true)
            ) { server in
                for version in ["-tls1_2", "-tls1_3"] {
                    let session = authority.path("session\(version)")
                    let client = [
                        version, "-cert", authority.path("client.pem"), "-key", authority.path("client.key"),
                    ]
                    for more in [["-sess_out", session], ["-sess_in", session]] {
                        let served = try await OpenSSLClient.run(
                            server.address, client + more, input: Requests.balance("a", id: "8") + "\n")
                        #expect(served.output.contains(#""id":8,"result""#), "\(version) \(more): \(served)")
                    }
                }
            }
        }

        @Test func aNameOfTheCertificateGivesItsRoleAndIsTheActor() async throws {
            let authority = try Self.authority()
            try authority.issue("game", name: "game-1", alternatives: nil)
            try authority.issue("books", name: "nobody", alternatives: "DNS:books.example,DNS:other.example")
            try authority.issue("unknown", name: "stranger", alternatives: "DNS:game-2")
            try await TestServer.run(
                tokens: Self.tokens(("eu-1", "game-1", .game), ("books", "books.example", .finance)),
                tls: Self.tls(authority, isMutual: true)
            ) { server in
                func connect(_ name: String) async throws -> TLSClient {
                    try await TLSClient(
                        server.address, authority: authority.bytes("ca.pem"),
                        certificate: authority.bytes("\(name).pem"),
                        key: authority.bytes("\(name).key"))
                }
                let game = try await connect("game")
                #expect(
                    try await game.ask([Requests.grant("g", "a", 5), Requests.report("trial")]).map(\.reason)
                        == [nil, "forbidden"])
                let books = try await connect("books")
                let replies = try await books.ask([Requests.history("a"), Requests.grant("h", "a", 5)])
                #expect(replies[0].result["entries"][0]["actor"].string == "eu-1", "\(replies[0])")
                #expect(replies[1].reason == "forbidden")
                let unknown = try await connect("unknown")
                let token = try await unknown.ask([
                    Requests.balance("a"), Requests.authenticate("the admin's token"), Requests.balance("a"),
                ])
                #expect(token.map(\.reason) == ["unauthenticated", nil, nil])
                // A name that is taken away opens nothing any more, on connections that are open too.
                server.lines.reload(tokens: Self.tokens(("books", "books.example", .finance)))
                #expect(try await game.ask([Requests.balance("a")]).map(\.reason) == ["unauthenticated"])
                #expect(try await books.ask([Requests.history("a")]).map(\.reason) == [nil])
            }
        }

        // MARK: Certificates

        @Test func newCertificatesAreForNewConnectionsAndBadOnesForNobody() async throws {
            let authority = try Self.authority()
            let logs = LogCapture()
            try await TestServer.run(tls: Self.tls(authority), logs: logs) { server in
                func serial() async throws -> String? {
                    let shown = try await OpenSSLClient.run(server.address, ["-showcerts"])
                    return shown.output.firstMatch(of: /(?s)-----BEGIN CERTIFICATE-----.*?-----END/).map {
                        String($0.0)
                    }
                }
                let old = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                let first = try await serial()
                try authority.issue("server", name: "server, renewed")
                #expect(try await serial() == first, "nothing changes by itself")
                server.lines.reload(tokens: [])
                let second = try await serial()
                #expect(second != nil && second != first)
                #expect(try await old.ask([Requests.ping(1)]).map(\.id) == [1])
                for (file, text) in [("server.pem", "no certificate"), ("server.key", "no key")] {
                    let good = try authority.bytes(file)
                    try Data(text.utf8).write(to: URL(fileURLWithPath: authority.path(file)))
                    server.lines.reload(tokens: [])
                    try Data(good).write(to: URL(fileURLWithPath: authority.path(file)))
                    #expect(try await serial() == second)
                }
                try FileManager.default.removeItem(atPath: authority.path("server.key"))
                server.lines.reload(tokens: [])
                #expect(try await serial() == second)
                let refused = logs.lines.filter { $0.hasPrefix("what was read again cannot be used") }
                #expect(refused.count == 3 && refused[0].contains("tls.certificate"), "\(refused)")
                #expect(
                    logs.lines.contains { $0.contains(/^the certificates for TLS were read again daysLeft=(29|30)$/) })
                #expect(try await old.ask([Requests.ping(2)]).map(\.id) == [2])
            }
        }

        @Test func tokensAndCertificatesAreReplacedTogetherOrNotAtAll() async throws {
            let authority = try Self.authority()
            let other = try TestAuthority()
            try other.issue("server", name: "server")
            let (old, new) = (Token(token: "old", role: .game), Token(token: "new", role: .game))
            let logs = LogCapture()
            try await TestServer.run(tokens: [old], tls: Self.tls(authority), logs: logs) { server in
                func reason(_ authority: TestAuthority, _ token: String) async throws -> String? {
                    let client = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                    return try await client.ask([Requests.authenticate(token)])[0].reason
                }
                let client = try await TLSClient(server.address, authority: authority.bytes("ca.pem"))
                _ = try await client.ask([Requests.authenticate("old")])
                // Good tokens, with certificates that are not there.
                server.lines.reload { server.lines.renewal([new], Self.tls(authority, server: "none")) }
                #expect(try await reason(authority, "new") == "unauthenticated")
                #expect(try await reason(authority, "old") == nil)
                // Good certificates, with settings that do not fit or cannot be read; and the other way round.
                server.lines.reload {
                    ServerConfiguration.Renewal(access: .everyoneOnThisMachine, tls: Self.tls(other))
                }
                server.lines.reload { ServerConfiguration.Renewal(access: .tokens([new]), tls: nil) }
                server.lines.reload(failing: CocoaError(.fileReadNoSuchFile))
                #expect(try await reason(authority, "old") == nil)
                #expect(try await client.ask([Requests.balance("a")]).map(\.reason) == [nil])
                #expect(logs.lines.count { $0.hasPrefix("what was read again cannot be used") } == 4)
                #expect(!logs.lines.contains { $0.contains("were read again") })
                // Both, from other files than at the start.
                server.lines.reload { server.lines.renewal([new], Self.tls(other)) }
                #expect(try await reason(other, "new") == nil)
                #expect(try await reason(other, "old") == "unauthenticated")
                #expect(try await client.ask([Requests.balance("a")]).map(\.reason) == ["unauthenticated"])
                #expect(logs.lines.count { $0.contains("were read again") } == 2)
            }
        }

        /// A service has all that was read anew while a client is connected to it, and before that shakes hands.
        private static func reload(
            _ server: TestServer, _ tokens: [Token], _ tls: ServerConfiguration.TLS, beforeHandshakeOf client: String?,
            of authority: TestAuthority
        ) async throws -> TLSClient {
            func bytes(_ suffix: String) throws -> [UInt8]? { try client.map { try authority.bytes($0 + suffix) } }
            return try await TLSClient(
                server.address, authority: authority.bytes("ca.pem"), certificate: bytes(".pem"), key: bytes(".key")
            ) {
                // Connections are accepted in their order: when these are answered, it was.
                for number in 0..<4 {
                    let later = try await TLSClient(
                        server.address, authority: authority.bytes("ca.pem"), certificate: bytes(".pem"),
                        key: bytes(".key"))
                    #expect(try await later.ask([Requests.ping(number)]).map(\.id) == [number])
                }
                server.lines.reload { server.lines.renewal(tokens, tls) }
            }
        }

        @Test func aHandshakeGoesOnAlsoWhereTokensAndCertificatesAreReplaced() async throws {
            let (authority, other) = (try Self.authority(), try TestAuthority())
            try other.issue("server", name: "server")
            try await TestServer.run(tokens: Self.tokens, tls: Self.tls(authority)) { server in
                let new = Token(token: "new", role: .admin)
                let client = try await Self.reload(
                    server, [new], Self.tls(other), beforeHandshakeOf: nil, of: authority)
                let replies = try await client.ask([
                    Requests.authenticate("the admin's token"), Requests.authenticate("new"), Requests.balance("a"),
                ])
                #expect(replies.map(\.reason) == ["unauthenticated", nil, nil])
            }
        }

        @Test func whoShakesHandsWhileTheTokensAreReplacedIsKnownByItsCertificate() async throws {
            let authority = try Self.authority()
            try authority.issue("game", name: "game-1")
            let tls = Self.tls(authority, isMutual: true)
            try await TestServer.run(tokens: Self.tokens(("old", "game-1", .game)), tls: tls) { server in
                // One more authority takes nothing from those of the first.
                let wider = ServerConfiguration.TLS {
                    var files = try tls.read()
                    files.clientAuthorities? += try TestAuthority().bytes("ca.pem")
                    return files
                }
                let client = try await Self.reload(
                    server, Self.tokens(("new", "game-1", .game)), wider, beforeHandshakeOf: "game", of: authority)
                #expect(try await client.ask([Requests.grant("g", "a", 5)]).map(\.reason) == [nil])
                let admin = try await TLSClient(
                    server.address, authority: authority.bytes("ca.pem"), certificate: authority.bytes("game.pem"),
                    key: authority.bytes("game.key"))
                let history = try await admin.ask([
                    Requests.authenticate("the admin's token"), Requests.history("a"),
                ])
                #expect(history[1].result["entries"][0]["actor"].string == "new", "\(history)")
            }
        }

        /// A server's list of authorities has 64 KiB at most: a longer one would end every handshake.
        @Test func authoritiesWhoseNamesAreTooLongForTheListAreBelievedAllTheSame() async throws {
            let unit = String(repeating: "u", count: 64)
            let authority = try TestAuthority(subject: "/CN=a" + String(repeating: "/OU=\(unit)", count: 1_000))
            try authority.issue("server", name: "server")
            try authority.issue("game", name: "game-1")
            let tokens = Self.tokens(("game", "game-1", .game))
            try await TestServer.run(tokens: tokens, tls: Self.tls(authority, isMutual: true)) { server in
                let client = try await TLSClient(
                    server.address, authority: authority.bytes("ca.pem"), certificate: authority.bytes("game.pem"),
                    key: authority.bytes("game.key"))
                #expect(try await client.ask([Requests.grant("g", "a", 5)]).map(\.reason) == [nil])
            }
        }

        /// Its certificate was verified by authorities that hold no more, and says nothing of the names of now.
        @Test func whoShakesHandsWhileTheAuthoritiesAreReplacedIsPutOut() async throws {
            let (authority, other) = (try Self.authority(), try TestAuthority())
            try authority.issue("game", name: "game-1")
            try other.issue("server", name: "server")
            try other.issue("game", name: "game-1")
            let tokens = Self.tokens(("game", "game-1", .game))
            try await TestServer.run(tokens: tokens, tls: Self.tls(authority, isMutual: true)) { server in
                let client = try await Self.reload(
                    server, tokens, Self.tls(other, isMutual: true), beforeHandshakeOf: "game", of: authority)
                client.send(Requests.grant("g", "a", 5) + "\n")
                #expect(try await eventually { client.isEnded })
                let again = try await TLSClient(
                    server.address, authority: other.bytes("ca.pem"), certificate: other.bytes("game.pem"),
                    key: other.bytes("game.key"))
                let granted = try await again.ask([Requests.grant("g", "a", 7)])
                #expect(granted.map(\.reason) == [nil], "the key was not used")
            }
        }

        @Test func aCertificateThatRunsOutIsToldAtTheStartAndAtAReload() async throws {
            let authority = try TestAuthority()
            try authority.issue("short", name: "server", days: 20)
            try authority.issue("long", name: "server", days: 90)
            let logs = LogCapture()
            func warnings() -> [String] {
                logs.lines.filter { $0.hasPrefix("the certificate for TLS runs out soon") }
            }
            try await TestServer.run(tls: Self.tls(authority, server: "short"), logs: logs) { server in
                #expect(warnings().count == 1 && warnings()[0].contains(/daysLeft=(19|20)$/), "\(logs.lines)")
                server.lines.reload(tokens: [])
                #expect(warnings().count == 2)
                server.lines.reload { server.lines.renewal([], Self.tls(authority, server: "long")) }
                #expect(warnings().count == 2)
            }
        }

        @Test func aCertificateThatRunsOutIsToldEveryDay() async throws {
            let authority = try TestAuthority()
            try authority.issue("server", name: "server", days: 20)
            let logs = LogCapture()
            try await TestServer.run(
                tls: Self.tls(authority), logs: logs, limits: { $0.certificateLookMilliseconds = 20 }
            ) { _ in
                let isTold = try await eventually {
                    logs.lines.count { $0.hasPrefix("the certificate for TLS runs out soon") } >= 4
                }
                #expect(isTold)
            }
        }

        @Test func certificatesThatCannotBeUsedAreNamedAtTheStart() async throws {
            let authority = try Self.authority()
            try authority.issue("other", name: "other")
            func failure(_ certificate: String, _ key: String, _ clients: String? = nil) async -> String {
                let tls = ServerConfiguration.TLS {
                    ServerConfiguration.TLS.Files(
                        certificate: try authority.bytes(certificate), key: try authority.bytes(key),
                        clientAuthorities: try clients.map { try authority.bytes($0) })
                }
                let error = #expect(throws: ServerError.self) {
                    try ServerConfiguration(listen: [], access: .everyoneOnThisMachine, tls: tls).checkCertificates()
                }
                #expect(error?.kind == .unusableCertificates)
                return "\(error?.description ?? "")"
            }
            #expect(await failure("server.key", "server.key").hasPrefix("tls.certificate: has no certificate"))
            #expect(await failure("server.pem", "server.pem").hasPrefix("tls.key: has no private key"))
            #expect(await failure("server.pem", "other.key").hasPrefix("tls.key: is not the key"))
            #expect(await failure("server.pem", "server.key", "ca.key").hasPrefix("tls.clientCA: has no certificate"))
            #expect(await failure("none.pem", "server.key").contains("none.pem"))
        }

        // MARK: The client

        @Test func theClientSpeaksTLSAndBelievesOnlyWhomItShould() async throws {
            let authority = try Self.authority()
            try authority.issue("elsewhere", name: "server", alternatives: "DNS:elsewhere.example,IP:127.0.0.9")
            try authority.issue("expired", name: "server", days: -1)
            try authority.issue("client", name: "game-1")
            let foreign = try TestAuthority()
            func connect(_ address: ServerAddress, _ by: TestAuthority, _ client: String? = nil) async throws {
                let tls = try ClientTLS(
                    authorities: by.bytes("ca.pem"), certificate: client.map { try authority.bytes("\($0).pem") },
                    key: client.map { try authority.bytes("\($0).key") })
                let client = try await LedgerClient.connect(
                    to: address, configuration: ClientConfiguration(retryPolicy: .none, tls: tls))
                try await client.ping()
                try await client.close()
            }
            try await TestServer.run(
                listen: [.tcp(host: "127.0.0.1", port: 0), .tcp(host: "localhost", port: 0)], tls: Self.tls(authority)
            ) { server in
                guard case .tcp(_, let port) = server.addresses[1] else { return }
                try await connect(server.address, authority)
                try await connect(.tcp(host: "localhost", port: port), authority)
                let unbelieved = await #expect(throws: ClientError.self) { try await connect(server.address, foreign) }
                #expect("\(unbelieved)".contains("CERTIFICATE_VERIFY_FAILED"), "\(unbelieved)")
            }
            for name in ["elsewhere", "expired"] {
                try await TestServer.run(tls: Self.tls(authority, server: name)) { server in
                    let error = await #expect(throws: ClientError.self) { try await connect(server.address, authority) }
                    let why = name == "expired" ? "CERTIFICATE_VERIFY_FAILED" : "does not name its address"
                    #expect("\(error)".contains("cannot connect") && "\(error)".contains(why), "\(error)")
                }
            }
            try await TestServer.run(tls: Self.tls(authority, isMutual: true)) { server in
                try await connect(server.address, authority, "client")
                await #expect(throws: ClientError.self) { try await connect(server.address, authority) }
            }
            // A server that speaks none.
            try await TestServer.run { server in
                let error = await #expect(throws: ClientError.self) { try await connect(server.address, authority) }
                #expect("\(error)".contains("cannot connect"), "\(error)")
            }
            for (authorities, certificate, key) in [
                ("server.key", nil, nil), ("ca.pem", "client.pem", nil), ("ca.pem", "client.pem", "server.key"),
                ("ca.pem", "client.key", "client.key"), ("ca.pem", "client.pem", "client.pem"),
            ] as [(String, String?, String?)] {
                #expect(throws: ClientTLS.Unusable.self) {
                    try ClientTLS(
                        authorities: authority.bytes(authorities),
                        certificate: certificate.map { try authority.bytes($0) },
                        key: key.map { try authority.bytes($0) })
                }
            }
        }

        /// The authority is replaced while the client has a connection, which is lost later.
        @Test func aClientOfRenewedCertificatesReadsThemForEachConnection() async throws {
            let (former, next) = (try Self.authority(), try Self.authority())
            let believed = NIOLockedValueBox(former)
            var configuration = ClientConfiguration()
            configuration.renewedTLS = {
                try ClientTLS(authorities: try believed.withLockedValue { $0 }.bytes("ca.pem"))
            }
            try await TestServer.run(tls: Self.tls(next)) { second in
                let connected = NIOLockedValueBox<LedgerClient?>(nil)
                try await TestServer.run(tls: Self.tls(former)) { [configuration] first in
                    let client = try await LedgerClient.connect(
                        toAnyOf: [first.address, second.address], configuration: configuration)
                    try await client.ping()
                    connected.withLockedValue { $0 = client }
                }
                believed.withLockedValue { $0 = next }
                let client = try #require(connected.withLockedValue { $0 })
                try await client.ping()
                try await client.close()
            }
        }

        @Test func aServerThatNeverShakesHandsIsGivenUp() async throws {
            let authority = try Self.authority()
            let listener = try await SilentServer()
            let tls = try ClientTLS(authorities: authority.bytes("ca.pem"))
            let error = await #expect(throws: ClientError.self) {
                try await LedgerClient.connect(
                    to: listener.address,
                    configuration: ClientConfiguration(connectTimeoutMilliseconds: 300, tls: tls))
            }
            #expect("\(error)".contains("within 300 ms"), "\(error)")
            try await listener.stop()
        }
    }
}
