import GRDB
import Ledger

/// Reads what the wallets of an account have open, the newest first, in one snapshot: lots and holds of the account and
/// of the tokens that are linked to it. Their numbers are found in an index that has the open ones alone.
struct OpenItemsReader {
    private let db: Database
    private let codes: [CurrencyCode]

    init(_ db: Database) throws {
        self.db = db
        codes = try StoredState.currencies(db)
    }

    func lots(_ query: OpenItemsQuery) throws -> OpenLotsPage {
        let members = try members(of: query.account)
        let numbers = try numbers(
            "SELECT id FROM lot INDEXED BY lot_open WHERE account = ?1 AND is_open", of: members, query)
        let select = try PreparedStatement(
            db,
            """
            SELECT \(StoredLot.columns(of: "l")), p.product
            FROM lot AS l LEFT JOIN purchase AS p ON p.transaction_id = l.transaction_id WHERE l.id = ?
            """)
        let (lots, next) = try page(numbers, query, bytes: \.resultBytes) { id in
            select.bind(1, id)
            return try select.first { row in
                let stored = try StoredLot(row)
                let product = row.optionalText(StoredLot.columnsEnd)
                guard members.contains(stored.account), stored.lot.isOpen,
                    (product == nil) == (stored.lot.transaction == nil)
                else { throw StoreError.corrupt("lot \(id) is not open, or its purchase is missing") }
                return OpenLot(
                    lot: id, currency: try code(Int64(stored.currency), "lot \(id)"), lotClass: stored.lot.lotClass,
                    time: stored.lot.time, transaction: stored.lot.transaction, product: product,
                    granted: stored.lot.granted, remaining: stored.lot.remaining, held: stored.lot.held,
                    debt: stored.lot.owed, expiresAt: stored.lot.expiresAt)
            }
        }
        return OpenLotsPage(entry: try StoredState(rowOf: db).position.entry, lots: lots, next: next)
    }

    func holds(_ query: OpenItemsQuery) throws -> OpenHoldsPage {
        let members = try members(of: query.account)
        let numbers = try numbers(
            "SELECT id FROM hold INDEXED BY hold_open WHERE account = ?1 AND state = 'open'", of: members, query)
        let select = try PreparedStatement(
            db,
            """
            SELECT h.account, h.entry, h.currency, h.amount, h.expires_at, h.state, e.time, e.kind, e.key, a.name,
                e.actor IS NOT NULL AND a.name IS NULL, r.answer
            FROM hold AS h JOIN entry AS e ON e.id = h.entry JOIN request AS r ON r.key = e.key
                LEFT JOIN actor AS a ON a.id = e.actor
            WHERE h.id = ?
            """)
        let (holds, next) = try page(numbers, query, bytes: \.resultBytes) { id in
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
        return OpenHoldsPage(entry: try StoredState(rowOf: db).position.entry, holds: holds, next: next)
    }

    /// All whose lots and holds are an account's by now; none where there is no such account.
    private func members(of name: AccountName) throws -> [PlayerID] {
        let select = try PreparedStatement(db, "SELECT id FROM account WHERE name = ?")
        select.bind(1, name.text)
        guard let account = try select.first({ $0.integer(0) }) else { return [] }
        let links = try StoredLinks(db)
        return try links.members(
            of: try links.links(of: account).last.map { try links.owner(of: $0.account) } ?? account)
    }

    /// The numbers of a page and of one more, the newest first.
    private func numbers(_ sql: String, of members: [PlayerID], _ query: OpenItemsQuery) throws -> [Int64] {
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
        return Array(numbers.sorted(by: >).prefix(query.limit + 1))
    }

    /// Reads a page, which ends before the row that would make it too large.
    private func page<Row>(
        _ numbers: [Int64], _ query: OpenItemsQuery, bytes: (Row) -> Int, _ read: (Int64) throws -> Row?
    ) throws -> (rows: [Row], next: Int64?) {
        var rows: [Row] = []
        var sum = 0
        for number in numbers.prefix(query.limit) {
            guard let row = try read(number) else {
                throw StoreError.corrupt("number \(number) is in an index, and what it is of is missing")
            }
            sum += bytes(row)
            if sum > Limits.pageBytesMax, !rows.isEmpty { break }
            rows.append(row)
        }
        return (rows, rows.count < numbers.count ? numbers[rows.count - 1] : nil)
    }

    private func code(_ currency: Int64, _ what: String) throws -> CurrencyCode {
        guard currency >= 1, currency <= codes.count else {
            throw StoreError.corrupt("\(what) is of a currency that there is not")
        }
        return codes[Int(currency) - 1]
    }
}
