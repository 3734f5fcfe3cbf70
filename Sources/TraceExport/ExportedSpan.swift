import Synchronization
package import Tracing

/// A span that is sent when it ends, where it is recorded.
package final class ExportedSpan: Span {
    package let context: ServiceContext
    /// `nil` where it is not recorded, or has ended.
    private let record: Mutex<SpanRecord?>
    private let queue: SpanQueue?

    /// - Parameter queue: where it goes.
    init(_ record: SpanRecord, in context: ServiceContext, to queue: SpanQueue) {
        self.context = context
        self.record = Mutex(record)
        self.queue = queue
    }

    /// One that is not recorded.
    init(unrecordedIn context: ServiceContext) {
        self.context = context
        record = Mutex(nil)
        queue = nil
    }

    package var isRecording: Bool { record.withLock { $0 != nil } }

    package var operationName: String {
        get { record.withLock { $0?.name ?? "" } }
        set { record.withLock { $0?.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { record.withLock { $0?.attributes ?? [:] } }
        set { record.withLock { $0?.attributes = newValue } }
    }

    package func setStatus(_ status: SpanStatus) { record.withLock { $0?.status = status } }

    package func addEvent(_ event: SpanEvent) {
        record.withLock { record in
            if record?.events.count ?? 0 < TraceExportLimits.partsMax { record?.events.append(event) }
        }
    }

    package func addLink(_ link: SpanLink) {
        record.withLock { record in
            if record?.links.count ?? 0 < TraceExportLimits.partsMax { record?.links.append(link) }
        }
    }

    /// By its type alone: its words may be a client's.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    /// Sends it; a second time does nothing.
    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        guard var ended = record.withLock({ $0.take() }) else { return }
        ended.end = max(ended.begin, instant().nanosecondsSinceEpoch)
        queue?.add(ended)
    }
}
