extension Books {
    /// Gives free currency. Guards stand in the protocol's order of precedence.
    mutating func post(_ grant: Grant, at now: Timestamp) -> Result<KeyedAnswer, Refusal.Reason> {
        settle(account(grant.account), at: now)
        guard let currency = currencyID(grant.currency) else {
            return .failure(.unknownCurrency(currency: grant.currency))
        }
        let amount = grant.amount.units
        let grantMax = settings(currency).grantMax
        if amount > grantMax { return .failure(.grantLimit(currency: grant.currency, grantMax: grantMax)) }
        if exceeds(amount, currency, of: account(grant.account)) {
            return .failure(.balanceLimit(currency: grant.currency))
        }

        // Nothing below can fail.
        let player = openAccount(grant.account)
        beginEntry(.grant, at: now, key: grant.key, note: grant.note)
        let id = position.transfer + 1
        let lot = Lot(
            id: id, lotClass: .free, transaction: nil, time: position.time, price: 0, granted: amount, remaining: 0,
            expiresAt: grant.expiresAt)
        post(debit: .granted, credit: .wallet, amount, lot: id, player: player, currency: currency, opening: lot)
        if lot.isExpired(at: position.time) {
            post(debit: .wallet, credit: .expired, amount, lot: id, player: player, currency: currency)
        } else {
            recoverDebt(from: id, player, currency)
        }
        assertInvariants(player, currency)
        return .success(
            .grant(
                GrantReceipt(
                    entry: position.entry, replayed: false, balances: balances(player, CollectionOfOne(currency)))))
    }
}
