import GRDB
package import Ledger

/// A block with its own hash.
package struct OpenedBlock: Sendable {
    package var block: Block
    package var hash: Digest

    package init(_ block: Block, hash: Digest) {
        self.block = block
        self.hash = hash
    }

    var head: LogHead { LogHead(number: block.number, term: block.term, hash: hash) }
}

/// Brings the tables forward by a batch of blocks, within a transaction of its caller.
final class BatchWriter {
    private let wallets: WalletRows
    private let insertCurrency: PreparedStatement
    private let insertActor: PreparedStatement
    private let insertAccount: RowInsertion
    private let names: NameErasure
    private let insertHeader: PreparedStatement
    private let insertEntry: RowInsertion
    private let insertTransfer: RowInsertion
    private let insertRequest: RowInsertion
    private let insertHold: RowInsertion
    private let updateHold: PreparedStatement
    private let insertPurchase: RowInsertion
    private let updatePurchase: PreparedStatement
    private let eventCount: EventCount
    private let insertEvent: RowInsertion
    private let insertNotification: RowInsertion
    private let insertBlock: RowInsertion
    private let writeTotal: PreparedStatement
    private let writeState: PreparedStatement
    private let hash: HashFunction
    private let areNew: Bool
    private let warn: @Sendable (String) -> Void

    /// - Parameters:
    ///   - areNew: whether the tables were made from nothing by this process.
    ///   - warn: told of what a log must not have. New tables are made all the same, so that they can be read.
    init(
        _ db: Database, areNew: Bool, hash: @escaping HashFunction, warn: @escaping @Sendable (String) -> Void
    ) throws {
        self.areNew = areNew
        self.hash = hash
        self.warn = warn
        wallets = try WalletRows(db)
        insertCurrency = try PreparedStatement(db, "INSERT INTO currency (id, code) VALUES (?, ?)")
        insertActor = try PreparedStatement(db, "INSERT INTO actor (id, name) VALUES (?, ?)")
        insertAccount = try RowInsertion(db, into: "account", "id, name")
        names = try NameErasure(db)
        insertHeader = try PreparedStatement(db, "INSERT INTO jws_header (id, digest, block) VALUES (?, ?, ?)")
        insertEntry = try RowInsertion(
            db, into: "entry", "id, time, kind, first_transfer, transaction_id, key, note, actor")
        insertTransfer = try RowInsertion(
            db, into: "transfer",
            "id, entry, account, currency, debit, credit, amount, lot, debt_lot, previous, spend_order, reference")
        insertRequest = try RowInsertion(db, into: "request", "key, fingerprint, entry, answer", firstOf: "key")
        insertHold = try RowInsertion(
            db, into: "hold", "id, entry, account, currency, amount, expires_at, state, ended")
        updateHold = try PreparedStatement(
            db, "UPDATE hold SET state = ?, ended = ? WHERE id = ? AND state = 'open'")
        insertPurchase = try RowInsertion(
            db, into: "purchase",
            """
            transaction_id, account, entry, product, quantity, purchase_date, price, price_currency, source, storefront,
            offer_type, offer_id, offer_discount, original_id, ownership, grants, signed_date, revoked, time, evidence,
            block
            """, firstOf: "transaction_id")
        updatePurchase = try PreparedStatement(
            db, "UPDATE purchase SET account = ?, entry = ? WHERE transaction_id = ? AND account IS NULL")
        eventCount = try EventCount(db)
        insertEvent = try RowInsertion(
            db, into: "purchase_event",
            "transaction_id, number, kind, record, time, signed_date, revoked, entry, reason, block")
        insertNotification = try RowInsertion(
            db, into: "notification",
            "uuid, number, type, subtype, signed_date, reason, time, transaction_id, block")
        insertBlock = try RowInsertion(db, into: "block", "number, term, time, hash, entry, transfer")
        writeTotal = try PreparedStatement(
            db, "INSERT OR REPLACE INTO total (currency, kind, debits, credits) VALUES (?, ?, ?, ?)")
        writeState = try PreparedStatement(db, StoredState.update)
    }

    /// - Returns: what the tables hold then.
    func apply(_ blocks: [OpenedBlock], after before: StoredState) throws -> StoredState {
        var state = before
        for opened in blocks { try state.advance(by: opened) }
        var rows = try BatchRows(blocks)
        state.add(rows.currencies)
        var changes = WalletChanges(after: before.position)
        try changes.load(rows.transfers, currencies: state.position.currency, wallets)
        try changes.apply(rows.transfers, rows.entries, opening: rows.lots)
        try state.add(changes.turnovers)

        try insertNames(rows, after: before.position)
        try insert(rows.entries)
        try insert(rows.transfers)
        try wallets.write(changes)
        try insert(rows.requests)
        try write(rows.holds, ended: changes.endedHolds, after: before.position)
        let assigned = rows.assign()
        try insert(rows.purchases, state.currencies)
        for row in assigned {
            updatePurchase.bind(1, row.account)
            updatePurchase.bind(2, row.entry)
            updatePurchase.bind(3, row.transaction.number)
            try updatePurchase.run(changing: 1)
        }
        try insert(rows.events)
        try insert(rows.notifications)
        try insert(blocks)
        try write(state, after: before)
        return state
    }

    private func insertNames(_ rows: borrowing BatchRows, after position: LastNumbers) throws {
        for row in rows.currencies {
            insertCurrency.bind(1, Int64(row.id))
            insertCurrency.bind(2, row.code.text)
            try insertCurrency.run()
        }
        for row in rows.actors {
            insertActor.bind(1, row.id)
            insertActor.bind(2, row.name)
            try insertActor.run()
        }
        // Before the new ones: one of them may have an erased name.
        try names.erase(rows.erased.filter { $0 <= position.account }.sorted())
        try insertAccount.run(rows.accounts) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, rows.erased.contains(row.pointee.id) ? nil : row.pointee.name?.text)
        }
        for header in rows.headers {
            insertHeader.bind(1, header.row.id)
            insertHeader.bind(2, Digest(of: Array(header.row.text), hash))
            insertHeader.bind(3, header.block)
            try insertHeader.run()
        }
    }

    private func insert(_ rows: [Entry]) throws {
        try insertEntry.run(rows) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.time)
            parameters.bind(3, Stored.entryKinds.name(row.pointee.kind))
            parameters.bind(4, row.pointee.firstTransfer)
            parameters.bind(5, row.pointee.transaction?.number)
            parameters.bind(6, row.pointee.key?.text)
            parameters.bind(7, row.pointee.note)
            parameters.bind(8, row.pointee.actor)
        }
    }

    private func insert(_ rows: [Transfer]) throws {
        try insertTransfer.run(rows) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.entry)
            parameters.bind(3, row.pointee.player)
            parameters.bind(4, Int64(row.pointee.debit.currency))
            parameters.bind(5, Stored.accountKinds.name(row.pointee.debit.kind))
            parameters.bind(6, Stored.accountKinds.name(row.pointee.credit.kind))
            parameters.bind(7, row.pointee.amount)
            parameters.bind(8, row.pointee.lot)
            parameters.bind(9, row.pointee.debtLot)
            parameters.bind(10, row.pointee.previous)
            parameters.bind(11, row.pointee.spendOrder.map { Stored.spendOrders.name($0) })
            parameters.bind(12, row.pointee.reference)
        }
    }

    /// What a log must not have: tables made from nothing are of such a log, and can be read. In others it is more
    /// likely that they lost what they had.
    private func meetTwice(_ what: String) throws {
        guard areNew else { throw StoreError.corrupt("\(what), of which the tables have one already") }
        warn("\(what) in the log; the first stays: verify the log")
    }

    private func insert(_ rows: [BlockRows.RequestRow]) throws {
        let isWhole = try insertRequest.run(rows) { parameters, row in
            parameters.bind(1, row.pointee.key.text)
            parameters.bind(2, row.pointee.fingerprint)
            parameters.bind(3, row.pointee.entry)
            parameters.bind(4, row.pointee.answer)
        }
        if !isWhole { try meetTwice("a request key has two answers") }
    }

    private func write(
        _ holds: [BlockRows.HoldRow], ended: [WalletChanges.EndedHold], after before: LastNumbers
    ) throws {
        if holds.isEmpty && ended.isEmpty { return }
        var ends: [TransferID: WalletChanges.EndedHold] = [:]
        for end in ended {
            guard ends.updateValue(end, forKey: end.id) == nil else {
                throw StoreError.corrupt("hold \(end.id) ends twice")
            }
        }
        try insertHold.run(holds) { parameters, row in
            let end = ends[row.pointee.id]
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.entry)
            parameters.bind(3, row.pointee.account)
            parameters.bind(4, Int64(row.pointee.currency))
            parameters.bind(5, row.pointee.amount)
            parameters.bind(6, row.pointee.expiresAt)
            parameters.bind(7, Stored.holdStates.name(end?.state ?? .open))
            parameters.bind(8, end?.entry)
        }
        for end in ended.sorted(by: { $0.id < $1.id }) where end.id <= before.transfer {
            updateHold.bind(1, Stored.holdStates.name(end.state))
            updateHold.bind(2, end.entry)
            updateHold.bind(3, end.id)
            try updateHold.run(changing: 1)
        }
    }

    private func insert(_ rows: [BatchRows.NewPurchase], _ codes: [CurrencyCode]) throws {
        // The same for each purchase of a product: made once for as many as follow each other.
        var grants: (of: [PurchaseRegister.Grant], text: String) = ([], "")
        let isWhole = try insertPurchase.run(rows) { parameters, row in
            let purchase = row.pointee.row
            if purchase.grants != grants.of {
                grants = (purchase.grants, try StoredGrants.text(purchase.grants, codes))
            }
            parameters.bind(1, purchase.facts.transaction.number)
            parameters.bind(2, purchase.account)
            parameters.bind(3, purchase.entry)
            parameters.bind(4, purchase.facts.product)
            parameters.bind(5, purchase.facts.quantity)
            parameters.bind(6, purchase.facts.purchaseDate)
            parameters.bind(7, purchase.facts.price)
            parameters.bind(8, purchase.facts.priceCurrency)
            parameters.bind(9, Stored.sources.name(purchase.facts.source))
            parameters.bind(10, purchase.facts.storefront)
            parameters.bind(11, purchase.facts.offer?.type)
            parameters.bind(12, purchase.facts.offer?.identifier)
            parameters.bind(13, purchase.facts.offer?.discountType)
            parameters.bind(14, purchase.facts.original?.number)
            parameters.bind(15, purchase.facts.ownership)
            parameters.bind(16, grants.text)
            parameters.bind(17, row.pointee.first.signedDate)
            parameters.bind(18, row.pointee.first.revoked)
            parameters.bind(19, row.pointee.first.time)
            parameters.bind(20, row.pointee.first.id)
            parameters.bind(21, row.pointee.block)
        }
        if !isWhole { try meetTwice("a transaction id is two purchases") }
    }

    private func insert(_ rows: [BatchRows.NewEvent]) throws {
        // Those of one purchase follow each other.
        var last: (transaction: TransactionID, number: Int64)?
        try insertEvent.run(rows) { parameters, row in
            let event = row.pointee.event
            let before = last?.transaction == event.transaction ? last?.number : nil
            let number = try (before ?? eventCount.last(of: event.transaction)) + 1
            last = (event.transaction, number)
            parameters.bind(1, event.transaction.number)
            parameters.bind(2, number)
            parameters.bind(3, event.kind.rawValue)
            parameters.bind(4, event.record)
            parameters.bind(5, event.time)
            parameters.bind(6, event.signedDate)
            parameters.bind(7, event.revoked)
            parameters.bind(8, event.entry)
            parameters.bind(9, event.reason)
            parameters.bind(10, row.pointee.block)
        }
    }

    private func insert(_ rows: [BatchRows.NewNotification]) throws {
        try insertNotification.run(rows) { parameters, row in
            let notification = row.pointee.row
            parameters.bind(1, notification.uuid)
            parameters.bind(2, notification.id)
            parameters.bind(3, notification.type)
            parameters.bind(4, notification.subtype)
            parameters.bind(5, notification.signedDate)
            parameters.bind(6, notification.reason)
            parameters.bind(7, notification.time)
            parameters.bind(8, notification.transaction?.number)
            parameters.bind(9, row.pointee.block)
        }
    }

    private func insert(_ blocks: [OpenedBlock]) throws {
        try insertBlock.run(blocks) { parameters, row in
            let block = row.pointee.block
            parameters.bind(1, block.number)
            parameters.bind(2, block.term)
            parameters.bind(3, block.time)
            parameters.bind(4, row.pointee.hash)
            parameters.bind(5, block.position.entry)
            parameters.bind(6, block.position.transfer)
        }
    }

    private func write(_ state: StoredState, after before: StoredState) throws {
        for number in stride(from: 1, through: state.currencies.count, by: 1) {
            let currency = CurrencyID(truncatingIfNeeded: number)
            for kind in AccountKind.allCases {
                let turnover = state.totals[currency, kind]
                if number <= before.currencies.count, turnover == before.totals[currency, kind] { continue }
                writeTotal.bind(1, Int64(currency))
                writeTotal.bind(2, Stored.accountKinds.name(kind))
                writeTotal.bind(3, turnover.debits)
                writeTotal.bind(4, turnover.credits)
                try writeTotal.run()
            }
        }
        state.bind(to: writeState)
        try writeState.run(changing: 1)
    }
}

/// What a purchase granted, as its row says it.
enum StoredGrants {
    static func text(_ grants: [PurchaseRegister.Grant], _ codes: [CurrencyCode]) throws -> String {
        var text = ""
        for grant in grants {
            guard grant.currency >= 1, Int(grant.currency) <= codes.count else {
                throw StoreError.corrupt("a purchase grants currency \(grant.currency), which there is not")
            }
            if !text.isEmpty { text += " " }
            text += "\(codes[Int(grant.currency) - 1]):\(grant.units):\(grant.weight)"
        }
        return text
    }

    /// `nil` where the text was changed by other hands.
    static func grants(_ text: String, _ currency: (CurrencyCode) -> CurrencyID?) -> [PurchaseRegister.Grant]? {
        var grants: [PurchaseRegister.Grant] = []
        for part in text.split(separator: " ") {
            let fields = part.split(separator: ":")
            guard fields.count == 3, let code = CurrencyCode(String(fields[0])), let currency = currency(code),
                let units = Int64(fields[1]), units > 0, units <= Limits.amountMax,
                let weight = Int64(fields[2]), weight >= 0, weight <= Plausible.max / 256
            else { return nil }
            grants.append(PurchaseRegister.Grant(currency: currency, units: units, weight: weight))
        }
        return grants.count <= Limits.currenciesMax ? grants : nil
    }
}
