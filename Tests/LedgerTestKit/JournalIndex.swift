package import Ledger

/// The rows that were made durable, and where a restart or a load finds them. Everything the store gives back to the
/// books it makes from these rows, so that a row that is missing or wrong shows.
package struct JournalIndex {
    /// The digest by which a header segment is known.
    private let headerDigest: (BlockRows.HeaderRow) -> Digest

    package init(headerDigest: @escaping (BlockRows.HeaderRow) -> Digest = { Digest(of: Array($0.text), testSHA256) }) {
        self.headerDigest = headerDigest
    }

    package private(set) var rows = BlockRows()
    private var purchases: [TransactionID: BlockRows.PurchaseRow] = [:]
    private var newest: [TransactionID: (signedDate: Timestamp, revoked: Int64)] = [:]
    private var events: [TransactionID: [PurchaseView.Event]] = [:]
    private var assignments: [TransactionID: BlockRows.AssignmentRow] = [:]
    private var holds: [TransferID: BlockRows.HoldRow] = [:]
    private var lots: [LotID: BlockRows.LotRow] = [:]
    /// Transfers by the spend or hold that they refer to.
    private var references: [TransferID: [Transfer]] = [:]
    private var requests: [RequestKey: BlockRows.RequestRow] = [:]
    package private(set) var players: [AccountName: PlayerID] = [:]
    package private(set) var notifications: [String: Books.RecordedNotification] = [:]
    /// What the JWS of each notification posted.
    package private(set) var notifiedEntries: [Int64: EntryID] = [:]
    package private(set) var headers: [Digest: HeaderID] = [:]
    package private(set) var actors: [String: ActorID] = [:]
    package private(set) var owners: [LotID: (player: PlayerID, currency: CurrencyID)] = [:]

    package mutating func append(_ new: BlockRows) {
        rows.currencies += new.currencies
        rows.actors += new.actors
        rows.headers += new.headers
        rows.accounts += new.accounts
        rows.entries += new.entries
        rows.transfers += new.transfers
        rows.purchases += new.purchases
        rows.evidence += new.evidence
        rows.assignments += new.assignments
        rows.notifications += new.notifications
        rows.requests += new.requests
        rows.holds += new.holds
        rows.lots += new.lots
        rows.links += new.links
        rows.consents += new.consents
        rows.calls += new.calls
        rows.closings += new.closings
        rows.externals += new.externals
        rows.statements += new.statements
        rows.adjustments += new.adjustments
        rows.closedThrough = new.closedThrough ?? rows.closedThrough
        for row in new.holds { holds[row.id] = row }
        for row in new.lots { lots[row.id] = row }
        for transfer in new.transfers {
            if let reference = transfer.reference { references[reference, default: []].append(transfer) }
        }
        for row in new.accounts {
            if let name = row.name { players[name] = row.id }
        }
        for row in new.erasures {
            if let name = rows.accounts[Int(row.account) - 1].name, players[name] == row.account { players[name] = nil }
            rows.accounts[Int(row.account) - 1].name = nil
        }
        for row in new.actors { actors[row.name] = row.id }
        for row in new.headers { headers[headerDigest(row)] = row.id }
        for row in new.purchases { purchases[row.facts.transaction] = row }
        for row in new.evidence {
            if newest[row.transaction].map({ $0 < (row.signedDate, row.revoked) }) ?? true {
                newest[row.transaction] = (row.signedDate, row.revoked)
            }
            guard row.isFirst else { continue }
            events[row.transaction] = [
                PurchaseView.Event(
                    number: 1, time: row.time, signedDate: row.signedDate, revoked: row.revoked, entry: row.entry)
            ]
        }
        for (transaction, row) in new.firstStatements {
            events[transaction] = [
                PurchaseView.Event(
                    number: 1, kind: .stated, time: row.time, signedDate: nil, revoked: row.revoked, entry: row.entry)
            ]
        }
        for row in new.statements {
            let facts = purchases[row.transaction]?.facts
            let isFirst = new.firstStatements[row.transaction] == row
            let word = (isFirst ? facts?.order(stated: row.time) ?? row.time : row.time, row.revoked)
            // What was imported is older than what Apple signed of it, also in this block.
            if let signed = newest[row.transaction], signed > word { continue }
            newest[row.transaction] = word
        }
        for row in new.externals {
            purchases[row.transaction]?.facts.external = ExternalIdentity(
                source: row.source, identifier: row.identifier)
        }
        for event in new.purchaseEvents {
            let number = Int64(events[event.transaction]?.count ?? 0) + 1
            events[event.transaction, default: []].append(PurchaseView.Event(number: number, event))
        }
        for row in new.assignments { assignments[row.transaction] = row }
        for row in new.requests { requests[row.key] = row }
        for row in new.notifications {
            notifications[row.uuid] = Books.RecordedNotification(
                number: row.id, type: row.type, transaction: row.transaction)
        }
        for (row, entry) in zip(new.notifications, new.notifiedEntries) { notifiedEntries[row.id] = entry }
        for transfer in new.transfers where transfer.lot == transfer.id {
            owners[transfer.id] = (transfer.credit.player, transfer.credit.currency)
        }
    }

    /// Applies transfers, links and consents to books in the order in which they were decided.
    /// - Parameters:
    ///   - applied: the numbers of those of each that the books have.
    ///   - load: has in the books whom it concerns.
    package func replay(
        into books: inout Books, after applied: Applied = Applied(), load: (inout Books, PlayerID, LotID?) -> Void
    ) {
        var links = rows.links[applied.links...]
        for transfer in rows.transfers[applied.transfers...] {
            load(&books, transfer.player, nil)
            if transfer.lot != transfer.id, let opened = owners[transfer.lot]?.player {
                load(&books, opened, nil)
                // Where the lot is another's by then, the links up to that are due.
                while books.owner(of: opened) != transfer.player, let link = links.popFirst() {
                    apply(link, to: &books, load)
                }
                load(&books, transfer.player, transfer.lot)
            }
            _ = books.apply(transfer, opening: opening(transfer), hold: hold(transfer))
        }
        for link in links { apply(link, to: &books, load) }
        let requests = rows.requests.filter { KeyedAnswer.isConsent($0.answer) }
        for (row, request) in zip(rows.consents, requests).dropFirst(applied.consents) {
            let owner = owner(of: row.account)
            load(&books, owner, nil)
            var row = row
            row.account = owner
            books.apply(row, request: request.id)
        }
    }

    /// How many rows of each kind books have.
    package struct Applied: Sendable {
        package var transfers = 0
        package var links = 0
        package var consents = 0

        package init(transfers: Int = 0, links: Int = 0, consents: Int = 0) {
            self.transfers = transfers
            self.links = links
            self.consents = consents
        }
    }

    package var applied: Applied {
        Applied(transfers: rows.transfers.count, links: rows.links.count, consents: rows.consents.count)
    }

    private func apply(
        _ link: BlockRows.LinkRow, to books: inout Books, _ load: (inout Books, PlayerID, LotID?) -> Void
    ) {
        load(&books, link.token, nil)
        load(&books, link.account, nil)
        books.apply(link)
    }

    /// The accounts to which a token was linked, the first one first.
    package func links(of token: PlayerID) -> [PlayerID] { rows.links.filter { $0.token == token }.map(\.account) }

    /// Whose everything is that an account had.
    package func owner(of account: PlayerID) -> PlayerID {
        var account = account
        while let next = links(of: account).first { account = next }
        return account
    }

    /// Whose it was at a time: links that came later were not there.
    package func owner(of account: PlayerID, asOf time: Timestamp) -> PlayerID {
        var account = account
        while let link = rows.links.first(where: { $0.token == account }),
            link.entry.map({ entry($0).time }) ?? link.time <= time
        { account = link.account }
        return account
    }

    package func entry(_ id: EntryID) -> Entry { rows.entries[Int(id) - 1] }

    package func name(_ player: PlayerID) -> AccountName {
        rows.accounts[Int(player) - 1].name ?? AccountName.erased(player)
    }

    /// The lot that a transfer opens, before its amount is in it.
    package func opening(_ transfer: Transfer) -> Lot? {
        guard transfer.lot == transfer.id else { return nil }
        guard let row = lots[transfer.id] else { preconditionFailure("a lot of which nothing is said") }
        let entry = entry(transfer.entry)
        return Lot(
            id: transfer.id, lotClass: row.lotClass, transaction: entry.transaction, time: entry.time,
            price: row.price, granted: transfer.amount, remaining: 0, expiresAt: row.expiresAt)
    }

    /// The hold whose first transfer it is, before anything is in it.
    package func hold(_ transfer: Transfer) -> OpenHold? { holds[transfer.id]?.opening }

    /// What of a spend went back, by lot.
    package func returned(_ spend: TransferID) -> [LotID: Int64] {
        (references[spend] ?? []).reduce(into: [:]) { sums, transfer in
            if transfer.debit.kind == .spent { sums[transfer.lot, default: 0] += transfer.amount }
        }
    }

    /// How a hold ended; `nil` while it is open.
    package func holdEnd(_ hold: TransferID) -> Books.HoldEnd? {
        references[hold]?.first.map { entry($0.entry).kind == .holdExpiry ? .expired : .closed }
    }

    /// Says of the spends and holds that are named by their key what the rows say.
    package func loadReferences(_ needs: Needs, into books: inout Books) {
        for key in needs.spends + needs.holds where books.answers[key] == nil {
            if let answered = answered(key) { books.load(key, answered) }
        }
        for key in needs.spends {
            for (_, spend) in books.answers[key]?.answer.spends ?? [] where books.returned[spend.trace.first] == nil {
                books.load(returned: returned(spend.trace.first), of: spend.trace.first)
            }
        }
        for key in needs.holds {
            for (_, hold) in books.answers[key]?.answer.holds ?? [] {
                if let end = holdEnd(hold.trace.first) { books.load(end, of: hold.trace.first) }
            }
        }
    }

    package func register(_ transaction: TransactionID) -> PurchaseRegister? {
        guard let row = purchases[transaction], let newest = newest[transaction] else { return nil }
        let assignment = assignments[transaction]
        let opening = (row.entry ?? assignment?.entry).map {
            PurchaseRegister.Opening(entry: $0, firstTransfer: entry($0).firstTransfer)
        }
        return PurchaseRegister(
            facts: row.facts, grants: row.grants, account: row.account ?? assignment?.account, opening: opening,
            newest: newest, lastEntry: events[transaction]?.compactMap(\.entry).max())
    }

    /// How the last call of a key ended, of those up to a time.
    package func end(_ call: Books.CallKey, through time: Timestamp = .max) -> AppStoreCall.End? {
        let number = call.notificationUUID.map { notifications[$0]?.number }
        return rows.calls.last { row in
            row.transaction == call.transaction && row.kind == call.kind && row.time <= time
                && (number == nil ? row.notification == nil : row.notification == number)
        }?.end
    }

    /// Says of notifications, and of calls that they or others ask for, what the rows say.
    package func loadNotifications(_ needs: Needs, into books: inout Books) {
        for uuid in needs.notifications where books.notifications[uuid] == nil {
            if let recorded = notifications[uuid] { books.load(notification: uuid, recorded) }
        }
        for call in needs.calls where books.calls[call] == nil {
            if let end = end(call) { books.load(end, of: call) }
        }
    }

    /// A page of a purchase's events, and where the one before it is.
    package func events(_ query: PurchaseQuery) -> (events: [PurchaseView.Event], next: Int64?) {
        let earlier = (events[query.transaction] ?? []).filter { $0.number < query.before ?? Int64.max }
        let page = Array(earlier.suffix(query.limit))
        return (page, page.count < earlier.count ? page.first?.number : nil)
    }

    package func answered(_ key: RequestKey) -> Books.Answered? {
        guard let row = requests[key], let answer = KeyedAnswer(encoded: row.answer, name: { name($0) }) else {
            return nil
        }
        return Books.Answered(fingerprint: row.fingerprint, answer: answer)
    }
}
