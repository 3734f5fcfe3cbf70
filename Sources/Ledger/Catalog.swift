/// In which order a spend draws the lots of a wallet.
public enum SpendOrder: String, CaseIterable, Sendable {
    /// Free lots before paid ones, each oldest first.
    case freeFirst = "free_first"
    /// Paid lots before free ones, each oldest first.
    case paidFirst = "paid_first"
    /// Oldest first, whatever the class.
    case oldest
    /// Paid lots by their price for a unit, the dearest first; then free ones.
    case dearestFirst = "dearest_first"
}

/// What becomes of refunded currency that is no longer in the wallet.
public enum RefundShortfall: String, CaseIterable, Sendable {
    /// The player owes it; later credits pay it first.
    case debt
    /// The operator bears it.
    case writtenOff = "written_off"
}

/// The settings of one currency.
public struct CurrencySettings: Hashable, Sendable {
    /// In which order spends draw lots.
    public var spendOrder: SpendOrder
    /// What becomes of a refund's shortfall.
    public var refundShortfall: RefundShortfall

    /// `free_first` and `debt` unless said otherwise.
    public init(spendOrder: SpendOrder = .freeFirst, refundShortfall: RefundShortfall = .debt) {
        self.spendOrder = spendOrder
        self.refundShortfall = refundShortfall
    }
}

/// An amount of one currency.
public struct CurrencyAmount: Hashable, Sendable {
    /// The currency.
    public var currency: CurrencyCode
    /// How much of it.
    public var amount: Amount

    /// An amount of one currency.
    public init(currency: CurrencyCode, amount: Amount) {
        self.currency = currency
        self.amount = amount
    }
}

/// What the game sells: currencies with their settings, and what one unit of each product grants.
public struct Catalog: Sendable {
    /// What a product grants from a time on, compared with the purchase's `purchaseDate`.
    public struct Offer: Hashable, Sendable {
        /// The first purchase date to which it applies.
        public var from: Timestamp
        /// What one unit of the product grants, in the order of the currencies' codes.
        public var grants: [CurrencyAmount]

        /// What a product grants from a time on.
        public init(from: Timestamp, grants: [CurrencyAmount]) {
            self.from = from
            self.grants = grants.sorted { $0.currency < $1.currency }
        }
    }

    /// The currencies, by code.
    public let currencies: [CurrencyCode: CurrencySettings]
    /// The offers of each product id, oldest first.
    public let products: [String: [Offer]]

    /// The caller has checked that every granted currency is among `currencies`.
    public init(currencies: [CurrencyCode: CurrencySettings], products: [String: [Offer]]) {
        self.currencies = currencies
        self.products = products.mapValues { $0.sorted { $0.from < $1.from } }
    }

    /// What one unit of `product` granted at `purchaseDate`; `nil` where the catalog does not say.
    package func grants(of product: String, purchasedAt purchaseDate: Timestamp) -> [CurrencyAmount]? {
        products[product]?.last { $0.from <= purchaseDate }?.grants
    }
}
