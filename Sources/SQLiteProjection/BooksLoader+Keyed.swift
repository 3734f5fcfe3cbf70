import Ledger

/// Spends and holds that are named by their key.
extension BooksLoader {
    /// The players and lots of a key's spends, and what of them went back.
    func loadSpends(_ key: RequestKey, into books: inout Books) throws {
        if books.answers[key] == nil { try load(key, into: &books) }
        for (_, spend) in books.answers[key]?.answer.spends ?? [] {
            let first = spend.trace.first
            try players.load(player: spend.trace.player, into: &books)
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
                try players.load(lots: ids, of: books.owner(of: spend.trace.player), currency, into: &books)
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
            try players.load(player: hold.trace.player, into: &books)
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
}
