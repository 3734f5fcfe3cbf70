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
    let clock: @Sendable () -> UInt64
    let memory: ReplyMemory
    let logger: Logger

    init(
        ledger: RunningLedger, configuration: ServerConfiguration, tokens: TokenTable,
        certificates: ServerCertificates?, info: @escaping @Sendable () -> ServerInfo, logger: Logger,
        timer: any EventLoop
    ) {
        self.ledger = ledger
        limits = configuration.limits
        socketMode = configuration.socketMode
        self.certificates = certificates
        self.tokens = tokens
        clock = configuration.clock
        self.info = info
        notices = NoticeLog(logger, limits: configuration.limits, timer: timer)
        connections = ConnectionRegistry(
            configuration.limits, hasStrangers: tokens.holderWithoutToken == nil, notices: notices)
        memory = ReplyMemory(bytesMax: configuration.limits.replyBytesMax)
        self.logger = logger
    }
}
