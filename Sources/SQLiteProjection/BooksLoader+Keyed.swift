import Ledger

/// Spends and holds that are named by their key.
extension BooksLoader {
    /// The players and lots of a key's spends, and what of them went back.
    func loadSpends(_ key: RequestKey, into books: inout Books) throws {
        if books.answers[key] == nil { try load(key, into: &books) }
        for (_, spend) in books.answers[key]?.answer.spends ?? [] {
            let first = spend.trace.first
            try load(player: spend.trace.player, into: &books)
            var lots: [CurrencyID: [LotID]] = [:]
            var drawn: [LotID: Int64] = [:]
            for part in spend.drawn {
                guard let currency = books.currencyID(part.currency) else {
                    throw StoreError.corrupt("request \(key) drew currency \(part.currency), which there is not")
                }
                lots[currency, default: []].append(part.lot)
                drawn[part.lot, default: 0] &+= part.amount.units
            }
            for (currency, ids) in lots {
                try load(lots: ids, of: books.owner(of: spend.trace.player), currency, into: &books)
            }
            if books.returned[first] != nil { continue }
            var returned: [LotID: Int64] = [:]
            try suspects.check(.transfer)
            selectReturned.bind(1, first)
            try selectReturned.forEach { returned[$0.integer(0)] = $0.integer(1) }
            for (lot, units) in returned where units <= 0 || units > drawn[lot] ?? 0 {
                throw StoreError.corrupt("more went back into lot \(lot) than request \(key) drew")
            }
            books.load(returned: returned, of: first)
        }
    }

    /// The players of a key's holds, and how those ended that are not open.
    func loadHolds(_ key: RequestKey, into books: inout Books) throws {
        if books.answers[key] == nil { try load(key, into: &books) }
        for (_, hold) in books.answers[key]?.answer.holds ?? [] {
            let first = hold.trace.first
            try load(player: hold.trace.player, into: &books)
            if books.holdEnds[first] != nil { continue }
            let owner = books.owner(of: hold.trace.player)
            if books.players[owner]?.holds.contains(where: { $0.id == first }) == true { continue }
            try suspects.check(.hold)
            selectHoldState.bind(1, first)
            switch try selectHoldState.first({ Stored.holdStates.item($0.text(0)) }) ?? nil {
            case .closed: books.load(.closed, of: first)
            case .expired: books.load(.expired, of: first)
            case .open, nil: throw StoreError.corrupt("hold \(first) is not open, and nothing says how it ended")
            }
        }
    }

    /// The player's open holds with what each set aside; together they are what the wallets have held.
    /// - Parameter members: the accounts that asked for them.
    func loadOpenHolds(_ player: inout Player, _ members: [PlayerID]) throws {
        if player.wallets.allSatisfy({ $0.held == 0 }) { return }
        var asked: [AskedHold] = []
        for account in members { try readOpenHolds(of: account, player, &asked) }
        asked.sort { $0.hold.id < $1.hold.id }
        for asked in asked {
            player.holds.append(asked.hold)
            try loadParts(asked, &player)
        }
        for wallet in player.wallets {
            var held: Int64 = 0
            // Each at most 2^53, and a wallet has as much as all of them together or they end here.
            for hold in player.holds where hold.currency == wallet.currency && held <= wallet.held {
                held += hold.amount
            }
            guard held == wallet.held else {
                throw StoreError.corrupt(
                    "what account \(player.id) has held of currency \(wallet.currency) is not the sum of the holds")
            }
        }
    }

    /// A hold of which the parts are to be read.
    private struct AskedHold {
        /// Without its parts.
        var hold: OpenHold
        var amount: Int64
        /// Who asked for it: the player, or a token that was linked since.
        var account: PlayerID
    }

    private func readOpenHolds(of account: PlayerID, _ player: Player, _ asked: inout [AskedHold]) throws {
        selectOpenHolds.bind(1, account)
        try selectOpenHolds.forEach { row in
            guard let currency = CurrencyID(exactly: row.integer(1)), player.walletIndex(currency) != nil,
                row.integer(2) > 0, row.integer(2) <= Limits.amountMax, Plausible.isTime(row.integer(3))
            else {
                throw StoreError.corrupt("hold \(row.integer(0)) has a currency, an amount or a time that cannot be")
            }
            let hold = OpenHold(id: row.integer(0), currency: currency, expiresAt: row.integer(3))
            asked.append(AskedHold(hold: hold, amount: row.integer(2), account: account))
        }
    }

    /// Reads what the player's last hold set aside.
    private func loadParts(_ asked: AskedHold, _ player: inout Player) throws {
        let (hold, amount, index) = (asked.hold, asked.amount, player.holds.count - 1)
        let wallet = player.wallets.first { $0.currency == hold.currency }
        selectHeldParts.bind(1, hold.id)
        defer { selectHeldParts.reset() }
        while player.holds[index].amount < amount, try selectHeldParts.next() {
            let lot = wallet?.lot(selectHeldParts.integer(3))
            let units = selectHeldParts.integer(4)
            guard selectHeldParts.integer(0) == asked.account, selectHeldParts.integer(1) == Int64(hold.currency),
                selectHeldParts.text(2) == AccountKind.held.name, units > 0, units <= amount, let lot,
                lot.held >= units
            else { throw StoreError.corrupt("the transfers of hold \(hold.id) are not what it set aside") }
            player.holds[index].add(LotPart(lot: lot.id, units: units, transaction: lot.transaction))
        }
        guard player.holds[index].amount == amount else {
            throw StoreError.corrupt("the transfers of hold \(hold.id) are not its amount")
        }
    }
}
