import Ledger

/// The rows that were made durable, with what finds them, and the books over them.
struct MemoryJournal {
    private let catalog: Catalog
    private(set) var books: Books
    private(set) var rows = Journal()
    private(set) var blocks = 0
    var isClosed = false
    private var position = JournalPosition()

    private var players: [AccountName: PlayerID] = [:]
    private var purchases: [TransactionID: Journal.PurchaseRow] = [:]
    private var evidence: [TransactionID: [Journal.EvidenceRow]] = [:]
    private var assignments: [TransactionID: Journal.AssignmentRow] = [:]
    private var requests: [RequestKey: Journal.RequestRow] = [:]
    private var notifications: Set<String> = []
    private(set) var owners: [LotID: PlayerID] = [:]

    init(_ catalog: Catalog) {
        self.catalog = catalog
        books = MemoryJournal.emptyBooks(catalog, known: [], JournalPosition())
        commit(Needs()) { _ in }
    }

    // MARK: The batch

    @discardableResult
    mutating func commit<Result>(_ needs: Needs, _ decide: (inout Books) -> Result) -> Result {
        load(needs)
        let result = decide(&books)
        if !books.journal.isEmpty { blocks += 1 }
        append(books.journal)
        position = books.position
        books.committed()
        return result
    }

    /// Decides a batch that does not become durable, then starts again from the rows.
    mutating func lose<Result>(_ needs: Needs, _ decide: (inout Books) -> Result) {
        load(needs)
        _ = decide(&books)
        books = MemoryJournal.emptyBooks(catalog, known: rows.currencies.map(\.code), position)
        for row in rows.accounts { books.load(Player(id: row.id, name: row.name)) }
        for transfer in rows.transfers {
            guard let owner = owners[transfer.lot] else { preconditionFailure("a lot that nothing opened") }
            _ = books.apply(transfer, player: owner, opening: opening(transfer))
        }
    }

    private static func emptyBooks(_ catalog: Catalog, known: [CurrencyCode], _ position: JournalPosition) -> Books {
        Books(
            catalog: catalog, known: known, position: position, totals: Totals(currencies: known.count),
            hash: testSHA256)
    }

    private mutating func append(_ new: borrowing Journal) {
        rows.currencies += new.currencies
        rows.accounts += new.accounts
        rows.entries += new.entries
        rows.transfers += new.transfers
        rows.purchases += new.purchases
        rows.evidence += new.evidence
        rows.assignments += new.assignments
        rows.notifications += new.notifications
        rows.requests += new.requests
        for row in new.accounts { players[row.name] = row.id }
        for row in new.purchases { purchases[row.facts.transaction] = row }
        for row in new.evidence { evidence[row.transaction, default: []].append(row) }
        for row in new.assignments { assignments[row.transaction] = row }
        for row in new.requests { requests[row.key] = row }
        for row in new.notifications { notifications.insert(row.signed.uuid) }
        for transfer in new.transfers where transfer.lot == transfer.id { owners[transfer.id] = transfer.credit.player }
    }

    // MARK: Loading. Players are never forgotten, and their closed lots neither.

    private mutating func load(_ needs: Needs) {
        for transaction in needs.transactions where books.purchases[transaction] == nil {
            if let register = register(transaction) { books.load(register) }
        }
        for key in needs.keys where books.answers[key] == nil {
            guard let row = requests[key], let answer = Answer(encoded: row.answer) else { continue }
            books.load(key, Books.Answered(fingerprint: row.fingerprint, answer: answer))
        }
        for uuid in needs.notifications where notifications.contains(uuid) { books.load(notification: uuid) }
    }

    private func register(_ transaction: TransactionID) -> PurchaseRegister? {
        guard let row = purchases[transaction], let signed = evidence[transaction] else { return nil }
        let assignment = assignments[transaction]
        let opening = (row.entry ?? assignment?.entry).map {
            PurchaseRegister.Opening(entry: $0, firstTransfer: entry($0).firstTransfer)
        }
        return PurchaseRegister(
            facts: row.facts, grants: row.grants, account: row.account ?? assignment?.account, opening: opening,
            assigned: assignment?.time,
            signed: signed.map {
                PurchaseView.Event(time: $0.time, signedDate: $0.signedDate, revoked: $0.revoked, entry: $0.entry)
            },
            told: rows.notifications.filter { $0.signed.purchase?.facts.transaction == transaction }.compactMap {
                $0.signed.event(at: $0.time)
            })
    }

    func entry(_ id: EntryID) -> Entry { rows.entries[Int(id) - 1] }
    func name(_ player: PlayerID) -> AccountName { rows.accounts[Int(player) - 1].name }
    func player(_ name: AccountName) -> PlayerID? { players[name] }

    /// The lot that a transfer opens, before its amount is in it.
    private func opening(_ transfer: Transfer) -> Lot? {
        guard transfer.lot == transfer.id else { return nil }
        let entry = entry(transfer.entry)
        return Lot(
            id: transfer.id, lotClass: transfer.debit.kind == .purchased ? .paid : .free,
            transaction: entry.transaction, time: entry.time,
            price: entry.transaction.flatMap { purchases[$0]?.facts.price } ?? 0, granted: transfer.amount,
            remaining: 0)
    }
}
