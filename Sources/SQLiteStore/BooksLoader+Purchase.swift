import Ledger

/// Purchases, with what was signed and told of them.
extension BooksLoader {
    func load(_ transaction: TransactionID, into books: inout Books) throws {
        selectPurchase.bind(1, transaction.number)
        guard try selectPurchase.next() else { return }
        var account = selectPurchase.optionalInteger(0)
        let facts = PurchaseFacts(
            transaction: transaction, product: selectPurchase.text(1), quantity: selectPurchase.integer(2),
            purchaseDate: selectPurchase.integer(3), price: selectPurchase.optionalInteger(4),
            priceCurrency: selectPurchase.optionalText(5))
        let grants = try readGrants(selectPurchase.text(6), transaction, books)
        let firstEvidence = selectPurchase.integer(7)
        var openingEntry = selectPurchase.optionalInteger(8)
        selectPurchase.reset()
        var assigned: Timestamp?
        if account == nil {
            selectAssignment.bind(1, transaction.number)
            if try selectAssignment.next() {
                account = selectAssignment.integer(0)
                openingEntry = selectAssignment.integer(1)
                assigned = selectAssignment.integer(2)
                selectAssignment.reset()
            }
        }
        let register = PurchaseRegister(
            facts: facts, grants: grants, account: account, opening: try readOpening(openingEntry), assigned: assigned,
            signed: try readEvents(transaction, firstEvidence), told: try readNotificationEvents(transaction))
        guard let register else { throw StoreError("purchase \(transaction) has no evidence") }
        if let account {
            try load(player: account, into: &books)
            for (grant, lot) in zip(grants, register.lots) {
                try load(lots: [lot], of: account, grant.currency, into: &books)
            }
        }
        books.load(register)
    }

    private func readEvents(_ transaction: TransactionID, _ first: Int64) throws -> [PurchaseView.Event] {
        var events: [PurchaseView.Event] = []
        func read(_ row: PreparedStatement) {
            events.append(
                PurchaseView.Event(
                    time: row.integer(0), signedDate: row.integer(1), revoked: row.integer(2),
                    entry: row.optionalInteger(3)))
        }
        selectEvidence.bind(1, first)
        while try selectEvidence.next() { read(selectEvidence) }
        selectLaterEvidence.bind(1, transaction.number)
        while try selectLaterEvidence.next() { read(selectLaterEvidence) }
        return events
    }

    private func readNotificationEvents(_ transaction: TransactionID) throws -> [PurchaseView.Event] {
        var events: [PurchaseView.Event] = []
        selectNotificationEvents.bind(1, transaction.number)
        while try selectNotificationEvents.next() {
            guard let kind = PurchaseView.Event.Kind(notificationType: selectNotificationEvents.text(0)) else {
                continue
            }
            events.append(
                PurchaseView.Event(
                    kind: kind, time: selectNotificationEvents.integer(1),
                    signedDate: selectNotificationEvents.integer(2), revoked: nil, entry: nil,
                    reason: selectNotificationEvents.optionalText(3)))
        }
        return events
    }

    private func readOpening(_ entry: EntryID?) throws -> PurchaseRegister.Opening? {
        guard let entry else { return nil }
        selectFirstTransfer.bind(1, entry)
        guard try selectFirstTransfer.next() else { throw StoreError("entry \(entry) is missing from the journal") }
        defer { selectFirstTransfer.reset() }
        return PurchaseRegister.Opening(entry: entry, firstTransfer: selectFirstTransfer.integer(0))
    }

    private func readGrants(
        _ text: String, _ transaction: TransactionID, _ books: borrowing Books
    ) throws -> [PurchaseRegister.Grant] {
        var grants: [PurchaseRegister.Grant] = []
        for part in text.split(separator: " ") {
            let pair = part.split(separator: ":")
            guard pair.count == 2, let code = CurrencyCode(String(pair[0])), let currency = books.currencyID(code),
                let units = Int64(pair[1]), units > 0
            else { throw StoreError("the grants of purchase \(transaction) cannot be read") }
            grants.append(PurchaseRegister.Grant(currency: currency, units: units))
        }
        return grants
    }
}
