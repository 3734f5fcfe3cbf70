import Foundation
import Ledger
import LedgerClient
import LedgerWire
import Testing

/// `find` on a real ledger: at once, and after a restart from its tables.
@Suite struct FindTests {
    private static let gems = CurrencyCode("gems")!

    @Test func whatIsFoundIsFoundAgainAfterARestart() async throws {
        let studio = try Studio()
        let names = try ["ann", "bob"].map { try #require(AccountName($0)) }
        let keys = try ["gift", "sword", "dear", "trade", "none"].map { try #require(RequestKey($0)) }
        let transaction = try #require(TransactionID("2000000000000001"))
        let queries: [FindQuery] =
            names.map { .account($0) } + keys.map { .key($0) } + [
                .transaction(transaction), .transaction(try #require(TransactionID("2"))),
                .token(try #require(AppAccountToken("0f8fad5b-d9cb-469f-a165-70867728950e"))),
            ]
        let amount = try #require(Amount(20))
        var service = try RunningService(studio.folder)
        var client = try await service.client()
        _ = try await client.credit(signedTransaction: try studio.purchase(1), account: names[0])
        _ = try await client.grant(Grant(key: keys[0], account: names[1], currency: Self.gems, amount: amount))
        let debits = [CurrencyAmount(currency: Self.gems, amount: amount)]
        _ = try await client.spend(Spend(key: keys[1], account: names[0], debits: debits))
        let dear = [CurrencyAmount(currency: Self.gems, amount: try #require(Amount(21)))]
        await #expect(throws: WireError.self) {
            try await client.spend(Spend(key: keys[2], account: names[1], debits: dear))
        }
        _ = try await client.atomic(
            LedgerTypes.Atomic(
                key: keys[3],
                operations: [
                    .spend(Spend(key: keys[3], account: names[1], debits: debits)),
                    .grant(Grant(key: keys[3], account: names[0], currency: Self.gems, amount: amount)),
                ]))
        let first = try await Self.found(client, queries)
        let journal = try await client.journal(after: 0).entries
        let refusal = Refusal(.insufficientFunds(currency: Self.gems, available: 20))
        let purchase = Finding.Purchase(
            transaction: transaction, product: "com.example.game.gems500", account: names[0], entry: journal[0])
        #expect(
            first == [
                .account(.init(name: names[0])), .account(.init(name: names[1])),
                .request(.init(key: keys[0], answer: .posted(journal[1]))),
                .request(.init(key: keys[1], answer: .posted(journal[2]))),
                .request(.init(key: keys[2], answer: .refused(refusal))),
                .request(.init(key: keys[3], answer: .posted(journal[3]))), .unknown, .purchase(purchase), .unknown,
                .unknown,
            ])
        #expect(first[5].accounts == [names[1], names[0]])
        try await client.close()
        // Once as the tables were left, once from the log, once made anew.
        for turn in 0..<3 {
            if turn == 1 { service.kill() } else { #expect(service.stop() == 0) }
            if turn == 2 { #expect(try Command.run(["rebuild", "--config", Self.config(studio)]).status == 0) }
            service = try RunningService(studio.folder)
            client = try await service.client()
            #expect(try await Self.found(client, queries) == first, "turn \(turn)")
            try await client.close()
        }

        client = try await service.client()
        #expect(try await client.forget(names[0]))
        let erased = try #require(AccountName(told: "\u{7F}erased 1"))
        for _ in 0..<2 {
            #expect(try await client.find(.account(names[0])) == .unknown)
            #expect(try await client.find(.transaction(transaction)).accounts == [erased])
            #expect(try await client.find(.key(keys[1])).accounts == [erased])
            #expect(try await client.find(.key(keys[3])).accounts == [names[1], erased])
            try await client.close()
            #expect(service.stop() == 0)
            service = try RunningService(studio.folder)
            client = try await service.client()
        }
        try await client.close()
        #expect(service.stop() == 0)
    }

    private static func config(_ studio: Studio) -> String { studio.folder.path("ledger.json") }

    private static func found(_ client: LedgerClient, _ queries: [FindQuery]) async throws -> [Finding] {
        var found: [Finding] = []
        for query in queries { found.append(try await client.find(query)) }
        return found
    }

    /// As a support person types it: an id of digits alone is text as well.
    @Test func findIsCalledByItsName() async throws {
        let studio = try Studio()
        let service = try RunningService(studio.folder)
        let client = try await service.client()
        _ = try await client.credit(
            signedTransaction: try studio.purchase(1), account: AccountName("ann"))
        try await client.close()
        func call(_ parameters: String...) throws -> Finished {
            try Command.run(["call", "find"] + parameters + ["--server", service.address])
        }
        let found = try call("transactionId=2000000000000001")
        #expect(found.status == 0 && found.output.contains("\"purchase\"") && found.output.contains("\"ann\""))
        #expect(try call("key=17").output.contains("\"unknown\""))
        let wrong = try call("account=ann", "key=17")
        #expect(wrong.status == 1 && wrong.output.contains("key is one too many"))
        #expect(service.stop() == 0)
    }
}
