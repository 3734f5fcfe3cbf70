import AppStore
import Foundation
import LedgerClient
import Testing

/// What Japan's Payment Services Act asks, from the books.
@Suite struct BaseDateTests {
    private static func purchase(
        _ studio: Studio, _ number: Int, price: Int64?, currency: String?, storefront: String
    ) throws -> String {
        var payload = TransactionPayload(
            transactionID: String(2_000_000_000_000_000 + number), bundleID: "com.example.game",
            productID: "com.example.game.gems500", purchaseDate: studio.now - 86_400_000,
            signedDate: studio.now - 60_000, environment: .sandbox)
        payload.price = price
        payload.currency = currency
        payload.storefront = storefront
        return try studio.chain.sign(payload)
    }

    @Test func theUnusedBalanceIsTheBoughtOnesAtTheirPriceAndTheFreeOnesApart() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let (player, gems) = (try #require(AccountName("player")), try #require(CurrencyCode("gems")))
        func credit(_ number: Int, _ price: Int64, _ currency: String, _ storefront: String) async throws {
            let jws = try Self.purchase(studio, number, price: price, currency: currency, storefront: storefront)
            _ = try await client.credit(signedTransaction: jws, account: player)
        }
        // Bought first, used first: 200 of 500 gems of ten million yen are gone.
        try await credit(1, 10_000_000_000, "JPY", "JPN")
        _ = try await client.spend(
            Spend(
                key: try #require(RequestKey("s")), account: player,
                debits: [CurrencyAmount(currency: gems, amount: try #require(Amount(200)))]))
        try await credit(2, 4_990, "USD", "USA")
        _ = try await client.grant(
            Grant(
                key: try #require(RequestKey("g")), account: player, currency: gems, amount: try #require(Amount(7))))
        func rows(_ arguments: String...) throws -> [String] {
            let finished = try Command.run(["base-date", "--server", service.address] + arguments)
            #expect(finished.status == 0, "\(finished)")
            // The second field is the time.
            return finished.output.components(separatedBy: "\r\n").dropFirst().dropLast().map { line in
                let fields = line.components(separatedBy: ",")
                return (fields[..<1] + fields[2...]).joined(separator: ",")
            }
        }
        #expect(
            try rows() == [
                "line,paid,JPY,JPN,app_store,signed,gems,1,300,6000000.000,,",
                "line,paid,USD,USA,app_store,signed,gems,1,500,4.990,,", "line,free,,,,,gems,1,7,,,",
                "total,paid,JPY,,,signed,,1,,6000000.000,10000000.000,no", "total,paid,USD,,,signed,,1,,4.990,,",
            ])
        // What is set aside is not used yet.
        _ = try await client.hold(
            Hold(
                key: try #require(RequestKey("h")), account: player, currency: gems, amount: try #require(Amount(100)),
                timeoutMilliseconds: 600_000))
        #expect(try rows().first == "line,paid,JPY,JPN,app_store,signed,gems,1,300,6000000.000,,")
        try await credit(3, 4_000_000_001, "JPY", "JPN")
        #expect(try rows().contains("total,paid,JPY,,,signed,,2,,10000000.001,10000000.000,yes"))
        // What players had before there was a ledger it does not know, also where all of that is closed.
        _ = try await client.closePeriod(through: try await client.head().time - 1)
        try studio.folder.write("base-date.csv", "old")
        let output = ["--output", studio.folder.path("base-date.csv")]
        for place in [["--server", service.address], ["--path", studio.folder.path("ledger")]] {
            for (date, why) in [
                ("2026-03-30", "must be a 31 March or 30 September"), ("2999-09-30", "future"),
                ("2025-09-30", "is before the ledger began, at "),
            ] {
                let refused = try Command.run(["base-date", date] + place + output)
                #expect(refused.status != 0 && refused.error.contains(why), "\(refused)")
            }
        }
        #expect(try String(contentsOfFile: studio.folder.path("base-date.csv"), encoding: .utf8) == "old")
        #expect(!FileManager.default.fileExists(atPath: studio.folder.path("base-date.csv.meta.json")))
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// What nobody told the price of is in no sum, and makes it unknown whether the sum is above ten million yen.
    @Test func whatHasNoPriceIsNamedAndNotCountedAsNothing() async throws {
        let studio = try Studio()
        try GeneratedGame.settings(studio)
        let service = try RunningService(studio.folder)
        let client = try await service.client(token: GeneratedGame.token)
        let player = try #require(AccountName("player"))
        func rows() throws -> (rows: [[String]], error: String) {
            let finished = try Command.run(
                ["base-date", "--server", service.address], environment: ["LEDGER_TOKEN": GeneratedGame.token])
            #expect(finished.status == 0, "\(finished)")
            let records = try CSVTable.records(finished.output)
            return (records.dropFirst().map { [$0[0]] + $0[2...] }, finished.error)
        }
        func credit(_ number: Int, _ price: Int64?, _ currency: String?, _ storefront: String) async throws {
            let jws = try Self.purchase(studio, number, price: price, currency: currency, storefront: storefront)
            _ = try await client.credit(signedTransaction: jws, account: player)
        }
        let yen = ["total", "paid", "JPY", "", "", "", "", "0", "", "0.000", "10000000.000"]
        try await credit(1, nil, nil, "USA")
        var told = try rows()
        #expect(
            told.rows == [
                ["unpriced", "paid", "", "USA", "app_store", "", "gems", "1", "500", "", "", ""], yen + ["no"],
            ])
        #expect(told.error.contains("1 paid lot has no price, with 500 units left"), "\(told.error)")
        try await credit(2, nil, nil, "JPN")
        #expect(try rows().rows.last == yen + ["unknown"])

        // Of other stores, of the books before, and by hand: each by its source.
        func external(_ id: String, _ price: Int64?) async throws {
            _ = try await client.external(
                ExternalPurchase(
                    identity: try #require(ExternalIdentity(source: "shop.example", identifier: id)), account: player,
                    product: "com.example.game.gems500", price: price, priceCurrency: price.map { _ in "JPY" },
                    purchaseDate: studio.now - 60_000))
        }
        try await external("priced", 10_000_000_000)
        try await external("unpriced", nil)
        _ = try await client.importLots(
            LotImport(
                key: try #require(RequestKey("i")), account: player,
                lots: [
                    ImportedLot(
                        currency: GeneratedGame.gems, amount: try #require(Amount(300)),
                        purchase: ImportedPurchase(
                            transaction: try #require(TransactionID("77")), product: "com.example.game.gems500",
                            price: 2_994, priceCurrency: "USD", purchaseDate: studio.now - 86_400_000))
                ]))
        _ = try await client.adjust(
            Adjustment(
                key: try #require(RequestKey("a")), account: player, currency: GeneratedGame.gems, lotClass: .paid,
                units: 9, reason: "case 17"), approval: GeneratedGame.approval)
        told = try rows()
        #expect(
            told.rows == [
                ["line", "paid", "JPY", "", "external", "stated", "gems", "1", "500", "10000000.000", "", ""],
                ["line", "paid", "USD", "", "imported", "carried", "gems", "1", "300", "2.994", "", ""],
                ["unpriced", "paid", "", "", "", "", "gems", "1", "9", "", "", ""],
                ["unpriced", "paid", "", "", "external", "", "gems", "1", "500", "", "", ""],
                ["unpriced", "paid", "", "JPN", "app_store", "", "gems", "1", "500", "", "", ""],
                ["unpriced", "paid", "", "USA", "app_store", "", "gems", "1", "500", "", "", ""],
                [
                    "total", "paid", "JPY", "", "", "stated", "", "1", "", "10000000.000", "10000000.000", "unknown",
                ],
                ["total", "paid", "USD", "", "", "carried", "", "1", "", "2.994", "", ""],
            ])
        #expect(told.error.contains("4 paid lots have no price, with 1509 units left"), "\(told.error)")
        // Whatever the others cost, it is above.
        try await external("more", 1)
        #expect(try rows().rows.contains { $0[0] == "total" && $0.last == "yes" })
        // A sum of both names both.
        try await credit(3, 5_000, "JPY", "JPN")
        let total = try #require(try rows().rows.first { $0[0] == "total" && $0[2] == "JPY" })
        #expect(total[5] == "signed stated" && total[9] == "10000005.001", "\(total)")
        try await client.close()
        #expect(service.stop() == 0)
    }
}
