/// A purchase as our books have it: what the App Store signed.
public struct BookedTransaction: Hashable, Sendable {
    /// The App Store's transaction id.
    public var id: String
    /// The product ID.
    public var product: String
    /// The storefront's country in three letters (ISO 3166-1 alpha-3).
    public var storefront: String
    /// The currency of the price (ISO 4217).
    public var currency: String
    /// When it was bought, in milliseconds since the UNIX epoch.
    public var purchasedAt: Int64
    /// Units bought.
    public var quantity: Int64
    /// The price of all units, taxes included: "The price value shows the total amount of the transaction for the
    /// quantity the customer purchased" (Apple's `price`). `nil` where it is not known.
    public var price: Thousandths?
    /// When it was refunded, in milliseconds since the UNIX epoch; `nil` where it was not.
    public var refundedAt: Int64?
    /// What of the price was refunded; `nil` for all of it.
    public var refundedPrice: Thousandths?

    /// A purchase.
    public init(
        id: String, product: String, storefront: String, currency: String, purchasedAt: Int64, quantity: Int64 = 1,
        price: Thousandths?, refundedAt: Int64? = nil, refundedPrice: Thousandths? = nil
    ) {
        precondition(quantity > 0, "a purchase has a unit at least")
        self.id = id
        self.product = product
        self.storefront = storefront
        self.currency = currency
        self.purchasedAt = purchasedAt
        self.quantity = quantity
        self.price = price
        self.refundedAt = refundedAt
        self.refundedPrice = refundedPrice
    }

    /// What it was sold for, of one unit.
    var unitPrice: Thousandths? { price?.divided(by: quantity) }

    /// What was paid back of one unit.
    var refundedUnitPrice: Thousandths? { (refundedPrice ?? price)?.divided(by: quantity) }

    /// When it was sold or refunded; `nil` where it was not.
    package func time(of direction: SaleDirection) -> Int64? {
        switch direction {
        case .sold: purchasedAt
        case .refunded: refundedAt
        }
    }

    package func unitPrice(of direction: SaleDirection) -> Thousandths? {
        switch direction {
        case .sold: unitPrice
        case .refunded: refundedUnitPrice
        }
    }
}

/// Whether units were sold or given back.
public enum SaleDirection: Hashable, Sendable, CaseIterable, Comparable {
    /// Sold.
    case sold
    /// Refunded.
    case refunded
}

extension Thousandths {
    /// A part of so many, rounded to the nearest thousandth. Prices of several units are whole multiples of one's.
    func divided(by count: Int64) -> Thousandths {
        precondition(count > 0, "a part of nothing")
        let (quotient, rest) = rawValue.quotientAndRemainder(dividingBy: count)
        let isRoundedAway = rest.magnitude >= UInt64(count) - rest.magnitude
        return Thousandths(rawValue: isRoundedAway ? quotient + (rawValue < 0 ? -1 : 1) : quotient)
    }
}

extension Thousandths {
    /// A part of it, rounded to the nearest thousandth.
    /// - Parameter share: in thousandths of a percent, 0 … 100,000: Apple's `revocationPercentage`.
    public func part(_ share: Int64) -> Thousandths {
        precondition((0...100_000).contains(share), "a part is not more than the whole")
        let product = Int128(rawValue) * Int128(share)
        return Thousandths(rawValue: Int64((product + (product < 0 ? -50_000 : 50_000)) / 100_000))
    }
}

/// A row of our own sales report: what our books have of a product, a storefront, a currency and a day.
public struct BookedLine: Hashable, Sendable {
    /// The product ID.
    public var product: String
    /// The storefront's country in three letters (ISO 3166-1 alpha-3).
    public var storefront: String
    /// The currency of the price (ISO 4217).
    public var currency: String
    /// The day, in the time zone of the reports that it is compared with.
    public var day: CivilDay
    /// Units bought on that day.
    public var unitsSold: Int64
    /// Units refunded on that day, whenever they were bought.
    public var unitsRefunded: Int64
    /// What a customer pays for one unit, taxes included; `nil` where it is not known.
    public var customerPrice: Thousandths?

    /// A row. Where a day has several prices, it has as many rows.
    public init(
        product: String, storefront: String, currency: String, day: CivilDay, unitsSold: Int64,
        unitsRefunded: Int64 = 0, customerPrice: Thousandths?
    ) {
        precondition(unitsSold >= 0 && unitsRefunded >= 0, "units are counted from 0 on")
        self.product = product
        self.storefront = storefront
        self.currency = currency
        self.day = day
        self.unitsSold = unitsSold
        self.unitsRefunded = unitsRefunded
        self.customerPrice = customerPrice
    }
}
