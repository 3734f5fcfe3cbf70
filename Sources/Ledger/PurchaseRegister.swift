/// A purchase as a register ordered by `signedDate`: its newest JWS says how much of it stands.
package struct PurchaseRegister: Sendable {
    /// An amount of a currency, by number.
    package struct Grant: Hashable, Sendable {
        package var currency: CurrencyID
        package var units: Int64

        package init(currency: CurrencyID, units: Int64) {
            self.currency = currency
            self.units = units
        }
    }

    package var facts: PurchaseFacts
    /// What the catalog granted for the full quantity when the purchase was first recorded.
    package var grants: [Grant]
    package var account: PlayerID?
    /// The `signedDate` of the newest JWS.
    package var signedDate: Timestamp
    /// The share that the newest JWS says is revoked.
    package var revoked: Int64
    /// One for each grant, in their order; empty while it has no account.
    package var lots: [LotID]
    /// The last entry that posted something for it.
    package var lastEntry: EntryID?
    package var events: [PurchaseView.Event]

    package init(
        facts: PurchaseFacts, grants: [Grant], account: PlayerID?, signedDate: Timestamp, revoked: Int64,
        lots: [LotID], lastEntry: EntryID?, events: [PurchaseView.Event]
    ) {
        self.facts = facts
        self.grants = grants
        self.account = account
        self.signedDate = signedDate
        self.revoked = revoked
        self.lots = lots
        self.lastEntry = lastEntry
        self.events = events
    }

    /// Whether a JWS is newer than what the register knows. Of two signed in the same millisecond the one that
    /// revokes more counts, so that the order of arrival does not matter.
    package func isSuperseded(by signed: SignedPurchase) -> Bool {
        (signed.signedDate, signed.revoked) > (signedDate, revoked)
    }

    /// What stands of `units` when the share `revoked` of it is revoked, rounded up in the player's favour.
    package static func standing(of units: Int64, revoked: Int64) -> Int64 {
        let whole = Limits.wholeShare
        let product = units.multipliedFullWidth(by: whole - revoked)
        let (quotient, remainder) = whole.dividingFullWidth(product)
        return remainder > 0 ? quotient + 1 : quotient
    }
}
