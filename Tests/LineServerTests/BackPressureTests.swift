import Foundation
import Ledger
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// Every bound on what clients can make the server hold is reached, and nothing is dropped.
    @Suite struct BackPressure {
        /// What the kernel's buffers of both sides may take on top of the server's own bounds.
        private static let kernelBytesMax = 24 << 20

        /// Sends `line` again and again until the server has taken none for half a second; gives how many whole lines
        /// were sent, having completed the last one.
        private static func flood(_ client: RawClient, _ line: (Int) -> String, upTo bytesMax: Int) async throws -> Int
        {
            var pending: [UInt8] = []
            var lines = 0
            var sent = 0
            var quiet = 0
            while sent < bytesMax && quiet < 50 {
                while pending.count < 65_536 {
                    lines += 1
                    pending += Array((line(lines) + "\n").utf8)
                }
                let count = client.sendWithoutWaiting(pending)
                pending.removeFirst(count)
                sent += count
                quiet = count == 0 ? quiet + 1 : 0
                if count == 0 { try await Task.sleep(for: .milliseconds(10)) }
            }
            #expect(sent < bytesMax, "the server took \(sent) bytes and would have taken more")
            // The rest is sent while the replies are read, or neither side could go on.
            let rest = pending
            async let sending: Void = client.send(rest)
            let replies = try await client.lines(lines)
            try await sending
            let inOrder = try replies.enumerated().allSatisfy { try JSON($0.element).id == $0.offset + 1 }
            #expect(inOrder)
            return lines
        }

        @Test func aClientThatNeverReadsIsNoLongerReadFrom() async throws {
            try await TestServer.run { server in
                let client = try await server.connect(receiveBufferBytes: 4_096)
                let count = try await Self.flood(client, { Requests.ping($0) }, upTo: Self.kernelBytesMax * 3)
                #expect(count > 1_000)
            }
        }

        /// Left to itself, the kernel takes the more of what a client sends the faster it was read before: behind a
        /// round trip of 40 ms it was 20 MB of one connection that was not read from any more.
        @Test func theKernelTakesOnlySoMuchOfWhatIsNotRead() async throws {
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], listenMetrics: [.tcp(host: "127.0.0.1", port: 0)]
            ) { server in
                let largest = try String(contentsOfFile: "/proc/sys/net/core/rmem_max", encoding: .utf8)
                let bytesMax = try #require(Int(largest.trimmingCharacters(in: .newlines)))
                for address in [server.address, server.httpAddresses[0], server.metricsAddresses[0]] {
                    let client = try await RawClient(address)
                    var bytes: Int?
                    _ = try await eventually {
                        bytes = client.receiveBufferBytesOfPeer
                        return bytes != nil
                    }
                    // The kernel doubles what it is told (socket(7), SO_RCVBUF).
                    #expect(bytes == 2 * min(ServerLimits().receiveBufferBytes, bytesMax), "\(address)")
                }
            }
        }

        @Test func noPageIsReadForAClientThatHasOthersToRead() async throws {
            let store = FaultyStore()
            try await TestServer.run(store: store) { server in
                let setup = try await server.connect()
                let note = String(repeating: "n", count: Limits.noteBytesMax)
                _ = try await setup.ask(
                    (0..<200).map { number in
                        Requests.call(
                            "grant",
                            #"{"key":"k\#(number)","account":"a","currency":"gems","amount":1,"note":"\#(note)"}"#)
                    })
                // A hundred bytes ask for a hundred thousand.
                let request = Requests.call("history", #"{"account":"a","limit":1000}"#, id: 7)
                let pageBytes = try await setup.ask(request).description.utf8.count
                let client = try await server.connect(receiveBufferBytes: 4_096)
                try await client.send(String(repeating: request + "\n", count: 2_000))
                // The pages end when the kernel's buffers and the server's own bound are full.
                var (before, quiet) = (-1, 0)
                for _ in 0..<1_000 where quiet < 30 {
                    try await Task.sleep(for: .milliseconds(10))
                    quiet = store.reads == before ? quiet + 1 : 0
                    before = store.reads
                }
                #expect(before * pageBytes < Self.kernelBytesMax, "\(before) pages of \(pageBytes) bytes were read")
                let lines = try await client.lines(before + 50)
                #expect(try lines.allSatisfy { try JSON($0).id == 7 })
            }
        }

        @Test func requestsInFlightAreBoundedWhileACommitLasts() async throws {
            let store = FaultyStore()
            try await TestServer.run(store: store, limits: { $0.requestsInFlightMax = 64 }) { server in
                let client = try await server.connect()
                store.hold()
                let requests = (1...5_000).map { Requests.grant("k\($0)", "a", 1, id: "\($0)") }
                try await client.send(requests.joined(separator: "\n") + "\n")
                #expect(try await eventually { store.waiting == 1 })
                try await Task.sleep(for: .milliseconds(50))
                store.release()
                let lines = try await client.lines(5_000)
                #expect(try lines.map { try JSON($0).id } == Array(1...5_000))
                // No batch had more than the connection's bound.
                #expect(store.commits >= 5_000 / 64)
                #expect(store.base.rows.entries.count == 5_000)
            }
        }

        @Test func bytesInFlightAreBoundedWhileACommitLasts() async throws {
            let app = try SandboxApp()
            let store = FaultyStore()
            try await TestServer.run(store: store, verifier: app.verifier, limits: { $0.bytesInFlightMax = 20_000 }) {
                server in
                let client = try await server.connect()
                let requests = try (1...60).map {
                    Requests.credit(try app.transaction(Int64($0)), account: "a", id: "\($0)")
                }
                let replies = try await client.ask(requests)
                #expect(replies.map(\.id) == Array(1...60))
                #expect(replies.allSatisfy { $0.result["outcome"].string == "credited" })
                let perCommit = 20_000 / requests[0].utf8.count + 1
                #expect(store.commits >= 60 / perCommit)
            }
        }

        @Test func aBatchOfLongPagesIsNotHeldWithoutBound() async throws {
            try await TestServer.run(limits: { $0.batchReplyBytesMax = Limits.pageBytesMax + 100_000 }) { server in
                let client = try await server.connect()
                _ = try await client.ask((0..<100).map { Requests.grant("k\($0)", "a", 1) })
                let members = (1...50).map { Requests.history("a", id: "\($0)") }
                let batch = try await client.ask("[\(members.joined(separator: ","))]")
                let replies = try #require(batch.array)
                #expect(replies.map(\.id) == Array(1...50))
                let pages = replies.prefix { $0.reason == nil }
                #expect(pages.count >= 2 && pages.count < 20)
                #expect(replies[pages.count...].allSatisfy { $0.reason == "overloaded" && $0.isRetryable == true })
            }
        }

        @Test func aReadBehindABatchThatWasTooLongIsAnsweredWithItsPage() async throws {
            try await TestServer.run(limits: { $0.batchReplyBytesMax = Limits.pageBytesMax + 60_000 }) { server in
                let client = try await server.connect()
                _ = try await client.ask((0..<100).map { Requests.grant("k\($0)", "a", 1) })
                // A read of the batch is refused before anybody asks whether it may begin.
                let unknown = Requests.call("history", #"{"account":"a","currency":"shells"}"#, id: 9)
                let members =
                    [Requests.history("a", id: "1"), unknown] + (2...10).map { Requests.history("a", id: "\($0)") }
                for _ in 0..<50 {
                    try await client.send(
                        "[\(members.joined(separator: ","))]\n" + Requests.history("a", id: "10") + "\n")
                    let lines = try await client.lines(2).map { try JSON($0) }
                    #expect(lines[0].array?[1].reason == "unknown_currency")
                    #expect(lines[0].array?.last?.reason == "overloaded")
                    #expect(lines[1].id == 10 && lines[1].reason == nil)
                }
            }
        }

        /// So many lots of one unit in a wallet, which `spend` takes all.
        private static func spendOfManyLots(_ lots: Int, _ store: MemoryStore) -> String {
            store.commit(Needs(), isLast: true) { books in
                for number in 1...lots {
                    let grant = Grant(
                        key: RequestKey("g\(number)")!, account: AccountName("a")!, currency: CurrencyCode("gems")!,
                        amount: Amount(1)!)
                    _ = books.decide(.keyed(.grant(grant)), at: SandboxApp.date)
                }
            } done: { _ in
            }
            return Requests.call(
                "spend",
                #"{"key":"s","account":"a","debits":[{"currency":"gems","amount":\#(lots)}]}"#)
        }

        /// A line of 100 kB asked for gigabytes: every repetition of a spend named all lots that it had drawn.
        @Test func aBatchOfRepetitionsOfASpendOfManyLotsHasABound() async throws {
            let store = MemoryStore()
            let spend = Self.spendOfManyLots(5_000, store)
            try await TestServer.run(store: store) { server in
                let client = try await server.connect()
                let first = try await client.ask(spend)
                #expect(first.result["drawn"].count == 16 && first.result["drawnMore"].int == 4_984)
                let batch = "[" + Array(repeating: spend, count: 1_000).joined(separator: ",") + "]"
                try await client.send(batch + "\n")
                let line = try #require(try await client.line())
                #expect(line.utf8.count < ServerLimits().batchReplyBytesMax)
                let replies = try #require(try JSON(line).array)
                #expect(replies.count == 1_000)
                #expect(replies.allSatisfy { $0.result["replayed"].bool == true && $0.result["drawn"].count == 16 })
                // All of it goes back.
                let reversal = try await client.ask(Requests.call("reverse", #"{"key":"r","spendKey":"s"}"#))
                #expect(reversal.result["returnedMore"].int == 4_984)
                #expect(reversal.result["balances"]["gems"]["available"].int == 5_000)
            }
        }

        /// Many clients that ask for much and read nothing leave room for one that reads.
        @Test func clientsThatDoNotReadTakeNoMoreThanThereIsAndOthersAreAnswered() async throws {
            let store = MemoryStore()
            let spend = Self.spendOfManyLots(50, store)
            let logs = LogCapture()
            try await TestServer.run(
                store: store, logs: logs,
                limits: {
                    $0.replyBytesMax = 1 << 20
                    $0.connectionReplyBytesMax = 128 << 10
                    $0.replyStepBytes = 1 << 10
                    $0.unreadReplyBytesMax = 64 << 10
                    $0.unreadReplyBytesLow = 16 << 10
                    $0.keptMillisecondsMax = 300
                }
            ) { server in
                let honest = try await server.connect()
                _ = try await honest.ask(spend)
                let flood = Array((String(repeating: spend + "\n", count: 2_500)).utf8)
                var deaf: [RawClient] = []
                for _ in 0..<40 {
                    let client = try await server.connect(receiveBufferBytes: 4_096)
                    _ = client.sendWithoutWaiting(flood)
                    deaf.append(client)
                }
                for number in 1...200 {
                    let reply = try await honest.ask(Requests.grant("h\(number)", "b", 1, id: "\(number)"))
                    #expect(reply.id == number && reply.reason == nil)
                }
                // The next one needs more than is left, until somebody is closed.
                let batch = "[" + Array(repeating: spend, count: 30).joined(separator: ",") + "]"
                #expect(try await honest.ask(batch).array?.count == 30)
                let words = "a client does not read its replies, and others wait for the memory"
                #expect(try await eventually { logs.lines.contains { $0.hasPrefix(words) } })
                withExtendedLifetime(deaf) {}
            }
        }

        /// Many clients that send half a line each leave room for others, and go where others wait.
        @Test func clientsThatDoNotEndTheirLinesAreClosedWhereOthersWait() async throws {
            let logs = LogCapture()
            try await TestServer.run(
                logs: logs,
                limits: {
                    $0.replyBytesMax = 4 << 20
                    $0.longLineBytesMax = 512 << 10
                    $0.replyStepBytes = 1 << 10
                    $0.keptMillisecondsMax = 100
                }
            ) { server in
                let half = [UInt8](repeating: UInt8(ascii: " "), count: 900_000)
                let honest = try await server.connect()
                var holders: [RawClient] = []
                for _ in 0..<20 {
                    let client = try await server.connect()
                    _ = client.sendWithoutWaiting(half)
                    holders.append(client)
                }
                for number in 1...200 {
                    let reply = try await honest.ask(Requests.grant("h\(number)", "b", 1, id: "\(number)"))
                    #expect(reply.id == number && reply.reason == nil)
                }
                let long = Requests.grant("long", "b", 1) + String(repeating: " ", count: 500_000)
                #expect(try await honest.ask(long).reason == nil)
                let words = "a client does not end its line, and others wait for the memory"
                #expect(try await eventually { logs.lines.contains { $0.hasPrefix(words) } })
                withExtendedLifetime(holders) {}
            }
        }

        @Test func aLineMayStayUnfinishedWhileNobodyWaits() async throws {
            let logs = LogCapture()
            try await TestServer.run(logs: logs, limits: { $0.keptMillisecondsMax = 50 }) { server in
                let client = try await server.connect()
                let line = Requests.ping(7) + String(repeating: " ", count: 900_000)
                try await client.send(line)
                try await Task.sleep(for: .milliseconds(400))
                #expect(try await client.ask("").id == 7)
                #expect(!logs.lines.contains { $0.contains("does not end its line") })
            }
        }

        @Test func aConnectionOverTheLimitIsToldSoAndRoomIsGivenAgain() async throws {
            try await TestServer.run(limits: {
                $0.connectionsMax = 2
                $0.refusedConnectionsMax = 1
            }) { server in
                var clients = [try await server.connect(), try await server.connect()]
                for client in clients { #expect(try await client.ask(Requests.ping(1)).id == 1) }

                let third = try await server.connect()
                let refusal = try JSON(try #require(try await third.line()))
                #expect(refusal.reason == "overloaded" && refusal.isRetryable == true && refusal["id"].isNull)
                // Beyond that nothing is said.
                let fourth = try await server.connect()
                #expect(try await fourth.line() == nil)
                #expect(try await third.line() == nil)

                clients.removeLast()
                let isServed = try await eventually {
                    let next = try await server.connect()
                    do {
                        try await next.send(Requests.ping(7) + "\n")
                        return try await next.line().map { try JSON($0).id } == 7
                    } catch is RawClient.Failure {
                        // Closed without a word, with the request unread: the kernel resets it.
                        return false
                    }
                }
                #expect(isServed)
            }
        }
    }
}
