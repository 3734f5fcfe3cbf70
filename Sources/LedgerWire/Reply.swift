package import LedgerTypes

/// The answer to one request.
package enum Reply: Sendable {
    case pong
    case authenticated(Role)
    case info(ServerInfo)
    /// Of the ledger; a refusal becomes an error.
    case outcome(Outcome)
    /// As of a time that is past.
    case balances(AccountBalances)
    case history(HistoryPage)
    case report(ReportPage)
    case journal(JournalPage)
    case error(WireError)
}
