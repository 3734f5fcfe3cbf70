import AppStore
import Ledger
import LedgerClient
import LedgerTestKit
import LedgerWire
import Testing

@testable import LineServer

extension ServerTests {
    /// `adjust`, over a socket: one token asks, another approves.
    @Suite struct Adjusting {
        private static let tokens = [
            Token("ann", .finance, "ann's"), Token("ben", .finance, "ben's"), Token("game", .game, "game's"),
            Token("reader", .finance, "reader's") { $0.isReadOnly = true },
            Token("tickets", .finance, "tickets's") { $0.currencies = [CurrencyCode("tickets")!] },
        ]

        private static func adjustment(_ key: String, _ units: Int64 = 5) -> Adjustment {
            Adjustment(
                key: RequestKey(key)!, account: AccountName("player")!, currency: CurrencyCode("gems")!,
                lotClass: .free, units: units, reason: "a mistake")
        }

        @Test func whatAnotherApprovesIsCorrectedOnce() async throws {
            try await TestServer.run(tokens: Self.tokens) { server in
                let client = try await LedgerClient.connect(to: server.address, token: "ann's")
                let first = try await client.adjust(Self.adjustment("k"), approval: "ben's")
                #expect(first.balances.first?.balance.free == 5 && !first.replayed)
                #expect(try await client.adjust(Self.adjustment("k"), approval: "ben's").replayed)
                let entry = try await client.history(HistoryQuery(account: AccountName("player")!)).entries.first
                #expect(entry?.kind == .adjustment && entry?.note == "a mistake" && entry?.actor == "ann")
                let error = await #expect(throws: WireError.self) {
                    try await client.adjust(Self.adjustment("l", -6), approval: "ben's")
                }
                #expect(error?.reason == "insufficient_funds" && error?["available"] == .integer(5))
                try await client.close()
            }
        }

        /// `adjust` as a line, approved by a token.
        private static func adjust(_ key: String, by approval: String) -> String {
            let asked = #""key":"\#(key)","account":"player","currency":"gems","class":"free","amount":5,"reason":"r""#
            return Requests.call("adjust", #"{\#(asked),"approval":"\#(approval)"}"#)
        }

        /// Sends `ann`'s requests behind a read that waits, replaces the tokens meanwhile, and expects the connection
        /// to end, with nothing carried out.
        private static func expectNothingCarriedOut(
            of requests: [String], among before: [Token] = tokens, after reloaded: [Token]
        ) async throws {
            try await TestServer.run(tokens: before) { server in
                let client = try await server.connect()
                #expect(try await client.ask(Requests.authenticate("ann's")).reason == nil)
                let lines = [Requests.journal(after: 0, wait: 30_000)] + requests
                try await client.send(lines.map { $0 + "\n" }.joined())
                try await server.letEventLoopsRead()
                server.lines.reload(tokens: reloaded)
                #expect(try await client.line() == nil)
                let other = try await LedgerClient.connect(to: server.address, token: "ann's")
                #expect(try await other.journal(after: 0).entries.isEmpty)
                try await other.close()
            }
        }

        private static func tokens(without names: String...) -> [Token] {
            tokens.filter { !names.contains($0.name) }
        }

        /// The approver's token is taken away, or may do less, while what it has approved waits behind a read.
        @Test(arguments: [nil, Token("ben", .game, "ben's"), Token("ben", .finance, "ben's") { $0.isReadOnly = true }])
        func whatWasApprovedByATokenThatMayDoLessIsNotCarriedOut(instead: Token?) async throws {
            try await Self.expectNothingCarriedOut(
                of: [Self.adjust("k", by: "ben's")], after: Self.tokens(without: "ben") + (instead.map { [$0] } ?? []))
        }

        /// One of two secrets of its token is taken away; another change was approved by the other one before.
        @Test func whatWasApprovedByASecretThatIsTakenAwayIsNotCarriedOut() async throws {
            let others = Self.tokens(without: "ben")
            try await Self.expectNothingCarriedOut(
                of: [Self.adjust("k", by: "ben's"), Self.adjust("l", by: "new's")],
                among: others + [Token("ben", .finance, "ben's", "new's")],
                after: others + [Token("ben", .finance, "ben's")])
        }

        /// Whoever the connection is by then, and whoever else asked what the same token approved: its approver's token
        /// is the asker's own now.
        @Test(arguments: ["ann", "cat"])
        func whatWasApprovedByATokenThatIsTheAskersOwnNowIsNotCarriedOut(asker: String) async throws {
            let before = Self.tokens + [Token("cat", .finance, "cat's")]
            let own = Token(asker, .finance, "\(asker)'s", "ben's")
            try await Self.expectNothingCarriedOut(
                of: [
                    Self.adjust("k", by: "ben's"), Requests.authenticate("cat's"), Self.adjust("l", by: "ben's"),
                    Requests.authenticate("game's"),
                ],
                among: before, after: before.filter { ![asker, "ben"].contains($0.name) } + [own])
        }

        /// What was asked by a secret that is taken away, with another one of the same token used before and behind it.
        @Test(arguments: [[], [Requests.authenticate("game's")]])
        func whatWasAskedByASecretThatIsTakenAwayIsNotCarriedOut(between: [String]) async throws {
            let others = Self.tokens(without: "ann")
            try await Self.expectNothingCarriedOut(
                of: between + [Requests.authenticate("new's"), Self.adjust("k", by: "ben's")] + between
                    + [Requests.authenticate("ann's")],
                among: others + [Token("ann", .finance, "ann's", "new's")],
                after: others + [Token("ann", .finance, "ann's")])
        }

        /// Tokens are replaced while a request is being judged: who asks is who it was judged to be, and what it waits
        /// for is cut off.
        @Test func whoAsksStaysTheSameWhileARequestIsJudged() throws {
            let table = TokenTable(.tokens(Self.tokens), ledgers: 1)
            var client = ClientIdentity(tokens: table, wrongTokensMax: 3) { _ in true }
            guard case .known = client.authenticate(by: TokenTable.credential("ann's")) else {
                Issue.record("ann is not known")
                return
            }
            table.replace(by: Self.tokens(without: "ann") + [Token("cat", .game, "ann's")])
            let approver = client.approver(by: "ben's", of: CurrencyCode("gems")!, in: nil)
            #expect(try approver.get() == "ben" && client.holder?.name == "ann")
            let (first, second) = (client.takeLostRights(), client.takeLostRights())
            #expect(first && !second && client.holder?.name == "cat")
        }

        @Test func nobodyApprovesTheirOwnAndNobodyWhoMayNot() async throws {
            try await TestServer.run(tokens: Self.tokens) { server in
                let client = try await LedgerClient.connect(to: server.address, token: "ann's")
                for approval in ["ann's", "game's", "reader's", "tickets's"] {
                    let error = await #expect(throws: WireError.self) {
                        try await client.adjust(Self.adjustment("k"), approval: approval)
                    }
                    #expect(error?.reason == "forbidden" && error?["path"] == .string("approval"), "\(approval)")
                    #expect(error?.message.contains(approval) == false)
                }
                #expect(try await client.journal(after: 0).entries.isEmpty)
                try await client.close()
            }
        }

        /// As after wrong tokens, nothing more is heard.
        @Test func whoGuessesApprovalsIsNotListenedTo() async throws {
            let logs = LogCapture()
            try await TestServer.run(tokens: Self.tokens, logs: logs) { server in
                let client = try await server.connect()
                let guesses = (0..<3).map { Self.adjust("k\($0)", by: "guess \($0)") }
                let lines = [Requests.authenticate("ann's")] + guesses + [Requests.ping(7)]
                try await client.send(lines.map { $0 + "\n" }.joined())
                for reply in try await client.lines(4).dropFirst() { #expect(reply.contains("unauthenticated")) }
                #expect(try await client.line() == nil)
            }
            #expect(logs.lines.contains { $0.contains("kind=unknown_token") })
            #expect(!logs.lines.contains { $0.contains("guess") })
        }
    }
}
