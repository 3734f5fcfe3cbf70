package import LedgerEngine
package import NIOPosix
package import ServiceLifecycle

/// The service as a whole: ledgers in operation, what stands in front of them, and what works with them by itself.
package struct LedgerService: Service {
    package let ledgers: ServedLedgers
    private let agents: [any Service]
    private let group: MultiThreadedEventLoopGroup
    package let lines: LineService

    /// - Parameters:
    ///   - agents: ask the ledgers by themselves. They end at a graceful shutdown, and when their task is cancelled.
    ///   - group: the event loops of `lines`; shut down at the end.
    package init(
        ledgers: ServedLedgers, agents: [any Service] = [], group: MultiThreadedEventLoopGroup, lines: LineService
    ) {
        self.ledgers = ledgers
        self.agents = agents
        self.group = group
        self.lines = lines
    }

    /// Serves until it is shut down. Then everything accepted is answered, and the ledgers are closed.
    /// - Throws: ``ServerError`` where it cannot listen, `StoreError` where the store cannot be closed.
    package func run() async throws {
        var failure: (any Error)?
        for member in ledgers.members { member.ledger.start() }
        do {
            try await serve()
        } catch {
            failure = error
        }
        for member in ledgers.members {
            do {
                try await member.ledger.stop()
            } catch {
                failure = failure ?? error
            }
        }
        // The ledgers deliver their last answers on them.
        try await group.shutdownGracefully()
        if let failure { throw failure }
    }

    /// Nobody asks a ledger any more when it returns, however that came.
    private func serve() async throws {
        try await withThrowingTaskGroup { tasks in
            for agent in agents { tasks.addTask { try await agent.run() } }
            defer { tasks.cancelAll() }
            try await lines.run()
        }
    }
}
