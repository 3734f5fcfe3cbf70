import AppStore
import Dispatch
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import LedgerEngine

/// The sequencer over a store that waits and fails when told to, without sockets.
@Suite(.serialized) struct SequencerTests {
    private final class Bench: Sendable {
        private struct Notes {
            var delivered: [[String]] = []
            /// The lanes to which something was delivered, in that order.
            var lanes: [Int] = []
            var events: [LedgerEvent] = []
        }

        let store = FaultyStore()
        let app: SandboxApp
        let verifier: Verifier
        let sequencer: Sequencer
        let verifiers: WorkerPool
        private let feed: Feed
        let outlet = Outlet.queue()
        private let notes: Monitor<Notes>

        /// - Parameter anchors: are trusted beside the app's own.
        init(limits: EngineLimits = EngineLimits(), anchors: [Certificate] = []) throws {
            app = try SandboxApp()
            verifiers = try Sequencer.verifiers(limits)
            feed = try Feed()
            let notes = Monitor(Notes())
            self.notes = notes
            verifier = Verifier(app: app.app, anchors: [app.root] + anchors)
            sequencer = try Sequencer(
                store: store, verifier: verifier,
                feed: feed, verifiers: verifiers, limits: limits,
                now: { SequencerTests.now }, report: { event in notes.withLock { $0.events.append(event) } })
        }

        /// A lane that notes its results under its number.
        func lane() -> (Int, Lane) {
            let number = notes.withLock { notes in
                notes.delivered.append([])
                return notes.delivered.count - 1
            }
            let lane = Lane(outlet: outlet) { [notes] answers in
                notes.withLock {
                    $0.delivered[number] += answers.map(Bench.name)
                    $0.lanes.append(number)
                }
            }
            return (number, lane)
        }

        /// What was delivered, and which reads were prepared.
        func results(_ number: Int) -> [String] { notes.withLock { $0.delivered[number] } }
        var deliveryCount: Int { deliveredLanes.count }
        var deliveredLanes: [Int] { notes.withLock { $0.lanes } }
        var events: [LedgerEvent] { notes.withLock { $0.events } }

        /// What becomes of a read, under its lane's number.
        func read(_ query: Query, from lane: (Int, Lane)) {
            sequencer.submit([.query(query)], from: lane.1) { [notes, outlet] read in
                let name: String
                switch read {
                case nil: return
                case .report(let request): name = "report at \(request.asOf ?? -1)"
                case .some: name = "prepared"
                }
                outlet.execute { notes.withLock { $0.delivered[lane.0].append(name) } }
            }
        }

        private static func name(_ answer: Answer) -> String {
            switch answer {
            case .success(.grant(let receipt)): "entry \(receipt.entry)"
            case .success(.purchase(let receipt)): "\(receipt.outcome.rawValue) \(receipt.transaction)"
            case .success(.refused(let refusal)): "refused \(refusal.reason)"
            case .success: "outcome"
            case .failure(.verification(let failure)): "\(failure.reason)"
            case .failure(.store(let error)): "\(error.kind)"
            case .failure(.futureTime): "future"
            case .failure(let fault): "\(fault)"
            }
        }

        func stop() {
            store.release()
            sequencer.stop()
            feed.stop()
            verifiers.stop()
        }
    }

    private static let now: Timestamp = SandboxApp.date + 60_000

    private static func grant(_ key: String, _ account: String = "a") -> LedgerOperation {
        .command(
            .grant(
                Grant(
                    key: RequestKey(key)!, account: AccountName(account)!, currency: CurrencyCode("gems")!,
                    amount: Amount(1)!)))
    }

    private static func credit(_ bench: Bench, _ id: Int64, _ account: String = "a") throws -> LedgerOperation {
        .signed(.transaction(Array(try bench.app.transaction(id).utf8)), account: AccountName(account)!)
    }

    @Test func whatArrivesDuringACommitFormsTheNextBatch() throws {
        let bench = try Bench()
        let (_, lane) = bench.lane()
        bench.store.hold()
        bench.sequencer.submit([Self.grant("first")], from: lane)
        #expect(try eventually { bench.store.waiting == 1 })
        for number in 0..<20 { bench.sequencer.submit([Self.grant("k\(number)")], from: lane) }
        #expect(bench.store.commits == 1)
        bench.store.release()
        #expect(try eventually { bench.results(0).count == 21 })
        #expect(bench.store.commits == 2)
        #expect(bench.results(0) == (1...21).map { "entry \($0)" })
        #expect(bench.deliveryCount == 2)
        bench.stop()
    }

    @Test func aCommitHoldsNoMoreThanItsLimitAndALongTurnIsCut() throws {
        var limits = EngineLimits()
        limits.operationsPerSubmissionMax = 10
        limits.operationsPerCommitMax = 25
        let bench = try Bench(limits: limits)
        let (_, lane) = bench.lane()
        bench.sequencer.submit((0..<60).map { Self.grant("k\($0)") }, from: lane)
        #expect(try eventually { bench.results(0).count == 60 })
        #expect(bench.results(0) == (1...60).map { "entry \($0)" })
        // Six submissions of ten, two of them in a commit.
        #expect(bench.store.commits == 3)
        bench.stop()
    }

    @Test func aCommitTakesHalfOfWhatWaitsWhereThatIsMuch() throws {
        var limits = EngineLimits()
        limits.operationsPerSubmissionMax = 1
        limits.operationsPerCommitMin = 4
        let bench = try Bench(limits: limits)
        let (_, lane) = bench.lane()
        bench.store.hold()
        bench.sequencer.submit([Self.grant("first")], from: lane)
        #expect(try eventually { bench.store.waiting == 1 })
        bench.sequencer.submit((0..<32).map { Self.grant("k\($0)") }, from: lane)
        bench.store.release()
        #expect(try eventually { bench.results(0).count == 33 })
        // One, then 16, 8 and 4 of 32, and the last four.
        #expect(bench.store.commits == 5)
        #expect(bench.results(0) == (1...33).map { "entry \($0)" })
        bench.stop()
    }

    /// Each grant makes one transfer.
    @Test func aBatchThatMakesManyTransfersIsCutWhereverThatIs() throws {
        var limits = EngineLimits()
        limits.transfersPerCommitMax = 3
        let bench = try Bench(limits: limits)
        let ((first, lane), (second, other)) = (bench.lane(), bench.lane())
        bench.store.hold()
        bench.sequencer.submit([Self.grant("first")], from: lane)
        #expect(try eventually { bench.store.waiting == 1 })
        bench.sequencer.submit((0..<8).map { Self.grant("a\($0)") }, from: lane)
        bench.read(.journal(JournalQuery(after: 0)), from: (first, lane))
        bench.sequencer.submit((0..<4).map { Self.grant("b\($0)") }, from: other)
        bench.store.release()
        #expect(try eventually { bench.results(first).count == 10 && bench.results(second).count == 4 })
        #expect(bench.results(first) == (1...9).map { "entry \($0)" } + ["prepared"])
        #expect(bench.results(second) == (10...13).map { "entry \($0)" })
        // One, and then three at a time of twelve.
        #expect(bench.store.commits == 5)
        bench.stop()
    }

    @Test func whatIsLeftOfABatchThatFailedIsDecidedAfterIt() throws {
        var limits = EngineLimits()
        limits.transfersPerCommitMax = 2
        let bench = try Bench(limits: limits)
        let (number, lane) = bench.lane()
        bench.store.hold()
        bench.sequencer.submit([Self.grant("first")], from: lane)
        #expect(try eventually { bench.store.waiting == 1 })
        bench.sequencer.submit((0..<5).map { Self.grant("k\($0)") }, from: lane)
        bench.store.failCommits(2)
        bench.store.release()
        #expect(try eventually { bench.results(number).count == 6 })
        #expect(
            bench.results(number) == Array(repeating: "unavailable", count: 3) + ["entry 1", "entry 2", "entry 3"])
        bench.stop()
    }

    @Test func aLaneIsAnsweredInItsOrderThoughSomeIsVerifiedFirst() throws {
        var limits = EngineLimits()
        limits.verificationBatchMax = 3
        limits.operationsPerSubmissionMax = 4
        limits.verificationsPerThreadMin = 1
        let bench = try Bench(limits: limits)
        let (_, lane) = bench.lane()
        var expected: [String] = []
        var entry = 0
        for turn in 0..<30 {
            var operations: [LedgerOperation] = []
            for number in 0..<(turn % 7 + 1) {
                entry += 1
                if (turn + number).isMultiple(of: 3) {
                    operations.append(try Self.credit(bench, Int64(entry)))
                    expected.append("credited \(entry)")
                } else {
                    operations.append(Self.grant("k\(entry)"))
                    expected.append("entry \(entry)")
                }
            }
            bench.sequencer.submit(operations, from: lane)
        }
        #expect(try eventually { bench.results(0).count == expected.count })
        #expect(bench.results(0) == expected)
        bench.stop()
    }

    @Test func requestsWithoutAJWSDoNotWaitForAnotherLanesVerification() throws {
        let bench = try Bench()
        let (crediting, slow) = bench.lane()
        let (granting, fast) = bench.lane()
        let count: Int64 = 3_000
        let credits = try (1...count).map { try Self.credit(bench, $0) }
        bench.sequencer.submit(credits, from: slow)
        bench.sequencer.submit([Self.grant("g", "b")], from: fast)
        #expect(try eventually { bench.results(crediting).count == count })
        #expect(bench.results(granting).count == 1)
        let lanes = bench.deliveredLanes
        #expect(try #require(lanes.firstIndex(of: granting)) < #require(lanes.lastIndex(of: crediting)))
        bench.stop()
    }

    /// A JWS under certificates that name the anchor, and of which none other has the same.
    private static func forged(_ chain: SandboxChain, _ number: Int) throws -> LedgerOperation {
        // Another signature each.
        var der = chain.intermediate.der
        der[der.count - 2] ^= UInt8((number + 1) >> 8)
        der[der.count - 1] ^= UInt8((number + 1) & 0xFF)
        let list = [chain.leaf, try Certificate(der: der), chain.root]
        return .signed(.transaction(try chain.jws(payload: Array("{}".utf8), certificates: list)), account: nil)
    }

    @Test func aTurnOfNewCertificatesVerifiesAFewAndOthersHaveTheNext() throws {
        let day: Int64 = 86_400_000
        let chain = try SandboxChain(notBefore: SandboxApp.date - day, notAfter: SandboxApp.date + day)
        var limits = EngineLimits()
        limits.verifierThreads = 1
        // What is not done in a turn goes on at once until the lane has had its own part.
        for count in [limits.newPathsPerTurnMax, FairQueue.quantum + 1] {
            let bench = try Bench(limits: limits, anchors: [chain.root])
            let ((many, manyLane), (one, oneLane)) = (bench.lane(), bench.lane())
            let gate = DispatchSemaphore(value: 0)
            for _ in 0..<2 { bench.verifiers.submit { gate.wait() } }
            bench.sequencer.submit(try (0..<count).map { try Self.forged(chain, $0) }, from: manyLane)
            bench.sequencer.submit([try Self.forged(chain, count)], from: oneLane)
            for _ in 0..<2 { gate.signal() }
            #expect(try eventually { bench.results(many).count == count && bench.results(one).count == 1 })
            #expect(bench.deliveredLanes.first == (count > limits.newPathsPerTurnMax ? one : many))
            bench.stop()
        }
    }

    /// Certificates that name the anchor, and were never seen: each costs a signature's check.
    @Test func aStormOfForgedCertificatesHoldsOnlyItsOwnLane() throws {
        let day: Int64 = 86_400_000
        let chain = try SandboxChain(notBefore: SandboxApp.date - day, notAfter: SandboxApp.date + day)
        // One thread for all of them: what it does first is delivered first.
        var limits = EngineLimits()
        limits.verifierThreads = 1
        let bench = try Bench(limits: limits, anchors: [chain.root])
        let ((honest, lane), (storm, stormLane)) = (bench.lane(), bench.lane())
        bench.sequencer.submit([try Self.credit(bench, 1)], from: lane)
        #expect(try eventually { bench.results(honest).count == 1 })
        let forged = try (0..<256).map { try Self.forged(chain, $0) }
        bench.sequencer.submit(forged + [Self.grant("behind")], from: stormLane)
        bench.sequencer.submit([try Self.credit(bench, 2), Self.grant("k"), try Self.credit(bench, 3)], from: lane)
        #expect(try eventually { bench.results(storm).count == forged.count + 1 })
        #expect(try eventually { bench.results(honest).count == 4 })
        #expect(bench.results(honest) == ["credited 1", "credited 2", "entry 3", "credited 3"])
        #expect(
            bench.results(storm) == Array(repeating: "invalidCertificateChain", count: forged.count) + ["entry 5"])
        // Though it came later.
        let lanes = bench.deliveredLanes
        #expect(try #require(lanes.lastIndex(of: honest)) < #require(lanes.firstIndex(of: storm)))
        bench.stop()
    }

    /// Signatures under the chain in use are OpenSSL's to judge where the table of its key does not accept them.
    @Test(.enabled(if: Verifier.preparesTables)) func aStormOfForgedSignaturesHoldsOnlyItsOwnLane() throws {
        var limits = EngineLimits()
        limits.verifierThreads = 1
        let bench = try Bench(limits: limits)
        let ((honest, lane), (storm, stormLane)) = (bench.lane(), bench.lane())
        let before: Int64 = 600
        bench.sequencer.submit(try (1...before).map { try Self.credit(bench, $0) }, from: lane)
        #expect(try eventually { bench.results(honest).count == before && bench.verifier.preparedChainCount == 1 })
        let forged = try (1...64).map { number -> LedgerOperation in
            var jws = Array(try bench.app.transaction(Int64(number)).utf8)
            // Of the last character some bits count for nothing.
            let place = jws.count - 2
            jws[place] = jws[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            return .signed(.transaction(jws), account: AccountName("a")!)
        }
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<2 { bench.verifiers.submit { gate.wait() } }
        bench.sequencer.submit(forged + [Self.grant("behind")], from: stormLane)
        bench.sequencer.submit([try Self.credit(bench, before + 1), Self.grant("k")], from: lane)
        for _ in 0..<2 { gate.signal() }
        #expect(try eventually { bench.results(storm).count == forged.count + 1 })
        #expect(try eventually { bench.results(honest).count == before + 2 })
        #expect(bench.results(honest).suffix(2) == ["credited \(before + 1)", "entry \(before + 2)"])
        #expect(
            bench.results(storm)
                == Array(repeating: "invalidSignature", count: forged.count) + ["entry \(before + 3)"])
        let lanes = bench.deliveredLanes
        #expect(try #require(lanes.lastIndex(of: honest)) < #require(lanes.firstIndex(of: storm)))
        bench.stop()
    }

    /// Forged ones of another connection are not verified with what an honest one sends, nor before it.
    @Test func whatComesFromALaneOfWhichMostWasForgedIsPutAsideAtOnceUntilItSendsGoodOnes() throws {
        let bench = try Bench()
        let ((honest, lane), (storm, stormLane)) = (bench.lane(), bench.lane())
        let most = EngineLimits().forgedPerDoubtMin
        bench.sequencer.submit([try Self.credit(bench, 1)], from: lane)
        #expect(try eventually { bench.results(honest).count == 1 })
        func forged(_ number: Int64) throws -> LedgerOperation {
            let signed = try bench.app.transaction(number)
            let forged = signed.prefix(through: signed.lastIndex(of: ".")!) + String(repeating: "B", count: 85) + "A"
            return .signed(.transaction(Array(forged.utf8)), account: AccountName("a")!)
        }
        bench.sequencer.submit(try (1...Int64(most)).map(forged), from: stormLane)
        #expect(try eventually { bench.results(storm).count == most })

        /// While the threads are busy, what is not put aside and is alone is verified by the writer.
        func whileThreadsAreBusy(_ body: () throws -> Void) throws {
            let (gate, entered) = (DispatchSemaphore(value: 0), Monitor(0))
            for _ in 0..<2 {
                bench.verifiers.submit {
                    entered.withLock { $0 += 1 }
                    gate.wait()
                }
            }
            defer { for _ in 0..<2 { gate.signal() } }
            try #require(try eventually { entered.withLock { $0 } == 2 })
            try body()
        }
        try whileThreadsAreBusy {
            // The first is verified as others' are; what is sent behind it is not, nor waited for.
            bench.sequencer.submit([try forged(1)], from: stormLane)
            #expect(try eventually { bench.results(storm).count == most + 1 })
            bench.store.hold()
            bench.sequencer.submit([Self.grant("k")], from: lane)
            #expect(try eventually { bench.store.waiting == 1 })
            bench.sequencer.submit([try forged(1)], from: stormLane)
            bench.sequencer.submit([try forged(2)], from: stormLane)
            bench.store.release()
            #expect(try eventually { bench.results(storm).count == most + 2 })
            bench.sequencer.submit([try Self.credit(bench, 2)], from: lane)
            #expect(try eventually { bench.results(honest).last == "credited 2" })
            #expect(bench.results(storm).count == most + 2)
        }
        #expect(try eventually { bench.results(storm).count == most + 3 })

        // Good ones, all but the first of which are put aside, until it is believed again.
        bench.sequencer.submit(try (3...30).map { try Self.credit(bench, $0) }, from: stormLane)
        #expect(try eventually { bench.results(storm).last == "credited 30" })
        bench.stop()
    }

    /// Certificates take milliseconds, and anybody can send some.
    @Test func theWriterVerifiesALoneJWSOnlyUnderCertificatesThatItKnows() throws {
        let bench = try Bench()
        let ((_, lane), (other, otherLane)) = (bench.lane(), bench.lane())
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<2 { bench.verifiers.submit { gate.wait() } }
        bench.sequencer.submit([try Self.credit(bench, 1)], from: lane)
        bench.sequencer.submit([Self.grant("k")], from: otherLane)
        #expect(try eventually { bench.results(other) == ["entry 1"] })
        #expect(bench.results(0).isEmpty)
        for _ in 0..<2 { gate.signal() }
        #expect(try eventually { bench.results(0) == ["credited 1"] })

        // Now they are known.
        for _ in 0..<2 { bench.verifiers.submit { gate.wait() } }
        bench.sequencer.submit([try Self.credit(bench, 2)], from: lane)
        #expect(try eventually { bench.results(0) == ["credited 1", "credited 2"] })
        for _ in 0..<2 { gate.signal() }
        bench.stop()
    }

    /// A thread that was woken for a JWS which the writer took meanwhile has nothing to do, and may be the last to
    /// find that out.
    @Test func whoWaitsForTheEndIsToldThoughAThreadWakesUpForNothing() throws {
        let bench = try Bench()
        let (_, lane) = bench.lane()
        // The certificates are known from here on.
        bench.sequencer.submit([try Self.credit(bench, 1)], from: lane)
        #expect(try eventually { bench.results(0).count == 1 })
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<2 { bench.verifiers.submit { gate.wait() } }
        bench.store.hold()
        bench.sequencer.submit([Self.grant("first")], from: lane)
        #expect(try eventually { bench.store.waiting == 1 })
        // The writer is busy, so a thread is to verify it; but the threads are.
        bench.sequencer.submit([try Self.credit(bench, 2)], from: lane)
        bench.store.release()
        #expect(try eventually { bench.results(0).count == 3 })
        let end = Monitor(false)
        let waiting = try EngineThread("test-wait") {
            bench.sequencer.stop()
            end.withLock { $0 = true }
        }
        pause(milliseconds: 50)
        #expect(!end.withLock { $0 })
        for _ in 0..<2 { gate.signal() }
        try #require(try eventually { end.withLock { $0 } })
        waiting.join()
        bench.stop()
    }

    @Test func aFailedCommitIsRetryableForAllOfItAndLosesNothing() throws {
        let bench = try Bench()
        let (_, lane) = bench.lane()
        bench.sequencer.submit([Self.grant("kept")], from: lane)
        #expect(try eventually { bench.results(0) == ["entry 1"] })
        bench.store.failCommits(1)
        let operations = [Self.grant("a"), try Self.credit(bench, 7), Self.grant("b")]
        bench.sequencer.submit(operations, from: lane)
        #expect(try eventually { bench.results(0).count == 4 })
        #expect(bench.results(0).dropFirst() == ["unavailable", "unavailable", "unavailable"])
        guard case .commitFailed(let error, requests: 3) = bench.events.first, bench.events.count == 1 else {
            Issue.record("the operator was told \(bench.events)")
            return
        }
        #expect(error.kind == .unavailable)
        bench.sequencer.submit(operations + [Self.grant("kept")], from: lane)
        #expect(try eventually { bench.results(0).count == 8 })
        #expect(bench.results(0).dropFirst(4) == ["entry 2", "credited 7", "entry 4", "entry 1"])
        #expect(bench.store.base.rows.entries.count == 4)
        bench.stop()
    }

    @Test func whileNothingCanBeMadeDurableWhatMayWriteIsRefusedAndTheRestGoesOn() throws {
        let bench = try Bench()
        let lane = bench.lane()
        bench.sequencer.submit([Self.grant("g")], from: lane.1)
        #expect(try eventually { bench.results(0) == ["entry 1"] })
        let blocks = bench.store.base.blocks
        bench.store.setFault(StoreError(.corrupt, "the test's log is damaged"))
        bench.sequencer.submit(
            [
                Self.grant("h"), .command(.balance(account: AccountName("a")!, currency: nil)),
                try Self.credit(bench, 7), .command(.expire),
            ], from: lane.1)
        #expect(try eventually { bench.results(0).count == 5 })
        #expect(bench.results(0).dropFirst() == ["corrupt", "outcome", "corrupt", "corrupt"])
        bench.read(.report(ReportRequest(kind: .trial, asOf: Self.now, currency: nil, limit: 10)), from: lane)
        #expect(try eventually { bench.results(0).last == "report at \(Self.now)" })
        #expect(bench.store.base.blocks == blocks, "no period was closed either")
        bench.store.setFault(nil)
        bench.sequencer.submit([Self.grant("h")], from: lane.1)
        #expect(try eventually { bench.results(0).last == "entry 2" })
        bench.stop()
    }

    @Test func aReportsTimeIsClosedAndAFutureOneRefused() throws {
        let bench = try Bench()
        let lane = bench.lane()
        let now = Self.now
        func report(_ asOf: Timestamp?, _ currency: String? = nil) {
            let request = ReportRequest(
                kind: .trial, asOf: asOf, currency: currency.flatMap { CurrencyCode($0) }, limit: 10)
            bench.read(.report(request), from: lane)
        }
        // As a session does: nothing is submitted behind a read before it is answered.
        var count = 0
        func settle() throws {
            count += 1
            #expect(try eventually { bench.results(0).count == count })
        }
        bench.sequencer.submit([Self.grant("a")], from: lane.1)
        try settle()
        report(nil)
        try settle()
        bench.sequencer.submit([Self.grant("b")], from: lane.1)
        try settle()
        for time in [now, now + 1, now + 60_000] {
            report(time)
            try settle()
        }
        report(nil, "shells")
        #expect(try eventually { bench.results(0).count == 7 })
        #expect(
            bench.results(0) == [
                "entry 1", "report at \(now)", "entry 2", "report at \(now)", "report at \(now + 1)",
                "future", "refused unknownCurrency(currency: shells)",
            ])
        let times = bench.store.base.rows.entries.map(\.time)
        #expect(times == [now, now + 1], "what comes after the report is later than its time")
        bench.stop()
    }
}

extension Sequencer {
    /// Each lane has turns of its own.
    fileprivate func submit(
        _ operations: [LedgerOperation], from lane: Lane, readEnded: (@Sendable (Query?) -> Void)? = nil
    ) {
        submit(operations, from: lane, of: Tenant(), readEnded: readEnded)
    }
}
