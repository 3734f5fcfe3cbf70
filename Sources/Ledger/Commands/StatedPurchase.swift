/// What was stated of one purchase of another store, or of one that other books had credited: nobody signed it.
package struct StatedPurchase: Sendable {
    package var facts: PurchaseFacts
    package var account: AccountName
    /// How much of it is revoked by now, 0 … 100000 thousandths of a percent of the full quantity; `nil` where that is
    /// not said.
    package var revoked: Int64?

    package init(facts: PurchaseFacts, account: AccountName, revoked: Int64?) {
        self.facts = facts
        self.account = account
        self.revoked = revoked
    }

    package init(_ purchase: ExternalPurchase, _ hash: HashFunction) {
        self.init(
            facts: PurchaseFacts(
                transaction: TransactionID(purchase.identity, hash), product: purchase.product,
                quantity: purchase.quantity, purchaseDate: purchase.purchaseDate, price: purchase.price,
                priceCurrency: purchase.priceCurrency, source: .external, external: purchase.identity),
            account: purchase.account, revoked: purchase.revoked)
    }
}

extension TransactionID {
    /// The numbers that purchases of other stores have, where the App Store's ids do not come.
    package static let externalNumbers: ClosedRange<Int64> = 1 << 62...Int64.max

    /// The number that a purchase of another store has in the register: 2^62 and the first 62 bits of SHA-256 over the
    /// store's name, a zero byte, and the store's id. So it is found by these alone, and the register says whether it
    /// is another's.
    package init(_ identity: ExternalIdentity, _ hash: HashFunction) {
        let digest = Digest(of: Array(identity.source.utf8) + [0] + Array(identity.identifier.utf8), hash)
        let first = digest.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(number: 1 << 62 | Int64(first >> 2))
    }
}
