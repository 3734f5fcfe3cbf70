import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// A page that ends early, because it went through much, is gone on from: all pages together are the report.
@Suite struct ReportPagesTests {
    private static let gems = CurrencyCode("gems")!
    private static let gold = CurrencyCode("gold")!

    private static func read<Result>(_ folder: TemporaryFolder, _ body: (Database) throws -> Result) throws -> Result {
        try DatabaseQueue(path: folder.database).read(body)
    }

    /// The rows of all pages, of which each leads on, and how many pages there are.
    private static func pages(
        _ reports: Reports, _ kind: ReportKind, asOf: Timestamp, currency: CurrencyCode?, limit: Int
    ) throws -> (rows: [ReportRow], count: Int) {
        var query = ReportQuery(kind: kind, asOf: asOf, currency: currency, limit: limit)
        var (rows, count) = ([ReportRow](), 0)
        repeat {
            let page = try reports.page(query)
            rows += page.rows
            count += 1
            if let next = page.next {
                let before = query.after.flatMap { ReportCursor(kind, $0) } ?? ReportCursor(kind)
                try #require(try #require(ReportCursor(kind, next)) > before, "page \(count) of \(kind): \(next)")
            }
            query.after = page.next
        } while query.after != nil
        return (rows, count)
    }

    @Test(arguments: [ReportKind.balances, .debts], [1, 2, 5, 40])
    func pagesThatEndEarlyHaveTogetherEveryRowOnce(kind: ReportKind, stepsMax: Int) throws {
        var store = try Ledger(TemporaryFolder())
        for number in 0..<6 { try store.run(store.debt(of: number, payments: 2 * number), at: 5) }
        var workload = Workload(seed: 11)
        for batch in 1...60 {
            workload.now = Int64(batch) * 10
            try store.run((0..<8).map { _ in workload.next() }, at: workload.now)
        }
        try Self.read(store.folder) { db in
            let (reports, whole) = (try Reports(db, stepsMax: stepsMax), try Reports(db))
            for (currency, asOf) in [(nil, 900), (nil, 300), (Self.gems, 900), (Self.gold, 900)]
                as [(CurrencyCode?, Timestamp)]
            {
                let expected = try whole.page(
                    ReportQuery(kind: kind, asOf: asOf, currency: currency, limit: Limits.reportPageMax))
                #expect(expected.next == nil && (!expected.rows.isEmpty || kind == .debts && currency == Self.gold))
                for limit in [1, 3, 100] {
                    let found = try Self.pages(reports, kind, asOf: asOf, currency: currency, limit: limit)
                    #expect(found.rows == expected.rows, "\(currency?.text ?? "all") as of \(asOf), limit \(limit)")
                    if stepsMax < 5, limit == 100, currency == nil { #expect(found.count > 2) }
                }
            }
        }
        try store.projection.close()
    }

    /// As many steps as a page takes pass over wallets of the other currency alone.
    @Test func aPageThatWentThroughWalletsOfAnotherCurrencyAloneHasNoRowsAndANextPage() throws {
        var store = try Ledger(TemporaryFolder())
        func grant(_ number: Int, _ currency: CurrencyCode) -> Command {
            .grant(
                Grant(
                    key: RequestKey("grant \(number)")!, account: Workload.account(number), currency: currency,
                    amount: Amount(1)!))
        }
        for begin in stride(from: 0, to: Limits.reportStepsMax, by: 500) {
            try store.run((begin..<begin + 500).map { grant($0, Self.gems) }, at: 1)
        }
        try store.run(grant(Limits.reportStepsMax, Self.gold), at: 2)
        var query = ReportQuery(kind: .balances, asOf: 5, currency: Self.gold, limit: 10)
        let first = try store.projection.report(query)
        #expect(first.rows.isEmpty)
        query.after = try #require(first.next)
        let second = try store.projection.report(query)
        #expect(second.rows.count == 1 && second.next == nil)
        try store.projection.close()
    }

    @Test(arguments: [ReportKind.notifications, .consumptionRequests], [1, 2, 40])
    func pagesOfNotificationsHaveTogetherEveryRowOnce(kind: ReportKind, stepsMax: Int) throws {
        var store = try Ledger(TemporaryFolder())
        var workload = Workload(seed: 12)
        for batch in 1...400 {
            workload.now = Int64(batch) * 10
            try store.run((0..<12).map { _ in workload.next() }, at: workload.now)
        }
        try Self.read(store.folder) { db in
            let (reports, whole) = (try Reports(db, stepsMax: stepsMax), try Reports(db))
            for asOf: Timestamp in [3_000, 9_000] {
                let expected = try whole.page(ReportQuery(kind: kind, asOf: asOf, limit: Limits.reportPageMax))
                #expect(expected.next == nil && expected.rows.count > 5)
                for limit in [1, 3, 100] {
                    let found = try Self.pages(reports, kind, asOf: asOf, currency: nil, limit: limit)
                    #expect(found.rows == expected.rows, "as of \(asOf), limit \(limit)")
                    if stepsMax < 5 || limit < 5 { #expect(found.count > 2) }
                }
            }
        }
        try store.projection.close()
    }

    /// Whatever somebody makes up as a cursor.
    @Test(arguments: [
        "0.0", "0.9223372036854775807", "9223372036854775807.0", "9223372036854775807.9223372036854775807",
    ])
    func aCursorThatNoPageGaveIsAnswered(cursor: String) throws {
        var store = try Ledger(TemporaryFolder())
        try store.run(.credit(Workload.purchase(1, signedDate: 1), account: Workload.account(1)), at: 1)
        for kind in ReportKind.allCases {
            let page = try store.projection.report(
                ReportQuery(kind: kind, asOf: 5, limit: 10, after: "\(kind.rawValue).\(cursor)"))
            // Behind the lots of what is deferred come the transfers.
            let isBeforeTransfers = kind == .deferred && cursor.hasPrefix("0.")
            #expect(page.next == (isBeforeTransfers ? "deferred.1.0" : nil), "\(kind)")
        }
        try store.projection.close()
    }
}
