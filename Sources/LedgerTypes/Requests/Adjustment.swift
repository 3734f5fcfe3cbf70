/// A correction of a wallet by hand: an entry of its own, which edits nothing that is there.
public struct Adjustment: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// Whose wallet.
    public var account: AccountName
    /// What is corrected.
    public var currency: CurrencyCode
    /// Which lots: what is added opens one of this class, what is taken leaves such lots, the oldest first.
    public var lotClass: LotClass
    /// How much is added; negative where it is taken. Within ±(2^53 − 1), and not 0.
    public var units: Int64
    /// Why, 1 … ``Limits/noteBytesMax`` bytes. The history shows it as the entry's note.
    public var reason: String

    /// A correction. The server refuses as `invalid_params` one of nothing, or without a reason.
    public init(
        key: RequestKey, account: AccountName, currency: CurrencyCode, lotClass: LotClass, units: Int64, reason: String
    ) {
        self.key = key
        self.account = account
        self.currency = currency
        self.lotClass = lotClass
        self.units = units
        self.reason = reason
    }
}

/// A correction with the token of who approves it.
package struct ApprovedAdjustment: Hashable, Sendable {
    package var adjustment: Adjustment
    /// The token, as it was sent. It is compared and forgotten: nothing keeps or tells it.
    package var approval: String

    package init(_ adjustment: Adjustment, approval: String) {
        self.adjustment = adjustment
        self.approval = approval
    }
}
