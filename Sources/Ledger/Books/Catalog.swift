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
    /// The most that one grant gives, 1 … 2^53 − 1.
    public var grantMax: Int64

    /// `free_first`, `debt` and a billion unless said otherwise.
    public init(
        spendOrder: SpendOrder = .freeFirst, refundShortfall: RefundShortfall = .debt,
        grantMax: Int64 = Limits.grantMaxDefault
    ) {
        self.spendOrder = spendOrder
        self.refundShortfall = refundShortfall
        self.grantMax = grantMax
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
        /// How much of the price each currency stands for, in any unit; every currency weighs the same where it is
        /// empty.
        public var priceShares: [CurrencyCode: Int64]

        /// What a product grants from a time on.
        public init(from: Timestamp, grants: [CurrencyAmount], priceShares: [CurrencyCode: Int64] = [:]) {
            self.from = from
            self.grants = grants.sorted { $0.currency < $1.currency }
            self.priceShares = priceShares
        }
    }

    /// What grants currency.
    public struct Product: Hashable, Sendable {
        /// As App Store Connect has it.
        public var type: ProductType
        /// Whether it grants to whoever a member of the family shares it with as well.
        public var isGrantedToFamily: Bool
        /// Oldest first.
        public var offers: [Offer]

        /// A consumable, unless said otherwise.
        public init(type: ProductType = .consumable, isGrantedToFamily: Bool = false, offers: [Offer]) {
            self.type = type
            self.isGrantedToFamily = isGrantedToFamily
            self.offers = offers.sorted { $0.from < $1.from }
        }

        /// The offer that applied at a time; `nil` where there was none yet.
        package func offer(purchasedAt date: Timestamp) -> Offer? { offers.last { $0.from <= date } }
    }

    /// What the game would have Apple decide about a refund, by how much was consumed.
    public struct RefundRule: Hashable, Sendable {
        /// The least consumption to which it applies, in thousandths of a percent.
        public var from: Int64
        /// What the game prefers.
        public var preference: RefundPreference

        /// What the game prefers from a consumption on.
        public init(from: Int64, preference: RefundPreference) {
            self.from = from
            self.preference = preference
        }
    }

    /// The currencies, by code.
    public let currencies: [CurrencyCode: CurrencySettings]
    /// What grants currency, by product id or SKU.
    public let products: [String: Product]

    /// What the game prefers when Apple asks about a refund, the least consumption first; none where it leaves it to
    /// Apple.
    public let refundRules: [RefundRule]
    /// How many minutes after its question Apple is told how much was consumed, where the service does so: players go
    /// on spending meanwhile.
    public let consumptionDelayMinutes: Int64
    /// Apple takes an answer for 12 hours: an hour is left to try.
    public static let consumptionDelayMinutesMax: Int64 = 660

    /// The caller has checked that every granted currency is among `currencies`.
    public init(
        currencies: [CurrencyCode: CurrencySettings], products: [String: Product], refundRules: [RefundRule] = [],
        consumptionDelayMinutes: Int64 = 0
    ) {
        self.currencies = currencies
        self.products = products
        self.refundRules = refundRules.sorted { $0.from < $1.from }
        self.consumptionDelayMinutes = consumptionDelayMinutes
    }

    /// A catalog of consumables, by the offers of each.
    public init(
        currencies: [CurrencyCode: CurrencySettings], products: [String: [Offer]], refundRules: [RefundRule] = []
    ) {
        self.init(
            currencies: currencies, products: products.mapValues { Product(offers: $0) }, refundRules: refundRules)
    }

    /// Why a ledger that has these currencies cannot have its own beside them, for people; `nil` where it can.
    package func excess(beside known: [CurrencyCode]) -> String? {
        let count = Set(known).union(currencies.keys).count
        if count <= Limits.currenciesMax { return nil }
        return "the ledger would have \(count) currencies with its former ones, more than \(Limits.currenciesMax)"
    }

    /// The same with some of its currencies and no products: what there is while nothing can be credited.
    package func limited(to known: [CurrencyCode]) -> Catalog {
        Catalog(
            currencies: currencies.filter { known.contains($0.key) }, products: [String: Product](),
            refundRules: refundRules)
    }
}
