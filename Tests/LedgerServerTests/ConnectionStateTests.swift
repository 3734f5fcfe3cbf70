import Ledger
import LedgerWire
import Testing

@testable import LedgerServer

/// The connection's state as a transcript: lines and results go in, operations, reads and replies come out.
@Suite struct ConnectionStateTests {
    private struct Transcript {
        var state: ConnectionState
        var writer = ReplyWriter()

        init(tokens: [ServerConfiguration.Token] = [], limits: ServerLimits = ServerLimits()) {
            state = ConnectionState(
                tokens: TokenTable(tokens),
                info: ServerInfo(version: "1", environment: "Sandbox", bundleID: "b", engine: "e", currencies: []),
                limits: limits)
        }

        /// Gives the operations that may take effect.
        @discardableResult
        mutating func send(_ lines: String...) -> [String] {
            for line in lines {
                var text = line
                let parsed = text.withUTF8 { LineParser.parse($0) }
                state.accept(parsed, bytes: line.utf8.count + 1)
            }
            state.settle(into: &writer)
            return operations()
        }

        mutating func operations() -> [String] {
            state.takeOperations().map { operation in
                switch operation {
                case .signed: "signed"
                case .command(.keyed(.operation(.spend(let spend))), _): "spend \(spend.key)"
                case .command(.keyed(.operation(.grant(let grant))), _): "grant \(grant.key)"
                case .command(.balance(let account, _), _): "balance \(account)"
                case .command: "command"
                case .prepare(.history(let query)): "history \(query.account)"
                case .prepare(.report): "report"
                case .prepare(.journal(let query)): "journal after \(query.after) for \(query.waitMilliseconds)"
                case .prepare(.find): "find"
                case .prepare(.balances(let query, let asOf)): "balance \(query.account) at \(asOf)"
                case .refused: "refused"
                }
            }
        }

        mutating func results(_ results: OperationResult...) -> [String] {
            state.settle(results, into: &writer)
            return replies()
        }

        /// The ids of the replies written since the last time, a batch in brackets; an error as its reason.
        mutating func replies() -> [String] {
            guard !state.isInBatch else { return ["(a batch has begun)"] }
            let text = String(decoding: writer.bytes, as: UTF8.self)
            writer.removeAll()
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

    private static let done = OperationResult.outcome(
        .grant(GrantReceipt(entry: 1, replayed: false, balances: [])))
    private static let a = AccountName("a")!

    @Test func aReplyWaitsForThoseBeforeIt() {
        var transcript = Transcript()
        #expect(
            transcript.send(Requests.grant("g", "a", 1), Requests.ping(2), Requests.spend("s", "a", 1, id: "3")) == [
                "grant g", "spend s",
            ])
        #expect(transcript.replies() == [])
        #expect(transcript.results(Self.done) == ["1", "2"])
        #expect(!transcript.state.isIdle)
        #expect(transcript.results(Self.done) == ["3"])
        #expect(transcript.state.isIdle)
        #expect(transcript.state.requestsInFlight == 0 && transcript.state.bytesInFlight == 0)
    }

    @Test func aBatchIsAnsweredByOneLineInItsOrder() {
        var transcript = Transcript()
        transcript.send(
            "[\(Requests.ping(1)),\(Requests.grant("g", "a", 1, id: "2")),7,\(Requests.ping(3))]", Requests.ping(4))
        #expect(transcript.replies() == ["(a batch has begun)"])
        #expect(transcript.results(Self.done) == ["[1, 2, null invalid_request, 3]", "4"])
        #expect(transcript.state.requestsInFlight == 0 && transcript.state.bytesInFlight == 0)
    }

    @Test func aRequestWithoutIDIsCarriedOutAndNotAnswered() {
        var transcript = Transcript()
        #expect(transcript.send(Requests.grant("g", "a", 1, id: nil), Requests.ping(1)) == ["grant g"])
        #expect(transcript.results(Self.done) == ["1"])
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
        #expect(transcript.results(Self.done) == [])
        #expect(transcript.state.isIdle && transcript.state.bytesInFlight == 0)
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
            transcript.results(Self.done, Self.done) == [
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

    @Test func aReadWaitsForWhatIsBeforeItAndHoldsWhatIsBehindIt() {
        var transcript = Transcript()
        #expect(
            transcript.send(
                Requests.grant("g1", "a", 1, id: "1"), Requests.history("a", id: "2"), Requests.ping(3),
                Requests.grant("g2", "a", 1, id: "4"), Requests.report("trial", id: "5"),
                Requests.grant("g3", "a", 1, id: "6")) == ["grant g1", "history a"])
        #expect(transcript.state.takeRead() == nil)
        #expect(transcript.results(Self.done) == ["1"])
        #expect(transcript.state.takeRead() == nil)
        #expect(transcript.results(.prepared(.history(HistoryQuery(account: Self.a)))) == [])
        #expect(transcript.state.takeRead() == .history(HistoryQuery(account: Self.a)))
        #expect(transcript.state.takeRead() == nil, "a read is handed out once")
        #expect(transcript.operations() == [])

        transcript.state.finishRead(.outcome(.history(HistoryPage(entries: [], next: nil))), into: &transcript.writer)
        #expect(transcript.replies() == ["2", "3"])
        #expect(transcript.operations() == ["grant g2", "report"])
        // A read that is refused while it is prepared holds nothing up.
        #expect(transcript.results(Self.done, .error(.storageUnavailable)) == ["4", "5 storage_unavailable"])
        #expect(transcript.operations() == ["grant g3"])
        #expect(transcript.results(Self.done) == ["6"])
        #expect(transcript.state.isIdle && transcript.state.requestsInFlight == 0)
    }

    @Test func aReadWithinABatchKeepsItsPlace() {
        var transcript = Transcript()
        transcript.send("[\(Requests.history("a", id: "1")),\(Requests.balance("a", id: "2"))]", Requests.ping(3))
        _ = transcript.results(.prepared(.history(HistoryQuery(account: Self.a))))
        #expect(transcript.state.takeRead() != nil)
        transcript.state.finishRead(.outcome(.history(HistoryPage(entries: [], next: nil))), into: &transcript.writer)
        #expect(transcript.operations() == ["balance a"])
        #expect(transcript.results(Self.done) == ["[1, 2]", "3"])
        #expect(transcript.state.requestsInFlight == 0 && transcript.state.bytesInFlight == 0)
    }

    @Test func theJournalIsABarrierAsEveryReadIs() {
        var transcript = Transcript()
        #expect(
            transcript.send(
                Requests.grant("g1", "a", 1, id: "1"), Requests.journal(after: 7, wait: 9, id: "2"),
                Requests.grant("g2", "a", 1, id: "3")) == ["grant g1", "journal after 7 for 9"])
        let read = Query.journal(JournalQuery(after: 7, waitMilliseconds: 9))
        #expect(transcript.results(Self.done, .prepared(read)) == ["1"])
        #expect(transcript.state.takeRead() == read)
        #expect(transcript.operations() == [])
        transcript.state.finishRead(.outcome(.journal(JournalPage(entries: [], next: 7))), into: &transcript.writer)
        #expect(transcript.replies() == ["2"])
        #expect(transcript.operations() == ["grant g2"])
    }

    @Test func afterTheShutdownBeganOnlyNewRequestsAreRefused() {
        var transcript = Transcript()
        #expect(transcript.send(Requests.history("a", id: "1"), Requests.grant("g1", "a", 1, id: "2")) == ["history a"])
        transcript.state.drain()
        #expect(transcript.send(Requests.grant("g2", "a", 1, id: "3"), Requests.ping(4)) == [])
        _ = transcript.results(.prepared(.history(HistoryQuery(account: Self.a))))
        #expect(transcript.state.takeRead() != nil)
        transcript.state.finishRead(.outcome(.history(HistoryPage(entries: [], next: nil))), into: &transcript.writer)
        #expect(transcript.operations() == ["grant g1"])
        #expect(transcript.results(Self.done) == ["1", "2", "3 shutting_down", "4"])
    }

    @Test func theBoundsOnWhatIsInFlightAreReachedAndLeft() {
        var limits = ServerLimits()
        limits.requestsInFlightMax = 2
        limits.bytesInFlightMax = 10_000
        var transcript = Transcript(limits: limits)
        transcript.send(Requests.grant("g1", "a", 1))
        #expect(!transcript.state.isFull)
        transcript.send(Requests.grant("g2", "a", 1))
        #expect(transcript.state.isFull)
        _ = transcript.results(Self.done)
        #expect(!transcript.state.isFull)

        transcript.send(Requests.call("credit", #"{"signedTransaction":"\#(String(repeating: "x", count: 10_000))"}"#))
        #expect(transcript.state.isFull && transcript.state.requestsInFlight == 2)
        _ = transcript.results(Self.done, Self.done)
        #expect(!transcript.state.isFull && transcript.state.bytesInFlight == 0)
    }
}
