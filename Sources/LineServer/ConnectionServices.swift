import LedgerEngine
import LedgerWire
import Logging

/// What every connection uses, the same for all of them.
final class ConnectionServices: Sendable {
    let ledger: RunningLedger
    let limits: ServerLimits
    let socketMode: UInt32
    let tokens: TokenTable
    let info: @Sendable () -> ServerInfo
    let connections: ConnectionRegistry
    let notices: ConnectionNotices
    let logger: Logger

    init(
        ledger: RunningLedger, configuration: ServerConfiguration, info: @escaping @Sendable () -> ServerInfo,
        logger: Logger
    ) {
        self.ledger = ledger
        limits = configuration.limits
        socketMode = configuration.socketMode
        tokens = TokenTable(configuration.tokens)
        self.info = info
        notices = ConnectionNotices(logger, limits: configuration.limits)
        connections = ConnectionRegistry(configuration.limits, hasStrangers: !tokens.isEmpty, notices: notices)
        self.logger = logger
    }
}
