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
