import Ledger

/// The rows of several blocks that follow each other, table by table, so that those of one table are written together.
struct BatchRows {
    struct NewHeader {
        var row: BlockRows.HeaderRow
        var block: BlockNumber
    }

    struct NewPurchase {
        var row: BlockRows.PurchaseRow
        var first: FirstWord
        var block: BlockNumber
    }

    /// What was said of a purchase with its own row: by its first JWS, or without one.
    struct FirstWord {
        /// The number of the JWS; 0 where there is none.
        var evidence: EvidenceID
        var signedDate: Timestamp
        var revoked: Int64
        /// Of a JWS that revokes something: when the App Store took it back.
        var revocationDate: Timestamp?
        var time: Timestamp
    }

    struct NewNotification {
        var row: BlockRows.NotificationRow
        /// What the JWS in it posted.
        var entry: EntryID?
        var block: BlockNumber
    }

    struct NewConsent {
        /// The number of the request that recorded it.
        var request: Int64
        var row: BlockRows.ConsentRow
    }

    struct NewCatalog {
        var row: BlockRows.CatalogRow
        var block: BlockNumber
    }

    struct NewClosing {
        var row: BlockRows.ClosingRow
        var block: BlockNumber
    }

    struct NewEvent {
        var event: BlockRows.PurchaseEvent
        /// Of a JWS that revokes something: when the App Store took it back.
        var revocationDate: Timestamp?
        var block: BlockNumber
    }

    private(set) var currencies: [BlockRows.CurrencyRow] = []
    private(set) var actors: [BlockRows.ActorRow] = []
    private(set) var accounts: [BlockRows.AccountRow] = []
    /// Accounts whose names were erased.
    private(set) var erased: Set<PlayerID> = []
    private(set) var headers: [NewHeader] = []
    private(set) var entries: [Entry] = []
    private(set) var transfers: [Transfer] = []
    private(set) var lots: [BlockRows.LotRow] = []
    private(set) var holds: [BlockRows.HoldRow] = []
    private(set) var purchases: [NewPurchase] = []
    private(set) var assignments: [BlockRows.AssignmentRow] = []
    private(set) var events: [NewEvent] = []
    private(set) var notifications: [NewNotification] = []
    private(set) var requests: [BlockRows.RequestRow] = []
    private(set) var links: [BlockRows.LinkRow] = []
    private(set) var consents: [NewConsent] = []
    private(set) var closings: [NewClosing] = []
    private(set) var catalogs: [NewCatalog] = []
    private(set) var externals: [BlockRows.ExternalRow] = []
    private(set) var adjustments: [BlockRows.AdjustmentRow] = []

    init(_ blocks: [OpenedBlock]) throws {
        for opened in blocks {
            let rows = opened.block.rows
            append(rows.currencies, to: &currencies)
            append(rows.actors, to: &actors)
            append(rows.accounts, to: &accounts)
            for row in rows.erasures { erased.insert(row.account) }
            append(rows.entries, to: &entries)
            append(rows.transfers, to: &transfers)
            append(rows.lots, to: &lots)
            append(rows.holds, to: &holds)
            append(rows.requests, to: &requests)
            append(rows.assignments, to: &assignments)
            append(rows.links, to: &links)
            append(rows.externals, to: &externals)
            append(rows.adjustments, to: &adjustments)
            try addConsents(opened.block)
            for row in rows.catalogs { catalogs.append(NewCatalog(row: row, block: opened.block.number)) }
            for row in rows.closings { closings.append(NewClosing(row: row, block: opened.block.number)) }
            for row in rows.headers { headers.append(NewHeader(row: row, block: opened.block.number)) }
            try addPurchases(opened.block)
            addEvents(opened.block)
            for (row, entry) in zip(rows.notifications, rows.notifiedEntries) {
                notifications.append(NewNotification(row: row, entry: entry, block: opened.block.number))
            }
        }
        sort()
    }

    /// The rows of a block that comes alone are not copied.
    private func append<Row>(_ rows: [Row], to all: inout [Row]) {
        if all.isEmpty { all = rows } else { all += rows }
    }

    private mutating func addEvents(_ block: Block) {
        // By number, without gaps.
        let before = block.position.evidence - Int64(block.rows.evidence.count)
        for event in block.rows.purchaseEvents {
            let place = Int(event.record &- before &- 1)
            let isSigned = event.kind == .signed && block.rows.evidence.indices.contains(place)
            events.append(
                NewEvent(
                    event: event, revocationDate: isSigned ? block.rows.evidence[place].revocationDate : nil,
                    block: block.number))
        }
    }

    /// Consents and the requests that recorded them are in the same order.
    private mutating func addConsents(_ block: Block) throws {
        if block.rows.consents.isEmpty { return }
        let requests = block.rows.requests.filter { KeyedAnswer.isConsent($0.answer) }
        guard requests.count == block.rows.consents.count else {
            throw StoreError.corrupt("block \(block.number): consents are not those that requests recorded")
        }
        for (request, row) in zip(requests, block.rows.consents) {
            consents.append(NewConsent(request: request.id, row: row))
        }
    }

    private mutating func addPurchases(_ block: Block) throws {
        let evidence = block.rows.evidence
        // By number, without gaps.
        let before = block.position.evidence - Int64(evidence.count)
        let statements = block.rows.firstStatements
        for row in block.rows.purchases {
            if row.evidence == 0 {
                try addStated(row, statements[row.facts.transaction], block.number)
                continue
            }
            let place = Int(row.evidence &- before &- 1)
            guard evidence.indices.contains(place), evidence[place].isFirst,
                evidence[place].transaction == row.facts.transaction
            else {
                throw StoreError.corrupt("block \(block.number): a purchase does not name its first evidence")
            }
            let first = FirstWord(
                evidence: row.evidence, signedDate: evidence[place].signedDate, revoked: evidence[place].revoked,
                revocationDate: evidence[place].revocationDate, time: evidence[place].time)
            purchases.append(NewPurchase(row: row, first: first, block: block.number))
        }
    }

    private mutating func addStated(
        _ row: BlockRows.PurchaseRow, _ statement: BlockRows.StatementRow?, _ block: BlockNumber
    ) throws {
        guard let statement, row.facts.source != .appStore else {
            throw StoreError.corrupt("block \(block): a purchase has neither evidence nor a statement")
        }
        let first = FirstWord(
            evidence: 0, signedDate: row.facts.order(stated: statement.time), revoked: statement.revoked,
            time: statement.time)
        purchases.append(NewPurchase(row: row, first: first, block: block))
    }

    /// Into the order of their tables: rows of one page are then inserted one after the other. Those that are not
    /// named here are in it already.
    private mutating func sort() {
        if purchases.count > 1 { purchases.sort { $0.row.facts.transaction < $1.row.facts.transaction } }
        if externals.count > 1 { externals.sort { $0.transaction < $1.transaction } }
        if requests.count > 1 { requests.sort { $0.key.text < $1.key.text } }
        if notifications.count > 1 { notifications.sort { $0.row.uuid < $1.row.uuid } }
        // Those of one purchase stay in their order.
        if events.count > 1 { events.sort { $0.event.transaction < $1.event.transaction } }
    }

    /// Gives purchases of this batch the accounts that they found in it.
    /// - Returns: the assignments of purchases that the tables have already.
    mutating func assign() -> [BlockRows.AssignmentRow] {
        if assignments.isEmpty { return [] }
        var places: [TransactionID: Int] = [:]
        for (index, purchase) in purchases.enumerated() { places[purchase.row.facts.transaction] = index }
        return assignments.filter { assignment in
            guard let place = places[assignment.transaction] else { return true }
            purchases[place].row.account = assignment.account
            purchases[place].row.entry = assignment.entry
            return false
        }
    }
}
