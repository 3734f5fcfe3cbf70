/// A positive number of units of one currency, 1 … 2^53 − 1.
public struct Amount: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of units.
    public let units: Int64

    /// `nil` unless `units` is within 1 … ``Limits/amountMax``.
    public init?(_ units: Int64) {
        guard units >= 1, units <= Limits.amountMax else { return nil }
        self.units = units
    }

    /// Amounts are ordered by their units.
    public static func < (left: Amount, right: Amount) -> Bool { left.units < right.units }

    /// The units as decimal digits.
    public var description: String { String(units) }
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
