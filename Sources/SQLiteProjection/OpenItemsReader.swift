import GRDB
import Ledger

/// Reads what the wallets of an account have open, the newest first, in one snapshot: lots and holds of the account and
/// of the tokens that are linked to it. Their numbers are found in an index that has the open ones alone.
///
/// What has run out is not open any more, whether or not its entry is posted. Where something has that is not, the
/// books post it in memory, as they do for a balance, and say what is open then.
struct OpenItemsReader {
    private let db: Database
    private let codes: [CurrencyCode]
    private let entry: EntryID
    /// All whose lots and holds are the account's by now; none where there is no such account.
    private let members: [PlayerID]
    /// The player once everything is posted that has run out; `nil` where nothing has that the tables do not say.
    private let settled: Player?

    /// - Parameter time: of the read.
    init(
        _ db: Database, of account: AccountName, at time: Timestamp, _ suspects: SuspectTables,
        hash: @escaping HashFunction
    ) throws {
        self.db = db
        let state = try StoredState(rowOf: db)
        codes = try StoredState.currencies(db)
        entry = state.position.entry
        // Nobody asks these books for their totals.
        var books = Books(
            catalog: Catalog(currencies: [:], products: [String: Catalog.Product]()), known: codes,
            position: state.position, totals: Totals(currencies: codes.count), closedThrough: state.closedThrough,
            hash: hash)
        let players = try PlayerLoader(db, suspects)
        try players.begin()
        guard let id = try players.findAccount(account, books) else {
            members = []
            settled = nil
            return
        }
        let last = try players.allLinks(of: id, books).last
        members = try players.members(of: last.map { try players.owner(of: $0.account, books) } ?? id)
        guard try ExpiryLoader(db, players, suspects).hasDue(account, by: books.entryTime(time), books) else {
            settled = nil
            return
        }
        try players.load(account, withLots: true, into: &books)
        settled = books.settled(account, at: time)
    }

    func lots(_ query: OpenItemsQuery) throws -> OpenItemsPage<OpenLot> {
        let open = settled.map { player in
            Dictionary(
                uniqueKeysWithValues: player.wallets.filter { isAsked($0.currency, by: query) }.flatMap(\.open)
                    .map { ($0.id, $0) })
        }
        let numbers =
            try open.map { newest($0.keys, query) }
            ?? numbers("SELECT id FROM lot INDEXED BY lot_open WHERE account = ?1 AND is_open", query)
        let select = try PreparedStatement(
            db,
            """
            SELECT \(StoredLot.columns(of: "l")), p.product
            FROM lot AS l LEFT JOIN purchase AS p ON p.transaction_id = l.transaction_id WHERE l.id = ?
            """)
        return try page(numbers, query, bytes: \.resultBytes) { id in
            select.bind(1, id)
            return try select.first { row in
                let stored = try StoredLot(row)
                let product = row.optionalText(StoredLot.columnsEnd)
                guard members.contains(stored.account), stored.lot.isOpen,
                    (product == nil) == (stored.lot.transaction == nil)
                else { throw StoreError.corrupt("lot \(id) is not open, or its purchase is missing") }
                let lot = open?[id] ?? stored.lot
                return OpenLot(
                    lot: id, currency: try code(Int64(stored.currency), "lot \(id)"), lotClass: lot.lotClass,
                    time: lot.time, transaction: lot.transaction, product: product, granted: lot.granted,
                    remaining: lot.remaining, held: lot.held, debt: lot.owed, expiresAt: lot.expiresAt)
            }
        }
    }

    func holds(_ query: OpenItemsQuery) throws -> OpenItemsPage<OpenHoldView> {
        let open = settled.map { $0.holds.filter { isAsked($0.currency, by: query) }.map(\.id) }
        let numbers =
            try open.map { newest($0, query) }
            ?? numbers("SELECT id FROM hold INDEXED BY hold_open WHERE account = ?1 AND state = 'open'", query)
        let select = try PreparedStatement(
            db,
            """
            SELECT h.account, h.entry, h.currency, h.amount, h.expires_at, h.state, e.time, e.kind, e.key, a.name,
                e.actor IS NOT NULL AND a.name IS NULL, r.answer
            FROM hold AS h JOIN entry AS e ON e.id = h.entry JOIN request AS r ON r.key = e.key
                LEFT JOIN actor AS a ON a.id = e.actor
            WHERE h.id = ?
            """)
        return try page(numbers, query, bytes: \.resultBytes) { id in
            select.bind(1, id)
            return try select.first { row in
                let answer = KeyedAnswer(encoded: row.blob(11)[...]) { AccountName.erased($0) }
                guard members.contains(row.integer(0)), row.text(5) == "open", row.integer(10) == 0,
                    let kind = Stored.entryKinds.item(row.text(7)), let key = row.optionalText(8),
                    Amount(row.integer(3)) != nil, Plausible.isTime(row.integer(4)), Plausible.isTime(row.integer(6)),
                    let named = answer?.holds.first(where: { $0.hold.trace.first == id })
                else { throw StoreError.corrupt("hold \(id) is not open, or its request does not name it") }
                return OpenHoldView(
                    key: RequestKey(stored: key), operation: kind == .atomic ? named.operation : nil,
                    entry: row.integer(1), time: row.integer(6), currency: try code(row.integer(2), "hold \(id)"),
                    amount: row.integer(3), expiresAt: row.integer(4), actor: row.optionalText(9))
            }
        }
    }

    /// The numbers of a page and of one more, the newest first.
    private func numbers(_ sql: String, _ query: OpenItemsQuery) throws -> [Int64] {
        let currency = query.currency.map { code in Int64((codes.firstIndex(of: code) ?? -1) + 1) }
        let select = try PreparedStatement(
            db, sql + " AND id < ?2 AND (?3 IS NULL OR currency = ?3) ORDER BY id DESC LIMIT ?4")
        var numbers: [Int64] = []
        for account in members {
            select.bind(1, account)
            select.bind(2, query.before ?? Int64.max)
            select.bind(3, currency)
            select.bind(4, Int64(query.limit) + 1)
            try select.forEach { numbers.append($0.integer(0)) }
        }
        return newest(numbers, query)
    }

    private func newest(_ numbers: some Sequence<Int64>, _ query: OpenItemsQuery) -> [Int64] {
        Array(numbers.filter { $0 < query.before ?? Int64.max }.sorted(by: >).prefix(query.limit + 1))
    }

    private func isAsked(_ currency: CurrencyID, by query: OpenItemsQuery) -> Bool {
        query.currency.map { $0 == codes[Int(currency) - 1] } ?? true
    }

    /// Reads a page, which ends before the row that would make it too large.
    private func page<Item>(
        _ numbers: [Int64], _ query: OpenItemsQuery, bytes: (Item) -> Int, _ read: (Int64) throws -> Item?
    ) throws -> OpenItemsPage<Item> {
        var items: [Item] = []
        var sum = 0
        for number in numbers.prefix(query.limit) {
            guard let item = try read(number) else {
                throw StoreError.corrupt("number \(number) is in an index, and what it is of is missing")
            }
            sum += bytes(item)
            if sum > Limits.pageBytesMax, !items.isEmpty { break }
            items.append(item)
        }
        return OpenItemsPage(
            entry: entry, items: items, next: items.count < numbers.count ? numbers[items.count - 1] : nil)
    }

    private func code(_ currency: Int64, _ what: String) throws -> CurrencyCode {
        guard currency >= 1, currency <= codes.count else {
            throw StoreError.corrupt("\(what) is of a currency that there is not")
        }
        return codes[Int(currency) - 1]
    }
}
