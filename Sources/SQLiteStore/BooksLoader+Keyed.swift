import Ledger

/// Spends and holds that are named by their key.
extension BooksLoader {
    /// The players and lots of a key's spends, and what of them went back.
    func loadSpends(_ key: RequestKey, into books: inout Books) throws {
        if books.answers[key] == nil { try load(key, into: &books) }
        for (_, spend) in books.answers[key]?.answer.spends ?? [] where books.returned[spend.trace.first] == nil {
            let first = spend.trace.first
            try load(player: spend.trace.player, into: &books)
            var lots: [CurrencyID: [LotID]] = [:]
            for part in spend.drawn {
                guard let currency = books.currencyID(part.currency) else {
                    throw StoreError("a spend drew currency \(part.currency), which the ledger does not have")
                }
                lots[currency, default: []].append(part.lot)
            }
            for (currency, ids) in lots {
                try load(lots: ids, of: spend.trace.player, currency, into: &books)
            }
            var returned: [LotID: Int64] = [:]
            selectReturned.bind(1, first)
            while try selectReturned.next() { returned[selectReturned.integer(0)] = selectReturned.integer(1) }
            books.load(returned: returned, of: first)
        }
    }

    /// The players of a key's holds, and how those ended that are not open.
    func loadHolds(_ key: RequestKey, into books: inout Books) throws {
        if books.answers[key] == nil { try load(key, into: &books) }
        for (_, hold) in books.answers[key]?.answer.holds ?? [] {
            let first = hold.trace.first
            try load(player: hold.trace.player, into: &books)
            if books.players[hold.trace.player]?.holds.contains(where: { $0.id == first }) == true { continue }
            selectHoldEnd.bind(1, first)
            guard try selectHoldEnd.next() else { throw StoreError("hold \(first) is not open, and nothing closed it") }
            let isExpired = selectHoldEnd.integer(0) == EntryKind.holdExpiry.rawValue
            selectHoldEnd.reset()
            books.load(isExpired ? .expired : .closed, of: first)
        }
    }

    func loadOpenHolds(_ player: inout Player) throws {
        var amounts: [Int64] = []
        selectOpenHolds.bind(1, player.id)
        while try selectOpenHolds.next() {
            player.holds.append(
                OpenHold(
                    id: selectOpenHolds.integer(0),
                    currency: CurrencyID(truncatingIfNeeded: selectOpenHolds.integer(1)),
                    expiresAt: selectOpenHolds.integer(3)))
            amounts.append(selectOpenHolds.integer(2))
        }
        for (index, amount) in amounts.enumerated() {
            let hold = player.holds[index]
            guard let wallet = player.walletIndex(hold.currency) else {
                throw StoreError("hold \(hold.id) of account \(player.id) has no wallet")
            }
            let account = LedgerAccount(.held, hold.currency, player: player.id).number
            selectHeldParts.bind(1, hold.id)
            while player.holds[index].amount < amount, try selectHeldParts.next(), selectHeldParts.integer(0) == account
            {
                let lot = selectHeldParts.integer(1)
                player.holds[index].add(
                    LotPart(
                        lot: lot, units: selectHeldParts.integer(2),
                        transaction: player.wallets[wallet].lot(lot)?.transaction))
            }
            selectHeldParts.reset()
            guard player.holds[index].amount == amount else {
                throw StoreError("the transfers of hold \(hold.id) are not its amount")
            }
        }
        for wallet in player.wallets {
            let held = player.holds.reduce(0) { $0 + ($1.currency == wallet.currency ? $1.amount : 0) }
            guard held == wallet.held else {
                throw StoreError("what account \(player.id) has held is not the sum of the holds")
            }
        }
    }
}
