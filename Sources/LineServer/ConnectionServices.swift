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
    let tokens: TokenTable
    let connections: ConnectionRegistry
    let notices: NoticeLog
    let loops: LoopShares.Table
    let clock: @Sendable () -> UInt64
    let memory: ReplyMemory
    let logger: Logger

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
        tokens = TokenTable(configuration.access, ledgers: ledgers.members.count)
        clock = configuration.clock
        loops = LoopShares.Table(limits: configuration.limits)
        notices = NoticeLog(logger, limits: configuration.limits, timer: timer)
        connections = ConnectionRegistry(configuration.limits, tokens: tokens, notices: notices)
        memory = ReplyMemory(bytesMax: configuration.limits.replyBytesMax)
        self.logger = logger
    }
}
