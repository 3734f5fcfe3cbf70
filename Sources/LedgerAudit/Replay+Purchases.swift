import Ledger

/// Purchases: what was signed of them, whose they are, and that what is posted is what the newest JWS says.
extension Replay {
    /// Notes a block's purchases and evidence, before its entries are applied.
    func record(_ block: Block) {
        let rows = block.rows
        for row in rows.purchases {
            let transaction = row.facts.transaction
            let place = row.evidence &- position.evidence &- 1
            guard place >= 0, place < rows.evidence.count, case let first = rows.evidence[Int(place)], first.isFirst,
                first.transaction == transaction
            else {
                fault(block.number, "purchase \(transaction) has no first evidence")
                continue
            }
            expect(
                first.entry == row.entry, block.number,
                "purchase \(transaction) and its first evidence name different entries")
            let book = PurchaseBook(
                grants: row.grants, price: row.facts.price, account: row.account, signedDate: first.signedDate,
                revoked: first.revoked)
            guard purchases[transaction] == nil else {
                fault(block.number, "purchase \(transaction) is recorded twice")
                continue
            }
            purchases[transaction] = book
            if row.account == nil {
                unassigned[transaction] = Unassigned(row: row, evidence: first, block: block.number)
            }
        }
        for row in rows.evidence {
            let transaction = row.transaction
            guard let book = purchases[transaction] else {
                fault(block.number, "evidence \(row.id) is of purchase \(transaction), which is not recorded")
                continue
            }
            if let entry = row.entry {
                let place = entry &- position.entry &- 1
                let isItsOwn =
                    place >= 0 && place < rows.entries.count && rows.entries[Int(place)].transaction == transaction
                expect(isItsOwn, block.number, "evidence \(row.id) names entry \(entry), which is not its purchase's")
            }
            if row.isFirst { continue }
            expect(
                (row.signedDate, row.revoked) > (book.signedDate, book.revoked), block.number,
                "evidence \(row.id) says nothing new of purchase \(transaction)")
            purchases[transaction]?.signedDate = row.signedDate
            purchases[transaction]?.revoked = row.revoked
        }
        for row in rows.assignments {
            guard let book = purchases[row.transaction], book.account == nil else {
                fault(block.number, "assignment \(row.id) is of a purchase that has an account, or is not recorded")
                continue
            }
            purchases[row.transaction]?.account = row.account
        }
    }

    /// What a purchase has posted is what its newest JWS says.
    func checkPurchases(_ block: Block) {
        for row in block.rows.evidence { checkPosted(row.transaction, block.number) }
        for row in block.rows.assignments { checkPosted(row.transaction, block.number) }
        for case let transaction? in block.rows.entries.map(\.transaction) { checkPosted(transaction, block.number) }
    }

    private func checkPosted(_ transaction: TransactionID, _ block: BlockNumber) {
        guard let book = purchases[transaction], book.account != nil else { return }
        guard book.firstLot > 0 else {
            return fault(block, "purchase \(transaction) has an account, and nothing of it is posted")
        }
        for (index, grant) in book.grants.enumerated() {
            let id = book.firstLot + Int64(index)
            guard id <= lotPlaces.count, case let place = Int(lotPlaces[Int(id) - 1]), place >= 0 else { continue }
            let posted = lots[place].granted &- lots[place].refunded
            let standing = book.standing(of: grant.units)
            expect(
                posted == standing, block,
                "purchase \(transaction) has posted \(posted) of \(code(grant.currency)), but its newest evidence "
                    + "leaves \(standing)")
        }
    }
}
