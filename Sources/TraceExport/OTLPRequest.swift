import StrictJSON
import Tracing

/// The body of a request to an OTLP receiver, `ExportTraceServiceRequest`, in the JSON of OTLP 1.0
/// (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids are hexadecimal, 64-bit integers strings,
/// enumerations numbers.
enum OTLPRequest {
    /// - Parameter resource: what all spans are of.
    static func body(_ spans: [SpanRecord], of resource: [(name: String, value: String)]) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024 + spans.count * 512)
        json.beginObject()
        json.beginArray("resourceSpans")
        json.beginObject()
        json.key("resource")
        json.beginObject()
        json.beginArray("attributes")
        for (name, value) in resource { json.attribute(name, .string(value)) }
        json.endArray()
        json.endObject()
        json.beginArray("scopeSpans")
        json.beginObject()
        json.key("scope")
        json.beginObject()
        json.member("name", "currency-ledger")
        json.endObject()
        json.beginArray("spans")
        for span in spans { json.span(span) }
        json.endArray()
        json.endObject()
        json.endArray()
        json.endObject()
        json.endArray()
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func beginArray(_ name: StaticString) {
        key(name)
        beginArray()
    }

    fileprivate mutating func member(_ name: StaticString, _ value: String) {
        key(name)
        string(OTLPRequest.shortened(value))
    }

    fileprivate mutating func member(_ name: StaticString, nanoseconds: UInt64) {
        key(name)
        string(String(nanoseconds))
    }

    fileprivate mutating func span(_ span: SpanRecord) {
        beginObject()
        member("traceId", span.identity.traceID)
        member("spanId", span.identity.spanID)
        if let parent = span.parent { member("parentSpanId", SpanIdentity.hexadecimal(parent)) }
        member("name", span.name)
        key("kind")
        integer(span.kind.number)
        member("startTimeUnixNano", nanoseconds: span.begin)
        member("endTimeUnixNano", nanoseconds: span.end)
        attributes(span.attributes)
        if !span.events.isEmpty {
            beginArray("events")
            for event in span.events {
                beginObject()
                member("timeUnixNano", nanoseconds: event.nanosecondsSinceEpoch)
                member("name", event.name)
                attributes(event.attributes)
                endObject()
            }
            endArray()
        }
        if !span.links.isEmpty {
            beginArray("links")
            for link in span.links {
                guard let other = link.context.span else { continue }
                beginObject()
                member("traceId", other.traceID)
                member("spanId", other.spanID)
                attributes(link.attributes)
                endObject()
            }
            endArray()
        }
        if let status = span.status {
            key("status")
            beginObject()
            key("code")
            integer(status.code == .ok ? 1 : 2)
            if let message = status.message { member("message", message) }
            endObject()
        }
        endObject()
    }

    /// In the order of their names, so that the same span is the same text.
    private mutating func attributes(_ attributes: SpanAttributes) {
        if attributes.isEmpty { return }
        var all: [(name: String, value: SpanAttribute)] = []
        attributes.forEach { all.append(($0, $1)) }
        beginArray("attributes")
        for (name, value) in all.sorted(by: { $0.name < $1.name }).prefix(TraceExportLimits.partsMax) {
            attribute(name, value)
        }
        endArray()
    }

    fileprivate mutating func attribute(_ name: String, _ value: SpanAttribute) {
        beginObject()
        member("key", name)
        key("value")
        beginObject()
        switch value {
        case .int32(let number): member("intValue", String(number))
        case .int64(let number): member("intValue", String(number))
        case .bool(let isTrue):
            key("boolValue")
            bool(isTrue)
        case .string(let text): member("stringValue", text)
        // What else there is the service gives no span, and a text says it too.
        default: member("stringValue", "\(value)")
        }
        endObject()
        endObject()
    }
}

extension OTLPRequest {
    /// As much of a text as is sent.
    static func shortened(_ text: String) -> String {
        if text.utf8.count <= TraceExportLimits.textBytesMax { return text }
        var short = text
        while short.utf8.count > TraceExportLimits.textBytesMax { short.removeLast() }
        return short
    }
}

extension SpanKind {
    /// `Span.SpanKind` of OTLP.
    fileprivate var number: Int64 {
        switch self {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}
