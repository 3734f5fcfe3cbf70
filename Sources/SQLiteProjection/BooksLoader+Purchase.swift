import Ledger

/// Purchases, with their lots.
extension BooksLoader {
    /// Loads a purchase, its player, and its lots, also those that are used up. Of a purchase in memory the player or
    /// the lots may have been forgotten.
    func load(_ transaction: TransactionID, into books: inout Books) throws {
        if let known = books.purchases[transaction] {
            if let account = known.account { try loadLots(of: known, account, into: &books) }
            return
        }
        try suspects.check(.purchase, .event, .entry, .external)
        let currencies = books.currencies
        let read = try purchases.read(transaction) { code in
            currencies.firstIndex { $0.code == code }.map { CurrencyID($0 + 1) }
        }
        guard let register = read?.register else { return }
        if let account = register.account { try loadLots(of: register, account, into: &books) }
        books.load(register)
    }

    private func loadLots(
        of register: PurchaseRegister, _ account: PlayerID, into books: inout Books
    ) throws {
        try players.load(player: account, into: &books)
        let owner = books.owner(of: account)
        for (grant, id) in zip(register.grants, register.lots) {
            try players.load(lots: [id], of: owner, grant.currency, into: &books)
            let wallet = books.players[owner]?.wallets.first { $0.currency == grant.currency }
            _ = try register.checked(wallet?.lot(id), id, of: grant)
        }
    }
}
