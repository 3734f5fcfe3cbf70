import LedgerEngine
import LedgerWire
import Logging
import NIOCore

/// What every connection uses, the same for all of them.
final class ConnectionServices: Sendable {
    let ledgers: ServedLedgers
    let directory: LedgerDirectory
    let limits: ServerLimits
    let socketMode: UInt32
    /// `nil` without TLS.
    let certificates: ServerCertificates?
    /// Whether clients need a certificate over HTTP, where they need one elsewhere.
    let needsCertificatesOverHTTP: Bool
    let tokens: TokenTable
    let connections: ConnectionRegistry
    let notices: NoticeLog
    let loops: LoopTable
    let clock: @Sendable () -> UInt64
    let memory: ReplyMemory
    let requests: RequestFigures.Table
    let reloads = Reloads()
    let watch: Watch
    /// Of the console.
    let sessions: ConsoleSessions
    /// Whether other machines may watch without a certificate: the network between is trusted.
    let trustsNetwork: Bool
    /// By which names it may be asked over HTTP where nobody needs a token; `nil` where somebody does.
    let hosts: LocalHosts?
    /// The same for the console.
    let consoleHosts: LocalHosts?
    /// The same for metrics, where nobody needs a certificate.
    let watchHosts: LocalHosts?
    let logger: Logger

    /// Whether metrics are told whoever connects from there: from this machine anybody, from others who has a
    /// certificate of an authority that is configured, where the network is not trusted.
    func mayWatch(from address: SocketAddress?) -> Bool {
        trustsNetwork || certificates?.asksClients == true || address?.isLocal ?? true
    }

    /// - Parameter timer: waits for times that are no connection's.
    /// - Throws: ``ServerError`` where the certificates for TLS cannot be used.
    init(
        ledgers: ServedLedgers, configuration: ServerConfiguration, logger: Logger, timer: any EventLoop
    ) throws(ServerError) {
        self.ledgers = ledgers
        directory = ledgers.directory
        limits = configuration.limits
        socketMode = configuration.socketMode
        certificates = try ServerCertificates(configuration)
        needsCertificatesOverHTTP = configuration.needsCertificatesOverHTTP
        tokens = TokenTable(configuration.access, ledgers: ledgers.members.count)
        clock = configuration.clock
        loops = LoopTable(limits: configuration.limits)
        notices = NoticeLog(logger, limits: configuration.limits, timer: timer)
        connections = ConnectionRegistry(configuration.limits, tokens: tokens, notices: notices)
        memory = ReplyMemory(bytesMax: configuration.limits.replyBytesMax)
        hosts = tokens.holderWithoutToken.map { _ in LocalHosts(configuration.listenHTTP) }
        consoleHosts = tokens.holderWithoutToken.map { _ in LocalHosts(configuration.listenConsole) }
        sessions = ConsoleSessions(tokens: tokens, limits: configuration.limits, clock: configuration.clock)
        let isWatchedFreely = certificates == nil && !configuration.allowsInsecurePlaintext
        watchHosts = isWatchedFreely ? LocalHosts(configuration.listenMetrics) : nil
        let spans = configuration.traces.map { [directory] in RequestSpans($0.tracer, directory) }
        requests = RequestFigures.Table(
            ledgers: ledgers.members.count, spans: spans
        ) { [notices, directory] method, place, time in
            var details: Logger.Metadata = ["milliseconds": "\(time / 1_000_000)"]
            if let name = place.flatMap({ directory.name(at: $0) }) { details["ledger"] = "\(name)" }
            notices.note(.slowRequest, "\(method)", details)
        }
        watch = Watch(
            ledgers, limits: configuration.limits, requests: requests, connections: connections, notices: notices,
            certificates: certificates, measureTraces: configuration.traces?.measure)
        trustsNetwork = configuration.allowsInsecurePlaintext
        self.logger = logger
    }
}
