import Ledger
import LedgerEngine
import LedgerWire
import NIOCore
import Testing

@testable import LineServer

/// The connection as a transcript: bytes and answers go in; operations, replies and the rest of its actions come out.
@Suite struct ConnectionStateTests {
    private struct Transcript {
        var state: ConnectionState
        var isWritable = true
        /// The operations that were handed on since the last time.
        private var submitted: [String] = []
        private var written: [UInt8] = []
        /// What it did besides, since the last time.
        private var did: [String] = []

        init(tokens: [Token] = [], limits: ServerLimits = ServerLimits()) {
            state = ConnectionState(
                tokens: TokenTable(tokens.isEmpty ? .everyoneOnThisMachine : .tokens(tokens)),
                info: {
                    ServerInfo(version: "1", environment: "Sandbox", bundleID: "b", engine: "e", currencies: [])
                },
                limits: limits, clock: { 0 }, seat: { _ in true })
        }

        /// Does all that it says.
        private mutating func turn() {
            while let action = state.next(isWritable: isWritable) {
                switch action {
                case .submit(let operations): submitted += operations.map(Transcript.name)
                case .write: written += state.takeReplies { $0 }
                case .flush: did.append("flush")
                case .read: did.append("read")
                case .linger: did.append("linger")
                case .close: did.append("close")
                }
            }
        }

        /// Gives the operations that were handed on.
        @discardableResult
        mutating func send(_ lines: String...) -> [String] { receive(lines.map { $0 + "\n" }.joined()) }

        @discardableResult
        mutating func receive(_ text: String) -> [String] {
            var bytes = ByteBuffer(string: text)
            state.received(&bytes)
            turn()
            return operations()
        }

        mutating func operations() -> [String] {
            defer { submitted = [] }
            return submitted
        }

        private static func name(_ operation: LedgerOperation) -> String {
            switch operation {
            case .signed: "signed"
            case .command(.keyed(.spend(let spend)), _): "spend \(spend.key)"
            case .command(.keyed(.grant(let grant)), _): "grant \(grant.key)"
            case .command(.balance(let account, _), _): "balance \(account)"
            case .command: "command"
            case .granting: "grant within a limit"
            case .query(.history(let query)): "history \(query.account)"
            case .query(.report): "report"
            case .query(.journal(let query)): "journal after \(query.after) for \(query.waitMilliseconds)"
            case .query(.purchase): "purchase"
            case .query(.find): "find"
            case .query(.head): "head"
            case .query(.balances(let query, let asOf)): "balance \(query.account) at \(asOf)"
            case .query(.blocks(let query)): "blocks after \(query.after)"
            case .promote: "promote"
            case .refused: "refused"
            }
        }

        /// Gives the replies that were written then.
        mutating func answers(_ answers: Answer...) -> [String] {
            state.answered(answers)
            turn()
            return replies()
        }

        mutating func shutDown() { change { $0.shutDown() } }
        mutating func inputClosed() { change { $0.inputClosed() } }
        mutating func change(_ body: (inout ConnectionState) -> Void) {
            body(&state)
            turn()
        }

        /// Gives whether the channel may read.
        mutating func asksToRead() -> Bool { state.asksToRead(isWritable: isWritable) }

        /// What it did besides writing and handing on.
        mutating func actions() -> [String] {
            defer { did = [] }
            return did
        }

        /// The ids of the replies written since the last time, a batch in brackets; an error as its reason.
        mutating func replies() -> [String] {
            let text = String(decoding: written, as: UTF8.self)
            written = []
            return text.split(separator: "\n").map { line in
                guard let json = try? JSON(String(line)) else { return "not JSON: \(line)" }
                func short(_ reply: JSON) -> String {
                    (reply["id"].isNull ? "null" : reply.id.map(String.init) ?? "?")
                        + (reply.reason.map { " \($0)" } ?? "")
                }
                return json.array.map { "[" + $0.map(short).joined(separator: ", ") + "]" } ?? short(json)
            }
        }
    }

    private static let done = Answer.success(.grant(GrantReceipt(entry: 1, replayed: false, balances: [])))
    private static let page = Answer.success(.history(HistoryPage(entries: [], next: nil)))

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

    @Test func aBatchIsAnsweredByOneLineInItsOrder() {
        var transcript = Transcript()
        transcript.send(
            "[\(Requests.ping(1)),\(Requests.grant("g", "a", 1, id: "2")),7,\(Requests.ping(3))]", Requests.ping(4))
        #expect(transcript.replies() == [], "a batch is answered by one line")
        #expect(transcript.answers(Self.done) == ["[1, 2, null invalid_request, 3]", "4"])
        #expect(transcript.state.inFlight == (0, 0))
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
        error = StoreError(.corrupt, "block 7 in segment file 1")
        error.isOfLog = true
        let words = "block 7 in segment file 1: sending this again does not help, the operator has to look"
        #expect(WireError(.store(error)).message == words)
        #expect(WireError(.store(StoreError(.corrupt, "a row"))) == .storageCorrupt)
        #expect(WireError(.otherStandby(StandbyName("a")!)).reason == "invalid_params")
    }

    @Test func aReadMayBeginOnlyWhileTheClientTakesItsReplies() {
        var limits = ServerLimits()
        limits.batchReplyBytesMax = 100
        var transcript = Transcript(limits: limits)
        #expect(transcript.state.readPermission(isWritable: true) == nil, "nobody reads")
        transcript.send(Requests.history("a", id: "1"), Requests.history("a", id: "2"))
        #expect(transcript.state.readPermission(isWritable: true) == .read)
        #expect(transcript.state.readPermission(isWritable: false) == .wait)
        #expect(transcript.answers(Self.page, Self.page) == ["1", "2"])
        #expect(transcript.state.readPermission(isWritable: true) == nil)

        // A batch's replies are held here until the last is there.
        let members = (1...5).map { Requests.history("a", id: "\($0)") }
        transcript.send("[\(members.joined(separator: ","))]")
        var pages = 0
        while transcript.state.readPermission(isWritable: true) == .read {
            #expect(transcript.answers(Self.page) == [])
            pages += 1
        }
        #expect(pages > 0 && pages < 5)
        #expect(transcript.state.readPermission(isWritable: false) == .refuse)
        for _ in pages..<4 { #expect(transcript.answers(.failure(.overloaded)) == []) }
        #expect(
            transcript.answers(.failure(.overloaded)) == [
                "[" + (1...5).map { $0 <= pages ? "\($0)" : "\($0) overloaded" }.joined(separator: ", ") + "]"
            ])
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
