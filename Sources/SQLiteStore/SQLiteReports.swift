import GRDB
package import Ledger

extension SQLiteStore {
    package func report(_ query: ReportQuery) throws -> ReportPage {
        try SQLiteStore.faults("reading a report") {
            try pool.read { db in try Reports(db).page(query) }
        }
    }
}

/// Reports of a ledger's file without a server: read-only, beside its writer or without one.
package final class SQLiteReports: Sendable {
    private let queue: DatabaseQueue

    /// - Throws: ``StoreError`` where `path` is no ledger or cannot be read.
    package init(path: String) throws {
        queue = try SQLiteStore.faults("opening \(path)") { try DatabaseFile.openReadOnly(path) }
    }

    /// - Throws: ``StoreError``
    package func report(_ query: ReportQuery) throws -> ReportPage {
        try SQLiteStore.faults("reading a report") {
            try queue.read { db in try Reports(db).page(query) }
        }
    }

    /// The size of the database as of its last commit, in bytes: what is still in the log only counts, pages in both once.
    /// - Throws: ``StoreError``
    package func databaseBytes() throws -> Int64 {
        try SQLiteStore.faults("reading the size") {
            try queue.read { db in
                let pages = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                return try pages * (Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 0)
            }
        }
    }
}

/// Reads a report's page in one snapshot: the projection, moved to the report's time by the transfers that lie between.
///
/// A wallet's row includes everything up to its `last_transfer`. For a time after that the transfers in between are added;
/// for one before it they are taken away again.
private struct Reports {
    private let db: Database
    private let codes: [CurrencyCode]

    init(_ db: Database) throws {
        self.db = db
        codes = try String.fetchAll(db, sql: "SELECT code FROM currency ORDER BY id").map { text in
            guard let code = CurrencyCode(text) else { throw StoreError("the name of a currency cannot be read") }
            return code
        }
    }

    func page(_ query: ReportQuery) throws -> ReportPage {
        let place = try JournalClock(db).lastTransfer(query.asOf)
        var currency: Int64?
        if let code = query.currency {
            guard let index = codes.firstIndex(of: code) else {
                return ReportPage(kind: query.kind, asOf: query.asOf, rows: [], next: nil)
            }
            currency = Int64(index + 1)
        }
        switch query.kind {
        case .balances: return try balances(query, place, currency)
        case .trial: return try trial(query, place, currency)
        case .debts: return try debts(query, place, currency)
        }
    }

    private func balances(_ query: ReportQuery, _ place: TransferID, _ currency: Int64?) throws -> ReportPage {
        try page(query, place, currency, Reports.balancesSQL) { row, name, code in
            .balance(
                account: name, currency: code, available: row.integer(4), held: row.integer(6), debt: row.integer(7),
                paid: row.integer(5))
        }
    }

    private func debts(_ query: ReportQuery, _ place: TransferID, _ currency: Int64?) throws -> ReportPage {
        try page(query, place, currency, Reports.debtsSQL) { row, name, code in
            .debt(
                account: name, currency: code, transaction: TransactionID(number: row.integer(4)),
                lot: row.integer(1), debt: row.integer(5), since: row.integer(6),
                age: query.asOf - row.integer(6))
        }
    }

    /// Rows by account, in windows of as many accounts as there are rows to find: a page costs what it shows, not what
    /// there is. The statement gives account, item, the account's name and currency first.
    private func page(
        _ query: ReportQuery, _ place: TransferID, _ currency: Int64?, _ sql: String,
        _ row: (PreparedStatement, AccountName, CurrencyCode) throws -> ReportRow
    ) throws -> ReportPage {
        guard let cursor = query.after.map({ ReportCursor($0) }) ?? ReportCursor.start else {
            throw StoreError("the page after an unreadable cursor was asked for")
        }
        let rowsOf = try PreparedStatement(db, sql)
        let last = try Int64.fetchOne(db, sql: "SELECT max(id) FROM account") ?? 0
        var from = cursor.account
        var rows: [ReportRow] = []
        var previous: ReportCursor?
        while from <= last {
            let to = min(last, from + Int64(query.limit))
            rowsOf.bind(1, place)
            rowsOf.bind(2, from)
            rowsOf.bind(3, to)
            rowsOf.bind(4, currency)
            while try rowsOf.next() {
                let key = ReportCursor(account: rowsOf.integer(0), item: rowsOf.integer(1))
                if key <= cursor { continue }
                if rows.count == query.limit {
                    rowsOf.reset()
                    return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: previous?.text)
                }
                rows.append(try row(rowsOf, AccountName(stored: rowsOf.text(2)), try code(rowsOf.integer(3))))
                previous = key
            }
            from = to + 1
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    private func trial(_ query: ReportQuery, _ place: TransferID, _ currency: Int64?) throws -> ReportPage {
        let turnovers = try PreparedStatement(db, Reports.trialSQL)
        turnovers.bind(1, place)
        var totals = Totals(currencies: codes.count)
        while try turnovers.next() {
            let number = turnovers.integer(0)
            guard let kind = AccountKind(rawValue: turnovers.integer(1)), number >= 1, number <= codes.count else {
                throw StoreError("a transfer names an account that cannot be")
            }
            totals[CurrencyID(number), kind] = Totals.Turnover(
                debits: turnovers.integer(2), credits: turnovers.integer(3))
        }
        var rows: [ReportRow] = []
        for number in codes.indices.map({ Int64($0 + 1) }) where currency == nil || currency == number {
            for kind in AccountKind.allCases {
                let turnover = totals[CurrencyID(number), kind]
                rows.append(
                    .trial(
                        currency: try code(number), account: kind, debits: turnover.debits, credits: turnover.credits))
            }
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    private func code(_ number: Int64) throws -> CurrencyCode {
        guard number >= 1, number <= codes.count else { throw StoreError("there is no currency \(number)") }
        return codes[Int(number) - 1]
    }

    /// 1: the last transfer that counts, 2 and 3: the first and last account, 4: one currency or NULL.
    private static let balancesSQL = """
        WITH change AS (
            SELECT
                opening.credit >> 12 AS account, t.debit >> 4 & 255 AS currency, t.id, opening.debit & 15 = 4 AS is_paid,
                t.amount * ((t.credit & 15 = 1) - (t.debit & 15 = 1)) AS available,
                t.amount * ((t.credit & 15 = 2) - (t.debit & 15 = 2)) AS held,
                t.amount * ((t.debit & 15 = 3) - (t.credit & 15 = 3)) AS debt
            FROM transfer AS t JOIN transfer AS opening ON opening.id = t.lot
            WHERE t.id > min(?1, (SELECT transfer FROM watermark)) AND opening.credit >> 12 BETWEEN ?2 AND ?3
        ),
        part AS (
            SELECT account, currency, available, paid, held, debt FROM wallet WHERE account BETWEEN ?2 AND ?3
            UNION ALL
            SELECT c.account, c.currency, c.available * s.sign, c.available * c.is_paid * s.sign, c.held * s.sign, c.debt * s.sign
            FROM (
                SELECT change.*, coalesce(wallet.last_transfer, 0) AS included
                FROM change LEFT JOIN wallet
                    ON wallet.account = change.account AND wallet.currency = change.currency
            ) AS c
                JOIN (SELECT 1 AS sign UNION ALL SELECT -1) AS s
                    ON s.sign = (c.id > c.included AND c.id <= ?1) - (c.id <= c.included AND c.id > ?1)
        )
        SELECT part.account, part.currency, account.name, part.currency, sum(part.available), sum(part.paid), sum(part.held), sum(part.debt)
        FROM part JOIN account ON account.id = part.account
        WHERE ?4 IS NULL OR part.currency = ?4
        GROUP BY part.account, part.currency
        HAVING sum(part.available) <> 0 OR sum(part.held) <> 0 OR sum(part.debt) <> 0
        ORDER BY part.account, part.currency
        """

    /// Parameters as those of the balances. A debt is since the first revocation that posted something and counts.
    private static let debtsSQL = """
        WITH change AS (
            SELECT t.id, CASE WHEN t.debit & 15 = 3 THEN t.lot ELSE t.debt_lot END AS lot,
                t.amount * ((t.debit & 15 = 3) - (t.credit & 15 = 3)) AS owed
            FROM transfer AS t
            WHERE t.id > min(?1, (SELECT transfer FROM watermark)) AND (t.debit & 15 = 3 OR t.credit & 15 = 3)
        ),
        part AS (
            SELECT id AS lot, indebted - recovered AS owed FROM lot
            WHERE account BETWEEN ?2 AND ?3 AND is_open
            UNION ALL
            SELECT c.lot, c.owed * ((c.id > c.included AND c.id <= ?1) - (c.id <= c.included AND c.id > ?1))
            FROM (
                SELECT change.*, coalesce(wallet.last_transfer, 0) AS included
                FROM change JOIN transfer AS opening ON opening.id = change.lot
                    LEFT JOIN wallet ON wallet.account = opening.credit >> 12
                        AND wallet.currency = opening.credit >> 4 & 255
            ) AS c
        )
        SELECT
            opening.credit >> 12, part.lot, account.name, opening.credit >> 4 & 255, e.transaction_id, sum(part.owed),
            (
                SELECT min(refund.time) FROM purchase_evidence AS p JOIN entry AS refund ON refund.id = p.entry
                WHERE p.transaction_id = e.transaction_id AND p.is_first = 0 AND p.revoked > 0
                    AND refund.first_transfer <= ?1
            )
        FROM part
            JOIN transfer AS opening ON opening.id = part.lot
            JOIN entry AS e ON e.id = opening.entry
            JOIN account ON account.id = opening.credit >> 12
        WHERE opening.credit >> 12 BETWEEN ?2 AND ?3 AND (?4 IS NULL OR opening.credit >> 4 & 255 = ?4)
        GROUP BY part.lot
        HAVING sum(part.owed) > 0
        ORDER BY opening.credit >> 12, part.lot
        """

    /// 1: the last transfer that counts.
    private static let trialSQL = """
        WITH change AS (
            SELECT
                t.debit, t.credit,
                t.amount * ((t.id > w.totals_transfer AND t.id <= ?1) - (t.id <= w.totals_transfer AND t.id > ?1)) AS amount
            FROM transfer AS t, watermark AS w
            WHERE t.id > min(?1, (SELECT totals_transfer FROM watermark))
        ),
        part AS (
            SELECT currency, kind, debits, credits FROM total
            UNION ALL
            SELECT debit >> 4 & 255, debit & 15, amount, 0 FROM change
            UNION ALL
            SELECT credit >> 4 & 255, credit & 15, 0, amount FROM change
        )
        SELECT currency, kind, sum(debits), sum(credits) FROM part GROUP BY currency, kind
        """
}
