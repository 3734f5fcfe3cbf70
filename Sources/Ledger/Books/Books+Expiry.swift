extension Books {
    /// Posts everything of a player that has expired by now, each hold as an entry of its own and all lots as another.
    /// It goes before whatever is decided of the player, so that nothing that has expired is ever seen or spent.
    /// - Returns: whether anything had.
    @discardableResult
    mutating func settle(_ player: PlayerID?, at now: Timestamp) -> Bool {
        guard let player, let slot = players.slot(of: player) else { return false }
        let time = entryTime(now)
        guard players[slot: slot].deadline <= time else { return false }
        let before = position.entry
        expireLots(player, slot, at: time)
        let due = players[slot: slot].holds.filter { $0.expiresAt <= time }
            .sorted { ($0.expiresAt, $0.id) < ($1.expiresAt, $1.id) }
        for hold in due {
            beginEntry(.holdExpiry, at: time)
            giveBack(hold.parts[...], of: hold, player)
            holdEnds[hold.id] = .expired
            assertInvariants(player, hold.currency)
        }
        if let slot = players.slot(of: player) { refreshDeadline(slot) }
        return position.entry > before
    }

    /// Posts what has expired by now of an account, so that a history that is read next shows it.
    package mutating func settle(_ account: AccountName, at now: Timestamp) { settle(self.account(account), at: now) }

    /// An account's player as they are once what has expired by now is posted; `nil` where there is no such account.
    /// The player is loaded with all that is open.
    package mutating func settled(_ account: AccountName, at now: Timestamp) -> Player? {
        settle(account, at: now)
        return self.account(account).flatMap { players[$0] }
    }

    /// Posts what has expired by now of a purchase's account, so that the purchase, when it is read next, shows it.
    package mutating func settle(_ transaction: TransactionID, at now: Timestamp) {
        settle(purchases[transaction]?.account.map { owner(of: $0) }, at: now)
    }

    /// Posts what has expired by now of the players in memory, the earliest first, so many of them as one batch takes,
    /// and at least one.
    mutating func expireDue(at now: Timestamp) -> Outcome {
        var count = 0
        let transfersMax = position.transfer + Int64(Limits.expiredLotsPerBatchMax)
        while count < Limits.expirationsPerBatchMax, position.transfer < transfersMax,
            let item = deadlines.first, item.time <= entryTime(now)
        {
            deadlines.removeFirst()
            // A player who was settled since has another deadline, under which they stand again.
            guard let slot = players.slot(of: item.player), players[slot: slot].deadline == item.time else {
                continue
            }
            // A player whose deadline was too early takes a new place, so that the order is that of what expires.
            refreshDeadline(slot)
            if players[slot: slot].deadline > item.time { continue }
            if settle(item.player, at: now) { count += 1 }
        }
        // There may be more where it was cut.
        return .expired(players: position.transfer < transfersMax ? count : Limits.expirationsPerBatchMax)
    }

    /// Gives parts of a hold back to the wallet.
    mutating func giveBack(_ parts: ArraySlice<LotPart>, of hold: OpenHold, _ player: PlayerID) {
        for part in parts {
            post(
                debit: .held, credit: .wallet, part.units, lot: part.lot, player: player, currency: hold.currency,
                reference: hold.id)
        }
        settleReturned(parts, player, hold.currency)
    }

    /// What came back into lots: what has expired meanwhile goes on at once, and the rest pays debts, so that a wallet
    /// never shows what cannot be spent.
    mutating func settleReturned(_ parts: ArraySlice<LotPart>, _ player: PlayerID, _ currency: CurrencyID) {
        guard let place = place(player, currency) else {
            preconditionFailure("something came back into a wallet that is not loaded")
        }
        var rest: [LotPart] = []
        let hasDebt = self[place].debt > 0
        for part in parts {
            if let index = self[place].index(part.lot), self[place].lots[index].isExpired(at: position.time) {
                post(
                    debit: .wallet, credit: .expired, part.units, lot: part.lot, player: player, currency: currency)
            } else if hasDebt {
                rest.append(part)
            }
        }
        if !rest.isEmpty { recoverDebt(from: rest, player, currency) }
    }

    private mutating func expireLots(
        _ player: PlayerID, _ slot: Int, at time: Timestamp
    ) {
        var due: [(currency: CurrencyID, parts: [LotPart])] = []
        for wallet in players[slot: slot].wallets where wallet.available > wallet.paid {
            let parts = wallet.lots.filter { $0.remaining > 0 && $0.isExpired(at: time) }
                .map { LotPart(lot: $0.id, units: $0.remaining, transaction: nil) }
            if !parts.isEmpty { due.append((wallet.currency, parts)) }
        }
        if due.isEmpty { return }
        beginEntry(.expiry, at: time)
        for (currency, parts) in due {
            for part in parts {
                post(debit: .wallet, credit: .expired, part.units, lot: part.lot, player: player, currency: currency)
            }
            assertInvariants(player, currency)
        }
    }

    // MARK: Deadlines

    /// Notes that something of a loaded player expires.
    mutating func expect(_ player: PlayerID, at time: Timestamp) {
        deadlines.push(Deadlines.Item(time: time, player: player))
        // Items that mean nothing any more may gather; then those that do are put in anew.
        guard deadlines.count > 1_024, deadlines.count > 2 * players.count else { return }
        deadlines.removeAll()
        for player in players.values where player.deadline < Timestamp.max {
            deadlines.push(Deadlines.Item(time: player.deadline, player: player.id))
        }
    }

    /// Brings a player's deadline, which may have become too early, up to date.
    mutating func refreshDeadline(_ slot: Int) {
        let exact = players[slot: slot].exactDeadline
        if players[slot: slot].deadline == exact { return }
        players[slot: slot].deadline = exact
        if exact < Timestamp.max { expect(players[slot: slot].id, at: exact) }
    }
}
