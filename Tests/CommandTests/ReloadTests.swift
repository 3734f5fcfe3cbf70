import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Testing

/// What SIGHUP changes in a service that runs, or is about to.
@Suite(.serialized) struct ReloadTests {
    private static func configure(_ studio: Studio, tokens: String) throws {
        try studio.folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["127.0.0.1:0"], "tokens": \(tokens),
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["root.der"], "catalog": "catalog.json"}
            """)
    }

    private static func game(_ secret: String, _ more: String = "") -> String {
        #"{"game": {"role": "game", "sha256": "\#(Studio.digest(secret))"\#(more)}}"#
    }

    private static func client(_ address: String, _ secret: String) async throws -> LedgerClient {
        try await LedgerClient.connect(
            to: try ServerAddress(address), token: secret,
            configuration: ClientConfiguration(requestTimeoutMilliseconds: 60_000, retryPolicy: .none))
    }

    private static func waits(_ service: RunningService, for text: String) async throws {
        for _ in 0..<500 where try !service.said.contains(text) { try await Task.sleep(for: .milliseconds(20)) }
        #expect(try service.said.contains(text))
    }

    @Test func aHangupWithALimitOfACurrencyThatThereIsNotChangesNothing() async throws {
        let studio = try Studio()
        try Self.configure(studio, tokens: Self.game("old"))
        let service = try RunningService(studio.folder)
        let client = try await Self.client(service.address, "old")
        try Self.configure(studio, tokens: Self.game("new", #", "grantsPerDay": {"gem": 5}"#))
        kill(service.process.processIdentifier, SIGHUP)
        try await Self.waits(service, for: "what was read again cannot be used")
        #expect(try service.said.contains("game.grantsPerDay.gem: gem is not among the catalog's currencies: gems"))
        let account = try #require(AccountName("player-1"))
        _ = try await client.balance(account)
        await #expect(throws: WireError.self) { try await Self.client(service.address, "new") }
        // Mended, it holds.
        try Self.configure(studio, tokens: Self.game("new", #", "grantsPerDay": {"gems": 5}"#))
        kill(service.process.processIdentifier, SIGHUP)
        try await Self.waits(service, for: "the tokens were read again")
        try await Self.client(service.address, "new").close()
        await #expect(throws: WireError.self) { try await client.balance(account) }
        try? await client.close()
        #expect(service.stop() == 0)
    }

    private static let catalogs = [
        #"{"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}"#,
        #"{"currencies": {"gems": {}, "stars": {}}, "products": {"com.example.game.gems500": {"gems": 700}}}"#,
    ]

    private static func bought(_ client: LedgerClient, _ studio: Studio, _ number: Int) async throws -> Int64? {
        let account = try #require(AccountName("player-1"))
        _ = try await client.credit(signedTransaction: try studio.purchase(number), account: account)
        return try await client.balance(account).balances.first { $0.currency.text == "gems" }?.balance.available
    }

    @Test func aReloadHasTheCatalogHoldAndTheBlocksNameIt() async throws {
        let studio = try Studio()
        try studio.folder.write("catalog.json", Self.catalogs[0])
        try Self.configure(studio, tokens: #"{"admin": {"role": "admin", "sha256": "\#(Studio.digest("a"))"}}"#)
        let service = try RunningService(studio.folder)
        let client = try await Self.client(service.address, "a")
        #expect(try await Self.bought(client, studio, 1) == 500)
        try studio.folder.write("catalog.json", Self.catalogs[1])
        let reload = try Command.run(
            ["reload", "--server", service.address], environment: ["LEDGER_TOKEN": "a"])
        #expect(reload.status == 0, "\(reload.error)")
        let digests = Self.catalogs.map { Studio.digest($0) }
        #expect(reload.output == "catalog (SHA-256): \(digests[0]) → \(digests[1])\n")
        try await Self.waits(service, for: "a setting is another now")
        // What was bought before keeps what it was given; the connection that was open has the new catalog.
        #expect(try await Self.bought(client, studio, 2) == 1_200)
        #expect(try await client.info().ledger.currencies.map(\.text) == ["gems", "stars"])
        let again = try await client.reload()
        #expect(again == ReloadReport(applied: true))
        try await client.close()
        #expect(service.stop() == 0)
        let audit = try Command.run(["audit", "--config", studio.folder.path("ledger.json")])
        #expect(audit.status == 0, "\(audit.output)\(audit.error)")
        let verified = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"),
            [
                "python3", Command.root.appendingPathComponent("Schema/verify/verify_log.py").path,
                studio.folder.path("ledger"),
            ])
        #expect(verified.status == 0, "\(verified.output)\(verified.error)")
    }

    @Test func whatNeedsARestartHasTheWholeReloadRefusedByName() async throws {
        let studio = try Studio()
        try Self.configure(studio, tokens: #"{"admin": {"role": "admin", "sha256": "\#(Studio.digest("a"))"}}"#)
        let service = try RunningService(studio.folder)
        let client = try await Self.client(service.address, "a")
        let file = studio.folder.path("ledger.json")
        let before = try String(contentsOfFile: file, encoding: .utf8)
        let wrong = before.replacing("\"path\": \"ledger\"", with: "\"path\": \"other\"")
            .replacing(
                "\"catalog\"", with: "\"log\": {\"level\": \"debug\"}, \"cache\": {\"players\": 5000}, \"catalog\"")
        try studio.folder.write("ledger.json", wrong)
        let refused = try await client.reload()
        #expect(!refused.applied && refused.changes.isEmpty)
        for fault in [
            "path: ledger → other: can change only at a start",
            "cache.players: the default → 5000: can change only at a start",
        ] { #expect(refused.faults.contains(fault), "\(refused.faults)") }
        // Nothing of it holds, not even what could.
        #expect(try !service.said.contains("a setting is another now"))
        let command = try Command.run(["reload", "--server", service.address], environment: ["LEDGER_TOKEN": "a"])
        #expect(command.status == 1 && command.error.contains("path: ledger → other"), "\(command.error)")
        try studio.folder.write(
            "ledger.json", before.replacing("\"catalog\"", with: "\"log\": {\"level\": \"debug\"}, \"catalog\""))
        let taken = try await client.reload()
        #expect(taken == ReloadReport(applied: true, changes: ["log.level: the default → debug"]))
        try await client.close()
        #expect(service.stop() == 0)
    }

    @Test func tokensAreToldByNameAlone() async throws {
        let studio = try Studio()
        func tokens(_ more: String) -> String {
            #"{"admin": {"role": "admin", "sha256": "\#(Studio.digest("a"))"}, \#(more)}"#
        }
        func game(_ secret: String) -> String { #"{"role": "game", "sha256": "\#(Studio.digest(secret))"}"# }
        try Self.configure(studio, tokens: tokens(#""eu": \#(game("1")), "us": \#(game("2"))"#))
        let service = try RunningService(studio.folder)
        let client = try await Self.client(service.address, "a")
        try Self.configure(studio, tokens: tokens(#""us": \#(game("3")), "asia": \#(game("4"))"#))
        let report = try await client.reload()
        #expect(report.changes == ["tokens.asia: added", "tokens.eu: removed", "tokens.us: changed"])
        let said = try service.said
        for secret in ["1", "2", "3", "4"] { #expect(!said.contains(Studio.digest(secret))) }
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// The first line of the response to a request by HTTP, as a shell gets it.
    private static func status(_ address: String, _ secret: String) throws -> String {
        let body = #"{"jsonrpc":"2.0","id":1,"method":"balance","params":{"account":"player-1"}}"#
        let request = [
            "POST /v1/rpc HTTP/1.1", "Host: localhost", "Content-Type: application/json",
            "Authorization: Bearer \(secret)", "Connection: close", "Content-Length: \(body.utf8.count)", "", body,
        ].joined(separator: "\r\n")
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = [
            "-c", "exec 3<>/dev/tcp/${0%:*}/${0##*:} && printf %s \"$1\" >&3 && head -n 1 <&3", address, request,
        ]
        process.standardOutput = output
        try process.run()
        process.waitUntilExit()
        return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    @Test func aHangupReplacesTheTokensOfHTTP() async throws {
        let studio = try Studio()
        try Self.configure(studio, tokens: Self.game("old"))
        let service = try RunningService(studio.folder, arguments: ["--http-listen", "127.0.0.1:0"])
        let address = try #require(try service.said.firstMatch(of: /http=(\S+)/).map { String($0.1) })
        #expect(try Self.status(address, "old") == "HTTP/1.1 200 OK\r\n")
        #expect(try Self.status(address, "new") == "HTTP/1.1 401 Unauthorized\r\n")
        try Self.configure(studio, tokens: Self.game("new"))
        kill(service.process.processIdentifier, SIGHUP)
        try await Self.waits(service, for: "the tokens were read again")
        #expect(try Self.status(address, "old") == "HTTP/1.1 401 Unauthorized\r\n")
        #expect(try Self.status(address, "new") == "HTTP/1.1 200 OK\r\n")
        #expect(service.stop() == 0)
        let said = try service.said
        #expect(!said.contains("status=401"), "a wrong token has a line of its own")
    }

    /// The opening is held up by an anchor that comes through a pipe.
    @Test func aHangupWhileTheLedgerIsBeingOpenedIsHeeded() async throws {
        let studio = try Studio()
        try Self.configure(studio, tokens: Self.game("old"))
        let pipe = studio.folder.path("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let command = try Command.start(
            ["serve", "--create", "--config", studio.folder.path("ledger.json"), "--anchors", pipe], studio.folder)
        // It can be opened for writing when the service reads it, and has read its settings.
        var writer: Int32 = -1
        for _ in 0..<1_000 where writer < 0 {
            writer = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            if writer < 0 { try await Task.sleep(for: .milliseconds(20)) }
        }
        try #require(writer >= 0)
        try Self.configure(studio, tokens: Self.game("new"))
        kill(command.process.processIdentifier, SIGHUP)
        let anchor = studio.chain.root.der
        #expect(write(writer, anchor, anchor.count) == anchor.count)
        close(writer)
        try await command.waits(for: "the tokens were read again")
        try await command.waits(for: "listening")
        let said = try String(contentsOfFile: studio.folder.path("err"), encoding: .utf8)
        let address = try #require(said.firstMatch(of: /addresses=(\S+)/).map { String($0.1) })
        await #expect(throws: WireError.self) { try await Self.client(address, "old") }
        try await Self.client(address, "new").close()
        kill(command.process.processIdentifier, SIGTERM)
        #expect(try command.finish().status == 0)
    }
}
