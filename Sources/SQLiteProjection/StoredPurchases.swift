import GRDB
import Ledger

/// A purchase as the tables have it, but for what it was told after its first JWS, or statement.
struct StoredPurchase {
    var register: PurchaseRegister
    /// Its first JWS, or statement.
    var first: PurchaseView.Event
}

/// Reads purchases: the same few rows of each, however many events it has.
struct StoredPurchases {
    private let selectPurchase: PreparedStatement
    private let selectFirstTransfer: PreparedStatement
    private let selectNewest: PreparedStatement
    private let selectEntries: PreparedStatement
    private let selectExternal: PreparedStatement

    init(_ db: Database) throws {
        selectExternal = try PreparedStatement(
            db, "SELECT source, identifier FROM external WHERE transaction_id = ?")
        selectPurchase = try PreparedStatement(db, PurchaseRow.select)
        // Apart from the purchase's row: of a new purchase, which has none, not even the table is opened.
        selectFirstTransfer = try PreparedStatement(
            db, "SELECT first_transfer FROM entry WHERE id = ? AND transaction_id = ?")
        // With the indexes' own conditions, so that they are used.
        selectNewest = try PreparedStatement(
            db,
            """
            SELECT signed_date, revoked FROM purchase_event WHERE transaction_id = ? AND revoked IS NOT NULL
            ORDER BY signed_date DESC, revoked DESC LIMIT 1
            """)
        let posted = "SELECT entry FROM purchase_event WHERE transaction_id = ?1 AND entry IS NOT NULL"
        selectEntries = try PreparedStatement(
            db, "SELECT (\(posted) ORDER BY entry LIMIT 1), (\(posted) ORDER BY entry DESC LIMIT 1)")
    }

    /// - Parameter currency: gives the number of a currency's code.
    /// - Returns: `nil` where the tables do not have the purchase.
    /// - Throws: ``StoreError``, also where a row does not fit.
    func read(_ transaction: TransactionID, _ currency: (CurrencyCode) -> CurrencyID?) throws -> StoredPurchase? {
        selectPurchase.bind(1, transaction.number)
        guard let row = try selectPurchase.first({ try PurchaseRow($0, transaction, currency) }) else { return nil }
        let opening = try row.entry.map { entry in
            PurchaseRegister.Opening(entry: entry, firstTransfer: try firstTransfer(entry, transaction))
        }
        let entries = try laterEntries(transaction)
        if let entries {
            guard let entry = row.entry, entries.first >= entry else {
                throw StoreError.corrupt("purchase \(transaction) posted something before its lots were opened")
            }
            _ = try firstTransfer(entries.last, transaction)
        }
        var facts = row.facts
        if facts.source == .external { facts.external = try external(transaction) }
        let register = PurchaseRegister(
            facts: facts, grants: row.grants, account: row.account, opening: opening,
            newest: try newest(transaction, first: (row.signedDate, row.revoked)), lastEntry: entries?.last)
        // What has found its account later had none with its first JWS, which then posted nothing.
        let first = PurchaseView.Event(
            number: 1, kind: row.isSigned ? .signed : .stated, time: row.time,
            signedDate: row.isSigned ? row.signedDate : nil, revoked: row.revoked,
            entry: entries?.first == row.entry ? nil : row.entry)
        return StoredPurchase(register: register, first: first)
    }

    /// What another store calls a purchase.
    private func external(_ transaction: TransactionID) throws -> ExternalIdentity {
        selectExternal.bind(1, transaction.number)
        let read = try selectExternal.first { ExternalIdentity(source: $0.text(0), identifier: $0.text(1)) }
        guard let identity = read ?? nil else {
            throw StoreError.corrupt("purchase \(transaction) is another store's, and has no name there")
        }
        return identity
    }

    /// The first transfer of an entry about a purchase.
    private func firstTransfer(_ entry: EntryID, _ transaction: TransactionID) throws -> TransferID {
        selectFirstTransfer.bind(1, entry)
        selectFirstTransfer.bind(2, transaction.number)
        guard let transfer = try selectFirstTransfer.first({ $0.integer(0) }), Plausible.isTime(transfer) else {
            throw StoreError.corrupt("purchase \(transaction) names entry \(entry), which is not about it")
        }
        return transfer
    }

    /// What the newest JWS says; of two of one date it is the one that revokes more.
    private func newest(
        _ transaction: TransactionID, first: (signedDate: Timestamp, revoked: Int64)
    ) throws -> (signedDate: Timestamp, revoked: Int64) {
        selectNewest.bind(1, transaction.number)
        let later = try selectNewest.first { row in
            guard let date = row.optionalInteger(0), let revoked = row.optionalInteger(1), Plausible.isTime(date),
                Plausible.isShare(revoked)
            else { throw StoreError.corrupt("a JWS of purchase \(transaction) has values that cannot be") }
            return (signedDate: date, revoked: revoked)
        }
        guard let later, later > first else { return first }
        return later
    }

    /// The first and the last entry that was posted for a purchase after its first JWS.
    private func laterEntries(_ transaction: TransactionID) throws -> (first: EntryID, last: EntryID)? {
        selectEntries.bind(1, transaction.number)
        let read = try selectEntries.first { row in
            row.optionalInteger(0).flatMap { first in row.optionalInteger(1).map { (first: first, last: $0) } }
        }
        return read ?? nil
    }
}

extension PurchaseRegister {
    /// One of its lots as it was read, where that is what its newest JWS says that it posted.
    /// - Throws: ``StoreError`` where it is not.
    func checked(_ lot: Lot?, _ id: LotID, of grant: Grant) throws -> Lot {
        let standing = PurchaseRegister.standing(of: grant.units, revoked: revoked)
        guard let lot, lot.id == id, lot.transaction == facts.transaction, lot.granted == grant.units,
            lot.refunded == grant.units - standing
        else {
            throw StoreError.corrupt("lot \(id) is not what purchase \(facts.transaction) says that it granted")
        }
        return lot
    }
}

/// How many events a purchase has.
struct EventCount {
    private let select: PreparedStatement

    init(_ db: Database) throws {
        select = try PreparedStatement(
            db, "SELECT number FROM purchase_event WHERE transaction_id = ? ORDER BY number DESC LIMIT 1")
    }

    /// The number of its last event. The first JWS, which stands in `purchase`, is 1.
    func last(of transaction: TransactionID) throws -> Int64 {
        select.bind(1, transaction.number)
        let number = try select.first { $0.integer(0) } ?? 1
        guard number >= 1, number <= Plausible.max else {
            throw StoreError.corrupt("an event of purchase \(transaction) has number \(number), which cannot be")
        }
        return number
    }
}

/// A row of `purchase`.
private struct PurchaseRow {
    var facts: PurchaseFacts
    var grants: [PurchaseRegister.Grant]
    var account: PlayerID?
    /// The entry that opened its lots.
    var entry: EntryID?
    // What its first JWS said, and when it was recorded.
    var signedDate: Timestamp
    var revoked: Int64
    var time: Timestamp
    /// Whether there is such a JWS.
    var isSigned: Bool

    static let select = """
        SELECT account, entry, product, quantity, purchase_date, price, price_currency, source, storefront, offer_type,
            offer_id, offer_discount, original_id, ownership, grants, signed_date, revoked, time, evidence
        FROM purchase WHERE transaction_id = ?
        """

    /// - Throws: ``StoreError`` where the row does not fit.
    init(
        _ row: PreparedStatement, _ transaction: TransactionID, _ currency: (CurrencyCode) -> CurrencyID?
    ) throws {
        account = row.optionalInteger(0)
        entry = row.optionalInteger(1)
        let isUsedUp = row.text(14).isEmpty
        guard isUsedUp ? entry == nil : (account == nil) == (entry == nil) else {
            throw StoreError.corrupt("purchase \(transaction) has an account without the entry that opened its lots")
        }
        signedDate = row.integer(15)
        revoked = row.integer(16)
        time = row.integer(17)
        isSigned = row.integer(18) > 0
        guard let source = Stored.sources.item(row.text(7)), row.integer(3) > 0, Plausible.isTime(row.integer(4)),
            row.optionalInteger(5).map(Plausible.isAmount) ?? true, Plausible.isTime(signedDate),
            Plausible.isShare(revoked), Plausible.isTime(time), isSigned == (source == .appStore),
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
    }
}
