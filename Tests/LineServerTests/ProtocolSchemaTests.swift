import Foundation
import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// What goes over the wire is what `Schema/protocol` says, and nothing else is.
    @Suite struct ProtocolSchemas {
        @Test func everyLineOfAConversationIsWhatTheSchemasSay() async throws {
            var conversation = RecordedConversation()
            try await conversation.playersAndPurchases()
            try await conversation.roles()
            try await conversation.failures()

            let results = Set(conversation.results)
            let codes = Set(conversation.errors.map(\.code))
            #expect(results == Set(Methods.all.map(\.description)), "not every method had a result")
            #expect(codes == Set(WireReason.allCases.map(\.code)), "not every code was given")

            let checked = try SchemaCheck.run(conversation.records, arguments: ["--mutate"])
            #expect(checked.status == 0, "\(checked.output)")
            let counts = try #require(
                checked.output.firstMatch(of: /checked (\d+) requests, (\d+) replies, (\d+) mutants, 0 failures/))
            let numbers = [counts.1, counts.2, counts.3].compactMap { Int($0) }
            #expect(zip(numbers, [50, 50, 1_000]).allSatisfy { $0 >= $1 }, "\(checked.output)")
            for method in Methods.all {
                #expect(checked.output.contains("result \(method.description)"), "\(checked.output)")
            }
        }

        /// The check itself can fail.
        @Test func whatIsWrongIsRefusedByItsLine() throws {
            let release = Requests.call("release", #"{"key":"k","holdKey":"h"}"#)
            let released = #"{"jsonrpc":"2.0","id":1,"result":{"entry":1,"replayed":false,"balances":{}}}"#
            let wrongReplies = [
                // No balances, no entry's number, another method's result, another request's id.
                #"{"jsonrpc":"2.0","id":1,"result":{"entry":1,"replayed":false}}"#,
                #"{"jsonrpc":"2.0","id":1,"result":{"entry":0,"replayed":false,"balances":{}}}"#,
                #"{"jsonrpc":"2.0","id":1,"result":{}}"#,
                #"{"jsonrpc":"2.0","id":2,"result":{"entry":1,"replayed":false,"balances":{}}}"#,
                // No data, a reason under another code, one that no server gives, a retry that would not help.
                #"{"jsonrpc":"2.0","id":1,"error":{"code":-32012,"message":"m"}}"#,
                #"""
                {"jsonrpc":"2.0","id":1,"error":{"code":-32011,"message":"m","data":{"reason":"hold_closed",\#
                "retryable":false}}}
                """#,
                #"""
                {"jsonrpc":"2.0","id":1,"error":{"code":-32012,"message":"m","data":{"reason":"closed",\#
                "retryable":false}}}
                """#,
                #"""
                {"jsonrpc":"2.0","id":1,"error":{"code":-32012,"message":"m","data":{"reason":"hold_closed",\#
                "retryable":true}}}
                """#,
            ]
            let wrongRequests = [
                #"{"key":"k"}"#, #"{"key":"","holdKey":"h"}"#, #"{"key":"k","holdKey":"h","operation":64}"#,
                #"{"key":"k","holdKey":"h","more":1}"#,
            ]
            let records =
                [["request": release, "reply": released]] + wrongReplies.map { ["request": release, "reply": $0] }
                + wrongRequests.map { ["request": Requests.call("release", $0), "reply": released] }
            let checked = try SchemaCheck.run(records)
            #expect(checked.status == 1)
            let refused = checked.output.matches(of: /line (\d+):/).compactMap { Int($0.1) }
            #expect(refused == Array(2...records.count), "\(checked.output)")
            #expect(try SchemaCheck.run(Array(records.prefix(1))).status == 0)
        }
    }
}

/// `Schema/protocol/check.py`, run on a recorded conversation.
private enum SchemaCheck {
    private static let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Schema/protocol/check.py")

    /// The first Python that has the package, which `.ci/setup` installs for the system's.
    private static let python: String? = ["python3", "/usr/bin/python3"].first { python in
        (try? execute([python, "-W", "ignore", "-c", "import jsonschema"], input: Data()))?.status == 0
    }

    static func run(_ records: [[String: Any]], arguments: [String] = []) throws -> (status: Int32, output: String) {
        let lines = try records.map { try JSONSerialization.data(withJSONObject: $0) + Data("\n".utf8) }
        let python = try #require(Self.python, "no python3 with the package jsonschema: .ci/setup installs it")
        return try execute([python, script.path] + arguments, input: Data(lines.joined()))
    }

    private static func execute(_ command: [String], input: Data) throws -> (status: Int32, output: String) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("schemas-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (given, printed) = (folder.appendingPathComponent("in"), folder.appendingPathComponent("out"))
        try input.write(to: given)
        try Data().write(to: printed)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardInput = try FileHandle(forReadingFrom: given)
        let output = try FileHandle(forWritingTo: printed)
        process.standardOutput = output
        process.standardError = output
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, try String(contentsOf: printed, encoding: .utf8))
    }
}

/// Real requests and their replies, over real sockets, in the order in which they went.
private struct RecordedConversation {
    private(set) var records: [[String: Any]] = []
    private(set) var results: [String] = []
    private(set) var errors: [(code: Int, reason: String)] = []

    /// - Parameter malformed: the schemas must refuse the request.
    @discardableResult
    private mutating func say(_ client: RawClient, _ request: String, malformed: Bool = false) async throws -> JSON {
        try await client.send(request + "\n")
        let line = try #require(try await client.line())
        var record: [String: Any] = ["reply": line]
        // A line that is no JSON, or too long for it, is nothing that a schema can judge.
        if request.utf8.count < WireLimits.lineBytesMax, let sent = try? JSON(request) {
            record["request"] = request
            record["malformed"] = malformed
            if let method = sent["method"].string, try JSON(line).result.exists { results.append(method) }
        }
        records.append(record)
        let reply = try JSON(line)
        for one in reply.array ?? [reply] {
            if let code = one["error"]["code"].int { errors.append((code, one.reason ?? "")) }
        }
        return reply
    }

    private mutating func call(
        _ client: RawClient, _ method: String, _ params: String, malformed: Bool = false
    ) async throws {
        try await say(client, Requests.call(method, params), malformed: malformed)
    }

    mutating func playersAndPurchases() async throws {
        let app = try SandboxApp()
        var talk = self
        try await TestServer.run(verifier: app.verifier) { server in
            let client = try await server.connect()
            try await talk.purchases(client, app)
            try await talk.operations(client)
            try await talk.atomics(client)
            try await talk.reads(client)
            try await talk.finds(client, app)
            try await talk.linking(client)
            try await talk.forgetting(client)
            try await talk.standbys(client)
            try await talk.malformed(client, server)
        }
        self = talk
    }

    private mutating func purchases(_ client: RawClient, _ app: SandboxApp) async throws {
        let bought = try app.transaction(1)
        let refunded = try app.transaction(1, revokedAt: SandboxApp.date, signedDate: SandboxApp.date + 1)
        try await say(client, Requests.ping(1))
        try await say(client, Requests.call("info"))
        try await say(client, Requests.credit(bought, account: "a"))
        try await say(client, Requests.credit(bought, account: "a"))
        try await say(
            client, Requests.credit(try app.transaction(2, product: "com.example.game.starter"), account: "a"))
        try await say(client, Requests.credit(bought, account: "b"))
        try await say(client, Requests.credit(try app.transaction(3)))
        try await say(client, Requests.credit(try app.transaction(4, product: "unheard"), account: "a"))
        try await say(client, Requests.credit(try app.transaction(1, quantity: 2), account: "a"))
        try await say(client, Requests.credit("e30", account: "a"))
        try await say(
            client, Requests.credit(try app.transaction(5, type: .init(rawValue: "Non-Consumable")), account: "a"))
        try await say(client, Requests.spend("first", "a", 120))
        try await say(client, Requests.credit(refunded, account: "a"))
        try await say(client, Requests.notify(try app.notification("u-1", type: "TEST")))
        try await say(
            client, Requests.notify(try app.notification("u-2", type: "REFUND", transaction: refunded), account: "a"))
        try await say(
            client, Requests.notify(try app.notification("u-4", type: "CONSUMPTION_REQUEST", transaction: bought)))
        let again = try app.transaction(1, signedDate: SandboxApp.date + 2)
        try await say(
            client, Requests.notify(try app.notification("u-5", type: "REFUND_REVERSED", transaction: again)))
        try await say(
            client,
            Requests.notify(
                try app.notification(
                    "u-6", type: "REFUND",
                    transaction: try app.transaction(
                        1, revokedAt: SandboxApp.date, signedDate: SandboxApp.date + 3))))
        for method in ["purchase", "consumption"] {
            let consent = method == "consumption" ? #","customerConsented":true"# : ""
            for id in ["1", "2", "99"] { try await call(client, method, #"{"transactionId":"\#(id)"\#(consent)}"#) }
        }
        for page in [#""limit":1"#, #""limit":1000,"before":2"#, #""before":1"#] {
            try await call(client, "purchase", #"{"transactionId":"1",\#(page)}"#)
        }
    }

    private mutating func operations(_ client: RawClient) async throws {
        let gems = #""currency":"gems","amount""#
        try await call(
            client, "grant", #"{"key":"g1","account":"a",\#(gems):1000,"note":"sorry","expiresAt":1800000000000}"#)
        try await call(client, "grant", #"{"key":"g1","account":"a",\#(gems):1001}"#)
        try await call(
            client, "spend",
            #"{"key":"s1","account":"a","debits":[{\#(gems):60},{"currency":"tickets","amount":1}],"note":"a hat"}"#)
        try await call(
            client, "spend", #"{"key":"s2","account":"a","debits":[{\#(gems):1}],"funds":"paid","expectedVersion":99}"#)
        try await call(
            client, "spend", #"{"key":"s3","account":"a","debits":[{\#(gems):1}],"minimumRemaining":999999}"#)
        for _ in 0..<2 { try await say(client, Requests.spend("s4", "a", 999_999)) }
        try await say(client, Requests.grant("g2", "a", 9_007_199_254_740_991))
        for (key, account) in ["g3": "rich", "g4": "as rich"] {
            try await say(client, Requests.grant(key, account, 9_007_199_254_740_991))
        }
        for _ in 0..<2 { try await say(client, Requests.grant("g5", "a", 1_000_000_001, of: "tickets")) }
        try await say(client, Requests.grant("g6", "a", 1, of: "shells"))
        try await call(client, "reverse", #"{"key":"r1","spendKey":"s1","debits":[{\#(gems):20}]}"#)
        try await call(client, "reverse", #"{"key":"r2","spendKey":"s1"}"#)
        try await call(client, "reverse", #"{"key":"r3","spendKey":"s1"}"#)
        for _ in 0..<2 { try await call(client, "reverse", #"{"key":"r4","spendKey":"none"}"#) }
        for key in ["h1", "h2"] {
            try await call(client, "hold", #"{"key":"\#(key)","account":"a",\#(gems):50,"timeoutMilliseconds":60000}"#)
        }
        try await call(client, "hold", #"{"key":"h3","account":"a",\#(gems):999999,"timeoutMilliseconds":1}"#)
        try await call(client, "capture", #"{"key":"c1","holdKey":"h1","amount":30}"#)
        try await call(client, "capture", #"{"key":"c2","holdKey":"h1"}"#)
        try await call(client, "capture", #"{"key":"c3","holdKey":"none"}"#)
        try await call(client, "release", #"{"key":"l1","holdKey":"h2"}"#)
        try await call(client, "release", #"{"key":"l2","holdKey":"h2","operation":1}"#)
        try await call(client, "release", #"{"key":"l3","holdKey":"none"}"#)
    }

    private mutating func atomics(_ client: RawClient) async throws {
        let hold = #"{"account":"a","currency":"gems","amount":10,"timeoutMilliseconds":60000}"#
        try await call(client, "hold", #"{"key":"h4",\#(hold.dropFirst())"#)
        try await call(client, "hold", #"{"key":"h5",\#(hold.dropFirst())"#)
        let operations = [
            #"{"method":"spend","params":{"account":"a","debits":[{"currency":"gems","amount":5}]}}"#,
            #"{"method":"grant","params":{"account":"b","currency":"tickets","amount":5,"note":"traded"}}"#,
            #"{"method":"hold","params":\#(hold)}"#, #"{"method":"capture","params":{"holdKey":"h4","amount":4}}"#,
            #"{"params":{"holdKey":"h5"},"method":"release"}"#,
            #"{"method":"reverse","params":{"spendKey":"first"}}"#,
        ]
        for _ in 0..<2 {
            try await call(
                client, "atomic", #"{"key":"basket","operations":[\#(operations.joined(separator: ","))]}"#)
        }
        try await call(client, "release", #"{"key":"l4","holdKey":"basket","operation":2}"#)
        let tooMuch = #"{"method":"spend","params":{"account":"a","debits":[{"currency":"gems","amount":9999999}]}}"#
        for _ in 0..<2 {
            try await call(client, "atomic", #"{"key":"dear","operations":[\#(operations[1]),\#(tooMuch)]}"#)
        }
    }

    private mutating func reads(_ client: RawClient) async throws {
        try await say(client, Requests.balance("a"))
        try await say(client, Requests.balance("nobody"))
        try await say(client, Requests.history("a"))
        try await call(client, "history", #"{"account":"a","currency":"gems","limit":1,"before":9}"#)
        for method in ["lots", "holds"] {
            try await call(client, method, #"{"account":"a"}"#)
            try await call(client, method, #"{"account":"a","currency":"gems","limit":1}"#)
            try await call(client, method, #"{"account":"nobody","before":9}"#)
            try await call(client, method, #"{"account":"a","currency":"shells"}"#)
        }
        let report = try await say(client, Requests.report("balances"))
        let asOf = try #require(report.result["asOf"].int)
        try await say(client, Requests.report("trial", asOf: Int64(asOf)))
        try await say(client, Requests.report("debts", asOf: Int64(asOf)))
        for kind in ReportKind.allCases.filter(\.hasEffectiveDates).map(\.rawValue) {
            for cut in ["posted", "effective"] {
                try await call(client, "report", #"{"kind":"\#(kind)","by":"\#(cut)","limit":1000}"#)
            }
        }
        try await call(client, "report", #"{"kind":"balances","limit":1,"currency":"gems"}"#)
        let told = try await say(client, Requests.report("notifications"))
        let verdicts = try #require(told.result["rows"].array).map { $0["verdict"].string }
        #expect(verdicts == ["recorded", "unchanged", "unchanged", "reinstated", "reversed"])
        try await call(client, "report", #"{"kind":"notifications","from":1,"limit":1}"#)
        for scope in [#","scope":"open""#, #","scope":"all""#, ""] {
            try await call(client, "report", #"{"kind":"consumption_requests"\#(scope)}"#)
        }
        for wrong in [
            #""kind":"trial","scope":"all""#, #""kind":"notifications","currency":"gems""#,
            #""kind":"consumption_requests","from":1"#, #""kind":"balances","by":"effective""#,
        ] { try await call(client, "report", "{\(wrong)}", malformed: true) }
        try await say(client, Requests.balance("a", asOf: Int64(asOf)))
        try await say(client, Requests.journal(after: 0, limit: 1_000))
        try await say(client, Requests.journal(after: 1, limit: 2, wait: 30_000))
        try await say(client, Requests.journal(after: 1_000, wait: 1))
        try await call(client, "head", "{}")
        let product = "com.example.game.gems500"
        let order = #""source":"shop","transactionId":"o-1","account":"a","product":"\#(product)","purchaseDate":1"#
        for more in ["", #","revoked":50000"#, #","quantity":2"#, #","price":1,"priceCurrency":"EUR""#] {
            try await call(client, "external", "{\(order)\(more)}")
        }
        let ordered = try await say(client, Requests.call("external", "{\(order)}"))
        let number = try #require(ordered.result["transactionId"].string)
        try await call(client, "purchase", "{\"transactionId\":\"\(number)\"}")
        try await call(client, "external", #"{"source":"app_store","transactionId":"1"}"#, malformed: true)
        for through in [asOf, asOf, asOf - 1, Int(Limits.amountMax)] {
            try await call(client, "close", "{\"through\":\(through)}")
        }
        try await say(client, Requests.report("closings"))
        try await call(client, "close", "{}", malformed: true)
        try await say(
            client,
            "[\(Requests.ping(1)),\(Requests.balance("a", id: "\"two\"")),\(Requests.call("purchase", "{}", id: 3))]")
        try await say(
            client, "[\(Requests.grant("silent", "a", 1, id: nil)),\(Requests.journal(after: 0, limit: 1, id: "4"))]")
    }

    private mutating func finds(_ client: RawClient, _ app: SandboxApp) async throws {
        for asked in [
            #""account":"a""#, #""account":"nobody""#, #""token":"4D7A2B6E-0C5B-4B4F-9E0D-1F2E3D4C5B6A""#,
            // Refused, so that each part of a refusal is made wrong; then carried out.
            #""key":"dear""#, #""key":"basket""#, #""key":"none""#, #""transactionId":"2""#, #""transactionId":"99""#,
        ] { try await call(client, "find", "{\(asked)}") }
        // Recorded, and nobody's yet.
        try await say(
            client, Requests.notify(try app.notification("u-3", type: "X", transaction: try app.transaction(70))))
        try await call(client, "find", #"{"transactionId":"70"}"#)
    }

    /// A guest who is linked, twice and to another account, and what players say of consumption.
    private mutating func linking(_ client: RawClient) async throws {
        let token = "7e3fb204-14e0-4d0b-9d0e-c6e3e2a1b0af"
        try await say(client, Requests.grant("of a guest", token, 5))
        for account in ["linked", "linked", "another"] {
            try await call(client, "link", #"{"token":"\#(token)","account":"\#(account)"}"#)
        }
        for _ in 0..<2 { try await call(client, "relink", #"{"token":"\#(token)","account":"another"}"#) }
        for consumption in [true, true, false] {
            let key = consumption ? "given" : "withdrawn"
            try await call(
                client, "consent", #"{"key":"\#(key)","account":"linked","consumption":\#(consumption)}"#)
        }
        for asked in [#""token":"\#(token)""#, #""account":"linked""#, #""key":"given""#] {
            try await call(client, "find", "{\(asked)}")
        }
        try await say(client, Requests.report("trial"))
        try await call(client, "link", #"{"token":"linked","account":"another"}"#, malformed: true)
        try await call(client, "consent", #"{"key":"k","account":"linked"}"#, malformed: true)
    }

    /// An erased name is told as what stands in its place.
    private mutating func forgetting(_ client: RawClient) async throws {
        try await call(client, "atomic", Self.basket)
        for _ in 0..<2 { try await call(client, "forget", #"{"account":"a"}"#) }
        try await call(client, "atomic", Self.basket)
        try await call(client, "purchase", #"{"transactionId":"1"}"#)
        try await say(client, Requests.balance("a"))
        let journal = try await say(client, Requests.journal(after: 0, limit: 1_000))
        #expect("\(journal)".contains("erased 1"))
        for asked in [#""key":"late""#, #""transactionId":"2""#, #""account":"a""#] {
            try await call(client, "find", "{\(asked)}")
        }
        for kind in ["balances", "debts"] { try await say(client, Requests.report(kind)) }
        try await call(client, "forget", "{}", malformed: true)
        try await call(client, "forget", #"{"account":"\u007Ferased 1"}"#, malformed: true)
    }

    private mutating func standbys(_ client: RawClient) async throws {
        let hash = String(repeating: "0", count: 64)
        let more = [",\"waitMilliseconds\":1,\"bytesMax\":1,\"durable\":0", ""]
        for more in more {
            try await call(client, "blocks", #"{"standby":"b:1","after":0,"hash":"\#(hash)"\#(more)}"#)
        }
        try await call(client, "blocks", #"{"standby":"b:1","after":7,"hash":"\#(hash)"}"#)
        for wrong in [
            #""standby":"b 1","after":0,"hash":"\#(hash)""#, #""standby":"b","after":0,"hash":"00""#,
            #""standby":"b","after":0"#, #""standby":"b","after":-1,"hash":"\#(hash)""#,
        ] { try await call(client, "blocks", "{\(wrong)}", malformed: true) }
        try await call(client, "promote", "{}")
        try await call(client, "step_down", "{}")
        try await call(client, "reload", "{}")
    }

    private static let basket = #"""
        {"key":"late","operations":[{"method":"grant","params":{"account":"a","currency":"gems","amount":1}},\#
        {"method":"grant","params":{"account":"b","currency":"gems","amount":1}}]}
        """#

    /// What the server does not take, the schemas do not take either.
    private mutating func malformed(_ client: RawClient, _ server: TestServer) async throws {
        let release = #"{"method":"release","params":{"holdKey":"h"}}"#
        let requests = [
            "{}", "[]", "17", #"{"jsonrpc":"2.0","id":1}"#, #"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            #"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, #"{"jsonrpc":"2.0","id":1,"method":"ping","more":1}"#,
            Requests.call("nothing"), Requests.call("ping", "[]"), Requests.call("ping", #"{"x":1}"#),
            Requests.call("balance", "{}"), Requests.call("balance", #"{"account":"a\u0001"}"#),
            Requests.call("authenticate", #"{"token":""}"#), Requests.grant("g", "a", 0),
            Requests.grant("g", "a", 9_007_199_254_740_992), Requests.grant("g", "a", 1, of: "a b"),
            Requests.call("purchase", #"{"transactionId":"01"}"#),
            Requests.call("purchase", #"{"transactionId":"1","limit":1001}"#),
            Requests.call("purchase", #"{"transactionId":"1","before":0}"#),
            Requests.call("consumption", #"{"transactionId":"1","customerConsented":false}"#),
            Requests.call(
                "spend",
                #"""
                {"key":"k","account":"a","debits":[{"currency":"x","amount":1},{"currency":"y","amount":1}],\#
                "expectedVersion":1}
                """#
            ),
            Requests.call("spend", #"{"key":"k","account":"a","debits":[]}"#),
            Requests.call("reverse", #"{"key":"k","spendKey":"s","operation":64}"#),
            Requests.call(
                "hold", #"{"key":"k","account":"a","currency":"x","amount":1,"timeoutMilliseconds":2592000001}"#),
            Requests.call("capture", #"{"key":"k","holdKey":"h","amount":0}"#),
            Requests.call("release", #"{"key":"k","holdKey":"h","amount":1}"#),
            Requests.call("atomic", #"{"key":"k","operations":[\#(release)]}"#),
            Requests.call("atomic", #"{"key":"k","operations":[\#(release),{"method":"ping","params":{}}]}"#),
            Requests.call(
                "atomic",
                #"{"key":"k","operations":[\#(release),{"method":"release","params":{"key":"k","holdKey":"h"}}]}"#),
            Requests.call("history", #"{"account":"a","limit":1001}"#), Requests.call("report", #"{"kind":"x"}"#),
            Requests.call("report", #"{"kind":"trial","after":"x"}"#), Requests.call("journal", #"{"after":-1}"#),
            Requests.journal(after: 0, limit: 1_001), Requests.journal(after: 0, wait: 30_001),
            Requests.call("find"), Requests.call("find", "{}"), Requests.call("find", #"{"account":"a","key":"k"}"#),
            Requests.call("find", #"{"token":"a"}"#),
            "[\((0...1_000).map { _ in Requests.ping(1) }.joined(separator: ","))]",
        ]
        for request in requests {
            let reply = try await say(client, request, malformed: true)
            #expect(reply.reason != nil, "\(request.prefix(200)) was not refused")
        }
        try await say(client, "{")
        try await say(client, String(repeating: " ", count: WireLimits.lineBytesMax + 1))
        #expect(try await client.line() == nil)
    }

    private static func adjustment(
        _ key: String, _ account: String, _ lotClass: String, _ units: String, _ reason: String, _ approval: String
    ) -> String {
        Requests.call(
            "adjust",
            #"""
            {"key":"\#(key)","account":"\#(account)","currency":"gems","class":"\#(lotClass)","amount":\#(units),\#
            "reason":"\#(reason)","approval":"\#(approval)"}
            """#)
    }

    mutating func roles() async throws {
        var talk = self
        try await TestServer.run(tokens: [.init(token: "a game's", role: .game)]) { server in
            let client = try await server.connect()
            try await talk.say(client, Requests.balance("a"))
            try await talk.say(client, Requests.authenticate("another"))
            try await talk.say(client, Requests.authenticate("a game's"))
            try await talk.say(client, Requests.journal(after: 0))
        }
        let approving = [Token(token: "ann's", role: .finance), Token(token: "ben's", role: .admin)]
        try await TestServer.run(tokens: approving) { server in
            let client = try await server.connect()
            try await talk.say(client, Requests.authenticate("ann's"))
            for (key, units) in [("j1", 5), ("j1", 5), ("j1", 6), ("j2", -6), ("j3", -2)] {
                try await talk.say(client, Self.adjustment(key, "a", "free", "\(units)", "a mistake", "ben's"))
            }
            for approval in ["ann's", "nobody's"] {
                try await talk.say(client, Self.adjustment("j4", "a", "paid", "1", "a mistake", approval))
            }
            let ben = try await server.connect()
            try await talk.say(ben, Requests.authenticate("ben's"))
            let gift = #"{"currency":"gems","amount":3}"#
            let bought =
                #"{"currency":"gems","amount":9,"transactionId":"77","product":"p","price":990,"priceCurrency":"EUR","#
                + #""purchaseDate":1}"#
            for (key, lots) in [("i1", gift + "," + bought), ("i1", gift + "," + bought), ("i2", bought), ("i1", gift)]
            {
                try await talk.say(
                    ben, Requests.call("import", #"{"key":"\#(key)","account":"a","lots":[\#(lots)]}"#))
            }
            for wrong in ["", #"{"currency":"gems","amount":0}"#, #"{"currency":"gems","amount":1,"price":1}"#] {
                try await talk.say(
                    ben, Requests.call("import", #"{"key":"i3","account":"a","lots":[\#(wrong)]}"#), malformed: true)
            }
            try await talk.say(client, Requests.history("a"))
            try await talk.say(client, Requests.report("trial"))
            try await talk.say(client, Requests.report("deferred"))
            for wrong in [
                Self.adjustment("j", "a", "free", "0", "a mistake", "ben's"),
                Self.adjustment("j", "a", "free", "1.5", "a mistake", "ben's"),
                Self.adjustment("j", "a", "free", "-9007199254740992", "a mistake", "ben's"),
                Self.adjustment("j", "a", "lent", "1", "a mistake", "ben's"),
                Self.adjustment("j", "a", "free", "1", "", "ben's"),
                Self.adjustment("j", "a", "free", "1", "a mistake", ""),
            ] { try await talk.say(client, wrong, malformed: true) }
        }
        let app = try SandboxApp()
        let elsewhere = try SandboxApp.Relabelled(app)
        for verifier in [elsewhere.app, elsewhere.environment] {
            try await TestServer.run(verifier: verifier) { server in
                try await talk.say(
                    try await server.connect(), Requests.credit(try app.transaction(1), account: "a"))
            }
        }
        self = talk
    }

    mutating func failures() async throws {
        var talk = self
        let store = FaultyStore()
        try await TestServer.run(store: store, limits: { $0.connectionsMax = 1 }) { server in
            let client = try await server.connect()
            try await talk.say(client, Requests.ping(1))
            store.failCommits(1)
            try await talk.say(client, Requests.grant("g", "a", 1))
            let refused = try await server.connect()
            let overloaded = try #require(try await refused.line())
            talk.records.append(["reply": overloaded])
        }
        let broken = FaultyStore()
        broken.breakJournal()
        try await TestServer.run(store: broken) { server in
            try await talk.say(try await server.connect(), Requests.journal(after: 0))
        }
        self = talk
    }
}
