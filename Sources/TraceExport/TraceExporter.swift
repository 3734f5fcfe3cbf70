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
        // In a task of its own: what is on its way when the service ends arrives once, and is not cut and sent again.
        let sending = Task { await sendAll() }
        await withTaskCancellationHandler {
            await sending.value
        } onCancel: {
            queue.finish()
            Task { [limits] in
                try? await Task.sleep(for: .milliseconds(limits.endMilliseconds))
                sending.cancel()
            }
        }
    }

    /// Sends spans until the queue is finished, and then what is there until something fails; cancelled, it drops it.
    private func sendAll() async {
        let collector = Collector(endpoint, connectMilliseconds: limits.requestMilliseconds)
        var sending = Sending()
        await withTaskGroup(of: Void.self) { [limits, queue] tasks in
            tasks.addTask {
                while (try? await Task.sleep(for: .milliseconds(limits.intervalMilliseconds))) != nil { queue.wake() }
            }
            for await _ in queue.wakes { await send(&sending, to: collector) }
            tasks.cancelAll()
        }
        (sending.next, sending.isLast) = (.now(), true)
        await send(&sending, to: collector)
        repeat {
            queue.note(.dropped, sending.batch.count)
            sending.batch = queue.takeBatch()
        } while !sending.batch.isEmpty
        await collector.shutDown()
    }

    /// What is being sent.
    private struct Sending {
        /// A batch that was not taken yet, when it may be sent again, and how often it was sent in vain.
        var batch: [SpanRecord] = []
        var next = NIODeadline.now()
        var failures = 0
        /// Whether nothing is tried again.
        var isLast = false
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
                note(reply, &sending)
                continue
            }
            if Task.isCancelled || sending.isLast { return }
            if sending.failures == 0 {
                logger.warning("spans cannot be sent; it is tried again", metadata: ["error": "\(error)"])
            }
            let wait = limits.retryMilliseconds << min(sending.failures, 20)
            sending.next = .now() + .milliseconds(min(wait, limits.retryMillisecondsMax))
            sending.failures += 1
        }
    }

    /// The collector has decided about a batch.
    private func note(_ reply: Collector.Reply, _ sending: inout Sending) {
        let count = sending.batch.count
        switch reply {
        case .failed: return
        case .taken(let refused):
            queue.note(.refused, min(refused, count))
            queue.note(.sent, count - min(refused, count))
            if refused == 0 { sending.isRefusalTold = false } else { tellRefusal("partial success", &sending) }
        case .refused(let reason):
            queue.note(.refused, count)
            tellRefusal(reason, &sending)
        }
        sending.batch = []
    }

    /// Once, until some are taken.
    private func tellRefusal(_ reason: String, _ sending: inout Sending) {
        if sending.isRefusalTold { return }
        sending.isRefusalTold = true
        logger.warning("the collector refuses spans", metadata: ["reason": "\(reason)"])
    }
}
