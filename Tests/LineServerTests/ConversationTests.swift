import Ledger
import LedgerTestKit
import LedgerWire
import Synchronization
import Testing

@testable import LineServer

extension ServerTests {
    /// What the methods answer, over a socket.
    @Suite struct Conversation {
        /// No sweep has come: the history itself has what is over posted before it is read.
        @Test func aHistoryShowsNothingAsAvailableThatHasExpired() async throws {
            let passed = Clock()
            try await TestServer.run(now: { TestServer.now() + passed.milliseconds }) { server in
                let client = try await server.connect()
                let expiry = TestServer.now() + 20
                _ = try await client.ask(
                    Requests.call(
                        "grant",
                        #"{"key":"g","account":"ann","currency":"gems","amount":9,"expiresAt":\#(expiry)}"#))
                passed.pass(20)
                let entries = try await client.ask(Requests.history("ann")).result["entries"]
                #expect(entries[0]["kind"].string == "expiry")
                #expect(entries[0]["balances"]["gems"]["available"].int == 0)
                #expect(entries[1]["kind"].string == "grant")
            }
        }

        @Test func aPurchaseShowsNothingAsHeldThatHasExpired() async throws {
            let app = try SandboxApp()
            let passed = Clock()
            try await TestServer.run(verifier: app.verifier, now: { TestServer.now() + passed.milliseconds }) {
                server in
                let client = try await server.connect()
                let held = try await client.ask([
                    Requests.credit(try app.transaction(1), account: "ann"),
                    Requests.call(
                        "hold", #"{"key":"h","account":"ann","currency":"gems","amount":9,"timeoutMilliseconds":20}"#),
                    Requests.call("purchase", #"{"transactionId":"1"}"#),
                ])
                #expect(held[2].result["grants"][0]["held"].int == 9)
                passed.pass(20)
                let grant = try await client.ask(Requests.call("purchase", #"{"transactionId":"1"}"#)).result["grants"]
                #expect(grant[0]["held"].int == 0 && grant[0]["remaining"].int == 500)
            }
        }

        /// What is over at this moment, and no sweep has posted: of a lot, of a hold, and of what a hold gives back to
        /// a lot that is over. Nothing shows it as available, and nobody can spend it.
        @Test func whatHasExpiredIsAvailableNowhere() async throws {
            let passed = Clock()
            try await TestServer.run(now: { TestServer.now() + passed.milliseconds }) { server in
                let client = try await server.connect()
                let expiry = TestServer.now() + 20
                func grant(_ key: String, _ account: String) -> String {
                    let amount = #""currency":"gems","amount":9,"expiresAt":\#(expiry)"#
                    return Requests.call("grant", #"{"key":"\#(key)","account":"\#(account)",\#(amount)}"#)
                }
                func hold(_ key: String, _ account: String, _ time: Int) -> String {
                    let amount = #""currency":"gems","amount":9,"timeoutMilliseconds":\#(time)"#
                    return Requests.call("hold", #"{"key":"\#(key)","account":"\#(account)",\#(amount)}"#)
                }
                let made = try await client.ask([
                    grant("g1", "lot"), grant("g2", "held"), hold("h2", "held", 20), grant("g3", "spent"),
                    grant("g4", "holding"), grant("g5", "atomic"), grant("g6", "history"),
                ])
                #expect(made.allSatisfy { $0.reason == nil })
                passed.pass(20)
                // Each by the first question that is asked about the account.
                let one =
                    #"{"method":"spend","params":{"account":"atomic","debits":[{"currency":"gems","amount":1}]}}"#
                let replies = try await client.ask([
                    Requests.balance("lot"), Requests.balance("held"), Requests.spend("s", "spent", 1),
                    hold("h4", "holding", 9),
                    Requests.call("atomic", #"{"key":"a","operations":[\#(one),\#(one)]}"#),
                    Requests.history("history"),
                ])
                for place in 0...1 {
                    let balance = replies[place].result["balances"]["gems"]
                    #expect(balance["available"].int == 0 && balance["held"].int == 0, "\(replies[place])")
                }
                for reply in replies[2...4] {
                    #expect(reply.reason == "insufficient_funds", "\(reply)")
                    #expect(reply["error"]["data"]["available"].int == 0, "\(reply)")
                }
                #expect(replies[5].result["entries"][0]["balances"]["gems"]["available"].int == 0)
            }
        }

        /// Behind the requests that made them on the same connection, without waiting for these; page by page the
        /// whole.
        @Test func aPurchaseThatIsSignedAgainAndAgainIsToldPageByPage() async throws {
            let app = try SandboxApp()
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await server.connect()
                let requests = try (0..<1_200).map { number -> String in
                    let jws = try app.transaction(1, signedDate: SandboxApp.date + Int64(number))
                    if number % 100 > 0 { return Requests.credit(jws, account: "ann") }
                    return Requests.notify(
                        try app.notification("u-\(number)", type: "REFUND_DECLINED", transaction: jws), account: "ann")
                }
                let ask = { (page: String) in Requests.call("purchase", #"{"transactionId":"1"\#(page)}"#) }
                for begin in stride(from: 0, to: 1_000, by: 200) {
                    _ = try await client.ask(Array(requests[begin..<begin + 200]))
                }
                let last = requests[1_000...] + [ask(""), ask(#","limit":1000"#)]
                try await client.send(last.joined(separator: "\n") + "\n")
                let lines = try await client.lines(last.count).suffix(2)
                // However many events there are.
                #expect(lines.first?.utf8.count ?? .max < 20_000 && lines.last?.utf8.count ?? .max < 200_000)
                let replies = try lines.map { try JSON($0).result }
                #expect(replies[0]["events"].count == 100 && replies[0]["next"].int == 1_113)
                #expect(replies[0]["events"][99]["number"].int == 1_212)
                #expect(replies[1]["events"].count == 1_000 && replies[1]["next"].int == 213)
                let first = try await client.ask(ask(#","limit":1000,"before":213"#)).result
                #expect(first["events"].count == 212 && first["next"].isNull)
                let numbers = [first, replies[1]].flatMap { $0["events"].array?.map { $0["number"].int } ?? [] }
                #expect(numbers == Array(1...1_212))
            }
        }

        private final class Clock: Sendable {
            private let time = Mutex<Int64>(0)
            var milliseconds: Int64 { time.withLock { $0 } }
            func pass(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }
        }

        @Test func aPurchaseBecomesABalanceIsSpentAndTakenBack() async throws {
            let app = try SandboxApp()
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await server.connect()
                let bought = try app.transaction(1)
                let refunded = try app.transaction(1, revokedAt: SandboxApp.date, signedDate: SandboxApp.date + 1)
                let replies = try await client.ask([
                    Requests.credit(bought, account: "player-1"),
                    Requests.credit(bought, account: "player-1"),
                    Requests.spend("s-1", "player-1", 200),
                    Requests.credit(refunded),
                    Requests.credit(refunded, account: "player-1"),
                    Requests.credit(bought, account: "player-1"),
                    Requests.call("purchase", #"{"transactionId":"1"}"#),
                    Requests.balance("player-1"),
                    Requests.history("player-1"),
                    Requests.report("balances"),
                    Requests.report("trial"),
                ])
                #expect(replies[0].result["outcome"].string == "credited")
                #expect(replies[0].result["balances"]["gems"]["available"].int == 500)
                #expect(replies[1].result["outcome"].string == "already_credited")
                #expect(replies[2].result["balances"]["gems"]["available"].int == 300)
                #expect(replies[3].reason == "account_required")
                #expect(replies[4].result["outcome"].string == "reversed")
                #expect(replies[4].result["balances"]["gems"]["debt"].int == 200)
                #expect(replies[5].result["outcome"].string == "already_reversed")
                #expect(replies[6].result["state"].string == "revoked")
                #expect(replies[6].result["events"].count == 2)
                #expect(replies[7].result["balances"]["gems"]["available"].int == 0)
                #expect(
                    replies[8].result["entries"].array?.map { $0["kind"].string } == ["refund", "spend", "credit"])
                #expect(replies[9].result["rows"][0]["debt"].int == 200)
                let sum = replies[10].result["rows"].array?.reduce(0) { $0 + ($1["balance"].int ?? 1) }
                #expect(sum == 0)
            }
        }

        @Test func aNotificationThatCarriesNoConsumableIsAcknowledged() async throws {
            let app = try SandboxApp()
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await server.connect()
                let bought = try app.transaction(5, account: "4D7A2B6E-0C5B-4B4F-9E0D-1F2E3D4C5B6A")
                let subscription = try app.transaction(6, product: "monthly", type: .autoRenewableSubscription)
                let replies = try await client.ask([
                    Requests.notify(try app.notification("u-1", type: "TEST")),
                    Requests.notify(try app.notification("u-2", type: "SUBSCRIBED", transaction: subscription)),
                    Requests.notify(try app.notification("u-3", type: "ONE_TIME_CHARGE", transaction: bought)),
                    Requests.notify(try app.notification("u-3", type: "ONE_TIME_CHARGE", transaction: bought)),
                    Requests.credit(subscription, account: "a"),
                    Requests.credit(try app.notification("u-4", type: "TEST"), account: "a"),
                    Requests.notify(bought),
                    Requests.balance("4d7a2b6e-0c5b-4b4f-9e0d-1f2e3d4c5b6a"),
                ])
                #expect(replies[0].result["notificationType"].string == "TEST" && replies[0].result["purchase"].isNull)
                #expect(replies[1].result["purchase"].isNull && replies[1].result["duplicate"].bool == false)
                #expect(replies[2].result["purchase"]["outcome"].string == "credited")
                #expect(
                    replies[2].result["purchase"]["account"].string == "4d7a2b6e-0c5b-4b4f-9e0d-1f2e3d4c5b6a")
                #expect(replies[3].result["duplicate"].bool == true)
                #expect(replies[4].reason == "not_consumable")
                #expect(replies[5].reason == "verification_failed")
                #expect(replies[5]["error"]["data"]["detail"].string == "invalid_payload")
                #expect(replies[6]["error"]["data"]["detail"].string == "invalid_payload")
                #expect(replies[7].result["balances"]["gems"]["available"].int == 500)
            }
        }

        /// One request for each reason that a single request can reach, in the order of the protocol's table.
        @Test func everyRefusalHasItsReasonAndCode() async throws {
            let app = try SandboxApp()
            let other = try SandboxApp(bundleID: "com.example.other")
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await server.connect()
                let token = "4d7a2b6e-0c5b-4b4f-9e0d-1f2e3d4c5b6a"
                _ = try await client.ask([
                    Requests.credit(try app.transaction(1), account: "a"), Requests.grant("used", "a", 1),
                ])
                let spend = { (more: String) in
                    Requests.call(
                        "spend",
                        #"{"key":"\#(more.count)","account":"a","debits":[{"currency":"gems","amount":1}],\#(more)}"#)
                }
                let table: [(request: String, reason: String, code: Int)] = [
                    ("{", "parse_error", -32700),
                    ("{}", "invalid_request", -32600),
                    ("[\((0...1_000).map { _ in Requests.ping(1) }.joined(separator: ","))]", "batch_too_long", -32600),
                    (Requests.call("nothing"), "method_not_found", -32601),
                    (Requests.call("balance", "{}"), "invalid_params", -32602),
                    (Requests.balance("a", asOf: SandboxApp.date * 2), "invalid_params", -32602),
                    (Requests.credit("e30", account: "a"), "verification_failed", -32010),
                    (Requests.credit(try other.transaction(2), account: "a"), "verification_failed", -32010),
                    (
                        Requests.credit(try app.transaction(3, product: "unheard"), account: "a"), "unknown_product",
                        -32011
                    ),
                    (Requests.credit(try app.transaction(4)), "account_required", -32011),
                    (Requests.credit(try app.transaction(5, account: token), account: "a"), "account_mismatch", -32011),
                    (Requests.credit(try app.transaction(1), account: "b"), "account_mismatch", -32011),
                    (
                        Requests.credit(try app.transaction(1, quantity: 2), account: "a"), "purchase_conflict", -32011
                    ),
                    (Requests.spend("s", "a", 9_000), "insufficient_funds", -32012),
                    (spend(#""expectedVersion":99"#), "version_mismatch", -32012),
                    (spend(#""minimumRemaining":501"#), "minimum_remaining", -32012),
                    (Requests.grant("big", "a", 9_007_199_254_740_991), "balance_limit", -32012),
                    (Requests.grant("many", "a", 1_000_000_001, of: "tickets"), "grant_limit", -32012),
                    (Requests.grant("used", "a", 2), "key_reused", -32012),
                    (Requests.grant("shells", "a", 1, of: "shells"), "unknown_currency", -32012),
                    (
                        Requests.call("history", #"{"account":"a","currency":"shells"}"#), "unknown_currency", -32012
                    ),
                    (Requests.call("purchase", #"{"transactionId":"99"}"#), "unknown_purchase", -32012),
                ]
                for (request, reason, code) in table {
                    let reply = try await client.ask(request)
                    #expect(
                        reply.reason == reason && reply["error"]["code"].int == code, "\(request.prefix(120)): \(reply)"
                    )
                    #expect(
                        reply.isRetryable == (reason == "unknown_product"), "\(reason) is not what the table says")
                }
                let balance = try await client.ask(Requests.balance("a"))
                #expect(balance.result["balances"]["gems"]["available"].int == 501, "a refusal changes nothing")
            }
        }

        @Test func anotherAppsOrEnvironmentsPurchaseIsRefusedByName() async throws {
            let app = try SandboxApp()
            let elsewhere = try SandboxApp.Relabelled(app)
            for (verifier, reason) in [(elsewhere.app, "wrong_app"), (elsewhere.environment, "wrong_environment")] {
                try await TestServer.run(verifier: verifier) { server in
                    let reply = try await server.connect().ask(Requests.credit(try app.transaction(1), account: "a"))
                    #expect(reply.reason == reason && reply["error"]["code"].int == -32011)
                }
            }
        }

        @Test func aFlippedBitIsRefusedWithItsDetailAndChangesNothing() async throws {
            let app = try SandboxApp()
            let store = MemoryStore()
            try await TestServer.run(store: store, verifier: app.verifier) { server in
                let client = try await server.connect()
                let jws = try app.transaction(1)
                for seed in 0..<60 {
                    let reply = try await client.ask(Requests.credit(Flip.bit(of: jws, seed), account: "a"))
                    #expect(reply.reason == "verification_failed", "flip \(seed): \(reply)")
                }
                let last = try await client.ask(Requests.credit(jws, account: "a"))
                #expect(last.result["outcome"].string == "credited")
                #expect(store.rows.entries.count == 1)
            }
        }

        @Test func infoSaysWhatTheServerIs() async throws {
            try await TestServer.run { server in
                let info = try await server.connect().ask(Requests.call("info")).result
                #expect(info["version"].string == "test" && info["engine"].string == "memory")
                #expect(info["bundleId"].string == "com.example.game" && info["environment"].string == "Sandbox")
            }
        }

        @Test func aReportsTimeHoldsForEver() async throws {
            try await TestServer.run { server in
                let client = try await server.connect()
                let first = try await client.ask([Requests.grant("a", "a", 5), Requests.report("balances")])[1].result
                let asOf = try #require(first["asOf"].int)
                // In the same millisecond of the server's clock.
                let replies = try await client.ask([
                    Requests.grant("b", "a", 7), Requests.report("balances", asOf: Int64(asOf)),
                    Requests.balance("a", asOf: Int64(asOf)), Requests.balance("a"),
                    Requests.balance("a", asOf: Int64(asOf) - 1),
                ])
                #expect(replies[1].result["rows"][0]["available"].int == 5)
                #expect(replies[2].result["balances"]["gems"]["available"].int == 5)
                #expect(replies[3].result["balances"]["gems"]["available"].int == 12)
                #expect(replies[4].result["balances"].count == 0)
            }
        }
    }
}

/// Changes one bit of a JWS's three segments, so that it stays base64url.
enum Flip {
    static func bit(of jws: String, _ seed: Int) -> String {
        var bytes = Array(jws.utf8)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let segments = jws.split(separator: ".").map(\.utf8.count)
        let segment = seed % 3
        let start = segments[..<segment].reduce(0) { $0 + $1 + 1 }
        // Not the last character, of which some bits are padding.
        let place = start + (seed &* 7_919) % (segments[segment] - 1)
        let value = alphabet.firstIndex(of: bytes[place])!
        bytes[place] = alphabet[value ^ (1 << (seed / 3 % 6))]
        return String(decoding: bytes, as: UTF8.self)
    }
}
