import AppStore
import Ledger
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// Lines, order, batches, and what goes wrong with them.
    @Suite struct Framing {
        @Test func repliesComeInTheOrderSentWhateverTheRequestsAre() async throws {
            let app = try SandboxApp()
            let seed = Seed.drawn()
            var random = SplitMix64(seed: seed)
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await server.connect()
                var requests: [String] = []
                for id in 0..<3_000 {
                    switch Int.random(in: 0..<12, using: &random) {
                    case 0: requests.append(Requests.ping(id))
                    case 1: requests.append(Requests.credit(try app.transaction(Int64(id)), account: "a", id: "\(id)"))
                    case 2: requests.append(Requests.history("a", id: "\(id)"))
                    case 3: requests.append(Requests.call("nothing", id: id))
                    case 4...6: requests.append(Requests.spend("k\(id)", "a", 3, id: "\(id)"))
                    case 7: requests.append(Requests.balance("a", id: "\(id)"))
                    default: requests.append(Requests.grant("k\(id)", "a", 2, id: "\(id)"))
                    }
                }
                let replies = try await client.ask(requests)
                #expect(replies.map(\.id) == Array(0..<3_000), "seed \(seed)")
                // What one connection sends takes effect in order: each reply's version follows the one before.
                let versions = replies.compactMap { $0.result["balances"]["gems"]["version"].int }
                #expect(versions == versions.sorted() && !versions.isEmpty, "seed \(seed)")
            }
        }

        /// Of a reading, and of a batch, some hundred are accepted at a time. Then others have their turn.
        @Test func everythingOfALongReadingIsAnsweredInItsOrder() async throws {
            try await TestServer.run(limits: { $0.linesPerTurnMax = 7 }) { server in
                let client = try await server.connect()
                let batch = "[" + (0..<500).map { Requests.ping($0) }.joined(separator: ",") + "]"
                var lines: [String] = []
                for number in 0..<200 {
                    lines.append("x")
                    lines.append(Requests.ping(number))
                    if number % 50 == 0 { lines.append(batch) }
                }
                lines.append(Requests.grant("g", "a", 1, id: "\"last\""))
                try await client.send(lines.joined(separator: "\n") + "\n")
                let replies = try await client.lines(lines.count).map { try JSON($0) }
                for (line, reply) in zip(lines, replies) {
                    switch line {
                    case "x": #expect(reply.reason == "parse_error")
                    case batch: #expect((0..<500).allSatisfy { reply[$0].id == $0 } && reply.count == 500)
                    default: #expect(reply.reason == nil)
                    }
                }
                #expect(replies.last?["id"].string == "last")
            }
        }

        @Test func aStrangerWhoseLinesAreNoRequestsIsSoonNotListenedTo() async throws {
            let token = Token("game", .game, "secret")
            try await TestServer.run(tokens: [token]) { server in
                let stranger = try await server.connect()
                try await stranger.send(
                    String(repeating: "x\n", count: 1_000) + Requests.authenticate("secret") + "\n")
                for _ in 0..<64 { #expect(try JSON(try #require(try await stranger.line())).reason == "parse_error") }
                #expect(try await stranger.line() == nil)
                // Who has authenticated is listened to.
                let known = try await server.connect()
                #expect(try await known.ask(Requests.authenticate("secret")).reason == nil)
                try await known.send(String(repeating: "x\n", count: 1_000))
                #expect(try await known.lines(1_000).count == 1_000)
            }
        }

        /// A web page can make a browser send this to a port of the machine it runs on.
        @Test func theBodyOfAnHTTPRequestIsNotCarriedOut() async throws {
            try await TestServer.run { server in
                let browser = try await server.connect()
                try await browser.send(
                    "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n"
                        + Requests.grant("k", "thief", 5, id: "1") + "\n")
                let reply = try JSON(try #require(try await browser.line()))
                #expect(reply.reason == "parse_error")
                #expect(try await browser.line() == nil)
                let balance = try await server.connect().ask(Requests.balance("thief"))
                #expect(balance.result["balances"].count == 0)
            }
        }

        @Test func aReadSeesEverythingBeforeItAndNothingBehindIt() async throws {
            try await TestServer.run { server in
                let client = try await server.connect()
                var requests: [String] = []
                for number in 0..<200 {
                    requests.append(Requests.grant("g\(number)", "a", 1))
                    requests.append(Requests.call("history", #"{"account":"a","limit":1}"#))
                    requests.append(Requests.report("balances"))
                }
                let replies = try await client.ask(requests)
                for number in 0..<200 {
                    let entries = replies[number * 3 + 1].result["entries"]
                    #expect(entries[0]["balances"]["gems"]["available"].int == number + 1)
                    #expect(replies[number * 3 + 2].result["rows"][0]["available"].int == number + 1)
                }
            }
        }

        @Test func aBatchIsOneLineInItsOrder() async throws {
            try await TestServer.run { server in
                let client = try await server.connect()
                let members = (0..<1_000).map { id in
                    switch id % 4 {
                    case 0: Requests.grant("k\(id)", "a", 1, id: "\(id)")
                    case 1: Requests.ping(id)
                    case 2: Requests.spend("k\(id)", "a", 1_000_000, id: "\(id)")
                    default: Requests.grant("k\(id)", "a", 1, id: nil)
                    }
                }
                let replies = try await client.ask([
                    "[\(members.joined(separator: ","))]", Requests.balance("a"),
                ])
                let ids = replies[0].array?.map { $0.id }
                #expect(ids == (0..<1_000).filter { $0 % 4 != 3 })
                #expect(replies[0][2].reason == "insufficient_funds")
                // Each member succeeds or fails by itself, those that want no answer too.
                #expect(replies[1].result["balances"]["gems"]["available"].int == 500)
            }
        }

        @Test func emptyLinesAndReturnsAreTolerated() async throws {
            try await TestServer.run { server in
                let client = try await server.connect()
                try await client.send("\n\r\n\(Requests.ping(1))\r\n\n\(Requests.ping(2))\n")
                let lines = try await client.lines(2)
                #expect(try lines.map { try JSON($0).id } == [1, 2])
            }
        }

        @Test func aLineTooLongIsAnsweredAfterWhatCameBeforeAndEndsTheConnection() async throws {
            let store = MemoryStore()
            try await TestServer.run(store: store) { server in
                let client = try await server.connect()
                let limit = WireLimits.lineBytesMax
                // Exactly as long as may be.
                let request = Requests.grant("before", "a", 1)
                try await client.send(request + String(repeating: " ", count: limit - request.utf8.count) + "\n")
                try await client.send(
                    String(repeating: " ", count: limit + 1) + "\n" + Requests.grant("after", "a", 1) + "\n")
                let first = try JSON(try #require(try await client.line()))
                #expect(first.result["entry"].int == 1)
                let second = try JSON(try #require(try await client.line()))
                #expect(second.reason == "line_too_long" && second["id"].isNull)
                #expect(try await client.line() == nil)
                #expect(store.rows.entries.count == 1)
            }
        }

        @Test func anEndlessLineIsRefusedBeforeItEnds() async throws {
            try await TestServer.run { server in
                let client = try await server.connect()
                let chunk = [UInt8](repeating: UInt8(ascii: "["), count: 65_536)
                for _ in 0..<20 { try await client.send(chunk) }
                let reply = try JSON(try #require(try await client.line()))
                #expect(reply.reason == "line_too_long" && reply["error"]["code"].int == -32600)
            }
        }

        @Test func aClientThatOnlyClosesItsSideGetsAllItsReplies() async throws {
            try await TestServer.run { server in
                let client = try await server.connect()
                let requests = (0..<500).map { Requests.grant("k\($0)", "a", 1, id: "\($0)") }
                // The last line is not ended, so it was never sent.
                try await client.send(requests.joined(separator: "\n") + "\n" + Requests.grant("cut", "a", 1))
                client.closeOutput()
                let lines = try await client.lines(500)
                #expect(try lines.map { try JSON($0).id } == Array(0..<500))
                #expect(try await client.line() == nil)
                let balance = try await server.connect().ask(Requests.balance("a"))
                #expect(balance.result["balances"]["gems"]["available"].int == 500)
            }
        }

        @Test func whatAClientSentBeforeItVanishedIsCarriedOut() async throws {
            let store = FaultyStore()
            try await TestServer.run(store: store) { server in
                store.hold()
                do {
                    let client = try await server.connect()
                    // One reading, and so one batch: what is in none yet is dropped.
                    try await client.send((0..<10).map { Requests.grant("k\($0)", "a", 1) + "\n" }.joined())
                    #expect(try await eventually { store.waiting == 1 })
                }
                store.release()
                let client = try await server.connect()
                #expect(
                    try await eventually {
                        let balance = try await client.ask(Requests.balance("a"))
                        return balance.result["balances"]["gems"]["available"].int == 10
                    })
            }
        }
    }
}
