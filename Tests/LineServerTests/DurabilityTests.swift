import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import Synchronization
import Testing

@testable import LineServer

extension ServerTests {
    /// A failing store, a shutdown, and many clients at once.
    @Suite struct Durability {
        @Test func aStorageFailureIsRetryableAndLosesNothing() async throws {
            let store = FaultyStore()
            let failures = Mutex(0)
            try await TestServer.run(
                store: store,
                report: { event in
                    if case .commitFailed(_, requests: 10) = event { failures.withLock { $0 += 1 } }
                }
            ) { server in
                let client = try await server.connect()
                _ = try await client.ask((0..<20).map { Requests.grant("before\($0)", "a", 1) })
                store.failCommits(1)
                let requests = (0..<10).map { Requests.grant("k\($0)", "a", 1, id: "\($0)") }
                let failed = try await client.ask("[" + requests.joined(separator: ",") + "]")
                let reasons = try #require(failed.array).map { $0.reason }
                #expect(reasons == Array(repeating: "storage_unavailable", count: 10))
                #expect(failed[0].isRetryable == true && failed[0]["error"]["code"].int == -32002)
                #expect(failures.withLock { $0 } == 1)

                let again = try await client.ask(requests)
                #expect(again.allSatisfy { $0.result["replayed"].bool == false })
                let balance = try await client.ask(Requests.balance("a"))
                #expect(balance.result["balances"]["gems"]["available"].int == 30)
            }
        }

        @Test func aShutdownAnswersEverythingAcceptedAndNothingNew() async throws {
            let store = FaultyStore()
            var accepted = 0
            try await TestServer.run(store: store) { server in
                let client = try await server.connect()
                let idle = try await server.connect()
                #expect(try await idle.ask(Requests.ping(1)).id == 1)
                store.hold()
                try await client.send((0..<100).map { Requests.grant("k\($0)", "a", 1, id: "\($0)") + "\n" }.joined())
                #expect(try await eventually { store.waiting == 1 })
                // All hundred lines arrive together, before the shutdown.
                try await Task.sleep(for: .milliseconds(100))
                await server.shutDown()
                #expect(try await idle.line() == nil, "a connection that owes nothing is closed at once")
                await #expect(throws: (any Error).self) { try await server.connect() }

                // The connection hears of the shutdown in its own time. What comes before it does is accepted like the
                // hundred, what comes behind is refused.
                for id in 100..<160 {
                    try await client.send(Requests.grant("k\(id)", "a", 1, id: "\(id)") + "\n")
                    try await Task.sleep(for: .milliseconds(20))
                }
                try await client.send(Requests.ping(160) + "\n")
                try await Task.sleep(for: .milliseconds(100))
                store.release()
                let replies = try await client.lines(161).map { try JSON($0) }
                #expect(replies.map(\.id) == Array(0...160))
                accepted = replies.prefix { $0.result["entry"].exists }.count
                #expect((100..<160).contains(accepted))
                #expect(replies[accepted..<160].allSatisfy { $0.reason == "shutting_down" && $0.isRetryable == true })
                #expect(try await client.line() == nil)
            }
            #expect(store.base.isClosed)
            #expect(store.base.rows.entries.count == accepted)
        }

        @Test func aShutdownUnderLoadAcknowledgesExactlyWhatItKept() async throws {
            let store = MemoryStore()
            var acknowledged = 0
            try await TestServer.run(store: store) { server in
                var clients: [RawClient] = []
                for _ in 0..<8 {
                    let client = try await server.connect()
                    // Whom the server has not accepted when it stops listening is reset by the kernel.
                    _ = try await client.ask(Requests.ping(0))
                    clients.append(client)
                }
                acknowledged = try await withThrowingTaskGroup(of: Int.self) { tasks in
                    for (number, client) in clients.enumerated() {
                        tasks.addTask { try await Self.grantUntilClosed(client, number) }
                    }
                    #expect(try await eventually { store.rows.entries.count > 50 })
                    await server.shutDown()
                    return try await tasks.reduce(0, +)
                }
            }
            #expect(store.rows.entries.count == acknowledged)
            #expect(acknowledged > 50)
        }

        /// How many of 400 grants were answered by a result; the others must have been refused because of the
        /// shutdown.
        private static func grantUntilClosed(_ client: RawClient, _ number: Int) async throws -> Int {
            try await client.send(
                (0..<400).map { Requests.grant("k\(number)-\($0)", "a\(number)", 1) + "\n" }.joined())
            var count = 0
            while let line = try await client.line() {
                let reply = try JSON(line)
                if reply.result["entry"].exists {
                    count += 1
                } else {
                    #expect(reply.reason == "shutting_down")
                }
            }
            return count
        }

        @Test func aShutdownDoesNotWaitForEverForAClientThatDoesNotRead() async throws {
            let store = MemoryStore()
            let clock = ContinuousClock()
            var took = Duration.zero
            let logs = LogCapture()
            try await TestServer.run(store: store, logs: logs, limits: { $0.shutdownMilliseconds = 500 }) { server in
                let setup = try await server.connect()
                _ = try await setup.ask((0..<100).map { Requests.grant("k\($0)", "a", 1) })
                let client = try await server.connect(receiveBufferBytes: 4_096)
                try await client.send((0..<4_000).map { Requests.history("a", id: "\($0)") + "\n" }.joined())
                try await Task.sleep(for: .milliseconds(200))
                let start = clock.now
                await server.shutDown()
                #expect(try await eventually { store.isClosed })
                took = clock.now - start
                _ = client
            }
            #expect(took > .milliseconds(400) && took < .seconds(5), "\(took)")
            #expect(logs.lines.contains("connections were closed with requests unanswered connections=1"))
        }

        @Test func aShutdownDropsWhatWasNotBegunOfConnectionsThatItHadToClose() async throws {
            let store = FaultyStore()
            try await TestServer.run(store: store, limits: { $0.shutdownMilliseconds = 100 }) { server in
                let client = try await server.connect()
                store.hold()
                try await client.send((0..<3_000).map { Requests.grant("k\($0)", "a", 1) + "\n" }.joined())
                #expect(try await eventually { store.waiting == 1 })
                await server.shutDown()
                #expect(try await client.line() == nil)
                store.release()
            }
            #expect((1..<3_000).contains(store.base.rows.entries.count))
            #expect(store.base.isClosed)
        }

        @Test func fiftyClientsNeverOverdrawOneWallet() async throws {
            try await TestServer.run { server in
                let setup = try await server.connect()
                _ = try await setup.ask(Requests.grant("start", "shared", 10_000))
                let spent = try await withThrowingTaskGroup(of: Int.self) { tasks in
                    for number in 0..<50 {
                        tasks.addTask {
                            let client = try await server.connect()
                            let amounts = (0..<40).map { ($0 * 7 + number * 3) % 13 + 1 }
                            let replies = try await client.ask(
                                amounts.enumerated().map { Requests.spend("\(number)-\($0)", "shared", $1) })
                            var sum = 0
                            for (reply, amount) in zip(replies, amounts) {
                                if reply.result.exists {
                                    #expect((reply.result["balances"]["gems"]["available"].int ?? -1) >= 0)
                                    sum += amount
                                } else {
                                    #expect(reply.reason == "insufficient_funds")
                                    #expect((reply["error"]["data"]["available"].int ?? amount) < amount)
                                }
                            }
                            return sum
                        }
                    }
                    return try await tasks.reduce(0, +)
                }
                let balance = try await setup.ask(Requests.balance("shared"))
                #expect(balance.result["balances"]["gems"]["available"].int == 10_000 - spent)
                // 50 × 40 spends of 7 on average want more than there is.
                #expect(spent > 9_987)
            }
        }

        @Test func oneKeyHasOneAnswerHoweverOftenAndWhereverItIsSent() async throws {
            let store = MemoryStore()
            try await TestServer.run(store: store) { server in
                let setup = try await server.connect()
                let refused = try await setup.ask(Requests.spend("same", "a", 5))
                #expect(refused.reason == "insufficient_funds")
                _ = try await setup.ask(Requests.grant("g", "a", 100))
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for _ in 0..<20 {
                        tasks.addTask {
                            let client = try await server.connect()
                            let replies = try await client.ask([
                                Requests.spend("same", "a", 5), Requests.spend("other", "a", 5),
                            ])
                            #expect(replies[0].reason == "insufficient_funds")
                            #expect(replies[0]["error"]["data"]["replayed"].bool == true)
                            #expect(replies[0]["error"]["data"]["available"].int == 0)
                            #expect(replies[1].result["entry"].int == 2)
                        }
                    }
                    try await tasks.waitForAll()
                }
                let balance = try await setup.ask(Requests.balance("a"))
                #expect(balance.result["balances"]["gems"]["available"].int == 95)
            }
        }
    }
}
