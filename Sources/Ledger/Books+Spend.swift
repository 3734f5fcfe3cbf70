extension Books {
    /// Debits wallets, all or nothing. Guards stand in the protocol's order of precedence.
    mutating func post(_ spend: Spend, at now: Timestamp) -> Result<SpendReceipt, Refusal.Reason> {
        let player = playerIDs[spend.account]
        var wallets: [(currency: CurrencyID, wallet: Wallet, amount: Int64)] = []
        var unknown: CurrencyCode?
        for debit in spend.debits {
            guard let currency = currencyID(debit.currency) else {
                unknown = unknown ?? debit.currency
                continue
            }
            let wallet = wallet(player, currency) ?? Wallet(currency: currency)
            wallets.append((currency, wallet, debit.amount.units))
        }
        for (currency, wallet, amount) in wallets {
            let available = wallet.available(for: spend.funds)
            if amount > available {
                return .failure(.insufficientFunds(currency: code(currency), available: available))
            }
        }
        if let expected = spend.expectedVersion, let wallet = wallets.first?.wallet, wallet.version != expected {
            return .failure(.versionMismatch(version: wallet.version))
        }
        if let minimum = spend.minimumRemaining, let (_, wallet, amount) = wallets.first,
            wallet.available - amount < minimum
        {
            return .failure(.minimumRemaining(available: wallet.available))
        }
        for (currency, _, amount) in wallets where !allows(amount, currency, debit: .wallet, credit: .spent) {
            return .failure(.balanceLimit(currency: code(currency)))
        }
        if let unknown { return .failure(.unknownCurrency(currency: unknown)) }
        guard let player else { preconditionFailure("an account never seen has nothing to spend") }

        // Nothing below can fail.
        beginEntry(.spend, at: now, key: spend.key, note: spend.note)
        var drawn: [DrawnLot] = []
        for (currency, wallet, amount) in wallets {
            for part in draw(amount, from: wallet, spend.funds, settings(currency).spendOrder) {
                post(debit: .wallet, credit: .spent, part.units, lot: part.id, player: player, currency: currency)
                guard let units = Amount(part.units) else { preconditionFailure("a drawn part is positive") }
                drawn.append(
                    DrawnLot(
                        currency: code(currency), amount: units, lot: part.id,
                        transaction: wallet.lot(part.id)?.transaction))
            }
            assertInvariants(player, currency)
        }
        return .success(
            SpendReceipt(
                entry: position.entry, replayed: false, drawn: drawn,
                balances: balances(player, wallets.map(\.currency))))
    }

    /// Which lots give how much of `amount`, which the wallet has.
    func draw(
        _ amount: Int64, from wallet: Wallet, _ funds: Funds, _ order: SpendOrder
    ) -> [(id: LotID, units: Int64)] {
        var left = amount
        var drawn: [(id: LotID, units: Int64)] = []
        func take(_ lots: some Sequence<Lot>) {
            if left == 0 { return }
            for lot in lots where lot.remaining > 0 {
                if left == 0 { return }
                let units = min(left, lot.remaining)
                drawn.append((lot.id, units))
                left -= units
            }
        }
        let paid = wallet.open.lazy.filter { $0.lotClass == .paid }
        let free = wallet.open.lazy.filter { $0.lotClass == .free }
        switch (funds, order) {
        case (.any, .oldest):
            take(wallet.open)
        case (.any, .freeFirst):
            take(free)
            take(paid)
        case (.any, .paidFirst):
            take(paid)
            take(free)
        case (.any, .dearestFirst):
            take(paid.sorted(by: Lot.isDearer))
            take(free)
        case (.paid, .dearestFirst):
            take(paid.sorted(by: Lot.isDearer))
        case (.paid, .oldest), (.paid, .freeFirst), (.paid, .paidFirst):
            take(paid)
        }
        precondition(left == 0, "a wallet's lots hold less than is available")
        return drawn
    }
}

extension Wallet {
    func available(for funds: Funds) -> Int64 {
        switch funds {
        case .any: available
        case .paid: paid
        }
    }
}

extension Lot {
    /// Dearer for a unit, or as dear and older. Prices are compared as Apple states them, whatever their currency.
    static func isDearer(_ left: Lot, _ right: Lot) -> Bool {
        let leftPrice = left.price.multipliedFullWidth(by: right.granted)
        let rightPrice = right.price.multipliedFullWidth(by: left.granted)
        if leftPrice != rightPrice { return leftPrice > rightPrice }
        return left.id < right.id
    }
}
