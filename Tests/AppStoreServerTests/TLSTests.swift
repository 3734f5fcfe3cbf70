import NIOSSL
import Testing

@testable import AppStoreServer

/// The App Store shows a certificate, and one is believed only where it leads to a root that is trusted.
@Suite struct TLSTests {
    private static func store(host: String = "127.0.0.1") async throws -> TestStore {
        let tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(TestKeys.tlsCertificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: TestKeys.tlsKey, format: .pem)))
        return try await TestStore.start(host: host, tls: tls) { _, _ in
            .reply(200, #"{"signedTransactionInfo":"jws"}"#)
        }
    }

    private static func ask(_ address: String, _ tls: TLSConfiguration) async throws -> String {
        let client = AppStoreServerClient(
            key: try TestKeys.key(),
            configuration: .init(bundleID: "com.example.game", address: try AppStoreAddress(address), retries: .none),
            tls: tls, pacing: .system)
        do {
            let answer = try await client.transactionInfo(transactionID: "1")
            await client.shutDown()
            return answer
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
