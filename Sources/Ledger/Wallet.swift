/// Where a lot came from: bought, or given. Raw values are stored and never change.
package enum LotClass: Int64, Sendable {
    case paid = 1
    case free = 2
}

/// One credit's currency in one wallet. `remaining` is always
/// `granted − spent − held − expired − repaid − (refunded − indebted − writtenOff)`.
package struct Lot: Hashable, Sendable {
    package let id: LotID
    package let lotClass: LotClass
    package let transaction: TransactionID?
    package let time: Timestamp
    /// The purchase's price in thousandths of its currency; 0 where unknown or free.
    package let price: Int64
    package let granted: Int64
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

    package init(
        id: LotID, lotClass: LotClass, transaction: TransactionID?, time: Timestamp, price: Int64, granted: Int64,
        remaining: Int64
    ) {
        self.id = id
        self.lotClass = lotClass
        self.transaction = transaction
        self.time = time
        self.price = price
        self.granted = granted
        self.remaining = remaining
    }

    package var owed: Int64 { indebted - recovered }
    /// A closed lot is kept on disk only: no spend, hold or debt concerns it.
    package var isOpen: Bool { remaining > 0 || held > 0 || owed > 0 }
}

/// One player's wallet of one currency, with its held and receivable accounts.
package struct Wallet: Sendable {
    package let currency: CurrencyID
    package var available: Int64 = 0
    package var paid: Int64 = 0
    package var held: Int64 = 0
    package var debt: Int64 = 0
    package var version: Int64 = 0
    /// The last entry that changed a balance of it.
    package var lastEntry: EntryID = 0
    /// The head of the chain of its transfers.
    package var lastTransfer: TransferID = 0
    /// Lots that a spend, a hold or a debt concerns, oldest first.
    package var open: [Lot] = []
    /// Lots that were closed since the projection was last written, or were loaded for their purchase's sake.
    package var closed: [Lot] = []
    /// Whether it differs from the stored projection.
    package var isDirty = false

    package init(currency: CurrencyID) { self.currency = currency }

    package var balance: Balance {
        Balance(available: available, held: held, debt: debt, paid: paid, version: version)
    }

    package func lot(_ id: LotID) -> Lot? {
        if let index = openIndex(id) { return open[index] }
        return closed.first { $0.id == id }
    }

    /// Changes one lot in place and keeps it on the side, open or closed, where it then belongs.
    package mutating func update(_ id: LotID, _ change: (inout Lot) -> Void) {
        if let index = openIndex(id) {
            change(&open[index])
            if !open[index].isOpen { closed.append(open.remove(at: index)) }
        } else if let index = closed.firstIndex(where: { $0.id == id }) {
            change(&closed[index])
            if closed[index].isOpen { insert(closed.remove(at: index)) }
        } else {
            preconditionFailure("lot \(id) is not in the wallet that its transfer names")
        }
    }

    /// Puts a lot in its place by age.
    package mutating func insert(_ lot: Lot) {
        guard lot.isOpen else {
            closed.append(lot)
            return
        }
        var place = open.count
        while place > 0, open[place - 1].id > lot.id { place -= 1 }
        open.insert(lot, at: place)
    }

    private func openIndex(_ id: LotID) -> Int? {
        var low = 0
        var high = open.count
        while low < high {
            let middle = (low + high) / 2
            if open[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < open.count && open[low].id == id ? low : nil
    }
}

/// A player with all wallets, the unit in which state is loaded.
package struct Player: Sendable {
    package let id: PlayerID
    package let name: AccountName
    /// By currency; a handful at most.
    package var wallets: [Wallet]

    package init(id: PlayerID, name: AccountName, wallets: [Wallet] = []) {
        self.id = id
        self.name = name
        self.wallets = wallets
    }

    package func walletIndex(_ currency: CurrencyID) -> Int? {
        wallets.firstIndex { $0.currency == currency }
    }
}
