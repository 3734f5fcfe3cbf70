/// What a player brings along from the books that a game kept before.
extension Books {
    /// Why nothing of it can be posted now, in the protocol's order of precedence. It is not kept with the key: nothing
    /// was done, and the same may be asked again when the reason is gone.
    mutating func refusal(of carried: LotImport, at now: Timestamp) -> Refusal? {
        settle(account(carried.account), at: now)
        let bought =
            carried.lots.compactMap(\.purchase).map { ($0.transaction, $0.purchaseDate) }
            + carried.usedUp.map { ($0.transaction, $0.purchaseDate) }
        if bought.contains(where: { $0.1 > latestTime(now) }) { return Refusal(.futurePurchase) }
        if bought.contains(where: { purchases[$0.0] != nil }) {
            return Refusal(.purchaseConflict(member: "transactionId"))
        }
        var sums: [CurrencyID: Int64] = [:]
        for lot in carried.lots {
            guard let currency = currencyID(lot.currency) else {
                return Refusal(.unknownCurrency(currency: lot.currency))
            }
            // At most so many lots of less than 2^53 each.
            sums[currency, default: 0] += lot.amount.units
        }
        for (currency, units) in sums.sorted(by: { $0.key < $1.key })
        where exceeds(units, currency, of: account(carried.account)) {
            return Refusal(.balanceLimit(currency: code(currency)))
        }
        return nil
    }

    /// Posts it. The first entry has the key; a purchase has an entry of its own, in which its lots come first.
    mutating func post(_ carried: LotImport, at now: Timestamp) -> KeyedAnswer {
        let count = carried.lots.count + carried.usedUp.count
        precondition(1...Limits.importedLotsMax ~= count, "an import of nothing, or of too much")
        precondition(carried.conflict == nil, "an import whose lots do not fit each other")
        let player = openAccount(carried.account)
        let first = position.entry + 1
        var key: RequestKey? = carried.key
        for lots in carried.purchases {
            guard let purchase = lots[0].purchase else { preconditionFailure("a purchase's lot has its purchase") }
            let stated = StatedPurchase(
                facts: PurchaseFacts(
                    transaction: purchase.transaction, product: purchase.product, quantity: 1,
                    purchaseDate: purchase.purchaseDate, price: lots.reduce(0) { $0 + ($1.purchase?.price ?? 0) },
                    priceCurrency: purchase.priceCurrency, source: .imported),
                account: carried.account, revoked: nil)
            _ = record(stated, grants: lots.map(grant), key: key, at: now)
            key = nil
        }
        for purchase in carried.orderedUsedUp {
            // What is not earned yet of its price is nothing, and nobody knows what that was.
            let stated = StatedPurchase(
                facts: PurchaseFacts(
                    transaction: purchase.transaction, product: purchase.product, quantity: 1,
                    purchaseDate: purchase.purchaseDate, source: .imported),
                account: carried.account, revoked: nil)
            _ = record(stated, grants: [], at: now)
        }
        let gifts = carried.gifts
        if !gifts.isEmpty {
            beginEntry(.imported, at: now, key: key)
            for lot in gifts { give(grant(lot), to: player) }
        }
        let entries = position.entry - first + 1
        return .imported(
            ImportReceipt(
                entry: entries > 0 ? first : nil, entries: entries, usedUp: Int64(carried.usedUp.count),
                replayed: false))
    }

    /// The lot's own price is its weight, so that its share of the purchase's price is that.
    private func grant(_ lot: ImportedLot) -> PurchaseRegister.Grant {
        guard let currency = currencyID(lot.currency) else { preconditionFailure("an import of no currency") }
        return PurchaseRegister.Grant(
            currency: currency, units: lot.amount.units, weight: lot.purchase?.price ?? 0)
    }

    private mutating func give(_ gift: PurchaseRegister.Grant, to player: PlayerID) {
        let id = position.transfer + 1
        let lot = Lot(
            id: id, lotClass: .free, transaction: nil, time: position.time, price: 0, granted: gift.units, remaining: 0)
        post(
            debit: .imported, credit: .wallet, gift.units, lot: id, player: player, currency: gift.currency,
            opening: lot)
        recoverDebt(from: id, player, gift.currency)
        assertInvariants(player, gift.currency)
    }
}
