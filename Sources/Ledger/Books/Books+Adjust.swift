extension Books {
    /// Corrects a wallet by hand. Guards stand in the protocol's order of precedence.
    ///
    /// What it adds comes from `adjusted`, and what it takes goes there: so the trial balance shows all corrections
    /// apart from what was sold, given and spent, and their net.
    mutating func post(
        _ adjustment: Adjustment, approvedBy approver: String, at now: Timestamp
    ) -> Result<KeyedAnswer, Refusal.Reason> {
        precondition(
            adjustment.units != 0 && adjustment.units.magnitude <= Limits.amountMax, "a correction of nothing")
        settle(account(adjustment.account), at: now)
        guard let currency = currencyID(adjustment.currency) else {
            return .failure(.unknownCurrency(currency: adjustment.currency))
        }
        let place = place(account(adjustment.account), currency)
        let amount = abs(adjustment.units)
        if adjustment.units > 0 {
            if exceeds(amount, currency, of: account(adjustment.account)) {
                return .failure(.balanceLimit(currency: adjustment.currency))
            }
        } else {
            let available = available(place, of: adjustment.lotClass)
            if amount > available {
                return .failure(.insufficientFunds(currency: adjustment.currency, available: available))
            }
        }

        // Nothing below can fail.
        let player = openAccount(adjustment.account)
        beginEntry(.adjustment, at: now, key: adjustment.key, note: adjustment.reason)
        if adjustment.units > 0 {
            add(amount, adjustment.lotClass, player, currency)
        } else if let place {
            for part in self[place].draw(amount, of: adjustment.lotClass) {
                post(debit: .wallet, credit: .adjusted, part.units, lot: part.lot, player: player, currency: currency)
            }
        }
        rows.adjustments.append(
            BlockRows.AdjustmentRow(
                entry: position.entry, lotClass: adjustment.lotClass, reason: adjustment.reason,
                approver: actorID(named: approver)))
        assertInvariants(player, currency)
        return .success(
            .adjustment(
                AdjustmentReceipt(
                    entry: position.entry, replayed: false, balances: balances(player, CollectionOfOne(currency)))))
    }

    /// Opens a lot that nobody paid for, whatever its class: it has no price.
    private mutating func add(_ amount: Int64, _ lotClass: LotClass, _ player: PlayerID, _ currency: CurrencyID) {
        let id = position.transfer + 1
        let lot = Lot(
            id: id, lotClass: lotClass, transaction: nil, time: position.time, price: 0, granted: amount, remaining: 0)
        post(debit: .adjusted, credit: .wallet, amount, lot: id, player: player, currency: currency, opening: lot)
        recoverDebt(from: id, player, currency)
    }

    private func available(_ place: WalletPlace?, of lotClass: LotClass) -> Int64 {
        guard let place else { return 0 }
        switch lotClass {
        case .paid: return self[place].paid
        case .free: return self[place].available - self[place].paid
        }
    }
}
