package import Ledger

/// The rows that were made durable, with what finds them, and the books over them.
struct MemoryJournal {
    private let catalog: Catalog
    private(set) var books: Books
    private var index = JournalIndex()
    private(set) var blocks = 0
    var isClosed = false
    private var position = LastNumbers()
    /// Of each closing the block that says so.
    private var closingBlocks: [Int] = []

    var rows: BlockRows { index.rows }

    init(_ catalog: Catalog) {
        self.catalog = catalog
        books = MemoryJournal.emptyBooks(catalog, known: [], LastNumbers())
        commit(Needs()) { _ in }
    }

    // MARK: The batch

    @discardableResult
    mutating func commit<Result>(_ needs: Needs, _ decide: (inout Books) -> Result) -> Result {
        load(needs)
        let result = decide(&books)
        let rows = books.takeRows()
        if !rows.isEmpty { blocks += 1 }
        closingBlocks += rows.closings.map { _ in blocks }
        index.append(rows)
        position = books.position
        books.forgetAllButPlayers()
        return result
    }

    /// Decides a batch that does not become durable, then starts again from the rows.
    mutating func lose<Result>(_ needs: Needs, _ decide: (inout Books) -> Result) {
        load(needs)
        _ = decide(&books)
        books = MemoryJournal.emptyBooks(
            catalog, known: rows.currencies.map(\.code), position,
            closedThrough: rows.closedThrough ?? -1,
            periods: Books.Periods(closedThrough: rows.closings.last?.through ?? -1), headers: index.headers,
            actors: index.actors)
        for row in rows.accounts { books.load(Player(id: row.id, name: name(row.id))) }
        index.replay(into: &books) { _, _, _ in }
    }

    private static func emptyBooks(
        _ catalog: Catalog, known: [CurrencyCode], _ position: LastNumbers, closedThrough: Timestamp = -1,
        periods: Books.Periods = Books.Periods(), headers: [Digest: HeaderID] = [:], actors: [String: ActorID] = [:]
    ) -> Books {
        Books(
            catalog: catalog, known: known, position: position, totals: Totals(currencies: known.count),
            closedThrough: closedThrough, periods: periods, headers: headers, actors: actors, hash: testSHA256)
    }

    // MARK: Loading. Players are never forgotten, and their closed lots neither.

    private mutating func load(_ needs: Needs) {
        for transaction in needs.transactions where books.purchases[transaction] == nil {
            if let register = index.register(transaction) { books.load(register) }
        }
        for key in needs.keys where books.answers[key] == nil {
            if let answered = index.answered(key) { books.load(key, answered) }
        }
        index.loadReferences(needs, into: &books)
        index.loadNotifications(needs, into: &books)
    }

    func purchase(_ query: PurchaseQuery) -> PurchaseView {
        guard let register = index.register(query.transaction) else {
            preconditionFailure("a purchase is read that was never recorded")
        }
        let (events, next) = index.events(query)
        return register.view(
            account: register.account.map { name(index.owner(of: $0)) }, lots: books.lots(of: register), events: events,
            next: next
        ) { books.code($0) }
    }

    /// The periods that were closed by name. Its blocks have no hashes.
    var closings: [PeriodClosing] {
        zip(rows.closings, closingBlocks).map { row, block in
            PeriodClosing(
                through: row.through, block: Int64(block), hash: Digest.zero.hexadecimal, time: row.time,
                actor: row.actor.map { rows.actors[Int($0) - 1].name })
        }
    }

    func entry(_ id: EntryID) -> Entry { index.entry(id) }
    func end(_ call: Books.CallKey, through time: Timestamp = .max) -> AppStoreCall.End? {
        index.end(call, through: time)
    }
    /// What the JWS of a notification posted.
    func notifiedEntry(_ number: Int64) -> EntryID? { index.notifiedEntries[number] }
    func register(_ transaction: TransactionID) -> PurchaseRegister? { index.register(transaction) }
    func name(_ player: PlayerID) -> AccountName { index.name(player) }
    func player(_ name: AccountName) -> PlayerID? { index.players[name] }
    func owner(of account: PlayerID) -> PlayerID { index.owner(of: account) }
    func owner(of account: PlayerID, asOf time: Timestamp) -> PlayerID { index.owner(of: account, asOf: time) }
    func links(of token: PlayerID) -> [PlayerID] { index.links(of: token) }
}

extension Books {
    /// Forgets everything but players, for whoever finds all of it elsewhere.
    package mutating func forgetAllButPlayers() {
        _ = takeRecords()
        _ = takeClosers()
        _ = takeChangedAccounts()
    }

    /// The lots of a purchase, all of which are in memory.
    package func lots(of register: PurchaseRegister) -> [Lot] {
        zip(register.grants, register.lots).map { grant, id in
            let player = register.account.flatMap { players[owner(of: $0)] }
            guard let lot = player?.wallets.first(where: { $0.currency == grant.currency })?.lot(id) else {
                preconditionFailure("lot \(id) of a purchase is not in memory")
            }
            return lot
        }
    }
}
