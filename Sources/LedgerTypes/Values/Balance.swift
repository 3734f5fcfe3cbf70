/// One wallet's balance. `available` is never negative.
public struct Balance: Hashable, Sendable {
    /// What can be spent.
    public var available: Int64
    /// What holds have set aside.
    public var held: Int64
    /// What later credits pay first.
    public var debt: Int64
    /// The part of `available` that was bought.
    public var paid: Int64
    /// How many entries have changed the wallet.
    public var version: Int64

    /// The part of `available` that was given.
    public var free: Int64 { available - paid }

    /// A balance; all zero for a wallet never touched.
    public init(available: Int64 = 0, held: Int64 = 0, debt: Int64 = 0, paid: Int64 = 0, version: Int64 = 0) {
        self.available = available
        self.held = held
        self.debt = debt
        self.paid = paid
        self.version = version
    }
}

/// A wallet's balance with its currency.
public struct CurrencyBalance: Hashable, Sendable {
    /// The currency.
    public var currency: CurrencyCode
    /// The balance.
    public var balance: Balance

    /// A wallet's balance with its currency.
    public init(currency: CurrencyCode, balance: Balance) {
        self.currency = currency
        self.balance = balance
    }
}

/// The answer to `balance`.
public struct AccountBalances: Hashable, Sendable {
    /// Whose.
    public var account: AccountName
    /// Every wallet that the account has, by currency; empty for an account never seen.
    public var balances: [CurrencyBalance]

    /// The answer to `balance`.
    public init(account: AccountName, balances: [CurrencyBalance]) {
        self.account = account
        self.balances = balances
    }
}
