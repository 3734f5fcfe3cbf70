/// The bounds of what is exported, each with its reason. Tests make them small to reach them.
package struct TraceExportLimits: Sendable {
    /// Spans that wait to be sent; a further one is dropped. Some 500 bytes each, so 2 MB, and what a collector that is
    /// restarted misses meanwhile at some hundred spans a second.
    package var spansMax = 4_096
    /// Spans of one request to the collector: some 200 KB of JSON, far below what collectors take (the OpenTelemetry
    /// Collector 20 MiB).
    package var batchMax = 512
    /// How long a span waits for others to be sent with: soon enough for who looks at a trace while it happens.
    package var intervalMilliseconds: Int64 = 1_000
    /// How long one request to the collector may take, with its connection. One on the same machine takes some
    /// milliseconds.
    package var requestMilliseconds: Int64 = 5_000
    /// How long is waited after a request that failed: so long first, twice as long each time, up to the second. A
    /// collector that has just been restarted is not asked by everybody at once.
    package var retryMilliseconds: Int64 = 1_000
    package var retryMillisecondsMax: Int64 = 30_000
    /// How long the end of the service waits until what is there is sent. Spans are no reason to keep a service from
    /// ending.
    package var endMilliseconds: Int64 = 2_000
    /// Bytes of a reply. It says how many spans the collector did not want, and why.
    static let replyBytesMax = 65_536
    /// Attributes, links and events of one span, each, and bytes of a text in it: many times what the service gives
    /// one. Attributes and texts over it are left out of a request.
    static let partsMax = 32
    static let textBytesMax = 256

    package init() {}
}
