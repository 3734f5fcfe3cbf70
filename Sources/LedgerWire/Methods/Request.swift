package import LedgerTypes

/// A request whose parameters have been read and found valid.
package enum Request: Hashable, Sendable {
    // What the connection itself answers.
    case ping
    /// Without a token where it only says what the connection asks, and how.
    case authenticate(Authentication)
    case info
    /// The service reads its configuration again.
    case reload
    /// What the ledger answers.
    case ledger(LedgerRequest)
}
