/// The answer to `atomic`.
public struct AtomicReceipt: Hashable, Sendable {
    /// What one operation did.
    public enum Result: Hashable, Sendable {
        /// The lots it drew, the first ``Limits/lotsPerReceiptMax`` of them, and how many more.
        case spend(drawn: [DrawnLot], more: Int = 0)
        /// What went back into which lots, the first ``Limits/lotsPerReceiptMax`` of them, and how many more.
        case reverse(returned: [DrawnLot], more: Int = 0)
        /// A grant.
        case grant
        /// When the hold is released by itself.
        case hold(expiresAt: Timestamp)
        /// The lots it spent from, the first ``Limits/lotsPerReceiptMax`` of them, and how many more.
        case capture(drawn: [DrawnLot], more: Int = 0)
        /// A release.
        case release
    }

    /// The entry that posted all of it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// One for each operation, in their order.
    public var results: [Result]
    /// The wallets that all of it touched, by account in the order of their names, after all of it.
    public var balances: [AccountBalances]

    /// The answer to `atomic`.
    public init(entry: EntryID, replayed: Bool, results: [Result], balances: [AccountBalances]) {
        self.entry = entry
        self.replayed = replayed
        self.results = results
        self.balances = balances
    }
}
