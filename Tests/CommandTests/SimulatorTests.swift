import AppStore
import AppStoreSimulator
import AppleReports
import Foundation
import LedgerClient
import LedgerTestKit
import Testing

/// A simulator in a process of its own, driven by its commands, and a service that it tells.
@Suite(.serialized) struct SimulatorTests {
    private static let players = [
        "f47ac10b-58cc-4372-a567-0e02b2c3d479", "0b0e7e5a-6c1f-4c57-9a53-6d8a1c0c2b11",
        "8a3b9c2d-1e4f-4a5b-8c6d-7e8f9a0b1c2d",
    ]

    /// A folder with a chain, a catalog and a configuration.
    private func studio() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        #expect(try Command.run(["sandbox", "init", folder.path("chain")]).status == 0)
        try folder.write(
            "catalog.json", #"{"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}"#)
        try folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["127.0.0.1:0"], "http": {"listen": ["127.0.0.1:0"]},
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
             "anchors": ["chain/root.der"], "catalog": "catalog.json", "insecureLoopback": true}
            """)
        return folder
    }

    private func webhook(of service: RunningService) throws -> String {
        let address = try #require(try service.said.firstMatch(of: /http=(\S+)/)?.1)
        return "http://\(address)/app-store/notifications"
    }

    private func eventually(_ condition: () async throws -> Bool) async throws -> Bool {
        for _ in 0..<1_200 {
            if try await condition() { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    private func available(_ player: String, _ client: LedgerClient) async throws -> Int64 {
        let gems = try #require(CurrencyCode("gems"))
        let account = try #require(AccountName(player))
        return try await client.balance(account, currency: gems).balances.first?.balance.available ?? 0
    }

    /// Of 500 gems a unit, what of a purchase stands.
    private func standing(_ purchase: [String: Any]) -> Int64 {
        let granted = (purchase["quantity"] as? Int64 ?? 0) * 500
        let left = 100_000 - (purchase["revoked"] as? Int64 ?? 0)
        return (granted * left + 99_999) / 100_000
    }

    @Test func theBooksOfAServiceBecomeThoseOfTheSimulator() async throws {
        let seed = Seed.drawn()
        let folder = try studio()
        let service = try RunningService(folder)
        let options = [
            "--webhook", try webhook(of: service), "--double", "10%", "--shuffle", "--speed", "36000", "--seed",
            "\(seed)",
        ]
        let simulator = try await RunningSimulator(folder, options)
        #expect(simulator.introduction["seed"] as? UInt64 == seed)
        var random = SplitMix64(seed: seed)
        var ids: [String] = []
        for number in 0..<24 {
            let jws = try simulator.must(
                "buy", "--product", "com.example.game.gems500", "--account", Self.players[number % 3], "--quantity",
                "\(Int.random(in: 1...10, using: &random))", "--price", "4.99", "--currency", "EUR")
            ids.append(try TransactionPayload(unverified: Array(jws.utf8)).transactionID)
        }
        for id in ids.dropLast() where random.chance(50) {
            _ = try simulator.must(
                "refund", id, "--revocation-percentage", "\(Int.random(in: 1...100_000, using: &random))")
            if random.chance(30) { _ = try simulator.must("reverse", id) }
        }
        _ = try simulator.must("decline", try #require(ids.last), "--json")

        let state = try simulator.state()
        #expect(state.count == 24)
        let client = try await service.client()
        for player in Self.players {
            let wanted = state.values.filter { $0["appAccountToken"] as? String == player }.map(standing).reduce(0, +)
            let isEqual = try await eventually { try await available(player, client) == wanted }
            let found = try await available(player, client)
            #expect(isEqual, "\(player): \(found) in the books, \(wanted) sold")
        }
        try await client.close()
        #expect(try simulator.stop().status == 0)
        #expect(service.stop() == 0)
        let audit = try Command.run(["audit", "--config", folder.path("ledger.json")])
        #expect(audit.status == 0, "\(audit.output)\(audit.error)")
    }

    /// The service is killed, and what came meanwhile is posted again.
    @Test func aServiceThatWasDownIsToldAgain() async throws {
        let folder = try studio()
        let first = try RunningService(folder)
        let address = try webhook(of: first)
        let simulator = try await RunningSimulator(folder, ["--webhook", address, "--speed", "3600"])
        first.kill()
        _ = try simulator.must(
            "buy", "--product", "com.example.game.gems500", "--account", Self.players[0], "--finished")
        let http = address.dropFirst("http://".count).prefix { $0 != "/" }
        let second = try RunningService(folder, arguments: ["--http-listen", String(http)])
        let client = try await second.client()
        #expect(try await eventually { try await available(Self.players[0], client) == 500 })
        try await client.close()
        #expect(try simulator.stop(SIGINT).status == 0)
        #expect(second.stop() == 0)
    }

    /// Nothing is posted to the service, which finds all of it in the notification history.
    @Test func aServiceReadsByItselfWhatItsWebhookNeverGot() async throws {
        let folder = try studio()
        let simulator = try await RunningSimulator(
            folder, ["--webhook", "http://127.0.0.1:1/app-store/notifications", "--lose", "100%", "--fail", "20%"])
        func text(_ name: String) throws -> String { try #require(simulator.introduction[name] as? String) }
        let service = try RunningService(
            folder,
            arguments: [
                "--app-store-key", try text("keyFile"), "--app-store-key-id", try text("keyId"),
                "--app-store-issuer-id", try text("issuerId"), "--app-store-address", simulator.address,
                "--app-store-history-seconds", "1",
            ])
        var ids: [String] = []
        for _ in 0..<25 {
            let jws = try simulator.must(
                "buy", "--product", "com.example.game.gems500", "--account", Self.players[0])
            ids.append(try TransactionPayload(unverified: Array(jws.utf8)).transactionID)
        }
        _ = try simulator.must("refund", ids[7])
        let client = try await service.client()
        let isEqual = try await eventually { try await available(Self.players[0], client) == 24 * 500 }
        let said = try service.said
        #expect(isEqual, "\(said)")
        try await client.close()
        #expect(service.stop() == 0)
        #expect(try simulator.stop().status == 0)
    }

    @Test func whatTheFolderLacksIsMadeAndARestartKnowsWhatItSold() async throws {
        let folder = try TemporaryFolder()
        let first = try await RunningSimulator(folder)
        let introduction = first.introduction
        let keyID = try #require(introduction["keyId"] as? String)
        #expect(introduction["keyFile"] as? String == folder.path("chain/AuthKey_\(keyID).p8"))
        #expect(introduction["anchor"] as? String == folder.path("chain/root.der"))
        #expect(introduction["bundleId"] as? String == "com.example.game")
        #expect((introduction["issuerId"] as? String).flatMap { UUID(uuidString: $0) } != nil)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path("chain/AuthKey_\(keyID).p8"))
        #expect(mode[.posixPermissions] as? Int == 0o600)
        let line = try first.must("buy", "--product", "gems", "--json")
        let bought = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        let id = try #require(bought["transactionId"])
        #expect(bought["notificationUUID"] == nil && bought["orderId"] != nil && bought["signedTransaction"] != nil)
        let twice = try Command.run(["sandbox", "serve", folder.path("chain"), "--listen", "127.0.0.1:0"])
        #expect(twice.status == 1 && twice.error.contains("another simulator has it open"), "\(twice.error)")
        #expect(try first.stop().status == 0)

        let second = try await RunningSimulator(folder)
        for name in ["issuerId", "keyId", "keyFile"] {
            #expect(second.introduction[name] as? String == introduction[name] as? String)
        }
        #expect(try second.must("state", id).contains(#""productId":"gems""#))
        #expect(try second.stop().status == 0)
    }

    /// A port that nobody listens on.
    private func freePort() throws -> String {
        let script = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
        let finished = try Command.run(URL(fileURLWithPath: "/usr/bin/python3"), ["-c", script])
        return finished.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The example of the page is run as it stands there, but for the ports, on which another may listen.
    @Test func theStoryOfThePageIsTrue() throws {
        let page = try PageBlocks("Sources/AppStoreSimulator/AppStoreSimulator.docc/Simulator.md")
        let story = try #require(page.blocks(in: ["sh"]).first).text
        let folder = try TemporaryFolder()
        let (webhook, simulator) = (try freePort(), try freePort())
        try #require(story.contains("127.0.0.1:7118") && story.contains("kill %1 %2"))
        try folder.write("story.sh", story.replacing("7118", with: webhook))
        try folder.write(
            "currency-ledger",
            """
            #!/bin/sh
            case "$1 $2" in
            "sandbox serve") exec '\(Command.executable.path)' "$@" --listen 127.0.0.1:\(simulator) ;;
            "sandbox init") exec '\(Command.executable.path)' "$@" ;;
            "sandbox "*)
                exec '\(Command.executable.path)' "$@" --simulator http://127.0.0.1:\(simulator) ;;
            *) exec '\(Command.executable.path)' "$@" ;;
            esac

            """)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: folder.path("currency-ledger"))
        let finished = try Command.run(
            URL(fileURLWithPath: "/bin/bash"),
            [
                "-c", #"cd "$1" && PATH="$1:$PATH" exec timeout 120 bash -eum story.sh"#, "story", folder.url.path,
            ])
        #expect(finished.status == 0, "\(finished.output)\(finished.error)")
        #expect(finished.output.contains(#""transactionId":"2000000000000001""#))
        #expect(finished.output.contains(#""revoked":33333"#), "\(finished.output)")
    }

    @Test func whatTheSimulatorRefusesACommandSays() async throws {
        let folder = try TemporaryFolder()
        let simulator = try await RunningSimulator(folder)
        for (arguments, why) in [
            (["refund", "7"], "there is no transaction 7"), (["state", "7"], "there is no transaction 7"),
        ] {
            let finished = try Command.run(["sandbox"] + arguments + ["--simulator", simulator.address])
            #expect(finished.status == 1 && finished.error == "currency-ledger: \(why)\n", "\(finished.error)")
        }
        #expect(try simulator.stop().status == 0)
        let absent = try simulator.drive("state")
        let words = "currency-ledger: no simulator at \(simulator.address): Connection refused\n"
        #expect(absent.status == 1 && absent.error == words, "\(absent.error)")
    }

    @Test(arguments: [
        (["serve", "chain", "--lose", "120%"], "--lose"),
        (["serve", "chain", "--speed", "0"], "--speed must be from 1"),
        (["serve", "chain", "--listen", "7120"], "--listen must be host:port"),
        (["serve", "chain", "--environment", "Xcode"], "--environment must be one of Sandbox, Production"),
        (["serve", "chain", "--rate-limit", "0"], "--rate-limit must be from 1"),
        (["buy", "--product", "a", "--price", "0,99"], "--price must be as 0.99"),
        (["buy", "--product", "a", "--quantity", "11"], "--quantity must be from 1 to 10"),
        (["buy", "--product", "a", "--account", "p"], "--account must be a UUID"),
        (["refund", "abc"], "must be decimal digits"), (["renew"], "transaction-id"),
        (["request-consumption", "7", "--reason", "NONE"], "--reason must be one of"),
        (["state", "--simulator", "127.0.0.1:7120"], "--simulator must be http://host:port"),
        (["reports", "files", "--kind", "yearly"], "--kind"), (["reports", "files", "--zone", "mars"], "--zone"),
        (["reports", "files", "--from", "11/25/2026"], "--from"),
        (["reports", "files", "--mistake", "lost"], "--mistake"),
        (["reports", "files", "--to", "2026-11-25"], "--to needs --from"),
        (["reports", "files", "--from", "2026-11-25", "--to", "2026-11-24"], "--to must not be before --from"),
        (["reports", "files", "--vendor", "studio"], "--vendor must be 1 to 20 digits"),
    ])
    func aWrongOptionIsNamed(arguments: [String], why: String) throws {
        let finished = try Command.run(["sandbox"] + arguments)
        #expect(finished.status == 64 && finished.error.contains(why), "\(finished.error)")
    }

    /// Apple's reports of what it sold, in a folder, held against its state.
    @Test func itsReportsAreThoseOfItsState() async throws {
        let folder = try TemporaryFolder()
        let simulator = try await RunningSimulator(folder)
        _ = try simulator.must("buy", "--product", "gems80", "--price", "0.99", "--quantity", "3")
        _ = try simulator.must("buy", "--product", "gems80", "--price", "0.99")
        _ = try simulator.must("buy", "--product", "gems500", "--price", "4.99")
        _ = try simulator.must("refund", "2000000000000001", "--revocation-percentage", "50000")
        let books = try simulator.state().values.map { purchase in
            func number(_ name: String) -> Int64? { purchase[name] as? Int64 }
            func text(_ name: String) throws -> String { try #require(purchase[name] as? String) }
            let price = Thousandths(rawValue: try #require(number("price")))
            return BookedTransaction(
                id: try text("transactionId"), product: try text("productId"), storefront: try text("storefront"),
                currency: try text("currency"), purchasedAt: try #require(number("purchaseDate")),
                quantity: try #require(number("quantity")), price: price, refundedAt: number("revocationDate"),
                refundedPrice: price.part(number("revoked") ?? 0))
        }
        #expect(books.map { $0.price?.rawValue ?? 0 }.sorted() == [990, 2_970, 4_990])

        func match(_ options: String...) throws -> (SalesMatch, [[String: Any]]) {
            let output = try Command.run(
                ["sandbox", "reports", folder.path("files"), "--simulator", simulator.address] + options)
            #expect(output.status == 0, "\(output.error)")
            let lines = try output.output.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
            var matching = SalesMatching(zone: .utc)
            for transaction in books { matching.add(transaction) }
            for line in lines where line["bytes"] != nil {
                let file = try #require(line["file"] as? String)
                var fault: ReportFault?
                _ = try ReportReader().read(ReportInput(path: folder.path("files/\(file)"))) { line in
                    guard case .sales(let line) = line else { return }
                    do throws(ReportFault) { try matching.add(line) } catch { fault = error }
                }
                #expect(fault == nil)
            }
            return (matching.result(explainedBy: books), lines)
        }
        let (agreeing, files) = try match("--zone", "utc")
        #expect(agreeing.differences == [] && agreeing.lines.count >= 2)
        let names = files.compactMap { $0["file"] as? String }
        #expect(names.contains { $0.hasPrefix("S_D_80012345_") } && names.contains { $0.hasSuffix("_US.txt.gz") })
        let (differing, lines) = try match("--zone", "utc", "--kind", "weekly", "--mistake", "doubled", "--plain")
        #expect(differing.differences.map(\.kind) == [.doubledInReport])
        let putIn = try #require(lines.last)
        #expect(putIn["mistake"] as? String == "doubled")
        #expect(putIn["product"] as? String == differing.differences.first?.key.product)
        #expect(try simulator.stop().status == 0)
    }

    @Test func anAddressOfOtherMachinesIsRefused() throws {
        let folder = try TemporaryFolder()
        let finished = try Command.run(["sandbox", "serve", folder.path("chain"), "--listen", "0.0.0.0:0"])
        #expect(finished.status == 1 && finished.error.contains("listens to this machine alone"), "\(finished.error)")
        try folder.write("Game.storekit", #"{"products":[{"productID":"a"}]}"#)
        let file = try Command.run([
            "sandbox", "serve", folder.path("chain"), "--storekit", folder.path("Game.storekit"),
        ])
        #expect(file.status == 1 && file.error.contains("Game.storekit: is no StoreKit configuration"), "\(file.error)")
    }
}
