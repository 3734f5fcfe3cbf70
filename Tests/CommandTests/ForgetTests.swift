import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Testing

/// `forget` on a real ledger: no file of it has the name afterwards.
@Suite struct ForgetTests {
    private static let gems = CurrencyCode("gems")!

    private static func grant(_ key: String, _ account: AccountName, _ units: Int64) throws -> Grant {
        Grant(key: try #require(RequestKey(key)), account: account, currency: gems, amount: try #require(Amount(units)))
    }

    /// The ledger's files that hold the bytes of a text.
    private static func files(_ studio: Studio, with text: String) throws -> [String] {
        let folder = studio.folder.url.appendingPathComponent("ledger")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return try (files?.compactMap { $0 as? URL } ?? []).filter { !$0.hasDirectoryPath }
            .filter { try Data(contentsOf: $0).range(of: Data(text.utf8)) != nil }.map(\.lastPathComponent)
    }

    private static func verified(_ studio: Studio) throws -> String {
        let script = Command.root.appendingPathComponent("Schema/verify/verify_log.py").path
        let verified = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", script, studio.folder.path("ledger")])
        #expect(verified.status == 0, "\(verified.output)\(verified.error)")
        return verified.output
    }

    @Test func noFileHasTheNameAfterwards() async throws {
        let studio = try Studio()
        let name = try #require(AccountName("somebody-who-has-a-name"))
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        for number in 0..<300 {
            let other = try #require(AccountName("player-\(number)"))
            _ = try await client.grant(try Self.grant("other-\(number)", other, 1))
            if number == 150 { _ = try await client.grant(try Self.grant("first", name, 70)) }
        }
        let before = try await client.report(.balances)
        #expect(try await client.forget(name))
        #expect(try await client.forget(name) == false)
        #expect(try await client.balance(name).balances.isEmpty)
        let after = try await client.report(.balances)
        #expect(after.rows.count == before.rows.count)
        let erased = after.rows.filter { row in
            if case .balance(let account, _, 70, _, _, _) = row { account.isErased } else { false }
        }
        #expect(erased.count == 1)
        #expect(try await client.journal(after: 150, limit: 10).entries.contains { $0.transfers[0].account.isErased })
        try await client.close()
        let exported = try Command.run(["export", "balances", "--server", service.address])
        #expect(exported.output.matches(of: /\r\nerased [0-9]+,gems,70,/).count == 1, "\(exported.error)")
        let lots = try CSVTable(try Command.run(["export", "lots", "--server", service.address]).output)
        #expect(lots.rows.filter { $0["account"]?.hasPrefix("erased ") == true }.map { $0["left"] } == ["70"])
        #expect(service.stop() == 0)
        #expect(try Self.files(studio, with: name.text) == [])
        #expect(try Self.verified(studio).contains("erased: 1"))

        // With tables made anew from the log.
        let rebuilt = try Command.run(["rebuild", "--config", studio.folder.path("ledger.json")])
        #expect(rebuilt.status == 0, "\(rebuilt.error)")
        service = try RunningService(studio.folder)
        client = try await service.client()
        #expect(try await client.balance(name).balances.isEmpty)
        #expect(try await client.report(.balances).rows.count == before.rows.count)
        try await client.close()
        #expect(service.stop() == 0)
        #expect(try Self.files(studio, with: name.text) == [])
    }

    /// Pages that the tables' trees split left copies of names behind.
    @Test func noPageOfTheTablesHasANameThatWasMovedBeforeItWasErased() async throws {
        let studio = try Studio()
        let names = try (0..<600).map { try #require(AccountName("moved-\($0)-and-forgotten")) }
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        // Some are forgotten when their rows have moved, some while they have not been written.
        var forgotten: [AccountName] = []
        for (number, name) in names.enumerated() {
            _ = try await client.grant(try Self.grant("grant-\(number)", name, 1))
            if number == 49 || number % 97 == 0 {
                for place in stride(from: forgotten.count, to: number, by: 3) where !forgotten.contains(names[place]) {
                    #expect(try await client.forget(names[place]))
                    forgotten.append(names[place])
                }
            }
        }
        try await client.close()
        #expect(service.stop() == 0)
        #expect(forgotten.count > 150)
        for name in forgotten { #expect(try Self.files(studio, with: name.text) == [], "\(name)") }
        #expect(try Self.files(studio, with: names[599].text).contains("projection.sqlite"))
    }

    /// Asked again after each SIGKILL until it is answered: then the name is gone, and nothing else.
    @Test func aNameIsForgottenAcrossKills() async throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let studio = try Studio()
        let players = 12
        for player in 0..<players {
            let name = try #require(AccountName("named-\(player)-to-be-forgotten"))
            let service = try RunningService(studio.folder)
            let client = try await service.client()
            _ = try await client.grant(try Self.grant("grant-\(player)", name, 7))
            let delay = Int.random(in: 0...4_000, using: &random)
            let kill = Task.detached {
                try? await Task.sleep(for: .microseconds(delay))
                service.kill()
            }
            let isAnswered = (try? await client.forget(name)) != nil
            await kill.value
            try? await client.close()
            let again = try RunningService(studio.folder)
            let asked = try await again.client()
            // What was answered is done; otherwise it may be, and is now.
            let wasThere = try await asked.forget(name)
            if isAnswered { #expect(!wasThere) }
            #expect(try await asked.balance(name).balances.isEmpty)
            try await asked.close()
            #expect(again.stop() == 0)
            #expect(try Self.files(studio, with: name.text) == [])
        }
        #expect(try Self.verified(studio).contains("erased: \(players)"))
    }
}
