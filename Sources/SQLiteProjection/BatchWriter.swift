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
    private let insertCurrency: RowInsertion
    private let insertActor: RowInsertion
    private let insertAccount: RowInsertion
    private let names: NameErasure
    private let insertHeader: RowInsertion
    private let insertEntry: RowInsertion
    private let insertTransfer: RowInsertion
    private let insertRequest: RowInsertion
    private let insertHold: RowInsertion
    private let updateHold: PreparedStatement
    private let changedHold: ChangedRow
    private let insertPurchase: RowInsertion
    private let updatePurchase: PreparedStatement
    private let changedPurchase: ChangedRow
    private let insertAssignment: RowInsertion
    private let eventCount: EventCount
    private let insertEvent: RowInsertion
    private let insertNotification: RowInsertion
    private let insertLink: RowInsertion
    private let insertConsent: RowInsertion
    private let insertClosing: RowInsertion
    private let insertCatalog: RowInsertion
    private let insertExternal: RowInsertion
    private let insertAdjustment: RowInsertion
    private let links: StoredLinks
    private let insertBlock: RowInsertion
    private let pastTotals: PastTotals
    private let writeTotal: PreparedStatement
    private let writeState: PreparedStatement
    private unowned let db: Database
    private let hash: HashFunction
    private let areMade: Bool
    private let warn: @Sendable (String) -> Void

    /// - Parameters:
    ///   - areMade: whether the tables were made from nothing by this process.
    ///   - warn: told of what a log must not have. Such tables go on all the same, so that they can be read.
    init(
        _ db: Database, areMade: Bool, hash: @escaping HashFunction, warn: @escaping @Sendable (String) -> Void
    ) throws {
        self.areMade = areMade
        self.hash = hash
        self.warn = warn
        self.db = db
        wallets = try WalletRows(db)
        insertCurrency = try RowInsertion(db, into: .currency)
        insertActor = try RowInsertion(db, into: .actor)
        insertAccount = try RowInsertion(db, into: .account)
        names = try NameErasure(db)
        insertHeader = try RowInsertion(db, into: .header)
        insertEntry = try RowInsertion(db, into: .entry)
        insertTransfer = try RowInsertion(db, into: .transfer)
        insertRequest = try RowInsertion(db, into: .request, firstOf: "key")
        insertHold = try RowInsertion(db, into: .hold)
        updateHold = try PreparedStatement(
            db, "UPDATE hold SET state = ?, ended = ? WHERE id = ? AND state = 'open'")
        changedHold = try ChangedRow(db, of: .hold, key: "id")
        insertPurchase = try RowInsertion(db, into: .purchase, firstOf: "transaction_id")
        updatePurchase = try PreparedStatement(
            db, "UPDATE purchase SET account = ?, entry = ? WHERE transaction_id = ? AND account IS NULL")
        changedPurchase = try ChangedRow(db, of: .purchase, key: "transaction_id")
        insertAssignment = try RowInsertion(db, into: .assignment)
        eventCount = try EventCount(db)
        insertEvent = try RowInsertion(db, into: .event)
        insertNotification = try RowInsertion(db, into: .notification)
        insertLink = try RowInsertion(db, into: .link)
        insertConsent = try RowInsertion(db, into: .consent)
        insertClosing = try RowInsertion(db, into: .closing)
        insertCatalog = try RowInsertion(db, into: .catalog)
        insertExternal = try RowInsertion(db, into: .external)
        insertAdjustment = try RowInsertion(db, into: .adjustment)
        links = try StoredLinks(db)
        insertBlock = try RowInsertion(db, into: .block)
        pastTotals = try PastTotals(db)
        writeTotal = try PreparedStatement(
            db, "INSERT OR REPLACE INTO total (\(StoredTable.total.columns)) VALUES (?, ?, ?, ?, ?)")
        writeState = try PreparedStatement(db, StoredState.update)
    }

    /// - Returns: what the tables hold then.
    func apply(_ blocks: [OpenedBlock], after before: StoredState) throws -> StoredState {
        var state = before
        for opened in blocks { try state.advance(by: opened) }
        let numbers = blocks[0].block.number...blocks[blocks.count - 1].block.number
        var rows = try BatchRows(blocks)
        state.add(rows.currencies)
        var changes = WalletChanges(after: before.position)
        try changes.load(rows.transfers, currencies: state.position.currency, wallets)
        // Before the lots that move are looked at.
        try insert(rows.links, &state.sums)
        try links.begin()
        try changes.apply(rows.transfers, rows.entries, opening: rows.lots, links)
        let totals = state.totals
        try state.add(changes.turnovers)

        try insertNames(rows, after: before.position, &state.sums)
        try insert(rows.entries, &state.sums)
        try insert(rows.transfers, changes.lotStates, &state.sums)
        try wallets.write(changes, &state.sums)
        try insert(rows.requests, of: numbers, &state.sums)
        try write(rows.holds, ended: changes.endedHolds, after: before.position, &state.sums)
        let assigned = rows.assign()
        try insert(rows.purchases, of: numbers, state.currencies, &state.sums)
        for row in assigned { try assign(row, &state.sums) }
        try insert(rows.assignments, &state.sums)
        try insert(rows.events, &state.sums)
        try insert(rows.notifications, &state.sums)
        try insert(rows.consents, &state.sums)
        try insert(rows.closings, &state.sums)
        try insert(rows.catalogs, &state.sums)
        try insert(rows.externals, &state.sums)
        try insert(rows.adjustments, &state.sums)
        try insert(blocks, &state.sums)
        try writeTotals(&state, after: before)
        try pastTotals.write(changes.pastTurnovers, after: totals, currencies: state.currencies.count, &state.sums)
        try state.write(to: writeState)
        return state
    }

    private func insertNames(
        _ rows: borrowing BatchRows, after position: LastNumbers, _ sums: inout TableSums
    ) throws {
        try insertCurrency.run(rows.currencies, &sums) { parameters, row in
            parameters.bind(1, Int64(row.pointee.id))
            parameters.bind(2, row.pointee.code.text)
        }
        try insertActor.run(rows.actors, &sums) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.name)
        }
        // Before the new ones: one of them may have an erased name.
        try names.erase(rows.erased.filter { $0 <= position.account }.sorted(), &sums)
        try insertAccount.run(rows.accounts, &sums) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, rows.erased.contains(row.pointee.id) ? nil : row.pointee.name?.text)
        }
        try insertHeader.run(rows.headers, &sums) { parameters, row in
            parameters.bind(1, row.pointee.row.id)
            parameters.bind(2, Digest(of: Array(row.pointee.row.text), hash))
            parameters.bind(3, row.pointee.block)
        }
    }

    private func insert(_ rows: [Entry], _ sums: inout TableSums) throws {
        try insertEntry.run(rows, &sums) { parameters, row in
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

    /// - Parameter states: what each of them left of its lot.
    private func insert(
        _ rows: [Transfer], _ states: [WalletChanges.LotState], _ sums: inout TableSums
    ) throws {
        var place = 0
        try insertTransfer.run(rows, &sums) { parameters, row in
            let state = states[place]
            place += 1
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
            parameters.bind(13, state.previous)
            parameters.bind(14, state.left)
            parameters.bind(15, state.refunded)
            parameters.bind(16, state.value.deferred)
            parameters.bind(17, state.value.refunded)
        }
    }

    /// What a log must not have: tables made from nothing are of such a log, and can be read. In others it is more
    /// likely that they lost what they had.
    /// - Parameter blocks: which the second one is in one of.
    private func meetTwice(
        _ what: String, in table: StoredTable, _ blocks: ClosedRange<BlockNumber>, _ sums: inout TableSums
    ) throws {
        guard areMade else {
            throw StoreError.corrupt(
                "\(what), of which the tables have one already: they are damaged, or the log has it twice")
        }
        let place =
            blocks.count == 1 ? "block \(blocks.lowerBound)" : "blocks \(blocks.lowerBound) to \(blocks.upperBound)"
        warn("\(place): \(what) in the log; the first stays: verify the log")
        sums[table] = try TableSum(db, table)
    }

    private func insert(
        _ rows: [BlockRows.RequestRow], of blocks: ClosedRange<BlockNumber>, _ sums: inout TableSums
    ) throws {
        let isWhole = try insertRequest.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.key.text)
            parameters.bind(2, row.pointee.fingerprint)
            parameters.bind(3, row.pointee.entry)
            parameters.bind(4, row.pointee.answer)
        }
        if !isWhole { try meetTwice("a request key has two answers", in: .request, blocks, &sums) }
    }

    private func write(
        _ holds: [BlockRows.HoldRow], ended: [WalletChanges.EndedHold], after before: LastNumbers,
        _ sums: inout TableSums
    ) throws {
        if holds.isEmpty && ended.isEmpty { return }
        var ends: [TransferID: WalletChanges.EndedHold] = [:]
        for end in ended {
            guard ends.updateValue(end, forKey: end.id) == nil else {
                throw StoreError.corrupt("hold \(end.id) ends twice")
            }
        }
        try insertHold.run(holds, &sums) { parameters, row in
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
            try changedHold.keep(&sums, end.id) { try updateHold.run(changing: 1) }
        }
    }

    private func insert(
        _ rows: [BatchRows.NewPurchase], of blocks: ClosedRange<BlockNumber>, _ codes: [CurrencyCode],
        _ sums: inout TableSums
    ) throws {
        // The same for each purchase of a product: made once for as many as follow each other.
        var grants: (of: [PurchaseRegister.Grant], text: String) = ([], "")
        let isWhole = try insertPurchase.run(rows, &sums) { parameters, row in
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
            parameters.bind(19, row.pointee.first.revocationDate)
            parameters.bind(20, row.pointee.first.time)
            parameters.bind(21, row.pointee.first.evidence)
            parameters.bind(22, row.pointee.block)
        }
        if !isWhole { try meetTwice("a transaction id is two purchases", in: .purchase, blocks, &sums) }
    }

    private func insert(_ rows: [BatchRows.NewEvent], _ sums: inout TableSums) throws {
        // Those of one purchase follow each other.
        var last: (transaction: TransactionID, number: Int64)?
        try insertEvent.run(rows, &sums) { parameters, row in
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
            parameters.bind(8, row.pointee.revocationDate)
            parameters.bind(9, event.entry)
            parameters.bind(10, event.reason)
            parameters.bind(11, event.end?.name)
            parameters.bind(12, event.end?.code)
            parameters.bind(13, event.body)
            parameters.bind(14, row.pointee.block)
        }
    }

    private func insert(_ rows: [BatchRows.NewNotification], _ sums: inout TableSums) throws {
        try insertNotification.run(rows, &sums) { parameters, row in
            let notification = row.pointee.row
            parameters.bind(1, notification.uuid)
            parameters.bind(2, notification.id)
            parameters.bind(3, notification.type)
            parameters.bind(4, notification.subtype)
            parameters.bind(5, notification.signedDate)
            parameters.bind(6, notification.reason)
            parameters.bind(7, notification.time)
            parameters.bind(8, notification.transaction?.number)
            parameters.bind(9, notification.subject?.number)
            parameters.bind(10, row.pointee.entry)
            parameters.bind(11, row.pointee.block)
        }
    }

    private func insert(_ rows: [BlockRows.LinkRow], _ sums: inout TableSums) throws {
        if rows.isEmpty { return }
        try links.begin()
        // How many links the tokens have before the next row.
        var counts: [PlayerID: Int64] = [:]
        try insertLink.run(rows, &sums) { parameters, row in
            let token = row.pointee.token
            let number = try (counts[token] ?? Int64(links.links(of: token).count)) + 1
            counts[token] = number
            parameters.bind(1, token)
            parameters.bind(2, number)
            parameters.bind(3, row.pointee.account)
            parameters.bind(4, row.pointee.entry)
            parameters.bind(5, row.pointee.time)
            parameters.bind(6, row.pointee.actor)
        }
    }

    private func insert(_ rows: [BatchRows.NewConsent], _ sums: inout TableSums) throws {
        try insertConsent.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.request)
            parameters.bind(2, row.pointee.row.account)
            parameters.bind(3, Int64(row.pointee.row.consumption ? 1 : 0))
            parameters.bind(4, row.pointee.row.time)
            parameters.bind(5, row.pointee.row.actor)
        }
    }

    private func insert(_ rows: [BlockRows.AdjustmentRow], _ sums: inout TableSums) throws {
        try insertAdjustment.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.entry)
            parameters.bind(2, Stored.lotClasses.name(row.pointee.lotClass))
            parameters.bind(3, row.pointee.reason)
            parameters.bind(4, row.pointee.approver)
        }
    }

    private func insert(_ rows: [BlockRows.ExternalRow], _ sums: inout TableSums) throws {
        try insertExternal.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.transaction.number)
            parameters.bind(2, row.pointee.source)
            parameters.bind(3, row.pointee.identifier)
        }
    }

    private func insert(_ rows: [BatchRows.NewClosing], _ sums: inout TableSums) throws {
        try insertClosing.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.row.through)
            parameters.bind(2, row.pointee.block)
            parameters.bind(3, row.pointee.row.time)
            parameters.bind(4, row.pointee.row.actor)
        }
    }

    private func insert(_ rows: [BatchRows.NewCatalog], _ sums: inout TableSums) throws {
        try insertCatalog.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.row.version)
            parameters.bind(2, row.pointee.row.digest)
            parameters.bind(3, row.pointee.row.time)
            parameters.bind(4, row.pointee.block)
        }
    }

    private func insert(_ blocks: [OpenedBlock], _ sums: inout TableSums) throws {
        try insertBlock.run(blocks, &sums) { parameters, row in
            let block = row.pointee.block
            parameters.bind(1, block.number)
            parameters.bind(2, block.term)
            parameters.bind(3, block.time)
            parameters.bind(4, row.pointee.hash)
            parameters.bind(5, block.position.entry)
            parameters.bind(6, block.position.transfer)
        }
    }

    private func insert(_ rows: [BlockRows.AssignmentRow], _ sums: inout TableSums) throws {
        try insertAssignment.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.id)
            parameters.bind(2, row.pointee.transaction.number)
            parameters.bind(3, row.pointee.account)
            parameters.bind(4, row.pointee.entry)
            parameters.bind(5, row.pointee.time)
        }
    }

    private func assign(_ row: BlockRows.AssignmentRow, _ sums: inout TableSums) throws {
        updatePurchase.bind(1, row.account)
        updatePurchase.bind(2, row.entry)
        updatePurchase.bind(3, row.transaction.number)
        try changedPurchase.keep(&sums, row.transaction.number) { try updatePurchase.run(changing: 1) }
    }

    private func writeTotals(_ state: inout StoredState, after before: StoredState) throws {
        for number in stride(from: 1, through: state.currencies.count, by: 1) {
            let currency = CurrencyID(truncatingIfNeeded: number)
            for (lotClass, kind) in ClassTotals.kinds {
                let total = StoredTotal(state.totals, currency, lotClass, kind)
                if number <= before.currencies.count {
                    let old = StoredTotal(before.totals, currency, lotClass, kind)
                    if old == total { continue }
                    state.sums[.total].replace(RowHash { old.bind(to: &$0) }, by: RowHash { total.bind(to: &$0) })
                } else {
                    state.sums[.total].add(RowHash { total.bind(to: &$0) })
                }
                total.bind(to: writeTotal)
                try writeTotal.run()
            }
        }
    }
}

/// A row of `total`.
private struct StoredTotal: Equatable {
    var currency: CurrencyID
    var lotClass: LotClass
    var kind: AccountKind
    var turnover: Totals.Turnover

    init(_ totals: ClassTotals, _ currency: CurrencyID, _ lotClass: LotClass, _ kind: AccountKind) {
        self.currency = currency
        self.lotClass = lotClass
        self.kind = kind
        turnover = totals[currency, lotClass, kind]
    }

    func bind(to row: inout some RowSink) {
        row.bind(1, Int64(currency))
        row.bind(2, Stored.lotClasses.name(lotClass))
        row.bind(3, Stored.accountKinds.name(kind))
        row.bind(4, sum: turnover.debits)
        row.bind(5, sum: turnover.credits)
    }

    func bind(to statement: PreparedStatement) {
        var statement = statement
        bind(to: &statement)
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
