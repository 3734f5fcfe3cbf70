import GRDB
import Ledger

/// A sum over all players, which may pass what 64 bits hold: there SQLite's `sum` would end with an error. So it adds
/// up the amounts' upper and lower halves, each for itself.
enum SplitSum {
    /// The two columns of a sum, which ``PreparedStatement/splitSum(_:)`` reads.
    static func columns(of amount: String) -> String { "sum(\(amount) >> 32), sum(\(amount) & 4294967295)" }
}

/// Reads a report's page in one snapshot: what there was at the report's time, counted back from what the tables have
/// now, or on from what they remember of an earlier time.
struct Reports {
    let db: Database
    let stepsMax: Int
    let codes: [CurrencyCode]

    /// - Parameter stepsMax: after so many wallets and transfers a page ends where it is.
    init(_ db: Database, stepsMax: Int = Limits.reportStepsMax) throws {
        self.db = db
        self.stepsMax = stepsMax
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
        guard var after = query.after.map({ ReportCursor(query.kind, $0) }) ?? ReportCursor(query.kind) else {
            throw StoreError("the page after an unreadable cursor was asked for")
        }
        let clock = try JournalClock(db)
        if query.dates == .effective {
            let newest = query.kind.isOfPurchases ? clock.lastBlock : clock.lastTransferID
            after.end = min(after.end ?? newest, newest)
        } else {
            after.end = nil
        }
        let last = try clock.lastTransfer(query.asOf)
        switch query.kind {
        case .balances: return try balances(query, through: last, currency, after)
        case .trial: return try trial(query, through: last, of: clock.lastTransferID, currency)
        case .debts: return try debts(query, through: last, currency, after)
        case .notifications: return try notifications(query, after, clock)
        case .consumptionRequests: return try consumptionRequests(query, after, clock)
        case .rollforward: return try rollforward(query, after, clock, currency)
        case .sales: return try sales(query, after, clock)
        case .revenue: return try revenue(query, after, clock, currency)
        case .deferred: return try deferred(query, after, clock, currency)
        case .lots: return try lots(query, after, clock, currency)
        case .spends: return try spends(query, after, clock, currency)
        case .purchases: return try purchases(query, after, clock)
        case .unassigned: return try unassigned(query, after, clock)
        case .journal: return try journal(query, after, clock, currency)
        case .closings: return try closings(query, after)
        }
    }

    /// A page that another one follows, from `passed` on.
    func page(
        _ query: ReportQuery, _ rows: [ReportRow], after: ReportCursor, passed: ReportCursor
    ) throws -> ReportPage {
        // Whoever reads all pages would else never come to an end.
        guard passed > after else { throw StoreError.corrupt("rows of the \(query.kind) are not in their order") }
        var passed = passed
        passed.end = after.end
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: passed.text)
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
            SELECT \(StoredWallet.columns) FROM wallet WHERE (account, currency) > (?1, ?2) ORDER BY account, currency
            """)
        let statements = try WalletWalk.Statements(db)
        let names = try AccountNames(db)
        var rows: [ReportRow] = []
        var passed = after
        var walked = 0
        select.bind(1, after.account)
        select.bind(2, after.item)
        defer { select.reset() }
        while try select.next() {
            if walked >= stepsMax { return try page(query, rows, after: after, passed: passed) }
            walked += 1
            let head = try StoredWallet(select)
            let place = ReportCursor(query.kind, account: head.account, item: Int64(head.currency))
            if let currency, Int64(head.currency) != currency {
                passed = place
                continue
            }
            var walk = try WalletWalk(head, through: last, asOf: query.asOf, statements)
            walked += try walk.rewind(to: last)
            let balance = try walk.unexpired
            if balance.available != 0 || balance.held != 0 || balance.debt != 0 {
                if rows.count == query.limit { return try page(query, rows, after: after, passed: passed) }
                rows.append(
                    .balance(
                        account: try names.name(of: head.account), currency: try code(Int64(head.currency)),
                        available: balance.available, held: balance.held, debt: balance.debt, paid: balance.paid))
            }
            passed = place
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    // MARK: Trial balance

    /// - Parameters:
    ///   - last: the last transfer at the report's time.
    ///   - newest: the last of all.
    private func trial(
        _ query: ReportQuery, through last: TransferID, of newest: TransferID, _ currency: Int64?
    ) throws -> ReportPage {
        var totals = last == newest ? try StoredState(db).totals.sums : try pastTotals(last).sums
        for (currency, units) in try due(query.asOf, through: last, of: newest) {
            totals[currency, .wallet].debits &+= units
            totals[currency, .expired].credits &+= units
        }
        var rows: [ReportRow] = []
        for number in codes.indices.map({ Int64($0 + 1) }) where currency == nil || currency == number {
            for kind in AccountKind.allCases {
                let turnover = totals[try self.number(number), kind]
                if kind.isListedOnceUsed && turnover == Totals.Turnover() { continue }
                rows.append(
                    .trial(
                        currency: try code(number), account: kind, debits: turnover.debits, credits: turnover.credits))
            }
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    /// The turnover up to a transfer: counted on from what is remembered of an earlier one.
    func pastTotals(_ last: TransferID) throws -> ClassTotals {
        var totals = ClassTotals(currencies: codes.count)
        let remembered = last / PastTotals.interval * PastTotals.interval
        let past = try PreparedStatement(
            db, "SELECT currency, class, kind, debits, credits FROM total_past WHERE transfer = ?")
        past.bind(1, remembered)
        try past.forEach { row in
            guard let lotClass = Stored.lotClasses.item(row.text(1)), let kind = Stored.accountKinds.item(row.text(2)),
                let debits = row.sum(3), let credits = row.sum(4)
            else { throw StoreError.corrupt("a total of the past, after transfer \(remembered), cannot be") }
            totals[try number(row.integer(0)), lotClass, kind] = Totals.Turnover(debits: debits, credits: credits)
        }
        let later = try PreparedStatement(
            db,
            """
            SELECT t.currency, t.debit, t.credit, l.class, coalesce(d.class, l.class),
                \(SplitSum.columns(of: "t.amount"))
            FROM transfer AS t JOIN lot AS l ON l.id = t.lot LEFT JOIN lot AS d ON d.id = t.debt_lot
            WHERE t.id > ? AND t.id <= ? GROUP BY 1, 2, 3, 4, 5
            """)
        later.bind(1, remembered)
        later.bind(2, last)
        try later.forEach { row in
            let units = row.splitSum(5)
            guard let debit = Stored.accountKinds.item(row.text(1)), units > 0,
                let credit = Stored.accountKinds.item(row.text(2)),
                let debitClass = Stored.lotClasses.item(row.text(3)),
                let creditClass = Stored.lotClasses.item(row.text(4))
            else { throw StoreError.corrupt("a transfer after \(remembered) names an account that cannot be") }
            let currency = try number(row.integer(0))
            totals[currency, debitClass, debit].debits &+= units
            totals[currency, creditClass, credit].credits &+= units
        }
        let sums = totals.sums
        for index in codes.indices {
            guard sums.balance(of: try number(Int64(index + 1))) == 0 else {
                throw StoreError.corrupt("the accounts of \(codes[index]) after transfer \(last) do not add up to zero")
            }
        }
        return totals
    }

    /// What was left at the report's time, by currency, in lots whose time was over: expired, whether or not it was
    /// posted. It is in such lots still, or an entry after that time posted it.
    func due(
        _ asOf: Timestamp, through last: TransferID, of newest: TransferID
    ) throws -> [CurrencyID: Int128] {
        var due: [CurrencyID: Int128] = [:]
        let now = try PreparedStatement(
            db,
            """
            SELECT currency, \(SplitSum.columns(of: "remaining")) FROM lot
            WHERE is_open AND expires_at IS NOT NULL AND expires_at <= ? GROUP BY currency
            """)
        now.bind(1, asOf)
        try now.forEach { due[try number($0.integer(0)), default: 0] &+= $0.splitSum(1) }
        if last < newest {
            let posted = try PreparedStatement(
                db,
                """
                SELECT t.currency, \(SplitSum.columns(of: "t.amount"))
                FROM transfer AS t JOIN entry AS e ON e.id = t.entry JOIN lot AS l ON l.id = t.lot
                WHERE t.id > ? AND t.id <= ? AND t.credit = 'expired' AND e.kind = 'expiry' AND l.expires_at <= ?
                GROUP BY t.currency
                """)
            var ends = try ends(expiredBy: asOf, after: last)
            // Of the last part nothing is remembered before it is whole.
            if newest % PastTotals.interval != 0 { ends.append(newest) }
            for end in ends {
                posted.bind(1, max(last, (end - 1) / PastTotals.interval * PastTotals.interval))
                posted.bind(2, end)
                posted.bind(3, asOf)
                try posted.forEach { due[try number($0.integer(0)), default: 0] &+= $0.splitSum(1) }
            }
        }
        for (currency, units) in due where units < 0 {
            throw StoreError.corrupt("lots of currency \(currency) are not the sum of their transfers")
        }
        return due
    }

    /// Where those whole parts of the transfers after one end that posted what had expired by a time.
    private func ends(expiredBy time: Timestamp, after transfer: TransferID) throws -> [TransferID] {
        let select = try PreparedStatement(
            db, "SELECT transfer FROM expiry_past WHERE transfer > ? AND expires_at <= ?")
        select.bind(1, transfer)
        select.bind(2, time)
        var ends: [TransferID] = []
        try select.forEach { ends.append($0.integer(0)) }
        return ends
    }

    // MARK: Debts

    /// What each lot owes: the transfers that made debts of its refunds, less those that paid them. A debt is since
    /// the first entry that took something of the purchase back.
    ///
    /// One player after the other of those who ever had debts. A page ends early where many of them owe nothing any
    /// more: it may even have no rows, and a next page.
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
                WHERE (debit = 'receivable' OR debt_lot IS NOT NULL) AND account = ?2 AND id <= ?1
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
                ),
                count(*), (SELECT p.source FROM purchase AS p WHERE p.transaction_id = lot.transaction_id)
            FROM movement AS m LEFT JOIN lot ON lot.id = m.lot
            WHERE (?3 IS NULL OR m.currency = ?3) AND m.lot > ?4
            GROUP BY m.lot
            HAVING sum(m.owed) <> 0
            ORDER BY m.lot
            """)
        let next = try PreparedStatement(
            db,
            """
            SELECT account, count(*) FROM transfer
            WHERE (debit = 'receivable' OR debt_lot IS NOT NULL) AND account = (
                SELECT min(account) FROM transfer
                WHERE (debit = 'receivable' OR debt_lot IS NOT NULL) AND account > ?
            )
            """)
        let names = try AccountNames(db)
        var rows: [ReportRow] = []
        var passed = after
        var walked: Int64 = 0
        // The last account of which nothing is left to read.
        var done = after.item == Int64.max ? after.account : after.account - 1
        while true {
            next.bind(1, done)
            let found = try next.first { row in row.optionalInteger(0).map { (account: $0, movements: row.integer(1)) }
            }
            guard let player = found ?? nil else { break }
            guard player.account > max(done, 0), player.account <= Plausible.accountMax else {
                throw StoreError.corrupt("account \(player.account) has a number that was never given")
            }
            if walked >= stepsMax { return try page(query, rows, after: after, passed: passed) }
            walked += player.movements
            select.bind(1, last)
            select.bind(2, player.account)
            select.bind(3, currency)
            select.bind(4, player.account == after.account ? after.item : 0)
            defer { select.reset() }
            while try select.next() {
                if rows.count == query.limit { return try page(query, rows, after: after, passed: passed) }
                rows.append(try debt(select, query.asOf, names))
                passed = ReportCursor(query.kind, account: select.integer(0), item: select.integer(1))
            }
            passed = ReportCursor(query.kind, account: player.account, item: Int64.max)
            done = player.account
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    private func debt(_ row: PreparedStatement, _ asOf: Timestamp, _ names: AccountNames) throws -> ReportRow {
        let lot = row.integer(1)
        guard let transaction = row.optionalInteger(3), let since = row.optionalInteger(5), row.integer(4) > 0,
            Plausible.isTime(since), since <= asOf, let source = row.optionalText(7).flatMap(Stored.sources.item)
        else { throw StoreError.corrupt("lot \(lot) has a debt that no refund of it made") }
        return .debt(
            account: try names.name(of: row.integer(0)), currency: try code(row.integer(2)),
            transaction: TransactionID(number: transaction), source: source, lot: lot, debt: row.integer(4),
            since: since, age: asOf &- since)
    }

    // MARK: Numbers

    func number(_ value: Int64) throws -> CurrencyID {
        guard value >= 1, value <= codes.count else { throw StoreError.corrupt("there is no currency \(value)") }
        return CurrencyID(truncatingIfNeeded: value)
    }

    func code(_ value: Int64) throws -> CurrencyCode { codes[Int(try number(value)) - 1] }
}
