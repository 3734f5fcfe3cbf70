extension Books {
    /// Pays the wallet's debts from one lot, as far as it goes.
    mutating func recoverDebt(from lot: LotID, _ player: PlayerID, _ currency: CurrencyID) {
        guard let place = place(player, currency), self[place].debt > 0, let source = self[place].lot(lot) else {
            return
        }
        if source.remaining == 0 { return }
        recoverDebt(
            from: [LotPart(lot: lot, units: source.remaining, transaction: source.transaction)], player, currency)
    }

    /// Pays the wallet's debts from whatever it has, in the currency's spend order, as far as it goes.
    mutating func recoverDebt(_ player: PlayerID, _ currency: CurrencyID) {
        guard let place = place(player, currency) else { return }
        let units = min(self[place].debt, self[place].available)
        if units == 0 { return }
        recoverDebt(from: self[place].draw(units, .any, settings(currency).spendOrder), player, currency)
    }

    /// Pays the wallet's debts from parts of lots: each first its own lot's, then the oldest.
    mutating func recoverDebt(from sources: [LotPart], _ player: PlayerID, _ currency: CurrencyID) {
        guard let place = place(player, currency), self[place].debt > 0 else { return }
        let debts = self[place].lots.filter { $0.owed > 0 }.map(\.id)
        var next = 0
        for var source in sources {
            let own = pay(source, source.lot, place, player, currency)
            source.units -= own
            while source.units > 0 && next < debts.count {
                source.units -= pay(source, debts[next], place, player, currency)
                // With something left of the source, the debt is paid.
                if source.units > 0 { next += 1 }
            }
        }
    }

    /// Pays what a lot owes from another, or from itself; gives how much.
    private mutating func pay(
        _ source: LotPart, _ debt: LotID, _ place: WalletPlace, _ player: PlayerID, _ currency: CurrencyID
    ) -> Int64 {
        guard let index = self[place].index(debt) else { preconditionFailure("lot \(debt), which owes, is not loaded") }
        let units = min(source.units, self[place].lots[index].owed)
        if units == 0 { return 0 }
        post(
            debit: .wallet, credit: .receivable, units, lot: source.lot, debtLot: debt, player: player,
            currency: currency)
        return units
    }
}
