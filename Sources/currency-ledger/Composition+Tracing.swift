import Foundation
import LedgerMetrics
import LineServer
import Logging
import TraceExport

extension Composition {
    /// What sends spans of requests; `nil` where nothing is traced.
    static func exporter(_ settings: Settings, _ logger: Logger) -> TraceExporter? {
        settings.tracing.map { tracing in
            TraceExporter(
                tracing.endpoint, ratio: tracing.ratio,
                resource: [
                    ("service.name", "currency-ledger"), ("service.version", Version.current),
                    ("host.name", ProcessInfo.processInfo.hostName),
                ], logger: logger)
        }
    }

    /// How requests are traced.
    static func traces(_ exporter: TraceExporter) -> ServerConfiguration.Traces {
        ServerConfiguration.Traces(tracer: exporter.tracer) { text in
            exporter.measure { text.add(.spans, .count($1), [Label("result", $0)]) }
        }
    }
}
