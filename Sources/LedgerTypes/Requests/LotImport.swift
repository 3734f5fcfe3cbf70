/// What a player brings along from the books that a game kept before: all of it is posted, or none.
public struct LotImport: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// Whose it is.
    public var account: AccountName
    /// What is left of each purchase and of each gift; with ``usedUp`` 1 … ``Limits/importedLotsMax``.
    public var lots: [ImportedLot]
    /// Purchases of which nothing is left. They are known from then on, and give nothing.
    public var usedUp: [UsedUpPurchase]

    /// An import. The server refuses as `invalid_params` what ``ImportedLot`` does not allow.
    public init(key: RequestKey, account: AccountName, lots: [ImportedLot], usedUp: [UsedUpPurchase] = []) {
        self.key = key
        self.account = account
        self.lots = lots
        self.usedUp = usedUp
    }
}

/// A purchase of the App Store that other books had credited, and of which nothing is left.
public struct UsedUpPurchase: Hashable, Sendable {
    /// The App Store's id of it, once for ever.
    public var transaction: TransactionID
    /// The App Store's product id.
    public var product: String
    /// When the customer bought it.
    public var purchaseDate: Timestamp

    /// A purchase of which nothing is left.
    public init(transaction: TransactionID, product: String, purchaseDate: Timestamp) {
        self.transaction = transaction
        self.product = product
        self.purchaseDate = purchaseDate
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

    /// The purchases of which nothing is left, in the order in which they are recorded: by date and id, the oldest
    /// first.
    package var orderedUsedUp: [UsedUpPurchase] {
        usedUp.sorted { ($0.purchaseDate, $0.transaction.number) < ($1.purchaseDate, $1.transaction.number) }
    }

    /// The ordered lots that nobody bought.
    package var gifts: [ImportedLot] { ordered.filter { $0.purchase == nil } }

    /// What of an import may not stand beside what is before it.
    package enum Conflict: Equatable, Sendable {
        case lot(Int, rule: String)
        case usedUp(Int, rule: String)
    }

    /// The first lot or purchase that may not stand beside those before it, and why; `nil` where all may.
    package var conflict: Conflict? {
        var known: [TransactionID: [ImportedLot]] = [:]
        for (index, lot) in lots.enumerated() {
            guard let purchase = lot.purchase else { continue }
            let others = known[purchase.transaction] ?? []
            if let first = others.first?.purchase {
                let isSame =
                    (first.product, first.priceCurrency, first.purchaseDate)
                    == (purchase.product, purchase.priceCurrency, purchase.purchaseDate)
                if !isSame { return .lot(index, rule: "must say the same of its purchase as the lot before") }
                if others.contains(where: { $0.currency == lot.currency }) {
                    return .lot(index, rule: "must be of another currency than the other lots of its purchase")
                }
                if others.count == Limits.currenciesPerOperationMax {
                    let most = Limits.currenciesPerOperationMax
                    return .lot(index, rule: "must be one of at most \(most) of its purchase")
                }
            }
            let paid = others.reduce(purchase.price) { $0 + ($1.purchase?.price ?? 0) }
            if paid > Limits.amountMax {
                return .lot(index, rule: "must not make its purchase dearer than 2^53 - 1")
            }
            known[purchase.transaction] = others + [lot]
        }
        var usedUp: Set<TransactionID> = []
        for (index, purchase) in self.usedUp.enumerated() {
            if known[purchase.transaction] != nil { return .usedUp(index, rule: "must not be a lot's purchase too") }
            if !usedUp.insert(purchase.transaction).inserted { return .usedUp(index, rule: "must not be there twice") }
        }
        return nil
    }
}

/// The answer to `import`.
public struct ImportReceipt: Hashable, Sendable {
    /// The first entry that posted it; `nil` where nothing was posted, since all of its purchases are used up.
    public var entry: EntryID?
    /// How many entries did, one after the other: one for each purchase of which something is left, and one for all
    /// that was given.
    public var entries: Int64
    /// How many purchases of which nothing is left are known from then on.
    public var usedUp: Int64
    /// Whether this is the first answer given again.
    public var replayed: Bool

    /// The answer to `import`.
    public init(entry: EntryID?, entries: Int64, usedUp: Int64 = 0, replayed: Bool) {
        self.entry = entry
        self.entries = entries
        self.usedUp = usedUp
        self.replayed = replayed
    }
}
