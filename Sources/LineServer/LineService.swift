package import LedgerEngine
package import LedgerWire
package import Logging
import NIOCore
package import NIOPosix
import ServiceLifecycle

/// The line protocol in front of a ledger: listens, and answers until it is shut down.
package final class LineService: Service {
    private let configuration: ServerConfiguration
    private let certificates: ServerCertificates?
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
    /// - Throws: ``ServerError`` where the certificates for TLS cannot be used.
    package init(
        configuration: ServerConfiguration, ledger: RunningLedger, group: MultiThreadedEventLoopGroup,
        info: @escaping @Sendable () -> ServerInfo, logger: Logger, stop: StopSignal = StopSignal()
    ) throws(ServerError) {
        self.configuration = configuration
        certificates = try ServerCertificates(configuration)
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

    /// Reads what can change while it runs: the tokens, which hold from now on and no others, for connections that are
    /// open too; and the certificates for TLS, for connections to come. What cannot be used is said in the log, and the
    /// old stays.
    /// - Parameter tokens: reads them; not called where the service was started without.
    package func reload(tokens read: () throws -> [Token]) {
        if tokens.holderWithoutToken == nil {
            do {
                let new = try read()
                tokens.replace(by: new)
                logger.notice("the tokens were read again", metadata: ["tokens": "\(new.count)"])
            } catch {
                logger.error("the tokens cannot be used, and the old ones stay", metadata: ["error": "\(error)"])
            }
        }
        guard let certificates else { return }
        do throws(ServerError) {
            try certificates.reload()
            logger.notice(
                "the certificates for TLS were read again", metadata: ["daysLeft": "\(certificates.daysLeft)"])
        } catch {
            logger.error(
                "the certificates for TLS cannot be used, and the old ones stay", metadata: ["error": "\(error)"])
        }
    }

    /// Serves until the task is cancelled or gracefully shut down. Then nothing new is accepted, and everything
    /// accepted is answered. The ledger goes on.
    /// - Throws: ``ServerError`` where it cannot listen.
    package func run() async throws {
        let services = ConnectionServices(
            ledger: ledger, configuration: configuration, tokens: tokens, certificates: certificates, info: info,
            logger: logger, timer: group.next())
        var failure: (any Error)?
        var listeners: [any Channel] = []
        do {
            for address in configuration.listen {
                listeners.append(
                    try await Listener(group: group, services: services)
                        .bind(address, lacks: configuration.protectionLacking))
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
        services.notices.close()
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
        if let certificates, certificates.daysLeft < 0 {
            logger.warning(
                "the certificate for TLS has expired: clients refuse it until another one is read",
                metadata: ["daysLeft": "\(certificates.daysLeft)"])
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
