import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// What there may be to tell Apple is found by indexes, however large the tables are.
@Suite struct AppStoreWorkTests {
    private static func tables() throws -> Ledger {
        var store = try Ledger(TemporaryFolder())
        var workload = Workload(seed: 13)
        for batch in 1...40 {
            workload.now = Int64(batch) * 10
            try store.run((0..<12).map { _ in workload.next() }, at: workload.now)
        }
        return store
    }

    @Test func nothingIsScanned() throws {
        let store = try Self.tables()
        let plans = try plans(of: store.folder) { db in
            for query in AppStoreWorkQuery.all { _ = try AppStoreWorkReader(db).page(query) }
            let reports = try Reports(db)
            _ = try reports.page(ReportQuery(kind: .notifications, asOf: 1_000))
            _ = try reports.page(ReportQuery(kind: .consumptionRequests, asOf: 1_000, scope: .all))
        }
        for (sql, steps) in plans {
            for step in steps {
                // Of these there are few rows, or one.
                if ["currency", "projection"].contains(where: step.contains) { continue }
                #expect(!step.hasPrefix("SCAN"), "\(sql): \(step)")
                #expect(!step.contains("TEMP B-TREE FOR ORDER BY") || sql.contains("GROUP BY"), "\(sql): \(step)")
            }
        }
        let steps = plans.values.flatMap { $0 }
        for index in [
            "notification_request ", "notification_request_date", "notification_time", "purchase_evidence",
            "purchase_event_call",
        ] {
            #expect(steps.contains { $0.contains("INDEX \(index)") }, "\(index): \(steps)")
        }
        try store.projection.close()
    }

    @Test func aPageHasAsManyRowsAsThereMayBeAtMost() throws {
        let store = try Self.tables()
        func count(_ limit: Int) throws -> Int {
            guard case .purchases(let rows) = try store.projection.appStoreWork(.purchases(after: 0, limit: limit))
            else {
                return -1
            }
            return rows.count
        }
        let all = try count(Limits.appStoreWorkMax)
        #expect(all > 20)
        #expect(try count(Int.max) == all)
        for limit in [7, 0, -1] { #expect(try count(limit) == max(0, limit)) }
        try store.projection.close()
    }
}
