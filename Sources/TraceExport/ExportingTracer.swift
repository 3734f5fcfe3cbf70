package import Tracing

/// Makes spans that are sent. Whether a trace is recorded its parent has decided; of those that begin here a part is.
package struct ExportingTracer: Tracer {
    private let queue: SpanQueue
    private let sampler: Sampler
    /// Of all traces that begin here and are not recorded: nothing has to be made for one.
    private let unrecorded = ExportedSpan(unrecordedIn: .topLevel)

    init(queue: SpanQueue, ratio: Double) {
        self.queue = queue
        sampler = Sampler(ratio: ratio)
    }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> ExportedSpan {
        var context = context()
        var random = SystemRandomNumberGenerator()
        let parent = context.span
        if let parent, !parent.isSampled { return ExportedSpan(unrecordedIn: context) }
        let own = parent.map { sampler.child(of: $0, &random) } ?? sampler.newTrace(&random)
        guard let own else { return unrecorded }
        context.span = own
        let begin = instant().nanosecondsSinceEpoch
        let record = SpanRecord(
            identity: own, parent: parent?.span, name: operationName, kind: kind, begin: begin, end: begin)
        return ExportedSpan(record, in: context, to: queue)
    }

    /// Has what there is sent soon.
    package func forceFlush() { queue.wake() }

    // MARK: W3C Trace Context

    private static let header = "traceparent"

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let text = extractor.extract(key: ExportingTracer.header, from: carrier) else { return }
        context.span = SpanIdentity(traceParent: text)
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.span else { return }
        injector.inject(span.traceParent, forKey: ExportingTracer.header, into: &carrier)
    }
}
