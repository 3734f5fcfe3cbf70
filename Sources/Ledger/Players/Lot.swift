/// One credit's currency in one wallet. `remaining` is always `granted − spent − held − expired − repaid − adjusted −
/// (refunded − indebted − writtenOff)`.
package struct Lot: Hashable, Sendable {
    package let id: LotID
    package let lotClass: LotClass
    package let transaction: TransactionID?
    package let time: Timestamp
    /// Its share of what was paid, in thousandths of the price's currency; 0 where unknown or free.
    package let price: Int64
    package let granted: Int64
    /// From when on nothing of it can be spent; free lots only.
    package let expiresAt: Timestamp?
    package var remaining: Int64
    package var held: Int64 = 0
    package var spent: Int64 = 0
    package var expired: Int64 = 0
    /// What stands refunded: taken back, owed or written off.
    package var refunded: Int64 = 0
    /// What refunds of this lot have put on the wallet's debt, ever.
    package var indebted: Int64 = 0
    /// What of `indebted` later credits have paid.
    package var recovered: Int64 = 0
    /// What of `refunded` nobody owes.
    package var writtenOff: Int64 = 0
    /// What of this lot's own units went to pay debts.
    package var repaid: Int64 = 0
    /// What corrections by hand took of it.
    package var adjusted: Int64 = 0
    /// The last transfer that changed it; 0 before the one that opens it.
    package var lastTransfer: TransferID = 0

    package init(
        id: LotID, lotClass: LotClass, transaction: TransactionID?, time: Timestamp, price: Int64, granted: Int64,
        remaining: Int64, expiresAt: Timestamp? = nil
    ) {
        self.id = id
        self.lotClass = lotClass
        self.transaction = transaction
        self.time = time
        self.price = price
        self.granted = granted
        self.remaining = remaining
        self.expiresAt = expiresAt
    }

    package var owed: Int64 { indebted - recovered }
    /// Whether a spend, a hold or a debt concerns it.
    package var isOpen: Bool { remaining > 0 || held > 0 || owed > 0 }

    /// When what is left of it expires; `nil` where nothing is left, or never.
    var deadline: Timestamp? { remaining > 0 ? expiresAt : nil }

    /// Whether nothing of it can be spent any more at a time: it is over at ``expiresAt`` itself.
    package func isExpired(at time: Timestamp) -> Bool { expiresAt.map { $0 <= time } ?? false }

    /// Dearer for a unit, or as dear and older. Prices are compared as Apple states them, whatever their currency.
    static func isDearer(_ left: Lot, _ right: Lot) -> Bool {
        let leftPrice = left.price.multipliedFullWidth(by: right.granted)
        let rightPrice = right.price.multipliedFullWidth(by: left.granted)
        if leftPrice != rightPrice { return leftPrice > rightPrice }
        return left.id < right.id
    }
}

/// So much of one lot.
package struct LotPart: Hashable, Sendable {
    package var lot: LotID
    package var units: Int64
    /// The purchase that the lot came from.
    package var transaction: TransactionID?

    package init(lot: LotID, units: Int64, transaction: TransactionID?) {
        self.lot = lot
        self.units = units
        self.transaction = transaction
    }
}
