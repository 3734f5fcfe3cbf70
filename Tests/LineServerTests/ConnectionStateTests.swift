import Ledger
import LedgerEngine
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import NIOCore
import Testing

@testable import LineServer

/// The connection as a transcript: bytes and answers go in; operations, replies and the rest of its actions come out.
@Suite struct ConnectionStateTests {
    static let done = Answer.success(.grant(GrantReceipt(entry: 1, replayed: false, balances: [])))
    static let page = Answer.success(.history(HistoryPage(entries: [], next: nil)))

    @Test func aReplyWaitsForThoseBeforeIt() {
        var transcript = Transcript()
        #expect(
            transcript.send(Requests.grant("g", "a", 1), Requests.ping(2), Requests.spend("s", "a", 1, id: "3")) == [
                "grant g", "spend s",
            ])
        #expect(transcript.replies() == [])
        #expect(transcript.answers(Self.done) == ["1", "2"])
        #expect(transcript.state.inFlight.requests == 1)
        #expect(transcript.answers(Self.done) == ["3"])
        #expect(transcript.state.inFlight == (0, 0))
    }

    @Test func aReadingOfManyShortLinesIsAcceptedInSeveralTurns() {
        var transcript = Transcript()
        transcript.state.turn.begin(lines: 2)
        let pings = (1...5).map { Requests.ping($0) } + ["[\(Requests.ping(6)),\(Requests.ping(7))]"]
        transcript.send(pings.joined(separator: "\n"))
        #expect(transcript.replies() == ["1", "2"] && transcript.state.turn.isNeeded)
        transcript.state.turn.begin(lines: 4)
        transcript.send()
        // The first of the batch is read.
        #expect(transcript.replies() == ["3", "4", "5"] && transcript.state.turn.isNeeded)
        transcript.state.turn.begin(lines: 2)
        transcript.send()
        // The second is read, and the first accepted; the line is answered whole.
        #expect(transcript.replies() == [] && transcript.state.turn.isNeeded)
        transcript.state.turn.begin(lines: 2)
        transcript.send()
        #expect(transcript.replies() == ["[6, 7]"] && !transcript.state.turn.isNeeded)
    }

    @Test func whoHasNotAuthenticatedHasOneLineATurn() {
        var transcript = Transcript(tokens: [.init(token: "t", role: .game)])
        transcript.state.beginTurn()
        transcript.send(Requests.ping(1), Requests.authenticate("t", id: 2), Requests.ping(3), Requests.ping(4))
        #expect(transcript.replies() == ["1"] && transcript.state.turn.isNeeded)
        transcript.change { $0.beginTurn() }
        #expect(transcript.replies() == ["2"] && transcript.state.turn.isNeeded)
        // From here on it is known.
        transcript.change { $0.beginTurn() }
        #expect(transcript.replies() == ["3", "4"] && !transcript.state.turn.isNeeded)
    }

    @Test func aBatchIsAnsweredByOneLineInItsOrder() {
        var transcript = Transcript()
        transcript.send(
            "[\(Requests.ping(1)),\(Requests.grant("g", "a", 1, id: "2")),7,\(Requests.ping(3))]", Requests.ping(4))
        #expect(transcript.replies() == [], "a batch is answered by one line")
        #expect(transcript.answers(Self.done) == ["[1, 2, null invalid_request, 3]", "4"])
        #expect(transcript.state.inFlight == (0, 0))
    }

    @Test func whyAConnectionEndsIsSaidBehindABatchThatHasBegun() {
        var limits = ServerLimits()
        limits.requestsInFlightMax = 1
        var transcript = Transcript(limits: limits)
        let batch = (1...3).map { Requests.grant("g\($0)", "a", 1, id: "\($0)") }
        #expect(transcript.send("[\(batch.joined(separator: ","))]", Requests.ping(4)) == ["grant g1"])
        transcript.change { $0.end(.overloaded) }
        #expect(transcript.replies() == [])
        for _ in 1...2 { #expect(transcript.answers(Self.done) == []) }
        #expect(transcript.answers(Self.done) == ["[1, 2, 3]", "null overloaded"])
        #expect(transcript.actions().last == "linger")
    }

    @Test func aRequestWithoutIDIsCarriedOutAndNotAnswered() {
        var transcript = Transcript()
        #expect(transcript.send(Requests.grant("g", "a", 1, id: nil), Requests.ping(1)) == ["grant g"])
        #expect(transcript.answers(Self.done) == ["1"])
        // Nor is what is wrong with it.
        #expect(transcript.send(Requests.call("nothing", id: nil), Requests.ping(2)) == [])
        #expect(transcript.replies() == ["2"])
    }

    @Test func aBatchWithoutIDsIsAnsweredByNothing() {
        var transcript = Transcript()
        #expect(
            transcript.send("[\(Requests.grant("g", "a", 1, id: nil)),\(Requests.call("ping", id: nil))]") == [
                "grant g"
            ])
        #expect(transcript.answers(Self.done) == [])
        #expect(transcript.state.inFlight == (0, 0))
    }

    @Test func whatCannotBeReadIsAnsweredWithIDNullInItsPlace() {
        var transcript = Transcript()
        transcript.send(Requests.ping(1), "{", "[]", Requests.ping(2))
        #expect(transcript.replies() == ["1", "null parse_error", "null invalid_request", "2"])
    }

    @Test func rolesHoldFromTheRequestThatChangesThem() {
        var transcript = Transcript(tokens: [
            .init(token: "game-token", role: .game), .init(token: "finance-token", role: .finance),
        ])
        let spend = { (key: String, id: Int) in Requests.spend(key, "a", 1, id: String(id)) }
        let operations = transcript.send(
            spend("s1", 1), Requests.authenticate("game-token", id: 2), spend("s2", 3),
            Requests.authenticate("wrong", id: 4), spend("s3", 5), Requests.report("trial", id: "6"))
        #expect(operations == ["spend s2", "spend s3"])
        #expect(
            transcript.answers(Self.done, Self.done) == [
                "1 unauthenticated", "2", "3", "4 unauthenticated", "5", "6 forbidden",
            ])
        transcript.send(Requests.authenticate("finance-token", id: 7), spend("s4", 8), Requests.call("info", id: 9))
        #expect(transcript.replies() == ["7", "8 forbidden", "9"])
    }

    @Test func infoNeedsARoleAndPingNeedsNone() {
        var transcript = Transcript(tokens: [.init(token: "t", role: .purchases)])
        transcript.send(Requests.call("info", id: 1), Requests.ping(2))
        #expect(transcript.replies() == ["1 unauthenticated", "2"])
    }

    @Test func readsKeepTheirPlaceInABatchAndOutsideOfIt() {
        var transcript = Transcript()
        #expect(
            transcript.send(
                "[\(Requests.history("a", id: "1")),\(Requests.balance("a", id: "2"))]", Requests.ping(3),
                Requests.journal(after: 7, wait: 9, id: "4")) == ["history a", "balance a", "journal after 7 for 9"])
        #expect(transcript.answers(Self.page) == [])
        #expect(transcript.answers(Self.done) == ["[1, 2]", "3"])
        #expect(transcript.answers(.failure(.store(StoreError("lost")))) == ["4 storage_unavailable"])
        #expect(transcript.state.inFlight == (0, 0))
    }

    /// Of the log that it cannot be written, or by its name what of it is damaged.
    @Test func whatIsWrongWithTheLogIsSaid() {
        var error = StoreError(.unavailable, "the file system is read-only")
        error.isOfLog = true
        #expect(WireError(.store(error)).message == "the ledger cannot be written to now; send this again later")
        error.isOfRead = true
        #expect(WireError(.store(error)).message == "the ledger cannot be read now; send this again later")
        error = StoreError(.corrupt, "block 7 in segment file 1")
        error.isOfLog = true
        let words = "block 7 in segment file 1: sending this again does not help, the operator has to look"
        #expect(WireError(.store(error)).message == words)
        #expect(WireError(.store(StoreError(.corrupt, "a row"))) == .storageCorrupt)
        #expect(WireError(.otherStandby(StandbyName("a")!)).reason == "invalid_params")
    }

    @Test func aReadOfABatchWaitsForNothingNew() {
        var transcript = Transcript()
        let wait = Requests.journal(after: 7, wait: 9, id: "1")
        #expect(transcript.send("[\(wait)]", wait) == ["journal after 7 for 0", "journal after 7 for 9"])
    }

    @Test func aReadMayBeginOnlyWhileTheClientTakesItsReplies() {
        var limits = ServerLimits()
        limits.batchReplyBytesMax = Limits.pageBytesMax + 1_500
        var transcript = Transcript(limits: limits)
        #expect(transcript.state.readPermission(isWritable: true) == nil, "nobody reads")
        transcript.send(Requests.history("a", id: "1"), Requests.history("a", id: "2"))
        #expect(transcript.state.readPermission(isWritable: true) == .read)
        #expect(transcript.state.readPermission(isWritable: false) == .wait)
        #expect(transcript.answers(Self.page, Self.page) == ["1", "2"])
        #expect(transcript.state.readPermission(isWritable: true) == nil)

        // A batch's replies are held here until the last is there, so no page is read that may have no place there.
        let members = (1...20).map { Requests.history("a", id: "\($0)") }
        #expect(transcript.send("[\(members.joined(separator: ","))]") == ["history a"])
        var pages = 0
        var replies: [String] = []
        while replies.isEmpty {
            // It waits for nobody's memory, while it holds its own.
            #expect(transcript.state.readPermission(isWritable: false) == .readNow)
            replies = transcript.answers(Self.page)
            pages += 1
        }
        #expect(transcript.state.readPermission(isWritable: true) == nil)
        #expect(pages > 1 && pages < 20)
        #expect(
            replies == ["[" + (1...20).map { $0 <= pages ? "\($0)" : "\($0) overloaded" }.joined(separator: ", ") + "]"]
        )
        #expect(transcript.memory.sums.taken <= limits.replyStepBytes)
    }

    static let receipt = Answer.success(
        .grant(
            GrantReceipt(
                entry: 1, replayed: false,
                balances: [CurrencyBalance(currency: CurrencyCode("gems")!, balance: Balance())])))

    static func batch(_ ids: ClosedRange<Int>) -> String {
        "[\(ids.map { Requests.grant("g\($0)", "a", 1, id: "\($0)") }.joined(separator: ","))]"
    }

    @Test func aThousandOfTheLargestSpendsHaveAPlaceInABatch() {
        let debits = (0..<16).map { number in
            CurrencyAmount(
                currency: CurrencyCode("\(number)" + String(repeating: "c", count: 98))!, amount: Amount(1)!)
        }
        let spend = Spend(key: RequestKey("k")!, account: AccountName("a")!, debits: debits)
        let bytes = Request.ledger(.keyed(.spend(spend))).replyBytesMax
        #expect(bytes * WireLimits.batchRequestsMax <= ServerLimits().batchReplyBytesMax)
    }

    @Test func aBatchIsHandedOnAsItsRepliesComeWhereTheLargestWouldHaveNoPlace() {
        var limits = ServerLimits()
        // Two of the largest, and all of those that come.
        limits.batchReplyBytesMax = 4_000
        var transcript = Transcript(limits: limits)
        #expect(transcript.send(Self.batch(1...12)).count == 3)
        var replies: [String] = []
        while replies.isEmpty { replies = transcript.answers(Self.receipt) }
        #expect(replies == ["[" + (1...12).map(String.init).joined(separator: ", ") + "]"])
        #expect(transcript.operations().count == 9)
    }

    @Test func aBatchHasItsPlaceWhileThoseBeforeItAreUnderWay() {
        var limits = ServerLimits()
        limits.batchReplyBytesMax = 4_000
        var transcript = Transcript(limits: limits)
        #expect(transcript.send(Self.batch(1...3), Self.batch(4...6), Self.batch(7...9)).count == 9)
        for _ in 1...2 { #expect(transcript.answers(Self.receipt) == []) }
        #expect(transcript.answers(Self.receipt, Self.receipt) == ["[1, 2, 3]"])
        #expect(transcript.send(Self.batch(10...16)).count == 3)
        var replies: [String] = []
        while replies.count < 3 { replies += transcript.answers(Self.receipt) }
        #expect(replies == ["[4, 5, 6]", "[7, 8, 9]", "[10, 11, 12, 13, 14, 15, 16]"])
    }

    @Test func whatOfABatchMayHaveNoPlaceIsRefusedAndNotHandedOn() {
        var limits = ServerLimits()
        limits.batchReplyBytesMax = 2_000
        var transcript = Transcript(limits: limits)
        var handed = transcript.send(Self.batch(1...20))
        var replies: [String] = []
        while replies.isEmpty {
            replies = transcript.answers(Self.receipt)
            handed += transcript.operations()
        }
        #expect(handed.count > 3 && handed.count < 20)
        #expect(handed == (1...handed.count).map { "grant g\($0)" }, "what is handed on comes first")
        let expected = (1...20).map { $0 <= handed.count ? "\($0)" : "\($0) overloaded" }
        #expect(replies == ["[" + expected.joined(separator: ", ") + "]"])
        #expect(transcript.state.inFlight == (0, 0))
    }

    /// Who goes on asking for what is refused so waits for longer (``LoopShares``).
    @Test func whatIsRefusedForWantOfRoomIsSentInVain() {
        var limits = ServerLimits()
        limits.batchReplyBytesMax = 2_000
        var transcript = Transcript(limits: limits)
        var handed = transcript.send(Self.batch(1...20)).count
        while transcript.answers(Self.receipt).isEmpty { handed += transcript.operations().count }
        let yield = transcript.state.turn.takeYield()
        #expect((1...19).contains(handed))
        #expect(yield.inVain == 20 - handed && yield.lines == 20 + handed, "requests, and answers of the ledger")
        transcript.send(Requests.balance("a"), Requests.balance("b"))
        _ = transcript.answers(.failure(.overloaded), .failure(.noRoom))
        let next = transcript.state.turn.takeYield()
        #expect(next.inVain == 1 && next.lines == 4, "who was late may not have asked for too much")
    }

    @Test func repliesBeforeABatchAreNotHeldWithIt() {
        var transcript = Transcript()
        transcript.send(Requests.grant("g1", "a", 1), "[\(Requests.ping(2)),\(Requests.grant("g3", "a", 1, id: "3"))]")
        #expect(transcript.answers(Self.done) == ["1"])
        #expect(transcript.answers(Self.done) == ["[2, 3]"])
    }

    @Test func aRequestWaitsForMemoryThatOthersHaveAndGoesOnWhenThereIsRoom() {
        var limits = ServerLimits()
        limits.replyBytesMax = 20_000
        limits.replyStepBytes = 1
        let memory = ReplyMemory(bytesMax: limits.replyBytesMax)
        var other = Transcript(limits: limits, memory: memory)
        var transcript = Transcript(limits: limits, memory: memory)
        // A client that does not read what it was answered.
        other.send((1...3).map { Requests.grant("o\($0)", "a", 1) }.joined(separator: "\n"))
        other.change { $0.told(unreadBytes: 16_500) }
        #expect(transcript.send(Requests.grant("g1", "a", 1)) == [])
        let mayRead = transcript.asksToRead()
        #expect(!mayRead && memory.isShort)
        transcript.change { _ in }
        #expect(transcript.operations() == [] && transcript.wakes.withLockedValue { $0 } == 0)
        other.change { $0.told(unreadBytes: 0) }
        #expect(transcript.wakes.withLockedValue { $0 } == 1)
        transcript.change { _ in }
        #expect(transcript.operations() == ["grant g1"] && transcript.actions() == ["read"])
        #expect(!memory.isShort)
        transcript.change { $0.closed() }
        other.change { $0.closed() }
        #expect(memory.sums == (0, 0))
    }

    @Test func aBatchThatHasBegunDoesNotWaitForMemoryThatOthersHave() throws {
        var limits = ServerLimits()
        limits.replyBytesMax = 200_000
        limits.replyStepBytes = 1
        let memory = ReplyMemory(bytesMax: limits.replyBytesMax)
        var transcript = Transcript(limits: limits, memory: memory)
        let handed = transcript.send(Self.batch(1...40))
        try #require(handed.count > 2 && handed.count < 40)
        // Meanwhile others take all that is left.
        let other = ReplyShare(of: memory, stepBytes: 1)
        other.settle(198_000, unread: 198_000)
        var replies: [String] = []
        while replies.isEmpty { replies = transcript.answers(Self.receipt) }
        #expect(transcript.operations() == [], "nothing more was handed on")
        let expected = (1...40).map { $0 <= handed.count ? "\($0)" : "\($0) overloaded" }
        #expect(replies == ["[" + expected.joined(separator: ", ") + "]"])
        #expect(!memory.isShort)
        other.end()
    }

    /// Connections that share little memory, whose ledger answers, and whose clients read, when they like.
    @Test func nothingIsLostAndAllMemoryComesBack() {
        let seed = Seed.drawn()
        for run in 0..<200 {
            var random = SplitMix64(seed: seed &+ UInt64(run))
            var limits = ServerLimits()
            limits.replyBytesMax = Int.random(in: 12_000...80_000, using: &random)
            limits.connectionReplyBytesMax = Int.random(in: 2_000...16_000, using: &random)
            limits.batchReplyBytesMax = Int.random(in: 1_200...8_000, using: &random)
            limits.replyStepBytes = [1, 100, 1_000].randomElement(using: &random)!
            limits.requestsInFlightMax = Int.random(in: 1...20, using: &random)
            let memory = ReplyMemory(bytesMax: limits.replyBytesMax)
            var clients = (0..<4).map { _ in Client(Transcript(limits: limits, memory: memory)) }
            for _ in 0..<300 {
                let index = Int.random(in: 0..<clients.count, using: &random)
                clients[index].act(&random)
            }
            // Now each goes on until it has all.
            var rounds = 0
            while !clients.allSatisfy(\.isDone) && rounds < 10_000 {
                for index in clients.indices { clients[index].finish() }
                rounds += 1
            }
            for (index, client) in clients.enumerated() {
                #expect(client.isDone, "run \(run): connection \(index) waits for ever")
                #expect(client.replied == client.expected, "run \(run)")
                #expect(client.transcript.state.inFlight == (0, 0))
            }
            #expect(!memory.isShort, "run \(run)")
            for index in clients.indices { clients[index].transcript.change { $0.closed() } }
            #expect(memory.sums == (0, 0), "run \(run)")
        }
    }

    private struct Client {
        var transcript: Transcript
        private var sent = 0
        /// The ids of each line sent, and of each line of replies, in order.
        private(set) var expected: [[Int]] = []
        private(set) var replied: [[Int]] = []
        /// Operations that the ledger has not answered.
        private var pending = 0
        private var unread = 0

        init(_ transcript: Transcript) { self.transcript = transcript }

        var isDone: Bool { replied.count == expected.count && pending == 0 && unread == 0 }

        mutating func act(_ random: inout SplitMix64) {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3: send(Int.random(in: 1...3, using: &random), isBatch: false)
            case 3: send(Int.random(in: 1...30, using: &random), isBatch: true)
            case 4..<7: answer(Int.random(in: 0...pending, using: &random))
            case 7: transcript.isWritable = random.chance(70)
            default: read(Int.random(in: 0...unread, using: &random))
            }
            take()
        }

        mutating func finish() {
            transcript.isWritable = true
            answer(pending)
            read(unread)
            take()
        }

        private mutating func send(_ count: Int, isBatch: Bool) {
            let ids = (0..<count).map { sent + $0 }
            sent += count
            let requests = ids.map { $0 % 5 == 0 ? Requests.ping($0) : Requests.grant("g\($0)", "a", 1, id: "\($0)") }
            if isBatch { expected.append(ids) } else { expected += ids.map { [$0] } }
            pending +=
                transcript.receive(
                    isBatch ? "[\(requests.joined(separator: ","))]\n" : requests.map { $0 + "\n" }.joined()
                ).count
        }

        private mutating func answer(_ count: Int) {
            if count == 0 { return }
            pending -= count
            transcript.change { $0.answered(Array(repeating: ConnectionStateTests.receipt, count: count)) }
        }

        private mutating func read(_ bytes: Int) {
            unread -= bytes
            let left = unread
            transcript.change { $0.told(unreadBytes: left) }
        }

        /// Takes what was handed on and written.
        private mutating func take() {
            pending += transcript.operations().count
            let (lines, bytes) = transcript.lines()
            unread += bytes
            for line in lines {
                guard let json = try? JSON(line) else { return _ = Issue.record("not JSON: \(line)") }
                replied.append((json.array ?? [json]).compactMap(\.id))
            }
        }
    }

    @Test func afterTheShutdownBeganOnlyNewRequestsAreRefused() {
        var transcript = Transcript()
        #expect(
            transcript.send(Requests.history("a", id: "1"), Requests.grant("g1", "a", 1, id: "2")) == [
                "history a", "grant g1",
            ])
        transcript.shutDown()
        #expect(transcript.actions() == [])
        #expect(transcript.send(Requests.grant("g2", "a", 1, id: "3"), Requests.ping(4)) == [])
        #expect(transcript.answers(Self.page, Self.done) == ["1", "2", "3 shutting_down", "4"])
        #expect(transcript.actions() == ["flush", "linger"])
    }

    @Test func theBoundsOnWhatIsInFlightAreReachedAndLeft() {
        var limits = ServerLimits()
        limits.requestsInFlightMax = 2
        limits.bytesInFlightMax = 10_000
        var transcript = Transcript(limits: limits)
        let requests = (1...3).map { Requests.grant("g\($0)", "a", 1, id: "\($0)") }.joined(separator: "\n")
        #expect(transcript.send(requests) == ["grant g1", "grant g2"])
        let mayRead = transcript.asksToRead()
        #expect(!mayRead)
        #expect(transcript.actions() == [])
        #expect(transcript.answers(Self.done) == ["1"])
        #expect(transcript.operations() == ["grant g3"], "the line that waited is accepted")
        #expect(transcript.actions() == ["flush"])
        #expect(transcript.answers(Self.done, Self.done) == ["2", "3"])
        #expect(transcript.actions() == ["flush", "read"])

        let long = Requests.call("credit", #"{"signedTransaction":"\#(String(repeating: "x", count: 10_000))"}"#)
        #expect(transcript.send(long, Requests.ping(2)) == ["signed"])
        #expect(transcript.state.inFlight.requests == 1 && transcript.state.inFlight.bytes > 10_000)
        #expect(transcript.answers(Self.done).count == 2)
        #expect(transcript.state.inFlight == (0, 0))
    }

    @Test func aClientThatTakesNoRepliesIsNotReadFrom() {
        var transcript = Transcript()
        transcript.isWritable = false
        #expect(transcript.send(Requests.grant("g1", "a", 1)) == [])
        let mayRead = transcript.asksToRead()
        #expect(!mayRead)
        #expect(transcript.actions() == [])
        transcript.isWritable = true
        transcript.change { _ in }
        #expect(transcript.operations() == ["grant g1"])
        #expect(transcript.actions() == ["read"])
    }

    @Test func repliesAreWrittenPieceByPieceWhileTheyAreTaken() {
        var limits = ServerLimits()
        limits.replyPieceBytesMax = 10
        var transcript = Transcript(limits: limits)
        transcript.send(Requests.grant("g1", "a", 1, id: "1"), Requests.grant("g2", "a", 1, id: "2"))
        transcript.isWritable = false
        #expect(transcript.answers(Self.done, Self.done) == [], "nobody takes them")
        transcript.inputClosed()
        #expect(transcript.actions() == [], "the client is owed two replies")

        guard case .write? = transcript.state.next(isWritable: true) else {
            Issue.record("nothing is written")
            return
        }
        let first = transcript.state.takeReplies { String(decoding: $0, as: UTF8.self) }
        #expect(first == #"{"jsonrpc""#)
        transcript.change { _ in }
        #expect(transcript.actions() == ["flush"] && transcript.lines().bytes == 0, "no more is taken yet")
        transcript.isWritable = true
        transcript.change { _ in }
        let (rest, _) = transcript.lines()
        let replies = [first + (rest.first ?? "")] + rest.dropFirst()
        #expect(replies.count == 2 && replies.map { try? JSON($0).id } == [1, 2])
        // In TLS the channel learns only by a flush that it takes no more.
        let pieces = (replies.reduce(0) { $0 + $1.utf8.count + 1 } - 10 + 9) / 10
        #expect(transcript.actions() == Array(repeating: "flush", count: pieces) + ["close"])
    }

    @Test func whoSendsNothingMoreIsAnsweredAndThenClosed() {
        var transcript = Transcript()
        transcript.send(Requests.grant("g1", "a", 1, id: "1"))
        // A line without its end is no line.
        transcript.receive(Requests.ping(2))
        transcript.inputClosed()
        #expect(transcript.actions() == [])
        #expect(transcript.answers(Self.done) == ["1"])
        #expect(transcript.actions() == ["flush", "close"])
        #expect(transcript.send(Requests.ping(3)) == [])
        #expect(transcript.replies() == [] && transcript.actions() == [])
    }

    @Test(arguments: [String(repeating: "x", count: 1 << 21), "POST / HTTP/1.1\r\n"])
    func behindWhatIsNoLineOfTheProtocolNothingIsCarriedOut(_ text: String) {
        var transcript = Transcript()
        transcript.send(Requests.grant("g1", "a", 1, id: "1"))
        #expect(transcript.receive(text + "\n" + Requests.grant("g2", "a", 1) + "\n") == [])
        let replies = transcript.answers(Self.done)
        #expect(replies.count == 2 && replies[0] == "1" && replies[1].hasPrefix("null "))
        #expect(transcript.actions() == ["flush", "linger"])
        // What still comes is read and dropped.
        #expect(transcript.send(Requests.grant("g3", "a", 1)) == [])
        let mayRead = transcript.asksToRead()
        #expect(mayRead)
        transcript.inputClosed()
        #expect(transcript.actions() == ["close"] && transcript.replies() == [])
    }
}
