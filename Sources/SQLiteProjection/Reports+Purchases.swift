import GRDB
import Ledger

/// What finance reads of purchases and of the journal, row by row.
extension Reports {
    private static let columns = """
        p.transaction_id, p.account, p.product, p.quantity, p.source, p.storefront, p.purchase_date, p.time, p.price,
        p.price_currency, p.grants, p.signed_date, p.revoked, p.entry, o.time, p.revocation_date,
        (SELECT e.block FROM purchase_event AS e WHERE e.transaction_id = p.transaction_id AND e.entry = p.entry)
        """

    /// The purchases of a period, as they were at its end.
    func purchases(_ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock) throws -> ReportPage {
        let select = try PreparedStatement(
            db,
            """
            SELECT \(Reports.columns) FROM purchase AS p LEFT JOIN entry AS o ON o.id = p.entry
            WHERE (p.time, p.transaction_id) > (?1, ?2) AND p.time <= ?3 AND p.block <= ?4
            ORDER BY p.time, p.transaction_id
            """)
        let from = query.from.map { JournalCut.earliestPosting($0, query.dates) } ?? 0
        let begin = max(after, ReportCursor(query.kind, account: from - 1, item: Int64.max))
        select.bind(1, begin.account)
        select.bind(2, begin.item)
        select.bind(3, query.dates == .posted ? query.asOf : Int64.max)
        select.bind(4, after.end ?? Int64.max)
        return try purchases(query, after, clock, select) { ReportCursor(query.kind, account: $1, item: $0) }
    }

    /// Purchases that no account had claimed.
    func unassigned(_ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock) throws -> ReportPage {
        let select = try PreparedStatement(
            db,
            """
            SELECT \(Reports.columns) FROM (
                SELECT transaction_id FROM purchase WHERE account IS NULL AND transaction_id > ?1
                UNION ALL
                \(query.dates == .posted
                    ? "SELECT transaction_id FROM assignment WHERE time > ?2 AND transaction_id > ?1"
                    : """
                    SELECT a.transaction_id FROM assignment AS a
                        JOIN purchase_event AS e ON e.transaction_id = a.transaction_id AND e.entry = a.entry
                    WHERE a.time > ?2 AND a.transaction_id > ?1 AND e.block > ?3
                    """)
            ) AS u
                JOIN purchase AS p ON p.transaction_id = u.transaction_id LEFT JOIN entry AS o ON o.id = p.entry
            WHERE \(query.dates == .posted ? "p.time <= ?2" : "p.block <= ?3")
            ORDER BY p.transaction_id
            """)
        select.bind(1, after.item)
        // By when it happened, what was claimed late was sold to that account all the same; but not what is claimed
        // while the pages are read.
        select.bind(2, query.asOf)
        if let end = after.end { select.bind(3, end) }
        return try purchases(query, after, clock, select) { transaction, _ in
            ReportCursor(query.kind, item: transaction)
        }
    }

    private func purchases(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ select: PreparedStatement,
        _ place: (_ transaction: Int64, _ time: Timestamp) -> ReportCursor
    ) throws -> ReportPage {
        // What takes a purchase back happened when the App Store did so, where it says when.
        let newest = try PreparedStatement(
            db,
            """
            SELECT signed_date, revoked, revocation_date FROM purchase_event
            WHERE transaction_id = ?1 AND kind IN ('signed', 'stated')
                AND \(query.dates == .posted ? "time" : "coalesce(revocation_date, time)") <= ?2 AND block <= ?3
            ORDER BY signed_date DESC, revoked DESC LIMIT 1
            """)
        let (names, links) = (try AccountNames(db), try StoredLinks(db, asOf: query.asOf, clock))
        var lines = PageLines(query)
        var passed = after
        var walked = 0
        defer { select.reset() }
        while try select.next() {
            let (number, purchaseDate, time) = (select.integer(0), select.integer(6), select.integer(7))
            guard Plausible.isTime(time), Plausible.isTime(purchaseDate), Plausible.isShare(select.integer(12)),
                let source = Stored.sources.item(select.text(4)), number >= 0
            else { throw StoreError.corrupt("purchase \(number) has values that cannot be") }
            if walked >= stepsMax { return try page(query, lines.rows, after: after, passed: passed) }
            walked += 1
            // What other books had sold comes into these when it is carried over.
            let isDated = query.dates == .effective && source != .imported
            let happened = isDated ? purchaseDate : time
            guard happened >= query.from ?? Int64.min, happened <= query.asOf else {
                passed = place(number, time)
                continue
            }
            newest.bind(1, number)
            newest.bind(2, query.asOf)
            newest.bind(3, after.end ?? Int64.max)
            let later = try newest.first { (($0.integer(0), $0.integer(1)), $0.optionalInteger(2)) }
            let first = ((select.integer(11), select.integer(12)), select.optionalInteger(15))
            let isFirstKnown = query.dates == .posted || first.1 ?? time <= query.asOf
            let last = later.map { isFirstKnown && $0.0 <= first.0 ? first : $0 } ?? (isFirstKnown ? first : nil)
            let (revoked, revocationDate) = (last?.0.1 ?? 0, last?.1)
            // Where an account claimed it later, one of its events names the entry that opened its lots.
            let isClaimed = select.optionalInteger(16).map { $0 <= after.end ?? Int64.max } ?? true
            // One that was carried over, and of which nothing is left, has an account and posted nothing.
            let isOpened =
                isClaimed
                && select.optionalInteger(14).map { (isDated ? happened : $0) <= query.asOf }
                    ?? (select.optionalInteger(13) == nil && select.optionalInteger(1) != nil)
            let owner = try isOpened ? select.optionalInteger(1).map { try links.owner(of: $0) } : nil
            let line = ReportLine(
                query.kind,
                [
                    .text(TransactionID(number: number).description),
                    try owner.map { .text(try names.name(of: $0).text) },
                    .text(select.text(2)), .integer(select.integer(3)), .text(Stored.sources.text(source)),
                    select.optionalText(5).map { .text($0) }, .integer(purchaseDate), .integer(time),
                    select.optionalInteger(8).map { .sum(Int128($0)) }, select.optionalText(9).map { .text($0) },
                    .text(source.basis.rawValue), .integer(revoked), revocationDate.map { .integer($0) },
                    .text(select.text(10)), isOpened ? select.optionalInteger(13).map { .integer($0) } : nil,
                ])
            guard lines.add(line) else { return try page(query, lines.rows, after: after, passed: passed) }
            passed = place(number, time)
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: lines.rows, next: nil)
    }

    /// The entries of a period, a row a transfer, with what each moved of the price of its lot.
    func journal(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        let (reader, names) = (try Movements(db), try AccountNames(db))
        let selectActor = try PreparedStatement(db, "SELECT name FROM actor WHERE id = ?")
        var lines = PageLines(query)
        let passed = try movements(
            reader, ReportPeriod(query, after, clock), after: after.item, currency: currency
        ) { movement, _ in
            let details = reader.details
            let actor = try details.actor.flatMap { number in
                selectActor.bind(1, number)
                return try selectActor.first { $0.text(0) }
            }
            let (change, sold) = (movement.change, movement.sold)
            let line = ReportLine(
                query.kind,
                [
                    .integer(movement.entry), .integer(movement.time), .text(movement.kind.name),
                    .integer(movement.id), .text(try names.name(of: movement.account).text),
                    .text(try code(movement.currency).text), .text(movement.debit.name),
                    .text(movement.credit.name), .integer(movement.amount), .integer(movement.lot),
                    .text(Stored.lotClasses.text(movement.lotClass)), details.debtLot.map { .integer($0) },
                    details.transaction.map { .text($0.description) }, details.key.map { .text($0) },
                    details.note.map { .text($0) }, actor.map { .text($0) },
                    sold.map { .text(Stored.sources.text($0.source)) },
                    sold?.priceCurrency.map { .text($0) }, sold.map { .text($0.source.basis.rawValue) },
                    .sum(Int128(change.deferred + movement.moved)), .sum(Int128(change.recognised)),
                    .sum(Int128(change.refunded)),
                ])
            return lines.add(line) ? 0 : nil
        }
        return try page(query, lines.rows, after: after, passed: passed.map { ReportCursor(query.kind, item: $0) })
    }
}
