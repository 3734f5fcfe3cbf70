import Foundation
import Testing

/// `catalog import`: from what is for sale to what it grants.
@Suite struct CatalogTests {
    private func folder(_ products: [(id: String, name: String, type: String)]) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let members = products.map { product in
            """
            {"productID": "\(product.id)", "referenceName": "\(product.name)", "type": "\(product.type)",
             "displayPrice": "0.99"}
            """
        }
        try folder.write("Game.storekit", #"{"products": [\#(members.joined(separator: ",\n"))]}"#)
        return folder
    }

    private func imported(_ folder: TemporaryFolder, _ options: String...) throws -> Finished {
        try Command.run(["catalog", "import", folder.path("Game.storekit")] + options)
    }

    private func products(_ finished: Finished) throws -> [String: [String: Int]] {
        let json = try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any]
        return try #require(json?["products"] as? [String: [String: Int]])
    }

    @Test func amountsComeFromOptionsAndFromNamesThatSayThem() throws {
        let folder = try folder([
            ("a", "500 Gems", "Consumable"), ("b", "gems1200", "Consumable"), ("c", "Starter", "Consumable"),
            ("d", "Sword 3", "NonConsumable"),
        ])
        let finished = try imported(
            folder, "--currency", "gems", "--amount", "c=gems:1000", "--amount", "c=tickets:5")
        #expect(finished.status == 0, "\(finished.error)")
        #expect(
            try products(finished) == ["a": ["gems": 500], "b": ["gems": 1_200], "c": ["gems": 1_000, "tickets": 5]])
        #expect(finished.error.contains("d is left out: it is a Non-Consumable without an --amount"))
        #expect(finished.error.contains(#"a: 500 gems, after its reference name "500 Gems""#))
        // A ledger takes it.
        try folder.write("catalog.json", finished.output)
        try folder.write(
            "ledger.json",
            """
            {"path": "ledger", "listen": ["127.0.0.1:0"], "catalog": "catalog.json", "insecureLoopback": true,
             "app": {"bundleId": "com.example.game", "environment": "Sandbox"}}
            """)
        #expect(try RunningService(folder).stop() == 0)
    }

    @Test func whatIsNoConsumableHasItsTypeWhereItGrants() throws {
        let folder = try folder([("a", "500 Gems", "Consumable"), ("d", "Sword", "NonConsumable")])
        let finished = try imported(folder, "--currency", "gems", "--amount", "d=gems:9")
        let json = try JSONSerialization.jsonObject(with: Data(finished.output.utf8)) as? [String: Any]
        let products = try #require(json?["products"] as? [String: [String: Any]])
        #expect(products["d"]?["type"] as? String == "non_consumable")
        #expect(products["d"]?["grants"] as? [String: Int] == ["gems": 9])
    }

    @Test(arguments: [
        "gems500k", "Gems 500K pack", "gems 5M", "gems 500%", "-500 gems", "½ 500 gems", "500+ gems",
        "Gems Pack 2", "1,200 Gems", "500 Gems 4.99", "Gems", "500", "Gemstones 5", "0 Gems", "500 Coins",
    ])
    func whatANameDoesNotSayPlainlyIsAskedFor(name: String) throws {
        let folder = try folder([("a", name, "Consumable"), ("b", "7 Gems", "Consumable")])
        let finished = try imported(folder, "--currency", "gems")
        #expect(finished.status == 1 && finished.output.isEmpty)
        #expect(
            finished.error.hasSuffix(
                "it is not known what these grant: a; say it with --amount PRODUCT=CURRENCY:UNITS\n"),
            "\(finished.error)")
    }

    @Test(arguments: [
        (["--amount", "a=gems:0"], 64, "--amount"), (["--amount", "a:5"], 64, "--amount"),
        (["--currency", "g ems"], 64, "--currency"), (["--amount", "z=gems:5"], 1, "has no product z"),
        (["--amount", "a=gems:5", "--amount", "a=gems:6"], 78, "is given twice"),
    ])
    func aWrongAmountIsNamed(options: [String], status: Int32, why: String) throws {
        let folder = try folder([("a", "500 Gems", "Consumable"), ("d", "Sword", "NonConsumable")])
        let finished = try Command.run(["catalog", "import", folder.path("Game.storekit")] + options)
        #expect(finished.status == status && finished.output.isEmpty)
        #expect(finished.error.contains(why), "\(finished.error)")
    }
}
