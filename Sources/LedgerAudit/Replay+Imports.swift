import Ledger

/// What was carried over from other books.
extension Replay {
    /// Each entry of an import is one that a request asked for, and each request asked for what its entries did.
    func checkImports(_ block: Block, _ answers: [KeyedAnswer?]) {
        let rows = block.rows
        var told: [EntryID] = []
        // In the order of their requests.
        var usedUp = rows.purchases.filter { $0.facts.source == .imported && $0.grants.isEmpty }[...]
        for (request, answer) in zip(rows.requests, answers) {
            guard case .imported(let receipt)? = answer else { continue }
            let isOfBlock = receipt.entries >= 0 && receipt.entries <= Int64(rows.entries.count)
            let isRecorded = receipt.usedUp >= 0 && receipt.usedUp <= Int64(usedUp.count)
            guard isOfBlock, isRecorded, request.entry == receipt.entry else {
                fault(block.number, "key \(request.key) was answered entries of an import that it does not have")
                continue
            }
            let first = receipt.entry ?? 0
            let own = first..<(first + receipt.entries)
            told += own
            check(request, own, usedUp.prefix(Int(receipt.usedUp)), block)
            usedUp = usedUp.dropFirst(Int(receipt.usedUp))
        }
        for row in usedUp {
            fault(block.number, "purchase \(row.facts.transaction) was carried over, and no request asked for it")
        }
        expect(
            told == rows.entries.filter { $0.kind == .imported }.map(\.id), block.number,
            "its imports are not those that its requests were answered")
    }

    /// The request's fingerprint is that of a request for what its entries opened, and for what is used up.
    private func check(
        _ request: BlockRows.RequestRow, _ own: Range<EntryID>, _ usedUp: ArraySlice<BlockRows.PurchaseRow>,
        _ block: Block
    ) {
        let rows = block.rows
        let transactions = Dictionary(
            rows.entries.lazy.filter { own.contains($0.id) }.map { ($0.id, $0.transaction) },
            uniquingKeysWith: { first, _ in first })
        let bought = Dictionary(
            rows.purchases.lazy.filter { $0.facts.source == .imported }.map { ($0.facts.transaction, $0.facts) },
            uniquingKeysWith: { first, _ in first })
        var lots: [ImportedLot] = []
        var players = Set(usedUp.compactMap(\.account))
        for transfer in rows.transfers where own.contains(transfer.entry) {
            players.insert(transfer.player)
            guard transfer.debit.kind == .imported, transfer.id <= lotPlaces.count,
                case let place = Int(lotPlaces[Int(transfer.id) - 1]), place >= 0,
                let currency = CurrencyCode(code(transfer.debit.currency)), let amount = Amount(transfer.amount)
            else { continue }
            let facts = transactions[transfer.entry].flatMap { $0 }.flatMap { bought[$0] }
            lots.append(
                ImportedLot(
                    currency: currency, amount: amount,
                    purchase: facts.map { facts in
                        ImportedPurchase(
                            transaction: facts.transaction, product: facts.product, price: self.lots[place].price,
                            priceCurrency: facts.priceCurrency ?? "", purchaseDate: facts.purchaseDate)
                    }))
        }
        guard let player = players.first, players.count == 1 else {
            return fault(block.number, "key \(request.key) carried lots over to several accounts, or to none")
        }
        let carried = LotImport(
            key: request.key, account: AccountName.erased(player), lots: lots,
            usedUp: usedUp.map { row in
                UsedUpPurchase(
                    transaction: row.facts.transaction, product: row.facts.product,
                    purchaseDate: row.facts.purchaseDate)
            })
        let isAsked = names(of: player).contains { carried.fingerprint(of: $0, hash) == request.fingerprint }
        expect(isAsked, block.number, "key \(request.key) asked for another import than its entries made")
    }
}
