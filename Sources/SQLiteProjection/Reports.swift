import GRDB
import Ledger

/// Reads a report's page in one snapshot: what the tables have, less what was posted after the report's time.
struct Reports {
    private let db: Database
    private let codes: [CurrencyCode]

    init(_ db: Database) throws {
        self.db = db
        codes = try StoredState.currencies(db)
    }

    func page(_ query: ReportQuery) throws -> ReportPage {
        var currency: Int64?
        if let code = query.currency {
            guard let index = codes.firstIndex(of: code) else {
                return ReportPage(kind: query.kind, asOf: query.asOf, rows: [], next: nil)
            }
            currency = Int64(index + 1)
        }
        guard let after = query.after.map({ ReportCursor(query.kind, $0) }) ?? ReportCursor(query.kind) else {
            throw StoreError("the page after an unreadable cursor was asked for")
        }
        let last = try JournalClock(db).lastTransfer(query.asOf)
        switch query.kind {
        case .balances: return try balances(query, through: last, currency, after)
        case .trial: return try trial(query, through: last, currency)
        case .debts: return try debts(query, through: last, currency, after)
        }
    }

    // MARK: Balances

    /// Wallets in the order of their table, each taken back to the report's time along its own transfers. A page ends
    /// early where wallets and transfers are many: it may even have no rows, and a next page.
    private func balances(
        _ query: ReportQuery, through last: TransferID, _ currency: Int64?, _ after: ReportCursor
    ) throws -> ReportPage {
        let select = try PreparedStatement(
            db,
            """
            SELECT \(StoredWallet.columns) FROM wallet
            WHERE (account, currency) > (?1, ?2) AND (?3 IS NULL OR currency = ?3)
            ORDER BY account, currency
            """)
        let statements = try WalletWalk.Statements(db)
        let names = try AccountNames(db)
        var rows: [ReportRow] = []
        var passed = after
        var walked = 0
        select.bind(1, after.account)
        select.bind(2, after.item)
        select.bind(3, currency)
        defer { select.reset() }
        while try select.next() {
            if walked >= Limits.historyTransfersMax {
                return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: passed.text)
            }
            let head = try StoredWallet(select)
            var walk = try WalletWalk(head, asOf: query.asOf, statements)
            walked += 1 + (try walk.rewind(to: last))
            let balance = try walk.unexpired
            if balance.available != 0 || balance.held != 0 || balance.debt != 0 {
                if rows.count == query.limit {
                    return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: passed.text)
                }
                rows.append(
                    .balance(
                        account: try names.name(of: head.account), currency: try code(Int64(head.currency)),
                        available: balance.available, held: balance.held, debt: balance.debt, paid: balance.paid))
            }
            passed = ReportCursor(query.kind, account: head.account, item: Int64(head.currency))
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    // MARK: Trial balance

    private func trial(_ query: ReportQuery, through last: TransferID, _ currency: Int64?) throws -> ReportPage {
        var totals = try StoredState(db).totals
        let later = try PreparedStatement(
            db, "SELECT currency, debit, credit, sum(amount) FROM transfer WHERE id > ? GROUP BY 1, 2, 3")
        later.bind(1, last)
        try later.forEach { row in
            guard let debit = Stored.accountKinds.item(row.text(1)), row.integer(3) > 0,
                let credit = Stored.accountKinds.item(row.text(2))
            else { throw StoreError.corrupt("a transfer after \(last) names an account that cannot be") }
            let currency = try number(row.integer(0))
            totals[currency, debit].debits &-= row.integer(3)
            totals[currency, credit].credits &-= row.integer(3)
        }
        for (currency, units) in try due(query.asOf, through: last) {
            totals[currency, .wallet].debits &+= units
            totals[currency, .expired].credits &+= units
        }
        var rows: [ReportRow] = []
        for number in codes.indices.map({ Int64($0 + 1) }) where currency == nil || currency == number {
            for kind in AccountKind.allCases {
                let turnover = totals[try self.number(number), kind]
                guard turnover.debits >= 0, turnover.credits >= 0 else {
                    throw StoreError.corrupt(
                        "the total of \(kind.name), currency \(number), is less than its transfers")
                }
                rows.append(
                    .trial(
                        currency: try code(number), account: kind, debits: turnover.debits, credits: turnover.credits))
            }
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    /// What was left at the report's time, by currency, in lots whose time was over: expired, whether or not it was
    /// posted.
    private func due(_ asOf: Timestamp, through last: TransferID) throws -> [CurrencyID: Int64] {
        var due: [CurrencyID: Int64] = [:]
        let now = try PreparedStatement(
            db,
            """
            SELECT currency, sum(remaining) FROM lot
            WHERE is_open AND expires_at IS NOT NULL AND expires_at <= ? GROUP BY currency
            """)
        now.bind(1, asOf)
        try now.forEach { due[try number($0.integer(0)), default: 0] &+= $0.integer(1) }
        let since = try PreparedStatement(
            db,
            """
            SELECT t.currency, sum(t.amount * ((t.credit = 'wallet') - (t.debit = 'wallet')))
            FROM transfer AS t JOIN lot AS l ON l.id = t.lot
            WHERE t.id > ? AND l.expires_at <= ? GROUP BY t.currency
            """)
        since.bind(1, last)
        since.bind(2, asOf)
        try since.forEach { due[try number($0.integer(0)), default: 0] &-= $0.integer(1) }
        for (currency, units) in due where units < 0 {
            throw StoreError.corrupt("lots of currency \(currency) are not the sum of their transfers")
        }
        return due
    }

    // MARK: Debts

    /// What each lot owes: the transfers that made debts of its refunds, less those that paid them. A debt is since
    /// the first entry that took something of the purchase back.
    private func debts(
        _ query: ReportQuery, through last: TransferID, _ currency: Int64?, _ after: ReportCursor
    ) throws -> ReportPage {
        let select = try PreparedStatement(
            db,
            """
            WITH movement AS (
                SELECT
                    account, currency, CASE WHEN debit = 'receivable' THEN lot ELSE debt_lot END AS lot,
                    CASE WHEN debit = 'receivable' THEN amount ELSE -amount END AS owed
                FROM transfer
                WHERE (debit = 'receivable' OR debt_lot IS NOT NULL) AND account BETWEEN ?2 AND ?3 AND id <= ?1
            )
            SELECT
                m.account, m.lot, m.currency, lot.transaction_id, sum(m.owed),
                (
                    SELECT min(entry.time) FROM entry
                    WHERE entry.kind = 'refund' AND entry.first_transfer <= ?1 AND entry.id IN (
                        SELECT p.entry FROM purchase AS p WHERE p.transaction_id = lot.transaction_id
                        UNION ALL
                        SELECT e.entry FROM purchase_event AS e WHERE e.transaction_id = lot.transaction_id
                            AND e.entry IS NOT NULL
                    )
                )
            FROM movement AS m LEFT JOIN lot ON lot.id = m.lot
            WHERE ?4 IS NULL OR m.currency = ?4
            GROUP BY m.account, m.lot
            HAVING sum(m.owed) <> 0
            ORDER BY m.account, m.lot
            """)
        let names = try AccountNames(db)
        let lastAccount = try Int64.fetchOne(db, sql: "SELECT max(id) FROM account") ?? 0
        // The windows go up to it, one after the other.
        guard try lastAccount <= StoredState(rowOf: db).position.account else {
            throw StoreError.corrupt("account \(lastAccount) has a number that was never given")
        }
        var rows: [ReportRow] = []
        var previous = after
        var from = after.account
        // In windows of as many accounts as there are rows to find: a page costs what it shows, not what there is.
        while from <= lastAccount {
            let to = min(lastAccount, from + Int64(query.limit))
            select.bind(1, last)
            select.bind(2, from)
            select.bind(3, to)
            select.bind(4, currency)
            defer { select.reset() }
            while try select.next() {
                let key = ReportCursor(query.kind, account: select.integer(0), item: select.integer(1))
                if key <= after { continue }
                if rows.count == query.limit {
                    return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: previous.text)
                }
                rows.append(try debt(select, query.asOf, names))
                previous = key
            }
            from = to + 1
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    private func debt(_ row: PreparedStatement, _ asOf: Timestamp, _ names: AccountNames) throws -> ReportRow {
        let lot = row.integer(1)
        guard let transaction = row.optionalInteger(3), let since = row.optionalInteger(5), row.integer(4) > 0,
            Plausible.isTime(since), since <= asOf
        else { throw StoreError.corrupt("lot \(lot) has a debt that no refund of it made") }
        return .debt(
            account: try names.name(of: row.integer(0)), currency: try code(row.integer(2)),
            transaction: TransactionID(number: transaction), lot: lot, debt: row.integer(4), since: since,
            age: asOf &- since)
    }

    // MARK: Numbers

    private func number(_ value: Int64) throws -> CurrencyID {
        guard value >= 1, value <= codes.count else { throw StoreError.corrupt("there is no currency \(value)") }
        return CurrencyID(truncatingIfNeeded: value)
    }

    private func code(_ value: Int64) throws -> CurrencyCode { codes[Int(try number(value)) - 1] }
}
