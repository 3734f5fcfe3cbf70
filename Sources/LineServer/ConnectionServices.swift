import LedgerEngine
import LedgerWire
import Logging

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
    let notices: ConnectionNotices
    let security: SecurityLog
    let clock: @Sendable () -> UInt64
    let memory: ReplyMemory
    let logger: Logger

    init(
        ledger: RunningLedger, configuration: ServerConfiguration, tokens: TokenTable,
        certificates: ServerCertificates?,
        info: @escaping @Sendable () -> ServerInfo, logger: Logger
    ) {
        self.ledger = ledger
        limits = configuration.limits
        socketMode = configuration.socketMode
        self.certificates = certificates
        self.tokens = tokens
        clock = configuration.clock
        self.info = info
        notices = ConnectionNotices(logger, limits: configuration.limits)
        connections = ConnectionRegistry(
            configuration.limits, hasStrangers: tokens.holderWithoutToken == nil, notices: notices)
        security = SecurityLog(logger, limits: configuration.limits)
        memory = ReplyMemory(bytesMax: configuration.limits.replyBytesMax)
        self.logger = logger
    }
}
