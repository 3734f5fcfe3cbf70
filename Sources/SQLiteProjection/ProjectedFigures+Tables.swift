import GRDB
import Ledger

extension ProjectedFigures {
    /// What is counted is counted up to here: a row takes about a microsecond.
    package static let countMax = 100_000

    /// Each is the first entry of an index, or so many of one that has nothing else in it.
    private static let sql = """
        SELECT
            (SELECT count(*) FROM (SELECT 1 FROM hold WHERE state = 'open' LIMIT \(countMax))),
            (SELECT count(*) FROM (SELECT 1 FROM purchase WHERE account IS NULL LIMIT \(countMax))),
            (SELECT min(expires_at) FROM hold WHERE state = 'open'),
            (SELECT min(expires_at) FROM lot WHERE is_open AND expires_at IS NOT NULL),
            (SELECT max(time) FROM notification)
        """

    init(_ db: Database) throws {
        let stored = try StoredState(db)
        self.init()
        currencies = stored.currencies
        totals = stored.totals.sums
        position = stored.position
        _ = try PreparedStatement(db, ProjectedFigures.sql).first { row in
            openHolds = row.integer(0)
            unassignedPurchases = row.integer(1)
            nextExpiry = [row.optionalInteger(2), row.optionalInteger(3)].compactMap(\.self).min()
            newestNotification = row.optionalInteger(4)
        }
    }
}
