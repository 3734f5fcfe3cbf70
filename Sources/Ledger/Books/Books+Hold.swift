extension Books {
    /// Sets currency aside. Guards stand in the protocol's order of precedence.
    mutating func post(_ hold: Hold, at now: Timestamp) -> Result<KeyedAnswer, Refusal.Reason> {
        let player = account(hold.account)
        settle(player, at: now)
        guard let currency = currencyID(hold.currency) else {
            return .failure(.unknownCurrency(currency: hold.currency))
        }
        let amount = hold.amount.units
        guard let player, let place = place(player, currency), self[place].available >= amount else {
            let available = self.place(player, currency).map { self[$0].available } ?? 0
            return .failure(.insufficientFunds(currency: hold.currency, available: available))
        }

        // Nothing below can fail.
        beginEntry(.hold, at: now, key: hold.key)
        let row = BlockRows.HoldRow(
            id: position.transfer + 1, entry: position.entry, account: player, currency: currency, amount: amount,
            expiresAt: position.time + hold.timeoutMilliseconds)
        rows.holds.append(row)
        let order = settings(currency).spendOrder
        var opening: OpenHold? = row.opening
        for part in self[place].draw(amount, .any, order) {
            post(
                debit: .wallet, credit: .held, part.units, lot: part.lot, player: player, currency: currency,
                hold: opening, spendOrder: order)
            opening = nil
        }
        assertInvariants(player, currency)
        return .success(
            .hold(
                HoldReceipt(
                    entry: position.entry, replayed: false, expiresAt: row.expiresAt,
                    balances: balances(player, CollectionOfOne(currency))),
                KeyedAnswer.Trace(first: row.id, player: player)))
    }

    /// Spends a hold, or so much of it and gives the rest back. Guards stand in the protocol's order of precedence;
    /// only of a hold that is open can more be asked than it has.
    mutating func post(_ capture: Capture, at now: Timestamp) -> Result<KeyedAnswer, Refusal.Reason> {
        let player: PlayerID
        let hold: OpenHold
        switch find(capture.holdKey, capture.operation, at: now) {
        case .success(let found): (player, hold) = found
        case .failure(let reason): return .failure(reason)
        }
        let amount = capture.amount?.units ?? hold.amount
        if amount > hold.amount {
            return .failure(.insufficientFunds(currency: code(hold.currency), available: hold.amount))
        }

        // Nothing below can fail.
        beginEntry(.capture, at: now, key: capture.key)
        let trace = KeyedAnswer.Trace(first: position.transfer + 1, player: player)
        var left = amount
        var drawn: [DrawnLot] = []
        var rest = hold.parts[...]
        while left > 0, var part = rest.popFirst() {
            let whole = part.units
            part.units = min(left, whole)
            left -= part.units
            post(
                debit: .held, credit: .spent, part.units, lot: part.lot, player: player, currency: hold.currency,
                reference: hold.id)
            drawn.append(drawnLot(part, hold.currency))
            if part.units < whole {
                part.units = whole - part.units
                rest = [part] + rest
            }
        }
        giveBack(rest, of: hold, player)
        holdEnds[hold.id] = .closed
        assertInvariants(player, hold.currency)
        return .success(
            .capture(
                CaptureReceipt(
                    entry: position.entry, replayed: false, drawn: drawn,
                    balances: balances(player, CollectionOfOne(hold.currency))), trace))
    }

    /// Gives a hold back. Guards stand in the protocol's order of precedence.
    mutating func post(_ release: Release, at now: Timestamp) -> Result<KeyedAnswer, Refusal.Reason> {
        let player: PlayerID
        let hold: OpenHold
        switch find(release.holdKey, release.operation, at: now) {
        case .success(let found): (player, hold) = found
        case .failure(let reason): return .failure(reason)
        }

        // Nothing below can fail.
        beginEntry(.release, at: now, key: release.key)
        giveBack(hold.parts[...], of: hold, player)
        holdEnds[hold.id] = .closed
        assertInvariants(player, hold.currency)
        return .success(
            .release(
                ReleaseReceipt(
                    entry: position.entry, replayed: false, balances: balances(player, CollectionOfOne(hold.currency)))
            ))
    }

    /// The open hold that a key, and an operation of it, names.
    private mutating func find(
        _ key: RequestKey, _ operation: Int?, at now: Timestamp
    ) -> Result<(PlayerID, OpenHold), Refusal.Reason> {
        guard let named = answers[key]?.answer.hold(operation) else { return .failure(.unknownHold) }
        let player = owner(of: named.trace.player)
        settle(player, at: now)
        if let hold = players[player]?.holds.first(where: { $0.id == named.trace.first }) {
            return .success((player, hold))
        }
        guard let end = holdEnds[named.trace.first] else {
            preconditionFailure("hold \(named.trace.first) is not open, and how it ended is not loaded")
        }
        switch end {
        case .closed: return .failure(.holdClosed)
        case .expired: return .failure(.holdExpired(expiresAt: named.expiresAt))
        }
    }
}
