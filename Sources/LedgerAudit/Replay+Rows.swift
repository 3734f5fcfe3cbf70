import AppStore
import Ledger

/// The rows that the tables must have after the blocks that were applied: written once more from the tables'
/// definition, and not from the code that fills them.
extension Replay {
    func emit(_ table: AuditedTable, _ fill: (inout TableRow) -> Void) {
        row.begin()
        fill(&row)
        rows.add(row, to: table)
    }

    /// Adds the rows of a block that are never changed.
    func add(_ sealed: SealedBlock, _ block: Block) {
        let rows = block.rows
        emit(.block) { row in
            row.add(block.number)
            row.endKey()
            row.add(block.term)
            row.add(block.time)
            row.add(sealed.hash)
            row.add(block.position.entry)
            row.add(block.position.transfer)
        }
        for (index, currency) in rows.currencies.enumerated() {
            emit(.currency) { row in
                row.add(Int64(currencies.count - rows.currencies.count + index + 1))
                row.endKey()
                row.add(currency.code.text)
            }
        }
        for actor in rows.actors {
            emit(.actor) { row in
                row.add(actor.id)
                row.endKey()
                row.add(actor.name)
            }
        }
        for header in rows.headers {
            emit(.header) { row in
                row.add(header.id)
                row.endKey()
                row.add(Digest(of: Array(header.text), hash))
                row.add(block.number)
            }
        }
        for entry in rows.entries { add(entry) }
        for request in rows.requests {
            emit(.request) { row in
                row.add(request.key.text)
                row.endKey()
                row.add(request.fingerprint)
                row.add(request.entry)
                request.answer.withUnsafeBytes { row.add(blob: $0) }
            }
        }
        addPurchases(block)
        addEvents(block)
        for (notification, entry) in zip(rows.notifications, rows.notifiedEntries) {
            add(notification, entry, block.number)
        }
    }

    private func add(_ entry: Entry) {
        emit(.entry) { row in
            row.add(entry.id)
            row.endKey()
            row.add(entry.time)
            row.add(entry.kind.name)
            row.add(entry.firstTransfer)
            row.add(entry.transaction?.number)
            row.add(entry.key?.text)
            row.add(entry.note)
            row.add(entry.actor)
        }
    }

    /// Adds a transfer's row.
    /// - Parameters:
    ///   - lot: as the transfer left it; `nil` where it names none.
    ///   - previous: the one before it of the same lot.
    func add(_ transfer: Transfer, _ lot: LotBook?, previous: TransferID) {
        emit(.transfer) { row in
            row.add(transfer.id)
            row.endKey()
            row.add(transfer.entry)
            row.add(transfer.player)
            row.add(Int64(transfer.debit.currency))
            row.add(transfer.debit.kind.name)
            row.add(transfer.credit.kind.name)
            row.add(transfer.amount)
            row.add(transfer.lot)
            row.add(transfer.debtLot)
            row.add(transfer.previous)
            row.add(transfer.spendOrder?.rawValue)
            row.add(transfer.reference)
            row.add(previous)
            row.add((lot?.remaining ?? 0) &+ (lot?.held ?? 0))
            row.add(lot?.refunded ?? 0)
            row.add(lot?.deferred ?? 0)
            row.add(lot?.moneyRefunded ?? 0)
        }
    }

    private func add(_ notification: BlockRows.NotificationRow, _ entry: EntryID?, _ block: BlockNumber) {
        emit(.notification) { row in
            row.add(notification.uuid)
            row.endKey()
            row.add(notification.id)
            row.add(notification.type)
            row.add(notification.subtype)
            row.add(notification.signedDate)
            row.add(notification.reason)
            row.add(notification.time)
            row.add(notification.transaction?.number)
            row.add(notification.subject?.number)
            row.add(entry)
            row.add(block)
        }
    }

    // MARK: Purchases

    private func addPurchases(_ block: Block) {
        let rows = block.rows
        let statements = firstStatements(rows)
        for purchase in rows.purchases where purchase.account != nil {
            let facts = purchase.facts
            if purchase.evidence == 0 {
                if let first = statements[facts.transaction] {
                    add(purchase, FirstWord(first, of: facts), block.number)
                }
                continue
            }
            let place = purchase.evidence &- position(before: block) &- 1
            guard place >= 0, place < rows.evidence.count else { continue }
            let first = rows.evidence[Int(place)]
            add(purchase, FirstWord(first, revocationDate: revocationDate(first)), block.number)
        }
        for assignment in rows.assignments {
            emit(.assignment) { row in
                row.add(assignment.id)
                row.endKey()
                row.add(assignment.transaction.number)
                row.add(assignment.account)
                row.add(assignment.entry)
                row.add(assignment.time)
            }
            if var known = unassigned.removeValue(forKey: assignment.transaction) {
                known.row.account = assignment.account
                known.row.entry = assignment.entry
                add(known.row, known.first, known.block)
            }
        }
    }

    /// What the ledger was told of a purchase after its first JWS, and told Apple.
    private struct Event {
        var transaction: TransactionID
        var kind: String
        /// Among those of one time: JWS, then assignments, then notifications, then what Apple was told.
        var rank: Int
        var record: Int64
        var time: Timestamp
        var signedDate: Timestamp?
        var revoked: Int64?
        var revocationDate: Timestamp?
        var entry: EntryID?
        var reason: String?
        var end: AppStoreCall.End?
        var body: ArraySlice<UInt8> = []
    }

    /// Numbers what a block tells of purchases, by time.
    private func addEvents(_ block: Block) {
        let rows = block.rows
        var events = rows.evidence.filter { !$0.isFirst }.map { row in
            Event(
                transaction: row.transaction, kind: "signed", rank: 0, record: row.id, time: row.time,
                signedDate: row.signedDate, revoked: row.revoked, revocationDate: revocationDate(row),
                entry: row.entry)
        }
        let first = firstStatements(rows)
        events += rows.statements.filter { first[$0.transaction] != $0 }.map { row in
            Event(
                transaction: row.transaction, kind: "stated", rank: 0, record: 0, time: row.time,
                signedDate: row.time, revoked: row.revoked, entry: row.entry)
        }
        // An account that came with a newer JWS is told with that.
        let posted = rows.assignments.isEmpty ? [] : Set(events.compactMap(\.entry))
        events += rows.assignments.filter { !posted.contains($0.entry) }.map { row in
            Event(
                transaction: row.transaction, kind: "assigned", rank: 1, record: row.id, time: row.time,
                entry: row.entry)
        }
        for row in rows.notifications {
            guard let transaction = row.transaction,
                row.type == "CONSUMPTION_REQUEST" || row.type == "REFUND_DECLINED"
            else { continue }
            events.append(
                Event(
                    transaction: transaction, kind: row.type.lowercased(), rank: 2, record: row.id, time: row.time,
                    signedDate: row.signedDate, reason: row.reason))
        }
        // Those of one time that stand in one section are in its order.
        events.sort { ($0.time, $0.rank, $0.record) < ($1.time, $1.rank, $1.record) }
        for row in rows.calls {
            let kind =
                switch row.kind {
                case .consumption: "consumption_sent"
                case .finish: "finished"
                case .accountToken: "account_token_set"
                }
            let event = Event(
                transaction: row.transaction, kind: kind, rank: 3, record: row.notification ?? 0, time: row.time,
                end: row.end, body: row.body)
            events.insert(event, at: events.firstIndex { $0.time > row.time } ?? events.endIndex)
        }
        for event in events {
            guard var book = purchases[event.transaction] else { continue }
            book.events += 1
            purchases[event.transaction] = book
            emit(.event) { row in
                row.add(event.transaction.number)
                row.add(book.events)
                row.endKey()
                row.add(event.kind)
                row.add(event.record)
                row.add(event.time)
                row.add(event.signedDate)
                row.add(event.revoked)
                row.add(event.revocationDate)
                row.add(event.entry)
                row.add(event.reason)
                row.add(event.end?.name)
                row.add(event.end?.code)
                row.add(event.body.isEmpty ? nil : String(decoding: event.body, as: UTF8.self))
                row.add(block.number)
            }
        }
    }

    /// The date of the revocation that a JWS tells of.
    func revocationDate(_ row: BlockRows.EvidenceRow) -> Timestamp? {
        if row.revoked == 0 { return nil }
        return row.payload.withUnsafeBufferPointer { try? TransactionPayload(json: $0).revocationDate }
    }

    private func position(before block: Block) -> EvidenceID {
        block.position.evidence - Int64(block.rows.evidence.count)
    }

    private func add(_ purchase: BlockRows.PurchaseRow, _ first: FirstWord, _ block: BlockNumber) {
        let facts = purchase.facts
        emit(.purchase) { row in
            row.add(facts.transaction.number)
            row.endKey()
            row.add(purchase.account)
            row.add(purchase.entry)
            row.add(facts.product)
            row.add(facts.quantity)
            row.add(facts.purchaseDate)
            row.add(facts.price)
            row.add(facts.priceCurrency)
            switch facts.source {
            case .appStore: row.add("app_store")
            case .imported: row.add("imported")
            case .external: row.add("external")
            }
            row.add(facts.storefront)
            row.add(facts.offer?.type)
            row.add(facts.offer?.identifier)
            row.add(facts.offer?.discountType)
            row.add(facts.original?.number)
            row.add(facts.ownership)
            row.add(purchase.grants.map { "\(code($0.currency)):\($0.units):\($0.weight)" }.joined(separator: " "))
            row.add(first.signedDate)
            row.add(first.revoked)
            row.add(first.revocationDate)
            row.add(first.time)
            row.add(first.evidence)
            row.add(block)
        }
    }

    // MARK: What is changed

    /// Adds the rows that blocks change, as they are after the last block.
    func addState() {
        guard let head, let ledger else { return }
        emit(.projection) { row in
            row.add(Int64(1))
            row.endKey()
            row.add(ledger.bundleID)
            row.add(ledger.environment)
            row.add(head.number)
            row.add(head.term)
            row.add(head.hash)
            row.add(time)
            for number in [
                position.currency, position.actor, position.account, position.header, position.entry,
                position.transfer, position.evidence, position.assignment, position.notification, position.request,
                position.time, closedThrough,
            ] { row.add(number) }
        }
        for account in stride(from: 1, through: position.account, by: 1) where !isNameUnknown(account) {
            emit(.account) { row in
                row.add(account)
                row.endKey()
                row.add(erased.contains(account) ? nil : accountNames[Int(account) - 1])
            }
        }
        for known in unassigned.values { add(known.row, known.first, known.block) }
        for wallet in wallets { add(wallet) }
        for lot in lots { add(lot) }
        for hold in holds.values { add(hold) }
        for number in currencies.indices {
            for (lotClass, kind) in Replay.classedKinds {
                let turnover = totals[Replay.total(CurrencyID(number + 1), lotClass, kind)]
                emit(.total) { row in
                    row.add(Int64(number + 1))
                    row.add(lotClass == .paid ? "paid" : "free")
                    row.add(kind.name)
                    row.endKey()
                    row.add(sum: turnover.debits)
                    row.add(sum: turnover.credits)
                }
            }
        }
    }

    private func add(_ wallet: WalletBook) {
        emit(.wallet) { row in
            row.add(wallet.account)
            row.add(Int64(wallet.currency))
            row.endKey()
            row.add(wallet.available)
            row.add(wallet.paid)
            row.add(wallet.held)
            row.add(wallet.heldPaid)
            row.add(wallet.debt)
            row.add(wallet.version)
            row.add(wallet.lastEntry)
            row.add(wallet.lastTransfer)
            row.add(wallet.transfers)
        }
    }

    private func add(_ lot: LotBook) {
        emit(.lot) { row in
            row.add(lot.id)
            row.endKey()
            row.add(lot.account)
            row.add(Int64(lot.currency))
            switch lot.lotClass {
            case .paid: row.add("paid")
            case .free: row.add("free")
            }
            row.add(lot.transaction?.number)
            row.add(lot.time)
            row.add(lot.price)
            row.add(lot.granted)
            row.add(lot.remaining)
            row.add(lot.held)
            row.add(lot.spent)
            row.add(lot.expired)
            row.add(lot.refunded)
            row.add(lot.indebted)
            row.add(lot.recovered)
            row.add(lot.writtenOff)
            row.add(lot.repaid)
            row.add(lot.adjusted)
            row.add(lot.expiresAt)
            row.add(lot.lastTransfer)
            row.add(lot.lastOwn)
            row.add(lot.deferred)
            row.add(lot.moneyRefunded)
            row.add(Int64(lot.isOpen ? 1 : 0))
        }
    }

    private func add(_ hold: HoldBook) {
        emit(.hold) { row in
            row.add(hold.row.id)
            row.endKey()
            row.add(hold.row.entry)
            row.add(hold.row.account)
            row.add(Int64(hold.row.currency))
            row.add(hold.row.amount)
            row.add(hold.row.expiresAt)
            row.add(hold.state.rawValue)
            row.add(hold.ended)
        }
    }
}
