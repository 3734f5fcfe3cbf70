import GRDB
import Ledger

/// The periods that were closed by name, as the tables have them.
struct StoredClosings {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// Where the last of them ends, and when the ledger began.
    /// - Throws: ``StoreError``
    func periods() throws -> Books.Periods {
        let select = try PreparedStatement(
            db, "SELECT (SELECT time FROM block WHERE number = 1), (SELECT max(through) FROM closing)")
        let periods = try select.first { row in
            Books.Periods(began: row.optionalInteger(0) ?? 0, closedThrough: row.optionalInteger(1) ?? -1)
        }
        guard let periods, Plausible.isTime(periods.began), Plausible.isTime(periods.closedThrough) else {
            throw StoreError.corrupt("when the ledger began, or its last period ended, cannot be")
        }
        return periods
    }

    /// The period that ends at a time.
    /// - Throws: ``StoreError``
    func closing(through time: Timestamp) throws -> PeriodClosing? {
        let select = try StoredClosings.select(db, "closing.through = ?")
        select.bind(1, time)
        return try select.first { try StoredClosings.closing($0) }
    }

    /// Which rows ``closing(_:)`` reads, in their order.
    static func select(_ db: Database, _ condition: String) throws -> PreparedStatement {
        try PreparedStatement(
            db,
            """
            SELECT
                closing.through, closing.block, closing.time, block.hash, actor.name,
                closing.actor IS NOT NULL AND actor.name IS NULL
            FROM closing
                LEFT JOIN block ON block.number = closing.block
                LEFT JOIN actor ON actor.id = closing.actor
            WHERE \(condition)
            ORDER BY closing.through
            """)
    }

    /// - Throws: ``StoreError`` where a row does not fit.
    static func closing(_ row: PreparedStatement) throws -> PeriodClosing {
        guard let hash = Digest(row.blob(3)), Plausible.isTime(row.integer(0)), Plausible.isTime(row.integer(2)),
            row.integer(0) <= row.integer(2), row.integer(1) > 0, row.integer(5) == 0
        else { throw StoreError.corrupt("the closing through \(row.integer(0)) names what cannot be") }
        return PeriodClosing(
            through: row.integer(0), block: row.integer(1), hash: hash.hexadecimal, time: row.integer(2),
            actor: row.optionalText(4))
    }
}

extension Reports {
    /// The periods that were closed by name at the report's time, in their order.
    func closings(_ query: ReportQuery, _ after: ReportCursor) throws -> ReportPage {
        let select = try StoredClosings.select(db, "(closing.through, closing.block) > (?1, ?2) AND closing.time <= ?3")
        select.bind(1, after.account)
        select.bind(2, after.item)
        select.bind(3, query.asOf)
        var rows: [ReportRow] = []
        var passed = after
        defer { select.reset() }
        while try select.next() {
            if rows.count == query.limit { return try page(query, rows, after: after, passed: passed) }
            let closing = try StoredClosings.closing(select)
            rows.append(.closing(closing))
            passed = ReportCursor(query.kind, account: closing.through, item: closing.block)
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }
}
