import Ledger

/// A lot as its transfers made it. What each transfer does is written here once more, from the page BlockFormat
/// ("What transfers do") and not from the code that decides: an auditor must not share its mistakes.
struct LotBook {
    let id: LotID
    let account: PlayerID
    let currency: CurrencyID
    let lotClass: LotClass
    let transaction: TransactionID?
    let time: Timestamp
    let price: Int64
    let granted: Int64
    let expiresAt: Timestamp?
    var remaining: Int64 = 0
    var held: Int64 = 0
    var spent: Int64 = 0
    var expired: Int64 = 0
    var refunded: Int64 = 0
    var indebted: Int64 = 0
    var recovered: Int64 = 0
    var writtenOff: Int64 = 0
    var repaid: Int64 = 0
    var adjusted: Int64 = 0
    var lastTransfer: TransferID = 0
    /// The last transfer of its own.
    var lastOwn: TransferID = 0
    /// Of its price: what is not earned yet, and what was given back.
    var deferred: Int64 = 0
    var moneyRefunded: Int64 = 0

    /// Its units, as far as there is money for them: left, consumed, refunded.
    var funded: [Int64] {
        let consumed = max(0, granted &- remaining &- held &- refunded)
        return [granted &- refunded &- consumed, consumed, refunded]
    }

    /// Moves the money of the units that changed since they were `before`: of each kind that became less its part,
    /// rounded down, to those that became more.
    mutating func revalue(after before: [Int64]) {
        if price == 0 { return }
        var money = [deferred, price &- deferred &- moneyRefunded, moneyRefunded]
        let changes = zip(funded, before).map { $0 &- $1 }
        var moved: Int64 = 0
        for kind in 0..<3 where changes[kind] < 0 && before[kind] > 0 {
            let part = Int64(
                truncatingIfNeeded: Int128(money[kind]) * Int128(-changes[kind]) / Int128(before[kind]))
            money[kind] &-= part
            moved &+= part
        }
        var units = changes.filter { $0 > 0 }.reduce(0, &+)
        for kind in 0..<3 where changes[kind] > 0 {
            let part = Int64(truncatingIfNeeded: Int128(moved) * Int128(changes[kind]) / Int128(units))
            money[kind] &+= part
            moved &-= part
            units &-= changes[kind]
        }
        (deferred, moneyRefunded) = (money[0], money[2])
    }

    var owed: Int64 { indebted &- recovered }
    var isOpen: Bool { remaining > 0 || held > 0 || owed > 0 }

    /// Whether no part is below 0, and together they are what was granted.
    var isWhole: Bool {
        let parts =
            remaining | held | spent | expired | refunded | indebted | recovered | writtenOff | repaid
            | adjusted
        let gone = spent &+ held &+ expired &+ repaid &+ adjusted &+ (refunded &- indebted &- writtenOff)
        return parts >= 0 && recovered <= indebted && remaining == granted &- gone
    }
}

/// A wallet as its transfers made it.
struct WalletBook {
    let account: PlayerID
    let currency: CurrencyID
    var available: Int64 = 0
    var paid: Int64 = 0
    var held: Int64 = 0
    var heldPaid: Int64 = 0
    var debt: Int64 = 0
    var version: Int64 = 0
    var lastEntry: EntryID = 0
    var lastTransfer: TransferID = 0
    /// How many there were, and how many before the last entry.
    var transfers: Int64 = 0
    var transfersBefore: Int64 = 0

    var isWhole: Bool {
        available >= 0 && available <= Limits.amountMax && held >= 0 && held <= Limits.amountMax && debt >= 0
            && debt <= Limits.amountMax && (debt == 0 || available == 0) && paid >= 0 && paid <= available
            && heldPaid >= 0 && heldPaid <= held
    }

    var balance: Balance { Balance(available: available, held: held, debt: debt, paid: paid, version: version) }
}

/// A hold, and how it ended.
struct HoldBook {
    enum State: String {
        case open, closed, expired
    }

    let row: BlockRows.HoldRow
    var left: Int64
    var state = State.open
    var ended: EntryID?
}

/// A purchase: what it granted, and what its newest JWS says.
struct PurchaseBook {
    let grants: [PurchaseRegister.Grant]
    let price: Int64?
    let source: PurchaseSource
    var account: PlayerID?
    /// The lot of its first grant; those of the others follow it. 0 while it has no account.
    var firstLot: LotID = 0
    var signedDate: Timestamp
    var revoked: Int64
    /// What it was told of, its first JWS included.
    var events: Int64 = 1

    /// What stands of `units`: `(100000 − revoked) / 100000` of them, rounded up.
    func standing(of units: Int64) -> Int64 {
        let left = Int128(units) * Int128(100_000 - revoked)
        return Int64((left + 99_999) / 100_000)
    }

    /// Each grant's part of the price by its weight, rounded down; the last takes the rest.
    var shares: [Int64] {
        let whole = grants.reduce(UInt128(0)) { $0 + UInt128(max($1.weight, 0)) }
        var rest = price ?? 0
        return grants.enumerated().map { index, grant in
            if index == grants.count - 1 { return rest }
            let share = whole == 0 ? 0 : Int64(UInt128(max(price ?? 0, 0)) * UInt128(max(grant.weight, 0)) / whole)
            rest &-= share
            return share
        }
    }

    /// What was bought for nothing is free.
    var lotClass: LotClass { price == 0 ? .free : .paid }
}
