package import LedgerEngine
package import NIOPosix
import ServiceLifecycle

/// The service as a whole: ledgers in operation, and what stands in front of them.
package struct LedgerService: Service {
    private let ledgers: [RunningLedger]
    private let group: MultiThreadedEventLoopGroup
    package let lines: LineService

    /// - Parameter group: the event loops of `lines`; shut down at the end.
    package init(ledgers: ServedLedgers, group: MultiThreadedEventLoopGroup, lines: LineService) {
        self.ledgers = ledgers.members.map(\.ledger)
        self.group = group
        self.lines = lines
    }

    /// Serves until it is shut down. Then everything accepted is answered, and the ledgers are closed.
    /// - Throws: ``ServerError`` where it cannot listen, `StoreError` where the store cannot be closed.
    package func run() async throws {
        var failure: (any Error)?
        for ledger in ledgers { ledger.start() }
        do {
            try await lines.run()
        } catch {
            failure = error
        }
        for ledger in ledgers {
            do {
                try await ledger.stop()
            } catch {
                failure = failure ?? error
            }
        }
        // The ledgers deliver their last answers on them.
        try await group.shutdownGracefully()
        if let failure { throw failure }
    }
}
