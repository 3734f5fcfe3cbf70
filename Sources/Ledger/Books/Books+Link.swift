extension Books {
    // MARK: Whose is what

    /// Whose everything is that comes under a name now: the player's, or that of whom their name was linked to last.
    /// That account may have passed all that it was on to another since, over its own first link; its later ones are of
    /// its own name alone, so that it is no matter in which order names were linked.
    package func current(_ player: PlayerID) -> PlayerID {
        guard hasLinks, let slot = players.slot(of: player), let link = players[slot: slot].links.last else {
            return player
        }
        return owner(of: link.account)
    }

    /// Whose everything is that a player ever had: theirs, or that of whom they were linked to first.
    package func owner(of player: PlayerID) -> PlayerID {
        var player = player
        while hasLinks, let slot = players.slot(of: player), let link = players[slot: slot].links.first {
            player = link.account
        }
        return player
    }

    /// The account that has a name, or to which that name is linked.
    func account(_ name: AccountName) -> PlayerID? { playerIDs[name].map { current($0) } }

    /// The same; made now where the name is new.
    mutating func openAccount(_ name: AccountName) -> PlayerID {
        // Within one expression the books would be copied, to be asked as they were before: all players in memory.
        let player = openPlayer(name)
        return current(player)
    }

    /// Whether what came under a name may be an account's that is linked to no other: the name is the account's, or was
    /// ever linked to it.
    func mayBe(_ name: AccountName, of owner: PlayerID) -> Bool {
        guard let player = playerIDs[name] else { return false }
        if player == owner { return true }
        guard hasLinks, let links = players[player]?.links else { return false }
        return links.contains { self.owner(of: $0.account) == owner }
    }

    // MARK: Linking

    /// Makes a token an account's. Guards stand in the protocol's order of precedence.
    mutating func link(_ link: Link, at now: Timestamp) -> Outcome {
        let name = link.token.account
        let known = playerIDs[name]
        let target = account(link.account)
        settle(known, at: now)
        settle(target, at: now)
        if let known, current(known) == target {
            return .link(receipt(.alreadyLinked, known, moved: []))
        }
        if name == link.account {
            // A token is its own account while it is not linked.
            let token = openPlayer(name)
            return .link(receipt(.alreadyLinked, token, moved: []))
        }
        let isLinked = known.flatMap { players[$0] }.map { !$0.links.isEmpty } ?? false
        if isLinked && !link.moves { return .refused(Refusal(.accountMismatch)) }
        if !isLinked, let known, let currency = exceeded(byMoving: known, to: target) {
            return .refused(Refusal(.balanceLimit(currency: code(currency))))
        }

        // Nothing below can fail.
        let token = openPlayer(name)
        let account = openAccount(link.account)
        let moved = isLinked ? relink(token, to: account, at: now) : move(token, to: account, at: now)
        changedAccounts += [token, account]
        return .link(receipt(isLinked ? .relinked : .linked, token, moved: moved))
    }

    private mutating func relink(_ token: PlayerID, to account: PlayerID, at now: Timestamp) -> [CurrencyBalance] {
        let row = BlockRows.LinkRow(
            token: token, account: account, entry: nil, time: entryTime(now), actor: actorID())
        rows.links.append(row)
        apply(row)
        return []
    }

    private func receipt(_ outcome: LinkOutcome, _ token: PlayerID, moved: [CurrencyBalance]) -> LinkReceipt {
        let account = current(token)
        guard let player = players[account] else { preconditionFailure("account \(account) is not loaded") }
        return LinkReceipt(
            outcome: outcome, account: player.name, entry: players[token]?.links.first?.entry, moved: moved,
            balances: balances(player))
    }

    /// The first currency of which both together would have, or owe, more than a wallet can.
    private func exceeded(byMoving token: PlayerID, to account: PlayerID?) -> CurrencyID? {
        players[token]?.wallets.first { wallet in
            exceeds(wallet.available + wallet.held, wallet.currency, of: account)
                || wallet.debt > Limits.amountMax - balance(place(account, wallet.currency)).debt
        }?.currency
    }

    /// Moves everything that a token has to an account: first out of its wallets, then into the account's, lot by lot,
    /// so that each transfer has its counterpart. A lot keeps its number, and what became of it so far.
    /// - Returns: the token's wallets that had something, as they were.
    private mutating func move(_ token: PlayerID, to account: PlayerID, at now: Timestamp) -> [CurrencyBalance] {
        guard let wallets = players[token]?.wallets else { preconditionFailure("token \(token) is not loaded") }
        precondition(wallets.allSatisfy(\.hasAllLots), "a wallet moves whose lots were not loaded")
        let moved = wallets.filter { $0.available > 0 || $0.held > 0 || $0.debt > 0 }
        if !moved.isEmpty { beginEntry(.link, at: now) }
        for wallet in moved {
            for lot in wallet.open { moveOut(lot, token, wallet.currency) }
        }
        let row = BlockRows.LinkRow(
            token: token, account: account, entry: moved.isEmpty ? nil : position.entry, time: entryTime(now),
            actor: actorID())
        rows.links.append(row)
        apply(row)
        for wallet in moved {
            for lot in wallet.open { moveIn(lot, account, wallet.currency) }
            recoverDebt(account, wallet.currency)
        }
        if let slot = players.slot(of: account) { refreshDeadline(slot) }
        for wallet in moved {
            assertInvariants(token, wallet.currency)
            assertInvariants(account, wallet.currency)
        }
        return moved.map { CurrencyBalance(currency: code($0.currency), balance: $0.balance) }
            .sorted { $0.currency < $1.currency }
    }

    /// Applies a link to the players, both of whom are loaded: with a token's first one its lots, holds and consent are
    /// the account's. The transfers of the link's entry move what these have, and are applied one by one.
    package mutating func apply(_ link: BlockRows.LinkRow) {
        guard let from = players.slot(of: link.token), let to = players.slot(of: link.account) else {
            preconditionFailure("both sides of a link are loaded")
        }
        let isFirst = players[slot: from].links.isEmpty
        players[slot: from].links.append(AccountLink(account: link.account, entry: link.entry))
        hasLinks = true
        guard isFirst else { return }
        for index in players[slot: from].wallets.indices {
            let lots = players[slot: from].wallets[index].takeLots()
            if lots.isEmpty { continue }
            let wallet = players[slot: to].openWallet(players[slot: from].wallets[index].currency)
            players[slot: to].wallets[wallet].insert(lots)
        }
        players[slot: to].holds = (players[slot: to].holds + players[slot: from].holds).sorted { $0.id < $1.id }
        players[slot: from].holds = []
        if let consent = players[slot: from].consent, consent.request > players[slot: to].consent?.request ?? 0 {
            players[slot: to].consent = consent
        }
        closers.append(link.account)
        refreshDeadline(from)
        refreshDeadline(to)
    }

    private mutating func moveOut(_ lot: Lot, _ player: PlayerID, _ currency: CurrencyID) {
        if lot.remaining > 0 {
            post(debit: .wallet, credit: .moved, lot.remaining, lot: lot.id, player: player, currency: currency)
        }
        if lot.held > 0 {
            post(debit: .held, credit: .moved, lot.held, lot: lot.id, player: player, currency: currency)
        }
        if lot.owed > 0 {
            post(
                debit: .moved, credit: .receivable, lot.owed, lot: lot.id, debtLot: lot.id, player: player,
                currency: currency)
        }
    }

    private mutating func moveIn(_ lot: Lot, _ player: PlayerID, _ currency: CurrencyID) {
        if lot.remaining > 0 {
            post(debit: .moved, credit: .wallet, lot.remaining, lot: lot.id, player: player, currency: currency)
        }
        if lot.held > 0 {
            post(debit: .moved, credit: .held, lot.held, lot: lot.id, player: player, currency: currency)
        }
        if lot.owed > 0 {
            post(
                debit: .receivable, credit: .moved, lot.owed, lot: lot.id, debtLot: lot.id, player: player,
                currency: currency)
        }
    }

    // MARK: Consent

    /// Records what a player said of consumption.
    mutating func record(_ consent: Consent, of named: PlayerID, at now: Timestamp) -> KeyedAnswer {
        let account = current(named)
        let row = BlockRows.ConsentRow(
            account: account, consumption: consent.consumption, time: entryTime(now), actor: actorID())
        rows.consents.append(row)
        // The number that this request gets.
        apply(row, request: position.request + 1)
        changedAccounts.append(account)
        return .consent(ConsentReceipt(consumption: row.consumption, time: row.time, replayed: false))
    }

    /// Applies what a request recorded to its player, who is loaded.
    package mutating func apply(_ consent: BlockRows.ConsentRow, request: Int64) {
        guard let slot = players.slot(of: consent.account) else {
            preconditionFailure("account \(consent.account) is not loaded")
        }
        players[slot: slot].consent = ConsentRecord(request: request, consumption: consent.consumption)
    }
}
