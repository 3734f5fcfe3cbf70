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
            token("ann", .finance), token("ben", .finance), token("game", .game),
            token("reader", .finance) { $0.isReadOnly = true },
        ]

        /// Its secret is its name and `'s`.
        private static func token(
            _ name: String, _ roles: Roles, _ change: (inout Token.Limits) -> Void = { _ in }
        ) -> Token {
            var limits = Token.Limits()
            change(&limits)
            let digest = Digest(sha256: SHA256.hash(Array("\(name)'s".utf8)))
            return Token(name: name, roles: roles, digests: [digest], limits: limits)
        }

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

        /// The approver's token is taken away, or may do less, while what it has approved waits behind a read.
        @Test(arguments: [nil, token("ben", .game), token("ben", .finance) { $0.isReadOnly = true }])
        func whatWasApprovedByATokenThatMayDoLessIsNotCarriedOut(instead: Token?) async throws {
            try await TestServer.run(tokens: Self.tokens) { server in
                let client = try await server.connect()
                #expect(try await client.ask(Requests.authenticate("ann's")).reason == nil)
                let adjust = Requests.call(
                    "adjust",
                    """
                    {"key":"k","account":"player","currency":"gems","class":"free","amount":5,"reason":"a mistake",\
                    "approval":"ben's"}
                    """)
                try await client.send(Requests.journal(after: 0, wait: 30_000) + "\n" + adjust + "\n")
                try await server.letEventLoopsRead()
                let others = Self.tokens.filter { $0.name != "ben" }
                server.lines.reload(tokens: others + (instead.map { [$0] } ?? []))
                #expect(try await client.line() == nil)
                let other = try await LedgerClient.connect(to: server.address, token: "ann's")
                #expect(try await other.journal(after: 0).entries.isEmpty)
                try await other.close()
            }
        }

        /// Whoever the connection is by then: its approver's token is the asker's own now.
        @Test func whatWasApprovedByATokenThatIsTheAskersOwnNowIsNotCarriedOut() async throws {
            try await TestServer.run(tokens: Self.tokens) { server in
                let client = try await server.connect()
                #expect(try await client.ask(Requests.authenticate("ann's")).reason == nil)
                let asked = #""account":"player","currency":"gems","class":"free","amount":5,"reason":"r""#
                let lines = [
                    Requests.journal(after: 0, wait: 30_000),
                    Requests.call("adjust", #"{"key":"k",\#(asked),"approval":"ben's"}"#),
                    Requests.authenticate("game's"),
                ]
                try await client.send(lines.map { $0 + "\n" }.joined())
                try await server.letEventLoopsRead()
                var ann = Self.token("ann", .finance)
                ann.digests += Self.token("ben", .finance).digests
                server.lines.reload(tokens: [ann] + Self.tokens.filter { !["ann", "ben"].contains($0.name) })
                #expect(try await client.line() == nil)
                let other = try await LedgerClient.connect(to: server.address, token: "ann's")
                #expect(try await other.journal(after: 0).entries.isEmpty)
                try await other.close()
            }
        }

        @Test func nobodyApprovesTheirOwnAndNobodyWhoMayNot() async throws {
            try await TestServer.run(tokens: Self.tokens) { server in
                let client = try await LedgerClient.connect(to: server.address, token: "ann's")
                for approval in ["ann's", "game's", "reader's"] {
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
                let asked = #""account":"player","currency":"gems","class":"free","amount":1,"reason":"r""#
                let guesses = (0..<3).map { number in
                    Requests.call("adjust", #"{"key":"k\#(number)",\#(asked),"approval":"guess \#(number)"}"#)
                }
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
