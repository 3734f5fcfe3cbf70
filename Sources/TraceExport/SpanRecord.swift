import Tracing

/// What is sent of a span.
struct SpanRecord: Sendable {
    let identity: SpanIdentity
    /// Of the span that it is in; `nil` of a trace's first.
    let parent: UInt64?
    var name: String
    let kind: SpanKind
    /// Nanoseconds since the UNIX epoch.
    let begin: UInt64
    var end: UInt64
    var attributes: SpanAttributes = [:]
    var events: [SpanEvent] = []
    var links: [SpanLink] = []
    var status: SpanStatus?
}
