package import Tracing

/// Makes spans that are sent. Whether a trace is recorded is decided once, where it begins, and all of it inherits
/// that: of the traces that begin here a part is.
package struct ExportingTracer: Tracer {
    private let queue: SpanQueue
    private let sampler: Sampler
    /// Of all traces that begin here and are not recorded: nothing has to be made for one.
    private let unrecorded: ExportedSpan

    init(queue: SpanQueue, ratio: Double) {
        self.queue = queue
        sampler = Sampler(ratio: ratio)
        var context = ServiceContext.topLevel
        context.isUnrecorded = true
        unrecorded = ExportedSpan(unrecordedIn: context)
    }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> ExportedSpan {
        var context = context()
        var random = SystemRandomNumberGenerator()
        let parent = context.span
        if parent.map({ !$0.isSampled }) ?? context.isUnrecorded { return ExportedSpan(unrecordedIn: context) }
        let own = parent.map { sampler.child(of: $0, &random) } ?? sampler.newTrace(&random)
        guard let own else {
            if context.isEmpty { return unrecorded }
            context.isUnrecorded = true
            return ExportedSpan(unrecordedIn: context)
        }
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
        var random = SystemRandomNumberGenerator()
        // Whoever is called inherits the decision too.
        let span = context.span ?? (context.isUnrecorded ? sampler.unrecordedTrace(&random) : nil)
        guard let span else { return }
        injector.inject(span.traceParent, forKey: ExportingTracer.header, into: &carrier)
    }
}
