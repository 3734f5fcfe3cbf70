import AppStore
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Synchronization
import Testing

@testable import LineServer

extension ServerTests {
    /// The project's own client against the project's own server.
    @Suite struct Client {
        @Test func typedCallsSayWhatTheServerSays() async throws {
            let app = try SandboxApp()
            let player = try #require(AccountName("player-1"))
            let gems = try #require(CurrencyCode("gems"))
            try await TestServer.run(tokens: [.init(token: "all", role: .admin)], verifier: app.verifier) { server in
                await #expect(throws: WireError.self) {
                    try await LedgerClient.connect(to: server.address, token: "none")
                }
                let client = try await LedgerClient.connect(to: server.address, token: "all")
                #expect(try await client.info().ledger.engine == "memory")
                let credited = try await client.credit(signedTransaction: try app.transaction(1), account: player)
                #expect(credited.outcome == .credited && credited.posted.map(\.units) == [500])
                let spend = Spend(
                    key: try #require(RequestKey("s")), account: player,
                    debits: [CurrencyAmount(currency: gems, amount: try #require(Amount(120)))], note: "a hat")
                #expect(try await client.spend(spend).drawn.map(\.transaction?.number) == [1])
                #expect(try await client.spend(spend).replayed)
                let history = try await client.history(HistoryQuery(account: player))
                #expect(history.entries.map(\.kind) == [.spend, .credit] && history.entries[0].note == "a hat")
                #expect(try await client.balance(player).balances.map(\.balance.available) == [380])
                #expect(try await client.purchase(TransactionID("1")!).consumption == 24_000)
                let trial = try await client.report(.trial, currency: gems)
                #expect(trial.rows.count == AccountKind.allCases.count { !$0.isListedOnceUsed })
                try await client.close()
            }
        }

        @Test func aReportIsReadPageByPageAsOfOneTime() async throws {
            try await TestServer.run { server in
                let raw = try await server.connect()
                _ = try await raw.ask((0..<95).map { Requests.grant("k\($0)", "player-\($0)", $0 + 1) })
                let client = try await LedgerClient.connect(to: server.address)
                var page = try await client.report(.balances, limit: 20)
                let asOf = page.asOf
                _ = try await raw.ask((0..<95).map { Requests.grant("late\($0)", "player-\($0)", 1_000) })
                var rows = page.rows
                while let next = page.next, rows.count < 1_000 {
                    page = try await client.report(.balances, asOf: asOf, limit: 20, after: next)
                    rows += page.rows
                }
                let available = rows.map { row -> Int64 in
                    guard case .balance(_, _, let available, _, _, _) = row else { return -1 }
                    return available
                }
                #expect(available == (1...95).map { Int64($0) })
            }
        }

        @Test(arguments: [1, 100])
        func pipelinedCreditsAreAnsweredInOrderAndCountedExactly(requestsPerLine: Int) async throws {
            let app = try SandboxApp()
            let count = 1_500
            let jws = try (0..<count).map { Array(try app.transaction(Int64($0)).utf8) }
            let accounts = try (0..<10).map { try #require(AccountName("player-\($0)")) }
            let store = MemoryStore()
            try await TestServer.run(store: store, verifier: app.verifier) { server in
                let client = try await LedgerClient.connect(to: server.address)
                let order = Mutex<[Int]>([])
                try await client.pipeline(
                    count: count, inFlight: 500, requestsPerLine: requestsPerLine,
                    write: { index, id, writer in
                        writer.write(
                            Methods.credit,
                            Credit(signedTransaction: jws[index], account: accounts[index % accounts.count]), id: id)
                    },
                    reply: { index, result in
                        if case .success = result { order.withLock { $0.append(index) } }
                    })
                #expect(order.withLock { $0 } == Array(0..<count))
                let trial = try await client.report(.trial, currency: CurrencyCode("gems"))
                let purchased = trial.rows.compactMap { row -> Int128? in
                    guard case .trial(_, .purchased, let debits, _) = row else { return nil }
                    return debits
                }
                #expect(purchased == [Int128(count) * 500])
                #expect(store.blocks < count / 2, "\(store.blocks) commits")
            }
        }
    }
}
