import Foundation
import LedgerTestKit
import LedgerWire
import NIOCore
import Testing

@testable import LineServer

extension ServerTests {
    /// Places are kept for who has a token: strangers, the idle and the greedy cannot lock others out.
    @Suite struct Places {
        private static let tokens: [Token] = [
            .init(token: "the game's token", role: .game), .init(token: "the books' token", role: .finance),
        ]

        private static func authenticated(_ server: TestServer, _ token: String = "the game's token") async throws
            -> RawClient
        {
            // Where the places are few, strangers that came at the same time may take its place: it comes again.
            for _ in 0..<100 {
                let client = try await server.connect()
                if let reply = try? await client.ask(Requests.authenticate(token)), reply.reason == nil {
                    return client
                }
            }
            throw CocoaError(.userCancelled)
        }

        @Test func aStrangerIsToldToGoAndClosedInTime() async throws {
            let logs = LogCapture()
            try await TestServer.run(
                tokens: Self.tokens, logs: logs, limits: { $0.unauthenticatedMilliseconds = 200 }
            ) { server in
                let known = try await Self.authenticated(server)
                let silent = try await server.connect()
                let talkative = try await server.connect()
                let wrong = try await server.connect()
                #expect(try await talkative.ask(Requests.ping(1)).id == 1)
                #expect(try await wrong.ask(Requests.authenticate("guessed")).reason == "unauthenticated")
                // Half a line is no more than none.
                try await silent.send("{")
                for stranger in [silent, talkative, wrong] {
                    let told = try JSON(try #require(try await stranger.line()))
                    #expect(told.reason == "unauthenticated" && told["id"].isNull)
                    #expect(try await stranger.line() == nil)
                }
                #expect(try await known.ask(Requests.balance("a")).reason == nil)
                let said = logs.lines.filter { $0.hasPrefix("connections were closed that did not authenticate") }
                #expect(said.count == 1 && said[0].contains("peer=127.0.0.1"), "\(logs.lines)")
            }
        }

        @Test func theOldestStrangerGoesWhereAFurtherOneComes() async throws {
            let logs = LogCapture()
            try await TestServer.run(
                tokens: Self.tokens, logs: logs,
                limits: {
                    $0.unauthenticatedMax = 3
                    $0.unauthenticatedPerAddressMax = 3
                }
            ) { server in
                let known = try await Self.authenticated(server)
                var strangers: [RawClient] = []
                for number in 1...4 {
                    strangers.append(try await server.connect())
                    #expect(try await strangers[number - 1].ask(Requests.ping(number)).id == number)
                }
                let told = try JSON(try #require(try await strangers[0].line()))
                #expect(told.reason == "overloaded" && told.isRetryable == true && told["id"].isNull)
                #expect(try await strangers[0].line() == nil)
                for stranger in strangers[1...] { #expect(try await stranger.ask(Requests.ping(9)).id == 9) }
                #expect(try await known.ask(Requests.balance("a")).reason == nil)
                #expect(logs.lines.contains { $0.hasPrefix("connections that had not authenticated were closed") })
            }
        }

        /// A stranger of HTTP that asks until the server takes no more, for it reads nothing of what it is told. It
        /// asks for pages: where it asked in vain, it would not be listened to for so long.
        private static func deafStranger(_ server: TestServer) async throws -> RawClient {
            let client = try await RawClient(server.httpAddresses[0], receiveBufferBytes: 4_096)
            let page = HTTPClient.request("/health/live", "", method: "GET", headers: [])
            let requests = Array(String(repeating: page, count: 400).utf8)
            var (pending, quiet) = (requests, 0)
            while quiet < 30 {
                if pending.isEmpty { pending = requests }
                let count = client.sendWithoutWaiting(pending)
                pending.removeFirst(count)
                quiet = count == 0 ? quiet + 1 : 0
                if count == 0 { try await Task.sleep(for: .milliseconds(10)) }
            }
            return client
        }

        private static let putOut = "connections that had not authenticated were closed"

        @Test(.timeLimit(.minutes(1)))
        func whoIsPutOutAndReadsNothingKeepsNoServiceFromStopping() async throws {
            let logs = LogCapture()
            var deaf: RawClient?
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], tokens: Self.tokens, logs: logs,
                limits: {
                    $0.unauthenticatedMax = 1
                    // Nothing else ends it within the time of this test.
                    $0.unauthenticatedMilliseconds = 600_000
                    $0.keptAliveMilliseconds = 600_000
                    $0.shutdownMilliseconds = 300
                }
            ) { server in
                deaf = try await Self.deafStranger(server)
                let other = try await server.connect()
                #expect(try await other.ask(Requests.ping(1)).id == 1)
                #expect(try await eventually { logs.lines.contains { $0.hasPrefix(Self.putOut) } })
            }
            withExtendedLifetime(deaf) {}
        }

        @Test func whoIsPutOutAndReadsNothingIsClosedInTime() async throws {
            let logs = LogCapture()
            try await TestServer.run(
                listenHTTP: [.tcp(host: "127.0.0.1", port: 0)], tokens: Self.tokens, logs: logs,
                limits: {
                    $0.unauthenticatedMax = 1
                    $0.unauthenticatedMilliseconds = 1_000
                    $0.refusedConnectionsMax = 1
                }
            ) { server in
                let deaf = try await Self.deafStranger(server)
                // While it may still read, nobody else that is put out is told so.
                #expect(
                    try await eventually {
                        let stranger = try await server.connect()
                        let next = try await server.connect()
                        let told = try await (try? stranger.line()).map { try JSON($0).reason } == "overloaded"
                        withExtendedLifetime(next) {}
                        return told
                    })
                #expect(logs.lines.contains { $0.hasPrefix(Self.putOut) })
                withExtendedLifetime(deaf) {}
            }
        }

        /// As the requirement has it: strangers that never say anything hold every place that they can get.
        @Test func silentStrangersLockNobodyOut() async throws {
            let logs = LogCapture()
            try await TestServer.run(
                tokens: Self.tokens, logs: logs,
                limits: {
                    $0.connectionsMax = 20
                    $0.unauthenticatedMax = 8
                    $0.unauthenticatedPerAddressMax = 4
                    $0.connectionsPerNameMax = 20
                    $0.refusedConnectionsMax = 3
                }
            ) { server in
                var strangers: [RawClient] = []
                var known: [RawClient] = []
                for _ in 0..<20 {
                    for _ in 0..<10 { strangers.append(try await server.connect()) }
                    known.append(try await Self.authenticated(server))
                }
                // Every place has somebody who was let in; one more is told so, and so is a stranger.
                // (Those that were put out just now may still be reading why: then it is closed without a word.)
                #expect(
                    try await eventually {
                        let late = try await server.connect()
                        return try await (try? late.line()).map { try JSON($0).reason } == "overloaded"
                    })
                for client in known { #expect(try await client.ask(Requests.balance("a")).reason == nil) }
                known.removeLast()
                #expect(
                    try await eventually {
                        let client = try await server.connect()
                        let reply = try? await client.ask(Requests.authenticate("the game's token"))
                        return reply?.result["role"].string == "game"
                    })
                let said = logs.lines.filter { $0.hasPrefix("connections that had not authenticated were closed") }
                #expect(said.count <= 2, "a flood is told in a few lines: \(said)")
            }
        }

        @Test func oneNameDoesNotTakeThePlacesOfOthers() async throws {
            try await TestServer.run(tokens: Self.tokens, limits: { $0.connectionsPerNameMax = 2 }) { server in
                let first = try await Self.authenticated(server)
                var second: RawClient? = try await Self.authenticated(server)
                // The same name again on the same connection is no further place.
                #expect(try await first.ask(Requests.authenticate("the game's token")).reason == nil)
                let third = try await server.connect()
                let refused = try await third.ask([
                    Requests.authenticate("the game's token"), Requests.balance("a"),
                    Requests.authenticate("the books' token"), Requests.report("trial"),
                ])
                #expect(refused.map(\.reason) == ["overloaded", "unauthenticated", nil, nil])
                // Refused under the one name it keeps the other.
                #expect(try await third.ask(Requests.authenticate("the game's token")).reason == "overloaded")
                #expect(try await third.ask(Requests.report("trial")).reason == nil)
                #expect(try await second?.ask(Requests.authenticate("the books' token")).reason == nil)
                #expect(try await third.ask(Requests.authenticate("the game's token")).reason == nil)
                second = nil
                _ = try await Self.authenticated(server, "the books' token")
            }
        }

        @Test func whoHasItsPartGetsNoPlaceThatAnotherNeedsForItsOwn() async throws {
            let tokens = Self.tokens + [.init(token: "the admin's token", role: .admin)]
            let logs = LogCapture()
            try await TestServer.run(
                tokens: tokens, logs: logs,
                limits: {
                    $0.connectionsMax = 12
                    $0.connectionsPerNameMax = 12
                    // Two for each name.
                    $0.connectionsKeptMax = 6
                }
            ) { server in
                var known: [RawClient] = []
                /// Gives how many connections have authenticated before one was refused.
                func come(_ token: String, atMost: Int = 12) async throws -> Int {
                    for count in 0..<atMost {
                        let client = try await server.connect()
                        guard try await client.ask(Requests.authenticate(token)).reason == nil else { return count }
                        known.append(client)
                    }
                    return atMost
                }
                let games = try await come("the game's token")
                #expect(games == 8, "all but two for each of the others")
                #expect(try await come("the books' token") == 2)
                #expect(try await come("the admin's token", atMost: 1) == 1)
                #expect(try await come("the game's token") == 0, "the last one is the admin's")
                #expect(try await come("the admin's token", atMost: 1) == 1)
                // Who has its part gets what nobody else needs for theirs.
                known.removeSubrange(0..<2)
                #expect(
                    try await eventually {
                        guard let client = try? await server.connect() else { return false }
                        let reply = try? await client.ask(Requests.authenticate("the admin's token"))
                        guard let reply, reply.reason == nil else { return false }
                        known.append(client)
                        return true
                    })
                for client in known { #expect(try await client.ask(Requests.call("info")).reason == nil) }
            }
            #expect(logs.lines.contains { $0.contains("kept for other names") && $0.hasSuffix(" name=game") })
        }

        @Test func whereNamesAreManyTheLastPlacesAreForThoseThatHaveNone() async throws {
            let tokens = (0..<9).map { number in
                var token = Token(token: "secret \(number)", role: .game)
                token.name = "game-\(number)"
                return token
            }
            try await TestServer.run(
                tokens: tokens,
                limits: {
                    $0.connectionsMax = 8
                    $0.connectionsPerNameMax = 8
                    $0.connectionsKeptMax = 2
                }
            ) { server in
                var known: [RawClient] = []
                for _ in 0..<6 { known.append(try await Self.authenticated(server, "secret 0")) }
                let late = try await server.connect()
                #expect(try await late.ask(Requests.authenticate("secret 0")).reason == "overloaded")
                #expect(try await late.ask(Requests.authenticate("secret 1")).reason == nil)
                known += [late, try await Self.authenticated(server, "secret 2")]
                for client in known { #expect(try await client.ask(Requests.balance("a")).reason == nil) }
            }
        }

        @Test func theLogNamesWhoseConnectionWasClosedForAnother() async throws {
            let path = FileManager.default.temporaryDirectory
                .appendingPathComponent("ledger-\(UUID().uuidString.prefix(8)).sock").path
            let logs = LogCapture()
            try await TestServer.run(
                listen: [.tcp(host: "127.0.0.1", port: 0), .unix(path: path)], tokens: Self.tokens, logs: logs,
                limits: { $0.unauthenticatedMax = 1 }
            ) { server in
                let stranger = try await RawClient(server.addresses[1])
                #expect(try await stranger.ask(Requests.ping(1)).id == 1)
                let other = try await server.connect()
                #expect(try await other.ask(Requests.ping(1)).id == 1)
                #expect(try JSON(try #require(try await stranger.line())).reason == "overloaded")
            }
            let said = logs.lines.filter { $0.hasPrefix("connections that had not authenticated were closed") }
            #expect(said.count == 1 && said[0].hasSuffix(" peer=unix"), "\(said)")
        }

        @Test func anIdleConnectionIsClosedAndOneThatWaitsIsNot() async throws {
            try await TestServer.run(limits: { $0.idleMilliseconds = 300 }) { server in
                let idle = try await server.connect()
                let waiting = try await server.connect()
                #expect(try await idle.ask(Requests.grant("g", "a", 1)).reason == nil)
                try await waiting.send(Requests.journal(after: 1, wait: 1_500) + "\n")
                #expect(try await idle.line() == nil, "it is closed without a word")
                #expect(try await waiting.lines(1).map { try JSON($0).result["next"].int } == [1])
                #expect(try await waiting.line() == nil)
            }
        }

        @Test func aClientThatReadsNothingIsIdle() async throws {
            let logs = LogCapture()
            try await TestServer.run(logs: logs, limits: { $0.idleMilliseconds = 400 }) { server in
                var setup: RawClient? = try await server.connect()
                _ = try await setup?.ask((0..<100).map { Requests.grant("k\($0)", "a", 1) })
                setup = nil
                let client = try await server.connect(receiveBufferBytes: 4_096)
                // Far more pages than all buffers hold: answers are waited for, and are not read.
                try await client.send(String(repeating: Requests.history("a") + "\n", count: 3_000))
                #expect(
                    try await eventually {
                        logs.lines.contains { $0.hasPrefix("a connection is ended") && $0.contains("reason=idle") }
                    })
                await #expect(throws: RawClient.Failure.self) { try await client.lines(3_000) }
            }
        }

        @Test func aWaiterThatSendsNothingMoreIsAnsweredAtOnce() async throws {
            try await TestServer.run(limits: { $0.connectionsMax = 2 }) { server in
                let writer = try await server.connect()
                _ = try await writer.ask([Requests.grant("g1", "a", 1), Requests.grant("g2", "a", 1)])
                let waiting = try await server.connect()
                try await waiting.send(
                    Requests.ping(1) + "\n" + Requests.journal(after: 2, wait: 30_000, id: "2") + "\n"
                        + Requests.journal(after: 1, wait: 30_000, id: "3") + "\n"
                        + Requests.journal(after: 2, wait: 30_000, id: "4") + "\n")
                #expect(try await waiting.lines(1).map { try JSON($0).id } == [1])
                let closed = ContinuousClock.now
                waiting.closeOutput()
                let replies = try await waiting.lines(3).map { try JSON($0) }
                #expect(replies.map(\.id) == [2, 3, 4])
                #expect(replies.map { $0.result["entries"].count } == [0, 1, 0])
                #expect(try await waiting.line() == nil)
                #expect(closed.duration(to: .now) < .seconds(9))
                // Its place is free.
                #expect(try await eventually { (try? await server.connect().ask(Requests.ping(5)))?.id == 5 })
            }
        }

        /// All places that there are have somebody who waits for what may come, and sends nothing more.
        @Test(.enabled(if: DescriptorLimit.raise() >= 3_000, "the tests may have too few files open"))
        func aThousandWaitersThatSendNothingMoreKeepNoPlace() async throws {
            let places = ServerLimits().connectionsMax
            try await TestServer.run { server in
                var waiting: [RawClient] = []
                for number in 0..<places {
                    waiting.append(try await server.connect())
                    try await waiting[number].send(Requests.ping(1) + "\n")
                    try await waiting[number].send(Requests.journal(after: 0, wait: 30_000, id: "2") + "\n")
                }
                for client in waiting { #expect(try await client.lines(1).map { try JSON($0).id } == [1]) }
                let late = try await server.connect()
                #expect(try JSON(try #require(try await late.line())).reason == "overloaded")
                for client in waiting { client.closeOutput() }
                // Long before the time that they would wait.
                for client in waiting {
                    let page = try JSON(try #require(try await client.line()))
                    #expect(page.id == 2 && page.result["entries"].count == 0)
                    #expect(try await client.line() == nil)
                }
                #expect(try await eventually { (try? await server.connect().ask(Requests.ping(5)))?.id == 5 })
            }
        }
    }

    /// What a connection's address counts as.
    @Suite struct PeerAddresses {
        private static func peer(_ address: String) throws -> PeerAddress {
            PeerAddress(try SocketAddress(ipAddress: address, port: 1))
        }

        @Test func addressesOfOneNetworkOfIPv6AreOne() throws {
            #expect(try Self.peer("2001:db8:1:2::1") == Self.peer("2001:db8:1:2:ffff::9"))
            #expect(try Self.peer("2001:db8:1:2::1") != Self.peer("2001:db8:1:3::1"))
        }

        @Test func addressesOfIPv4AreToldApartHoweverTheyCome() throws {
            #expect(try Self.peer("192.0.2.1") == Self.peer("::ffff:192.0.2.1"))
            #expect(try Self.peer("::ffff:192.0.2.1") != Self.peer("::ffff:192.0.2.2"))
            #expect(try Self.peer("192.0.2.1") != Self.peer("192.0.2.2"))
            #expect(try Self.peer("::1") != Self.peer("::ffff:0.0.0.1"))
        }

        @Test func connectionsOfAUnixSocketAreFromOnePlace() throws {
            #expect(PeerAddress(try SocketAddress(unixDomainSocketPath: "/a")) == .local)
            #expect(PeerAddress(nil) == .local)
        }
    }
}

/// How many places there are where the system allows few open files.
@Suite struct DescriptorLimitTests {
    @Test func enoughOfThemChangesNothing() throws {
        let limits = try ServerLimits().fitting(descriptors: 1_024 + 64 + 160)
        #expect(limits.connectionsMax == 1_024 && limits.unauthenticatedMax == 128)
    }

    @Test func tooFewOfThemLeaveFewerPlaces() throws {
        let limits = try ServerLimits().fitting(descriptors: 1_024)
        #expect(limits.connectionsMax == 800 && limits.unauthenticatedMax == 128)
        #expect(limits.unauthenticatedPerAddressMax == 64 && limits.connectionsPerNameMax == 400)
        #expect(limits.connectionsKeptMax == 200)
        let few = try ServerLimits().fitting(descriptors: 300)
        #expect(few.connectionsMax == 76 && few.unauthenticatedMax == 38 && few.unauthenticatedPerAddressMax == 19)
        let least = try ServerLimits().fitting(descriptors: 225)
        #expect(least.connectionsMax == 1 && least.unauthenticatedMax == 1 && least.connectionsPerNameMax == 1)
    }

    @Test func tooFewForOneConnectionAreAClearError() {
        let error = #expect(throws: ServerError.self) { try ServerLimits().fitting(descriptors: 224) }
        #expect(error?.description.contains("may have 224 files open") == true)
        #expect(error?.description.contains("LimitNOFILE") == true)
    }

    @Test func theLimitIsRaisedToTheMostThatIsAllowed() {
        let first = DescriptorLimit.raise()
        #expect(first >= 1_024 && DescriptorLimit.raise() == first)
    }
}
