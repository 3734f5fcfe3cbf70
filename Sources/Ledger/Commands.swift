/// Which lots a spend may draw.
public enum Funds: String, CaseIterable, Sendable {
    /// All of them, in the currency's order.
    case any
    /// Paid lots only.
    case paid
}

/// Debits a player's wallets, all or nothing.
public struct Spend: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// Whose wallets.
    public var account: AccountName
    /// 1 … 16 different currencies.
    public var debits: [CurrencyAmount]
    /// What a support agent should read beside it.
    public var note: String?
    /// Which lots may be drawn.
    public var funds: Funds
    /// Refuse unless the wallet's version is this one (only with one debit).
    public var expectedVersion: Int64?
    /// Refuse unless this much would be left available (only with one debit).
    public var minimumRemaining: Int64?

    /// A spend. The server refuses as `invalid_params` one whose debits name a currency twice or are too many.
    public init(
        key: RequestKey, account: AccountName, debits: [CurrencyAmount], note: String? = nil, funds: Funds = .any,
        expectedVersion: Int64? = nil, minimumRemaining: Int64? = nil
    ) {
        self.key = key
        self.account = account
        self.debits = debits
        self.note = note
        self.funds = funds
        self.expectedVersion = expectedVersion
        self.minimumRemaining = minimumRemaining
    }
}

/// Gives free currency: a reward, a compensation.
public struct Grant: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// Whose wallet.
    public var account: AccountName
    /// What is given.
    public var currency: CurrencyCode
    /// How much.
    public var amount: Amount
    /// What a support agent should read beside it.
    public var note: String?
    /// From when on it can no longer be spent; never where `nil`.
    public var expiresAt: Timestamp?

    /// A grant of free currency.
    public init(
        key: RequestKey, account: AccountName, currency: CurrencyCode, amount: Amount, note: String? = nil,
        expiresAt: Timestamp? = nil
    ) {
        self.key = key
        self.account = account
        self.currency = currency
        self.amount = amount
        self.note = note
        self.expiresAt = expiresAt
    }
}

/// Gives a spend, or a part of it, back into the lots it came from. Repeatable up to the whole.
public struct Reversal: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// The key of the spend (or of the capture) that is given back.
    public var spendKey: RequestKey
    /// Where `spendKey` is an atomic's with several spends: the index of the operation.
    public var operation: Int?
    /// How much of each currency; all that is not given back yet where `nil`.
    public var debits: [CurrencyAmount]?

    /// A reversal. The server refuses as `invalid_params` one whose debits name a currency twice or are too many.
    public init(key: RequestKey, spendKey: RequestKey, operation: Int? = nil, debits: [CurrencyAmount]? = nil) {
        self.key = key
        self.spendKey = spendKey
        self.operation = operation
        self.debits = debits
    }
}

/// Sets currency aside until it is captured, released, or its time is over.
public struct Hold: Hashable, Sendable {
    /// The caller's name for this request, by which the hold is captured or released.
    public var key: RequestKey
    /// Whose wallet.
    public var account: AccountName
    /// What is set aside.
    public var currency: CurrencyCode
    /// How much.
    public var amount: Amount
    /// For how long, 1 … ``Limits/holdMillisecondsMax``.
    public var timeoutMilliseconds: Int64

    /// A hold.
    public init(
        key: RequestKey, account: AccountName, currency: CurrencyCode, amount: Amount, timeoutMilliseconds: Int64
    ) {
        self.key = key
        self.account = account
        self.currency = currency
        self.amount = amount
        self.timeoutMilliseconds = timeoutMilliseconds
    }
}

/// Spends a hold, or so much of it and releases the rest: either way the hold is closed.
public struct Capture: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// The key of the hold.
    public var holdKey: RequestKey
    /// Where `holdKey` is an atomic's with several holds: the index of the operation.
    public var operation: Int?
    /// How much of it; the whole where `nil`.
    public var amount: Amount?

    /// A capture.
    public init(key: RequestKey, holdKey: RequestKey, operation: Int? = nil, amount: Amount? = nil) {
        self.key = key
        self.holdKey = holdKey
        self.operation = operation
        self.amount = amount
    }
}

/// Gives a hold back, which closes it.
public struct Release: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// The key of the hold.
    public var holdKey: RequestKey
    /// Where `holdKey` is an atomic's with several holds: the index of the operation.
    public var operation: Int?

    /// A release.
    public init(key: RequestKey, holdKey: RequestKey, operation: Int? = nil) {
        self.key = key
        self.holdKey = holdKey
        self.operation = operation
    }
}

/// One operation of an ``Atomic``. Its own key is the atomic's.
public enum AtomicOperation: Hashable, Sendable {
    /// A spend.
    case spend(Spend)
    /// A reversal.
    case reverse(Reversal)
    /// A grant.
    case grant(Grant)
    /// A hold.
    case hold(Hold)
    /// A capture.
    case capture(Capture)
    /// A release.
    case release(Release)
}

/// Operations over any accounts that happen together, in their order, or not at all.
public struct Atomic: Hashable, Sendable {
    /// The caller's name for this request, and of every operation in it.
    public var key: RequestKey
    /// 2 … ``Limits/atomicOperationsMax``, each with the atomic's key.
    public var operations: [AtomicOperation]

    /// An atomic. The server refuses as `invalid_params` one with too few or too many operations.
    public init(key: RequestKey, operations: [AtomicOperation]) {
        self.key = key
        self.operations = operations
    }
}

/// What can be asked of the books in a batch.
package enum Command: Sendable {
    case credit(SignedPurchase, account: AccountName?)
    /// Apart, for it is large and rare: the usual commands are cheap to move.
    indirect case notify(SignedNotification, account: AccountName?)
    case spend(Spend)
    case grant(Grant)
    case reverse(Reversal)
    case hold(Hold)
    case capture(Capture)
    case release(Release)
    case atomic(Atomic)
    /// Posts what has expired by now of the players that the store found due.
    case expire
    case balance(account: AccountName, currency: CurrencyCode?)
    case purchase(TransactionID)
    case consumption(ConsumptionQuery)
    /// Erases an account's name.
    case forget(AccountName)
}

/// The state that a batch of commands reads: a store has it in the books before they decide.
package struct Needs {
    /// Accounts with everything that is open of them.
    package var accounts: [AccountName] = []
    /// Accounts that are credited, or whose balances are told: of a wallet that is ``Wallet/isCreditedWithoutLots``
    /// the lots may stay where they are.
    package var wallets: [AccountName] = []
    package var keys: [RequestKey] = []
    /// With a purchase come its account's wallets and its own lots, also those that are used up.
    package var transactions: [TransactionID] = []
    package var notifications: [String] = []
    /// Keys of requests whose spends are to be given back. With each spend come its player, its lots, and what of it
    /// went back.
    package var spends: [RequestKey] = []
    /// Keys of requests whose holds are to be closed. With each hold come its player, and how it ended.
    package var holds: [RequestKey] = []
    /// Whether players are wanted whose holds or lots have expired, a bounded number of them.
    package var expirations = false

    package init() {}

    package mutating func add(_ command: Command) {
        switch command {
        case .credit(let signed, let account):
            add(signed, account)
        case .notify(let signed, let account):
            notifications.append(signed.uuid)
            if let purchase = signed.purchase { add(purchase, account) }
        case .spend(let spend):
            keys.append(spend.key)
            accounts.append(spend.account)
        case .grant(let grant):
            keys.append(grant.key)
            accounts.append(grant.account)
        case .reverse(let reversal):
            keys.append(reversal.key)
            spends.append(reversal.spendKey)
        case .hold(let hold):
            keys.append(hold.key)
            accounts.append(hold.account)
        case .capture(let capture):
            keys.append(capture.key)
            holds.append(capture.holdKey)
        case .release(let release):
            keys.append(release.key)
            holds.append(release.holdKey)
        case .atomic(let atomic):
            keys.append(atomic.key)
            for operation in atomic.operations { add(operation) }
        case .expire:
            expirations = true
        case .balance(let account, _), .forget(let account):
            wallets.append(account)
        case .purchase(let transaction):
            transactions.append(transaction)
        case .consumption(let query):
            transactions.append(query.transaction)
        }
    }

    private mutating func add(_ operation: AtomicOperation) {
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
        guard let account = signed.facts.token ?? account else { return }
        // What was bought at the price 0 is free currency, beside which a wallet needs all its lots.
        switch signed.facts.lotClass {
        case .paid: wallets.append(account)
        case .free: accounts.append(account)
        }
    }
}
