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
    private let holds: HoldRows
    private let purchases: PurchaseRows
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
    private let totals: TotalRows
    private let writeState: PreparedStatement
    private let hash: HashFunction
    private let doubles: DoubledRows

    /// - Parameters:
    ///   - areMade: whether the tables were made from nothing by this process.
    ///   - warn: told of what a log must not have. Such tables go on all the same, so that they can be read.
    init(
        _ db: Database, areMade: Bool, hash: @escaping HashFunction, warn: @escaping @Sendable (String) -> Void
    ) throws {
        self.hash = hash
        doubles = DoubledRows(db, areMade: areMade, warn: warn)
        wallets = try WalletRows(db)
        insertCurrency = try RowInsertion(db, into: .currency)
        insertActor = try RowInsertion(db, into: .actor)
        insertAccount = try RowInsertion(db, into: .account)
        names = try NameErasure(db)
        insertHeader = try RowInsertion(db, into: .header)
        insertEntry = try RowInsertion(db, into: .entry)
        insertTransfer = try RowInsertion(db, into: .transfer)
        insertRequest = try RowInsertion(db, into: .request, firstOf: "key")
        holds = try HoldRows(db)
        purchases = try PurchaseRows(db, doubles)
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
        totals = try TotalRows(db)
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
        let totalsBefore = state.totals
        try state.add(changes.turnovers)

        try insertNames(rows, after: before.position, &state.sums)
        try insert(rows.entries, &state.sums)
        try insert(rows.transfers, changes.lotStates, &state.sums)
        try wallets.write(changes, &state.sums)
        try insert(rows.requests, of: numbers, &state.sums)
        try holds.write(rows.holds, ended: changes.endedHolds, after: before.position, &state.sums)
        let assigned = rows.assign()
        try purchases.insert(rows.purchases, of: numbers, state.currencies, &state.sums)
        for row in assigned { try purchases.assign(row, &state.sums) }
        try purchases.insert(rows.assignments, &state.sums)
        try purchases.insert(rows.events, &state.sums)
        try insert(rows.notifications, &state.sums)
        try insert(rows.consents, &state.sums)
        try insert(rows.closings, &state.sums)
        try insert(rows.catalogs, &state.sums)
        try insert(rows.externals, &state.sums)
        try insert(rows.adjustments, &state.sums)
        try insert(blocks, &state.sums)
        try totals.write(&state, after: before)
        try pastTotals.write(
            changes.pastTurnovers, after: totalsBefore, currencies: state.currencies.count, &state.sums)
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

    private func insert(
        _ rows: [BlockRows.RequestRow], of blocks: ClosedRange<BlockNumber>, _ sums: inout TableSums
    ) throws {
        let isWhole = try insertRequest.run(rows, &sums) { parameters, row in
            parameters.bind(1, row.pointee.key.text)
            parameters.bind(2, row.pointee.fingerprint)
            parameters.bind(3, row.pointee.entry)
            parameters.bind(4, row.pointee.answer)
        }
        if !isWhole { try doubles.meet("a request key has two answers", in: .request, blocks, &sums) }
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

}
