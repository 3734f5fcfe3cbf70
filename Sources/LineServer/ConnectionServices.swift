import LedgerEngine
import LedgerWire
import Logging
import NIOCore

/// What every connection uses, the same for all of them.
final class ConnectionServices: Sendable {
    let ledger: RunningLedger
    let limits: ServerLimits
    let socketMode: UInt32
    /// `nil` without TLS.
    let certificates: ServerCertificates?
    let tokens: TokenTable
    let info: @Sendable () -> ServerInfo
    let connections: ConnectionRegistry
    let notices: NoticeLog
    let loops: LoopShares.Table
    let clock: @Sendable () -> UInt64
    let memory: ReplyMemory
    let logger: Logger

    /// - Parameter timer: waits for times that are no connection's.
    /// - Throws: ``ServerError`` where the certificates for TLS cannot be used.
    init(
        ledger: RunningLedger, configuration: ServerConfiguration, info: @escaping @Sendable () -> ServerInfo,
        logger: Logger, timer: any EventLoop
    ) throws(ServerError) {
        self.ledger = ledger
        limits = configuration.limits
        socketMode = configuration.socketMode
        certificates = try ServerCertificates(configuration)
        tokens = TokenTable(configuration.access)
        clock = configuration.clock
        loops = LoopShares.Table(limits: configuration.limits)
        self.info = info
        notices = NoticeLog(logger, limits: configuration.limits, timer: timer)
        connections = ConnectionRegistry(configuration.limits, tokens: tokens, notices: notices)
        memory = ReplyMemory(bytesMax: configuration.limits.replyBytesMax)
        self.logger = logger
    }
}
