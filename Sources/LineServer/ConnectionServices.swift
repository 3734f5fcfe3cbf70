import LedgerEngine
import LedgerWire
import Logging

/// What every connection uses, the same for all of them.
final class ConnectionServices: Sendable {
    let ledger: RunningLedger
    let limits: ServerLimits
    let tokens: TokenTable
    let info: @Sendable () -> ServerInfo
    let connections: ConnectionRegistry
    let logger: Logger

    init(
        ledger: RunningLedger, configuration: ServerConfiguration, info: @escaping @Sendable () -> ServerInfo,
        logger: Logger
    ) {
        self.ledger = ledger
        limits = configuration.limits
        tokens = TokenTable(configuration.tokens)
        self.info = info
        connections = ConnectionRegistry(configuration.limits)
        self.logger = logger
    }
}
