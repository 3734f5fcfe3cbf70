package import LedgerEngine
package import LedgerWire
package import Logging
import NIOCore
package import NIOPosix
import ServiceLifecycle

/// The line protocol in front of a ledger: listens, and answers until it is shut down.
package final class LineService: Service {
    private let configuration: ServerConfiguration
    private let ledger: RunningLedger
    private let group: MultiThreadedEventLoopGroup
    private let info: @Sendable () -> ServerInfo
    private let logger: Logger
    private let bound = Announcement<[ServerAddress]>()
    private let stop: StopSignal
    private let tokens: TokenTable

    /// Ends a service from within the process.
    package final class StopSignal: Sendable {
        fileprivate let announcement = Announcement<Void>()

        package init() {}

        /// As a graceful shutdown.
        package func stop() { announcement.succeed(()) }
    }

    /// - Parameters:
    ///   - group: its event loops; they end after the ledger, which delivers its last answers on them.
    ///   - info: what the method `info` answers.
    ///   - stop: ends it.
    package init(
        configuration: ServerConfiguration, ledger: RunningLedger, group: MultiThreadedEventLoopGroup,
        info: @escaping @Sendable () -> ServerInfo, logger: Logger, stop: StopSignal = StopSignal()
    ) {
        self.configuration = configuration
        self.ledger = ledger
        self.group = group
        self.info = info
        self.logger = logger
        self.stop = stop
        tokens = TokenTable(configuration.access)
    }

    /// Where it listens, with the ports it was given; waits until it does.
    /// - Throws: what keeps it from starting.
    package var boundAddresses: [ServerAddress] {
        get async throws { try await bound.value() }
    }

    /// From now on these tokens hold, and no others, for connections that are open too. Without an effect where the
    /// service was started without tokens.
    package func replaceTokens(by replacement: [Token]) { tokens.replace(by: replacement) }

    /// Serves until the task is cancelled or gracefully shut down. Then nothing new is accepted, and everything
    /// accepted is answered. The ledger goes on.
    /// - Throws: ``ServerError`` where it cannot listen.
    package func run() async throws {
        let services = ConnectionServices(
            ledger: ledger, configuration: configuration, tokens: tokens, info: info, logger: logger)
        var failure: (any Error)?
        var listeners: [any Channel] = []
        do {
            for address in configuration.listen {
                listeners.append(
                    try await Listener(group: group, services: services)
                        .bind(address, isOpen: tokens.holderWithoutToken == nil))
            }
            announce(listeners)
            await shutdownSignal()
            logger.info("shutting down", metadata: ["connections": "\(services.connections.count)"])
        } catch {
            failure = error
            bound.fail(error)
        }

        for listener in listeners { await close(listener) }
        let late = await services.connections.drain(
            timeout: .milliseconds(configuration.limits.shutdownMilliseconds), timer: group.next())
        services.security.close()
        if late > 0 {
            logger.warning("connections were closed with requests unanswered", metadata: ["connections": "\(late)"])
        }
        if let failure { throw failure }
    }

    private func announce(_ listeners: [any Channel]) {
        let addresses = listeners.compactMap { ServerAddress($0.localAddress) }
        if tokens.holderWithoutToken != nil {
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
