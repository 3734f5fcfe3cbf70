package import LedgerTypes

/// The answer to one request: the ledger's, or the server's own.
package enum Reply: Sendable {
    case pong
    case authenticated(Identity)
    case info(ServerInfo)
    case reloaded(ReloadReport)
    /// Of the ledger; a refusal becomes an error.
    case outcome(Outcome)
    case error(WireError)
}

extension Reply {
    /// Whether it is an error.
    package var isError: Bool {
        switch self {
        case .error, .outcome(.refused): true
        case .pong, .authenticated, .info, .reloaded, .outcome: false
        }
    }

    /// Why nothing was changed; `nil` of a result.
    package var error: WireError? {
        switch self {
        case .error(let error): error
        case .outcome(.refused(let refusal)): WireError(refusal)
        case .pong, .authenticated, .info, .reloaded, .outcome: nil
        }
    }
}
