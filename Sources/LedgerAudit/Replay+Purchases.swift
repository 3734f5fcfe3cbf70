import Ledger

/// Purchases: what was signed of them, whose they are, and that what is posted is what the newest JWS says.
extension Replay {
    /// Notes a block's purchases and evidence, before its entries are applied.
    func record(_ block: Block) {
        let rows = block.rows
        let firsts = firstWords(block)
        for row in rows.purchases {
            let transaction = row.facts.transaction
            guard let first = firsts[transaction] else {
                fault(block.number, "purchase \(transaction) has no first evidence, and no statement")
                continue
            }
            let book = PurchaseBook(
                grants: row.grants, price: row.facts.price, source: row.facts.source, account: row.account,
                signedDate: first.signedDate, revoked: first.revoked)
            guard purchases[transaction] == nil else {
                fault(block.number, "purchase \(transaction) is recorded twice")
                continue
            }
            purchases[transaction] = book
            if row.account == nil {
                unassigned[transaction] = Unassigned(row: row, first: first, block: block.number)
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
        recordStatements(block)
        for row in rows.assignments {
            guard let book = purchases[row.transaction], book.account == nil else {
                fault(block.number, "assignment \(row.id) is of a purchase that has an account, or is not recorded")
                continue
            }
            purchases[row.transaction]?.account = row.account
        }
    }

    /// What was said of each purchase of a block with its own row: by its first JWS, or by whoever stated it.
    private func firstWords(_ block: Block) -> [TransactionID: FirstWord] {
        let rows = block.rows
        let statements = firstStatements(rows)
        var words: [TransactionID: FirstWord] = [:]
        for row in rows.purchases {
            let transaction = row.facts.transaction
            if row.evidence == 0 {
                guard row.facts.source != .appStore, row.account != nil, let first = statements[transaction] else {
                    continue
                }
                expect(
                    first.entry == row.entry, block.number,
                    "purchase \(transaction) and its first statement name different entries")
                words[transaction] = FirstWord(first, of: row.facts)
                continue
            }
            let place = row.evidence &- position.evidence &- 1
            guard place >= 0, place < rows.evidence.count, case let first = rows.evidence[Int(place)], first.isFirst,
                first.transaction == transaction
            else { continue }
            expect(
                first.entry == row.entry, block.number,
                "purchase \(transaction) and its first evidence name different entries")
            words[transaction] = FirstWord(first, revocationDate: revocationDate(first))
        }
        return words
    }

    /// The first statement of each purchase that a block records without evidence.
    func firstStatements(_ rows: BlockRows) -> [TransactionID: BlockRows.StatementRow] {
        let recorded = rows.purchases.filter { $0.evidence == 0 }.map(\.facts.transaction)
        var first: [TransactionID: BlockRows.StatementRow] = [:]
        for transaction in recorded {
            first[transaction] = rows.statements.first { $0.transaction == transaction }
        }
        return first
    }

    /// Notes what nobody signed, and what other stores call their purchases.
    private func recordStatements(_ block: Block) {
        let rows = block.rows
        var stated = Set(rows.purchases.lazy.filter { $0.evidence == 0 }.map(\.facts.transaction))
        for row in rows.statements {
            let transaction = row.transaction
            if let entry = row.entry {
                let place = entry &- position.entry &- 1
                let isItsOwn =
                    place >= 0 && place < rows.entries.count && rows.entries[Int(place)].transaction == transaction
                expect(
                    isItsOwn, block.number,
                    "a statement of purchase \(transaction) names entry \(entry), which is not its purchase's")
            }
            if stated.remove(transaction) != nil {
                expect(
                    row.revoked == 0 || purchases[transaction]?.source == .external, block.number,
                    "purchase \(transaction) was carried over as refunded")
                continue
            }
            guard let book = purchases[transaction], book.source == .external else {
                fault(block.number, "purchase \(transaction) is stated, and is none of another store")
                continue
            }
            expect(
                row.time > book.signedDate && row.revoked != book.revoked, block.number,
                "a statement says nothing new of purchase \(transaction)")
            purchases[transaction]?.signedDate = row.time
            purchases[transaction]?.revoked = row.revoked
        }
        var unnamed = Set(rows.purchases.lazy.filter { $0.facts.source == .external }.map(\.facts.transaction))
        for row in rows.externals {
            let identity = ExternalIdentity(source: row.source, identifier: row.identifier)
            let isItsOwn = identity.map { TransactionID($0, hash) == row.transaction } ?? false
            expect(
                isItsOwn && unnamed.remove(row.transaction) != nil, block.number,
                "purchase \(row.transaction) is not what \(row.source) calls by the id that it has")
            emit(.external) { table in
                table.add(row.transaction.number)
                table.endKey()
                table.add(row.source)
                table.add(row.identifier)
            }
        }
        for transaction in unnamed.sorted() {
            fault(block.number, "purchase \(transaction) is another store's, and has no id there")
        }
    }

    /// What a purchase has posted is what its newest JWS says.
    func checkPurchases(_ block: Block) {
        for row in block.rows.evidence { checkPosted(row.transaction, block.number) }
        for row in block.rows.assignments { checkPosted(row.transaction, block.number) }
        for row in block.rows.statements { checkPosted(row.transaction, block.number) }
        for case let transaction? in block.rows.entries.map(\.transaction) { checkPosted(transaction, block.number) }
    }

    private func checkPosted(_ transaction: TransactionID, _ block: BlockNumber) {
        guard let book = purchases[transaction], book.account != nil else { return }
        if book.grants.isEmpty { return }
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

extension Replay.FirstWord {
    init(_ row: BlockRows.EvidenceRow, revocationDate: Timestamp?) {
        self.init(
            evidence: row.id, signedDate: row.signedDate, revoked: row.revoked, revocationDate: revocationDate,
            time: row.time)
    }

    /// What was imported is older than whatever Apple signed of it.
    init(_ row: BlockRows.StatementRow, of facts: PurchaseFacts) {
        self.init(
            evidence: 0, signedDate: facts.source == .imported ? facts.purchaseDate : row.time, revoked: row.revoked,
            time: row.time)
    }
}
