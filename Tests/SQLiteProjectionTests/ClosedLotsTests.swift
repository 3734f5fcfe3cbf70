import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// Reports of lots cost what they read: what was used up is passed over.
@Suite struct ClosedLotsTests {
    private static let gems = CurrencyCode("gems")!

    private static func grant(_ number: Int) -> Command {
        .grant(
            Grant(
                key: RequestKey("g\(number)")!, account: Workload.account(number % 50), currency: gems,
                amount: Amount(10)!))
    }

    private static func spend(_ number: Int, _ amount: Int64) -> Command {
        .spend(
            Spend(
                key: RequestKey("s\(number)")!, account: Workload.account(number % 50),
                debits: [CurrencyAmount(currency: gems, amount: Amount(amount)!)]))
    }

    /// How many pages of so many steps a report has, and its rows.
    private static func read(
        _ reports: Reports, _ kind: ReportKind, asOf time: Timestamp, scope: ReportScope = .open
    ) throws -> (pages: Int, rows: [ReportRow]) {
        var query = ReportQuery(kind: kind, asOf: time, scope: scope, limit: Limits.reportPageMax)
        var (pages, rows): (Int, [ReportRow]) = (0, [])
        repeat {
            let page = try reports.page(query)
            pages += 1
            rows += page.rows
            query.after = page.next
        } while query.after != nil
        return (pages, rows)
    }

    @Test func whatWasUsedUpIsNotRead() throws {
        var store = try Ledger(TemporaryFolder())
        // A thousand lots that are used up at once, and twenty that are not.
        for batch in 0..<20 {
            let numbers = Array(batch * 50..<batch * 50 + 50)
            try store.run(numbers.map { Self.grant($0) } + numbers.map { Self.spend($0, 10) }, at: 1_000)
        }
        try store.run((1_000..<1_020).map { Self.grant($0) }, at: 2_000)
        try store.run((1_000..<1_005).map { Self.spend($0, 10) }, at: 3_000)
        try DatabaseQueue(path: store.folder.database).read { db in
            let reports = try Reports(db, stepsMax: 10)
            for (time, count) in [(999, 0), (1_000, 0), (2_000, 20), (2_999, 20), (3_000, 15), (4_000, 15)] {
                let read = try Self.read(reports, .lots, asOf: Timestamp(time))
                #expect(read.rows.count == count, "at \(time)")
                // Each of the rows, and at most what changed five of the lots since.
                #expect(read.pages <= (count + 5) / 10 + 2, "at \(time): \(read.pages) pages")
                #expect(try Self.read(reports, .deferred, asOf: Timestamp(time)).rows.isEmpty)
            }
            let all = try Self.read(reports, .lots, asOf: 4_000, scope: .all)
            #expect(all.rows.count == 1_020 && all.pages > 100)
        }
        try store.projection.close()
    }
}
