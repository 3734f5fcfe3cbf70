import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// What an operator watches of the tables.
@Suite struct FiguresTests {
    private static func tables() throws -> Ledger {
        var store = try Ledger(TemporaryFolder())
        var workload = Workload(seed: 29)
        for batch in 1...40 {
            workload.now = Int64(batch) * 10
            try store.run((0..<12).map { _ in workload.next() }, at: workload.now)
        }
        return store
    }

    @Test func theyAreWhatTheTablesHave() throws {
        let store = try Self.tables()
        let figures = try #require(try store.projection.figures())
        let state = try store.projection.state()
        #expect(figures.totals == state.totals && figures.currencies == state.currencies)
        #expect(figures.position == state.position)
        let counted = try store.projection.pool.read { db in
            try [
                "SELECT count(*) FROM hold WHERE state = 'open'", "SELECT count(*) FROM purchase WHERE account IS NULL",
                """
                SELECT min(expires_at) FROM (
                    SELECT expires_at FROM hold WHERE state = 'open'
                    UNION ALL SELECT expires_at FROM lot WHERE is_open AND expires_at IS NOT NULL)
                """, "SELECT max(time) FROM notification",
            ].map { try Int64.fetchOne(db, sql: $0) }
        }
        #expect(figures.openHolds == counted[0] && counted.contains { $0 ?? 0 > 0 })
        #expect(figures.unassignedPurchases == counted[1])
        #expect(figures.nextExpiry == counted[2])
        #expect(figures.newestNotification == counted[3])
        #expect(figures.walPages > 0)
        try store.projection.close()
    }

    @Test func nothingIsScannedButWhatIsCounted() throws {
        let store = try Self.tables()
        let plans = try plans(of: store.folder) { db in _ = try ProjectedFigures(db) }
        for (sql, steps) in plans {
            for step in steps where step.hasPrefix("SCAN") {
                let isBounded = ["hold USING INDEX hold_", "purchase USING INDEX purchase_unassigned"]
                    .contains(where: step.contains)
                let isShort = ["currency", "projection", "total", "CONSTANT ROW", "subquery"]
                    .contains(where: step.contains)
                #expect(isBounded || isShort || step.contains("COVERING INDEX"), "\(sql): \(step)")
            }
        }
        let steps = plans.values.flatMap { $0 }
        for index in ["lot_expiry", "hold_expiry", "notification_time", "purchase_unassigned"] {
            #expect(steps.contains { $0.contains("INDEX \(index)") }, "\(index): \(steps)")
        }
        try store.projection.close()
    }

    @Test func emptyTablesHaveNothingToTell() throws {
        let folder = try TemporaryFolder()
        let tables = try open(folder)
        let figures = try #require(try tables.figures())
        #expect(figures.openHolds == 0 && figures.unassignedPurchases == 0 && figures.nextExpiry == nil)
        #expect(figures.newestNotification == nil && figures.position == LastNumbers())
        try tables.close()
    }
}
