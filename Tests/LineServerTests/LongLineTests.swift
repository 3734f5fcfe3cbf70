import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import Testing

@testable import LineServer

/// What lines that have not ended may take of the memory, and that nobody waits for ever.
@Suite struct LongLineTests {
    /// A client that sends bytes as the server reads them.
    private struct Sender {
        var transcript: Transcript
        private var rest: ArraySlice<[UInt8]> = []
        /// Bytes of the first of these that were sent.
        private var sent = 0
        private var isRead: Bool
        private var seenWakes = 0

        init(_ transcript: Transcript) {
            self.transcript = transcript
            isRead = self.transcript.asksToRead()
        }

        var hasSentAll: Bool { rest.isEmpty }

        mutating func add(_ text: String) { rest.append(Array(text.utf8)) }

        /// Sends pieces of at most so many bytes, while they are read.
        /// - Returns: whether anything was read.
        @discardableResult
        mutating func send(pieces: Int, atMost: Int = .max) -> Bool {
            var left = atMost
            heed()
            while left > 0, isRead, let text = rest.first {
                let piece = text[sent..<min(sent + pieces, text.count)]
                transcript.receiveOnly(String(decoding: piece, as: UTF8.self))
                sent += piece.count
                if sent == text.count {
                    rest.removeFirst()
                    sent = 0
                }
                isRead = transcript.asksToRead()
                left -= 1
                heed()
            }
            return left < atMost
        }

        /// Nothing is looked at again before somebody says that there may be room, or something came.
        private mutating func heed() {
            let wakes = transcript.wakes.withLockedValue { $0 }
            if wakes > seenWakes {
                seenWakes = wakes
                transcript.change { _ in }
            }
            if transcript.actions().contains("read") { isRead = true }
        }
    }

    private static func padded(_ request: String, to count: Int) -> String {
        request + String(repeating: " ", count: max(0, count - request.utf8.count)) + "\n"
    }

    private static let piece = 64 << 10

    // MARK: Who is not known

    private static let tokens: [Token] = [.init(token: "game-token", role: .game)]

    @Test func whoIsNotKnownSendsNoLongLine() {
        var limits = ServerLimits()
        limits.strangerLineBytesMax = 200
        for text in [String(repeating: "[", count: 202), Self.padded(Requests.ping(1), to: 201)] {
            var transcript = Transcript(tokens: Self.tokens, limits: limits)
            transcript.send(Requests.ping(7))
            transcript.receive(text)
            #expect(transcript.replies() == ["7", "null line_too_long"])
            #expect(transcript.actions().suffix(2) == ["flush", "linger"])
        }
        var transcript = Transcript(tokens: Self.tokens, limits: limits)
        transcript.receive(Self.padded(Requests.ping(1), to: 200))
        #expect(transcript.replies() == ["1"])
        // Where no tokens are needed everybody is known.
        transcript = Transcript(limits: limits)
        transcript.receive(Self.padded(Requests.ping(1), to: 5_000))
        #expect(transcript.replies() == ["1"])
    }

    @Test func whoIsKnownSendsALongLineInTheSameWrite() {
        let members = (1...500).map { Requests.grant("g\($0)", "a", 1, id: "\($0)") }
        let text = Requests.authenticate("game-token", id: 0) + "\n[\(members.joined(separator: ","))]\n"
        #expect(text.utf8.count > 5 * ServerLimits().strangerLineBytesMax)
        for size in [text.utf8.count, Self.piece, 1_000] {
            var sender = Sender(Transcript(tokens: Self.tokens))
            sender.add(text)
            sender.send(pieces: size)
            #expect(sender.hasSentAll)
            #expect(sender.transcript.replies() == ["0"] && sender.transcript.operations().count == 500)
        }
    }

    @Test func theLongestTokenFitsHoweverItIsWritten() {
        let token = String(repeating: "t", count: WireLimits.tokenBytesMax)
        let escaped = String(repeating: #"\u0074"#, count: WireLimits.tokenBytesMax)
        var transcript = Transcript(tokens: [.init(token: token, role: .game)])
        #expect(transcript.send(Requests.authenticate(escaped), Requests.balance("a")) == ["balance a"])
        #expect(transcript.replies() == ["1"])
    }

    // MARK: Memory

    @Test func unfinishedLinesTakeNoMoreMemoryThanThereIsAndAllAreAnsweredWhenTheyEnd() {
        var limits = ServerLimits()
        limits.replyBytesMax = 32 << 20
        let memory = ReplyMemory(bytesMax: limits.replyBytesMax)
        var senders = (0..<100).map { _ in Sender(Transcript(limits: limits, memory: memory)) }
        let line = Self.padded(Requests.ping(1), to: WireLimits.lineBytesMax)
        for index in senders.indices {
            senders[index].add(String(line.dropLast()))
            senders[index].send(pieces: Self.piece)
        }
        let held = senders.reduce(0) { $0 + $1.transcript.state.inputBytes }
        #expect(held <= limits.replyBytesMax + senders.count * (limits.freeInputBytesMax + Self.piece))
        #expect(memory.sums.taken <= limits.replyBytesMax && memory.isShort)
        let holders = senders.filter { $0.transcript.state.longLine != nil }.count
        #expect(holders > 5 && holders < 20)
        // Others have room still.
        var other = Transcript(limits: limits, memory: memory)
        #expect(other.send(Requests.grant("g", "a", 1)) == ["grant g"])
        other.change { $0.closed() }
        // Each that ends lets the next go on, until all are answered.
        for index in senders.indices { senders[index].add("\n") }
        var isMoving = true
        while isMoving {
            isMoving = false
            for index in senders.indices where senders[index].send(pieces: Self.piece) { isMoving = true }
        }
        for index in senders.indices {
            #expect(senders[index].hasSentAll && senders[index].transcript.replies() == ["1"])
            senders[index].transcript.change { $0.told(unreadBytes: 0) }
        }
        #expect(!memory.isShort && memory.sums.taken == 0)
    }

    @Test func whatALongLineTookIsGivenBackWhenItIsRefusedOrItsClientEnds() {
        var limits = ServerLimits()
        limits.replyStepBytes = 1
        let half = String(repeating: "[", count: 40_000)
        let ends: [(inout Transcript) -> Void] = [
            { $0.change { $0.closed() } },
            // It still waits for an answer.
            { $0.inputClosed() },
            { $0.change { $0.end(.notAuthenticatedInTime) } },
            { transcript in transcript.receive(String(repeating: "[", count: WireLimits.lineBytesMax)) },
        ]
        for (number, end) in ends.enumerated() {
            let memory = ReplyMemory(bytesMax: limits.replyBytesMax)
            var transcript = Transcript(limits: limits, memory: memory)
            transcript.send(Requests.grant("g", "a", 1))
            let before = memory.sums.taken
            transcript.receive(half)
            let mayRead = transcript.asksToRead()
            #expect(mayRead && memory.sums.taken == before + limits.longLineBytesMax)
            #expect(transcript.state.longLine != nil)
            end(&transcript)
            #expect(transcript.state.longLine == nil && transcript.state.inputBytes == 0, "end \(number)")
            #expect(memory.sums.taken <= before + 2_048, "end \(number)")
        }
    }

    /// A memory, somebody who has all of it, and a client that has to wait for some.
    private static func crowded() -> (memory: ReplyMemory, other: ReplyShare, transcript: Transcript) {
        var limits = ServerLimits()
        limits.replyBytesMax = 1 << 20
        let memory = ReplyMemory(bytesMax: limits.replyBytesMax)
        let other = ReplyShare(of: memory, stepBytes: 1)
        other.settle(limits.replyBytesMax, unread: 0)
        return (memory, other, Transcript(limits: limits, memory: memory))
    }

    @Test func whoWaitsWithHalfALineAndGoesAwayIsNoLongerWaitedFor() {
        let (memory, other, crowded) = Self.crowded()
        var transcript = crowded
        defer { other.end() }
        transcript.receive(String(repeating: "[", count: 40_000))
        let mayRead = transcript.asksToRead()
        #expect(!mayRead && memory.isShort && transcript.state.longLine == nil)
        transcript.inputClosed()
        #expect(!memory.isShort)
    }

    @Test func aLineThatWaitsForMemoryIsKeptAsItCame() {
        let (_, other, crowded) = Self.crowded()
        var transcript = crowded
        let batch = "[\((1...50).map { Requests.grant("g\($0)", "a", 1) }.joined(separator: ","))]\n"
        #expect(transcript.receive(batch) == [])
        #expect(transcript.state.inputBytes == batch.utf8.count)
        other.end()
        transcript.change { _ in }
        #expect(transcript.operations().count == 50 && transcript.state.inputBytes == 0)
        // The values of its requests count beside its text.
        #expect(transcript.state.inFlight.bytes > batch.utf8.count + 50 * 100)
    }

    /// Who has memory for a line must not wait for more: others with as much may wait for the same.
    @Test func aLongLineWhoseValuesHaveNoRoomIsOverloaded() {
        var limits = ServerLimits()
        limits.replyBytesMax = 8 << 20
        limits.longLineBytesMax = 64 << 10
        let memory = ReplyMemory(bytesMax: limits.replyBytesMax)
        let ids = (1...1_000).map(String.init)
        let batch = "[\(ids.map { Requests.call("ping", id: $0) }.joined(separator: ","))]\n"
        func answer(others bytes: Int) -> [String] {
            var sender = Sender(Transcript(limits: limits, memory: memory))
            sender.add(batch)
            let other = ReplyShare(of: memory, stepBytes: 1)
            other.settle(bytes, unread: 0)
            sender.send(pieces: 20_000)
            #expect(sender.hasSentAll)
            other.end()
            let replies = sender.transcript.replies()
            sender.transcript.change { $0.closed() }
            return replies
        }
        #expect(answer(others: 0) == ["[" + ids.joined(separator: ", ") + "]"])
        #expect(answer(others: 15 << 19) == ["[" + ids.map { "\($0) overloaded" }.joined(separator: ", ") + "]"])
        #expect(!memory.isShort && memory.sums == (0, 0))
    }

    @Test func requestsThatWantNoAnswerMakePlaceForThoseBehindThem() {
        var limits = ServerLimits()
        limits.requestsInFlightMax = 3
        var transcript = Transcript(limits: limits)
        let pings = String(repeating: Requests.call("ping", id: nil) + "\n", count: 20)
        transcript.receive(pings + Requests.ping(1) + "\n")
        #expect(transcript.replies() == ["1"])
    }

    /// Connections that send lines of any length in pieces of any length, and share little memory.
    @Test func nobodyWaitsForEverWhereAllLinesEnd() {
        let seed = Seed.drawn()
        for run in 0..<150 {
            var random = SplitMix64(seed: seed &+ UInt64(run))
            var limits = ServerLimits()
            limits.replyBytesMax = Int.random(in: 30_000...200_000, using: &random)
            limits.connectionReplyBytesMax = Int.random(in: 3_000...30_000, using: &random)
            limits.batchReplyBytesMax = Int.random(in: 1_200...8_000, using: &random)
            limits.replyStepBytes = [1, 100, 1_000].randomElement(using: &random)!
            limits.requestsInFlightMax = Int.random(in: 1...20, using: &random)
            limits.bytesInFlightMax = Int.random(in: 1_000...20_000, using: &random)
            limits.freeInputBytesMax = Int.random(in: 50...2_000, using: &random)
            limits.longLineBytesMax = Int.random(in: 500...30_000, using: &random)
            let memory = ReplyMemory(bytesMax: limits.replyBytesMax)
            var clients = (0..<8).map { _ in Client(Transcript(limits: limits, memory: memory), &random) }
            for _ in 0..<200 {
                let index = Int.random(in: 0..<clients.count, using: &random)
                clients[index].act(&random)
            }
            var rounds = 0
            while !clients.allSatisfy(\.isDone) && rounds < 20_000 {
                for index in clients.indices { clients[index].finish() }
                rounds += 1
            }
            for (index, client) in clients.enumerated() {
                #expect(client.isDone, "run \(run): connection \(index) waits for ever")
                let state = client.sender.transcript.state
                #expect(state.inFlight == (0, 0) && state.longLine == nil && state.inputBytes == 0, "run \(run)")
            }
            #expect(!memory.isShort, "run \(run)")
            for index in clients.indices { clients[index].sender.transcript.change { $0.closed() } }
            #expect(memory.sums == (0, 0), "run \(run)")
        }
    }

    /// A client whose requests the ledger answers, and which reads, when they like.
    private struct Client {
        var sender: Sender
        private var expectedLines = 0
        private var lines = 0
        private var pending = 0
        private var unread = 0

        init(_ transcript: Transcript, _ random: inout SplitMix64) {
            sender = Sender(transcript)
            for line in 0..<10 {
                let count = random.chance(30) ? Int.random(in: 1...20, using: &random) : 1
                let requests = (0..<count).map {
                    $0 % 5 == 4 ? Requests.ping($0) : Requests.grant("k\(line).\($0)", "a", 1, id: "\($0)")
                }
                let text = count > 1 ? "[\(requests.joined(separator: ","))]" : requests[0]
                let length = random.chance(50) ? 0 : Int.random(in: 0...20_000, using: &random)
                sender.add(LongLineTests.padded(text, to: length))
                expectedLines += 1
            }
        }

        var isDone: Bool { sender.hasSentAll && lines == expectedLines && pending == 0 && unread == 0 }

        mutating func act(_ random: inout SplitMix64) {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                sender.send(
                    pieces: Int.random(in: 1...5_000, using: &random), atMost: Int.random(in: 1...8, using: &random))
            case 5..<8: answer(Int.random(in: 0...pending, using: &random))
            case 8:
                sender.transcript.isWritable = random.chance(70)
                sender.transcript.change { _ in }
            default: read(Int.random(in: 0...unread, using: &random))
            }
            take()
        }

        mutating func finish() {
            if !sender.transcript.isWritable {
                sender.transcript.isWritable = true
                sender.transcript.change { _ in }
            }
            sender.send(pieces: 3_000)
            answer(pending)
            take()
            read(unread)
            take()
        }

        private mutating func answer(_ count: Int) {
            if count == 0 { return }
            pending -= count
            sender.transcript.change {
                $0.answered(Array(repeating: ConnectionStateTests.receipt, count: count))
            }
        }

        private mutating func read(_ bytes: Int) {
            if bytes == 0 { return }
            unread -= bytes
            let left = unread
            sender.transcript.change { $0.told(unreadBytes: left) }
        }

        private mutating func take() {
            pending += sender.transcript.operations().count
            let (new, bytes) = sender.transcript.lines()
            unread += bytes
            lines += new.count
        }
    }
}
