import LedgerWire
import NIOConcurrencyHelpers

/// Has the service read its configuration again when a client asks for it.
final class Reloads: Sendable {
    private let body = NIOLockedValueBox<(@Sendable () -> ReloadReport)?>(nil)

    /// - Parameter reload: reads the configuration again, and says what came of it. May block.
    func begin(_ reload: @escaping @Sendable () -> ReloadReport) { body.withLockedValue { $0 = reload } }

    /// Blocks.
    func run() -> ReloadReport {
        guard let reload = body.withLockedValue({ $0 }) else {
            return ReloadReport(applied: false, faults: ["this service was started without a configuration to read"])
        }
        return reload()
    }
}
