import Foundation
import Ledger
import LedgerConsole
import LedgerEngine
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import NIOHTTP1
import Testing

@testable import LineServer

extension ServerTests {
    /// Pages for support and finance, over real sockets.
    @Suite struct Console {
        private static let local = [ServerAddress.tcp(host: "127.0.0.1", port: 0)]
        private static let all = [
            Token(token: "a", role: .admin), Token(token: "p", role: .purchases), Token(token: "g", role: .game),
            Token(token: "f", role: .finance),
        ]

        private func serve(
            tokens: [Token] = all, app: SandboxApp? = nil, logs: LogCapture = LogCapture(),
            clock: @escaping @Sendable () -> UInt64 = { 0 }, limits: (inout ServerLimits) -> Void = { _ in },
            _ body: (TestServer, ConsoleBrowser) async throws -> Void
        ) async throws {
            try await TestServer.run(
                listenConsole: Self.local, tokens: tokens, verifier: app?.verifier, logs: logs, clock: clock,
                limits: limits
            ) { server in try await body(server, ConsoleBrowser(address: server.consoleAddresses[0])) }
        }

        /// Has a client of the line protocol ask.
        private static func ask(_ server: TestServer, _ requests: String...) async throws {
            let client = try await server.connect()
            _ = try await client.ask(Requests.authenticate("a"))
            for request in requests { #expect(try await client.ask(request).reason == nil, "\(request)") }
        }

        // MARK: Who is let in

        @Test func whoHasNotSignedInIsAskedForATokenAndSeesNothingElse() async throws {
            try await serve { server, browser in
                try await Self.ask(server, Requests.grant("k", "player-1", 5))
                for target in [
                    "/", "/statement?account=player-1", "/find?q=player-1", "/circulation", "/entry?entry=1",
                ] {
                    let page = try await browser.get(target)
                    #expect(page.status == 401 && page.body.contains(#"action="/login""#), "\(target)")
                    #expect(!page.body.contains("gems") && page.headers["www-authenticate"] == "Bearer", "\(target)")
                }
                var other = browser
                other.cookie = "ledger-console=\(String(repeating: "0", count: 64))"
                #expect(try await other.get("/").status == 401)
            }
        }

        @Test func aVisitorSignsInReadsAndSignsOut() async throws {
            try await serve { server, browser in
                var browser = browser
                try await Self.ask(server, Requests.grant("k", "player-1", 5))
                let signedIn = try await browser.signIn("p")
                #expect(signedIn.status == 303 && signedIn.headers["location"] == "/")
                let cookie = try #require(signedIn.headers["set-cookie"])
                #expect(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"))
                #expect(cookie.contains("; Path=/") && !cookie.contains("Secure"))
                #expect(cookie.wholeMatch(of: /ledger-console=[0-9a-f]{64};.*/) != nil)

                let page = try await browser.get("/statement?account=player-1")
                #expect(page.status == 200 && page.title == "Statement ")
                #expect(page.body.contains("Given for free") && page.body.contains("Signed in as <bdi>purchases</bdi>"))
                #expect(try await browser.get("/", method: "HEAD").body == "")

                let signedOut = try await browser.post("/logout", "")
                #expect(signedOut.status == 303 && signedOut.headers["location"] == "/login")
                #expect(signedOut.headers["set-cookie"]?.contains("Max-Age=0") == true)
                // Who has kept the cookie has nothing of it.
                #expect(try await browser.get("/statement?account=player-1").status == 401)
                #expect(try await browser.get("/login").status == 200)
            }
        }

        @Test func whoHasSignedInIsShownWhatTheyAskedForAndNoOtherSite() async throws {
            try await serve { _, browser in
                let asked = "/statement?account=player%201"
                let form = try await browser.get(asked).body
                #expect(form.contains("value=\"\(asked)\""))
                func next(_ next: String) async throws -> String? {
                    let page = try await browser.post("/login", "token=p&next=\(ConsoleForm.encoded(next))")
                    return page.headers["location"]
                }
                #expect(try await next(asked) == asked)
                for other in ["https://example.com/", "//example.com/", "/\\example.com", "/login"] {
                    #expect(try await next(other) == "/", "\(other)")
                }
            }
        }

        @Test func formsOfOtherSitesAreNotTaken() async throws {
            try await serve { _, browser in
                for origin in ["http://example.com", "http://localhost.example.com", "null", nil] {
                    let page = try await browser.post("/login", "token=p", from: origin)
                    #expect(page.status == 403 && page.headers["set-cookie"] == nil, "\(origin ?? "none")")
                }
                var signedIn = browser
                _ = try await signedIn.signIn("p")
                #expect(try await signedIn.post("/logout", "", from: "http://example.com").status == 403)
                #expect(try await signedIn.get("/").status == 200)
            }
        }

        @Test func guessedTokensAreCountedAndLoggedAsThoseOfTheProtocol() async throws {
            let logs = LogCapture()
            try await serve(logs: logs) { server, browser in
                let client = try await RawClient(server.consoleAddresses[0])
                for guess in 1...3 {
                    let page = try await browser.post("/login", "token=guess-\(guess)", over: client)
                    #expect(page.status == 401 && page.body.contains("This token is not known."))
                    #expect(page.headers["connection"] == (guess == 3 ? "close" : nil))
                }
                #expect(try await client.line() == nil)
                #expect(try await browser.post("/login", "nothing=of+the+kind").status == 401)
            }
            let refused = logs.lines.filter { $0.contains("kind=unknown_token") }
            #expect(refused.count == 3, "\(logs.lines)")
            #expect(!logs.lines.contains { $0.contains("guess-") })
        }

        @Test func aSessionEndsWithItsToken() async throws {
            let logs = LogCapture()
            try await serve(logs: logs) { server, browser in
                var (support, finance) = (browser, browser)
                _ = try await support.signIn("p")
                _ = try await finance.signIn("f")
                server.lines.reload(tokens: [Token(token: "f", role: .finance)])
                let page = try await support.get("/")
                #expect(page.status == 401 && page.body.contains("Your session is over"))
                #expect(try await finance.get("/").status == 200)
                // The token comes back, and the session does not.
                server.lines.reload(tokens: Self.all)
                #expect(try await support.get("/").status == 401)
                // Another secret under the same name is another token.
                server.lines.reload(tokens: [Token(token: "f2", role: .finance)])
                #expect(try await finance.get("/").status == 401)
            }
            // Nobody guessed.
            #expect(!logs.lines.contains { $0.contains("unknown_token") })
        }

        @Test func aSessionEndsWhenItIsIdleAndAtTheEndOfADay() async throws {
            let minute: UInt64 = 60_000_000_000
            let time = NIOLockedValueBox<UInt64>(0)
            try await serve(clock: { time.withLockedValue { $0 } }) { _, browser in
                var (idle, busy) = (browser, browser)
                _ = try await idle.signIn("p")
                _ = try await busy.signIn("p")
                for hour in 0...24 {
                    time.withLockedValue { $0 = UInt64(hour) * 30 * minute }
                    #expect(try await busy.get("/").status == 200, "after \(hour) half hours")
                }
                #expect(try await idle.get("/").status == 401)
                time.withLockedValue { $0 = 12 * 60 * minute + 1 }
                #expect(try await busy.get("/").status == 401)
            }
        }

        @Test func oneTokensSessionsPutOutOnlyItsOwn() async throws {
            let time = NIOLockedValueBox<UInt64>(0)
            let clock: @Sendable () -> UInt64 = {
                time.withLockedValue { time in
                    time += 1
                    return time
                }
            }
            try await serve(clock: clock, limits: { $0.consoleSessionsPerTokenMax = 2 }) { _, browser in
                var (other, first, second, third) = (browser, browser, browser, browser)
                _ = try await other.signIn("f")
                _ = try await first.signIn("p")
                _ = try await second.signIn("p")
                _ = try await third.signIn("p")
                var statuses: [Int] = []
                for visitor in [other, first, second, third] { statuses.append(try await visitor.get("/").status) }
                #expect(statuses == [200, 401, 200, 200])
            }
        }

        @Test func withoutTokensOnlyThisMachineAsksByItsOwnName() async throws {
            try await serve(tokens: []) { server, browser in
                let client = try await server.connect()
                _ = try await client.ask(Requests.grant("k", "player-1", 5))
                #expect(try await browser.get("/statement?account=player-1").status == 200)
                #expect(try await browser.get("/", host: "example.com").status == 403)
            }
        }

        @Test func otherMachinesAreLetInOnlyWithTokensAndTLS() async throws {
            let everywhere = [ServerAddress.tcp(host: "0.0.0.0", port: 0)]
            await #expect(throws: ServerError.self) {
                try await TestServer.run(listenConsole: everywhere, tokens: Self.all) { _ in }
            }
        }

        @Test func aSessionThatWasUsedOnAnotherLoopMeanwhileIsNotOver() throws {
            let time = NIOLockedValueBox<UInt64>(1_000)
            let sessions = ConsoleSessions(
                tokens: TokenTable(.tokens(Self.all)), limits: ServerLimits(), clock: { time.withLockedValue { $0 } })
            guard case .token(let digest) = TokenTable.credential("p") else {
                Issue.record("a token is shown by its digest")
                return
            }
            let secret = sessions.begin(digest)
            // The clock was read before the lock was had.
            time.withLockedValue { $0 = 999 }
            #expect(sessions.credential(secret) != nil)
            _ = sessions.begin(digest)
        }

        @Test func overTLSTheCookieIsForTLSAndThisHostAlone() {
            let response = ConsoleResponder(isTLS: true).redirect(to: "/", secret: "s", isKeptAlive: true)
            #expect(
                response.head.headers["set-cookie"]
                    == ["__Host-ledger-console=s; Path=/; HttpOnly; SameSite=Strict; Secure"])
        }

        // MARK: What is shown

        @Test func aRoleReadsHereWhatItReadsByTheProtocol() async throws {
            let app = try SandboxApp()
            try await serve(app: app) { server, browser in
                try await Self.ask(server, Requests.credit(try app.transaction(7), account: "player-1"))
                var statuses: [String: [Int]] = [:]
                for token in ["p", "g", "f"] {
                    var visitor = browser
                    _ = try await visitor.signIn(token)
                    for target in [
                        "/statement?account=player-1", "/purchase?transactionId=7", "/circulation", "/entry?entry=1",
                    ] {
                        statuses[token, default: []].append(try await visitor.get(target).status)
                    }
                }
                #expect(
                    statuses == ["p": [200, 200, 403, 403], "g": [200, 403, 403, 403], "f": [200, 200, 200, 200]])
            }
        }

        @Test func everyPageHasTheHeadersThatKeepItToItself() async throws {
            try await serve { _, browser in
                var signedIn = browser
                let redirect = try await signedIn.signIn("f")
                var pages = [redirect]
                for target in ["/", "/consumption", "/nowhere", "/console.css", "/icon.svg", "/find?q=x"] {
                    pages.append(try await signedIn.get(target))
                }
                pages.append(try await browser.get("/"))
                for page in pages {
                    try Self.expectItKeepsToItself(page)
                    #expect(!page.body.contains("<script") && !page.body.contains(" style="))
                }
            }
        }

        private static func expectItKeepsToItself(
            _ page: ConsoleBrowser.Page, _ location: SourceLocation = #_sourceLocation
        ) throws {
            let policy = try #require(page.headers["content-security-policy"], sourceLocation: location)
            #expect(
                policy.hasPrefix("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"),
                sourceLocation: location)
            #expect(!policy.contains("script-src") && !policy.contains("unsafe"), sourceLocation: location)
            #expect(page.headers["x-content-type-options"] == "nosniff", sourceLocation: location)
            #expect(page.headers["cache-control"] == "no-store", sourceLocation: location)
            #expect(
                page.headers["referrer-policy"] == "same-origin" && page.headers["x-frame-options"] == "DENY",
                sourceLocation: location)
        }

        @Test func whatHTTPItselfRefusesHasTheseHeadersToo() async throws {
            try await serve(limits: { $0.requestMilliseconds = 200 }) { server, browser in
                let login = browser.head("POST", "/login", from: "http://localhost", bytes: 1_000_000)
                let refused: [(request: String, status: Int)] = [
                    ("no HTTP\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400),
                    ("GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
                    (browser.head("PUT", "/", from: nil, bytes: 0), 405),
                    (browser.head("POST", "/login", from: "http://example.com", bytes: 0), 403),
                    // Longer than is read, whether it comes or not; and one that does not come to its end in time.
                    (browser.head("POST", "/login", from: "http://localhost", bytes: 50) + "token=", 408),
                    (login, 413), (login + String(repeating: "a", count: 20_000), 413),
                ]
                for (request, status) in refused {
                    let client = try await RawClient(server.consoleAddresses[0])
                    try await client.send(request)
                    let page = try await ConsoleBrowser.page(of: client)
                    #expect(page.status == status, "\(request.prefix(60))")
                    try Self.expectItKeepsToItself(page)
                }
            }
            // Who finds no place, or speaks no TLS where that is spoken.
            for error in [WireError.overloaded, .parseError("no TLS")] {
                let told = String(decoding: Speech.console.refusal(error), as: UTF8.self)
                #expect(told.contains("\r\ncontent-security-policy: default-src 'none'; "))
                let others = String(decoding: Speech.http.refusal(error), as: UTF8.self)
                #expect(!others.contains("content-security-policy"))
            }
        }

        @Test func spaceBehindAValueOfAHeaderIsNoPartOfIt() async throws {
            try await serve { server, _ in
                let client = try await RawClient(server.consoleAddresses[0])
                try await client.send("GET /login HTTP/1.1\r\nHost: localhost \t\r\n\r\n")
                #expect(try await ConsoleBrowser.page(of: client).status == 200)
            }
        }

        @Test func whatComesFromOutsideIsText() async throws {
            let name = "<script>alert(1)</script>\"'&\u{2028}\u{202E}gpj"
            let written = #"<script>alert(1)</script>\"'&\u2028\u202egpj"#
            try await serve { server, browser in
                var browser = browser
                try await Self.ask(
                    server,
                    Requests.call(
                        "grant",
                        #"{"key":"\"><img src=x>","account":"\#(written)","currency":"gems","amount":5,"#
                            + #""note":"<b>\u202e"}"#
                    ))
                _ = try await browser.signIn("f")
                let statement = try await browser.get("/statement?account=\(ConsoleForm.encoded(name))")
                #expect(statement.status == 200)
                let request = try await browser.get("/request?key=\(ConsoleForm.encoded("\"><img src=x>"))")
                #expect(request.status == 200)
                for page in [statement, request] {
                    #expect(page.body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
                    #expect(!page.body.contains("<script") && !page.body.contains("<img") && !page.body.contains("<b>"))
                    #expect(!page.body.contains("\u{202E}") && !page.body.contains("\u{2028}"))
                    #expect(page.body.contains(">U+202E</span>") && page.body.contains("&quot;&gt;&lt;img src=x&gt;"))
                }
                // It is found by its name, which leads there.
                let found = try await browser.get("/find?q=\(ConsoleForm.encoded(name))")
                #expect(
                    found.status == 303 && found.headers["location"]?.hasPrefix("/statement?account=%3Cscript") == true)
            }
        }

        @Test func aLongHistoryComesInPagesAndEachEntryOnce() async throws {
            try await serve { server, browser in
                var browser = browser
                let client = try await server.connect()
                _ = try await client.ask(Requests.authenticate("a"))
                for number in 1...120 { _ = try await client.ask(Requests.grant("k\(number)", "player-1", 1)) }
                _ = try await browser.signIn("g")
                var (target, seen, pages) = ("/statement?account=player-1" as String?, [Int](), 0)
                while let next = target, pages < 10 {
                    let page = try await browser.get(next)
                    #expect(page.status == 200)
                    seen += page.body.matches(of: /id="entry-(\d+)"/).compactMap { Int($0.1) }
                    target = page.body.firstMatch(of: /href="([^"]*)">Earlier entries/).map {
                        String($0.1).replacing("&amp;", with: "&")
                    }
                    pages += 1
                }
                #expect(pages == 3 && seen == Array((1...120).reversed()))
                let whole = try await browser.get("/statement?account=player-1&limit=500").body
                #expect(whole.matches(of: /id="entry-/).count == 120 && !whole.contains("Earlier entries"))
            }
        }

        @Test func aPurchasesStorySaysWhoVouchesForIt() async throws {
            let app = try SandboxApp()
            try await serve(app: app) { server, browser in
                var browser = browser
                let date = SandboxApp.date
                let refund = try app.transaction(7, revokedAt: date + 10, signedDate: date + 10)
                let reversed = try app.transaction(7, signedDate: date + 20)
                let again = try app.transaction(7, revokedAt: date + 30, signedDate: date + 30)
                try await Self.ask(
                    server, Requests.credit(try app.transaction(7), account: "player-1"),
                    Requests.spend("castle", "player-1", 400),
                    Requests.notify(
                        try app.notification("n1", type: "REFUND", transaction: refund, signedDate: date + 10)),
                    Requests.notify(
                        try app.notification(
                            "n2", type: "REFUND_REVERSED", transaction: reversed, signedDate: date + 20)),
                    Requests.notify(
                        try app.notification("n3", type: "REFUND", transaction: again, signedDate: date + 30)))
                _ = try await browser.signIn("p")
                let purchase = try await browser.get("/purchase?transactionId=7").body
                let story = purchase.matches(of: /<p class="event"><strong>([^<]*)/).map { String($0.1) }
                #expect(
                    story == [
                        "Bought", "Refunded: 100\u{00A0}% of it", "Refund reversed: it stands again",
                        "Refunded: 100\u{00A0}% of it",
                    ])
                #expect(purchase.matches(of: /Verified/).count == 4)
                #expect(purchase.contains("still owes 400 "))

                let statement = try await browser.get("/statement?account=player-1").body
                let kinds = statement.matches(of: /<span class="kind [a-z_]+">([^<]*)/).map { String($0.1) }
                #expect(kinds == ["Refund", "Refund reversed", "Refund", "Spent", "Purchase"])
                let amounts = statement.matches(of: #/<span class="amount(?: owes)?">([^ <]*)/#).map { String($0.1) }
                #expect(
                    amounts == [
                        "\u{2212}500", "\u{2212}400", "+500", "100", "\u{2212}500", "\u{2212}400", "\u{2212}400", "100",
                        "+500", "500",
                    ])
                #expect(statement.contains("They owe 400 ") && statement.contains("What became of these purchases"))
            }
        }

        @Test func howManyWereBoughtAndWhoAskedIsSaid() async throws {
            let app = try SandboxApp()
            try await serve(app: app) { server, browser in
                var browser = browser
                try await Self.ask(
                    server, Requests.credit(try app.transaction(7, quantity: 3), account: "player-1"),
                    Requests.credit(try app.transaction(8), account: "player-1"),
                    Requests.grant("gift", "player-1", 5))
                _ = try await browser.signIn("f")
                let statement = try await browser.get("/statement?account=player-1").body
                let entries = try #require(statement.split(separator: "<section id=\"entries\"").dropFirst().first)
                let products = entries.matches(of: /gems500<\/bdi>([^<]*)/).map { String($0.1) }
                #expect(products.prefix(2) == ["", "\u{00A0}\u{00D7}\u{00A0}3"])
                #expect(try await browser.get("/purchase?transactionId=7").body.contains("\u{00D7}\u{00A0}3"))
                // The token is called as its role.
                for target in ["/entry?entry=1", "/entry?entry=3", "/request?key=gift"] {
                    let page = try await browser.get(target).body
                    #expect(page.contains("<dt>Who asked</dt><dd><bdi>admin</bdi></dd>"), "\(target)")
                }
            }
        }

        /// The cells of each row of a table, without markup.
        private static func rows(_ id: String, in body: String) throws -> [[String]] {
            let section = try #require(body.split(separator: "<section id=\"\(id)\"").dropFirst().first)
            let table = try #require(section.split(separator: "<tbody>").dropFirst().first)
            return try #require(table.split(separator: "</tbody>").first).split(separator: "</tr>")
                .map { row in
                    row.matches(of: /<t[hd][^>]*>(.*?)<\/t[hd]>/).map { cell in
                        String(cell.1).replacing(/<[^>]*>/, with: "")
                    }
                }
                .filter { !$0.isEmpty }
        }

        @Test func aPlayersOpenHoldsAndLotsAreShown() async throws {
            let app = try SandboxApp()
            try await serve(app: app) { server, browser in
                var browser = browser
                let now = TestServer.now()
                let hold = #"{"account":"player-1","currency":"gems","amount":20,"timeoutMilliseconds":60000}"#
                try await Self.ask(
                    server, Requests.credit(try app.transaction(7), account: "player-1"),
                    Requests.call(
                        "grant",
                        #"{"key":"gift","account":"player-1","currency":"gems","amount":50,"#
                            + #""expiresAt":\#(now + 86_400_000)}"#
                    ),
                    Requests.call(
                        "hold",
                        #"{"key":"basket","account":"player-1","currency":"gems","amount":30,"#
                            + #""timeoutMilliseconds":60000}"#
                    ),
                    Requests.call(
                        "atomic",
                        #"{"key":"both","operations":[{"method":"hold","params":\#(hold)},"#
                            + #"{"method":"hold","params":\#(hold)}]}"#),
                    Requests.call("release", #"{"key":"back","holdKey":"both","operation":0}"#))
                _ = try await browser.signIn("f")
                let body = try await browser.get("/statement?account=player-1").body
                // Gifts go first: the basket and the first operation took the gift, the second what was bought.
                let holds = try Self.rows("holds", in: body)
                #expect(
                    holds.map { $0[1] } == ["20", "30"] && holds.allSatisfy { $0[2] == "gems" && $0[4] == "admin" })
                #expect(holds.map { $0[5] } == ["both, operation 1", "basket"])
                let lots = try Self.rows("lots", in: body)
                #expect(lots.map { $0[1] + " " + $0[2] + " " + $0[3] + " " + $0[4] } == ["20 30 0 50", "480 20 0 500"])
                #expect(lots.map { $0[6] } == ["free", "paid"] && lots[1][7] == "never" && lots[0][7] != "never")
                #expect(lots.map { $0[8] } == ["\u{2013}", "com.example.game.gems500"] && lots[1][9] == "7")
                // It is of now: a page of the past does not say it.
                let past = try await browser.get("/statement?account=player-1&before=2").body
                #expect(!past.contains("<section id=\"holds\"") && past.contains("<section id=\"entries\""))
                // Who may not read purchases or the journal is not led there.
                _ = try await browser.signIn("g")
                let bare = try await browser.get("/statement?account=player-1").body
                #expect(try Self.rows("lots", in: bare) == lots && !bare.contains("href=\"/purchase?"))
                #expect(try Self.rows("holds", in: bare) == holds && !bare.contains("href=\"/entry?"))
            }
        }

        @Test func whoHasNothingOpenIsSaidToHaveNothing() async throws {
            try await serve { server, browser in
                var browser = browser
                try await Self.ask(
                    server, Requests.grant("k", "player-1", 5), Requests.spend("s", "player-1", 5))
                _ = try await browser.signIn("g")
                let body = try await browser.get("/statement?account=player-1").body
                #expect(body.contains("Nothing is set aside.") && body.contains("Nothing is left of any lot."))
            }
        }

        @Test func aRefusedRequestSaysWhy() async throws {
            try await serve { server, browser in
                var browser = browser
                let client = try await server.connect()
                _ = try await client.ask(Requests.authenticate("a"))
                _ = try await client.ask(Requests.grant("k", "player-1", 3))
                #expect(try await client.ask(Requests.spend("dear", "player-1", 4)).reason == "insufficient_funds")
                _ = try await browser.signIn("g")
                let page = try await browser.get("/request?key=dear")
                #expect(page.status == 200 && page.body.contains("It was refused"))
                #expect(page.body.contains("<bdi>insufficient_funds</bdi>"))
                #expect(try await browser.get("/find?q=dear").headers["location"] == "/request?key=dear")
            }
        }

        @Test func whatIsNotThereIsSaidAndNothingIsTakenForAnother() async throws {
            try await serve { _, browser in
                var browser = browser
                _ = try await browser.signIn("f")
                let expected: [(String, Int)] = [
                    ("/statement?account=nobody", 404), ("/purchase?transactionId=9", 404), ("/request?key=none", 404),
                    ("/entry?entry=9", 404), ("/find?q=nothing", 404), ("/find?q=", 404), ("/nowhere", 404),
                    ("/purchase?transactionId=x", 400), ("/circulation?month=9999-01", 404), ("/consumption", 200),
                    ("/circulation", 200),
                ]
                for (target, status) in expected {
                    #expect(try await browser.get(target).status == status, "\(target)")
                }
                #expect(try await browser.post("/statement", "account=x").status == 405)
            }
        }

        @Test func oneOfSeveralLedgersIsChosen() async throws {
            let second = try SandboxApp()
            try await TestServer.run(
                listenConsole: Self.local, tokens: Self.all + [Token(token: "o", role: .game, ledger: "second")],
                beside: [TestServer.Other(name: "second", app: second)]
            ) { server in
                let client = try await server.connect()
                _ = try await client.ask(Requests.authenticate("a"))
                let grant = #"{"key":"k","account":"player-1","currency":"gems","amount":7,"ledger":"second"}"#
                #expect(try await client.ask(Requests.call("grant", grant)).reason == nil)
                var browser = ConsoleBrowser(address: server.consoleAddresses[0])
                _ = try await browser.signIn("g")
                let choice = try await browser.get("/statement?account=player-1")
                #expect(choice.title == "Choose a ledger")
                #expect(choice.body.contains(#"href="/statement?account=player-1&amp;ledger=second""#))
                #expect(try await browser.get("/statement?account=player-1&ledger=second").status == 200)
                #expect(try await browser.get("/statement?account=player-1&ledger=main").status == 404)
                #expect(try await browser.get("/?ledger=third").status == 404)
                // A token of one ledger has nothing to choose.
                _ = try await browser.signIn("o")
                #expect(try await browser.get("/statement?account=player-1").status == 200)
                #expect(try await browser.get("/statement?account=player-1&ledger=main").status == 403)
            }
        }

        @Test func requestsOfOneConnectionAreAnsweredInTheirOrder() async throws {
            try await serve { server, browser in
                var browser = browser
                try await Self.ask(server, Requests.grant("k", "player-1", 5))
                _ = try await browser.signIn("f")
                let client = try await RawClient(server.consoleAddresses[0])
                let targets = ["/console.css", "/statement?account=player-1", "/nowhere", "/circulation", "/"]
                try await client.send(
                    targets.map { browser.head("GET", $0, from: nil, bytes: 0) }.joined())
                var statuses: [Int] = []
                for _ in targets { statuses.append(try await ConsoleBrowser.page(of: client).status) }
                #expect(statuses == [200, 200, 404, 200, 200])
            }
        }

        @Test func theConsoleIsNowhereElse() async throws {
            try await TestServer.run(listenHTTP: Self.local, listenConsole: Self.local, tokens: Self.all) { server in
                let elsewhere = ConsoleBrowser(address: server.httpAddresses[0])
                #expect(try await elsewhere.get("/login").status == 404)
                let client = HTTPClient(try await RawClient(server.consoleAddresses[0]))
                try await client.send(HTTPClient.rpc(Requests.balance("p"), token: "g"))
                #expect(try await client.response()?.status == 405)
            }
        }
    }
}
