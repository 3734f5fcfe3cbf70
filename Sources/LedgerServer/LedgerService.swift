package import AppStore
package import Ledger
package import LedgerWire
package import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The ledger's server: listens, sequences and answers until it is shut down.
package final class LedgerService: Service {
    private let configuration: ServerConfiguration
    private let store: any Store
    private let verifier: Verifier
    private let info: ServerInfo
    private let logger: Logger
    private let now: @Sendable () -> Timestamp
    private let bound = Announcement<[ServerAddress]>()
    private let stop: StopSignal

    /// Ends a service from within the process.
    package final class StopSignal: Sendable {
        fileprivate let announcement = Announcement<Void>()

        package init() {}

        /// As a graceful shutdown.
        package func stop() { announcement.succeed(()) }
    }

    /// - Parameters:
    ///   - store: closed when ``run()`` returns, however it does.
    ///   - info: what the method `info` answers.
    ///   - now: the clock, in milliseconds since the UNIX epoch.
    ///   - stop: ends it.
    package init(
        configuration: ServerConfiguration, store: any Store, verifier: Verifier, info: ServerInfo, logger: Logger,
        now: @escaping @Sendable () -> Timestamp, stop: StopSignal = StopSignal()
    ) {
        self.stop = stop
        self.configuration = configuration
        self.store = store
        self.verifier = verifier
        self.info = info
        self.logger = logger
        self.now = now
    }

    /// Where it listens, with the ports it was given; waits until it does.
    /// - Throws: what keeps it from starting.
    package var boundAddresses: [ServerAddress] {
        get async throws { try await bound.value() }
    }

    /// Serves until the task is cancelled or gracefully shut down. Then nothing new is accepted, everything accepted
    /// is answered, and the store is closed.
    /// - Throws: ``ServerError`` where it cannot listen, ``StoreError`` where the store cannot be closed.
    package func run() async throws {
        let limits = configuration.limits
        let threads = ServiceThreads(limits)
        let connections = ConnectionRegistry(limits)
        let sequencer = Sequencer(
            store: store, verifier: verifier, limits: limits, verifierPool: threads.verifiers,
            verifierThreads: threads.verifierThreads, writerPool: threads.writer, logger: logger, now: now)
        let services = ConnectionServices(
            limits: limits, tokens: TokenTable(configuration.tokens), info: info, sequencer: sequencer,
            connections: connections, readers: threads.readers, store: store, logger: logger)

        // Submitted before the first connection is there: what ran out while the service was down is posted first.
        let sweeper = ExpirySweeper(
            sequencer: sequencer, eventLoop: threads.group.next(), intervalMilliseconds: limits.expirySweepMilliseconds)
        sweeper.start()

        var failure: (any Error)?
        var listeners: [any Channel] = []
        do {
            for address in configuration.listen {
                listeners.append(
                    try await Listener(group: threads.group, services: services)
                        .bind(address, isOpen: !configuration.tokens.isEmpty))
            }
            announce(listeners)
            await shutdownSignal()
            logger.info("shutting down", metadata: ["connections": "\(connections.count)"])
        } catch {
            failure = error
            bound.fail(error)
        }

        for listener in listeners { await close(listener) }
        await sweeper.stop()
        await connections.drain(timeout: .milliseconds(limits.shutdownMilliseconds), timer: threads.group.next())
        await sequencer.idle()
        do {
            // A long read of a connection that was closed at the deadline may still be going on.
            try await threads.readers.shutdownGracefully()
            try await threads.writer.runIfActive { [store] in try store.close() }
        } catch {
            failure = failure ?? error
        }
        try await threads.stop()
        if let failure { throw failure }
    }

    private func announce(_ listeners: [any Channel]) {
        let addresses = listeners.compactMap { ServerAddress($0.localAddress) }
        if configuration.tokens.isEmpty {
            logger.notice("no tokens are configured: whoever can connect from this machine has the role admin")
        }
        logger.info(
            "listening", metadata: ["addresses": "\(addresses.map(\.description).joined(separator: " "))"])
        bound.succeed(addresses)
    }

    private func shutdownSignal() async {
        await withTaskGroup(of: Void.self) { [logger, stop] group in
            group.addTask {
                do {
                    try await gracefulShutdown()
                } catch {
                    logger.debug("the service's task was cancelled")
                }
                stop.stop()
            }
            group.addTask { try? await stop.announcement.value() }
            await group.next()
            group.cancelAll()
        }
    }

    private func close(_ listener: any Channel) async {
        let address = ServerAddress(listener.localAddress)
        do {
            try await listener.close().get()
        } catch {
            logger.error("a listening socket could not be closed", metadata: ["error": "\(error)"])
        }
        if let address { Listener.removeFile(of: address) }
    }
}

/// The service's threads.
private struct ServiceThreads {
    let group: MultiThreadedEventLoopGroup
    let verifierThreads = System.coreCount
    let verifiers: NIOThreadPool
    /// One thread, so that the store sees one batch after the other.
    let writer = NIOThreadPool(numberOfThreads: 1)
    let readers: NIOThreadPool

    init(_ limits: ServerLimits) {
        group = MultiThreadedEventLoopGroup(numberOfThreads: limits.eventLoopThreads)
        verifiers = NIOThreadPool(numberOfThreads: verifierThreads)
        readers = NIOThreadPool(numberOfThreads: limits.readerThreads)
        verifiers.start()
        writer.start()
        readers.start()
    }

    /// The readers have stopped before, for the store to be closed.
    func stop() async throws {
        try await verifiers.shutdownGracefully()
        try await writer.shutdownGracefully()
        try await group.shutdownGracefully()
    }
}
