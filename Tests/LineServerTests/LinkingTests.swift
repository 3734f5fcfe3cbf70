import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// `link`, `relink` and `consent`, over a socket, with purchases that are signed.
    @Suite struct Linking {
        private static let guest = AppAccountToken("4D7A2B6E-0C5B-4B4F-9E0D-1F2E3D4C5B6A")!
        private static let ann = AccountName("ann")!
        private static let gems = CurrencyCode("gems")!

        private static func spend(_ key: String, _ account: AccountName, _ units: Int64) -> Spend {
            Spend(
                key: RequestKey(key)!, account: account,
                debits: [CurrencyAmount(currency: gems, amount: Amount(units)!)])
        }

        private static func refund(_ app: SandboxApp, _ id: Int64) throws -> String {
            try app.notification(
                "refund \(id)", type: "REFUND",
                transaction: try app.transaction(
                    id, account: guest.text, revokedAt: SandboxApp.date + 5, signedDate: SandboxApp.date + 5))
        }

        @Test func aGuestBecomesAPlayerAndRefundsFollow() async throws {
            let app = try SandboxApp()
            try await TestServer.run(verifier: app.verifier) { server in
                let client = try await LedgerClient.connect(to: server.address)
                for id in 1...3 {
                    _ = try await client.credit(signedTransaction: app.transaction(Int64(id), account: Self.guest.text))
                }
                let spent = try await client.spend(Self.spend("s", Self.guest.account, 900))
                let linked = try await client.link(Self.guest, to: Self.ann)
                #expect(linked.outcome == .linked && linked.moved.first?.balance.available == 600)
                #expect(linked.balances.first?.balance.available == 600)
                #expect(try await client.link(Self.guest, to: Self.ann).outcome == .alreadyLinked)

                let refunded = try await client.notify(signedPayload: Self.refund(app, 1))
                #expect(refunded.purchase?.account == Self.ann)
                #expect(try await client.balance(Self.ann).balances.first?.balance.available == 100)
                var again = spent
                again.replayed = true
                #expect(try await client.spend(Self.spend("s", Self.guest.account, 900)) == again)
                _ = try await client.spend(Self.spend("more", Self.guest.account, 100))
                _ = try await client.notify(signedPayload: Self.refund(app, 2))
                let balance = try await client.balance(Self.guest.account).balances.first?.balance
                #expect(balance?.available == 0 && balance?.debt == 500)
                _ = try await client.reverse(Reversal(key: RequestKey("r")!, spendKey: RequestKey("s")!))
                #expect(try await client.balance(Self.ann).balances.first?.balance.available == 400)

                let credited = try await client.credit(
                    signedTransaction: app.transaction(4, account: Self.guest.text), account: Self.ann)
                #expect(credited.account == Self.ann && credited.outcome == .credited)
                #expect(try await client.purchase(TransactionID("1")!).account == Self.ann)
                #expect(try await client.find(.token(Self.guest)) == .account(.init(name: Self.ann, isLinked: true)))
                #expect(try await client.find(.transaction(TransactionID("2")!)).accounts == [Self.ann])
                let history = try await client.history(HistoryQuery(account: Self.ann)).entries
                #expect(history.map(\.kind).contains(.link) && history.last?.kind == .link)
                let past = try await client.history(HistoryQuery(account: Self.guest.account)).entries
                #expect(past.map(\.kind) == [.link, .spend, .credit, .credit, .credit], "what it was, up to the link")
                let trial = try await client.report(.trial).rows
                #expect(
                    trial.contains(
                        .trial(currency: Self.gems, account: .moved, debits: 600, credits: 600)))
                try await client.close()
            }
        }

        @Test func anotherAccountsTokenIsRefusedAndAnAdminLinksItAnew() async throws {
            let app = try SandboxApp()
            let tokens = [
                Token(token: "p", role: .purchases), Token(token: "g", role: .game), Token(token: "a", role: .admin),
            ]
            let bob = AccountName("bob")!
            try await TestServer.run(tokens: tokens, verifier: app.verifier) { server in
                var clients: [String: LedgerClient] = [:]
                for name in ["p", "g", "a"] {
                    let client = try await LedgerClient.connect(to: server.address)
                    _ = try await client.authenticate(token: name)
                    clients[name] = client
                }
                let (pipeline, game, admin) = (clients["p"]!, clients["g"]!, clients["a"]!)
                let bought = try app.transaction(1, account: Self.guest.text)
                _ = try await pipeline.link(Self.guest, to: Self.ann)
                #expect(try await pipeline.credit(signedTransaction: bought).account == Self.ann)
                for (client, reason) in [(pipeline, "account_mismatch"), (game, "forbidden")] {
                    let error = await #expect(throws: WireError.self) { try await client.link(Self.guest, to: bob) }
                    #expect(error?.reason == reason)
                }
                for client in [pipeline, game] {
                    let error = await #expect(throws: WireError.self) { try await client.relink(Self.guest, to: bob) }
                    #expect(error?.reason == "forbidden")
                }
                #expect(try await admin.relink(Self.guest, to: bob).outcome == .relinked)
                #expect(try await pipeline.credit(signedTransaction: bought).account == Self.ann)
                let later = try await pipeline.credit(signedTransaction: app.transaction(2, account: Self.guest.text))
                #expect(later.account == bob)
                for client in clients.values { try await client.close() }
            }
        }

        @Test func consentIsRecordedAndFound() async throws {
            let tokens = [Token(token: "p", role: .purchases), Token(token: "g", role: .game)]
            try await TestServer.run(tokens: tokens) { server in
                let pipeline = try await LedgerClient.connect(to: server.address)
                _ = try await pipeline.authenticate(token: "p")
                let game = try await LedgerClient.connect(to: server.address)
                _ = try await game.authenticate(token: "g")
                func found() async throws -> Finding.Account.Consent? {
                    guard case .account(let account) = try await game.find(.account(Self.ann)) else { return nil }
                    return account.consent
                }
                let given = try await pipeline.consent(
                    Consent(key: RequestKey("k1")!, account: Self.ann, consumption: true))
                #expect(given.consumption && !given.replayed)
                #expect(try await found() == .init(consumption: true, time: given.time, actor: "purchases"))
                let withdrawn = Consent(key: RequestKey("k2")!, account: Self.ann, consumption: false)
                _ = try await game.consent(withdrawn)
                let again = try await pipeline.consent(
                    Consent(key: RequestKey("k1")!, account: Self.ann, consumption: true))
                #expect(again.replayed && again.time == given.time)
                let newest = try await found()
                #expect(newest?.consumption == false && newest?.actor == "game")
                guard case .request(let request) = try await game.find(.key(RequestKey("k1")!)) else {
                    Issue.record("the key is not found")
                    return
                }
                #expect(request.answer == .recorded(given))
                try await pipeline.close()
                try await game.close()
            }
        }

        @Test func aLinkOfATokenToItselfIsNone() async throws {
            try await TestServer.run { server in
                let client = try await server.connect()
                let replies = try await client.ask([
                    Requests.call("link", #"{"token":"\#(Self.guest)","account":"\#(Self.guest.text.uppercased())"}"#),
                    Requests.call("link", #"{"token":"ann","account":"bob"}"#),
                    Requests.call("link", #"{"token":"\#(Self.guest)"}"#),
                    Requests.call("consent", #"{"key":"k","account":"ann"}"#),
                ])
                for (reply, path) in zip(replies, ["account", "token", "account", "consumption"]) {
                    #expect(reply.reason == "invalid_params")
                    #expect(reply["error"]["data"]["path"].string == path)
                }
            }
        }
    }
}
