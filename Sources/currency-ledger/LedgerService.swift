import LedgerEngine
import LineServer
import NIOPosix
import ServiceLifecycle

/// The service as a whole: a ledger in operation, and what stands in front of it.
struct LedgerService: Service {
    let ledger: RunningLedger
    let group: MultiThreadedEventLoopGroup
    let lines: LineService

    /// Serves until it is shut down. Then everything accepted is answered, and the ledger is closed.
    func run() async throws {
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
        try await group.shutdownGracefully()
        if let failure { throw failure }
    }
}
