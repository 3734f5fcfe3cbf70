/// A purchase as a register ordered by `signedDate`: its newest JWS says how much of it stands. What it was told before
/// is in the blocks and the tables alone, so a register has the same size however often a purchase is signed.
package struct PurchaseRegister: Sendable {
    /// What a purchase grants of one currency, and how much of the price stands for it: kept with the purchase, so
    /// that no later catalog changes an answer about it.
    package struct Grant: Hashable, Sendable {
        package var currency: CurrencyID
        package var units: Int64
        /// The weight of this currency's part of the price among those of all grants.
        package var weight: Int64

        package init(currency: CurrencyID, units: Int64, weight: Int64 = 1) {
            self.currency = currency
            self.units = units
            self.weight = weight
        }
    }

    package var facts: PurchaseFacts
    /// What the catalog granted for the full quantity when the purchase was first recorded.
    package var grants: [Grant]
    package var account: PlayerID?
    /// The `signedDate` of the newest JWS; of what nobody signed, the time of the newest statement.
    package var signedDate: Timestamp
    /// The share that the newest JWS says is revoked.
    package var revoked: Int64
    /// One for each grant, in their order; empty while it has no account.
    package var lots: [LotID]
    /// The last entry that posted something for it.
    package var lastEntry: EntryID?

    package init(
        facts: PurchaseFacts, grants: [Grant], account: PlayerID?, signedDate: Timestamp, revoked: Int64,
        lots: [LotID], lastEntry: EntryID?
    ) {
        self.facts = facts
        self.grants = grants
        self.account = account
        self.signedDate = signedDate
        self.revoked = revoked
        self.lots = lots
        self.lastEntry = lastEntry
    }

    /// The entry that opened a purchase's lots, which are its first transfers, one for each grant.
    package struct Opening: Sendable {
        package var entry: EntryID
        package var firstTransfer: TransferID

        package init(entry: EntryID, firstTransfer: TransferID) {
            self.entry = entry
            self.firstTransfer = firstTransfer
        }
    }

    /// The register that a purchase's rows make.
    /// - Parameters:
    ///   - newest: what its newest JWS says.
    ///   - lastEntry: the last entry that a JWS after the first posted, or the account's assignment.
    package init(
        facts: PurchaseFacts, grants: [Grant], account: PlayerID?, opening: Opening?,
        newest: (signedDate: Timestamp, revoked: Int64), lastEntry: EntryID?
    ) {
        self.init(
            facts: facts, grants: grants, account: account, signedDate: newest.signedDate, revoked: newest.revoked,
            lots: opening.map { opening in grants.indices.map { opening.firstTransfer + Int64($0) } } ?? [],
            lastEntry: lastEntry ?? opening?.entry)
    }

    /// Whether a JWS is newer than what the register knows. Of two signed in the same millisecond the one that
    /// revokes more counts, so that the order of arrival does not matter.
    package func isSuperseded(by signed: SignedPurchase) -> Bool {
        (signed.signedDate, signed.revoked) > (signedDate, revoked)
    }

    /// Each grant's part of the price by its weight, rounded down; the last takes the rest, so that the parts are the
    /// whole.
    package var priceShares: [Int64] {
        let total = grants.reduce(UInt128(0)) { $0 + UInt128($1.weight) }
        var left = facts.price ?? 0
        return grants.indices.map { index in
            if index == grants.count - 1 { return left }
            let part = total == 0 ? 0 : UInt128(facts.price ?? 0) * UInt128(grants[index].weight) / total
            left -= Int64(part)
            return Int64(part)
        }
    }

    /// What stands of `units` when the share `revoked` of it is revoked, rounded up in the player's favour.
    package static func standing(of units: Int64, revoked: Int64) -> Int64 {
        let whole = Limits.wholeShare
        let product = units.multipliedFullWidth(by: whole - revoked)
        let (quotient, remainder) = whole.dividingFullWidth(product)
        return remainder > 0 ? quotient + 1 : quotient
    }
}

extension PurchaseFacts {
    /// What was bought at the price 0, by an offer or promo code, is free currency; where no price is known it counts
    /// as paid.
    package var lotClass: LotClass { price == 0 ? .free : .paid }
}
