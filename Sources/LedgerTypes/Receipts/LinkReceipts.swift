/// What a link did.
public enum LinkOutcome: String, CaseIterable, Sendable {
    /// The token is the account's from now on, with all that it had.
    case linked
    /// It was the account's already.
    case alreadyLinked = "already_linked"
    /// It was another account's; from now on it is this one's.
    case relinked
}

/// The answer to `link` and to `relink`.
public struct LinkReceipt: Hashable, Sendable {
    /// What it did.
    public var outcome: LinkOutcome
    /// Whose the token is: the account that was named, or the one to which that is linked in turn.
    public var account: AccountName
    /// The entry that moved what the token's wallets had when it was first linked; `nil` where they had nothing.
    public var entry: EntryID?
    /// What this request moved: the wallets of the token that had something, as they were. Empty where nothing moved.
    public var moved: [CurrencyBalance]
    /// All wallets of the account.
    public var balances: [CurrencyBalance]

    /// The answer to `link`.
    public init(
        outcome: LinkOutcome, account: AccountName, entry: EntryID?, moved: [CurrencyBalance],
        balances: [CurrencyBalance]
    ) {
        self.outcome = outcome
        self.account = account
        self.entry = entry
        self.moved = moved
        self.balances = balances
    }
}

/// The answer to `consent`.
public struct ConsentReceipt: Hashable, Sendable {
    /// What was recorded.
    public var consumption: Bool
    /// When.
    public var time: Timestamp
    /// Whether this is the first answer given again.
    public var replayed: Bool

    /// The answer to `consent`.
    public init(consumption: Bool, time: Timestamp, replayed: Bool) {
        self.consumption = consumption
        self.time = time
        self.replayed = replayed
    }
}
