import AppStore
import Foundation
import LedgerClient
import Testing

/// Reports in money, straight from the tables and from a service.
@Suite struct FinanceExportTests {
    /// A purchase at 4.99 dollars.
    private static func purchase(
        _ studio: Studio, _ number: Int, product: String = "com.example.game.gems500", revoked: Bool = false
    ) throws -> String {
        var payload = TransactionPayload(
            transactionID: String(2_000_000_000_000_000 + number), bundleID: "com.example.game", productID: product,
            purchaseDate: studio.now - 86_400_000, signedDate: studio.now - (revoked ? 50_000 : 60_000),
            environment: .sandbox)
        payload.price = 4_990
        payload.currency = "USD"
        payload.storefront = "USA"
        if revoked { payload.revocationDate = studio.now - 86_400_000 }
        return try studio.chain.sign(payload)
    }

    private static func key(_ text: String) throws -> RequestKey { try #require(RequestKey(text)) }

    /// A player with a name that a spreadsheet would run bought twice, spent 200 of 500 gems, and got one purchase
    /// back; a third purchase has no account yet.
    private static func fill(_ studio: Studio, _ service: RunningService) async throws {
        let client = try await service.client()
        let player = try #require(AccountName("=1+1"))
        let gems = try #require(CurrencyCode("gems"))
        for number in [1, 2] {
            _ = try await client.credit(signedTransaction: try purchase(studio, number), account: player)
        }
        _ = try await client.credit(signedTransaction: try purchase(studio, 2, revoked: true), account: player)
        let amount = try #require(Amount(200))
        _ = try await client.spend(
            Spend(key: try key("s"), account: player, debits: [CurrencyAmount(currency: gems, amount: amount)]))
        _ = try await client.grant(
            Grant(key: try key("g"), account: player, currency: gems, amount: try #require(Amount(7))))
        let told = NotificationPayload(
            notificationType: .oneTimeCharge, notificationUUID: "u", signedDate: studio.now - 1_000,
            data: .init(
                bundleID: "com.example.game", environment: .sandbox,
                signedTransactionInfo: try purchase(studio, 3)))
        _ = try await client.notify(signedPayload: try studio.chain.sign(told))
        try await client.close()
    }

    @Test func whatWasSoldEarnedAndIsStillOwedIsExportedInMoney() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        try await Self.fill(studio, service)
        func export(_ arguments: String...) throws -> [String] {
            let finished = try Command.run(["export"] + arguments)
            #expect(finished.status == 0, "\(finished.error)")
            return finished.output.components(separatedBy: "\r\n").dropLast()
        }
        let reports = [
            "sales", "revenue", "deferred", "rollforward", "lots", "spends", "purchases", "unassigned", "journal",
        ]
        let told = try reports.map { try export($0, "--server", service.address) }
        let effective = try export("sales", "--by", "effective", "--server", service.address)
        #expect(service.stop() == 0)
        let path = studio.folder.path("ledger")
        #expect(try reports.map { try export($0, "--path", path) } == told)
        #expect(try export("sales", "--by", "effective", "--path", path) == effective)

        let sold = "com.example.game.gems500,USA,USD,app_store,signed"
        let (today, before) = (UTCText.day(of: studio.now), UTCText.day(of: studio.now - 86_400_000))
        let bought = [
            "day,product,storefront,priceCurrency,source,basis,units,sold,refunded,refundedOfSale,net,netOfSale"
        ]
        #expect(told[0] == bought + ["\(today),\(sold),2,9.980,4.990,4.990,4.990,4.990"])
        #expect(effective == bought + ["\(before),\(sold),2,9.980,4.990,4.990,4.990,4.990"])
        #expect(
            told[1] == [
                "product,storefront,priceCurrency,source,basis,currency,units,recognised,reversed",
                "\(sold),gems,200,1.996,0.000",
            ])
        #expect(told[2].last == "\(sold),gems,0.000,9.980,0.000,4.990,1.996,2.994,1,300,2.994,0.000,0.000,0.000,0.000")
        #expect(
            told[3] == [
                "currency,class,opening,purchased,imported,granted,reinstated,reversed,adjusted,spent,refunded,"
                    + "writtenOff,expired,debtPaid,closing,available,held,debt",
                "gems,free,0,0,0,7,0,0,0,0,0,0,0,0,7,7,0,0", "gems,paid,0,1000,0,0,0,0,0,200,500,0,0,0,300,300,0,0",
            ])
        let names = told[4].dropFirst().map { $0.components(separatedBy: ",")[1] }
        #expect(names == ["'=1+1", "'=1+1"])
        let lot = try #require(told[4].dropFirst().first)
        #expect(lot.hasSuffix(",500,300,0,4.990,2.994,1.996,0.000"), "\(lot)")
        #expect(told[5].count == 2 && told[5][1].hasSuffix(",200,1,2000000000000001,\(sold),1.996"), "\(told[5])")
        #expect(told[6].count == 4 && told[6][1].hasSuffix(",4.990,USD,signed,0,,gems:500:1,1"), "\(told[6])")
        #expect(told[6][2].contains(/,4\.990,USD,signed,100000,20[^,]+Z,gems:500:1,2$/), "\(told[6])")
        #expect(told[7].count == 2 && told[7][1].hasPrefix("2000000000000003,,com.example.game.gems500,1,app_store,"))
        #expect(told[8].count == 6)

        // By when it was bought and taken back, whenever it was posted: up to the day before, and from today on.
        let end = "\(before)T23:59:59.999Z"
        let past = try export("sales", "--by", "effective", "--as-of", end, "--path", path)
        #expect(past.count == 2 && past[1].hasPrefix("\(before),\(sold),2,9.980,4.990,"), "\(past)")
        #expect(try export("sales", "--by", "effective", "--from", today, "--path", path) == bought)
        #expect(try export("revenue", "--by", "effective", "--as-of", end, "--path", path).count == 1)
        #expect(try export("revenue", "--by", "effective", "--from", today, "--path", path) == told[1])

        // A month before the ledger began, and one that is not over.
        let early = try Command.run(["export", "revenue", "--month", "2020-02", "--path", path])
        #expect(early.status == 1 && early.error.contains("is before the ledger began, at "), "\(early.error)")
        let future = try Command.run(["export", "revenue", "--month", "2999-02", "--path", path])
        #expect(future.status == 1 && future.error.contains("is in the future"), "\(future.error)")
        let begins = try Command.run(["export", "revenue", "--from", "2999-01-01", "--path", path])
        #expect(begins.status == 1 && begins.error.contains("2999-01-01T00:00:00.000Z is in the future"))
        for (option, time) in [("--from", "-9223372036854775808"), ("--as-of", "9223372036854775807")] {
            let odd = try Command.run(["export", "sales", "\(option)=\(time)", "--by", "effective", "--path", path])
            #expect(odd.status == 64 && odd.error.contains("not '\(time)'"), "\(odd.error)")
        }
        let lines = try Command.run(["export", "revenue", "--format", "jsonl", "--path", path])
        #expect(
            lines.output
                == #"{"product":"com.example.game.gems500","storefront":"USA","priceCurrency":"USD","#
                + #""source":"app_store","basis":"signed","currency":"gems","units":200,"#
                + #""recognised":"1.996","reversed":"0.000"}"# + "\n")
    }
    /// A transaction of plain text is an entry, also where currencies are new in the midst of it.
    @Test func aJournalHasATransactionForEachEntryAndNamesCommoditiesBeforeIt() async throws {
        let studio = try Studio()
        try studio.folder.write(
            "catalog.json",
            #"""
            {"currencies": {"gems": {}, "coins": {}, "gold": {}},
             "products": {"com.example.game.gems500": {"gems": 500, "coins": 20, "gold": 3}}}
            """#)
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let player = try #require(AccountName("ann"))
        for number in 1...2 {
            _ = try await client.credit(signedTransaction: try Self.purchase(studio, number), account: player)
        }
        try await client.close()
        #expect(service.stop() == 0)
        for format in ["hledger", "ledger", "beancount"] {
            let exported = try Command.run(
                ["export", "journal", "--format", format, "--path", studio.folder.path("ledger")])
            #expect(exported.status == 0, "\(exported.error)")
            let lines = exported.output.components(separatedBy: "\n")
            let entries = lines.compactMap { line in
                (line.firstMatch(of: #/^\S+ \* \((\d+)\) /#) ?? line.firstMatch(of: #/^\S+ \* .* "entry (\d+)"$/#))
                    .map { String($0.1) }
            }
            #expect(entries == ["1", "2"], "\(exported.output)")
            let postings = lines.filter { $0.contains(" @@ ") }
            #expect(postings.count == 2 * 2 * 3, "\(exported.output)")
            let names = lines.indices.filter { lines[$0].contains(" commodity ") }
            #expect(names.count == (format == "beancount" ? 3 : 0))
            let first = try #require(lines.firstIndex { $0.contains(" @@ ") })
            #expect(names.allSatisfy { $0 < first }, "\(exported.output)")
        }
    }
}
