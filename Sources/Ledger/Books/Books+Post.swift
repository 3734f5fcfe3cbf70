extension Books {
    /// Appends one transfer of the entry being posted and applies it.
    mutating func post(
        debit: AccountKind, credit: AccountKind, _ amount: Int64, lot: LotID, debtLot: LotID? = nil,
        player: PlayerID, currency: CurrencyID, opening: Lot? = nil, hold: OpenHold? = nil,
        spendOrder: SpendOrder? = nil, reference: TransferID? = nil
    ) {
        position.transfer += 1
        var transfer = Transfer(
            id: position.transfer, entry: position.entry, player: player,
            debit: LedgerAccount(debit, currency, player: player),
            credit: LedgerAccount(credit, currency, player: player), amount: amount, lot: lot, debtLot: debtLot,
            previous: 0, spendOrder: spendOrder, reference: reference)
        transfer.previous = apply(transfer, opening: opening, hold: hold)
        rows.transfers.append(transfer)
        if let opening {
            rows.lots.append(
                BlockRows.LotRow(
                    id: opening.id, lotClass: opening.lotClass, price: opening.price, expiresAt: opening.expiresAt))
        }
    }

    /// Applies one transfer to its wallet and to the totals: the one place where balances change. Gives the head of
    /// the wallet's chain before it.
    /// - Parameters:
    ///   - opening: the lot that the transfer opens, before the transfer's amount is in it.
    ///   - hold: the hold whose first transfer it is, before anything is in it.
    package mutating func apply(
        _ transfer: Transfer, opening: Lot?, hold: OpenHold? = nil
    ) -> TransferID {
        precondition(transfer.amount > 0, "a transfer moves a positive amount")
        addToTotals(transfer)
        let player = transfer.player
        guard let slot = players.slot(of: player) else {
            preconditionFailure("player \(player) of transfer \(transfer.id) is not loaded")
        }
        let applied = players[slot: slot].apply(transfer, opening: opening, hold: hold)
        if let deadline = applied.deadline { expect(player, at: deadline) }
        if applied.closesLot { closers.append(player) }
        return applied.previous
    }

    package mutating func addToTotals(_ transfer: Transfer) {
        let currency = transfer.debit.currency
        totals[currency, transfer.debit.kind].debits += transfer.amount
        totals[currency, transfer.credit.kind].credits += transfer.amount
    }

    /// Starts an entry; what is posted until the next belongs to it. An operation of an atomic belongs to the
    /// atomic's.
    mutating func beginEntry(
        _ kind: EntryKind, at now: Timestamp, transaction: TransactionID? = nil, key: RequestKey? = nil,
        note: String? = nil
    ) {
        if isInAtomic { return }
        position.entry += 1
        position.time = entryTime(now)
        rows.entries.append(
            Entry(
                id: position.entry, time: position.time, kind: kind, firstTransfer: position.transfer + 1,
                transaction: transaction, key: key, note: note, actor: actorID(of: kind)))
    }

    /// The number of whoever asked for the entry.
    private mutating func actorID(of kind: EntryKind) -> ActorID? {
        switch kind {
        case .expiry, .holdExpiry: return nil
        case .credit, .refund, .reinstatement, .spend, .grant, .reversal, .hold, .capture, .release, .atomic:
            return actorID()
        }
    }

    /// The number of whoever sent the command being decided; a name that the journal does not have yet gets the next.
    mutating func actorID() -> ActorID? {
        guard let actor else { return nil }
        if let id = actorIDs[actor] { return id }
        position.actor += 1
        actorIDs[actor] = position.actor
        rows.actors.append(BlockRows.ActorRow(id: position.actor, name: actor))
        return position.actor
    }

    /// Whether `amount` may be moved without a balance leaving ±(2^53 − 1). What is credited to wallets must fit them
    /// together with all that is held, so that a hold can always be given back.
    func allows(_ amount: Int64, _ currency: CurrencyID, debit: AccountKind, credit: AccountKind) -> Bool {
        let debited = totals[currency, debit].balance + amount
        let held = credit == .wallet ? totals[currency, .held].balance : 0
        let credited = totals[currency, credit].balance + held - amount
        return debited <= Limits.amountMax && credited >= -Limits.amountMax
    }

    /// The books' invariants for one wallet; sums only in debug builds, for a wallet may have many lots.
    func assertInvariants(_ player: PlayerID, _ currency: CurrencyID) {
        guard let place = place(player, currency) else { return }
        let wallet = self[place]
        precondition(wallet.available >= 0 && wallet.held >= 0 && wallet.debt >= 0, "a balance is negative")
        precondition(wallet.available == 0 || wallet.debt == 0, "a debt stands beside something available")
        precondition(wallet.paid >= 0 && wallet.paid <= wallet.available, "paid is not a part of available")
        precondition(wallet.hasAllLots || wallet.isCreditedWithoutLots, "a wallet lacks lots that it needs")
        assert(!wallet.hasAllLots || wallet.isSumOfLots, "a wallet is not the sum of its lots")
        assert(
            wallet.lots.allSatisfy {
                $0.remaining >= 0 && $0.owed >= 0
                    && $0.remaining == $0.granted - $0.spent - $0.held - $0.expired - $0.repaid
                        - ($0.refunded - $0.indebted - $0.writtenOff)
            }, "a lot's parts are not its whole")
        assert(
            wallet.held == players[player]?.holds.reduce(0) { $0 + ($1.currency == currency ? $1.amount : 0) },
            "held is not the sum of the open holds")
        assert(AccountKind.allCases.reduce(0) { $0 + totals[currency, $1].balance } == 0, "the books do not balance")
    }
}
