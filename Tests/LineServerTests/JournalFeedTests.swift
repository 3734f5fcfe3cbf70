import Ledger
import LedgerClient
import LedgerEngine
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// The journal as a feed: pages, waits, and who follows it.
    @Suite struct JournalFeed {
        private static func entries(_ reply: JSON) -> [Int?]? {
            reply.result["entries"].array?.map { $0["entry"].int }
        }

        @Test func pagesGiveEveryEntryOnceInItsOrder() async throws {
            try await TestServer.run { server in
                let client = try await server.connect()
                let replies = try await client.ask([
                    Requests.journal(after: 0), Requests.grant("g1", "a", 5), Requests.grant("g2", "b", 7),
                    Requests.spend("s", "a", 2), Requests.journal(after: 0, limit: 2), Requests.journal(after: 2),
                    Requests.journal(after: 3), Requests.journal(after: 99),
                ])
                #expect(Self.entries(replies[0]) == [] && replies[0].result["next"].int == 0)
                #expect(Self.entries(replies[4]) == [1, 2] && replies[4].result["next"].int == 2)
                let first = replies[4].result["entries"][0]
                #expect(first["kind"].string == "grant" && first["key"].string == "g1" && !first["note"].exists)
                #expect(first["transfers"].count == 1 && first["transfers"][0]["account"].string == "a")
                #expect(first["transfers"][0]["debit"].string == "granted")
                #expect(first["transfers"][0]["transfer"].int == 1 && first["transfers"][0]["amount"].int == 5)
                #expect(Self.entries(replies[5]) == [3] && replies[5].result["next"].int == 3)
                #expect(Self.entries(replies[6]) == [] && replies[6].result["next"].int == 3)
                #expect(Self.entries(replies[7]) == [] && replies[7].result["next"].int == 99)
            }
        }

        @Test func aWaitEndsWithTheFirstNewEntryAndHoldsNoReader() async throws {
            let store = FaultyStore()
            try await TestServer.run(store: store, engineLimits: { $0.readerThreads = 1 }) { server in
                let follower = try await server.connect()
                try await follower.send(
                    Requests.ping(0) + "\n" + Requests.journal(after: 0, wait: 30_000, id: "1") + "\n"
                        + Requests.ping(2) + "\n")
                // When this is answered the journal's request has its place in the order, before all that the writer
                // asks.
                #expect(try await follower.lines(1).map { try JSON($0).id } == [0])
                let writer = try await server.connect()
                // The one reader is free, and nothing was read for the one who waits.
                #expect(try await writer.ask(Requests.history("a")).result["entries"].count == 0)
                #expect(store.journalPages == 0)
                // What is not committed is not shown, and a commit that fails wakes nobody.
                store.failCommits(1)
                #expect(try await writer.ask(Requests.grant("lost", "a", 1)).reason == "storage_unavailable")
                store.hold()
                try await writer.send(Requests.grant("kept", "a", 1) + "\n")
                #expect(try await eventually { store.waiting == 1 })
                try await Task.sleep(for: .milliseconds(50))
                #expect(store.journalPages == 0)
                store.release()
                let replies = try await follower.lines(2).map { try JSON($0) }
                #expect(Self.entries(replies[0]) == [1] && replies[0].result["next"].int == 1)
                #expect(replies[0].result["entries"][0]["key"].string == "kept")
                #expect(replies.map(\.id) == [1, 2], "what was sent behind the wait is answered after it")
                #expect(store.journalPages == 1)
            }
        }

        @Test func aWaitIsAnsweredEmptyWhenItsTimeIsOver() async throws {
            let store = FaultyStore()
            try await TestServer.run(store: store) { server in
                let client = try await server.connect()
                _ = try await client.ask(Requests.grant("g", "a", 1))
                let asked = ContinuousClock.now
                let reply = try await client.ask(Requests.journal(after: 1, wait: 150))
                let waited = asked.duration(to: .now)
                #expect(waited >= .milliseconds(150) && waited < .seconds(9))
                #expect(Self.entries(reply) == [] && reply.result["next"].int == 1)
                #expect(store.journalPages == 0)
                // Where there is something newer nothing is waited for.
                let page = try await client.ask(Requests.journal(after: 0, wait: 30_000))
                #expect(Self.entries(page) == [1])
                // The connection can wait again, and be woken again.
                try await client.send(Requests.journal(after: 1, wait: 30_000) + "\n")
                _ = try await server.connect().ask(Requests.grant("h", "a", 1))
                let line = try #require(try await client.line())
                let woken = try JSON(line)
                #expect(Self.entries(woken) == [2])
            }
        }

        /// Its other replies would be held meanwhile: a thousand waits were eight hours.
        @Test func nothingIsWaitedForInABatch() async throws {
            try await TestServer.run { server in
                let client = try await server.connect()
                let wait = Requests.journal(after: 1, wait: 30_000, id: "3")
                let members =
                    [Requests.grant("g", "a", 3, id: "1"), Requests.journal(after: 0, wait: 30_000, id: "2")]
                    + Array(repeating: wait, count: 997) + [Requests.balance("a", id: "4")]
                let replies = try #require(try await client.ask("[\(members.joined(separator: ","))]").array)
                #expect(replies.count == 1_000)
                #expect(Self.entries(replies[1]) == [1])
                #expect(replies[2...998].allSatisfy { Self.entries($0) == [] && $0.result["next"].int == 1 })
                #expect(replies[999].result["balances"]["gems"]["available"].int == 3)
                // Outside of it the same request waits.
                try await client.send(wait + "\n")
                _ = try await server.connect().ask(Requests.grant("h", "a", 1))
                #expect(Self.entries(try JSON(try #require(try await client.line()))) == [2])
            }
        }

        @Test func aShutdownAnswersWhoWaitsAtOnce() async throws {
            try await TestServer.run { server in
                let follower = try await server.connect()
                let wait = Requests.journal(after: 4, wait: 30_000)
                // The second begins its wait when the shutdown is going on already.
                try await follower.send(wait + "\n" + wait + "\n")
                let other = try await server.connect()
                try await other.send("[\(wait),\(wait)]\n")
                #expect(try await server.connect().ask(Requests.ping(1)).id == 1)
                try await Task.sleep(for: .milliseconds(50))
                let asked = ContinuousClock.now
                await server.shutDown()
                for reply in try await follower.lines(2).map({ try JSON($0) }) {
                    #expect(Self.entries(reply) == [] && reply.result["next"].int == 4)
                }
                let line = try #require(try await other.line())
                let batch = try JSON(line)
                #expect(batch.array?.map { Self.entries($0) } == [[], []])
                #expect(asked.duration(to: .now) < .seconds(5))
                #expect(try await follower.line() == nil)
            }
        }

        @Test func aConnectionThatGoesAwayWhileItWaitsLeavesNothingBehind() async throws {
            try await TestServer.run(limits: { $0.connectionsMax = 2 }) { server in
                let writer = try await server.connect()
                for round in 0..<5 {
                    var follower: RawClient? = try await server.connect()
                    try await follower?.send(Requests.journal(after: round, wait: 100) + "\n")
                    follower = nil
                    // Its place is free again when its time is over at the latest.
                    let isFree = try await eventually {
                        guard let pong = try? await server.connect().ask(Requests.ping(1)) else { return false }
                        return pong.reason == nil
                    }
                    #expect(isFree)
                    #expect(try await writer.ask(Requests.grant("g\(round)", "a", 1)).result["entry"].int == round + 1)
                }
            }
        }

        /// Several writers, and followers that begin anew on another connection now and then.
        @Test func followersSeeEachEntryExactlyOnceAndMissNone() async throws {
            let (writers, each) = (4, 150)
            let count = EntryID(writers * each)
            let store = MemoryStore()
            try await TestServer.run(store: store) { server in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for writer in 0..<writers {
                        group.addTask {
                            let client = try await server.connect()
                            for number in 0..<each {
                                _ = try await client.ask(Requests.grant("k\(writer)-\(number)", "player-\(writer)", 1))
                            }
                        }
                    }
                    for follower in 1...3 {
                        group.addTask {
                            var last: EntryID = 0
                            while last < count {
                                let client = try await LedgerClient.connect(to: server.address)
                                var here = 0
                                for try await entry in client.entries(after: last) {
                                    #expect(entry.entry == last + 1 && entry.transfers.count == 1)
                                    last = entry.entry
                                    here += 1
                                    if last == count || here == 60 * follower { break }
                                }
                                try await client.close()
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(store.rows.entries.count == Int(count))
            }
        }
    }
}
