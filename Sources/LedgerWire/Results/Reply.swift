package import LedgerTypes

/// The answer to one request: the ledger's, or the server's own.
package enum Reply: Sendable {
    case pong
    case authenticated(Identity)
    case info(ServerInfo)
    /// Of the ledger; a refusal becomes an error.
    case outcome(Outcome)
    case error(WireError)
}
