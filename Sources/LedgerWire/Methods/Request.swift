package import LedgerTypes

/// A request whose parameters have been read and found valid.
package enum Request: Hashable, Sendable {
    // What the connection itself answers.
    case ping
    case authenticate(token: String)
    case info
    /// What the ledger answers.
    case ledger(LedgerRequest)
}
