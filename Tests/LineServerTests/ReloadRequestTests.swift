import LedgerEngine
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LineServer

extension ServerTests {
    /// What a client is answered that has the service read its configuration again.
    @Suite struct ReloadRequests {
        @Test func whatIsAskedBehindItIsCarriedOutWhenItIsAnswered() async throws {
            try await TestServer.run { server in
                let order = NIOLockedValueBox<[String]>([])
                server.lines.takeReloads {
                    order.withLockedValue { $0.append("reload") }
                    return ReloadReport(applied: true, changes: ["log.level: info → debug"])
                }
                let client = try await server.connect()
                let lines = [
                    Requests.grant("g1", "a", 5, id: "1"), Requests.call("reload", id: 2),
                    Requests.balance("a", id: "3"), Requests.ping(4),
                ]
                try await client.send(lines.map { "\($0)\n" }.joined())
                let replies = try await client.lines(4).map { try JSON($0) }
                #expect(replies.map(\.reason) == [nil, nil, nil, nil])
                #expect(replies[1].result["changes"].array?.map(\.string) == ["log.level: info → debug"])
                #expect(order.withLockedValue { $0 } == ["reload"])
                // In a batch too: the answers are one line, in their order.
                let batch = "[\(Requests.call("reload", id: 5)),\(Requests.balance("a", id: "6"))]"
                try await client.send("\(batch)\n")
                let answers = try JSON(try #require(try await client.line())).array
                #expect(answers?.count == 2 && answers?.allSatisfy { $0.reason == nil } == true)
                #expect(order.withLockedValue { $0.count } == 2)
            }
        }

        @Test func aServiceWithoutAConfigurationSaysSo() async throws {
            try await TestServer.run { server in
                let reply = try await server.connect().ask(Requests.call("reload"))
                #expect(reply.reason == nil && reply.result["applied"].bool == false)
                #expect(reply.result["faults"].array?.count == 1)
            }
        }

        /// Whoever has to wait for the files of another reload gets an answer of their own.
        @Test func severalAtOnceAreOneAfterTheOther() async throws {
            try await TestServer.run { server in
                let running = NIOLockedValueBox((now: 0, most: 0))
                server.lines.takeReloads { [lines = server.lines] in
                    lines.reload {
                        running.withLockedValue {
                            $0.now += 1
                            $0.most = max($0.most, $0.now)
                        }
                        defer { running.withLockedValue { $0.now -= 1 } }
                        return lines.renewal([], nil)
                    }
                }
                var clients: [RawClient] = []
                for _ in 0..<8 { clients.append(try await server.connect()) }
                for client in clients { try await client.send(Requests.call("reload") + "\n") }
                for client in clients {
                    let reply = try JSON(try #require(try await client.line()))
                    #expect(reply.result["applied"].bool == true)
                }
                #expect(running.withLockedValue { $0.most } == 1)
            }
        }

        @Test func aSlowRequestIsToldByItsMethod() {
            let told = NIOLockedValueBox<[String]>([])
            let slow = SlowNotice()
            let figures = RequestFigures(
                ledgers: 1, slow: slow,
                told: { method, place, time in
                    told.withLockedValue { $0.append("\(method) \(place.map { "\($0)" } ?? "-") \(time)") }
                })
            func ask(_ method: Method?, _ nanoseconds: UInt64) {
                let mark = figures.mark(method, at: method == nil ? nil : 0, since: 1_000)
                figures.note(.ok, of: mark, at: 1_000 + nanoseconds)
            }
            ask(Methods.spend.method, 9_000_000_000)
            slow.set(milliseconds: 10)
            ask(Methods.spend.method, 9_999_999)
            ask(Methods.spend.method, 10_000_000)
            // What waits for news, and what is no request.
            ask(Methods.journal.method, 30_000_000_000)
            ask(nil, 30_000_000_000)
            #expect(told.withLockedValue { $0 } == ["spend 0 10000000"])
        }
    }
}
