import Ledger

/// Purchases, with what was signed and told of them.
extension BooksLoader {
    /// Loads a purchase, its player, and its lots, also those that are used up. Of a purchase in memory the player or
    /// the lots may have been forgotten.
    func load(_ transaction: TransactionID, into books: inout Books) throws {
        if let known = books.purchases[transaction] {
            if let account = known.account { try loadLots(of: known, account, into: &books) }
            return
        }
        guard let register = try readRegister(transaction, books) else { return }
        if let account = register.account { try loadLots(of: register, account, into: &books) }
        books.load(register)
    }

    /// `nil` where the tables do not have it.
    private func readRegister(
        _ transaction: TransactionID, _ books: borrowing Books
    ) throws -> PurchaseRegister? {
        selectPurchase.bind(1, transaction.number)
        let currencies = books.currencies
        let read = try selectPurchase.first { row in
            try StoredPurchase(row, transaction, firstTransfer: firstTransfer) { code in
                currencies.firstIndex { $0.code == code }.map { CurrencyID($0 + 1) }
            }
        }
        guard let purchase = read else { return nil }
        var signed = [purchase.first]
        var told: [PurchaseView.Event] = []
        var assigned: Timestamp?
        selectEvents.bind(1, transaction.number)
        try selectEvents.forEach { row in
            let event = try StoredPurchase.event(row, transaction)
            switch event.kind {
            case .signed: signed.append(event)
            case .assigned: assigned = event.time
            case .consumptionRequest, .refundDeclined: told.append(event)
            }
        }
        // What has found its account later had none with its first JWS, which then posted nothing.
        if assigned != nil { signed[0].entry = nil }
        let register = PurchaseRegister(
            facts: purchase.facts, grants: purchase.grants, account: purchase.account, opening: purchase.opening,
            assigned: assigned, signed: signed, told: told)
        guard let register else { throw StoreError.corrupt("purchase \(transaction) has no evidence") }
        return register
    }

    /// The first transfer of the entry that opened a purchase's lots; `nil` where no such entry names the purchase.
    private func firstTransfer(_ entry: EntryID, _ transaction: TransactionID) throws -> TransferID? {
        selectFirstTransfer.bind(1, entry)
        selectFirstTransfer.bind(2, transaction.number)
        return try selectFirstTransfer.first { $0.integer(0) }
    }

    /// What a purchase has posted is what its newest JWS says.
    private func loadLots(
        of register: PurchaseRegister, _ account: PlayerID, into books: inout Books
    ) throws {
        try load(player: account, into: &books)
        for (grant, id) in zip(register.grants, register.lots) {
            try load(lots: [id], of: account, grant.currency, into: &books)
            let standing = PurchaseRegister.standing(of: grant.units, revoked: register.revoked)
            guard let wallet = books.players[account]?.wallets.first(where: { $0.currency == grant.currency }),
                let lot = wallet.lot(id), lot.transaction == register.facts.transaction, lot.granted == grant.units,
                lot.refunded == grant.units - standing
            else {
                throw StoreError.corrupt(
                    "lot \(id) is not what purchase \(register.facts.transaction) says that it granted")
            }
        }
    }
}

/// A row of `purchase`, with where the entry that opened its lots begins.
struct StoredPurchase {
    var facts: PurchaseFacts
    var grants: [PurchaseRegister.Grant]
    var account: PlayerID?
    var opening: PurchaseRegister.Opening?
    /// What its first JWS said.
    var first: PurchaseView.Event

    static let select = """
        SELECT account, entry, product, quantity, purchase_date, price, price_currency, source, storefront, offer_type,
            offer_id, offer_discount, original_id, ownership, grants, signed_date, revoked, time
        FROM purchase WHERE transaction_id = ?
        """

    /// - Parameter firstTransfer: finds the first transfer of the entry that opened the purchase's lots.
    /// - Throws: ``StoreError`` where the row does not fit.
    init(
        _ row: PreparedStatement, _ transaction: TransactionID,
        firstTransfer: (EntryID, TransactionID) throws -> TransferID?, _ currency: (CurrencyCode) -> CurrencyID?
    ) throws {
        account = row.optionalInteger(0)
        let entry = row.optionalInteger(1)
        let firstTransfer = try entry.flatMap { try firstTransfer($0, transaction) }
        guard (account == nil) == (entry == nil), (entry == nil) == (firstTransfer == nil) else {
            throw StoreError.corrupt("purchase \(transaction) has an account without the entry that opened its lots")
        }
        if let entry, let firstTransfer {
            opening = PurchaseRegister.Opening(entry: entry, firstTransfer: firstTransfer)
        }
        guard let source = Stored.sources.item(row.text(7)), row.integer(3) > 0, Plausible.isTime(row.integer(4)),
            row.optionalInteger(5).map(Plausible.isAmount) ?? true, Plausible.isTime(firstTransfer ?? 0),
            let grants = StoredGrants.grants(row.text(14), currency)
        else { throw StoreError.corrupt("purchase \(transaction) has facts that cannot be") }
        self.grants = grants
        facts = PurchaseFacts(
            transaction: transaction, product: row.text(2), quantity: row.integer(3), purchaseDate: row.integer(4),
            price: row.optionalInteger(5), priceCurrency: row.optionalText(6), source: source,
            storefront: row.optionalText(8),
            offer: row.optionalInteger(9).map {
                PurchaseFacts.Offer(type: $0, identifier: row.optionalText(10), discountType: row.optionalText(11))
            }, original: row.optionalInteger(12).map { TransactionID(number: $0) },
            ownership: row.optionalText(13))
        first = PurchaseView.Event(
            time: row.integer(17), signedDate: row.integer(15), revoked: row.integer(16), entry: entry)
        try StoredPurchase.check(first, transaction)
    }

    /// A row of `purchase_event`: kind, time, signed_date, revoked, entry, reason.
    static func event(_ row: PreparedStatement, _ transaction: TransactionID) throws -> PurchaseView.Event {
        guard let kind = PurchaseView.Event.Kind(rawValue: row.text(0)) else {
            throw StoreError.corrupt("an event of purchase \(transaction) is of an unknown kind")
        }
        let event = PurchaseView.Event(
            kind: kind, time: row.integer(1), signedDate: row.optionalInteger(2), revoked: row.optionalInteger(3),
            entry: row.optionalInteger(4), reason: row.optionalText(5))
        try check(event, transaction)
        return event
    }

    private static func check(_ event: PurchaseView.Event, _ transaction: TransactionID) throws {
        let isSigned = event.kind == .signed
        guard Plausible.isTime(event.time), Plausible.isTime(event.signedDate ?? 0),
            (event.signedDate == nil) == (event.kind == .assigned), isSigned == (event.revoked != nil),
            (0...Limits.wholeShare).contains(event.revoked ?? 0)
        else { throw StoreError.corrupt("an event of purchase \(transaction) has values that cannot be") }
    }
}
