import Foundation
import NIOConcurrencyHelpers
import Testing

@testable import LedgerClient

/// Order, framing, and the ends that a connection can come to.
@Suite struct ConnectionTests {
    private static func pong(_ line: [UInt8]) -> [UInt8] { answer(line) { _ in .pong } }

    @Test func callsMadeAtOnceGetTheirOwnReplies() async throws {
        try await Peer.with(answering(echo)) { peer, client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<1_000 {
                    group.addTask {
                        let name = try account("player-\(number)")
                        #expect(try await client.balance(name).account == name)
                    }
                }
                try await group.waitForAll()
            }
            #expect(peer.observed.lines.count == 1_000)
        }
    }

    @Test func callsAreSentInTheOrderInWhichTheyAreMade() async throws {
        try await Peer.with(answering(echo)) { peer, client in
            for number in 0..<100 { _ = try await client.balance(try account("p\(number)")) }
            let ids = peer.observed.lines.map { line -> RequestID? in
                guard case .single(let message) = line.withUnsafeBufferPointer({ LineParser.parse($0) }) else {
                    return nil
                }
                return message.id
            }
            #expect(ids == (1...100).map { .integer($0) })
        }
    }

    @Test func aReplyMayComeByteByByteAndManyAtOnce() async throws {
        let held = NIOLockedValueBox<[[UInt8]]>([])
        try await Peer.with({ index, line in
            guard let line else { return [] }
            let reply = answer(line, echo)
            if index == 0 { return [.trickle(reply)] }
            // All but the last are held back until it is there, and go out as one.
            let all = held.withLockedValue { held in
                held.append(reply)
                return held.count == 50 ? held.flatMap { $0 } : []
            }
            return all.isEmpty ? [] : [.send(all)]
        }) { _, client in
            #expect(try await client.balance(try account("first")).account.text == "first")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        let name = try account("p\(number)")
                        #expect(try await client.balance(name).account == name)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func aLostConnectionFailsWhatIsInFlightAndEverythingAfter() async throws {
        try await Peer.with({ index, line in
            guard let line else { return [] }
            return index < 3 ? [.send(Self.pong(line))] : index == 9 ? [.close] : []
        }) { _, client in
            let outcomes = await withTaskGroup(of: (any Error)?.self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        do {
                            try await client.ping()
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count(where: { $0 == nil }) == 3)
            for error in outcomes.compactMap({ $0 }) {
                guard case .connectionLost = error as? ClientError else {
                    Issue.record("\(error)")
                    continue
                }
            }
            let later = await #expect(throws: ClientError.self) { try await client.ping() }
            guard case .connectionLost = later else {
                Issue.record("\(String(describing: later))")
                return
            }
        }
    }

    @Test func closingFailsWhatIsInFlight() async throws {
        let (arrived, arrival) = AsyncStream<Void>.makeStream()
        let peer = try await Peer.start { _, line in
            if line != nil { arrival.yield() }
            return []
        }
        let client = try await LedgerClient.connect(to: peer.address)
        let inFlight = Task { try await client.ping() }
        for await _ in arrived { break }
        try await client.close()
        await #expect(throws: ClientError.closed) { try await inFlight.value }
        await #expect(throws: ClientError.closed) { try await client.ping() }
        try await client.close()
        try await peer.stop()
    }

    @Test(arguments: [
        "nonsense", #"{"jsonrpc":"2.0","id":99,"result":{}}"#, #"[{"jsonrpc":"2.0","id":1,"result":{}}]"#,
        #"{"jsonrpc":"2.0","id":"1","result":{}}"#, #"{"jsonrpc":"2.0","id":null,"result":{}}"#,
    ])
    func whatIsNoReplyToTheOldestRequestEndsTheConnection(line: String) async throws {
        try await Peer.with({ _, request in request == nil ? [] : [.send(Array("\(line)\n".utf8))] }) { _, client in
            for _ in 0..<2 {
                let error = await #expect(throws: ClientError.self) { try await client.ping() }
                guard case .unreadableReply = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
        }
    }

    @Test func anEmptyLineBetweenRepliesIsPassedOver() async throws {
        let end = Array("\r\n\n".utf8)
        try await Peer.with({ _, line in
            guard let line else { return [] }
            return [.send(end + answer(line, echo) + end)]
        }) { _, client in
            for name in ["a", "b", "c"] {
                let balance = try await client.balance(try account(name))
                #expect(balance.account.text == name)
            }
        }
    }

    @Test func aReplyThatNobodyAskedForEndsTheConnection() async throws {
        let peer = try await Peer.start { index, line in
            guard let line else { return [] }
            return [.send(Self.pong(line) + Self.pong(line))]
        }
        let client = try await LedgerClient.connect(to: peer.address, configuration: .raw)
        try await client.ping()
        let error = await #expect(throws: (any Error).self) {
            for _ in 0..<1_000 { try await client.ping() }
        }
        guard case .unreadableReply = error as? ClientError else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await peer.stop()
    }

    @Test func anErrorWithoutAnIdIsTheOldestRequests() async throws {
        try await Peer.with({ index, line in
            guard let line else { return [] }
            return [.send(index == 0 ? answer(Array("{".utf8)) { _ in .pong } : Self.pong(line))]
        }) { _, client in
            let error = await #expect(throws: WireError.self) { try await client.ping() }
            #expect(error?.reason == "parse_error")
            try await client.ping()
        }
    }

    @Test func aServerThatIsFullSaysSo() async throws {
        var writer = ReplyWriter()
        writer.write(.error(.overloaded), id: .null)
        let farewell = writer.bytes
        let peer = try await Peer.start { _, line in line == nil ? [.send(farewell), .close] : [] }
        let error = await #expect(throws: (any Error).self) {
            _ = try await LedgerClient.connect(to: peer.address, token: "t")
        }
        // The kernel may report the reset before the line is read; what was read goes first.
        if let error = error as? WireError {
            #expect(error == .overloaded)
        } else {
            guard case .cannotConnect = error as? ClientError else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        for _ in 0..<50 {
            // However soon the server closes, a connection was made.
            _ = try await LedgerClient.connect(to: peer.address)
        }
        try await peer.stop()
    }

    @Test func whatTheServerSaysUnaskedIsWhyNothingMoreCanBeSent() async throws {
        var writer = ReplyWriter()
        writer.write(.error(.shuttingDown), id: .null)
        let farewell = writer.bytes
        let peer = try await Peer.start { _, line in line == nil ? [.send(farewell)] : [] }
        let idle = try await LedgerClient.connect(to: peer.address, configuration: .raw)
        // Time for the line to come; a request that is faster takes it for its answer.
        try await Task.sleep(for: .milliseconds(100))
        let said = await #expect(throws: WireError.self) { try await idle.ping() }
        #expect(said == .shuttingDown)
        try await peer.stop()
    }

    @Test func aTokenIsSentFirstAndOneThatIsUnknownIsThrown() async throws {
        let peer = try await Peer.start(
            answering { request in
                request == .authenticate(Authentication(token: "right"))
                    ? .authenticated(Samples.game) : .error(.unknownToken)
            })
        let client = try await LedgerClient.connect(to: peer.address, token: "right")
        try await client.close()
        await #expect(throws: WireError.unknownToken) {
            try await LedgerClient.connect(to: peer.address, token: "wrong")
        }
        try await peer.stop()
    }

    @Test func aLineLongerThanTheLimitEndsTheConnection() async throws {
        let peer = try await Peer.start { index, line in
            guard let line else { return [] }
            let padding = [UInt8](repeating: UInt8(ascii: " "), count: index == 0 ? 900 : 1_100)
            return [.send(padding), .send(index == 0 ? Self.pong(line) : [])]
        }
        var configuration = ClientConfiguration.raw
        configuration.replyBytesMax = 1_000
        let client = try await LedgerClient.connect(to: peer.address, configuration: configuration)
        try await client.ping()
        await #expect(throws: ClientError.unreadableReply("a line is longer than 1000 bytes")) {
            try await client.ping()
        }
        try await peer.stop()
    }

    @Test func aUnixSocketServesAsWell() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ledger-\(UUID().uuidString.prefix(8)).sock"
        )
        .path
        let peer = try await Peer.start(unixPath: path, answering(echo))
        let client = try await LedgerClient.connect(to: try ServerAddress("unix:\(path)"))
        try await client.ping()
        try await client.close()
        try await peer.stop()
        try? FileManager.default.removeItem(atPath: path)
    }

    @Test func whereNobodyListensTheErrorSaysSo() async throws {
        let peer = try await Peer.start(answering(echo))
        try await peer.stop()
        let error = await #expect(throws: ClientError.self) { try await LedgerClient.connect(to: peer.address) }
        guard case .cannotConnect = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
