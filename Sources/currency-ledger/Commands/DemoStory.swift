import AppStore
import Foundation
import Ledger
import LedgerClient
import LedgerWire
import StrictJSON

/// The conversation of the demo, step by step: what was sent, what came back, what it means, and whether it was right.
struct DemoStory {
    let client: LedgerClient
    let stage: DemoStage
    let settings: LedgerSettings
    let appStore: DemoAppStore
    private let address: String
    let httpAddress: String
    private var number = 0
    private var allCameOut = true
    private let printer = JSONPrinter(widthMax: 100, stringMax: 120)

    /// - Parameters:
    ///   - settings: of the service's ledger.
    ///   - address: where the service listens for lines.
    ///   - httpAddress: where it listens for notifications.
    init(
        client: LedgerClient, stage: DemoStage, settings: LedgerSettings, appStore: DemoAppStore, address: String,
        httpAddress: String
    ) {
        self.client = client
        self.stage = stage
        self.settings = settings
        self.appStore = appStore
        self.address = address
        self.httpAddress = httpAddress
    }

    mutating func tell() async throws -> Bool {
        Console.print(
            """
            A studio sells gems and tickets. Its ledger listens on \(address); every line below went over TCP.
            → what was sent    ← what came back    = what it means
            """)
        try await credits()
        try await spendsAndRefund()
        try await refundInParts()
        try await lateAndEarly()
        try await forgery()
        try await throughTheAppStore()
        try await books()
        return allCameOut
    }

    private mutating func credits() async throws {
        let first = try stage.chain.sign(stage.transaction("2000001000000001"))
        try await step(
            "The player buys 500 gems. The app posts the transaction that the App Store signed.",
            "credit",
            {
                $0.member("account", "player-1"); $0.member("signedTransaction", first)
            },
            #""outcome":"credited""#, #""available":500,"#,
            means: """
                The signature leads to a trusted root, so the purchase is credited. The app may finish the \
                transaction.
                """
        )
        try await step(
            "The app crashed before it saw the reply, and posts the same purchase again.",
            "credit",
            {
                $0.member("account", "player-1"); $0.member("signedTransaction", first)
            },
            #""outcome":"already_credited""#, #""posted":[]"#, #""available":500,"#,
            means: "Once per transaction id: nothing is posted, and the app is told the same good news.")
        let starter = try stage.chain.sign(
            stage.transaction("2000001000000002", product: "com.example.game.starter"))
        try await step(
            "Another player buys a starter pack: one purchase, two currencies.",
            "credit",
            {
                $0.member("account", "player-2"); $0.member("signedTransaction", starter)
            },
            #""outcome":"credited""#, #""available":1000,"#, #""tickets":{"available":5,"#,
            means: "Both currencies are posted in one entry.")
    }

    private mutating func spendsAndRefund() async throws {
        try await step(
            "The game gives player-1 a daily reward.",
            "grant",
            {
                $0.member("key", "daily-2026-01-01-player-1")
                $0.member("account", "player-1")
                $0.member("currency", "gems")
                $0.member("amount", 20)
                $0.member("note", "daily reward")
            }, #""available":520,"#, #""free":20,"#,
            means: "Free gems are kept apart from bought ones.")
        try await spend(
            "Player-1 buys a dragon for 400 gems.", key: "dragon-1", account: "player-1", amount: 400,
            #""available":120,"#, #""paid":120,"#,
            means: "The free lot was drawn first, then the purchase's own; the game is told which.")
        try await spend(
            "The game server times out and sends the same spend again.", key: "dragon-1", account: "player-1",
            amount: 400, #""replayed":true"#, #""available":120,"#,
            means: "One key, one answer: the dragon is paid for once.")
        try await spend(
            "Player-1 wants a castle for 1,000 gems.", key: "castle-1", account: "player-1", amount: 1_000,
            #""reason":"insufficient_funds""#, #""available":120"#,
            means: "A wallet is never overdrawn. Nothing was changed.")

        let refund = try notification(.refund, stage.transaction("2000001000000001", signedAt: 10_000, refunded: true))
        try await step(
            "Apple refunds the 500 gems, though 380 of them are spent, and notifies the studio's server.",
            "notify", { $0.member("signedPayload", refund) },
            #""outcome":"reversed""#, #""amount":-500"#,
            #""available":0,"#, #""debt":380,"#,
            means: """
                The 120 that were left are taken back; the 380 that were spent are owed, and later credits pay them \
                first.
                """
        )
        let replayed = try stage.chain.sign(stage.transaction("2000001000000001"))
        try await step(
            "The device replays the old JWS, from before the refund.",
            "credit",
            {
                $0.member("account", "player-1"); $0.member("signedTransaction", replayed)
            },
            #""outcome":"already_reversed""#, #""posted":[]"#,
            means: "The newest signature counts, whatever the order of arrival.")
        let next = try stage.chain.sign(stage.transaction("2000001000000003", signedAt: 20_000))
        try await step(
            "Player-1 buys 500 gems once more.",
            "credit",
            {
                $0.member("account", "player-1"); $0.member("signedTransaction", next)
            },
            #""outcome":"credited""#, #""available":120,"#, #""debt":0,"#,
            means: "The debt of 380 is paid first; 120 are left to spend.")
    }

    private mutating func refundInParts() async throws {
        try await spend(
            "Player-2 spends 250 of the starter pack's 1,000 gems.", key: "shield-1", account: "player-2", amount: 250,
            #""available":750,"#, means: "A quarter of the gems is consumed, and none of the tickets.")
        let starter = stage.transaction("2000001000000002", product: "com.example.game.starter")
        let request = try notification(.consumptionRequest, starter, reason: .unintendedPurchase)
        try await step(
            "Player-2 asks Apple for a refund. Apple asks the studio how much was consumed.",
            "notify", { $0.member("signedPayload", request) },
            #""notificationType":"CONSUMPTION_REQUEST""#, #""outcome":"already_credited""#,
            means: "Recorded with the purchase; the answer is due within 12 hours.")
        try await step(
            "The customer has consented, so the studio asks the ledger what to answer.",
            "consumption",
            {
                $0.member("transactionId", "2000001000000002")
                $0.key("customerConsented")
                $0.bool(true)
            }, #""consumptionPercentage":12500"#, #""deliveryStatus":"DELIVERED""#,
            means: "The body of Apple's Send Consumption Information: a quarter of the gems and no ticket is 12.5 %.")
        var part = stage.transaction(
            "2000001000000002", product: "com.example.game.starter", signedAt: 10_000, refunded: true)
        part.revocationPercentage = 50_000
        let refund = try notification(.refund, part)
        try await step(
            "Apple refunds half of the pack.", "notify", { $0.member("signedPayload", refund) },
            #""outcome":"reversed""#, #""amount":-500"#, #""amount":-2"#, #""available":250,"#,
            means: "Half of each currency no longer stands; an odd ticket is rounded in the player's favour.")
        let reversed = try notification(
            .refundReversed,
            stage.transaction("2000001000000002", product: "com.example.game.starter", signedAt: 20_000))
        try await step(
            "The refund was a mistake, and Apple takes it back.", "notify", { $0.member("signedPayload", reversed) },
            #""outcome":"reinstated""#, #""available":750,"#, #""tickets":{"available":5,"#,
            means: "The purchase stands again in full.")
    }

    private mutating func lateAndEarly() async throws {
        let charge = try notification(.oneTimeCharge, stage.transaction("2000001000000004"))
        try await step(
            "Apple tells of a purchase before the app does, and nothing in it names the player.",
            "notify", { $0.member("signedPayload", charge) }, #""outcome":"unassigned""#, #""finish":false"#,
            means: "Recorded with its evidence. Whose it is, a later credit says.")
        let late = try stage.chain.sign(stage.transaction("2000001000000004"))
        try await step(
            "The app comes online, and names the player.",
            "credit",
            {
                $0.member("account", "player-3"); $0.member("signedTransaction", late)
            },
            #""outcome":"credited""#, #""available":500,"#, means: "Credited now, once.")
        let refunded = try stage.chain.sign(stage.transaction("2000001000000005", signedAt: 10_000, refunded: true))
        try await step(
            "The refund of another purchase arrives before the purchase itself.",
            "credit",
            {
                $0.member("account", "player-3"); $0.member("signedTransaction", refunded)
            },
            #""outcome":"reversed""#, #""posted":[]"#, #""available":500,"#,
            means: "Sale and refund are both in the books; the wallet is as it was.")
        let purchased = try stage.chain.sign(stage.transaction("2000001000000005"))
        try await step(
            "Then the purchase arrives, signed earlier.",
            "credit",
            {
                $0.member("account", "player-3"); $0.member("signedTransaction", purchased)
            },
            #""outcome":"already_reversed""#, #""available":500,"#,
            means: "In any order, the books end the same.")
    }

    private func notification(
        _ type: NotificationPayload.NotificationType, _ transaction: TransactionPayload,
        reason: NotificationPayload.ConsumptionRequestReason? = nil
    ) throws -> String {
        var data = NotificationPayload.AppMetadata(bundleID: DemoStage.bundleID, environment: .sandbox)
        data.signedTransactionInfo = try stage.chain.sign(transaction)
        data.consumptionRequestReason = reason
        return try stage.chain.sign(
            NotificationPayload(
                notificationType: type, notificationUUID: UUID().uuidString.lowercased(),
                signedDate: transaction.signedDate, data: data))
    }

    private mutating func forgery() async throws {
        let forged = try stage.forger.sign(stage.transaction("2000001000000666"))
        try await step(
            "An attacker signs a purchase with certificates of his own that look like Apple's.",
            "credit",
            {
                $0.member("account", "thief"); $0.member("signedTransaction", forged)
            },
            #""reason":"verification_failed""#, #""detail":"untrusted_root""#,
            means: "The chain ends at no trusted root. Nothing was changed.")
        var tampered = Array(try stage.chain.sign(stage.transaction("2000001000000006")).utf8)
        let end = tampered.count - 40
        tampered[end] = tampered[end] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let text = String(decoding: tampered, as: UTF8.self)
        try await step(
            "He takes a good signature and changes one character of it.",
            "credit",
            {
                $0.member("account", "thief"); $0.member("signedTransaction", text)
            },
            #""reason":"verification_failed""#, #""detail":"invalid_signature""#,
            means: "The signature does not hold.")
    }

    private mutating func books() async throws {
        let trial = try await client.report(.trial, asOf: nil, currency: nil, limit: Limits.reportPageMax, after: nil)
        Console.print("\nThe trial balance (debits − credits; it must sum to zero in each currency):\n")
        var sums: [CurrencyCode: Int128] = [:]
        for row in trial.rows {
            guard case .trial(let currency, let account, let debits, let credits) = row else { continue }
            sums[currency, default: 0] += debits - credits
            if debits == 0 && credits == 0 { continue }
            Console.print("  " + columns([currency.text, account.name], [debits, credits, debits - credits]))
        }
        for (currency, sum) in sums.sorted(by: { $0.key < $1.key }) {
            Console.print("  " + columns([currency.text, "sum"], [sum]))
            if sum != 0 { allCameOut = false }
        }
        let balances = try await client.report(
            .balances, asOf: trial.asOf, currency: nil, limit: Limits.reportPageMax, after: nil)
        let path = stage.folder.appendingPathComponent("balances.csv").path
        var file = try ReportFile(path, format: .csv, kind: .balances)
        try file.write(balances.rows)
        try file.finish()
        Console.print("\nThe balances, as exported to balances.csv:\n")
        for line in String(decoding: try File.read(path, bytesMax: 1 << 20), as: UTF8.self).split(separator: "\r\n") {
            Console.print("  \(line)")
        }
        let expected = [
            "player-1,gems,120,0,0,120,0", "player-2,gems,750,0,0,750,0", "player-2,tickets,5,0,0,5,0",
            "player-3,gems,500,0,0,500,0", "\(DemoStory.accountAtApple),gems,375,0,0,375,0",
        ]
        let exported = String(decoding: try File.read(path, bytesMax: 1 << 20), as: UTF8.self)
        for line in expected where !exported.contains(line) { allCameOut = false }
    }

    private func columns(_ names: [String], _ numbers: [Int128]) -> String {
        names.map { $0.padding(toLength: 12, withPad: " ", startingAt: 0) }.joined()
            + numbers.map { String(repeating: " ", count: max(0, 8 - String($0).count)) + String($0) }.joined()
    }

    mutating func spend(
        _ title: String, key: String, account: String, amount: Int64, _ expected: String..., means: String
    ) async throws {
        try await step(
            title, "spend",
            {
                $0.member("key", key)
                $0.member("account", account)
                $0.key("debits")
                $0.beginArray()
                $0.beginObject()
                $0.member("currency", "gems")
                $0.member("amount", amount)
                $0.endObject()
                $0.endArray()
            }, expected, means: means)
    }

    mutating func step(
        _ title: String, _ method: String, _ members: (inout JSONWriter) -> Void, _ expected: String..., means: String
    ) async throws {
        try await step(title, method, members, expected, means: means)
    }

    /// Sends one request, prints the exchange, and checks that the reply has every expected piece of JSON.
    private mutating func step(
        _ title: String, _ method: String, _ members: (inout JSONWriter) -> Void, _ expected: [String], means: String
    ) async throws {
        let params = DemoStory.object(members)
        let reply = try await reply(method, params)
        try show(title, method, params, reply, expected, means: means)
    }

    static func object(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        members(&writer)
        writer.endObject()
        return writer.bytes
    }

    /// What the service answers, an error too.
    func reply(_ method: String, _ params: [UInt8]) async throws -> [UInt8] {
        do {
            return try await client.call(method: method, params: params)
        } catch let error as WireError {
            return error.json
        }
    }

    /// Prints an exchange, and checks that the reply has every expected piece of JSON.
    mutating func show(
        _ title: String, _ sent: String, _ params: [UInt8], _ reply: [UInt8], _ expected: [String], means: String
    ) throws {
        number += 1
        let text = String(decoding: reply, as: UTF8.self)
        let missing = expected.filter { !text.contains($0) }
        Console.print("\n\(number). \(title)")
        Console.print("   → \(sent) \(indented(try printer.print(params)))")
        Console.print("   ← \(indented(try printer.print(reply)))")
        if missing.isEmpty {
            Console.print("   = \(means)")
        } else {
            allCameOut = false
            Console.print("   ! This is not as it should be: the reply lacks \(missing.joined(separator: " and "))")
        }
    }

    private func indented(_ text: String) -> String { text.replacingOccurrences(of: "\n", with: "\n     ") }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: StaticString, _ value: String) {
        key(name)
        string(value)
    }

    fileprivate mutating func member(_ name: StaticString, _ value: Int64) {
        key(name)
        integer(value)
    }
}
