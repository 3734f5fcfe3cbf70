extension Books {
    /// One debit of a spend in a currency that the ledger has.
    private struct Debit {
        var currency: CurrencyID
        var place: WalletPlace?
        var amount: Int64
    }

    /// Debits wallets, all or nothing. Guards stand in the protocol's order of precedence.
    mutating func post(_ spend: Spend, at now: Timestamp) -> Result<KeyedAnswer, Refusal.Reason> {
        let player = account(spend.account)
        settle(player, at: now)
        var debits: [Debit] = []
        debits.reserveCapacity(spend.debits.count)
        var unknown: CurrencyCode?
        for debit in spend.debits {
            guard let currency = currencyID(debit.currency) else {
                unknown = unknown ?? debit.currency
                continue
            }
            debits.append(Debit(currency: currency, place: place(player, currency), amount: debit.amount.units))
        }
        if let reason = refusal(spend, debits) { return .failure(reason) }
        if let unknown { return .failure(.unknownCurrency(currency: unknown)) }
        guard let player else { preconditionFailure("an account never seen has nothing to spend") }

        // Nothing below can fail.
        beginEntry(.spend, at: now, key: spend.key, note: spend.note)
        let trace = KeyedAnswer.Trace(first: position.transfer + 1, player: player)
        var drawn: [DrawnLot] = []
        for debit in debits {
            guard let place = debit.place else { preconditionFailure("a wallet that is not there was drawn") }
            let order = settings(debit.currency).spendOrder
            for part in self[place].draw(debit.amount, spend.funds, order) {
                post(
                    debit: .wallet, credit: .spent, part.units, lot: part.lot, player: player,
                    currency: debit.currency, spendOrder: order)
                drawn.append(drawnLot(part, debit.currency))
            }
            assertInvariants(player, debit.currency)
        }
        return .success(
            .spend(
                SpendReceipt(
                    entry: position.entry, replayed: false, drawn: drawn,
                    balances: balances(player, debits.lazy.map(\.currency))), trace))
    }

    /// Why the debits cannot be made; a currency that the ledger does not have comes after all of these.
    private func refusal(_ spend: Spend, _ debits: [Debit]) -> Refusal.Reason? {
        for debit in debits {
            let available = available(debit.place, for: spend.funds)
            if debit.amount > available {
                return .insufficientFunds(currency: code(debit.currency), available: available)
            }
        }
        if let first = debits.first {
            let balance = balance(first.place)
            if let expected = spend.expectedVersion, balance.version != expected {
                return .versionMismatch(version: balance.version)
            }
            if let minimum = spend.minimumRemaining, balance.available - first.amount < minimum {
                return .minimumRemaining(available: balance.available)
            }
        }
        return nil
    }

    private func available(_ place: WalletPlace?, for funds: Funds) -> Int64 {
        guard let place else { return 0 }
        return self[place].available(for: funds)
    }

    func drawnLot(_ part: LotPart, _ currency: CurrencyID) -> DrawnLot {
        guard let units = Amount(part.units) else { preconditionFailure("a drawn part is positive") }
        return DrawnLot(currency: code(currency), amount: units, lot: part.lot, transaction: part.transaction)
    }
}
