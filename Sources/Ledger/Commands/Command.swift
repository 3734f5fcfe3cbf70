/// What can be asked of the books in a batch.
package enum Command: Sendable {
    case credit(SignedPurchase, account: AccountName?)
    /// Apart, for it is large and rare: the usual commands are cheap to move.
    indirect case notify(SignedNotification, account: AccountName?)
    case keyed(KeyedOperation)
    case atomic(Atomic)
    /// Apart, for it is large and rare.
    indirect case external(StatedPurchase)
    case link(Link)
    case consent(Consent)
    /// With the name of the token that approved it. Apart, for it is large and rare.
    indirect case adjust(Adjustment, approvedBy: String)
    /// Apart, for it is large and rare.
    indirect case importLots(LotImport)
    /// What Apple was told, which only the service itself records. Apart, for it is large and rare.
    indirect case record(AppStoreCall)
    /// Posts what has expired by now of the players that the store found due.
    case expire
    case balance(account: AccountName, currency: CurrencyCode?)
    case consumption(ConsumptionQuery)
    /// Erases an account's name.
    case forget(AccountName)
}

/// The state that a batch of commands reads: a store has it in the books before they decide. Each player comes with
/// those to whom they are linked.
package struct Needs {
    /// Accounts with everything that is open of them.
    package var accounts: [AccountName] = []
    /// Accounts that are credited, or whose balances are told: of a wallet that is ``Wallet/isCreditedWithoutLots``
    /// the lots may stay where they are.
    package var wallets: [AccountName] = []
    /// Accounts of which is posted what has expired by ``time``. Those of which nothing has may stay where they are.
    package var expiring: [AccountName] = []
    /// Whether anything is answered by what is in the books or the tables, rather than refused.
    package var isRead = false
    /// Of the wallets' accounts those that are to be erased: a store looks whether the log can be rid of their names.
    package var erasures: [AccountName] = []
    package var keys: [RequestKey] = []
    /// With a purchase come its account's wallets and its own lots, also those that are used up.
    package var transactions: [TransactionID] = []
    package var notifications: [String] = []
    /// Of which the last end is wanted. Its purchase, and what it answers, are needed as well.
    package var calls: [Books.CallKey] = []
    /// Keys of requests whose spends are to be given back. With each spend come its player, its lots, and what of it
    /// went back.
    package var spends: [RequestKey] = []
    /// Keys of requests whose holds are to be closed. With each hold come its player, and how it ended.
    package var holds: [RequestKey] = []
    /// Whether players are wanted whose holds or lots have expired by the time that an entry has at ``time``, a bounded
    /// number of them.
    package var expirations = false
    /// The time of the batch.
    package var time = Timestamp.max

    package init() {}

    package mutating func add(_ command: Command) {
        isRead = true
        switch command {
        case .credit(let signed, let account):
            add(signed, account)
        case .notify(let signed, let account):
            notifications.append(signed.uuid)
            if let purchase = signed.purchase { add(purchase, account) }
        case .keyed(let operation):
            keys.append(operation.key)
            add(operation)
        case .atomic(let atomic):
            keys.append(atomic.key)
            for operation in atomic.operations { add(operation) }
        case .external(let stated):
            transactions.append(stated.facts.transaction)
            accounts.append(stated.account)
        case .link(let link):
            accounts += [link.token.account, link.account]
        case .consent(let consent):
            keys.append(consent.key)
            wallets.append(consent.account)
        case .adjust(let adjustment, _):
            keys.append(adjustment.key)
            accounts.append(adjustment.account)
        case .importLots(let carried):
            keys.append(carried.key)
            accounts.append(carried.account)
            transactions += carried.lots.compactMap { $0.purchase?.transaction } + carried.usedUp.map(\.transaction)
        case .record(let call):
            transactions.append(call.transaction)
            calls.append(Books.CallKey(call))
            if let uuid = call.notificationUUID { notifications.append(uuid) }
        case .expire:
            expirations = true
        case .balance(let account, _):
            wallets.append(account)
        case .forget(let account):
            wallets.append(account)
            erasures.append(account)
        case .consumption(let query):
            transactions.append(query.transaction)
        }
    }

    private mutating func add(_ operation: KeyedOperation) {
        switch operation {
        case .spend(let spend): accounts.append(spend.account)
        case .reverse(let reversal): spends.append(reversal.spendKey)
        case .grant(let grant): accounts.append(grant.account)
        case .hold(let hold): accounts.append(hold.account)
        case .capture(let capture): holds.append(capture.holdKey)
        case .release(let release): holds.append(release.holdKey)
        }
    }

    private mutating func add(_ signed: SignedPurchase, _ account: AccountName?) {
        transactions.append(signed.facts.transaction)
        // Whether the token is linked to it.
        if signed.facts.token != nil, let account { wallets.append(account) }
        guard let account = signed.facts.token ?? account else { return }
        // What was bought at the price 0 is free currency, beside which a wallet needs all its lots.
        switch signed.facts.lotClass {
        case .paid: wallets.append(account)
        case .free: accounts.append(account)
        }
    }
}
