import Ledger
import LedgerWire
import Logging
import NIOPosix

/// What every connection uses, the same for all of them.
final class ConnectionServices: Sendable {
    let limits: ServerLimits
    let tokens: TokenTable
    let info: ServerInfo
    let sequencer: Sequencer
    let connections: ConnectionRegistry
    let readers: NIOThreadPool
    let logger: Logger
    private let store: any Store

    init(
        limits: ServerLimits, tokens: TokenTable, info: ServerInfo, sequencer: Sequencer,
        connections: ConnectionRegistry, readers: NIOThreadPool, store: any Store, logger: Logger
    ) {
        self.limits = limits
        self.tokens = tokens
        self.info = info
        self.sequencer = sequencer
        self.connections = connections
        self.readers = readers
        self.store = store
        self.logger = logger
    }

    /// Answers a read; on a reader's thread.
    func answer(_ read: Query) -> Reply {
        do {
            return .outcome(try read.answer(from: store))
        } catch {
            logger.error("a read failed", metadata: ["error": "\(error)"])
            return .error((error as? StoreError).map { WireError($0) } ?? .internalError)
        }
    }
}
