import GRDB
import Ledger

/// Notifications, and Apple's questions how much was consumed.
extension Reports {
    /// In the order in which they were recorded. A page ends early where their entries have many transfers.
    func notifications(_ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock) throws -> ReportPage {
        let select = try PreparedStatement(
            db,
            """
            SELECT
                n.time, n.number, n.uuid, n.type, n.subtype, n.signed_date, n.transaction_id, n.entry, p.account,
                CASE WHEN p.grants = '' THEN p.time ELSE opening.time END, p.transaction_id IS NOT NULL, n.subject
            FROM notification AS n
                LEFT JOIN purchase AS p ON p.transaction_id = n.transaction_id
                LEFT JOIN entry AS opening ON opening.id = p.entry
            WHERE (n.time, n.number) > (?1, ?2) AND n.time <= ?3
            ORDER BY n.time, n.number
            """)
        // Numbers begin with 1.
        let begin = max(after, ReportCursor(query.kind, account: query.from ?? 0))
        select.bind(1, begin.account)
        select.bind(2, begin.item)
        select.bind(3, query.asOf)
        let (names, links) = (try AccountNames(db), try StoredLinks(db, asOf: query.asOf, clock))
        let postings = try PostedAmounts(self)
        var rows: [ReportRow] = []
        var passed = after
        var (walked, bytes) = (0, 0)
        defer { select.reset() }
        while try select.next() {
            if walked >= stepsMax || rows.count == query.limit {
                return try page(query, rows, after: after, passed: passed)
            }
            let (time, number) = (select.integer(0), select.integer(1))
            let transaction = select.optionalInteger(6).map { TransactionID(number: $0) }
            guard Plausible.isTime(select.integer(5)), (transaction != nil) == (select.integer(10) == 1) else {
                throw StoreError.corrupt("notification \(number) has a purchase or a time that cannot be")
            }
            // What was assigned after the report's time was nobody's then.
            let openedAt = select.optionalInteger(9)
            let isAssigned = openedAt.map { $0 <= query.asOf } ?? false
            let owner = try isAssigned ? select.optionalInteger(8).map { try links.owner(of: $0) } : nil
            let posting = try select.optionalInteger(7).map { try postings.read($0, of: transaction) }
            let row = ReportRow.Notification(
                uuid: select.text(2), type: select.text(3), subtype: select.optionalText(4),
                signedDate: select.integer(5), time: time,
                transaction: transaction ?? select.optionalInteger(11).map { TransactionID(number: $0) },
                account: try owner.map { try names.name(of: $0) },
                verdict: transaction == nil
                    ? .recorded : posting?.verdict ?? (openedAt.map { $0 <= time } == true ? .unchanged : .unassigned),
                entry: select.optionalInteger(7), posted: posting?.amounts ?? [])
            walked += 1 + (posting?.transfers ?? 0)
            bytes += row.resultBytes
            if bytes > Limits.pageBytesMax && !rows.isEmpty {
                return try page(query, rows, after: after, passed: passed)
            }
            rows.append(.notification(row))
            passed = ReportCursor(query.kind, account: time, item: number)
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    /// In the order of their deadlines.
    func consumptionRequests(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock
    ) throws -> ReportPage {
        // With the index's own condition, so that it is used.
        let select = try PreparedStatement(
            db,
            """
            SELECT
                n.signed_date, n.number, n.uuid, n.transaction_id, n.reason, n.time, p.product, p.account,
                CASE WHEN p.grants = '' THEN p.time ELSE opening.time END
            FROM notification AS n
                LEFT JOIN purchase AS p ON p.transaction_id = n.transaction_id
                LEFT JOIN entry AS opening ON opening.id = p.entry
            WHERE n.type = 'CONSUMPTION_REQUEST' AND n.transaction_id IS NOT NULL
                AND (n.signed_date, n.number) > (?1, ?2) AND n.time <= ?3
            ORDER BY n.signed_date, n.number
            """)
        var begin = after
        if query.scope == .open {
            // Of which the deadline is not past.
            let past = query.asOf - Limits.consumptionAnswerMilliseconds
            begin = max(after, ReportCursor(query.kind, account: past, item: Int64.max))
        }
        select.bind(1, begin.account)
        select.bind(2, begin.item)
        select.bind(3, query.asOf)
        let (names, calls) = (try AccountNames(db), try StoredCalls(db))
        let links = try StoredLinks(db, asOf: query.asOf, clock)
        var rows: [ReportRow] = []
        var passed = after
        var (walked, bytes) = (0, 0)
        defer { select.reset() }
        while try select.next() {
            if walked >= stepsMax || rows.count == query.limit {
                return try page(query, rows, after: after, passed: passed)
            }
            walked += 1
            let (signedDate, number) = (select.integer(0), select.integer(1))
            let transaction = TransactionID(number: select.integer(3))
            guard let product = select.optionalText(6), Plausible.isTime(signedDate) else {
                throw StoreError.corrupt("notification \(number) has a purchase or a time that cannot be")
            }
            let place = ReportCursor(query.kind, account: signedDate, item: number)
            let call = try calls.lastWithTime(of: transaction, .consumptionSent, number, through: query.asOf)
            if query.scope == .open && call?.end.isFinal == true {
                passed = place
                continue
            }
            let isAssigned = select.optionalInteger(8).map { $0 <= query.asOf } ?? false
            let owner = try isAssigned ? select.optionalInteger(7).map { try links.owner(of: $0) } : nil
            let consent = try owner.flatMap { try links.consent(of: links.members(of: $0), through: query.asOf) }
            let row = ReportRow.ConsumptionRequest(
                uuid: select.text(2), transaction: transaction, product: product,
                account: try owner.map { try names.name(of: $0) }, reason: select.optionalText(4),
                signedDate: signedDate, time: select.integer(5),
                consent: consent.map { $0.consumption ? .given : .withdrawn } ?? .unknown,
                state: ReportRow.ConsumptionRequest.State(
                    call?.end, deadline: signedDate + Limits.consumptionAnswerMilliseconds, at: query.asOf),
                endedAt: call?.time, code: call?.end.code)
            bytes += row.resultBytes
            if bytes > Limits.pageBytesMax && !rows.isEmpty {
                return try page(query, rows, after: after, passed: passed)
            }
            rows.append(.consumptionRequest(row))
            passed = place
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }
}

/// What entries changed of what stands of their purchases.
private struct PostedAmounts {
    struct Posting {
        var verdict: ReportRow.Notification.Verdict
        var amounts: [PostedAmount]
        /// How many transfers it was added up of.
        var transfers: Int
    }

    private let reports: Reports
    private let selectEntry: PreparedStatement
    private let selectTransfers: PreparedStatement

    init(_ reports: Reports) throws {
        self.reports = reports
        selectEntry = try PreparedStatement(
            reports.db,
            """
            SELECT
                kind, first_transfer, transaction_id,
                coalesce(
                    (SELECT first_transfer FROM entry WHERE id = ?1 + 1),
                    (SELECT transfer + 1 FROM projection WHERE id = 1))
            FROM entry WHERE id = ?1
            """)
        // What is credited and what is refunded. Debts that the entry pays are none of the purchase's.
        selectTransfers = try PreparedStatement(
            reports.db,
            """
            SELECT
                currency, sum(CASE WHEN debit IN ('purchased', 'refunded') THEN amount ELSE 0 END),
                sum(CASE WHEN credit = 'refunded' THEN amount ELSE 0 END)
            FROM transfer WHERE id >= ? AND id < ? GROUP BY currency ORDER BY min(id)
            """)
    }

    func read(_ entry: EntryID, of transaction: TransactionID?) throws -> Posting {
        selectEntry.bind(1, entry)
        let found = try selectEntry.first { row in
            (kind: row.text(0), first: row.integer(1), transaction: row.optionalInteger(2), end: row.integer(3))
        }
        guard let found, let transaction, found.transaction == transaction.number, found.first > 0,
            found.end > found.first, Plausible.isAmount(found.end)
        else { throw StoreError.corrupt("entry \(entry), which a notification led to, is not about its purchase") }
        let verdict: ReportRow.Notification.Verdict
        switch Stored.entryKinds.item(found.kind) {
        case .credit: verdict = .credited
        case .refund: verdict = .reversed
        case .reinstatement: verdict = .reinstated
        case _: throw StoreError.corrupt("entry \(entry), which a notification led to, is of another kind")
        }
        selectTransfers.bind(1, found.first)
        selectTransfers.bind(2, found.end)
        var amounts: [PostedAmount] = []
        try selectTransfers.forEach { row in
            let units = row.integer(1) - row.integer(2)
            if units != 0 { amounts.append(PostedAmount(currency: try reports.code(row.integer(0)), units: units)) }
        }
        return Posting(verdict: verdict, amounts: amounts, transfers: Int(found.end - found.first))
    }
}
