/// What became of the price of a lot: the one place that says it, for the tables of a ledger.
///
/// Units of a lot are left, consumed (spent, used to pay a debt, or taken by a correction) or refunded, and so is their
/// money. Units that
/// change take their part of the money of those that they were among, rounded down; the last ones take the rest. So the
/// parts are the price at any time. A transfer moves one amount from one part to another; only a refund of units that a
/// hold had set aside may concern all three.
package struct LotValue: Hashable, Sendable {
    /// What is still owed to players, in currency that they can spend; in thousandths.
    package var deferred: Int64
    /// What was earned: the units were consumed.
    package var recognised: Int64
    /// What was given back to the customer.
    package var refunded: Int64

    package init(deferred: Int64 = 0, recognised: Int64 = 0, refunded: Int64 = 0) {
        self.deferred = deferred
        self.recognised = recognised
        self.refunded = refunded
    }

    /// The units of a lot as far as there is money for them. What was refunded while a hold had it set aside is
    /// refunded: it is left in the hold, and owed.
    package struct Units: Hashable, Sendable {
        package var left: Int64
        package var consumed: Int64
        package var refunded: Int64

        /// - Parameter left: in the wallet, and held.
        package init(granted: Int64, left: Int64, refunded: Int64) {
            self.refunded = refunded
            consumed = max(0, granted - left - refunded)
            self.left = granted - refunded - consumed
        }
    }

    /// The value after units changed.
    package func changed(from before: Units, to after: Units) -> LotValue {
        var value = self
        var moved = value.deferred.take(before.left, after.left)
        moved += value.recognised.take(before.consumed, after.consumed)
        moved += value.refunded.take(before.refunded, after.refunded)
        // Where two kinds of units became more, the first of them has its part, and the last what is over.
        let (left, consumed) = (max(0, after.left - before.left), max(0, after.consumed - before.consumed))
        let refunded = max(0, after.refunded - before.refunded)
        var taken = Taken(money: moved, units: left + consumed + refunded)
        taken.give(left, to: &value.deferred)
        taken.give(consumed, to: &value.recognised)
        taken.give(refunded, to: &value.refunded)
        return value
    }

    /// What was taken of some parts of a price, for units that became others.
    private struct Taken {
        var money: Int64
        var units: Int64

        /// Gives a part the money of some of the units.
        mutating func give(_ count: Int64, to part: inout Int64) {
            if count == 0 { return }
            let share = units.dividingFullWidth(money.multipliedFullWidth(by: count)).quotient
            part += share
            money -= share
            units -= count
        }
    }

    package static func - (left: LotValue, right: LotValue) -> LotValue {
        LotValue(
            deferred: left.deferred - right.deferred, recognised: left.recognised - right.recognised,
            refunded: left.refunded - right.refunded)
    }
}

extension Int64 {
    /// Takes off the money of the units by which there are less.
    /// - Returns: how much that is.
    fileprivate mutating func take(_ before: Int64, _ after: Int64) -> Int64 {
        guard after < before else { return 0 }
        let part = before.dividingFullWidth(multipliedFullWidth(by: before - after)).quotient
        self -= part
        return part
    }
}
