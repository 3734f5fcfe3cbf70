import LedgerTestKit
import NIOConcurrencyHelpers
import Testing
import Tracing

@testable import TraceExport

/// Waits until something becomes true, ten seconds at most.
private func wait(
    _ sourceLocation: SourceLocation = #_sourceLocation, until condition: () async throws -> Bool
) async throws {
    for _ in 0..<2_000 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("it never became true", sourceLocation: sourceLocation)
}

/// Spans on their way to a collector, over real sockets.
@Suite struct ExporterTests {
    /// Runs an exporter while `body` runs.
    private static func run(
        to endpoint: String, logs: LogCapture = LogCapture(), limits: (inout TraceExportLimits) -> Void = { _ in },
        _ body: (TraceExporter) async throws -> Void
    ) async throws {
        var chosen = TraceExportLimits()
        chosen.intervalMilliseconds = 10
        chosen.retryMilliseconds = 10
        chosen.retryMillisecondsMax = 20
        limits(&chosen)
        let exporter = TraceExporter(
            try #require(TraceEndpoint(endpoint)), ratio: 1, resource: [("service.name", "test")], limits: chosen,
            logger: logs.logger)
        let task = Task { await exporter.run() }
        let result: Result<Void, any Error>
        do { result = .success(try await body(exporter)) } catch { result = .failure(error) }
        task.cancel()
        await task.value
        try result.get()
    }

    private static func record(_ count: Int, _ exporter: TraceExporter, from first: Int = 0) {
        for number in first..<(first + count) { exporter.tracer.startSpan("\(number)", context: .topLevel).end() }
    }

    private static func fates(_ exporter: TraceExporter) -> [String: UInt64] {
        var fates: [String: UInt64] = [:]
        exporter.measure { fates[$0] = $1 }
        return fates
    }

    @Test func spansComeInTheirOrderAndInBatchesOfABoundedSize() async throws {
        let collector = try await TraceCollector.start()
        try await Self.run(to: collector.endpoint, limits: { $0.batchMax = 30 }) { exporter in
            Self.record(100, exporter)
            try await wait { try collector.spans.count == 100 }
            try await wait { Self.fates(exporter) == ["sent": 100, "refused": 0, "dropped": 0] }
        }
        let requests = collector.requests
        #expect(requests.allSatisfy { $0.method == "POST" && $0.path == "/v1/traces" })
        #expect(requests.allSatisfy { $0.contentType == "application/json" })
        #expect(try requests.allSatisfy { try CollectedSpan.all(of: $0.body).count <= 30 })
        let spans = try collector.spans
        #expect(spans.map(\.name) == (0..<100).map { "\($0)" })
        #expect(spans.allSatisfy { $0.isWellFormed && $0.resource == ["service.name": "test"] })
        #expect(Set(spans.map(\.traceID)).count == 100 && Set(spans.map(\.spanID)).count == 100)
        try await collector.stop()
    }

    @Test func whatIsThereAtTheEndIsSent() async throws {
        let collector = try await TraceCollector.start()
        try await Self.run(to: collector.endpoint, limits: { $0.intervalMilliseconds = 3_600_000 }) { exporter in
            Self.record(5, exporter)
        }
        #expect(try collector.spans.count == 5)
        try await collector.stop()
    }

    @Test func whatIsOnItsWayAtTheEndArrivesOnce() async throws {
        let collector = try await TraceCollector.start { $0 == 1 ? .late(100) : .reply(200) }
        let kept = NIOLockedValueBox<TraceExporter?>(nil)
        try await Self.run(to: collector.endpoint) { exporter in
            kept.withLockedValue { $0 = exporter }
            Self.record(4, exporter)
            try await wait { collector.requests.count == 1 }
            Self.record(3, exporter)
        }
        let exporter = try #require(kept.withLockedValue { $0 })
        #expect(Self.fates(exporter) == ["sent": 7, "refused": 0, "dropped": 0])
        let spans = try collector.spans
        #expect(spans.map(\.name) == ["0", "1", "2", "3", "0", "1", "2"] && Set(spans.map(\.spanID)).count == 7)
        try await collector.stop()
    }

    @Test func aCollectorThatIsAwayCostsSpansAndNothingElse() async throws {
        let gone = try await TraceCollector.start()
        let endpoint = gone.endpoint
        try await gone.stop()
        let logs = LogCapture()
        let kept = NIOLockedValueBox<TraceExporter?>(nil)
        try await Self.run(to: endpoint, logs: logs, limits: { ($0.spansMax, $0.batchMax) = (50, 10) }) { exporter in
            kept.withLockedValue { $0 = exporter }
            Self.record(1_000, exporter)
            try await wait { logs.lines.contains { $0.hasPrefix("spans cannot be sent") } }
            // One batch may have been taken from the queue before it was full.
            let dropped = Self.fates(exporter)["dropped"] ?? 0
            #expect((930...950).contains(dropped), "\(dropped)")
        }
        let exporter = try #require(kept.withLockedValue { $0 })
        #expect(Self.fates(exporter) == ["sent": 0, "refused": 0, "dropped": 1_000], "none is left uncounted")
        #expect(logs.lines.count { $0.hasPrefix("spans cannot be sent") } == 1, "it is said once")
    }

    @Test func whatACollectorCannotTakeNowIsSentAgain() async throws {
        let collector = try await TraceCollector.start { $0 <= 3 ? .reply(503) : .reply(200) }
        let logs = LogCapture()
        try await Self.run(to: collector.endpoint, logs: logs) { exporter in
            Self.record(2, exporter)
            try await wait { Self.fates(exporter) == ["sent": 2, "refused": 0, "dropped": 0] }
        }
        let bodies = collector.requests.map(\.body)
        #expect(bodies.count >= 4 && bodies[0] == bodies[1] && bodies[1] == bodies[2])
        #expect(logs.lines.contains("spans cannot be sent; it is tried again error=HTTP 503"))
        #expect(logs.lines.contains("spans can be sent again"))
        try await collector.stop()
    }

    @Test func whatACollectorDoesNotWantIsCountedAndNotSentAgain() async throws {
        let partial = #"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#
        let collector = try await TraceCollector.start { $0 == 1 ? .reply(400, "no") : .reply(200, partial) }
        let logs = LogCapture()
        try await Self.run(to: collector.endpoint, logs: logs, limits: { $0.intervalMilliseconds = 3_600_000 }) {
            exporter in
            Self.record(3, exporter)
            exporter.tracer.forceFlush()
            try await wait { Self.fates(exporter)["refused"] == 3 }
            Self.record(5, exporter)
            exporter.tracer.forceFlush()
            try await wait { Self.fates(exporter) == ["sent": 3, "refused": 5, "dropped": 0] }
        }
        #expect(collector.requests.count == 2)
        #expect(logs.lines == ["the collector refuses spans reason=HTTP 400"], "it is said once")
        try await collector.stop()
    }

    /// - Parameter isBegun: whether the head of its reply comes.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func aCollectorThatDoesNotAnswerKeepsNobodyFromEnding(isBegun: Bool) async throws {
        let collector = try await TraceCollector.start { _ in isBegun ? .head : .silence }
        let kept = NIOLockedValueBox<TraceExporter?>(nil)
        try await Self.run(
            to: collector.endpoint,
            limits: { limits in
                limits.requestMilliseconds = 600_000
                limits.endMilliseconds = 100
            }
        ) { exporter in
            kept.withLockedValue { $0 = exporter }
            Self.record(4, exporter)
            try await wait { collector.requests.count == 1 }
            Self.record(3, exporter)
        }
        let exporter = try #require(kept.withLockedValue { $0 })
        #expect(Self.fates(exporter) == ["sent": 0, "refused": 0, "dropped": 7])
        try await collector.stop()
    }

    @Test(arguments: [
        ("", 0), ("{}", 0), (#"{"partialSuccess":{}}"#, 0), (#"{"partialSuccess":{"rejectedSpans":3}}"#, 3),
        (#"{"partialSuccess":{"errorMessage":"a","rejectedSpans":"4"},"more":[1]}"#, 4), ("<html>", 0),
        (#"{"partialSuccess":{"rejectedSpans":"-4"}}"#, 0), (#"{"partialSuccess":{"rejectedSpans":0.5}}"#, 0),
    ])
    func whatACollectorSaysOfPartsIsRead(_ text: String, _ count: Int) {
        #expect(Collector.refusedCount(Array(text.utf8)) == count)
    }
}
