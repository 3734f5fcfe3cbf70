import Foundation
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LineServer

extension ServerTests {
    /// A network that breaks all the time. `LEDGER_SEED=…` draws the same cuts again; what is under way at each of
    /// them differs from run to run.
    @Suite struct Chaos {
        private static let players = 8
        private static let tasksPerPlayer = 4
        private static let spendsPerTask = 313

        private struct Heard {
            var entries: Set<EntryID> = []
            var replays = 0
        }

        @Test func everySpendIsCarriedOutExactlyOnceWhereverTheConnectionIsCut() async throws {
            let seed = Seed.drawn()
            let gems = try #require(CurrencyCode("gems"))
            let one = try #require(Amount(1))
            let accounts = try (0..<Self.players).map { try #require(AccountName("player-\($0)")) }
            let perPlayer = Self.tasksPerPlayer * Self.spendsPerTask
            let total = perPlayer * Self.players
            let store = MemoryStore()
            let heard = NIOLockedValueBox(Heard())
            try await TestServer.run(store: store, tokens: [.init(token: "game", role: .admin)]) { server in
                let configuration = ClientConfiguration(
                    requestTimeoutMilliseconds: 120_000, connectTimeoutMilliseconds: 30_000,
                    retryPolicy: RetryPolicy(attemptsMax: 1_000, baseMilliseconds: 2, capMilliseconds: 20))
                let direct = try await LedgerClient.connect(
                    to: server.address, token: "game", configuration: configuration)
                for account in accounts {
                    _ = try await direct.grant(account: account, currency: gems, amount: try #require(Amount(100_000)))
                }
                let proxy = try await CuttingProxy(to: server.address, seed: seed, bytesMax: 40_000)
                let clients = try await Self.connect(2, to: proxy.address, configuration)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<(Self.players * Self.tasksPerPlayer) {
                        let account = accounts[task % Self.players]
                        let client = clients[task % clients.count]
                        group.addTask {
                            for _ in 0..<Self.spendsPerTask {
                                let receipt = try await client.spend(
                                    account: account, debits: [CurrencyAmount(currency: gems, amount: one)])
                                heard.withLockedValue { heard in
                                    heard.entries.insert(receipt.entry)
                                    if receipt.replayed { heard.replays += 1 }
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                for account in accounts {
                    let balance = try await direct.balance(account).balances.first?.balance
                    #expect(balance?.available == 100_000 - Int64(perPlayer))
                    #expect(try await Self.spends(account, direct) == perPlayer)
                }
                for client in clients { try await client.close() }
                try await direct.close()
                try await proxy.stop()
                let cuts = proxy.seen.cuts
                let (answered, replays) = heard.withLockedValue { ($0.entries.count, $0.replays) }
                print("\(total) spends, \(cuts) cuts, \(replays) answers given again")
                // Each answer is of an entry of its own.
                #expect(answered == total)
                // Enough was cut, and enough of it between a commit and its answer.
                #expect(cuts >= 50 && replays >= 10)
            }
        }

        /// The proxy may cut the very first connection; that one the client leaves to its user.
        private static func connect(
            _ count: Int, to address: ServerAddress, _ configuration: ClientConfiguration
        ) async throws -> [LedgerClient] {
            var clients: [LedgerClient] = []
            for _ in 0..<1_000 where clients.count < count {
                do {
                    clients.append(
                        try await LedgerClient.connect(to: address, token: "game", configuration: configuration))
                } catch is ClientError {
                    continue
                }
            }
            try #require(clients.count == count)
            return clients
        }

        /// The spends in a player's whole history.
        private static func spends(_ account: AccountName, _ client: LedgerClient) async throws -> Int {
            var count = 0
            var before: EntryID?
            repeat {
                let page = try await client.history(
                    HistoryQuery(account: account, limit: Limits.historyPageMax, before: before))
                count += page.entries.count { $0.kind == .spend }
                before = page.next
            } while before != nil
            return count
        }
    }
}
