import GRDB
import Ledger

/// Tells of one purchase, with a page of its events, in one snapshot.
struct PurchaseReader {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// - Throws: ``StoreError``, also where there is no such purchase.
    func view(_ query: PurchaseQuery) throws -> PurchaseView {
        let codes = try StoredState.currencies(db)
        let read = try StoredPurchases(db).read(query.transaction) { code in
            codes.firstIndex(of: code).map { CurrencyID($0 + 1) }
        }
        guard let read else { throw StoreError.corrupt("purchase \(query.transaction) is missing") }
        let events = try events(query, read)
        return read.register.view(
            account: try read.register.account.map { account in
                try AccountNames(db).name(of: try StoredLinks(db).owner(of: account))
            },
            lots: try lots(of: read.register), events: events,
            next: events.first.flatMap { $0.number > 1 ? $0.number : nil }
        ) { codes[Int($0) - 1] }
    }

    private func lots(of register: PurchaseRegister) throws -> [Lot] {
        let select = try PreparedStatement(db, "SELECT \(StoredLot.columns) FROM lot WHERE id = ?")
        return try zip(register.grants, register.lots).map { grant, id in
            select.bind(1, id)
            let stored = try select.first { try StoredLot($0) }
            if let stored, stored.account != register.account || stored.currency != grant.currency {
                throw StoreError.corrupt("lot \(id) is in another wallet than purchase \(register.facts.transaction)")
            }
            return try register.checked(stored?.lot, id, of: grant)
        }
    }

    /// Reads them from the newest on; gives them in their order.
    private func events(_ query: PurchaseQuery, _ purchase: StoredPurchase) throws -> [PurchaseView.Event] {
        let last = try EventCount(db).last(of: query.transaction)
        let select = try PreparedStatement(
            db,
            """
            SELECT number, kind, time, signed_date, revoked, entry, reason, result, code, body FROM purchase_event
            WHERE transaction_id = ? AND number <= ? ORDER BY number DESC LIMIT ?
            """)
        var events: [PurchaseView.Event] = []
        var expected = min(query.before ?? Int64.max, last + 1) - 1
        select.bind(1, query.transaction.number)
        select.bind(2, expected)
        select.bind(3, Int64(query.limit))
        try select.forEach { row in
            events.append(try event(row, query.transaction))
            guard row.integer(0) == expected else {
                throw StoreError.corrupt("event \(expected) of purchase \(query.transaction) is missing")
            }
            expected -= 1
        }
        if expected == 1, events.count < query.limit {
            events.append(purchase.first)
            expected = 0
        }
        guard expected == 0 || events.count == query.limit else {
            throw StoreError.corrupt("event \(expected) of purchase \(query.transaction) is missing")
        }
        return events.reversed()
    }

    private func event(_ row: PreparedStatement, _ transaction: TransactionID) throws -> PurchaseView.Event {
        guard let kind = PurchaseView.Event.Kind(rawValue: row.text(1)) else {
            throw StoreError.corrupt("an event of purchase \(transaction) is of an unknown kind")
        }
        let end = row.optionalText(7).flatMap { AppStoreCall.End(name: $0, code: row.optionalInteger(8)) }
        let event = PurchaseView.Event(
            number: row.integer(0), kind: kind, time: row.integer(2),
            signedDate: kind == .stated ? nil : row.optionalInteger(3),
            revoked: row.optionalInteger(4), entry: row.optionalInteger(5), reason: row.optionalText(6), end: end,
            body: row.optionalText(9))
        guard event.number > 1, Plausible.isTime(event.time), Plausible.isTime(event.signedDate ?? 0),
            (row.optionalInteger(3) == nil) == (kind == .assigned || kind.isCall),
            (kind == .signed || kind == .stated) == (event.revoked != nil), Plausible.isShare(event.revoked ?? 0),
            (end != nil) == kind.isCall
        else { throw StoreError.corrupt("an event of purchase \(transaction) has values that cannot be") }
        return event
    }
}
