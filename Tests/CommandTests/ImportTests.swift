import AppStore
import Foundation
import LedgerClient
import LedgerWire
import Testing

/// `import`: lots of players who come from another system.
@Suite struct ImportTests {
    private static let header =
        "account,currency,class,amount,product,price,priceCurrency,purchaseDate,transactionId\r\n"
    private static let product = "com.example.game.gems500"

    private static func transaction(_ number: Int) -> Int { 2_000_000_000_000_000 + number }

    private static func line(_ account: String, _ number: Int, _ units: Int, price: String = "4.99") -> String {
        "\(account),gems,paid,\(units),\(product),\(price),USD,2025-03-01T12:00:00Z,\(transaction(number))\r\n"
    }

    private static func run(_ studio: Studio, _ text: String, _ service: RunningService, _ more: String...) throws
        -> Finished
    {
        try studio.folder.write("players.csv", text)
        return try Command.run(["import", studio.folder.path("players.csv"), "--server", service.address] + more)
    }

    @Test func everyWrongLineIsNamedAndNothingIsDone() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        _ = try await client.credit(signedTransaction: try studio.purchase(9), account: AccountName("old")!)
        let head = try await client.head()
        let lines: [(String, String)] = [
            (Self.line("ann", 1, 5), ""),
            ("ann,gems,free\r\n", "it has 3 fields, and the header 9"),
            (",gems,free,5,,,,,\r\n", "account must be 1 to 128 bytes"),
            ("ann,coals,free,5,,,,,\r\n", "the ledger has no currency coals"),
            ("ann,g ems,free,5,,,,,\r\n", "currency 'g ems' is no currency's code"),
            ("ann,gems,lent,5,,,,,\r\n", "class must be paid or free, not 'lent'"),
            ("ann,gems,free,-1,,,,,\r\n", "amount must be an integer from 0"),
            ("ann,,,0,,,,,\r\n", "amount 0 is for a purchase of which nothing is left, and needs product"),
            ("ann,,,0,p,1.00,,2025-01-01,11\r\n", "price is what is not earned yet"),
            ("ann,,,0,p,,,2025-01-01,12\r\n", ""),
            ("ann,,,0,q,,,2025-01-01,12\r\n", "must say the same of its purchase as line 11"),
            ("kim,,,0,p,,,2025-01-01,12\r\n", "transaction 12 is another account's already, on line 11"),
            ("zoe,gems,free,1,,,,,\r\n", ""),
            ("zoe,gems,free,9007199254740991,,,,,\r\n", "account zoe would have 9007199254740992 gems"),
            ("ann,gems,paid,5,,,,,\r\n", "a paid lot needs product, price"),
            ("ann,gems,free,5,p,,,,7\r\n", "it is of a purchase, and has no price, no priceCurrency, no purchaseDate"),
            ("ann,gems,paid,5,p,4.9999,USD,2025-01-01,7\r\n", "price must be a decimal"),
            ("ann,gems,paid,5,p,4.99,usd,2025-01-01,7\r\n", "priceCurrency must be three capital letters"),
            ("ann,gems,paid,5,p,4.99,USD,yesterday,7\r\n", "purchaseDate must be ISO 8601"),
            ("ann,gems,paid,5,p,4.99,USD,2999-01-01,7\r\n", "has not come"),
            ("ann,gems,paid,5,p,4.99,USD,2025-01-01,07\r\n", "'07' is no transaction id"),
            (Self.line("ben", 1, 5), "transaction 2000000000000001 is another account's already, on line 2"),
            (Self.line("eve", 2, 5), ""),
            (Self.line("eve", 2, 6), "must be of another currency than the other lots of its purchase"),
            (Self.line("kim", 3, 5, price: "0"), "a paid lot has a price above 0"),
            (Self.line("lea", 9, 5), "the ledger has transaction 2000000000000009 already"),
            (Self.line("lea", 9, 0, price: "0"), ""),
            ("ann,g ems,,0,p,,,2025-01-01,13\r\n", "currency 'g ems' is no currency's code"),
            ("ann,,lent,0,p,,,2025-01-01,14\r\n", "class must be paid or free, not 'lent'"),
        ]
        let finished = try Self.run(studio, Self.header + lines.map(\.0).joined(), service)
        #expect(finished.status == 1 && finished.output.isEmpty)
        let said = finished.error.split(separator: "\n")
        for (index, (_, words)) in lines.enumerated() where !words.isEmpty {
            let named = said.filter { $0.hasPrefix("line \(index + 2): ") }
            #expect(named.contains { $0.contains(words) }, "line \(index + 2): \(named)")
        }
        let wrong = lines.filter { !$0.1.isEmpty }.count
        #expect(said.count == wrong + 1, "\(finished.error)")
        #expect(said.last?.hasSuffix("has \(wrong) wrong lines, and nothing was imported") == true, "\(finished.error)")
        for (text, words) in [
            ("", "the file has no header"), ("account,currency,class\r\n", "the column amount is missing"),
            (Self.header + "\"ann,gems,free,5,,,,,\r\n", "a quoted field has no end"),
            (Self.header.replacing("product", with: "prodct"), "'prodct' is none of the columns"),
        ] {
            let finished = try Self.run(studio, text, service)
            #expect(finished.status == 1 && finished.error.contains(words), "\(finished.error)")
        }
        #expect(try await client.head().entry == head.entry)
        try await client.close()
        #expect(service.stop() == 0)
    }

    /// Whoever made the file does not write to the terminal of who imports it.
    @Test func aWrongFieldIsShownAtItsBeginningAndWithoutControlCharacters() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let long = String(repeating: "9", count: 100_000)
        let text = Self.header + "ann,gems,\u{1B}[31m\u{0},5,,,,,\r\nann,gems,free,\(long),,,,,\r\n"
        let finished = try Self.run(studio, text, service)
        let said = finished.error.split(separator: "\n")
        #expect(finished.status == 1 && said.count == 3, "\(finished.error.prefix(1_000))")
        #expect(said.first == #"line 2: class must be paid or free, not '\u{1B}[31m\0'"#)
        #expect(said.dropFirst().first?.hasSuffix("9'… (100000 bytes)") == true)
        #expect(finished.error.utf8.count < 1_000)
        #expect(service.stop() == 0)
    }

    @Test func aDryRunSaysWhatAnImportDoes() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        // Columns in any order, names that need quotes, a byte order mark, and lines that end as on Unix.
        let text =
            "\u{FEFF}class,account,amount,currency,transactionId,price,priceCurrency,product,purchaseDate\n"
            + "free,\"ann, \"\"the first\"\"\",7,gems,,,,,\n"
            + "paid,\"ann, \"\"the first\"\"\",300,gems,77,2.994,USD,\(Self.product),2025-03-01T12:00:00Z\n"
            + "free,ben,4,gems,78,0,USD,\(Self.product),1740830400000\n"
        let sums = "2 accounts: 2 purchases, 1 gifts\ngems free 11\ngems paid 300\nUSD 2.994\n"
        let dry = try Self.run(studio, text, service, "--dry-run")
        #expect(dry.status == 0 && dry.output == "would import " + sums, "\(dry.error)")
        #expect(try await client.head().entry == 0)
        let done = try Self.run(studio, text, service)
        #expect(done.status == 0 && done.output == "imported " + sums, "\(done.error)")
        let first = try #require(AccountName("ann, \"the first\""))
        let balance = try await client.balance(first).balances.first?.balance
        #expect(balance?.available == 307 && balance?.paid == 300)
        let again = try Self.run(studio, text, service)
        #expect(again.output.hasPrefix("imported 0 accounts: 0 purchases, 0 gifts\n"))
        #expect(again.output.hasSuffix("imported before: 2 of 2 requests\n"))
        #expect(try await client.head().entry == 3)
        try await client.close()
        #expect(service.stop() == 0)
    }

    @Test func anAccountIsImportedOnceUnderEachName() async throws {
        let studio = try Studio()
        try studio.folder.write("catalog.json", #"{"currencies": {"gems": {}, "tickets": {}}, "products": {}}"#)
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let dan = try #require(AccountName("dan"))
        let text = Self.header + "dan,gems,free,100,,,,,\r\n"
        #expect(try Self.run(studio, text, service).status == 0)
        for more in ["dan,tickets,free,7,,,,,\r\n", Self.line("dan", 1, 5), Self.line("dan", 1, 0, price: "")] {
            try studio.folder.write("more.csv", text + more)
            for option in [["--dry-run"], []] {
                let finished = try Command.run(
                    ["import", studio.folder.path("more.csv"), "--server", service.address] + option)
                #expect(finished.status == 1, "\(finished.output)")
                #expect(finished.error.contains("account dan was imported before, and not the same of it"))
            }
        }
        #expect(try await client.head().entry == 1)
        let second = Self.header + "dan,tickets,free,7,,,,,\r\n"
        for output in ["imported 1 accounts: 0 purchases, 1 gifts\ntickets free 7\n", "imported 0 accounts"] {
            let finished = try Self.run(studio, second, service, "--name", "tickets")
            #expect(finished.status == 0 && finished.output.hasPrefix(output), "\(finished.error)\(finished.output)")
        }
        #expect(try await client.head().entry == 2)
        #expect(try await client.balance(dan).balances.map(\.balance.available) == [100, 7])
        try await client.close()
        #expect(service.stop() == 0)
    }

    @Test func aPurchaseOfWhichNothingIsLeftIsKnown() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        let count = 600
        // Of the last one gems are left and tickets are not.
        let text =
            Self.header + (0..<count).map { Self.line("ann", $0, 0, price: $0 % 2 == 0 ? "" : "0.00") }.joined()
            + Self.line("ann", count, 3)
            + Self.line("ann", count, 0, price: "0").replacing("ann,gems", with: "ann,tickets")
        let done = try Self.run(studio, text, service)
        let told = "imported 1 accounts: 1 purchases, 0 gifts, \(count) purchases that are used up\n"
        #expect(done.status == 0 && done.output.hasPrefix(told), "\(done.error)\(done.output)")
        #expect(try Self.run(studio, text, service).output.hasSuffix("imported before: 3 of 3 requests\n"))
        #expect(try await client.head().entry == 1)
        let ann = try #require(AccountName("ann"))
        for number in [0, count - 1, count] {
            let jws = try studio.chain.sign(
                TransactionPayload(
                    transactionID: String(Self.transaction(number)), bundleID: "com.example.game",
                    productID: Self.product, purchaseDate: 1_740_830_400_123, signedDate: studio.now - 50_000,
                    environment: .sandbox))
            #expect(try await client.credit(signedTransaction: jws, account: ann).outcome == .alreadyCredited)
        }
        #expect(try await client.balance(ann).balances.map(\.balance.available) == [3])
        let view = try await client.purchase(TransactionID(number: Int64(Self.transaction(0))))
        #expect(view.source == .imported && view.grants.isEmpty)
        try await client.close()
        let purchases = try Command.run(["export", "purchases", "--server", service.address])
        #expect(purchases.output.split(separator: "\r\n").count == count + 2, "\(purchases.error)")
        #expect(service.stop() == 0)
        let audited = try Command.run(["audit", "--config", studio.folder.path("ledger.json")])
        #expect(audited.status == 0 && audited.output.hasSuffix("everything holds\n"), "\(audited.output)")
        let script = Command.root.appendingPathComponent("Schema/verify/verify_log.py").path
        let verified = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", script, studio.folder.path("ledger")])
        #expect(verified.status == 0, "\(verified.output)\(verified.error)")
    }

    @Test func aKillInTheMiddleDoublesNothingAndRefundsTakeTheLotsBack() async throws {
        let studio = try Studio()
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        let count = 3_000
        let accounts = (0..<count).map { "player-\($0)" }
        let text =
            Self.header
            + accounts.enumerated().map { index, account in
                Self.line(account, index, 300, price: "2.994") + "\(account),gems,free,\(index % 5 + 1),,,,,\r\n"
            }.joined()
        try studio.folder.write("players.csv", text)
        let running = try Command.start(
            ["import", studio.folder.path("players.csv"), "--server", service.address], try TemporaryFolder())
        var entry: EntryID = 0
        while entry < 100, running.process.isRunning { entry = try await client.head().entry }
        try await client.close()
        // The service in the middle of it, and then the command, which goes on trying.
        service.kill()
        running.process.terminate()
        #expect(try running.finish().status != 0)

        service = try RunningService(studio.folder)
        client = try await service.client()
        let some = try await client.head().entry
        #expect(some >= 100 && some < Int64(2 * count), "it was killed after \(some) entries")
        let resumed = try Self.run(studio, text, service)
        #expect(resumed.status == 0, "\(resumed.error)")
        #expect(resumed.output.contains("imported before: \(some / 2) of \(count) requests"), "\(resumed.output)")
        #expect(try await client.head().entry == Int64(2 * count))

        let player = try #require(AccountName("player-1"))
        func signed(_ number: Int, revoked: Bool) throws -> String {
            var payload = TransactionPayload(
                transactionID: String(Self.transaction(number)), bundleID: "com.example.game",
                productID: Self.product, purchaseDate: 1_740_830_400_123, signedDate: studio.now - 50_000,
                environment: .sandbox)
            if revoked { payload.revocationDate = studio.now - 60_000 }
            return try studio.chain.sign(payload)
        }
        let replayed = try await client.credit(signedTransaction: try signed(1, revoked: false), account: player)
        #expect(replayed.outcome == .alreadyCredited && replayed.posted.isEmpty)
        let told = NotificationPayload(
            notificationType: .refund, notificationUUID: "u", signedDate: studio.now - 1_000,
            data: .init(
                bundleID: "com.example.game", environment: .sandbox,
                signedTransactionInfo: try signed(2, revoked: true)))
        let notified = try await client.notify(signedPayload: try studio.chain.sign(told))
        #expect(notified.purchase?.outcome == .reversed && notified.purchase?.posted.map(\.units) == [-300])
        let known = try await client.purchase(TransactionID(number: Int64(Self.transaction(1))))
        #expect(known.source == .imported && known.account == player && known.price == 2_994)
        try await client.close()

        func export(_ arguments: String...) throws -> [String] {
            let finished = try Command.run(["export"] + arguments + ["--server", service.address])
            #expect(finished.status == 0, "\(finished.error)")
            return finished.output.components(separatedBy: "\r\n").dropLast()
        }
        let money = "\(count / 1_000 * 2_994).000"
        let left = Money.text(thousandths: Int128(count - 1) * 2_994)
        #expect(
            try export("deferred").last
                == "\(Self.product),,USD,imported,carried,gems,0.000,0.000,\(money),2.994,0.000,\(left),\(count - 1),"
                + "\((count - 1) * 300),0.000,0.000,0.000,0.000,\(left)")
        let free = (0..<count).reduce(0) { $0 + $1 % 5 + 1 }
        let rows = try export("rollforward")
        #expect(rows[2].hasPrefix("gems,paid,0,0,\(count * 300),0,0,0,0,0,300,0,0,0,\((count - 1) * 300),"), "\(rows)")
        #expect(rows[1].hasPrefix("gems,free,0,0,\(free),0,0,0,0,0,0,0,0,0,\(free),"), "\(rows)")
        #expect(try export("sales").dropFirst().allSatisfy { $0.contains(",imported,carried,0,0.000,2.994,0.000") })
        #expect(try export("purchases").dropFirst().allSatisfy { $0.contains(",imported,") })
        #expect(service.stop() == 0)
        let audited = try Command.run(["audit", "--config", studio.folder.path("ledger.json")])
        #expect(audited.status == 0 && audited.output.hasSuffix("everything holds\n"), "\(audited.output)")
        let script = Command.root.appendingPathComponent("Schema/verify/verify_log.py").path
        let verified = try Command.run(
            URL(fileURLWithPath: "/usr/bin/env"), ["python3", script, studio.folder.path("ledger")])
        #expect(verified.status == 0, "\(verified.output)\(verified.error)")
    }
}
