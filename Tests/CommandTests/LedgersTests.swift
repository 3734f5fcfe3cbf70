import AppStore
import Foundation
import LedgerClient
import LedgerWire
import Testing

/// One service with two ledgers, as its operator and its clients see it: Production and Sandbox of one app, each with a
/// chain of its own.
@Suite struct LedgersTests {
    private let production: SandboxChain
    private let studio: Studio

    init() throws {
        studio = try Studio()
        let year: Int64 = 365 * 86_400_000
        production = try SandboxChain(notBefore: studio.now - year, notAfter: studio.now + year)
        try Data(production.root.der).write(to: studio.folder.url.appendingPathComponent("production.der"))
        try configure(token: "sandbox")
    }

    /// - Parameter ledger: that of the game's token.
    private func configure(token ledger: String) throws {
        func member(_ environment: String, _ anchor: String) -> String {
            """
            {"app": {"bundleId": "com.example.game", "environment": "\(environment)"}, "catalog": "catalog.json",
             "anchors": ["\(anchor)"]}
            """
        }
        try studio.folder.write(
            "ledger.json",
            """
            {"ledgers": {"live": \(member("Production", "production.der")),
                         "sandbox": \(member("Sandbox", "root.der"))},
             "listen": ["127.0.0.1:0"],
             "tokens": {"all": {"role": "admin", "sha256": "\(Studio.digest("all"))"},
                        "game": {"role": "game", "sha256": "\(Studio.digest("game"))", "ledger": "\(ledger)"}}}
            """)
    }

    private func purchase(_ number: Int, in environment: AppStore.Environment) throws -> String {
        let payload = TransactionPayload(
            transactionID: String(number), bundleID: "com.example.game", productID: "com.example.game.gems500",
            purchaseDate: studio.now - 60_000, signedDate: studio.now - 60_000, environment: environment)
        return try (environment == .production ? production : studio.chain).sign(payload)
    }

    private func client(_ service: RunningService, _ token: String, of ledger: String? = nil) async throws
        -> LedgerClient
    {
        try await LedgerClient.connect(
            to: try ServerAddress(service.address), token: token,
            configuration: ClientConfiguration(ledger: ledger.flatMap { LedgerName($0) }))
    }

    @Test func purchasesFindTheirLedgerAndEachIsAuditedByItself() async throws {
        var service = try RunningService(studio.folder)
        let player = try #require(AccountName("player-1"))
        let pipeline = try await client(service, "all")
        for (number, environment) in [(1, AppStore.Environment.production), (1, .sandbox), (2, .sandbox)] {
            let jws = try purchase(number, in: environment)
            for outcome in [PurchaseOutcome.credited, .alreadyCredited] {
                let receipt = try await pipeline.credit(signedTransaction: jws, account: player)
                #expect(receipt.outcome == outcome)
            }
        }
        try await pipeline.close()
        // Killed, and started again: each has its own log.
        #expect(service.stop(SIGKILL) != 0)
        service = try RunningService(studio.folder)
        for (name, available) in [("live", Int64(500)), ("sandbox", 1_000)] {
            let reader = try await client(service, "all", of: name)
            #expect(try await reader.balance(player).balances.map(\.balance.available) == [available])
            let info = try await reader.info()
            #expect(info.ledger.name?.text == name && info.ledgers.map(\.name?.text) == ["live", "sandbox"])
            try await reader.close()
            let options = ["--ledger", name, "--config", studio.folder.path("ledger.json")]
            let audit = try Command.run(["audit"] + options)
            #expect(audit.status == 0 && audit.output.contains("everything holds"), "\(audit)")
            let backup = try Command.run(["backup", "--to", studio.folder.path("backup-\(name)")] + options)
            #expect(backup.status == 0, "\(backup)")
            let export = try Command.run(
                ["export", "balances", "--server", service.address, "--ledger", name],
                environment: ["LEDGER_TOKEN": "all"])
            #expect(export.output.contains("player-1,gems,\(available),"), "\(export)")
        }
        for command in [["audit"], ["backup", "--to", "x"], ["rebuild"], ["restore", "x"]] {
            let finished = try Command.run(command + ["--config", studio.folder.path("ledger.json")])
            #expect(finished.status == 78 && finished.error.contains("--ledger: is required"), "\(finished)")
        }
        let other = try Command.run(
            ["call", "--server", service.address, "--ledger", "moon", "ping"], environment: ["LEDGER_TOKEN": "all"])
        #expect(other.status == 1 && other.error.contains("there is no ledger moon"), "\(other)")
        #expect(service.stop() == 0)
    }

    @Test func aTokenMayBeMovedToAnotherLedgerWhileTheServiceRuns() async throws {
        let service = try RunningService(studio.folder)
        let game = try await client(service, "game")
        #expect(try await game.info().ledgers.map(\.name?.text) == ["sandbox"])
        let (player, gems) = (try #require(AccountName("p")), try #require(CurrencyCode("gems")))
        func grant(_ key: String) async throws {
            let key = try #require(RequestKey(key))
            let one = try #require(Amount(1))
            _ = try await game.grant(Grant(key: key, account: player, currency: gems, amount: one))
        }
        try await grant("1")
        try configure(token: "live")
        kill(service.process.processIdentifier, SIGHUP)
        var names: [String?] = []
        for _ in 0..<500 where names != ["live"] {
            try await Task.sleep(for: .milliseconds(20))
            names = try await game.info().ledgers.map(\.name?.text)
        }
        #expect(names == ["live"])
        // The same key, for it is another ledger's.
        try await grant("1")
        for name in ["live", "sandbox"] {
            let reader = try await client(service, "all", of: name)
            #expect(try await reader.balance(player).balances.map(\.balance.available) == [1])
            try await reader.close()
        }
        try await game.close()
        #expect(service.stop() == 0)
    }
}
