/// What a player brings along from the books that a game kept before: all of it is posted, or none.
public struct LotImport: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// Whose it is.
    public var account: AccountName
    /// What is left of each purchase and of each gift, 1 … ``Limits/importedLotsMax``.
    public var lots: [ImportedLot]

    /// An import. The server refuses as `invalid_params` what ``ImportedLot`` does not allow.
    public init(key: RequestKey, account: AccountName, lots: [ImportedLot]) {
        self.key = key
        self.account = account
        self.lots = lots
    }
}

/// What a player has left of one purchase, or of one gift.
public struct ImportedLot: Hashable, Sendable {
    /// In which currency.
    public var currency: CurrencyCode
    /// How much is left.
    public var amount: Amount
    /// What it was bought by; `nil` where nobody bought it. Lots of one purchase are of different currencies and say
    /// the same of it, but for their prices.
    public var purchase: ImportedPurchase?

    /// What a player has left.
    public init(currency: CurrencyCode, amount: Amount, purchase: ImportedPurchase? = nil) {
        self.currency = currency
        self.amount = amount
        self.purchase = purchase
    }
}

/// A purchase of the App Store that other books had credited.
public struct ImportedPurchase: Hashable, Sendable {
    /// The App Store's id of it, once for ever.
    public var transaction: TransactionID
    /// The App Store's product id.
    public var product: String
    /// The lot's part of what was paid that is not earned yet, in thousandths of ``priceCurrency``, 0 … 2^53 − 1.
    /// Where that is 0 for all lots of a purchase, it is free currency.
    public var price: Int64
    /// The ISO 4217 code of the price's currency.
    public var priceCurrency: String
    /// When the customer bought it.
    public var purchaseDate: Timestamp

    /// A purchase that other books had credited.
    public init(
        transaction: TransactionID, product: String, price: Int64, priceCurrency: String, purchaseDate: Timestamp
    ) {
        self.transaction = transaction
        self.product = product
        self.price = price
        self.priceCurrency = priceCurrency
        self.purchaseDate = purchaseDate
    }
}

extension LotImport {
    /// The lots in the order in which they are posted: those of purchases by date and id, the oldest first; then what
    /// was given. The same lots in another order are the same import.
    package var ordered: [ImportedLot] {
        lots.sorted { left, right in
            switch (left.purchase, right.purchase) {
            case (let one?, let other?):
                return (one.purchaseDate, one.transaction.number, left.currency)
                    < (other.purchaseDate, other.transaction.number, right.currency)
            case (nil, nil): return (left.currency, left.amount.units) < (right.currency, right.amount.units)
            case (let one, _): return one != nil
            }
        }
    }

    /// The ordered lots of each purchase.
    package var purchases: [[ImportedLot]] {
        var purchases: [[ImportedLot]] = []
        for lot in ordered {
            guard let purchase = lot.purchase else { break }
            if purchases.last?[0].purchase?.transaction == purchase.transaction {
                purchases[purchases.count - 1].append(lot)
            } else {
                purchases.append([lot])
            }
        }
        return purchases
    }

    /// The ordered lots that nobody bought.
    package var gifts: [ImportedLot] { ordered.filter { $0.purchase == nil } }

    /// The first lot that may not stand beside those before it, and why; `nil` where all may.
    package var conflict: (lot: Int, rule: String)? {
        var known: [TransactionID: [ImportedLot]] = [:]
        for (index, lot) in lots.enumerated() {
            guard let purchase = lot.purchase else { continue }
            let others = known[purchase.transaction] ?? []
            if let first = others.first?.purchase {
                let isSame =
                    (first.product, first.priceCurrency, first.purchaseDate)
                    == (purchase.product, purchase.priceCurrency, purchase.purchaseDate)
                if !isSame { return (index, "must say the same of its purchase as the lot before") }
                if others.contains(where: { $0.currency == lot.currency }) {
                    return (index, "must be of another currency than the other lots of its purchase")
                }
                if others.count == Limits.currenciesPerOperationMax {
                    return (index, "must be one of at most \(Limits.currenciesPerOperationMax) of its purchase")
                }
            }
            let paid = others.reduce(purchase.price) { $0 + ($1.purchase?.price ?? 0) }
            if paid > Limits.amountMax { return (index, "must not make its purchase dearer than 2^53 - 1") }
            known[purchase.transaction] = others + [lot]
        }
        return nil
    }
}

/// The answer to `import`.
public struct ImportReceipt: Hashable, Sendable {
    /// The first entry that posted it.
    public var entry: EntryID
    /// How many entries did, one after the other: one for each purchase, and one for all that was given.
    public var entries: Int64
    /// Whether this is the first answer given again.
    public var replayed: Bool

    /// The answer to `import`.
    public init(entry: EntryID, entries: Int64, replayed: Bool) {
        self.entry = entry
        self.entries = entries
        self.replayed = replayed
    }
}
