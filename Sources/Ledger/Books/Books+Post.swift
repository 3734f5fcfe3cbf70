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
        totals[currency, transfer.debit.kind].debits += Int128(transfer.amount)
        totals[currency, transfer.credit.kind].credits += Int128(transfer.amount)
    }

    /// Starts an entry; what is posted until the next belongs to it. An operation of an atomic belongs to the
    /// atomic's.
    mutating func beginEntry(
        _ kind: EntryKind, at now: Timestamp, transaction: TransactionID? = nil, key: RequestKey? = nil,
        note: String? = nil
    ) {
        if isInAtomic { return }
        assertLastEntryIsWhole()
        let time = entryTime(now)
        precondition(time >= position.time && time > closedThrough, "an entry's time is in a closed period")
        position.entry += 1
        position.time = time
        rows.entries.append(
            Entry(
                id: position.entry, time: position.time, kind: kind, firstTransfer: position.transfer + 1,
                transaction: transaction, key: key, note: note, actor: actorID(of: kind)))
    }

    /// The number of whoever asked for the entry.
    private mutating func actorID(of kind: EntryKind) -> ActorID? {
        switch kind {
        case .expiry, .holdExpiry: return nil
        case .credit, .refund, .reinstatement, .spend, .grant, .reversal, .hold, .capture, .release, .atomic, .link,
            .adjustment, .imported:
            return actorID()
        }
    }

    /// The number of whoever sent the command being decided; a name that no block has yet gets the next.
    mutating func actorID() -> ActorID? {
        guard let actor else { return nil }
        return actorID(named: actor)
    }

    /// The number of a token's name.
    mutating func actorID(named actor: String) -> ActorID {
        if let id = actorIDs[actor] { return id }
        position.actor += 1
        actorIDs[actor] = position.actor
        rows.actors.append(BlockRows.ActorRow(id: position.actor, name: actor))
        return position.actor
    }

    /// Whether a credit would take a wallet past 2^53 − 1. It must fit together with what is held, so that a hold can
    /// always be given back. Nothing else is bounded: no player's wallet keeps another's from anything.
    func exceeds(_ units: Int64, _ currency: CurrencyID, of player: PlayerID?) -> Bool {
        let balance = balance(place(player, currency))
        return units > Limits.amountMax - balance.available - balance.held
    }
}
