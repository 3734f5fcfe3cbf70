extension Books {
    /// Appends one transfer of the entry being posted and applies it.
    mutating func post(
        debit: AccountKind, credit: AccountKind, _ amount: Int64, lot: LotID, debtLot: LotID? = nil,
        player: PlayerID, currency: CurrencyID, opening: Lot? = nil
    ) {
        position.transfer += 1
        var transfer = Transfer(
            id: position.transfer, entry: position.entry,
            debit: LedgerAccount(debit, currency, player: player),
            credit: LedgerAccount(credit, currency, player: player), amount: amount, lot: lot, debtLot: debtLot,
            previous: 0)
        transfer.previous = apply(transfer, player: player, opening: opening)
        journal.transfers.append(transfer)
    }

    /// Applies one transfer to its wallet and to the totals: the one place where balances change, for a new transfer
    /// and for one that is replayed at start. Gives the head of the wallet's chain before it.
    /// - Parameters:
    ///   - player: whose wallet the transfer's lot is in.
    ///   - opening: the lot that the transfer opens, before the transfer's amount is in it.
    ///   - isTotalled: whether the totals include it already.
    package mutating func apply(
        _ transfer: Transfer, player: PlayerID, opening: Lot?, isTotalled: Bool = false
    ) -> TransferID {
        precondition(transfer.amount > 0, "a transfer moves a positive amount")
        let currency = transfer.debit.currency
        if !isTotalled { addToTotals(transfer) }
        guard let slot = players.index(forKey: player) else {
            preconditionFailure("player \(player) of transfer \(transfer.id) is not loaded")
        }
        let index = players.values[slot].openWallet(currency)
        if !players.values[slot].wallets.contains(where: \.isDirty) { dirtyPlayers.append(player) }
        return players.values[slot].wallets[index].apply(transfer, opening: opening)
    }

    package mutating func addToTotals(_ transfer: Transfer) {
        let currency = transfer.debit.currency
        totals[currency, transfer.debit.kind].debits += transfer.amount
        totals[currency, transfer.credit.kind].credits += transfer.amount
    }

    /// Starts an entry; what is posted until the next belongs to it.
    mutating func beginEntry(
        _ kind: EntryKind, at now: Timestamp, transaction: TransactionID? = nil, key: RequestKey? = nil,
        note: String? = nil
    ) {
        position.entry += 1
        position.time = entryTime(now)
        journal.entries.append(
            Entry(
                id: position.entry, time: position.time, kind: kind, firstTransfer: position.transfer + 1,
                transaction: transaction, key: key, note: note))
    }

    /// Whether the account of `kind` may be moved by `amount` without a balance leaving ±(2^53 − 1).
    func allows(_ amount: Int64, _ currency: CurrencyID, debit: AccountKind, credit: AccountKind) -> Bool {
        let debited = totals[currency, debit].balance + amount
        let credited = totals[currency, credit].balance - amount
        return debited <= Limits.amountMax && credited >= -Limits.amountMax
    }

    /// The books' invariants for one wallet; sums only in debug builds, for a wallet may have many lots.
    func assertInvariants(_ player: PlayerID, _ currency: CurrencyID) {
        guard let wallet = players[player]?.wallets.first(where: { $0.currency == currency }) else { return }
        precondition(wallet.available >= 0 && wallet.held >= 0 && wallet.debt >= 0, "a balance is negative")
        precondition(wallet.available == 0 || wallet.debt == 0, "a debt stands beside something available")
        precondition(wallet.paid >= 0 && wallet.paid <= wallet.available, "paid is not a part of available")
        assert(wallet.available == wallet.open.reduce(0) { $0 + $1.remaining }, "available is not the sum of the lots")
        assert(
            wallet.paid == wallet.open.reduce(0) { $0 + ($1.lotClass == .paid ? $1.remaining : 0) },
            "paid is not the sum of the paid lots")
        assert(wallet.held == wallet.open.reduce(0) { $0 + $1.held }, "held is not the sum of the lots")
        assert(wallet.debt == wallet.open.reduce(0) { $0 + $1.owed }, "debt is not the sum of the lots")
        assert(
            (wallet.open + wallet.closed).allSatisfy {
                $0.remaining >= 0 && $0.owed >= 0
                    && $0.remaining == $0.granted - $0.spent - $0.held - $0.expired - $0.repaid
                        - ($0.refunded - $0.indebted - $0.writtenOff)
            }, "a lot's parts are not its whole")
        assert(AccountKind.allCases.reduce(0) { $0 + totals[currency, $1].balance } == 0, "the books do not balance")
    }
}

extension Player {
    /// The index of the currency's wallet, made where there is none.
    mutating func openWallet(_ currency: CurrencyID) -> Int {
        if let index = walletIndex(currency) { return index }
        wallets.append(Wallet(currency: currency))
        return wallets.count - 1
    }
}

extension Wallet {
    fileprivate mutating func apply(_ transfer: Transfer, opening: Lot?) -> TransferID {
        let amount = transfer.amount
        var changesBalance = true
        if let opening { insertOpening(opening) }
        guard let lotClass = lot(transfer.lot)?.lotClass else {
            preconditionFailure("lot \(transfer.lot) of transfer \(transfer.id) is not loaded")
        }
        let isPaid = lotClass == .paid
        switch (transfer.debit.kind, transfer.credit.kind) {
        case (.purchased, .wallet), (.granted, .wallet):
            add(amount, isPaid)
            update(transfer.lot) { $0.remaining += amount }
        case (.refunded, .wallet):
            add(amount, isPaid)
            update(transfer.lot) {
                $0.remaining += amount
                $0.refunded -= amount
            }
        case (.wallet, .refunded):
            add(-amount, isPaid)
            update(transfer.lot) {
                $0.remaining -= amount
                $0.refunded += amount
            }
        case (.wallet, .spent):
            add(-amount, isPaid)
            update(transfer.lot) {
                $0.remaining -= amount
                $0.spent += amount
            }
        case (.receivable, .refunded):
            debt += amount
            update(transfer.lot) {
                $0.refunded += amount
                $0.indebted += amount
            }
        case (.wallet, .receivable):
            guard let debtLot = transfer.debtLot else {
                preconditionFailure("transfer \(transfer.id) pays a debt that it does not name")
            }
            add(-amount, isPaid)
            debt -= amount
            update(transfer.lot) {
                $0.remaining -= amount
                $0.repaid += amount
            }
            update(debtLot) { $0.recovered += amount }
        case (.writtenOff, .refunded):
            changesBalance = false
            update(transfer.lot) {
                $0.refunded += amount
                $0.writtenOff += amount
            }
        case (.refunded, .writtenOff):
            changesBalance = false
            update(transfer.lot) {
                $0.refunded -= amount
                $0.writtenOff -= amount
            }
        case (let debit, let credit):
            preconditionFailure("no event debits \(debit.name) and credits \(credit.name)")
        }
        if changesBalance && lastEntry != transfer.entry {
            version += 1
            lastEntry = transfer.entry
        }
        let previous = lastTransfer
        lastTransfer = transfer.id
        isDirty = true
        return previous
    }

    private mutating func add(_ amount: Int64, _ isPaid: Bool) {
        available += amount
        if isPaid { paid += amount }
        precondition(available >= 0, "a wallet was overdrawn")
    }

    /// A lot being opened stands among the open ones, though nothing is in it yet.
    private mutating func insertOpening(_ lot: Lot) {
        precondition(open.last.map { $0.id < lot.id } ?? true, "lot \(lot.id) is not the newest of its wallet")
        open.append(lot)
    }
}
