package import LedgerEngine
package import NIOPosix
import ServiceLifecycle

/// The service as a whole: a ledger in operation, and what stands in front of it.
package struct LedgerService: Service {
    private let ledger: RunningLedger
    private let group: MultiThreadedEventLoopGroup
    package let lines: LineService

    /// - Parameter group: the event loops of `lines`; shut down at the end.
    package init(ledger: RunningLedger, group: MultiThreadedEventLoopGroup, lines: LineService) {
        self.ledger = ledger
        self.group = group
        self.lines = lines
    }

    /// Serves until it is shut down. Then everything accepted is answered, and the ledger is closed.
    /// - Throws: ``ServerError`` where it cannot listen, `StoreError` where the store cannot be closed.
    package func run() async throws {
        var failure: (any Error)?
        ledger.start()
        do {
            try await lines.run()
        } catch {
            failure = error
        }
        do {
            try await ledger.stop()
        } catch {
            failure = failure ?? error
        }
        // The ledger delivers its last answers on them.
        try await group.shutdownGracefully()
        if let failure { throw failure }
    }
}
