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
        // Also where the file of the catalog has it by now: that is read at a start alone.
        try studio.folder.write("catalog.json", #"{"currencies": {"gems": {}, "gem": {}}, "products": {}}"#)
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
