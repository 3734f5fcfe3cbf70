import Dispatch
import Ledger
import LedgerTestKit
import LedgerWire
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import LedgerServer

/// The sequencer over a store that waits and fails when told to, without sockets.
@Suite(.serialized) struct SequencerTests {
    private final class Bench: @unchecked Sendable {
        let store: FaultyStore
        let logs: LogCapture
        let app: SandboxApp
        let sequencer: Sequencer
        let verifiers: NIOThreadPool
        private let writer: NIOThreadPool
        private let lock = NIOLock()
        private var delivered: [[String]] = []
        private var deliveries = 0
        private var lanes: [Int] = []

        init(limits: ServerLimits = ServerLimits()) throws {
            (store, logs, app) = (FaultyStore(), LogCapture(), try SandboxApp())
            verifiers = NIOThreadPool(numberOfThreads: 2)
            writer = NIOThreadPool(numberOfThreads: 1)
            verifiers.start()
            writer.start()
            sequencer = Sequencer(
                store: store, verifier: app.verifier, limits: limits, verifierPool: verifiers, verifierThreads: 2,
                writerPool: writer, logger: logs.logger, now: TestServer.now)
        }

        /// A lane that notes its results under its number.
        func lane() -> (Int, Lane) {
            let number = lock.withLock {
                delivered.append([])
                return delivered.count - 1
            }
            let lane = Lane(eventLoop: MultiThreadedEventLoopGroup.singleton.next()) { [self] results in
                lock.withLock {
                    delivered[number] += results.map(Bench.name)
                    deliveries += 1
                    lanes.append(number)
                }
            }
            return (number, lane)
        }

        func results(_ number: Int) -> [String] { lock.withLock { delivered[number] } }
        var deliveryCount: Int { lock.withLock { deliveries } }
        /// The lanes to which something was delivered, in that order.
        var deliveredLanes: [Int] { lock.withLock { lanes } }

        private static func name(_ result: OperationResult) -> String {
            switch result {
            case .outcome(.grant(let receipt)): "entry \(receipt.entry)"
            case .outcome(.purchase(let receipt)): "\(receipt.outcome.rawValue) \(receipt.transaction)"
            case .outcome(.refused(let refusal)): "refused \(WireError(refusal).reason)"
            case .outcome: "outcome"
            case .error(let error): error.reason
            case .prepared(.report(let request)): "report at \(request.asOf ?? -1)"
            case .prepared: "prepared"
            }
        }

        func stop() async throws {
            store.release()
            await sequencer.idle()
            try await verifiers.shutdownGracefully()
            try await writer.shutdownGracefully()
        }
    }

    private static func grant(_ key: String, _ account: String = "a") -> Operation {
        .command(
            .grant(
                Grant(
                    key: RequestKey(key)!, account: AccountName(account)!, currency: CurrencyCode("gems")!,
                    amount: Amount(1)!)))
    }

    private static func credit(_ bench: Bench, _ id: Int64, _ account: String = "a") throws -> LedgerServer.Operation {
        .signed(.transaction(Array(try bench.app.transaction(id).utf8)), account: AccountName(account)!)
    }

    @Test func whatArrivesDuringACommitFormsTheNextBatch() async throws {
        let bench = try Bench()
        let (_, lane) = bench.lane()
        bench.store.hold()
        bench.sequencer.submit([Self.grant("first")], from: lane)
        #expect(try await eventually { bench.store.waiting == 1 })
        for number in 0..<20 { bench.sequencer.submit([Self.grant("k\(number)")], from: lane) }
        #expect(bench.store.commits == 1)
        bench.store.release()
        #expect(try await eventually { bench.results(0).count == 21 })
        #expect(bench.store.commits == 2)
        #expect(bench.results(0) == (1...21).map { "entry \($0)" })
        #expect(bench.deliveryCount == 2)
        try await bench.stop()
    }

    @Test func aCommitHoldsNoMoreThanItsLimitAndALongTurnIsCut() async throws {
        var limits = ServerLimits()
        limits.operationsPerSubmissionMax = 10
        limits.operationsPerCommitMax = 25
        let bench = try Bench(limits: limits)
        let (_, lane) = bench.lane()
        bench.sequencer.submit((0..<60).map { Self.grant("k\($0)") }, from: lane)
        #expect(try await eventually { bench.results(0).count == 60 })
        #expect(bench.results(0) == (1...60).map { "entry \($0)" })
        // Six submissions of ten, two of them in a commit.
        #expect(bench.store.commits == 3)
        try await bench.stop()
    }

    @Test func aCommitTakesHalfOfWhatWaitsWhereThatIsMuch() async throws {
        var limits = ServerLimits()
        limits.operationsPerSubmissionMax = 1
        limits.operationsPerCommitMin = 4
        let bench = try Bench(limits: limits)
        let (_, lane) = bench.lane()
        bench.store.hold()
        bench.sequencer.submit([Self.grant("first")], from: lane)
        #expect(try await eventually { bench.store.waiting == 1 })
        bench.sequencer.submit((0..<32).map { Self.grant("k\($0)") }, from: lane)
        bench.store.release()
        #expect(try await eventually { bench.results(0).count == 33 })
        // One, then 16, 8 and 4 of 32, and the last four.
        #expect(bench.store.commits == 5)
        #expect(bench.results(0) == (1...33).map { "entry \($0)" })
        try await bench.stop()
    }

    @Test func aCommitWaitsForAGoodPartOfWhatIsBeingVerified() async throws {
        var limits = ServerLimits()
        limits.verificationBatchMax = 10
        limits.operationsPerSubmissionMax = 10
        limits.verificationsPerThreadMin = 1
        let bench = try Bench(limits: limits)
        let (_, lane) = bench.lane()
        let count: Int64 = 2_000
        bench.sequencer.submit(try (1...count).map { try Self.credit(bench, $0) }, from: lane)
        #expect(try await eventually { bench.results(0).count == count })
        // A fourth of what is left each time, down to chunks of ten, where a commit for each chunk would be two
        // hundred.
        #expect(bench.store.commits < 60)
        #expect(bench.results(0) == (1...count).map { "credited \($0)" })
        try await bench.stop()
    }

    @Test func aLaneIsAnsweredInItsOrderThoughSomeIsVerifiedFirst() async throws {
        var limits = ServerLimits()
        limits.verificationBatchMax = 3
        limits.operationsPerSubmissionMax = 4
        limits.verificationsPerThreadMin = 1
        let bench = try Bench(limits: limits)
        let (_, lane) = bench.lane()
        var expected: [String] = []
        var entry = 0
        for turn in 0..<30 {
            var operations: [LedgerServer.Operation] = []
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
        #expect(try await eventually { bench.results(0).count == expected.count })
        #expect(bench.results(0) == expected)
        try await bench.stop()
    }

    @Test func requestsWithoutAJWSDoNotWaitForAnotherLanesVerification() async throws {
        let bench = try Bench()
        let (crediting, slow) = bench.lane()
        let (granting, fast) = bench.lane()
        let count: Int64 = 3_000
        let credits = try (1...count).map { try Self.credit(bench, $0) }
        bench.sequencer.submit(credits, from: slow)
        bench.sequencer.submit([Self.grant("g", "b")], from: fast)
        #expect(try await eventually { bench.results(crediting).count == count })
        #expect(bench.results(granting).count == 1)
        let lanes = bench.deliveredLanes
        #expect(try #require(lanes.firstIndex(of: granting)) < #require(lanes.lastIndex(of: crediting)))
        try await bench.stop()
    }

    /// Certificates take milliseconds, and anybody can send some.
    @Test func theWriterVerifiesALoneJWSOnlyUnderCertificatesThatItKnows() async throws {
        let bench = try Bench()
        let ((_, lane), (other, otherLane)) = (bench.lane(), bench.lane())
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<2 { bench.verifiers.submit { _ in gate.wait() } }
        bench.sequencer.submit([try Self.credit(bench, 1)], from: lane)
        bench.sequencer.submit([Self.grant("k")], from: otherLane)
        #expect(try await eventually { bench.results(other) == ["entry 1"] })
        #expect(bench.results(0).isEmpty)
        for _ in 0..<2 { gate.signal() }
        #expect(try await eventually { bench.results(0) == ["credited 1"] })

        // Now they are known.
        for _ in 0..<2 { bench.verifiers.submit { _ in gate.wait() } }
        bench.sequencer.submit([try Self.credit(bench, 2)], from: lane)
        #expect(try await eventually { bench.results(0) == ["credited 1", "credited 2"] })
        for _ in 0..<2 { gate.signal() }
        try await bench.stop()
    }

    /// A thread that was woken for a JWS which the writer took meanwhile has nothing to do, and may be the last to
    /// find that out.
    @Test func whoWaitsForTheEndIsToldThoughAThreadWakesUpForNothing() async throws {
        let bench = try Bench()
        let (_, lane) = bench.lane()
        // The certificates are known from here on.
        bench.sequencer.submit([try Self.credit(bench, 1)], from: lane)
        #expect(try await eventually { bench.results(0).count == 1 })
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<2 { bench.verifiers.submit { _ in gate.wait() } }
        bench.store.hold()
        bench.sequencer.submit([Self.grant("first")], from: lane)
        #expect(try await eventually { bench.store.waiting == 1 })
        // The writer is busy, so a thread is to verify it; but the threads are.
        bench.sequencer.submit([try Self.credit(bench, 2)], from: lane)
        bench.store.release()
        #expect(try await eventually { bench.results(0).count == 3 })
        let end = NIOLockedValueBox(false)
        let waiting = Task {
            await bench.sequencer.idle()
            end.withLockedValue { $0 = true }
        }
        try await Task.sleep(for: .milliseconds(50))
        #expect(!end.withLockedValue { $0 })
        for _ in 0..<2 { gate.signal() }
        try #require(try await eventually { end.withLockedValue { $0 } })
        await waiting.value
        try await bench.stop()
    }

    @Test func aFailedCommitIsRetryableForAllOfItAndLosesNothing() async throws {
        let bench = try Bench()
        let (_, lane) = bench.lane()
        bench.sequencer.submit([Self.grant("kept")], from: lane)
        #expect(try await eventually { bench.results(0) == ["entry 1"] })
        bench.store.failCommits(1)
        let operations = [Self.grant("a"), try Self.credit(bench, 7), Self.grant("b")]
        bench.sequencer.submit(operations, from: lane)
        #expect(try await eventually { bench.results(0).count == 4 })
        #expect(bench.results(0).dropFirst() == ["storage_unavailable", "storage_unavailable", "storage_unavailable"])
        #expect(bench.logs.lines.contains { $0.contains("a commit failed") && $0.contains("requests=3") })
        bench.sequencer.submit(operations + [Self.grant("kept")], from: lane)
        #expect(try await eventually { bench.results(0).count == 8 })
        #expect(bench.results(0).dropFirst(4) == ["entry 2", "credited 7", "entry 4", "entry 1"])
        #expect(bench.store.base.rows.entries.count == 4)
        try await bench.stop()
    }

    @Test func aReportsTimeIsClosedAndAFutureOneRefused() async throws {
        let bench = try Bench()
        let (_, lane) = bench.lane()
        let now = TestServer.now()
        func report(_ asOf: Timestamp?, _ currency: String? = nil) -> LedgerServer.Operation {
            .prepare(
                .report(
                    ReportRequest(
                        kind: .trial, asOf: asOf, currency: currency.flatMap { CurrencyCode($0) }, limit: 10)))
        }
        bench.sequencer.submit(
            [
                Self.grant("a"), report(nil), Self.grant("b"), report(now), report(now + 1), report(now + 60_000),
                report(nil, "shells"),
            ], from: lane)
        #expect(try await eventually { bench.results(0).count == 7 })
        #expect(
            bench.results(0) == [
                "entry 1", "report at \(now)", "entry 2", "report at \(now)", "report at \(now + 1)",
                "invalid_params", "refused unknown_currency",
            ])
        let times = bench.store.base.rows.entries.map(\.time)
        #expect(times == [now, now + 1], "what comes after the report is later than its time")
        try await bench.stop()
    }
}
