import LedgerEngine
import NIOConcurrencyHelpers
package import NIOPosix
package import ServiceLifecycle

/// The service as a whole: ledgers in operation, what stands in front of them, and what works with them by itself.
package struct LedgerService: Service {
    package let ledgers: ServedLedgers
    private let agents: [any Service]
    private let group: MultiThreadedEventLoopGroup
    package let lines: LineService
    /// Held while something is asked of its parts, which therefore do not end meanwhile.
    private let hasParts = NIOLockedValueBox(true)

    /// - Parameters:
    ///   - agents: work by themselves, and end when their task is cancelled, or at a graceful shutdown already.
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
        hasParts.withLockedValue { $0 = false }
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

    /// Parts that answer by themselves, for who wants to know whether the service still works.
    package enum Part: Sendable {
        /// The event loops, which wait for nothing but connections.
        case loops
        /// The ledgers, each in its one order, which may wait for its disk. A node's order is left out: it may wait
        /// for the database that the nodes share, for as long as that takes.
        case ledgers
    }

    /// Asks each of them for a sign of life.
    /// - Parameter answered: called by each, on a thread of its own; it must not wait for anything.
    /// - Returns: how many were asked; none while the service ends.
    package func ask(_ part: Part, _ answered: @escaping @Sendable () -> Void) -> Int {
        hasParts.withLockedValue { hasParts in
            guard hasParts else { return 0 }
            switch part {
            case .loops:
                let loops = Array(group.makeIterator())
                for loop in loops { loop.execute(answered) }
                return loops.count
            case .ledgers:
                let ledgers = ledgers.members.filter { $0.handOver == nil }.map(\.ledger)
                for ledger in ledgers { ledger.probe(answered) }
                return ledgers.count
            }
        }
    }
}
