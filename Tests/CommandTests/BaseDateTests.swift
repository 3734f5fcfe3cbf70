import AppStore
import Foundation
import LedgerClient
import Testing

/// What Japan's Payment Services Act asks, from the books.
@Suite struct BaseDateTests {
    private static func purchase(
        _ studio: Studio, _ number: Int, price: Int64, currency: String, storefront: String
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
                "line,paid,JPY,JPN,gems,1,300,6000000.000,,", "line,paid,USD,USA,gems,1,500,4.990,,",
                "line,free,,,gems,1,7,,,", "total,paid,JPY,,,1,,6000000.000,10000000.000,no",
                "total,paid,USD,,,1,,4.990,,",
            ])
        try await credit(3, 4_000_000_001, "JPY", "JPN")
        #expect(try rows().contains("total,paid,JPY,,,2,,10000000.001,10000000.000,yes"))
        // Before there was a ledger nobody had anything.
        #expect(try rows("2026-03-31") == ["total,paid,JPY,,,0,,0.000,10000000.000,no"])
        for (date, why) in [("2026-03-30", "must be a 31 March or 30 September"), ("2999-09-30", "future")] {
            let refused = try Command.run(["base-date", date, "--server", service.address])
            #expect(refused.status != 0 && refused.error.contains(why), "\(refused)")
        }
        try await client.close()
        #expect(service.stop() == 0)
    }
}
