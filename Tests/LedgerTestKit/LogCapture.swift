package import Logging
import NIOConcurrencyHelpers

/// Keeps what is logged.
package final class LogCapture: Sendable {
    private let captured = NIOLockedValueBox<[String]>([])

    package init() {}

    package var lines: [String] { captured.withLockedValue { $0 } }

    package var logger: Logger {
        Logger(label: "test") { _ in Handler(capture: self) }
    }

    private struct Handler: LogHandler {
        let capture: LogCapture
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            capture.captured.withLockedValue { $0.append("\(event.message)\(values)") }
        }
    }
}
