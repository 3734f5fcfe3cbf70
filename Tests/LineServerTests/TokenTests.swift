import AppStore
import Foundation
import Ledger
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LineServer

extension ServerTests {
    /// What a token opens, how much, and what is said of who wants more.
    @Suite struct Tokens {
        private static func atomicGrants(_ key: String, _ amounts: [(String, Int)]) -> String {
            let operations = amounts.map {
                #"{"method":"grant","params":{"account":"a","currency":"\#($0.0)","amount":\#($0.1)}}"#
            }
            return Requests.call(
                "atomic", #"{"key":"\#(key)","operations":[\#(operations.joined(separator: ","))]}"#)
        }

        @Test func namesInCertificatesAreComparedByteForByte() {
            let token = Token(name: "t", roles: Roles(.game), digests: [], certificates: ["game-K"])
            let table = TokenTable(.tokens([token]))
            #expect(table.holder(.certificate(["other", "game-K"]))?.name == "t")
            for other in ["game-\u{212A}", "game-k", "game-K\0", "game-K "] {
                #expect(table.holder(.certificate([other])) == nil, "\(other)")
            }
        }

        /// Over HTTP, where each request shows its token, or none.
        @Test func whoShowsNoTokenNeedsAPlaceUnderTheNameOfItsCertificate() {
            let tokens = [
                Token(name: "certified", roles: .game, digests: [], certificates: ["game-1"]),
                Token("other", .game, "secret"),
            ]
            let table = TokenTable(.tokens(tokens), ledgers: 1)
            let places = NIOLockedValueBox((asked: [String](), full: Set<String>()))
            var client = ClientIdentity(tokens: table, wrongTokensMax: 3) { name in
                places.withLockedValue {
                    $0.asked.append(name)
                    return !$0.full.contains(name)
                }
            }
            _ = client.authenticate(by: .certificate(["game-1"]))
            _ = client.authenticate(by: TokenTable.credential("secret"))
            places.withLockedValue { $0.full = ["certified"] }
            let refused = client.showNothing()
            #expect(!refused && client.holder?.name == "other")
            places.withLockedValue { $0.full = [] }
            let taken = client.showNothing()
            #expect(taken && client.holder?.name == "certified")
            #expect(places.withLockedValue { $0.asked } == ["certified", "other", "certified", "certified"])
        }

        @Test func theNameOfATokenStandsWithEachEntryThatItAskedFor() async throws {
            let tokens = [
                Token("eu-game-1", [.game, .finance], "old secret", "new secret"),
                Token("us-game-1", .game, "another secret"),
            ]
            try await TestServer.run(tokens: tokens) { server in
                let client = try await server.connect()
                for secret in ["old secret", "new secret"] {
                    let greeting = try await client.ask(Requests.authenticate(secret))
                    #expect(greeting.result["name"].string == "eu-game-1")
                    #expect(greeting.result["roles"].array?.map(\.string) == ["game", "finance"])
                    _ = try await client.ask(Requests.grant(secret.replacing(" ", with: "-"), "a", 1))
                }
                _ = try await client.ask(Requests.authenticate("another secret"))
                _ = try await client.ask(Requests.grant("k", "a", 1))
                _ = try await client.ask(Requests.authenticate("old secret"))
                let history = try await client.ask(Requests.history("a"))
                let actors = history.result["entries"].array?.map { $0["actor"].string }
                #expect(actors == ["us-game-1", "eu-game-1", "eu-game-1"])
            }
        }

        /// Every method, so that a new one is thought of.
        @Test func aTokenThatOnlyReadsChangesNothing() {
            let reads: Set = [
                "ping", "authenticate", "info", "balance", "purchase", "consumption", "history", "lots", "holds",
                "report",
                "journal", "find", "head",
            ]
            let changes: Set = [
                "spend", "credit", "notify", "grant", "reverse", "hold", "capture", "release", "atomic", "link",
                "relink",
                "consent", "external", "close", "adjust", "import", "forget", "blocks", "promote",
                "step_down", "reload",
            ]
            #expect(Set(Methods.all.map(\.description)) == reads.union(changes))
            for method in Methods.all { #expect(method.changes == changes.contains("\(method)"), "\(method)") }
        }

        @Test func limitsOfATokenHold() async throws {
            let tokens = [
                Token("reader", .admin, "r") { $0.isReadOnly = true },
                Token("gems", .game, "g") { $0.currencies = [CurrencyCode("gems")!] },
                Token("all", .admin, "a"),
            ]
            let logs = LogCapture()
            try await TestServer.run(tokens: tokens, logs: logs) { server in
                let reader = try await server.connect(as: "r")
                #expect(try await reader.ask(Requests.balance("a")).result["account"].string == "a")
                let grant = try await reader.ask(Requests.grant("1", "a", 1))
                #expect(
                    grant.reason == "forbidden" && grant["error"]["message"].string?.contains("may only read") == true)
                #expect(try await reader.ask(Requests.call("forget", #"{"account":"a"}"#)).reason == "forbidden")

                let gems = try await server.connect(as: "g")
                #expect(try await gems.ask(Requests.grant("2", "a", 7)).reason == nil)
                for line in [
                    Requests.grant("3", "a", 1, of: "tickets"), Requests.spend("3", "a", 1, of: "tickets"),
                    Requests.call(
                        "hold",
                        #"{"key":"3","account":"a","currency":"tickets","amount":1,"timeoutMilliseconds":9}"#),
                    Self.atomicGrants("3", [("gems", 1), ("tickets", 1)]),
                ] {
                    let reply = try await gems.ask(line)
                    #expect(
                        reply.reason == "forbidden" && reply["error"]["message"].string?.contains("tickets") == true,
                        "\(line)")
                }
                // Nothing of it stands under the key.
                let all = try await server.connect(as: "a")
                #expect(try await all.ask(Requests.grant("3", "a", 1, of: "tickets")).reason == nil)
                let balances = try await all.ask(Requests.balance("a")).result["balances"]
                #expect(balances["gems"]["available"].int == 7 && balances["tickets"]["available"].int == 1)
            }
            #expect(logs.lines.contains { $0.contains("kind=forbidden") && $0.contains("token=reader") })
            #expect(logs.lines.contains { $0.contains("tickets") && $0.contains("token=gems") })
        }

        @Test func moreRequestsThanATokenMaySendInASecondAreOverloadedOnAllItsConnections() async throws {
            let time = NIOLockedValueBox<UInt64>(5_000_000_000)
            let tokens = [
                Token("slow", .game, "s") { $0.requestsPerSecond = 4 }, Token("fast", .game, "f"),
            ]
            try await TestServer.run(tokens: tokens, clock: { time.withLockedValue { $0 } }) { server in
                let (one, two) = (try await server.connect(as: "s"), try await server.connect(as: "s"))
                let fast = try await server.connect(as: "f")
                for key in 0..<3 { #expect(try await one.ask(Requests.grant("\(key)", "a", 1)).reason == nil) }
                let replies = try await two.ask([Requests.grant("3", "a", 1), Requests.grant("4", "a", 1)])
                #expect(replies[0].reason == nil && replies[1].reason == "overloaded")
                #expect(try await one.ask(Requests.balance("a")).reason == "overloaded")
                // What no role is needed for is not counted, and others are not concerned.
                #expect(try await one.ask(Requests.ping(1)).reason == nil)
                #expect(try await fast.ask(Requests.balance("a")).result["balances"]["gems"]["available"].int == 4)
                time.withLockedValue { $0 += 500_000_000 }
                let later = try await one.ask(["4", "5", "6"].map { Requests.grant($0, "a", 1) })
                #expect(later.map(\.reason) == [nil, nil, "overloaded"])
            }
        }

        /// Otherwise who reloads often gives more than either configuration says.
        @Test func aTokenWhoseRequestsASecondAreReplacedHasUsedUpWhatItHadUsedUp() async throws {
            let time = NIOLockedValueBox<UInt64>(5_000_000_000)
            func tokens(_ perSecond: Int64?) -> [Token] {
                [Token("slow", .game, "s") { $0.requestsPerSecond = perSecond }]
            }
            try await TestServer.run(tokens: tokens(2), clock: { time.withLockedValue { $0 } }) { server in
                let slow = try await server.connect(as: "s")
                func reasons() async throws -> [String?] {
                    try await slow.ask((0..<3).map { _ in Requests.balance("a") }).map(\.reason)
                }
                #expect(try await reasons() == [nil, nil, "overloaded"])
                server.lines.reload(tokens: tokens(4))
                #expect(try await reasons() == ["overloaded", "overloaded", "overloaded"])
                time.withLockedValue { $0 += 500_000_000 }
                #expect(try await reasons() == [nil, nil, "overloaded"])
                server.lines.reload(tokens: tokens(nil))
                #expect(try await reasons() == [nil, nil, nil])
            }
        }

        @Test func aTokenHasItsShareHoweverManyConnectionsAnotherHas() async throws {
            let store = FaultyStore()
            let tokens = [
                Token("many", .game, "m") { $0.share = 1 }, Token("one", .game, "o") { $0.share = 3 },
            ]
            try await TestServer.run(store: store, tokens: tokens) { server in
                let first = try await server.connect(as: "m")
                let one = try await server.connect(as: "o")
                var many: [RawClient] = []
                for _ in 0..<20 { many.append(try await server.connect(as: "m")) }
                store.hold()
                try await first.send(Requests.grant("first", "a", 1) + "\n")
                #expect(try await eventually { store.waiting == 1 })
                for (number, client) in many.enumerated() {
                    try await client.send((0..<100).map { Requests.grant("\(number) \($0)", "a", 1) + "\n" }.joined())
                }
                try await one.send((0..<100).map { Requests.grant("one \($0)", "a", 1) + "\n" }.joined())
                // Each event loop answers these behind what it has read.
                for _ in 0..<8 { #expect(try await server.connect().ask(Requests.ping(1)).reason == nil) }
                store.release()
                let entries = try await one.lines(100).map { try #require(JSON($0).result["entry"].int) }
                // Of four turns three are its own: with the same share it would be done after 200 entries, and with a
                // turn for each connection after 2,000.
                #expect(try #require(entries.max()) < 180, "\(entries)")
                for client in many { #expect(try await client.lines(100).allSatisfy { try JSON($0).reason == nil }) }
            }
        }

        @Test func grantsOfADayAreCountedOnceAndBeginAnewWithTheNextDay() async throws {
            let midnight: Int64 = 20_000 * 86_400_000
            let time = NIOLockedValueBox(midnight - 1)
            let tokens = [
                Token("shop", .game, "s") { $0.grantsPerDay = [CurrencyCode("gems")!: 100] },
                Token("all", .game, "a"),
            ]
            try await TestServer.run(tokens: tokens, now: { time.withLockedValue { $0 } }) { server in
                let (shop, again) = (try await server.connect(as: "s"), try await server.connect(as: "s"))
                #expect(try await shop.ask(Requests.grant("1", "a", 60)).reason == nil)
                // A repeat, and what the ledger refuses, take nothing.
                for _ in 0..<3 {
                    #expect(try await again.ask(Requests.grant("1", "a", 60)).result["replayed"].bool == true)
                }
                #expect(try await again.ask(Requests.grant("1", "a", 30)).reason == "key_reused")
                #expect(try await again.ask(Requests.grant("n", "a", 30, of: "none")).reason == "unknown_currency")
                let forbidden = try await again.ask(Requests.grant("2", "a", 41))
                #expect(forbidden.reason == "forbidden" && forbidden["error"]["data"]["remaining"].int == 40)
                #expect(try await again.ask(Requests.grant("2", "a", 40)).reason == nil)
                let both = Self.atomicGrants("3", [("gems", 1), ("tickets", 9)])
                #expect(try await again.ask(both).reason == "forbidden")
                #expect(try await again.ask(Requests.grant("3", "a", 9, of: "tickets")).reason == nil)
                let other = try await server.connect(as: "a")
                #expect(try await other.ask(Requests.grant("4", "a", 500)).reason == nil)
                time.withLockedValue { $0 = midnight }
                #expect(try await shop.ask(Self.atomicGrants("5", [("gems", 50), ("gems", 50)])).reason == nil)
                #expect(try await shop.ask(Requests.grant("6", "a", 1)).reason == "forbidden")
                let balance = try await other.ask(Requests.balance("a"))
                #expect(balance.result["balances"]["gems"]["available"].int == 700)
            }
        }

        /// It waits behind a read, and is held to the limit that there is when it is carried out. Where its token has
        /// another name by then, whose limit is another, its connection is closed.
        @Test(arguments: ["a", "renamed"])
        func whatWaitsIsHeldToALimitThatIsLoweredMeanwhile(name: String) async throws {
            func tokens(_ max: [CurrencyCode: Int64], _ name: String = "a") -> [Token] {
                [Token(name, [.game, .finance], "a") { $0.grantsPerDay = max }, Token("b", .game, "b")]
            }
            try await TestServer.run(tokens: tokens([:])) { server in
                let (client, other) = (try await server.connect(as: "a"), try await server.connect(as: "b"))
                let lines = [Requests.journal(after: 0, wait: 30_000), Requests.grant("1", "a", 11)]
                try await client.send(lines.joined(separator: "\n") + "\n")
                try await server.letEventLoopsRead()
                server.lines.reload(tokens: tokens([CurrencyCode("gems")!: 10], name))
                if name != "a" {
                    #expect(try await client.line() == nil)
                    return
                }
                #expect(try await other.ask(Requests.grant("2", "b", 1)).reason == nil)
                let replies = try await client.lines(2).map { try JSON($0) }
                #expect(replies.map(\.reason) == [nil, "forbidden"])
                #expect(replies[1]["error"]["data"]["remaining"].int == 10)
            }
        }

        @Test func tokensAreReplacedWhileConnectionsAreOpen() async throws {
            let before = [
                Token("a", .game, "old") { $0.grantsPerDay = [CurrencyCode("gems")!: 10] },
                Token("b", .game, "b"),
                Token("c", .finance, "c"),
            ]
            try await TestServer.run(tokens: before) { server in
                let (old, gone, changed) = (
                    try await server.connect(as: "old"), try await server.connect(as: "b"),
                    try await server.connect(as: "c")
                )
                #expect(try await old.ask(Requests.grant("1", "a", 6)).reason == nil)
                #expect(try await changed.ask(Requests.grant("2", "a", 1)).reason == "forbidden")
                server.lines.reload(tokens: [
                    Token("a", .game, "old", "new") { $0.grantsPerDay = [CurrencyCode("gems")!: 10] },
                    Token("c", .game, "c"),
                ])
                // Its connection goes on, and what it has used of its limit is used.
                #expect(try await old.ask(Requests.grant("3", "a", 5)).reason == "forbidden")
                #expect(try await old.ask(Requests.grant("3", "a", 4)).reason == nil)
                let new = try await server.connect(as: "new")
                #expect(try await new.ask(Requests.grant("4", "a", 1)).reason == "forbidden")
                #expect(try await gone.ask(Requests.balance("a")).reason == "unauthenticated")
                #expect(try await changed.ask(Requests.grant("5", "a", 1)).reason == nil)
                // What cannot be read changes nothing.
                server.lines.reload(failing: CocoaError(.fileReadNoSuchFile))
                #expect(try await old.ask(Requests.balance("a")).reason == nil)
                server.lines.reload(tokens: [Token("a", .game, "new")])
                #expect(try await old.ask(Requests.balance("a")).reason == "unauthenticated")
                #expect(try await new.ask(Requests.balance("a")).result["balances"]["gems"]["available"].int == 11)
            }
        }

        @Test func whatWasGrantedTodayCountsUnderANameWhateverLimitItHad() async throws {
            func shop(_ max: Int64?) -> Token {
                Token("shop", .game, "s") { limits in
                    if let max { limits.grantsPerDay = [CurrencyCode("gems")!: max] }
                }
            }
            let other = Token("other", .game, "o")
            try await TestServer.run(tokens: [shop(nil), other]) { server in
                let first = try await server.connect(as: "s")
                #expect(try await first.ask(Requests.grant("1", "a", 60)).reason == nil)
                // What was refused, or was granted before, counts for nothing.
                #expect(try await first.ask(Requests.grant("n", "a", 60, of: "none")).reason == "unknown_currency")
                #expect(try await first.ask(Requests.grant("1", "a", 60)).result["replayed"].bool == true)
                server.lines.reload(tokens: [shop(100), other])
                let forbidden = try await first.ask(Requests.grant("2", "a", 41))
                #expect(forbidden.reason == "forbidden" && forbidden["error"]["data"]["remaining"].int == 40)
                #expect(try await first.ask(Requests.grant("2", "a", 30)).reason == nil)
                // Nor is it forgotten where the name is taken away for a while.
                server.lines.reload(tokens: [other])
                server.lines.reload(tokens: [shop(100), other])
                let second = try await server.connect(as: "s")
                #expect(try await second.ask(Requests.grant("3", "a", 11)).reason == "forbidden")
                #expect(try await second.ask(Requests.grant("3", "a", 10)).reason == nil)
            }
        }

        /// A thousand guesses.
        @Test func whoSendsOneWrongTokenAfterTheOtherIsNotListenedTo() async throws {
            let logs = LogCapture()
            try await TestServer.run(
                tokens: [Token("a", .game, "right")], logs: logs,
                limits: { $0.noticeMilliseconds = 3_600_000 }
            ) { server in
                for round in 0..<334 {
                    let client = try await server.connect()
                    let guesses = (0..<3).map { Requests.authenticate("guess \(round) \($0)") }
                    let lines = guesses + [Requests.authenticate("right"), Requests.ping(7)]
                    try await client.send(lines.map { $0 + "\n" }.joined())
                    for reply in try await client.lines(3) { #expect(reply.contains("unauthenticated")) }
                    #expect(try await client.line() == nil)
                }
                // Two are allowed to who then has the right one.
                let client = try await server.connect()
                let replies = try await client.ask(["1", "2", "right"].map { Requests.authenticate($0) })
                #expect(replies[2].reason == nil)
            }
            let guesses = logs.lines.filter { $0.contains("kind=unknown_token") }
            #expect(guesses.count == 4 && guesses.allSatisfy { $0.contains("127.0.0.1") }, "\(guesses)")
            #expect(guesses.last?.contains("more=1001") == true, "what no line was written of is counted")
            #expect(!logs.lines.contains { $0.contains("guess") || $0.contains("right") })
        }

        @Test func onlyWhoHasAuthenticatedSendsLongLines() async throws {
            try await TestServer.run(tokens: [Token("a", .game, "right")]) { server in
                let members = (1...1_000).map { Requests.grant("g\($0)", "a", 1, id: "\($0)") }
                let batch = "[\(members.joined(separator: ","))]"
                let client = try await server.connect()
                let replies = try await client.ask([Requests.authenticate("right"), batch])
                #expect(replies[0].reason == nil && replies[1].count == 1_000)
                let stranger = try await server.connect()
                try await stranger.send(String(batch.prefix(9_000)))
                let refusal = try JSON(try #require(try await stranger.line()))
                #expect(refusal.reason == "line_too_long")
                let why = "before its client has authenticated, a line is at most 8192 bytes"
                #expect(refusal["error"]["message"].string?.hasPrefix(why) == true, "\(refusal)")
                #expect(try await stranger.line() == nil)
            }
        }

        @Test func nobodyWritesALineOfTheLogByThemselves() async throws {
            let logs = LogCapture()
            try await TestServer.run(tokens: [Token("pipeline", .purchases, "p")], logs: logs) { server in
                let pipeline = try await server.connect(as: "p")
                let member = #""x\n2026-01-01 notice: refused token=\"admin\" \u001b[2J":1"#
                let parts = [#"{"alg":"ES256",\#(member),\#(member)}"#, "{}", "signature"].map { part in
                    Data(part.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                        .replacing("=", with: "")
                }
                let reply = try await pipeline.ask(Requests.credit(parts.joined(separator: "."), account: "a"))
                #expect(reply.reason == "verification_failed")
            }
            let refused = logs.lines.filter { $0.contains("kind=verification_failed") }
            try #require(refused.count == 1)
            #expect(refused[0].contains(#"x\n2026-01-01 notice: refused token=\"admin\" \u{1b}[2J"#), "\(refused)")
            #expect(!logs.lines.contains { $0.contains("\n") || $0.contains("\u{1b}") })
        }

        @Test func refusalsForSecuritysSakeAreLoggedWithoutWhatWasSent() async throws {
            let (app, forger) = (try SandboxApp(), try SandboxApp())
            let logs = LogCapture()
            let forged = try forger.transaction(1)
            try await TestServer.run(
                tokens: [Token("pipeline", .purchases, "p")], verifier: app.verifier, logs: logs
            ) { server in
                let stranger = try await server.connect()
                #expect(try await stranger.ask(Requests.balance("a")).reason == "unauthenticated")
                let client = try await server.connect(as: "p")
                #expect(try await client.ask(Requests.credit(forged, account: "a")).reason == "verification_failed")
                #expect(try await client.ask(Requests.spend("s", "a", 1)).reason == "forbidden")
            }
            for parts in [
                ["kind=unauthenticated", "detail=balance", "peer=127.0.0.1"],
                ["kind=verification_failed", "detail=untrusted_root", "token=pipeline", "peer=127.0.0.1"],
                ["kind=forbidden", "may not call spend", "token=pipeline"],
            ] {
                let found = logs.lines.filter { line in parts.allSatisfy { line.contains($0) } }
                #expect(found.count == 1, "\(parts)")
            }
            let segment = forged.split(separator: ".")[1].prefix(40)
            #expect(!logs.lines.contains { $0.contains(segment) })
        }
    }
}
