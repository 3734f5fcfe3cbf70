package import LedgerTypes

/// A request whose parameters have been read and found valid.
package enum Request: Hashable, Sendable {
    case ping
    case authenticate(token: String)
    case info
    case credit(signedTransaction: [UInt8], account: AccountName?)
    case notify(signedPayload: [UInt8], account: AccountName?)
    case purchase(TransactionID)
    /// The customer has consented: a request that does not say so is none.
    case consumption(ConsumptionQuery)
    case spend(Spend)
    case reverse(Reversal)
    case hold(Hold)
    case capture(Capture)
    case release(Release)
    case grant(Grant)
    /// Each operation has the atomic's key.
    case atomic(Atomic)
    /// The balances now, or as of a time that is past.
    case balance(account: AccountName, currency: CurrencyCode?, asOf: Timestamp?)
    case history(HistoryQuery)
    /// As of now where `asOf` is `nil`.
    case report(kind: ReportKind, asOf: Timestamp?, currency: CurrencyCode?, limit: Int, after: String?)
    /// Where nothing is newer yet, the first new entry is waited for this long.
    case journal(JournalQuery, waitMilliseconds: Int64)
    /// Erases the account's name.
    case forget(AccountName)

    package var method: Method {
        switch self {
        case .ping: .ping
        case .authenticate: .authenticate
        case .info: .info
        case .credit: .credit
        case .notify: .notify
        case .purchase: .purchase
        case .consumption: .consumption
        case .spend: .spend
        case .reverse: .reverse
        case .hold: .hold
        case .capture: .capture
        case .release: .release
        case .grant: .grant
        case .atomic: .atomic
        case .balance: .balance
        case .history: .history
        case .report: .report
        case .journal: .journal
        case .forget: .forget
        }
    }
}
