import GRDB
import Ledger

/// Appends a batch's rows to the journal's tables and closes the block. Inserts only, each at the end of its table
/// where ids and keys are ordered by time.
final class JournalWriter {
    private let insertCurrency: PreparedStatement
    private let insertAccount: PreparedStatement
    private let insertEntry: PreparedStatement
    private let insertTransfer: PreparedStatement
    private let insertPurchase: PreparedStatement
    private let insertEvidence: PreparedStatement
    private let insertAssignment: PreparedStatement
    private let insertNotification: PreparedStatement
    private let insertRequest: PreparedStatement
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
        insertEntry = try PreparedStatement(
            db,
            """
            INSERT INTO entry (id, time, kind, first_transfer, transaction_id, key, note) VALUES (?, ?, ?, ?, ?, ?, ?)
            """)
        insertTransfer = try PreparedStatement(
            db,
            """
            INSERT INTO transfer (id, entry, debit, credit, amount, lot, debt_lot, previous, spend_order, reference)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertPurchase = try PreparedStatement(
            db,
            """
            INSERT INTO purchase (transaction_id, account, product, quantity, purchase_date, price, price_currency,
                grants, evidence, entry)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertEvidence = try PreparedStatement(
            db,
            """
            INSERT INTO purchase_evidence (id, transaction_id, is_first, signed_date, revoked, time, entry, header,
                payload, signature)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertAssignment = try PreparedStatement(
            db, "INSERT INTO purchase_assignment (id, transaction_id, account, time, entry) VALUES (?, ?, ?, ?, ?)")
        insertNotification = try PreparedStatement(
            db,
            """
            INSERT INTO notification (id, uuid, type, subtype, signed_date, time, transaction_id, header, payload,
                nested_header, nested_at, signature, reason)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertRequest = try PreparedStatement(
            db, "INSERT INTO request (key, id, fingerprint, entry, answer) VALUES (?, ?, ?, ?, ?)")
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
        for row in journal.entries { try append(row) }
        for row in journal.transfers { try append(row) }
        for row in journal.purchases { try append(row, codes) }
        for row in journal.evidence { try append(row) }
        for row in journal.assignments {
            insertAssignment.bind(1, row.id)
            insertAssignment.bind(2, row.transaction.number)
            insertAssignment.bind(3, row.account)
            insertAssignment.bind(4, row.time)
            insertAssignment.bind(5, row.entry)
            try insertAssignment.run()
        }
        for row in journal.notifications { try append(row) }
        for row in journal.requests {
            insertRequest.bind(1, row.key.text)
            insertRequest.bind(2, row.id)
            insertRequest.bind(3, row.fingerprint)
            insertRequest.bind(4, row.entry)
            insertRequest.bind(5, row.answer)
            try insertRequest.run()
        }
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
        let form = journal.canonicalForm(after: head.hash, block: head.id + 1, currencies: codes)
        let next = BlockHead(id: head.id + 1, hash: form.withUnsafeBytes { books.hash($0) })
        try append(next, books.position)
        return next
    }

    private func append(_ row: Entry) throws {
        insertEntry.bind(1, row.id)
        insertEntry.bind(2, row.time)
        insertEntry.bind(3, row.kind.rawValue)
        insertEntry.bind(4, row.firstTransfer)
        insertEntry.bind(5, row.transaction?.number)
        insertEntry.bind(6, row.key?.text)
        insertEntry.bind(7, row.note)
        try insertEntry.run()
    }

    private func append(_ row: Transfer) throws {
        insertTransfer.bind(1, row.id)
        insertTransfer.bind(2, row.entry)
        insertTransfer.bind(3, row.debit.number)
        insertTransfer.bind(4, row.credit.number)
        insertTransfer.bind(5, row.amount)
        insertTransfer.bind(6, row.lot)
        insertTransfer.bind(7, row.debtLot)
        insertTransfer.bind(8, row.previous)
        insertTransfer.bind(9, row.spendOrder?.number)
        insertTransfer.bind(10, row.reference)
        try insertTransfer.run()
    }

    private func append(_ row: Journal.PurchaseRow, _ codes: [CurrencyCode]) throws {
        insertPurchase.bind(1, row.facts.transaction.number)
        insertPurchase.bind(2, row.account)
        insertPurchase.bind(3, row.facts.product)
        insertPurchase.bind(4, row.facts.quantity)
        insertPurchase.bind(5, row.facts.purchaseDate)
        insertPurchase.bind(6, row.facts.price)
        insertPurchase.bind(7, row.facts.priceCurrency)
        insertPurchase.bind(8, row.grantsText(codes))
        insertPurchase.bind(9, row.evidence)
        insertPurchase.bind(10, row.entry)
        try insertPurchase.run()
    }

    private func append(_ row: Journal.EvidenceRow) throws {
        insertEvidence.bind(1, row.id)
        insertEvidence.bind(2, row.transaction.number)
        insertEvidence.bind(3, row.isFirst ? 1 : 0)
        insertEvidence.bind(4, row.signedDate)
        insertEvidence.bind(5, row.revoked)
        insertEvidence.bind(6, row.time)
        insertEvidence.bind(7, row.entry)
        insertEvidence.bind(8, try headerID(row.evidence))
        insertEvidence.bind(9, row.evidence.payload)
        insertEvidence.bind(10, row.evidence.signature)
        try insertEvidence.run()
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
