#if Postgres
import Foundation
import Ledger
import LedgerTestKit
import PostgresLog
import Testing

@Suite struct PostgresTLSTests {
    private static let opensslIsThere = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    /// A certificate for `localhost` that signs itself.
    private static func makeCertificate(_ name: String, in folder: String) throws -> (certificate: String, key: String)
    {
        let (certificate, key) = ("\(folder)/\(name).pem", "\(folder)/\(name).key")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments =
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
            + ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
            + ["-keyout", key, "-out", certificate]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        var attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        if getuid() == 0 { attributes[.ownerAccountName] = "postgres" }
        try FileManager.default.setAttributes(attributes, ofItemAtPath: key)
        return (certificate, key)
    }

    @Test(.enabled(if: opensslIsThere, "there is no openssl on this machine"))
    func aServerIsBelievedByItsCertificateOnly() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("ledger-tls-\(UInt32.random(in: 0 ... .max))").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let own = try Self.makeCertificate("own", in: folder)
        let other = try Self.makeCertificate("other", in: folder)
        let server = try PostgresServer(
            [
                "listen_addresses=127.0.0.1", "ssl=on", "ssl_cert_file=\(own.certificate)", "ssl_key_file=\(own.key)",
            ], port: .random(in: 20_000..<32_000))
        defer { server.stop() }
        let ledger = try TestLedger(on: server)
        func configuration(root: String, host: String) -> PostgresLogConfiguration {
            var configuration = ledger.configuration()
            configuration.uri =
                "postgresql://postgres@\(host):\(server.port)/postgres?hostaddr=127.0.0.1"
                + "&sslmode=verify-full&sslrootcert=\(root)"
            return configuration
        }
        let log = try ledger.open(configuration(root: own.certificate, host: "localhost"))
        defer { log.close() }
        var random = SplitMix64(seed: 1)
        let block = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [block])
        let isEncrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = (SELECT backend_pid FROM leader)"
        #expect(try ledger.session().run(isEncrypted) == [["t"]])

        let unknown = try #require(
            logError { _ = try ledger.open(configuration(root: other.certificate, host: "localhost")) })
        #expect(unknown.kind == .unknown && unknown.description.contains("certificate verify failed"))
        let misnamed = try #require(
            logError { _ = try ledger.open(configuration(root: own.certificate, host: "db.example.com")) })
        #expect(misnamed.kind == .unknown && misnamed.description.contains("does not match host name"))
    }
}
#endif
