/// What the ledger can be asked, by whichever way: the parameters have been read and found valid.
package enum LedgerRequest: Hashable, Sendable {
    case credit(Credit)
    case notify(Notify)
    case keyed(KeyedOperation)
    case atomic(Atomic)
    case link(Link)
    case consent(Consent)
    case balance(BalanceQuery)
    case purchase(PurchaseQuery)
    /// The customer has consented: a request that does not say so is none.
    case consumption(ConsumptionQuery)
    case history(HistoryQuery)
    /// Lots that are open.
    case lots(OpenItemsQuery)
    /// Holds that are open.
    case holds(OpenItemsQuery)
    /// As of now where it names no time.
    case report(ReportRequest)
    case journal(JournalQuery)
    case find(FindQuery)
    case close(ClosePeriod)
    case adjust(ApprovedAdjustment)
    case importLots(LotImport)
    case external(ExternalPurchase)
    /// The last block, signed.
    case head
    /// Erases the account's name.
    case forget(AccountName)
    /// A standby asks for blocks, and says which it has.
    case blocks(BlocksQuery)
    /// Has a standby lead.
    case promote
    /// Has the node that leads give the lead to another.
    case stepDown
}

/// A signed transaction to be posted.
package struct Credit: Hashable, Sendable {
    /// The JWS as it was sent: unverified.
    package var signedTransaction: [UInt8]
    /// The player, where the JWS does not say.
    package var account: AccountName?

    package init(signedTransaction: [UInt8], account: AccountName? = nil) {
        self.signedTransaction = signedTransaction
        self.account = account
    }
}

/// An App Store Server Notification to be posted.
package struct Notify: Hashable, Sendable {
    /// The JWS as it was sent: unverified.
    package var signedPayload: [UInt8]
    /// The player, where the purchase in it does not say.
    package var account: AccountName?

    package init(signedPayload: [UInt8], account: AccountName? = nil) {
        self.signedPayload = signedPayload
        self.account = account
    }
}

/// Asks for balances now, or as of a time that is past.
package struct BalanceQuery: Hashable, Sendable {
    package var account: AccountName
    /// All currencies where it is `nil`.
    package var currency: CurrencyCode?
    /// Entries up to and with this time count; now where it is `nil`.
    package var asOf: Timestamp?

    package init(account: AccountName, currency: CurrencyCode? = nil, asOf: Timestamp? = nil) {
        self.account = account
        self.currency = currency
        self.asOf = asOf
    }
}
