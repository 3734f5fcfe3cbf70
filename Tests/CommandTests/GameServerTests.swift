import Foundation
import LedgerClient
import Testing

/// The article for game servers: its examples are run as they stand there.
@Suite struct GameServerTests {
    private static let token = "a-token-of-the-game"

    /// The one fenced block of a language.
    private static func example(_ language: String) throws -> String {
        let blocks = try PageBlocks("Sources/LedgerClient/LedgerClient.docc/GameServer.md").blocks(in: [language])
        try #require(blocks.count == 1, "the article has one example in \(language)")
        return blocks[0].text
    }

    /// A service that knows the game's token.
    private static func service(_ studio: Studio) throws -> RunningService {
        try RunningService(
            studio.folder,
            environment: [
                "LEDGER_TOKENS": Studio.tokens(("shop", "game", token)), "LEDGER_INSECURE_LOOPBACK": "false",
            ])
    }

    /// What an example leaves that is run by `interpreter`, as often as asked, against a service of its own.
    /// - Parameter token: what the example is given; without one the service has no tokens either.
    private static func run(
        _ language: String, by interpreter: String, token: String? = token, times: Int = 1
    ) throws -> [Finished] {
        let studio = try Studio()
        let service = try token == nil ? RunningService(studio.folder) : service(studio)
        try studio.folder.write("example", try example(language))
        var environment = ["LEDGER_ADDRESS": service.address]
        if let token { environment["LEDGER_TOKEN"] = token }
        let finished = try (0..<times).map { _ in
            try Command.run(
                URL(fileURLWithPath: interpreter), [studio.folder.path("example")], environment: environment)
        }
        #expect(service.stop() == 0)
        return finished
    }

    @Test func theSwiftOfTheArticleIsTheFileThatIsCompiledHere() throws {
        let file = Command.root.appendingPathComponent("Tests/CommandTests/Shop.swift")
        #expect(try Self.example("swift") == String(contentsOf: file, encoding: .utf8))
    }

    /// The example's shop has the client's own timeouts; where all tests begin at once, threads are busy for longer.
    private static func shop(_ service: RunningService) async throws -> Shop {
        for _ in 0..<30 {
            do {
                return try #require(try await Shop.open(service.address, token: token))
            } catch ClientError.cannotConnect {
                continue
            }
        }
        return try #require(try await Shop.open(service.address, token: token))
    }

    @Test func theShopSellsOnceAndSaysWhatAPlayerCannotPay() async throws {
        let studio = try Studio()
        let service = try Self.service(studio)
        let shop = try await Self.shop(service)
        let player = try #require(AccountName("player-1"))
        let price = try #require(Amount(30))
        try await shop.reward(player, try #require(Amount(100)), for: "welcome")
        let order = RequestKey.timeOrdered()
        for _ in 0..<2 {
            #expect(try await shop.buy("a hat", for: price, player: player, order: order) == .bought(left: 70))
        }
        let second = try await shop.buy("a sword", for: price, player: player, order: .timeOrdered())
        #expect(second == .bought(left: 40))
        let castle = try await shop.buy(
            "a castle", for: try #require(Amount(41)), player: player, order: .timeOrdered())
        #expect(castle == .tooExpensive(available: 40))
        #expect(try await shop.available(player) == 40)
        #expect(try await shop.latest(player) == ["spend: a sword", "spend: a hat", "grant: welcome"])
        #expect(service.stop() == 0)
        try await shop.ledger.close()
        let closed = try await shop.buy("a hat", for: price, player: player, order: .timeOrdered())
        #expect(closed == .undecided)
    }

    @Test func thePythonOfTheArticleSpendsOnceEachTimeThatItIsRun() throws {
        let finished = try Self.run("python", by: "/usr/bin/python3", times: 2)
        for run in finished { #expect(run.status == 0, "\(run.error)") }
        #expect(
            finished.map(\.output) == [
                """
                entry 2 replayed False
                entry 2 replayed True
                insufficient_funds 70
                available 70
                spend a hat
                grant welcome

                """,
                """
                entry 4 replayed False
                entry 4 replayed True
                insufficient_funds 140
                available 140
                spend a hat
                grant welcome
                spend a hat
                grant welcome

                """,
            ])
    }

    @Test func thePythonOfTheArticleNeedsNoTokenWhereTheServiceHasNone() throws {
        let finished = try Self.run("python", by: "/usr/bin/python3", token: nil)
        #expect(finished[0].status == 0, "\(finished[0].error)")
    }

    @Test func thePythonOfTheArticleSaysThatItsTokenIsNotTaken() throws {
        let studio = try Studio()
        let service = try Self.service(studio)
        try studio.folder.write("example", try Self.example("python"))
        let finished = try Command.run(
            URL(fileURLWithPath: "/usr/bin/python3"), [studio.folder.path("example")],
            environment: ["LEDGER_ADDRESS": service.address, "LEDGER_TOKEN": "another-token-of-a-game"])
        #expect(finished.status == 1)
        #expect(finished.error.contains("LedgerError: the token is not one of this server's"))
        #expect(service.stop() == 0)
    }

    @Test(arguments: [token, nil])
    func theShellOfTheArticleSpendsOnceEachTimeThatItIsRun(token: String?) throws {
        let finished = try Self.run("sh", by: "/bin/sh", token: token, times: 2)
        for (number, run) in finished.enumerated() {
            #expect(run.status == 0, "\(run.error)")
            let lines = run.output.split(separator: "\n")
            try #require(lines.count == 6, "\(run.output)\(run.error)")
            let entry = number * 2 + 2
            #expect(lines[1].contains(#""entry":\#(entry),"replayed":false"#))
            #expect(lines[2].contains(#""entry":\#(entry),"replayed":true"#))
            #expect(lines[3].contains(#""reason":"insufficient_funds""#) && lines[4] == "refused: 1")
            #expect(lines[5].contains(#""available":\#((number + 1) * 70)"#))
        }
    }

    @Test func theShellOfTheArticleEndsWhereTheServiceWantsAToken() throws {
        let studio = try Studio()
        let service = try Self.service(studio)
        try studio.folder.write("example", try Self.example("sh"))
        let finished = try Command.run(
            URL(fileURLWithPath: "/bin/sh"), [studio.folder.path("example")],
            environment: ["LEDGER_ADDRESS": service.address])
        #expect(finished.status == 1)
        #expect(finished.output.contains(#""reason":"unauthenticated""#))
        #expect(service.stop() == 0)
    }
}
