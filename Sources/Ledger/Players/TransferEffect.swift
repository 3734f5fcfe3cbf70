/// What one transfer changes of its wallet and of its lot: the one place that says it, for the books and for tables
/// that are computed from blocks. What is added to the wallet's `available` and `held` is also added to the lot's
/// `remaining` and `held`.
package struct TransferEffect: Sendable {
    package private(set) var available: Int64 = 0
    package private(set) var held: Int64 = 0
    /// Of the wallet alone.
    package private(set) var debt: Int64 = 0
    fileprivate var spent: Int64 = 0
    fileprivate var expired: Int64 = 0
    fileprivate var refunded: Int64 = 0
    fileprivate var indebted: Int64 = 0
    fileprivate var writtenOff: Int64 = 0
    fileprivate var repaid: Int64 = 0
    fileprivate var adjusted: Int64 = 0
    /// Of the lot whose debt it pays; negative where that comes over with a lot that moves.
    package private(set) var recovered: Int64 = 0

    /// `nil` where no event debits and credits these kinds of account.
    package init?(debit: AccountKind, credit: AccountKind, amount: Int64) {
        switch (debit, credit) {
        case (.purchased, .wallet), (.granted, .wallet), (.adjusted, .wallet), (.imported, .wallet):
            available = amount
        case (.wallet, .spent):
            available = -amount
            spent = amount
        case (.spent, .wallet):
            available = amount
            spent = -amount
        case (.wallet, .held):
            available = -amount
            held = amount
        case (.held, .wallet):
            available = amount
            held = -amount
        case (.held, .spent):
            held = -amount
            spent = amount
        case (.wallet, .expired):
            available = -amount
            expired = amount
        case (.wallet, .adjusted):
            available = -amount
            adjusted = amount
        case (.refunded, .wallet):
            available = amount
            refunded = -amount
        case (.wallet, .refunded):
            available = -amount
            refunded = amount
        case (.receivable, .refunded):
            debt = amount
            refunded = amount
            indebted = amount
        case (.wallet, .receivable):
            available = -amount
            debt = -amount
            repaid = amount
            recovered = amount
        case (.writtenOff, .refunded):
            refunded = amount
            writtenOff = amount
        case (.refunded, .writtenOff):
            refunded = -amount
            writtenOff = -amount
        case (.wallet, .moved):
            available = -amount
        case (.moved, .wallet):
            available = amount
        case (.held, .moved):
            held = -amount
        case (.moved, .held):
            held = amount
        case (.moved, .receivable):
            debt = -amount
            recovered = amount
        case (.receivable, .moved):
            debt = amount
            recovered = -amount
        case (_, _):
            return nil
        }
    }

    /// Whether the wallet's balance changes: a write-off moves nothing of the player's.
    package var changesBalance: Bool { available != 0 || held != 0 || debt != 0 }
}

extension Lot {
    /// Changes the transfer's own lot; that whose debt it pays is another one's ``recovered``.
    package mutating func apply(_ effect: TransferEffect) {
        remaining += effect.available
        held += effect.held
        spent += effect.spent
        expired += effect.expired
        refunded += effect.refunded
        indebted += effect.indebted
        writtenOff += effect.writtenOff
        repaid += effect.repaid
        if effect.adjusted != 0 { adjusted += effect.adjusted }
    }
}
