import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

private let gems = CurrencyCode("gems")!

/// The report `lots` of free lots that have expired: from then on only what is held of them is left, whenever the
/// expiry is posted.
@Suite struct ExpiredLotsTests {
    private let holder = Workload.account(1)
    private let other = Workload.account(2)

    private func grant(
        _ key: String, to account: AccountName, _ amount: Int64, expiresAt: Timestamp? = nil
    ) throws -> Command {
        .grant(
            Grant(
                key: try #require(RequestKey(key)), account: account, currency: gems,
                amount: try #require(Amount(amount)), expiresAt: expiresAt))
    }

    private func hold(_ amount: Int64, of account: AccountName) throws -> Command {
        .hold(
            Hold(
                key: try #require(RequestKey("hold")), account: account, currency: gems,
                amount: try #require(Amount(amount)), timeoutMilliseconds: 5_000))
    }

    /// Two lots that expire at 1,000, of 70, of which 30 are held from 2 to 5,002, and of 20; and one of 5 that never
    /// does. Nothing is posted of their expiry.
    private func store(holder: AccountName? = nil) throws -> Ledger {
        let holder = holder ?? self.holder
        var store = try Ledger(TemporaryFolder())
        try store.run(grant("a", to: holder, 70, expiresAt: 1_000), at: 1)
        try store.run(grant("b", to: other, 20, expiresAt: 1_000), at: 1)
        try store.run(hold(30, of: holder), at: 2)
        try store.run(grant("c", to: Workload.account(3), 5), at: 3)
        return store
    }

    /// What is posted and what happened are one: nothing that expires was posted late.
    private func lines(_ store: Ledger, at time: Timestamp, _ scope: ReportScope) throws -> [ReportLine] {
        try DatabaseQueue(path: store.folder.database).read { db in
            func lines(_ dates: ReportDates) throws -> [ReportLine] {
                let query = ReportQuery(kind: .lots, asOf: time, dates: dates, scope: scope)
                return try Reports(db).page(query).rows.compactMap { row in
                    if case .line(let line) = row { line } else { nil }
                }
            }
            let posted = try lines(.posted)
            #expect(try lines(.effective) == posted)
            return posted
        }
    }

    private func left(_ store: Ledger, at time: Timestamp, _ scope: ReportScope = .all) throws -> [Int64] {
        try lines(store, at: time, scope).map { $0.integer("left") }
    }

    @Test func fromItsExpiryOnOnlyWhatIsHeldOfALotIsLeft() throws {
        let store = try store()
        for scope in [ReportScope.open, .all] { #expect(try left(store, at: 999, scope) == [70, 20, 5]) }
        for time in [1_000, 1_001, 4_000] as [Timestamp] {
            #expect(try left(store, at: time, .open) == [30, 5])
            #expect(try left(store, at: time) == [30, 0, 5])
            #expect(try lines(store, at: time, .all).map { $0.integer("granted") } == [70, 20, 5])
        }
        try store.projection.close()
    }

    @Test func theReportOfATimeIsTheSameBeforeAndAfterTheExpiryIsPosted() throws {
        var store = try store()
        let times: [Timestamp] = [1, 2, 999, 1_000, 1_009]
        func reports(_ store: Ledger) throws -> [[ReportLine]] {
            try times.flatMap { [try lines(store, at: $0, .open), try lines(store, at: $0, .all)] }
        }
        let before = try reports(store)
        try store.run(.expire, at: 1_010)
        #expect(try reports(store) == before)
        #expect(try left(store, at: 1_010) == [30, 0, 5])
        // What comes back of the hold is gone at once.
        try store.run(.expire, at: 6_000)
        #expect(try reports(store) == before)
        #expect(try left(store, at: 5_999) == [30, 0, 5])
        #expect(try left(store, at: 6_000) == [0, 0, 5])
        #expect(try left(store, at: 6_000, .open) == [5])
        try store.projection.close()
    }

    @Test func whatIsHeldOfATokensLotIsLeftWhenItMoves() throws {
        let token = Workload.token(1)
        var store = try store(holder: token.account)
        let before = try [999, 1_005].map { try lines(store, at: $0, .all) }
        try store.run(.link(Link(token: token, account: holder)), at: 1_010)
        #expect(try [999, 1_005].map { try lines(store, at: $0, .all) } == before)
        #expect(try left(store, at: 1_010) == [30, 0, 5])
        try store.projection.close()
    }

    @Test func aLotThatHadExpiredWhenItWasGrantedWasNeverLeft() throws {
        var store = try store()
        try store.run(grant("d", to: holder, 9, expiresAt: 1_000), at: 1_020)
        #expect(try left(store, at: 1_019) == [30, 0, 5])
        #expect(try left(store, at: 1_020) == [30, 0, 5, 0])
        try store.projection.close()
    }

    @Test func moreThatIsHeldOfALotThanIsLeftIsNoticed() throws {
        var store = try store()
        try store.run(.expire, at: 6_000)
        try store.projection.close()
        try store.folder.change("UPDATE transfer SET amount = 80 WHERE debit = 'held'")
        let error = #expect(throws: StoreError.self) { try left(store, at: 1_000) }
        #expect(error?.description.contains("what is held of lot 1") == true)
    }
}
