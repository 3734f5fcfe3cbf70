import GRDB
import Ledger

/// Appends a batch's rows to the journal's tables and closes the block. Inserts only, each at the end of its table
/// where ids and keys are ordered by time.
final class JournalWriter {
    private let insertCurrency: PreparedStatement
    private let insertAccount: PreparedStatement
    private let insertEntry: RowInsertion
    private let insertTransfer: RowInsertion
    private let insertPurchase: RowInsertion
    private let insertEvidence: RowInsertion
    private let insertAssignment: PreparedStatement
    private let insertNotification: PreparedStatement
    private let insertRequest: RowInsertion
    private let insertHold: PreparedStatement
    private let insertLotExpiry: PreparedStatement
    private let insertBlock: PreparedStatement
    private let insertHeader: PreparedStatement
    private let selectHeader: PreparedStatement
    private let db: Database
    /// Ids of the header segments seen, by digest. Apple signs with two or three at a time.
    private var headerIDs: [Digest: Int64] = [:]
    /// More than any chain's lifetime shows at once; then it starts anew, for the table has them all.
    private static let headersMax = 64

    init(_ db: Database) throws {
        self.db = db
        insertCurrency = try PreparedStatement(db, "INSERT INTO currency (id, code) VALUES (?, ?)")
        insertAccount = try PreparedStatement(db, "INSERT INTO account (id, name) VALUES (?, ?)")
        insertEntry = try RowInsertion(
            db, into: "entry", "id", "time", "kind", "first_transfer", "transaction_id", "key", "note")
        insertTransfer = try RowInsertion(
            db, into: "transfer", "id", "entry", "debit", "credit", "amount", "lot", "debt_lot", "previous",
            "spend_order", "reference")
        insertPurchase = try RowInsertion(
            db, into: "purchase", "transaction_id", "account", "product", "quantity", "purchase_date", "price",
            "price_currency", "grants", "evidence", "entry")
        insertEvidence = try RowInsertion(
            db, into: "purchase_evidence", "id", "transaction_id", "is_first", "signed_date", "revoked", "time",
            "entry", "header", "payload", "signature")
        insertAssignment = try PreparedStatement(
            db, "INSERT INTO purchase_assignment (id, transaction_id, account, time, entry) VALUES (?, ?, ?, ?, ?)")
        insertNotification = try PreparedStatement(
            db,
            """
            INSERT INTO notification (id, uuid, type, subtype, signed_date, time, transaction_id, header, payload,
                nested_header, nested_at, signature, reason)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertRequest = try RowInsertion(
            db, into: "request", "key", "id", "fingerprint", "entry", "answer")
        insertHold = try PreparedStatement(
            db, "INSERT INTO hold (id, entry, account, currency, amount, expires_at) VALUES (?, ?, ?, ?, ?, ?)")
        insertLotExpiry = try PreparedStatement(db, "INSERT INTO lot_expiry (lot, expires_at) VALUES (?, ?)")
        insertBlock = try PreparedStatement(
            db,
            """
            INSERT INTO block (id, time, currency, account, entry, transfer, evidence, assignment, notification,
                request, hash)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertHeader = try PreparedStatement(db, "INSERT INTO jws_header (digest, text) VALUES (?, ?)")
        selectHeader = try PreparedStatement(db, "SELECT id FROM jws_header WHERE digest = ?")
    }

    /// Appends everything that the books' journal holds as the block after `head`.
    func append(_ books: borrowing Books, after head: BlockHead) throws -> BlockHead {
        let journal = books.journal
        let codes = books.currencies.map(\.code)
        let digest = BlockDigest(of: journal, after: head, currencies: codes, books.hash)
        for row in journal.currencies {
            insertCurrency.bind(1, Int64(row.id))
            insertCurrency.bind(2, row.code.text)
            try insertCurrency.run()
        }
        for row in journal.accounts {
            insertAccount.bind(1, row.id)
            insertAccount.bind(2, row.name.text)
            try insertAccount.run()
        }
        try append(journal.entries)
        try append(journal.transfers)
        try append(journal.purchases, codes)
        try append(journal.evidence)
        for row in journal.assignments {
            insertAssignment.bind(1, row.id)
            insertAssignment.bind(2, row.transaction.number)
            insertAssignment.bind(3, row.account)
            insertAssignment.bind(4, row.time)
            insertAssignment.bind(5, row.entry)
            try insertAssignment.run()
        }
        for row in journal.notifications { try append(row) }
        try append(journal.requests)
        for row in journal.holds {
            insertHold.bind(1, row.id)
            insertHold.bind(2, row.entry)
            insertHold.bind(3, row.account)
            insertHold.bind(4, Int64(row.currency))
            insertHold.bind(5, row.amount)
            insertHold.bind(6, row.expiresAt)
            try insertHold.run()
        }
        for row in journal.lotExpiries {
            insertLotExpiry.bind(1, row.lot)
            insertLotExpiry.bind(2, row.expiresAt)
            try insertLotExpiry.run()
        }
        let next = BlockHead(id: head.id + 1, hash: digest.value())
        try append(next, books.position)
        return next
    }

    private func append(_ rows: [Entry]) throws {
        try insertEntry.run(rows) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.time)
            parameters.bind(3, row.pointee.kind.rawValue)
            parameters.bind(4, row.pointee.firstTransfer)
            parameters.bind(5, row.pointee.transaction?.number)
            parameters.bind(6, row.pointee.key?.text)
            parameters.bind(7, row.pointee.note)
        }
    }

    private func append(_ rows: [Transfer]) throws {
        try insertTransfer.run(rows) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.entry)
            parameters.bind(3, row.pointee.debit.number)
            parameters.bind(4, row.pointee.credit.number)
            parameters.bind(5, row.pointee.amount)
            parameters.bind(6, row.pointee.lot)
            parameters.bind(7, row.pointee.debtLot)
            parameters.bind(8, row.pointee.previous)
            parameters.bind(9, row.pointee.spendOrder?.number)
            parameters.bind(10, row.pointee.reference)
        }
    }

    private func append(_ rows: [Journal.PurchaseRow], _ codes: [CurrencyCode]) throws {
        try insertPurchase.run(rows) { parameters, row in
            parameters.bind(1, row.pointee.facts.transaction.number)
            parameters.bind(2, row.pointee.account)
            parameters.bind(3, row.pointee.facts.product)
            parameters.bind(4, row.pointee.facts.quantity)
            parameters.bind(5, row.pointee.facts.purchaseDate)
            parameters.bind(6, row.pointee.facts.price)
            parameters.bind(7, row.pointee.facts.priceCurrency)
            parameters.bind(8, row.pointee.grantsText(codes))
            parameters.bind(9, row.pointee.evidence)
            parameters.bind(10, row.pointee.entry)
        }
    }

    private func append(_ rows: [Journal.EvidenceRow]) throws {
        try insertEvidence.run(rows) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.transaction.number)
            parameters.bind(3, row.pointee.isFirst ? 1 : 0)
            parameters.bind(4, row.pointee.signedDate)
            parameters.bind(5, row.pointee.revoked)
            parameters.bind(6, row.pointee.time)
            parameters.bind(7, row.pointee.entry)
            parameters.bind(8, try headerID(row.pointee.evidence))
            parameters.bind(9, row.pointee.evidence.payload)
            parameters.bind(10, row.pointee.evidence.signature)
        }
    }

    private func append(_ rows: [Journal.RequestRow]) throws {
        try insertRequest.run(rows) { parameters, row in
            parameters.bind(1, row.pointee.key.text)
            parameters.bind(2, row.pointee.id)
            parameters.bind(3, row.pointee.fingerprint)
            parameters.bind(4, row.pointee.entry)
            parameters.bind(5, row.pointee.answer)
        }
    }

    private func append(_ row: Journal.NotificationRow) throws {
        let signed = row.signed
        var payload = signed.evidence.payload[...]
        var nestedAt: Int64?
        if let header = signed.purchase?.evidence.header, let place = payload.firstRange(of: header) {
            nestedAt = Int64(place.lowerBound)
            payload.removeSubrange(place)
        }
        insertNotification.bind(1, row.id)
        insertNotification.bind(2, signed.uuid)
        insertNotification.bind(3, signed.type)
        insertNotification.bind(4, signed.subtype)
        insertNotification.bind(5, signed.signedDate)
        insertNotification.bind(6, row.time)
        insertNotification.bind(7, signed.purchase?.facts.transaction.number)
        insertNotification.bind(8, try headerID(signed.evidence))
        insertNotification.bind(9, payload)
        insertNotification.bind(10, nestedAt == nil ? nil : try signed.purchase.map { try headerID($0.evidence) })
        insertNotification.bind(11, nestedAt)
        insertNotification.bind(12, signed.evidence.signature)
        insertNotification.bind(13, signed.reason)
        try insertNotification.run()
    }

    private func append(_ head: BlockHead, _ position: JournalPosition) throws {
        insertBlock.bind(1, head.id)
        insertBlock.bind(2, position.time)
        insertBlock.bind(3, position.currency)
        insertBlock.bind(4, position.account)
        insertBlock.bind(5, position.entry)
        insertBlock.bind(6, position.transfer)
        insertBlock.bind(7, position.evidence)
        insertBlock.bind(8, position.assignment)
        insertBlock.bind(9, position.notification)
        insertBlock.bind(10, position.request)
        insertBlock.bind(11, head.hash)
        try insertBlock.run()
    }

    private func headerID(_ evidence: Evidence) throws -> Int64 {
        if let id = headerIDs[evidence.headerDigest] { return id }
        if headerIDs.count >= JournalWriter.headersMax { headerIDs.removeAll() }
        selectHeader.bind(1, evidence.headerDigest)
        if try selectHeader.next() {
            let id = selectHeader.integer(0)
            selectHeader.reset()
            headerIDs[evidence.headerDigest] = id
            return id
        }
        insertHeader.bind(1, evidence.headerDigest)
        insertHeader.bind(2, evidence.header)
        try insertHeader.run()
        let id = db.lastInsertedRowID
        headerIDs[evidence.headerDigest] = id
        return id
    }
}

/// The last block of the chain.
struct BlockHead {
    var id: Int64
    var hash: Digest
}
