import NIOSSL
import Testing

@testable import AppStoreServer

/// The App Store shows a certificate, and one is believed only where it leads to a root that is trusted.
@Suite struct TLSTests {
    private static let found = TestStore.Answer.reply(200, #"{"signedTransactionInfo":"jws"}"#)

    /// - Parameter protocols: that it offers (RFC 7301), the best first.
    private static func store(
        host: String = "127.0.0.1", protocols: [String] = [],
        answer: @escaping @Sendable (TestStore.Request, Int) -> TestStore.Answer = { _, _ in found }
    ) async throws -> TestStore {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(TestKeys.tlsCertificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: TestKeys.tlsKey, format: .pem)))
        tls.applicationProtocols = protocols
        return try await TestStore.start(host: host, tls: tls, answer: answer)
    }

    private static func ask(_ address: String, _ tls: TLSConfiguration) async throws -> String {
        try await withClient(address, tls) { try await $0.transactionInfo(transactionID: "1") }
    }

    private static func withClient<Result>(
        _ address: String, _ tls: TLSConfiguration, retries: AppStoreServerClient.RetryPolicy = .none,
        _ body: (AppStoreServerClient) async throws -> Result
    ) async throws -> Result {
        let client = AppStoreServerClient(
            key: try TestKeys.key(),
            configuration: .init(
                bundleID: "com.example.game", address: try AppStoreAddress(address), retries: retries,
                requestTimeoutMilliseconds: 2_000),
            tls: tls, pacing: TestTime().pacing)
        do {
            let result = try await body(client)
            await client.shutDown()
            return result
        } catch {
            await client.shutDown()
            throw error
        }
    }

    private static func trusting() throws -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(TestKeys.tlsCertificate))
        return tls
    }

    @Test func aCertificateThatIsTrustedIsBelieved() async throws {
        let store = try await Self.store()
        #expect(try await Self.ask("https://localhost:\(store.port)", Self.trusting()) == "jws")
        #expect(store.requests.count == 1)
        try await store.stop()
    }

    /// As Apple's servers do: all requests go on one connection.
    @Test func whereTheStoreOffersHTTP2ThatIsSpoken() async throws {
        let store = try await Self.store(protocols: ["h2", "http/1.1"]) { request, _ in
            switch request.path.split(separator: "/").last {
            case "refused": .reply(404, refusal(4_040_010, "Not found."))
            case "silent": .silence
            case "cut": .cut(after: "{")
            case "test": .close
            default: .reply(200, #"{"signedTransactionInfo":"\#(request.path.split(separator: "/").last ?? "")"}"#)
            }
        }
        try await Self.withClient("https://localhost:\(store.port)", Self.trusting()) { client in
            _ = try await client.transactionInfo(transactionID: "0")
            let answers = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 1...100 {
                    group.addTask { try await client.transactionInfo(transactionID: "\(number)") == "\(number)" }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(answers == 100 && store.requests.count == 101 && store.connections == 1)
            #expect(store.requests.allSatisfy { $0.isOfHTTP2 && $0.token.split(separator: ".").count == 3 })
            await #expect(
                throws: AppStoreServerError.refused(
                    .init(status: 404, code: APIErrorCode(rawValue: 4_040_010), message: "Not found."))
            ) { try await client.transactionInfo(transactionID: "refused") }
            await #expect(throws: AppStoreServerError.timedOut) {
                try await client.transactionInfo(transactionID: "silent")
            }
            for call in [
                { _ = try await client.transactionInfo(transactionID: "cut") },
                { _ = try await client.requestTestNotification() },
            ] {
                let error = await #expect(throws: AppStoreServerError.self) { try await call() }
                guard case .connectionLost = error else { return unexpected(error) }
            }
        }
        try await store.stop()
    }

    /// The request was sent by then: nobody may say that it was not.
    @Test func whatIsNoTLSBehindARequestIsALostConnection() async throws {
        let store = try await Self.store { _, number in number == 1 ? Self.found : .bytesBelowTLS("no TLS at all") }
        let requests = try await Self.withClient(
            "https://localhost:\(store.port)", Self.trusting(), retries: .standard
        ) { client in
            _ = try await client.transactionInfo(transactionID: "1")
            let error = await #expect(throws: AppStoreServerError.self) { try await client.requestTestNotification() }
            guard case .connectionLost(let why) = error else {
                unexpected(error)
                return 0
            }
            #expect(why.hasPrefix("TLS: "), "\(why)")
            return store.requests.count
        }
        #expect(requests == 2, "a test notification is not asked for twice")
        try await store.stop()
    }

    @Test func aCertificateThatNobodyVouchesForIsNot() async throws {
        let store = try await Self.store()
        let error = await #expect(throws: AppStoreServerError.self) {
            try await Self.ask("https://localhost:\(store.port)", .makeClientConfiguration())
        }
        guard case .cannotConnect(let why) = error else { return unexpected(error) }
        #expect(why.hasPrefix("TLS: ") && why.contains("CERTIFICATE_VERIFY_FAILED"), "\(why)")
        #expect(store.requests.isEmpty)
        try await store.stop()
    }

    /// The certificate names 127.0.0.1, and not 127.0.0.2.
    @Test func aCertificateOfAnotherAddressIsNot() async throws {
        let store = try await Self.store(host: "127.0.0.2")
        let error = await #expect(throws: AppStoreServerError.self) {
            try await Self.ask("https://127.0.0.2:\(store.port)", Self.trusting())
        }
        #expect(error == .cannotConnect("TLS: the server's certificate does not name its address"))
        #expect(store.requests.isEmpty)
        try await store.stop()
    }
}
