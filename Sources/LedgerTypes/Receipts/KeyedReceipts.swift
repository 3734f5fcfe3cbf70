/// What a spend took from one lot.
public struct DrawnLot: Hashable, Sendable {
    /// The currency.
    public var currency: CurrencyCode
    /// How much of it.
    public var amount: Amount
    /// From which lot.
    public var lot: LotID
    /// The purchase that the lot came from; `nil` for free currency.
    public var transaction: TransactionID?

    /// What a spend took from one lot.
    public init(currency: CurrencyCode, amount: Amount, lot: LotID, transaction: TransactionID?) {
        self.currency = currency
        self.amount = amount
        self.lot = lot
        self.transaction = transaction
    }
}

/// The answer to `spend`.
public struct SpendReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// The lots it drew, in the order drawn; the first ``Limits/lotsPerReceiptMax`` of them.
    public var drawn: [DrawnLot]
    /// How many more lots it drew. `history` shows them all.
    public var drawnMore: Int
    /// The wallets it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `spend`.
    public init(
        entry: EntryID, replayed: Bool, drawn: [DrawnLot], drawnMore: Int = 0, balances: [CurrencyBalance]
    ) {
        self.entry = entry
        self.replayed = replayed
        self.drawn = drawn
        self.drawnMore = drawnMore
        self.balances = balances
    }
}

/// The answer to `adjust`.
public struct AdjustmentReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// The wallet it corrected.
    public var balances: [CurrencyBalance]

    /// The answer to `adjust`.
    public init(entry: EntryID, replayed: Bool, balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.balances = balances
    }
}

/// The answer to `grant`.
public struct GrantReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// The wallet it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `grant`.
    public init(entry: EntryID, replayed: Bool, balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.balances = balances
    }
}

/// The answer to `reverse`.
public struct ReversalReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// What went back into which lots; the first ``Limits/lotsPerReceiptMax`` of them.
    public var returned: [DrawnLot]
    /// Into how many more lots something went back. `history` shows them all.
    public var returnedMore: Int
    /// The wallets it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `reverse`.
    public init(
        entry: EntryID, replayed: Bool, returned: [DrawnLot], returnedMore: Int = 0, balances: [CurrencyBalance]
    ) {
        self.entry = entry
        self.replayed = replayed
        self.returned = returned
        self.returnedMore = returnedMore
        self.balances = balances
    }
}

/// The answer to `hold`.
public struct HoldReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// When the hold is released by itself.
    public var expiresAt: Timestamp
    /// The wallet it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `hold`.
    public init(entry: EntryID, replayed: Bool, expiresAt: Timestamp, balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.expiresAt = expiresAt
        self.balances = balances
    }
}

/// The answer to `capture`.
public struct CaptureReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// The lots it spent from; the first ``Limits/lotsPerReceiptMax`` of them.
    public var drawn: [DrawnLot]
    /// From how many more lots it spent. `history` shows them all.
    public var drawnMore: Int
    /// The wallet it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `capture`.
    public init(
        entry: EntryID, replayed: Bool, drawn: [DrawnLot], drawnMore: Int = 0, balances: [CurrencyBalance]
    ) {
        self.entry = entry
        self.replayed = replayed
        self.drawn = drawn
        self.drawnMore = drawnMore
        self.balances = balances
    }
}

/// The answer to `release`.
public struct ReleaseReceipt: Hashable, Sendable {
    /// The entry that posted it.
    public var entry: EntryID
    /// Whether this is the first answer given again.
    public var replayed: Bool
    /// The wallet it touched.
    public var balances: [CurrencyBalance]

    /// The answer to `release`.
    public init(entry: EntryID, replayed: Bool, balances: [CurrencyBalance]) {
        self.entry = entry
        self.replayed = replayed
        self.balances = balances
    }
}
