import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// Periods that are closed by name.
@Suite struct ClosingTests {
    private static func close(
        _ bench: Bench, _ time: Timestamp, at now: Timestamp = Bench.now
    ) throws -> PeriodClosing? {
        try bench.engine.run(Needs()) { $0.closePeriod(through: time, by: "finance", at: now) }
        return try bench.engine.closing(through: time)
    }

    /// What stands in the same block may be later than the period; what stands in later ones always is.
    @Test func whateverIsOfThePeriodStandsInItsBlockOrBefore() throws {
        let bench = try Bench()
        let now = Bench.now
        var needs = Needs()
        let grants = (1...4).map { Command.grant("g\($0)", "ann", 10) }
        for grant in grants { needs.add(grant) }
        try bench.engine.run(needs) { books in
            _ = books.decide(grants[0], at: now)
            books.closePeriod(through: now, by: nil, at: now)
            _ = books.decide(grants[1], at: now)
        }
        // A clock that is set back changes nothing.
        _ = try bench.ask(grants[2], at: now - 1_000)
        let times = try bench.engine.journal(JournalQuery(after: 0)).entries.map(\.time)
        #expect(times == [now, now + 1, now + 1])
        let closing = try #require(try bench.engine.closing(through: now))
        let block = try #require(bench.log.blocks.first { $0.number == closing.block })
        #expect(closing.hash == block.hash.hexadecimal && closing.time == now && closing.actor == nil)
        let entries = try Block(opening: block, checks: .form).rows.entries.map(\.time)
        #expect(entries == [now, now + 1])
        #expect(try bench.engine.balances(AccountName("ann")!, currency: nil, asOf: now).first?.balance.available == 10)
        try bench.engine.close()
    }

    /// Mostly entries are later by the time that a month is closed: no row needs to keep later ones out.
    @Test func aPeriodThatEndedLongAgoIsClosedByNameAllTheSame() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("g1", "ann", 10), at: Bench.now + 5_000)
        let closing = try #require(try Self.close(bench, Bench.now + 2_000, at: Bench.now + 6_000))
        let block = try Block(opening: try #require(bench.log.blocks.last), checks: .form)
        #expect(block.rows.closedThrough == nil && block.rows.closings.map(\.through) == [Bench.now + 2_000])
        #expect(closing.block == block.number && closing.actor == "finance" && closing.time == Bench.now + 6_000)
        // Books that are read anew know it.
        let periods = try bench.engine.projectedState().periods
        #expect(periods.closedThrough == Bench.now + 2_000 && periods.began == Bench.now)
        try bench.engine.close()
    }

    @Test func aReportListsTheClosingsOfItsTime() throws {
        let bench = try Bench()
        for step: Timestamp in [10, 20, 30] { _ = try Self.close(bench, Bench.now + step, at: Bench.now + 100 * step) }
        func report(_ asOf: Timestamp, after: String? = nil, limit: Int = 10) throws -> ReportPage {
            try bench.engine.report(ReportQuery(kind: .closings, asOf: asOf, limit: limit, after: after))
        }
        func ends(_ page: ReportPage) -> [Timestamp] {
            page.rows.compactMap { row in
                if case .closing(let closing) = row { closing.through - Bench.now } else { nil }
            }
        }
        #expect(ends(try report(Bench.now + 100_000)) == [10, 20, 30])
        #expect(ends(try report(Bench.now + 2_999)) == [10, 20])
        #expect(ends(try report(Bench.now)) == [])
        let first = try report(Bench.now + 100_000, limit: 2)
        let second = try report(Bench.now + 100_000, after: try #require(first.next), limit: 2)
        #expect(ends(first) == [10, 20] && ends(second) == [30] && second.next == nil)
        try bench.engine.close()
    }
}
