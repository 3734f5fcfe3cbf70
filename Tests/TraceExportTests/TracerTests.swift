import LedgerTestKit
import Testing
import Tracing

@testable import TraceExport

/// Which spans are recorded, and what is sent of them.
@Suite struct TracerTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    private struct Header: Extractor, Injector {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }

    private static func instant(_ time: UInt64) -> DefaultTracerClock.Timestamp {
        DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: time)
    }

    private static func tracer(ratio: Double) -> (ExportingTracer, SpanQueue) {
        let queue = SpanQueue(TraceExportLimits())
        return (ExportingTracer(queue: queue, ratio: ratio), queue)
    }

    private static func context(_ tracer: ExportingTracer, _ header: String) -> ServiceContext {
        var context = ServiceContext.topLevel
        tracer.extract(["traceparent": header], into: &context, using: Header())
        return context
    }

    @Test func ofTracesThatBeginHereTheRatioIsRecorded() {
        var random = SplitMix64(seed: Seed.drawn())
        func recorded(_ ratio: Double) -> Int {
            let sampler = Sampler(ratio: ratio)
            return (0..<10_000).count { _ in sampler.newTrace(&random) != nil }
        }
        #expect(recorded(0) == 0)
        #expect(recorded(1) == 10_000)
        // Ten standard deviations around the mean.
        #expect((4_500...5_500).contains(recorded(0.5)))
        #expect((1...200).contains(recorded(0.01)))
    }

    @Test func whatIsNotRecordedIsNotSentAndNeitherIsWhatIsInIt() {
        let (tracer, queue) = Self.tracer(ratio: 0)
        let span = tracer.startSpan("a", context: .topLevel)
        #expect(!span.isRecording)
        span.attributes["x"] = 1
        span.setStatus(SpanStatus(code: .error))
        span.end()
        #expect(span.attributes.isEmpty && queue.takeBatch().isEmpty)
    }

    /// The ratio is drawn for a trace, and not once more for each span in it.
    @Test func whatIsInAnUnrecordedTraceIsNotDrawnAgain() throws {
        let (tracer, queue) = Self.tracer(ratio: 0.5)
        // None of 200 is unrecorded once in 2^200 times.
        let root = try #require(
            (0..<200).lazy.map { _ in tracer.startSpan("a", context: .topLevel) }.first { !$0.isRecording })
        let child = tracer.startSpan("b", context: root.context)
        for context in [root.context, child.context] {
            let spans = (0..<100).map { _ in tracer.startSpan("c", context: context) }
            #expect(spans.allSatisfy { !$0.isRecording })
        }
        var headers: [String: String] = [:]
        tracer.inject(child.context, into: &headers, using: Header())
        let handedOn = Self.context(tracer, try #require(headers["traceparent"]))
        #expect(handedOn.span?.isSampled == false)
        #expect(queue.takeBatch().isEmpty)
    }

    @Test(arguments: [0.0, 1.0])
    func theParentDecidesWhateverTheRatioIs(ratio: Double) throws {
        let (tracer, queue) = Self.tracer(ratio: ratio)
        let taken = Self.context(tracer, "00-\(Self.trace)-\(Self.span)-01")
        let span = tracer.startSpan("a", context: taken, ofKind: .server, at: Self.instant(5))
        let child = tracer.startSpan("b", context: span.context, at: Self.instant(6))
        child.end(at: Self.instant(7))
        span.end(at: Self.instant(8))
        let left = Self.context(tracer, "00-\(Self.trace)-\(Self.span)-00")
        let unrecorded = tracer.startSpan("c", context: left)
        #expect(!unrecorded.isRecording)
        tracer.startSpan("d", context: unrecorded.context).end()
        unrecorded.end()
        let sent = queue.takeBatch()
        #expect(sent.map(\.name) == ["b", "a"])
        #expect(sent.allSatisfy { $0.identity.traceID == Self.trace })
        #expect(sent[1].parent.map(SpanIdentity.hexadecimal) == Self.span)
        #expect(sent[0].parent == sent[1].identity.span && sent[0].identity.span != sent[1].identity.span)
    }

    @Test func aSpanCanBeHandedOnByItsHeader() throws {
        let (tracer, _) = Self.tracer(ratio: 1)
        let span = tracer.startSpan("a", context: .topLevel)
        var headers: [String: String] = [:]
        tracer.inject(span.context, into: &headers, using: Header())
        let header = try #require(headers["traceparent"])
        #expect(Self.context(tracer, header).span == span.context.span && header.hasSuffix("-01"))
        span.end()
    }

    @Test func aSpanIsSentOnceAndDoesNotEndBeforeItBegan() {
        let (tracer, queue) = Self.tracer(ratio: 1)
        let span = tracer.startSpan("a", context: .topLevel, at: Self.instant(9))
        span.end(at: Self.instant(3))
        span.end(at: Self.instant(20))
        span.attributes["late"] = true
        let sent = queue.takeBatch()
        #expect(sent.count == 1 && sent[0].begin == 9 && sent[0].end == 9 && sent[0].attributes.isEmpty)
    }

    struct Secret: Error, CustomStringConvertible {
        var description: String { "the player's words" }
    }

    @Test func whatIsSentIsOTLPToTheByte() throws {
        let identity = try #require(SpanIdentity(traceParent: "00-\(Self.trace)-\(Self.span)-01"))
        let queue = SpanQueue(TraceExportLimits())
        var context = ServiceContext.topLevel
        context.span = identity
        let record = SpanRecord(
            identity: identity, parent: 0xABC, name: "spend", kind: .server, begin: 1_750_000_000_000_000_001, end: 0)
        let span = ExportedSpan(record, in: context, to: queue)
        span.attributes = ["n": 7, "is": true, "text": "a\"b", "real": 0.5]
        span.recordError(Secret(), attributes: [:], at: Self.instant(1_750_000_000_000_000_002))
        span.addLink(SpanLink(context: context, attributes: [:]))
        span.setStatus(SpanStatus(code: .error))
        span.end(at: Self.instant(1_750_000_000_000_000_003))
        let body = String(
            decoding: OTLPRequest.body(queue.takeBatch(), of: [("service.name", "test")]), as: UTF8.self)
        let attributes = [
            #"{"key":"is","value":{"boolValue":true}}"#, #"{"key":"n","value":{"intValue":"7"}}"#,
            #"{"key":"real","value":{"stringValue":"double(0.5)"}}"#,
            #"{"key":"text","value":{"stringValue":"a\"b"}}"#,
        ].joined(separator: ",")
        let expected = [
            #"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"test"}}]},"#,
            #""scopeSpans":[{"scope":{"name":"currency-ledger"},"spans":[{"traceId":"\#(Self.trace)","#,
            #""spanId":"\#(Self.span)","parentSpanId":"0000000000000abc","name":"spend","kind":2,"#,
            #""startTimeUnixNano":"1750000000000000001","endTimeUnixNano":"1750000000000000003","#,
            #""attributes":[\#(attributes)],"events":[{"timeUnixNano":"1750000000000000002","name":"exception","#,
            #""attributes":[{"key":"exception.type","value":{"stringValue":"Secret"}}]}],"#,
            #""links":[{"traceId":"\#(Self.trace)","spanId":"\#(Self.span)"}],"status":{"code":2}}]}]}]}"#,
        ].joined()
        #expect(body == expected)
    }

    @Test func aSpanTakesABoundedRoom() throws {
        let (tracer, queue) = Self.tracer(ratio: 1)
        let span = tracer.startSpan(String(repeating: "n", count: 10_000), context: .topLevel)
        span.updateAttributes { attributes in
            for number in 0..<1_000 { attributes["\(number)"] = String(repeating: "é", count: 10_000) }
        }
        for _ in 0..<1_000 { span.addEvent("event") }
        span.end()
        let body = OTLPRequest.body(queue.takeBatch(), of: [])
        #expect(body.count < 40_000, "\(body.count)")
        let sent = try CollectedSpan.all(of: String(decoding: body, as: UTF8.self))
        #expect(sent.count == 1 && sent[0].name.utf8.count == 256 && sent[0].attributes.count == 32)
    }
}
