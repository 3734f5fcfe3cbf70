import Foundation
import LedgerClient
import Testing

/// The article for game servers: its examples are run as they stand there.
@Suite struct GameServerTests {
    private static let token = "a-token-of-the-game"

    private static func article() throws -> String {
        let path = "Sources/LedgerClient/LedgerClient.docc/GameServer.md"
        return try String(contentsOf: Command.root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The one fenced block of a language.
    private static func example(_ language: String) throws -> String {
        let parts = try article().components(separatedBy: "\n```\(language)\n")
        try #require(parts.count == 2, "the article has one example in \(language)")
        let end = try #require(parts[1].range(of: "\n```\n"))
        return parts[1][..<end.lowerBound] + "\n"
    }

    private static func service(_ studio: Studio) throws -> RunningService {
        try RunningService(studio.folder, environment: ["LEDGER_TOKENS_GAME": token])
    }

    /// The output of an example, run by `interpreter` against a service of its own.
    private static func run(_ language: String, by interpreter: String, token: String = token) throws -> Finished {
        let studio = try Studio()
        let service = try service(studio)
        try studio.folder.write("example", try example(language))
        let finished = try Command.run(
            URL(fileURLWithPath: interpreter), [studio.folder.path("example")],
            environment: ["LEDGER_ADDRESS": service.address, "LEDGER_TOKEN": token])
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

    @Test func thePythonOfTheArticleSpendsOnce() throws {
        let finished = try Self.run("python", by: "/usr/bin/python3")
        #expect(finished.status == 0, "\(finished.error)")
        #expect(
            finished.output == """
                entry 2 replayed False
                entry 2 replayed True
                insufficient_funds 70
                available 70
                spend a hat
                grant welcome

                """)
    }

    @Test func thePythonOfTheArticleSaysThatItsTokenIsNotTaken() throws {
        let finished = try Self.run("python", by: "/usr/bin/python3", token: "another-token-of-a-game")
        #expect(finished.status == 1)
        #expect(finished.error.contains("LedgerError: the token is not one of this server's"))
    }

    @Test func theShellOfTheArticleSpendsOnce() throws {
        let finished = try Self.run("sh", by: "/bin/sh")
        #expect(finished.status == 0, "\(finished.error)")
        let lines = finished.output.split(separator: "\n")
        try #require(lines.count == 6, "\(finished.output)\(finished.error)")
        #expect(lines[1].contains(#""entry":2,"replayed":false"#))
        #expect(lines[2].contains(#""entry":2,"replayed":true"#))
        #expect(lines[3].contains(#""reason":"insufficient_funds""#) && lines[4] == "refused: 1")
        #expect(lines[5].contains(#""available":70"#))
    }
}
