import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Testing

@testable import currency_ledger

/// TLS as an operator configures it. OpenSSL's command makes the certificates: without it these are skipped.
@Suite(.serialized, .enabled(if: TestAuthority.hasCommand, "openssl is not installed")) struct TLSTests {
    private static let token = "the game's own token"

    /// A studio whose service speaks TLS with clients of its authority.
    private static func studio(_ authority: TestAuthority) throws -> Studio {
        let studio = try Studio()
        try authority.issue("server", name: "ledger")
        try authority.issue("client", name: "game-1")
        try authority.issue("standby", name: "standby-1")
        try studio.folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["127.0.0.1:0"], 
             "tokens": {"game": {"role": "game", "sha256": "\(Studio.digest(token))", "certificate": "game-1"},
                        "standby": {"role": "replica", "certificate": ["standby-1"]}},
             "tls": {"certificate": "\(authority.path("server.pem"))", "key": "\(authority.path("server.key"))",
                     "clientCA": "\(authority.authority)"},
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["root.der"], "catalog": "catalog.json"}
            """)
        return studio
    }

    private static func client(_ address: String, _ authority: TestAuthority, _ name: String = "client") async throws
        -> LedgerClient
    {
        let tls = try ClientTLS(
            authorities: authority.bytes("ca.pem"), certificate: authority.bytes("\(name).pem"),
            key: authority.bytes("\(name).key"))
        return try await LedgerClient.connect(
            to: try ServerAddress(address),
            configuration: ClientConfiguration(requestTimeoutMilliseconds: 60_000, tls: tls))
    }

    @Test func commandsSpeakTLSAndSayWhatIsWrong() throws {
        let authority = try TestAuthority()
        let studio = try Self.studio(authority)
        let service = try RunningService(studio.folder)
        func call(_ more: [String]) throws -> Finished {
            try Command.run(["call", "balance", "account=a", "--server", service.address] + more)
        }
        let own = ["--tls-certificate", authority.path("client.pem"), "--tls-key", authority.path("client.key")]
        let served = try call(["--tls-ca", authority.authority] + own)
        #expect(served.status == 0 && served.output.contains(#""account": "a""#), "\(served)")
        let plain = try call([])
        #expect(plain.status == 1 && (plain.output + plain.error).contains("speaks TLS"), "\(plain)")
        let without = try call(["--tls-ca", authority.authority])
        #expect(without.status == 1 && without.error.contains("TLS: "), "\(without)")
        #expect(try call(own).status == 64)
        let unreadable = try call(["--tls-ca", authority.path("none.pem")])
        #expect(unreadable.status == 78 && unreadable.error.contains("none.pem"), "\(unreadable)")
        let noCertificate = try call(["--tls-ca", authority.path("server.key")])
        #expect(noCertificate.status == 78 && noCertificate.error.contains("no certificate in PEM"), "\(noCertificate)")
        #expect(service.stop() == 0)
    }

    @Test func aStandbyFollowsOverTLS() async throws {
        let authority = try TestAuthority()
        let studio = try Self.studio(authority)
        let leader = try RunningService(studio.folder)
        let game = try await Self.client(leader.address, authority)
        let account = try #require(AccountName("player-1"))
        _ = try await game.grant(
            Grant(key: RequestKey("g")!, account: account, currency: CurrencyCode("gems")!, amount: Amount(5)!))
        let standby = try Node(studio, "b")
        let running = try standby.start(
            more: """
                "follow": {"leader": "\(leader.address)", "name": "b", "tls": {"ca": "\(authority.authority)",
                           "certificate": "\(authority.path("standby.pem"))",
                           "key": "\(authority.path("standby.key"))"}},
                """)
        let reader = try await running.client()
        var balances: [CurrencyBalance] = []
        for _ in 0..<500 where balances.isEmpty {
            balances = try await reader.balance(account).balances
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(balances.count == 1)
        for client in [game, reader] { try? await client.close() }
        #expect(running.stop() == 0 && leader.stop() == 0)
    }

    @Test func aHangupHasCertificatesReadAgain() async throws {
        let authority = try TestAuthority()
        let studio = try Self.studio(authority)
        let service = try RunningService(studio.folder)
        let old = try await Self.client(service.address, authority)
        #expect(try await old.info().ledger.bundleID == "com.example.game")
        // The server moves to another authority's certificate; clients' certificates are of the first one still.
        let other = try TestAuthority()
        try other.issue("server", name: "ledger")
        for name in ["server.pem", "server.key"] {
            try Data(other.bytes(name)).write(to: URL(fileURLWithPath: authority.path(name)))
        }
        kill(service.process.processIdentifier, SIGHUP)
        for _ in 0..<200 where try !service.said.contains("were read again") {
            try await Task.sleep(for: .milliseconds(20))
        }
        await #expect(throws: ClientError.self) { try await Self.client(service.address, authority) }
        #expect(try await old.info().ledger.bundleID == "com.example.game", "a connection that was there goes on")
        // A certificate that cannot be used keeps the tokens as they were, too.
        try Data("nothing".utf8).write(to: URL(fileURLWithPath: authority.path("server.pem")))
        let settings = try String(contentsOfFile: studio.folder.path("ledger.json"), encoding: .utf8)
        try studio.folder.write("ledger.json", settings.replacing("\"game-1\"", with: "\"game-2\""))
        kill(service.process.processIdentifier, SIGHUP)
        for _ in 0..<200 where try !service.said.contains("cannot be used") {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(
            try service.said.contains("what was read again cannot be used, and all settings stay as they were"))
        #expect(try service.said.contains("tls.certificate: has no certificate in PEM"))
        #expect(try await old.info().ledger.bundleID == "com.example.game")
        try await old.close()
        #expect(service.stop() == 0)
    }

    /// A pipe into which nobody writes, or one byte after the other, keeps no signal from its effect.
    @Test(arguments: [false, true])
    func aHangupThatMeetsAPipeIsRefusedAndTheServiceCanBeStopped(drips: Bool) async throws {
        let authority = try TestAuthority()
        let studio = try Self.studio(authority)
        let service = try RunningService(studio.folder)
        let client = try await Self.client(service.address, authority)
        unlink(authority.path("server.pem"))
        #expect(mkfifo(authority.path("server.pem"), 0o600) == 0)
        let writer = Process()
        writer.executableURL = URL(fileURLWithPath: "/bin/sh")
        writer.arguments = ["-c", #"while sleep 0.2; do printf x || exit; done > "$0""#, authority.path("server.pem")]
        if drips { try writer.run() }
        defer { if drips { writer.terminate() } }
        kill(service.process.processIdentifier, SIGHUP)
        for _ in 0..<3_000 where try !service.said.contains("cannot be used") {
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(try service.said.contains("server.pem: cannot be read: it did not come to its end in 10 seconds"))
        #expect(try await client.info().ledger.bundleID == "com.example.game")
        try await client.close()
        #expect(service.stop() == 0)
    }

    @Test func aServiceWithoutTLSStaysOnItsMachineUnlessToldOtherwise() throws {
        let studio = try Studio()
        let tokens = [
            "LEDGER_TOKENS": Studio.tokens(("game", "game", Self.token)), "LEDGER_INSECURE_LOOPBACK": "false",
        ]
        func serve(_ more: [String]) throws -> Finished {
            try Command.run(
                ["serve", "--create", "--config", studio.folder.path("ledger.json"), "--listen", "0.0.0.0:0"] + more,
                environment: tokens)
        }
        let refused = try serve([])
        #expect(refused.status == 78 && refused.error.contains("TLS is not configured"), "\(refused)")
        #expect(!refused.error.contains("no tokens"))
        let service = try RunningService(
            studio.folder, arguments: ["--listen", "0.0.0.0:0", "--insecure-plaintext"],
            environment: tokens)
        #expect(service.stop() == 0)
        let again = try RunningService(
            studio.folder, arguments: ["--listen", "0.0.0.0:0"],
            environment: tokens.merging(["LEDGER_INSECURE_PLAINTEXT": "true"]) { $1 })
        #expect(again.stop() == 0)
    }

    @Test func aKeyThatOthersMayReadIsRefused() throws {
        let authority = try TestAuthority()
        let studio = try Self.studio(authority)
        let arguments = ["serve", "--create", "--config", studio.folder.path("ledger.json")]
        chmod(authority.path("server.key"), 0o640)
        let open = try Command.run(arguments)
        #expect(open.status == 78 && open.error.contains("secret that others may read"), "\(open)")
        try Data("nothing".utf8).write(to: URL(fileURLWithPath: authority.path("server.pem")))
        chmod(authority.path("server.key"), 0o600)
        let wrong = try Command.run(arguments)
        #expect(wrong.status == 78 && wrong.error.contains("tls.certificate: has no certificate in PEM"), "\(wrong)")
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("ledger")), "nothing was made")
    }
}
