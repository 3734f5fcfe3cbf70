import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// Sums over all players that 64 bits do not hold: applied, stored, read again and reported, now and as of the past.
@Suite struct WideSumTests {
    private static let gems = CurrencyCode("gems")!
    private static let most = Amount(Limits.amountMax)!
    private static let players = 1_100
    private static let rounds = 1_600
    private static let (granted, expiry, turned): (Timestamp, Timestamp, Timestamp) = (10, 1_000, 500)

    /// Every player but the first was given as much as a wallet has, until `expiry`. The first player's is set aside
    /// and given back, in steps of one batch each: sums of one batch, and of the transfers between two that are
    /// remembered, pass 64 bits too.
    private func filled() throws -> Ledger {
        let catalog = Catalog(
            currencies: [Self.gems: CurrencySettings(grantMax: Limits.amountMax)], products: [:])
        var store = try Ledger(TemporaryFolder(), catalog: catalog)
        let grants = (0..<Self.players).map { number in
            Command.grant(
                Grant(
                    key: RequestKey("g\(number)")!, account: Workload.account(number), currency: Self.gems,
                    amount: Self.most, expiresAt: number == 0 ? nil : Self.expiry))
        }
        try store.run(grants, at: Self.granted)
        for half in 0..<2 {
            let turns = (half * Self.rounds / 2..<(half + 1) * Self.rounds / 2).flatMap { round in
                [
                    Command.hold(
                        Hold(
                            key: RequestKey("h\(round)")!, account: Workload.account(0), currency: Self.gems,
                            amount: Self.most, timeoutMilliseconds: Limits.holdMillisecondsMax)),
                    Command.release(Release(key: RequestKey("r\(round)")!, holdKey: RequestKey("h\(round)")!)),
                ]
            }
            for turn in turns { _ = try store.decide([turn], at: Self.turned) }
            try store.project()
        }
        return store
    }

    private func expected(turned: Bool, expired: Bool) -> [AccountKind: Totals.Turnover] {
        let most = Int128(Limits.amountMax)
        let given = most * Int128(Self.players)
        let held = turned ? most * Int128(Self.rounds) : 0
        let gone = expired ? most * Int128(Self.players - 1) : 0
        return [
            .granted: Totals.Turnover(debits: given), .held: Totals.Turnover(debits: held, credits: held),
            .wallet: Totals.Turnover(debits: held + gone, credits: given + held),
            .expired: Totals.Turnover(credits: gone),
        ]
    }

    private func check(
        _ store: Ledger, asOf time: Timestamp, turned: Bool, expired: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let expected = expected(turned: turned, expired: expired)
        let page = try store.projection.report(ReportQuery(kind: .trial, asOf: time))
        #expect(page.rows.count == AccountKind.allCases.count { !$0.isListedOnceUsed }, sourceLocation: sourceLocation)
        for case .trial(_, let kind, let debits, let credits) in page.rows {
            #expect(
                Totals.Turnover(debits: debits, credits: credits) == expected[kind] ?? Totals.Turnover(),
                "\(kind.name) as of \(time)", sourceLocation: sourceLocation)
        }
    }

    @Test func trialBalancesAreExactWhenSixtyFourBitsAreNotEnough() throws {
        var store = try filled()
        #expect(store.books.position.transfer > PastTotals.interval)
        try check(store, asOf: Self.granted, turned: false, expired: false)
        try check(store, asOf: Self.turned, turned: true, expired: false)
        // What has expired and is not posted yet.
        try check(store, asOf: Self.expiry, turned: true, expired: true)
        var posted = 0
        while case .expired(let players) = try store.run(.expire, at: Self.expiry + 10), players > 0 {
            posted += players
        }
        #expect(posted == Self.players - 1)
        // What had expired, and was posted later.
        try check(store, asOf: Self.expiry, turned: true, expired: true)
        try check(store, asOf: Self.expiry + 10, turned: true, expired: true)
        try check(store, asOf: Self.turned, turned: true, expired: false)
        try check(store, asOf: Self.granted, turned: false, expired: false)
    }

    @Test func sumsAreReadAgainAfterARestartAndBooksGoOn() throws {
        var store = try filled()
        let totals = store.books.totals
        try store.restart()
        #expect(store.books.totals == totals)
        #expect(try store.projection.state().totals == totals)
        for (table, condition) in [("total", "TRUE"), ("total_past", "transfer = 4096")] {
            let types = try DatabaseQueue(path: store.folder.database).read { db in
                try String.fetchAll(
                    db,
                    sql: "SELECT typeof(debits) FROM \(table) WHERE kind IN ('granted', 'purchased') AND \(condition)")
            }
            #expect(types.contains("text") && types.filter { $0 != "text" && $0 != "integer" }.isEmpty)
        }
        let spend = Command.spend(
            Spend(
                key: RequestKey("s")!, account: Workload.account(0),
                debits: [CurrencyAmount(currency: Self.gems, amount: Self.most)]))
        guard case .spend = try store.run(spend, at: Self.turned) else {
            Issue.record("nothing was spent")
            return
        }
        #expect(store.projection.checkAll().isEmpty)
        let anew = try TemporaryFolder()
        try open(anew).apply(store.blocks)
        #expect(try anew.dump() == store.folder.dump())
    }

    /// A sum has one form. What has another was written by somebody else.
    @Test func aSumOfAnotherFormIsRefusedByName() throws {
        var store = try filled()
        let later = Grant(
            key: RequestKey("later")!, account: Workload.account(1), currency: Self.gems, amount: Amount(1)!)
        try store.run(.grant(later), at: Self.expiry)
        try store.projection.close()
        let forms = [
            "'9223372036854775807'", "'09907919180215090100'", "'-9907919180215090100'", "'9907919180215090100 '",
            "'170141183460469231731687303715884105728'", "'170141183460469231731687303715884105727'",
            "'83076749736557242056487941267521536'", "''", "'x'", "x'00'", "-1", "1.5",
        ]
        for form in forms {
            let copy = try store.folder.copy()
            try copy.change("UPDATE total SET debits = \(form) WHERE kind = 'wallet'")
            let error = #expect(throws: (any Error).self, "\(form)") { try open(copy).state() }
            let words = error.map { "\($0)" } ?? ""
            #expect(words.contains("a total of currency 1 cannot be read"), "\(form): \(words)")

            let past = try store.folder.copy()
            try past.change("UPDATE total_past SET credits = \(form) WHERE kind = 'wallet'")
            let fault = #expect(throws: StoreError.self, "\(form)") {
                try open(past).report(ReportQuery(kind: .trial, asOf: Self.turned))
            }
            #expect(fault?.description.contains("a total of the past") == true, "\(form): \(fault as Any)")
        }
    }
}
