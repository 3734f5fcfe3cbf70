import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// The console behind TLS, as other machines have it. The certificates are made by OpenSSL's command: without it
    /// these are skipped.
    @Suite(.enabled(if: TestAuthority.hasCommand, "openssl is not installed")) struct ConsoleTLS {
        private func serve(
            limits: (inout ServerLimits) -> Void = { _ in },
            _ body: (TestServer, ServerAddress, _ authority: [UInt8]) async throws -> Void
        ) async throws {
            let authority = try TestAuthority()
            try authority.issue("server", name: "server")
            let tls = ServerConfiguration.TLS {
                ServerConfiguration.TLS.Files(
                    certificate: try authority.bytes("server.pem"), key: try authority.bytes("server.key"),
                    clientAuthorities: nil)
            }
            try await TestServer.run(
                listenConsole: [.tcp(host: "127.0.0.1", port: 0)], tokens: [Token(token: "f", role: .finance)],
                tls: tls, limits: limits
            ) { server in try await body(server, server.consoleAddresses[0], authority.bytes("ca.pem")) }
        }

        /// A response to the end of its page, which is the end of an element or of the head.
        private static func response(_ client: TLSClient, _ end: String = "</html>\n") async throws -> String {
            try await client.text { $0.hasSuffix(end) }
        }

        /// Signs in, and reads a page over the same connection.
        private static func readAPage(_ address: ServerAddress, _ authority: [UInt8]) async throws {
            let client = try await TLSClient(address, authority: authority)
            var browser = ConsoleBrowser(address: address)
            let form = "token=f"
            client.send(
                browser.head("POST", "/login", from: "https://localhost", bytes: form.utf8.count) + form)
            let signedIn = try await response(client, "\r\n\r\n")
            #expect(signedIn.hasPrefix("HTTP/1.1 303 "), "\(signedIn)")
            let cookie = try #require(signedIn.firstMatch(of: /set-cookie: (__Host-ledger-console=[0-9a-f]{64});/))
            #expect(signedIn.contains("; Path=/; HttpOnly; SameSite=Strict; Secure\r\n"))
            browser.cookie = String(cookie.1)
            client.send(browser.head("GET", "/", from: nil, bytes: 0))
            let page = try await response(client)
            #expect(page.hasPrefix("HTTP/1.1 200 ") && page.contains("Signed in as <bdi>finance</bdi>"))
            #expect(page.contains("content-security-policy: default-src 'none'; "))
            try await client.close()
        }

        @Test func aVisitorSignsInAndReads() async throws {
            try await serve { _, address, authority in
                try await Self.readAPage(address, authority)
                // A form of the same host without TLS is another site's.
                let client = try await TLSClient(address, authority: authority)
                client.send(
                    ConsoleBrowser(address: address).head("POST", "/login", from: "http://example.com", bytes: 0))
                #expect(try await Self.response(client, "}\n").hasPrefix("HTTP/1.1 403 "))
                try await client.close()
            }
        }

        @Test func whoSpeaksNoTLSIsToldSoWithTheConsolesHeaders() async throws {
            try await serve { _, address, _ in
                let page = try await ConsoleBrowser(address: address).get("/login")
                #expect(page.status == 400 && page.body.contains("this address speaks TLS, and nothing else"))
                #expect(page.headers["content-security-policy"]?.hasPrefix("default-src 'none'; ") == true)
                #expect(page.headers["x-content-type-options"] == "nosniff")
            }
        }

        /// One after its page, one after its handshake, one in the middle of a request's head, and one in the middle of
        /// its handshake: none of them keeps a place, or keeps others from theirs.
        @Test func whoIsIdleOrHalfOpenIsClosedAndOthersAreServedMeanwhile() async throws {
            try await serve(limits: {
                $0.unauthenticatedMilliseconds = 2_000
                $0.keptAliveMilliseconds = 2_000
            }) { _, address, authority in
                let read = try await TLSClient(address, authority: authority)
                read.send(ConsoleBrowser(address: address).head("GET", "/login", from: nil, bytes: 0))
                #expect(try await Self.response(read).hasPrefix("HTTP/1.1 200 "))
                let silent = try await TLSClient(address, authority: authority)
                let begun = try await TLSClient(address, authority: authority)
                begun.send("GET /login HTTP/1.1\r\nHost: localhost\r\n")
                let shaking = try await RawClient(address)
                try await shaking.send([22, 3, 1, 2, 0, 1])
                try await Self.readAPage(address, authority)
                for client in [read, silent, begun] { #expect(try await eventually { client.isEnded }) }
                #expect(try await eventually { shaking.isEnded })
                try await Self.readAPage(address, authority)
            }
        }

        /// A browser that has closed its side waits for its page alone.
        @Test func whoHasClosedTheirSideGetsTheirPage() async throws {
            try await serve { _, address, authority in
                let client = try await TLSClient(address, authority: authority)
                client.send(ConsoleBrowser(address: address).head("GET", "/statement?account=a", from: nil, bytes: 0))
                try await client.closeOutput()
                let page = try await Self.response(client)
                #expect(page.hasPrefix("HTTP/1.1 401 ") && page.hasSuffix("</html>\n"))
                #expect(try await eventually { client.isEnded })
            }
        }
    }
}
