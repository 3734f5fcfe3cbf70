package import Logging
import NIOCore
import ServiceLifecycle

/// Sends spans to a collector by OTLP over HTTP, a batch at a time. Nobody waits for it: where the collector is slow or
/// away, spans are dropped and counted.
package final class TraceExporter: Service {
    /// Makes the spans that it sends.
    package let tracer: ExportingTracer

    private let queue: SpanQueue
    private let endpoint: TraceEndpoint
    private let resource: [(name: String, value: String)]
    private let limits: TraceExportLimits
    private let logger: Logger

    /// - Parameters:
    ///   - ratio: of the traces that begin here, how many are recorded; from 0 to 1.
    ///   - resource: attributes of the service, by OpenTelemetry's names.
    package init(
        _ endpoint: TraceEndpoint, ratio: Double, resource: [(name: String, value: String)],
        limits: TraceExportLimits = TraceExportLimits(), logger: Logger
    ) {
        queue = SpanQueue(limits)
        tracer = ExportingTracer(queue: queue, ratio: ratio)
        self.endpoint = endpoint
        self.resource = resource
        self.limits = limits
        self.logger = logger
    }

    /// Tells each fate of spans, and how many had it.
    package func measure(_ tell: (_ fate: String, _ count: UInt64) -> Void) {
        for fate in SpanQueue.Fate.allCases { tell(fate.name, queue.count(fate)) }
    }

    /// Sends spans until its task is cancelled, and then what is there, as far as there is time. A graceful shutdown
    /// does not end it: there are spans yet of the last requests.
    package func run() async {
        let collector = Collector(endpoint, connectMilliseconds: limits.requestMilliseconds)
        var sending = Sending()
        await withTaskGroup(of: Void.self) { [limits, queue] tasks in
            tasks.addTask {
                while (try? await Task.sleep(for: .milliseconds(limits.intervalMilliseconds))) != nil { queue.wake() }
            }
            for await _ in queue.wakes { await send(&sending, to: collector) }
            tasks.cancelAll()
        }
        let unsent = sending.batch
        // In a task of its own, which is not cancelled.
        await Task { await end(unsent, collector) }.value
    }

    /// What is being sent.
    private struct Sending {
        /// A batch that was not taken yet, when it may be sent again, and how often it was sent in vain.
        var batch: [SpanRecord] = []
        var next = NIODeadline.now()
        var failures = 0
        /// Whether the operator was told that the collector does not want spans.
        var isRefusalTold = false
    }

    /// Sends what there is, up to the first failure.
    private func send(_ sending: inout Sending, to collector: Collector) async {
        while !Task.isCancelled && NIODeadline.now() >= sending.next {
            if sending.batch.isEmpty { sending.batch = queue.takeBatch() }
            if sending.batch.isEmpty { return }
            let body = OTLPRequest.body(sending.batch, of: resource)
            let reply = await collector.send(body, timeoutMilliseconds: limits.requestMilliseconds)
            guard case .failed(let error) = reply else {
                if sending.failures > 0 { logger.notice("spans can be sent again") }
                sending.failures = 0
                take(reply, &sending)
                continue
            }
            if Task.isCancelled { return }
            if sending.failures == 0 {
                logger.warning("spans cannot be sent; it is tried again", metadata: ["error": "\(error)"])
            }
            let wait = limits.retryMilliseconds << min(sending.failures, 20)
            sending.next = .now() + .milliseconds(min(wait, limits.retryMillisecondsMax))
            sending.failures += 1
        }
    }

    /// A batch has its end.
    private func take(_ reply: Collector.Reply, _ sending: inout Sending) {
        let count = sending.batch.count
        sending.batch = []
        switch reply {
        case .failed: queue.note(.dropped, count)
        case .taken(let refused):
            queue.note(.refused, min(refused, count))
            queue.note(.sent, count - min(refused, count))
            if refused == 0 { sending.isRefusalTold = false } else { tellRefusal("partial success", &sending) }
        case .refused(let reason):
            queue.note(.refused, count)
            tellRefusal(reason, &sending)
        }
    }

    /// Once, until some are taken.
    private func tellRefusal(_ reason: String, _ sending: inout Sending) {
        if sending.isRefusalTold { return }
        sending.isRefusalTold = true
        logger.warning("the collector refuses spans", metadata: ["reason": "\(reason)"])
    }

    /// Sends what is there, and what was not sent, until the time is over or something fails; the rest is dropped.
    private func end(_ unsent: [SpanRecord], _ collector: Collector) async {
        let deadline = NIODeadline.now() + .milliseconds(limits.endMilliseconds)
        var sending = Sending()
        sending.batch = unsent.isEmpty ? queue.takeBatch() : unsent
        var reply = Collector.Reply.taken(refused: 0)
        while !sending.batch.isEmpty {
            let left = (deadline - .now()).nanoseconds / 1_000_000
            if left <= 0 { reply = .failed("the time is over") }
            if case .failed = reply {
            } else {
                let body = OTLPRequest.body(sending.batch, of: resource)
                reply = await collector.send(body, timeoutMilliseconds: left)
            }
            take(reply, &sending)
            sending.batch = queue.takeBatch()
        }
        await collector.shutDown()
    }
}
