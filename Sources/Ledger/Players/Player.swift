/// A hold that is neither captured nor released.
package struct OpenHold: Hashable, Sendable {
    /// The number of its first transfer, by which later transfers refer to it.
    package let id: TransferID
    package let currency: CurrencyID
    package let expiresAt: Timestamp
    /// What it set aside, in the order drawn.
    package private(set) var parts: [LotPart] = []
    /// What of it is neither spent nor given back; less than all only between the transfers of the entry that closes
    /// it.
    package private(set) var amount: Int64 = 0

    package init(id: TransferID, currency: CurrencyID, expiresAt: Timestamp) {
        self.id = id
        self.currency = currency
        self.expiresAt = expiresAt
    }

    package mutating func add(_ part: LotPart) {
        parts.append(part)
        amount += part.units
    }

    mutating func take(_ units: Int64) {
        precondition(units <= amount, "hold \(id) gives more than it set aside")
        amount -= units
    }
}

/// A player with all wallets, the unit in which state is loaded.
package struct Player: Sendable {
    package let id: PlayerID
    package internal(set) var name: AccountName
    /// By currency; a handful at most.
    package var wallets: [Wallet]
    /// Oldest first.
    package var holds: [OpenHold] = []
    /// To which accounts the player, a token, was linked, the first one first; empty where it is nobody's token.
    package internal(set) var links: [AccountLink] = []
    /// What the player said last of consumption, under any of their names.
    package internal(set) var consent: ConsentRecord?
    /// Nothing of the player's expires before this time; it may be too early, never too late.
    package internal(set) var deadline = Timestamp.max

    package init(
        id: PlayerID, name: AccountName, wallets: [Wallet] = [], links: [AccountLink] = [],
        consent: ConsentRecord? = nil
    ) {
        self.id = id
        self.name = name
        self.wallets = wallets
        self.links = links
        self.consent = consent
    }

    /// Lots of all wallets that are in memory, used up or not.
    package var lotCount: Int { wallets.reduce(0) { $0 + $1.lots.count } }

    /// The last transfer that concerns one of the wallets.
    package var lastTransfer: TransferID { wallets.reduce(0) { max($0, $1.lastTransfer) } }

    package func walletIndex(_ currency: CurrencyID) -> Int? {
        wallets.firstIndex { $0.currency == currency }
    }

    /// The index of the currency's wallet, made where there is none.
    mutating func openWallet(_ currency: CurrencyID) -> Int {
        if let index = walletIndex(currency) { return index }
        wallets.append(Wallet(currency: currency))
        return wallets.count - 1
    }

    /// When the first of the lots and holds expires; `Timestamp.max` where none does.
    package var exactDeadline: Timestamp {
        var first = Timestamp.max
        for hold in holds { first = min(first, hold.expiresAt) }
        for wallet in wallets where wallet.available > wallet.paid {
            for lot in wallet.lots {
                if let deadline = lot.deadline { first = min(first, deadline) }
            }
        }
        return first
    }

    /// What applying a transfer tells of its player.
    struct Applied {
        /// The head of the wallet's chain before it.
        var previous: TransferID
        /// The player's deadline, where it is now earlier.
        var deadline: Timestamp?
        /// Whether a lot is used up now.
        var closesLot: Bool
    }

    mutating func apply(_ transfer: Transfer, opening: Lot?, hold: OpenHold?) -> Applied {
        let index = openWallet(transfer.debit.currency)
        let applied = wallets[index].apply(transfer, opening: opening)
        var next = applied.deadline ?? Timestamp.max
        // What a link moves stays in its holds, which move with it.
        if transfer.debit.kind == .moved || transfer.credit.kind == .moved {
        } else if transfer.credit.kind == .held {
            if let hold {
                holds.append(hold)
                next = min(next, hold.expiresAt)
            }
            guard let last = holds.indices.last else {
                preconditionFailure("transfer \(transfer.id) sets aside what no hold asked for")
            }
            holds[last].add(LotPart(lot: transfer.lot, units: transfer.amount, transaction: applied.transaction))
        } else if transfer.debit.kind == .held {
            take(transfer)
        }
        var earlier: Timestamp?
        if next < deadline {
            deadline = next
            earlier = next
        }
        return Applied(previous: applied.previous, deadline: earlier, closesLot: applied.closesLot)
    }

    /// Takes what a capture or a release moves out of its hold, which goes with its last part.
    private mutating func take(_ transfer: Transfer) {
        guard let index = holds.firstIndex(where: { $0.id == transfer.reference }) else {
            preconditionFailure("transfer \(transfer.id) takes from a hold that is not open")
        }
        holds[index].take(transfer.amount)
        if holds[index].amount == 0 { holds.remove(at: index) }
    }
}
