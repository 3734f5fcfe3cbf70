import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// `find`, over a socket.
    @Suite struct Find {
        private static let token = "4D7A2B6E-0C5B-4B4F-9E0D-1F2E3D4C5B6A"

        private static func find(_ member: String, _ value: String) -> String {
            Requests.call("find", #"{"\#(member)":"\#(value)"}"#)
        }

        private static func line(_ client: RawClient, _ request: String) async throws -> String {
            try await client.send(request + "\n")
            return try #require(try await client.line())
        }

        private static func accounts(_ reply: JSON) -> [String?]? { reply.result["accounts"].array?.map(\.string) }

        /// Behind the requests that made them on the same connection, without waiting for these.
        @Test func accountsAndTokensAreFound() async throws {
            let app = try SandboxApp()
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await server.connect()
                let replies = try await client.ask([
                    Self.find("account", "ann"), Requests.grant("g", "ann", 5), Self.find("account", "ann"),
                    Self.find("token", Self.token), Requests.credit(try app.transaction(1, account: Self.token)),
                    Self.find("token", Self.token), Self.find("token", Self.token.lowercased()),
                    Self.find("account", Self.token),
                    // Never given anything, but an account since a request was refused to it.
                    Requests.spend("s", "bob", 1), Self.find("account", "bob"),
                ])
                for (place, name) in [(0, nil), (2, "ann"), (3, nil), (9, "bob")] as [(Int, String?)] {
                    #expect(replies[place].result["kind"].string == (name == nil ? "unknown" : "account"))
                    #expect(Self.accounts(replies[place]) == (name.map { [$0] } ?? []), "\(place)")
                }
                for place in 5...7 {
                    #expect(replies[place].result["kind"].string == "account")
                    #expect(Self.accounts(replies[place]) == [Self.token.lowercased()])
                }
            }
        }

        /// The entry is the one that the journal gives.
        @Test func aPurchaseIsFoundWithTheEntryThatCreditedIt() async throws {
            let app = try SandboxApp()
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await LedgerClient.connect(to: server.address)
                let player = try #require(AccountName("ann"))
                let id = try #require(TransactionID("1"))
                #expect(try await client.find(.transaction(id)) == .unknown)
                let credited = try await client.credit(signedTransaction: try app.transaction(1), account: player)
                let refund = try app.transaction(
                    1, revokedAt: SandboxApp.date, percentage: 50_000, signedDate: SandboxApp.date + 1)
                _ = try await client.credit(signedTransaction: refund, account: player)
                let journal = try await client.journal(after: 0).entries
                #expect(journal.count == 2 && journal[0].entry == credited.entry)
                let found = Finding.Purchase(
                    transaction: id, product: "com.example.game.gems500", account: player, entry: journal[0])
                #expect(try await client.find(.transaction(id)) == .purchase(found))
                try await client.close()
            }
        }

        @Test func aPurchaseThatIsNobodysYetIsFoundWithoutAnAccount() async throws {
            let app = try SandboxApp()
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await server.connect()
                let bought = try app.transaction(7)
                let replies = try await client.ask([
                    Requests.notify(try app.notification("u", type: "ONE_TIME_CHARGE", transaction: bought)),
                    Self.find("transactionId", "7"), Requests.credit(bought, account: "ann"),
                    Self.find("transactionId", "7"),
                ])
                #expect(replies[0].result["purchase"]["outcome"].string == "unassigned")
                #expect(replies[1].result["kind"].string == "purchase" && Self.accounts(replies[1]) == [])
                #expect(replies[1].result["product"].string == "com.example.game.gems500")
                #expect(replies[1].result["entry"].isNull)
                #expect(replies[3].result["kind"].string == "purchase" && Self.accounts(replies[3]) == ["ann"])
                #expect(replies[3].result["entry"]["entry"].int == replies[2].result["entry"].int)
            }
        }

        /// One request of each method that has a key.
        @Test func aKeyIsFoundWithTheEntryOfItsRequest() async throws {
            let hold = #""account":"ann","currency":"gems","amount":5,"timeoutMilliseconds":60000"#
            let requests: [(method: String, params: String, kind: String)] = [
                ("grant", #""key":"grant","account":"ann","currency":"gems","amount":500"#, "grant"),
                ("spend", #""key":"spend","account":"ann","debits":[{"currency":"gems","amount":7}]"#, "spend"),
                ("reverse", #""key":"reverse","spendKey":"spend""#, "reversal"),
                ("hold", #""key":"hold",\#(hold)"#, "hold"), ("hold", #""key":"hold 2",\#(hold)"#, "hold"),
                ("capture", #""key":"capture","holdKey":"hold","amount":3"#, "capture"),
                ("release", #""key":"release","holdKey":"hold 2""#, "release"),
            ]
            try await TestServer.run { server in
                let client = try await server.connect()
                for (method, params, kind) in requests {
                    let key = try JSON("{\(params)}")["key"].string ?? ""
                    let before = try await client.ask(Self.find("key", key))
                    #expect(before.result["kind"].string == "unknown" && Self.accounts(before) == [])
                    let done = try await client.ask(Requests.call(method, "{\(params)}"))
                    let entry = try #require(done.result["entry"].int, "\(done)")
                    let line = try await Self.line(client, Self.find("key", key))
                    let found = try JSON(line).result
                    #expect(found["kind"].string == "request" && found["key"].string == key)
                    #expect(found["accounts"].array?.map(\.string) == ["ann"], "\(key)")
                    #expect(found["refused"].isNull)
                    #expect(found["entry"]["kind"].string == kind && found["entry"]["key"].string == key)
                    // In the same form as in the journal, byte for byte.
                    let journal = try await Self.line(client, Requests.journal(after: entry - 1, limit: 1))
                    let told = try #require(journal.firstMatch(of: /"entries":\[(.+)\],"next"/)).1
                    #expect(line.contains(#""entry":\#(told),"refused":null"#))
                }
            }
        }

        @Test func theKeyOfAnAtomicIsEveryonesWhoseWalletsItTouched() async throws {
            let grant = { (account: String) in
                #"{"method":"grant","params":{"account":"\#(account)","currency":"gems","amount":1}}"#
            }
            let spend = #"{"method":"spend","params":{"account":"ann","debits":[{"currency":"gems","amount":2}]}}"#
            try await TestServer.run { server in
                let client = try await server.connect()
                let operations = [grant("zoe"), spend, grant("zoe")].joined(separator: ",")
                let replies = try await client.ask([
                    Requests.grant("g", "ann", 5),
                    Requests.call("atomic", #"{"key":"trade","operations":[\#(operations)]}"#),
                    Self.find("key", "trade"),
                ])
                #expect(replies[2].result["entry"]["kind"].string == "atomic")
                #expect(replies[2].result["entry"]["transfers"].count == 3)
                #expect(Self.accounts(replies[2]) == ["zoe", "ann"])
            }
        }

        /// The refusal stays the answer when there is enough.
        @Test func aKeyThatWasRefusedIsFoundWithItsRefusal() async throws {
            let much = #"{"method":"spend","params":{"account":"ann","debits":[{"currency":"gems","amount":9}]}}"#
            let little = #"{"method":"grant","params":{"account":"bob","currency":"gems","amount":1}}"#
            try await TestServer.run { server in
                let client = try await server.connect()
                let replies = try await client.ask([
                    Requests.grant("g", "ann", 5), Requests.spend("dear", "ann", 6),
                    Requests.call("atomic", #"{"key":"basket","operations":[\#(little),\#(much)]}"#),
                    Requests.grant("h", "ann", 100), Self.find("key", "dear"), Self.find("key", "basket"),
                    // What no key keeps: another request under a used one, and a request that was no request.
                    Requests.spend("g", "ann", 1), Self.find("key", "g"), Requests.spend("bad", "ann", 0),
                    Self.find("key", "bad"),
                ])
                for (place, refused) in [(4, 1), (5, 2)] {
                    let found = replies[place].result
                    #expect(found["kind"].string == "request" && found["accounts"].count == 0)
                    #expect(found["entry"].isNull)
                    let error = replies[refused]["error"]
                    #expect(found["refused"]["code"].int == error["code"].int)
                    #expect(found["refused"]["message"].string == error["message"].string)
                    #expect(found["refused"]["data"]["available"].int == 5)
                }
                #expect(replies[4].result["refused"]["data"]["operation"].exists == false)
                #expect(replies[5].result["refused"]["data"]["operation"].int == 1)
                #expect(replies[6].reason == "key_reused")
                #expect(replies[7].result["entry"]["entry"].int == 1 && replies[7].result["refused"].isNull)
                #expect(replies[9].result["kind"].string == "unknown")
                let typed = try await LedgerClient.connect(to: server.address)
                let (gems, key) = (try #require(CurrencyCode("gems")), try #require(RequestKey("basket")))
                let refusal = Refusal(.insufficientFunds(currency: gems, available: 5), operation: 1)
                #expect(try await typed.find(.key(key)) == .request(.init(key: key, answer: .refused(refusal))))
                try await typed.close()
            }
        }

        @Test func aForgottenAccountIsNotFoundByItsNameAndStandsErasedInWhatIsFound() async throws {
            let app = try SandboxApp()
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await server.connect()
                let erased = "\u{7F}erased 1"
                let replies = try await client.ask([
                    Requests.credit(try app.transaction(1, account: Self.token)),
                    Requests.spend("s", Self.token.lowercased(), 7),
                    Requests.call("forget", #"{"account":"\#(Self.token)"}"#), Self.find("account", Self.token),
                    Self.find("token", Self.token), Self.find("transactionId", "1"), Self.find("key", "s"),
                    // Whoever has the name from now on is another account.
                    Requests.grant("g", Self.token, 1), Self.find("token", Self.token),
                    Self.find("transactionId", "1"),
                ])
                #expect(replies[2].result["erased"].bool == true)
                for place in [3, 4] { #expect(replies[place].result["kind"].string == "unknown") }
                for place in [5, 6, 9] {
                    #expect(Self.accounts(replies[place]) == [erased])
                    #expect(replies[place].result["entry"]["transfers"][0]["account"].string == erased)
                }
                #expect(Self.accounts(replies[8]) == [Self.token.lowercased()])
            }
        }

        @Test(arguments: [
            ("{}", "params", "exactly one of account, token, key and transactionId"),
            (#"{"account":"a","key":"k"}"#, "key", "one too many"), (#"{"account":""}"#, "account", "1 to 128 bytes"),
            (#"{"token":"ann"}"#, "token", "must be a UUID"), (#"{"key":"é"}"#, "key", "printable ASCII"),
            (#"{"transactionId":"x"}"#, "transactionId", "decimal digits"),
            (#"{"name":"ann"}"#, "name", "is not a parameter"),
        ])
        func aBadQuestionIsNamed(params: String, path: String, says: String) async throws {
            try await TestServer.run { server in
                let reply = try await server.connect().ask(Requests.call("find", params))
                #expect(reply.reason == "invalid_params" && reply["error"]["data"]["path"].string == path)
                #expect(reply["error"]["message"].string?.contains(says) == true, "\(reply)")
            }
        }

        /// While nothing can be made durable, what is durable is found.
        @Test func nothingIsFoundOfABatchThatFailed() async throws {
            let store = FaultyStore()
            try await TestServer.run(store: store) { server in
                let client = try await server.connect()
                _ = try await client.ask(Requests.grant("g", "ann", 5))
                store.failCommits(1)
                #expect(try await client.ask(Requests.grant("lost", "bob", 5)).reason == "storage_unavailable")
                let replies = try await client.ask([
                    Self.find("key", "lost"), Self.find("account", "bob"), Self.find("key", "g"),
                ])
                #expect(replies.map { $0.result["kind"].string } == ["unknown", "unknown", "request"])
            }
        }
    }
}
