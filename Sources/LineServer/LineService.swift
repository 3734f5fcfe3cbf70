package import LedgerEngine
package import LedgerWire
package import Logging
import NIOConcurrencyHelpers
import NIOCore
package import NIOPosix
import ServiceLifecycle

/// The line protocol in front of ledgers: listens, and answers until it is shut down.
package final class LineService: Service {
    let configuration: ServerConfiguration
    private let services: ConnectionServices
    private let group: MultiThreadedEventLoopGroup
    private let logger: Logger
    private let bound = Announcement<Bound>()
    private let stop: StopSignal
    /// Held while the configuration is read again.
    private let reloading = NIOLock()

    /// Where it listens.
    private struct Bound {
        var lines: [ServerAddress]
        var http: [ServerAddress]
        var console: [ServerAddress]
        var metrics: [ServerAddress]
    }

    /// Ends a service from within the process.
    package final class StopSignal: Sendable {
        fileprivate let announcement = Announcement<Void>()

        package init() {}

        /// As a graceful shutdown.
        package func stop() { announcement.succeed(()) }
    }

    /// - Parameters:
    ///   - group: its event loops; they end after the ledger, which delivers its last answers on them.
    ///   - stop: ends it.
    /// - Throws: ``ServerError`` where the certificates for TLS cannot be used.
    package init(
        configuration: ServerConfiguration, ledgers: ServedLedgers, group: MultiThreadedEventLoopGroup,
        logger: Logger, stop: StopSignal = StopSignal()
    ) throws(ServerError) {
        self.configuration = configuration
        services = try ConnectionServices(
            ledgers: ledgers, configuration: configuration, logger: logger, timer: group.next())
        for eventLoop in group.makeIterator() { eventLoop.execute(TimeSlices.ofAnswering.ask) }
        self.group = group
        self.logger = logger
        self.stop = stop
    }

    /// Where it listens, with the ports it was given; waits until it does.
    /// - Throws: what keeps it from starting.
    package var boundAddresses: [ServerAddress] {
        get async throws { try await bound.value().lines }
    }

    /// The same of those addresses where it speaks HTTP.
    package var boundHTTPAddresses: [ServerAddress] {
        get async throws { try await bound.value().http }
    }

    /// The same of those where it shows the console.
    package var boundConsoleAddresses: [ServerAddress] {
        get async throws { try await bound.value().console }
    }

    /// The same of those where it tells metrics.
    package var boundMetricsAddresses: [ServerAddress] {
        get async throws { try await bound.value().metrics }
    }

    /// Connections that are served.
    package var connectionCount: Int { services.connections.count }

    /// Whether clients need tokens.
    var needsTokens: Bool { services.tokens.holderWithoutToken == nil }

    /// From how long on a request is slow.
    package var slowRequests: SlowNotice { services.requests.slow }

    /// Has clients ask for what ``reload(_:)`` does.
    /// - Parameter reload: does it; may block.
    package func takeReloads(_ reload: @escaping @Sendable () -> ReloadReport) { services.reloads.begin(reload) }

    /// Replaces what can change while the service runs: all that is read, or nothing where something of it cannot be
    /// used. No connection is dropped but those whose client may do less now, or has another ledger. One after the
    /// other; may block.
    /// - Parameter read: reads it.
    /// - Returns: what is different now, or what is wrong.
    @discardableResult
    package func reload(_ read: () throws -> ServerConfiguration.Renewal) -> ReloadReport {
        reloading.withLock {
            let renewal: ServerConfiguration.Renewal
            let checked: (tokens: [Token]?, certificates: ServerCertificates.Checked?)
            do {
                renewal = try read()
                checked = try check(renewal)
            } catch {
                logger.error(
                    "what was read again cannot be used, and all settings stay as they were",
                    metadata: ["error": "\(error)"])
                return ReloadReport(applied: false, faults: "\(error)".split(separator: "\n").map(String.init))
            }
            // In this order: no connection comes under the names of now by the authorities of before.
            if let new = checked.certificates { services.certificates?.replace(by: new) }
            renewal.apply()
            if let tokens = checked.tokens {
                services.tokens.replace(by: tokens)
                services.connections.renewIdentities()
                logger.notice("the tokens were read again", metadata: ["tokens": "\(tokens.count)"])
            }
            if let certificates = services.certificates {
                logger.notice(
                    "the certificates for TLS were read again", metadata: ["daysLeft": "\(certificates.daysLeft)"])
                warnOfCertificates()
            }
            for change in renewal.changes { log(change) }
            return ReloadReport(applied: true, changes: renewal.changes.map(\.description))
        }
    }

    private func log(_ change: SettingChange) {
        var metadata: Logger.Metadata = ["setting": "\(change.setting)"]
        if let word = change.word {
            metadata["change"] = "\(word)"
        } else {
            metadata["old"] = "\(change.old ?? "default")"
            metadata["new"] = "\(change.new ?? "default")"
        }
        logger.notice("a setting is another now", metadata: metadata)
    }

    /// What replaces the tokens, where clients need some, and the certificates, where the service speaks TLS.
    private func check(
        _ renewal: ServerConfiguration.Renewal
    ) throws(ServerError) -> (tokens: [Token]?, certificates: ServerCertificates.Checked?) {
        var tokens: [Token]?
        if case .tokens(let new) = renewal.access { tokens = new }
        guard (tokens != nil) == needsTokens else {
            throw ServerError(.unchangeable, "whether clients need tokens can change only at a start")
        }
        switch (renewal.tls, services.certificates) {
        case (nil, nil): return (tokens, nil)
        case (let tls?, let certificates?): return (tokens, try certificates.read(tls))
        case (nil, _?), (_?, nil):
            throw ServerError(.unchangeable, "whether addresses speak TLS can change only at a start")
        }
    }

    /// Serves until the task is cancelled or gracefully shut down. Then nothing new is accepted, and everything
    /// accepted is answered. The ledger goes on.
    /// - Throws: ``ServerError`` where it cannot listen.
    package func run() async throws {
        var failure: (any Error)?
        var listeners: [ListeningSocket] = []
        var watched: [ListeningSocket] = []
        do {
            for address in configuration.listenMetrics { watched.append(try await bind(address, .watching)) }
            for address in configuration.listen { listeners.append(try await bind(address, .lines)) }
            for address in configuration.listenHTTP { listeners.append(try await bind(address, .http)) }
            for address in configuration.listenConsole { listeners.append(try await bind(address, .console)) }
            announce(listeners.map(\.channel), watched.map(\.channel))
            let looks = lookAtCertificates()
            defer { looks?.cancel() }
            await shutdownSignal()
            logger.info("shutting down", metadata: ["connections": "\(services.connections.count)"])
        } catch {
            failure = error
            bound.fail(error)
        }

        services.watch.beginShutdown()
        for listener in listeners { await close(listener) }
        async let handingOver: Void = services.ledgers.handOver(
            after: configuration.limits.handOverMilliseconds)
        let late = await services.connections.drain(
            timeout: .milliseconds(configuration.limits.shutdownMilliseconds), timer: group.next())
        await handingOver
        services.notices.close()
        // The last, so that somebody who watches sees how the rest ends.
        for listener in watched { await close(listener) }
        if late > 0 {
            logger.warning("connections were closed with requests unanswered", metadata: ["connections": "\(late)"])
        }
        if let failure { throw failure }
    }

    private func bind(_ address: ServerAddress, _ speech: Speech) async throws -> ListeningSocket {
        let lacks: [String]
        switch speech {
        case .lines, .http, .console: lacks = configuration.protectionLacking
        case .watching:
            lacks = configuration.watchProtectionLacking(asksClients: services.certificates?.asksClients == true)
        }
        return try await Listener(group: group, services: services, speech: speech).bind(address, lacks: lacks)
    }

    /// - Parameters:
    ///   - listeners: those of the line protocol, behind them those of HTTP, and behind these those of the console.
    ///   - watched: those where metrics are told.
    private func announce(_ listeners: [any Channel], _ watched: [any Channel]) {
        let metrics = watched.compactMap { ServerAddress($0.localAddress) }
        let addresses = listeners.compactMap { ServerAddress($0.localAddress) }
        let lines = Array(addresses.prefix(configuration.listen.count))
        let http = Array(addresses.dropFirst(configuration.listen.count).prefix(configuration.listenHTTP.count))
        let console = Array(addresses.dropFirst(configuration.listen.count + configuration.listenHTTP.count))
        if !needsTokens {
            logger.notice("no tokens are configured: whoever can connect from this machine has the role admin")
        }
        warnOfCertificates()
        warnOfClientCertificates()
        var metadata: Logger.Metadata = ["addresses": "\(lines.map(\.description).joined(separator: " "))"]
        if !http.isEmpty { metadata["http"] = "\(http.map(\.description).joined(separator: " "))" }
        if !console.isEmpty { metadata["console"] = "\(console.map(\.description).joined(separator: " "))" }
        if !metrics.isEmpty { metadata["metrics"] = "\(metrics.map(\.description).joined(separator: " "))" }
        logger.info("listening", metadata: metadata)
        bound.succeed(Bound(lines: lines, http: http, console: console, metrics: metrics))
    }

    /// Tells the operator, once a day, when the certificate runs out soon; `nil` without TLS.
    private func lookAtCertificates() -> RepeatedTask? {
        if services.certificates == nil { return nil }
        let interval = TimeAmount.milliseconds(configuration.limits.certificateLookMilliseconds)
        return group.next().scheduleRepeatedTask(initialDelay: interval, delay: interval) { [weak self] _ in
            self?.warnOfCertificates()
        }
    }

    private func warnOfCertificates() {
        guard let days = services.certificates?.daysLeft else { return }
        if days < 0 {
            logger.warning(
                "the certificate for TLS has expired: clients refuse it until another one is read",
                metadata: ["daysLeft": "\(days)"])
        } else if days < configuration.limits.certificateDaysLow {
            logger.warning(
                "the certificate for TLS runs out soon: put another one in its place and send SIGHUP",
                metadata: ["daysLeft": "\(days)"])
        }
    }

    /// Tells the operator where the App Store, which has no certificate of theirs, is not let in.
    private func warnOfClientCertificates() {
        guard services.needsCertificatesOverHTTP, services.certificates?.asksClients == true else { return }
        let shut = configuration.listenHTTP.filter { if case .tcp = $0 { true } else { false } }
        if shut.isEmpty { return }
        logger.warning(
            """
            the App Store cannot post notifications here, for clients need a certificate of tls.clientCA: \
            set http.clientCertificates to false, or put a proxy before it
            """, metadata: ["http": "\(shut.map(\.description).joined(separator: " "))"])
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

    private func close(_ listener: ListeningSocket) async {
        do {
            try await listener.close()
        } catch {
            logger.error("a listening socket could not be closed", metadata: ["error": "\(error)"])
        }
    }
}
