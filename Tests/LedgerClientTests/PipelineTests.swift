import LedgerClient
import NIOConcurrencyHelpers
import Testing

/// Many requests without a task for each.
@Suite struct PipelineTests {
    private static func write(_ index: Int, _ id: RequestID, _ writer: inout RequestWriter) {
        guard let name = AccountName("player-\(index)") else {
            Issue.record("not a name")
            return
        }
        writer.write(Methods.balance, BalanceQuery(account: name), id: id)
    }

    /// The replies' indices in the order in which they came, each checked to be that request's own.
    private final class Replies: Sendable {
        private let indices = NIOLockedValueBox<[Int]>([])
        private let errors = NIOLockedValueBox<[String]>([])

        func read(_ index: Int, _ result: Result<UnsafeBufferPointer<UInt8>, WireError>) {
            indices.withLockedValue { $0.append(index) }
            switch result {
            case .success(let json):
                let name = try? AccountBalances(json: json).account.text
                #expect(name == "player-\(index)")
            case .failure(let error): errors.withLockedValue { $0.append(error.reason) }
            }
        }

        var order: [Int] { indices.withLockedValue { $0 } }
        var reasons: [String] { errors.withLockedValue { $0 } }
    }

    @Test func repliesComeInOrderAndNoMoreIsInFlightThanAllowed() async throws {
        try await Peer.with(answering(echo)) { peer, client in
            let replies = Replies()
            try await client.pipeline(count: 10_000, inFlight: 64, write: Self.write) { replies.read($0, $1) }
            #expect(replies.order == Array(0..<10_000))
            #expect(replies.reasons == [])
            let seen = peer.observed
            #expect(seen.lines.count == 10_000)
            #expect(seen.linesAtOnceMax <= 64)
            // Many requests leave in one write: far fewer reads than requests at the other end.
            #expect(seen.reads < 5_000, "\(seen.reads)")
        }
    }

    @Test func requestsMayGoInBatches() async throws {
        try await Peer.with(answering(echo)) { peer, client in
            let replies = Replies()
            try await client.pipeline(count: 2_550, inFlight: 200, requestsPerLine: 100, write: Self.write) {
                replies.read($0, $1)
            }
            #expect(replies.order == Array(0..<2_550))
            #expect(peer.observed.lines.count == 26)
        }
    }

    @Test func anErrorForABatchIsEachRequests() async throws {
        var writer = ReplyWriter()
        writer.write(.error(.batchTooLong), id: .null)
        let refusal = writer.bytes
        try await Peer.with({ _, line in line == nil ? [] : [.send(refusal)] }) { _, client in
            let replies = Replies()
            try await client.pipeline(count: 30, inFlight: 10, requestsPerLine: 10, write: Self.write) {
                replies.read($0, $1)
            }
            #expect(replies.order == Array(0..<30))
            #expect(replies.reasons == Array(repeating: "batch_too_long", count: 30))
        }
    }

    @Test func preparedRequestsAreSentAsTheyAre() async throws {
        let prepared = (0..<100).map { index in
            var writer = RequestWriter()
            Self.write(index, .integer(Int64(index)), &writer)
            return Array(writer.bytes.dropLast())
        }
        try await Peer.with(answering(echo)) { peer, client in
            let replies = Replies()
            try await client.pipeline(
                count: 100, inFlight: 7, write: { index, _, writer in writer.write(prepared: prepared[index]) },
                reply: { replies.read($0, $1) })
            #expect(replies.order == Array(0..<100))
            #expect(peer.observed.lines == prepared)
        }
    }

    @Test func callsGoOnBesideAPipeline() async throws {
        try await Peer.with(answering(echo)) { _, client in
            let replies = Replies()
            async let pipeline: Void = client.pipeline(count: 2_000, inFlight: 32, write: Self.write) {
                replies.read($0, $1)
            }
            for number in 0..<100 {
                let name = try account("call-\(number)")
                #expect(try await client.balance(name).account == name)
            }
            try await pipeline
            #expect(replies.order == Array(0..<2_000))
        }
    }

    @Test func nothingToSendIsDoneAtOnce() async throws {
        try await Peer.with(answering(echo)) { peer, client in
            try await client.pipeline(count: 0, inFlight: 1, write: Self.write) { _, _ in Issue.record("a reply") }
            #expect(peer.observed.lines == [])
        }
    }

    @Test func aLostConnectionEndsAPipeline() async throws {
        try await Peer.with({ index, line in
            guard let line else { return [] }
            return index == 500 ? [.close] : [.send(answer(line, echo))]
        }) { _, client in
            let replies = Replies()
            let error = await #expect(throws: ClientError.self) {
                try await client.pipeline(count: 1_000, inFlight: 10, write: Self.write) { replies.read($0, $1) }
            }
            guard case .connectionLost = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(replies.order == Array(0..<replies.order.count))
            #expect(replies.order.count <= 500)
            await #expect(throws: ClientError.self) {
                try await client.pipeline(count: 1, inFlight: 1, write: Self.write) { _, _ in }
            }
        }
    }

    @Test func aReplyOutOfOrderEndsAPipeline() async throws {
        try await Peer.with({ index, line in
            guard let line else { return [] }
            guard index == 5 else { return [.send(answer(line, echo))] }
            return [.send(Array(#"{"jsonrpc":"2.0","id":6,"result":{}}"#.utf8) + [UInt8(ascii: "\n")])]
        }) { _, client in
            let replies = Replies()
            let error = await #expect(throws: ClientError.self) {
                try await client.pipeline(count: 100, inFlight: 10, write: Self.write) { replies.read($0, $1) }
            }
            guard case .unreadableReply = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(replies.order == Array(0..<5))
        }
    }
}
