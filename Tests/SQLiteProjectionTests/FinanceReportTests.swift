import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// The reports of finance against a model that reads all rows of the journal from the beginning on.
@Suite struct FinanceReportTests {
    private static let kinds: [ReportKind] = [
        .rollforward, .sales, .revenue, .deferred, .lots, .spends, .purchases, .unassigned, .journal,
    ]

    /// The rows of all pages; where they are sums, those of one key are added up.
    private static func lines(_ reports: Reports, _ query: ReportQuery) throws -> [ReportLine] {
        var query = query
        var lines: [ReportLine] = []
        var sums = ReportSums()
        repeat {
            let page = try reports.page(query)
            for case .line(let line) in page.rows {
                #expect(line.values.count == query.kind.columns.count)
                for (column, value) in zip(line.kind.columns, line.values) {
                    #expect(value != nil || column.isOptional, "\(query.kind): \(column.name)")
                }
                if query.kind.isOfSums { sums.add(line) } else { lines.append(line) }
            }
            if let next = page.next {
                let before = query.after.flatMap { ReportCursor(query.kind, $0) } ?? ReportCursor(query.kind)
                try #require(try #require(ReportCursor(query.kind, next)) > before, "\(query.kind): \(next)")
            }
            query.after = page.next
        } while query.after != nil
        return query.kind.isOfSums ? sums.rows : lines
    }

    /// All rows of the blocks, in one.
    private static func rows(_ store: Ledger) throws -> BlockRows {
        var all = BlockRows()
        for sealed in store.blocks {
            let rows = try Block(opening: sealed, checks: .form).rows
            all.currencies += rows.currencies
            all.actors += rows.actors
            all.accounts += rows.accounts
            all.entries += rows.entries
            all.transfers += rows.transfers
            all.lots += rows.lots
            all.purchases += rows.purchases
            all.evidence += rows.evidence
            all.statements += rows.statements
            all.assignments += rows.assignments
            all.links += rows.links
        }
        return all
    }

    private static func model(_ store: Ledger) throws -> FinanceModel {
        let rows = try rows(store)
        let names = Dictionary(uniqueKeysWithValues: rows.accounts.map { ($0.id, $0.name?.text ?? "erased:\($0.id)") })
        var first: [PlayerID: PlayerID] = [:]
        for link in rows.links where first[link.token] == nil { first[link.token] = link.account }
        let owners = first
        let dates = rows.evidence.compactMap { row in
            Workload.revocationDate(signedDate: row.signedDate, revoked: row.revoked).map { (row.id, $0) }
        }
        return FinanceModel(
            rows, revocationDates: Dictionary(uniqueKeysWithValues: dates), name: { names[$0] ?? "" },
            owner: { account in
                var account = account
                while let next = owners[account] { account = next }
                return account
            })
    }

    private static func store(seed: UInt64, batches: Int) throws -> (Ledger, Timestamp) {
        var workload = Workload(seed: seed)
        var store = try Ledger(TemporaryFolder(), seed: seed)
        var now: Timestamp = 1_000
        for _ in 1...batches {
            now += workload.generator.chance(5) ? 400 : 10
            workload.now = now
            try store.decide(
                (0..<Int.random(in: 1...12, using: &workload.generator)).map { _ in workload.next() }, at: now)
            if workload.generator.chance(30) { try store.project() }
        }
        try store.project()
        return (store, now)
    }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func everyReportOfEveryPeriodIsThatOfAModelThatReadsAllRows(seed: UInt64) throws {
        var (store, now) = try Self.store(seed: seed, batches: 120)
        var random = SplitMix64(seed: seed)
        let model = try Self.model(store)
        var seen: [ReportKind: Int] = [:]
        try DatabaseQueue(path: store.folder.database).read { db in
            let (whole, parted) = (try Reports(db), try Reports(db, stepsMax: 7))
            for round in 0..<12 {
                let times = (0..<2).map { _ in Int64.random(in: 900...now + 50, using: &random) }.sorted()
                let isWhole = round == 0
                for kind in Self.kinds {
                    for dates in kind.hasEffectiveDates ? ReportDates.allCases : [.posted] {
                        let query = ReportQuery(
                            kind: kind, asOf: isWhole ? now : times[1],
                            from: kind.isOfPeriods && !isWhole ? times[0] : nil, dates: dates,
                            scope: random.chance(50) ? .open : .all,
                            currency: kind.isOfCurrencies && random.chance(25) ? CurrencyCode("gold") : nil,
                            limit: random.chance(30) ? 3 : Limits.reportPageMax)
                        let expected = try #require(model.rows(query))
                        seen[kind, default: 0] += expected.count
                        let found = try Self.lines(random.chance(50) ? whole : parted, query)
                        #expect(found == expected, "seed \(seed): \(query)")
                        if found != expected {
                            let place = zip(found, expected).enumerated().first { $0.1.0 != $0.1.1 }
                            Issue.record("\(found.count) and \(expected.count): \(String(describing: place))")
                            return
                        }
                    }
                }
            }
        }
        for kind in Self.kinds { #expect(seen[kind, default: 0] > 0, "\(kind) never had a row") }
        try store.projection.close()
    }

    /// What is earned, given back and still owed of each lot is its price, at any time.
    @Test(arguments: [6, 7] as [UInt64])
    func thePartsOfEachLotAreItsPriceAndMonthsContinueEachOther(seed: UInt64) throws {
        let (store, now) = try Self.store(seed: seed, batches: 150)
        try DatabaseQueue(path: store.folder.database).read { db in
            let reports = try Reports(db)
            func sum(_ line: ReportLine, _ column: String) -> Int128 {
                if case .sum(let sum)? = line[column] { sum } else { 0 }
            }
            var closing: [[ReportValue?]: Int128] = [:]
            var before: [[ReportValue?]: Int128] = [:]
            let ends = stride(from: 1_100, to: now + 300, by: 300)
            var begin: Timestamp?
            for end in ends {
                for line in try Self.lines(reports, ReportQuery(kind: .lots, asOf: end, scope: .all)) {
                    #expect(
                        sum(line, "price") == sum(line, "deferred") + sum(line, "recognised") + sum(line, "refunded"))
                    for part in ["deferred", "recognised", "refunded"] { #expect(sum(line, part) >= 0, "\(line)") }
                }
                for line in try Self.lines(reports, ReportQuery(kind: .rollforward, asOf: end, from: begin)) {
                    let added = [
                        "purchased", "imported", "granted", "reinstated", "reversed", "adjusted", "writtenOff",
                        "debtPaid",
                    ]
                    let change =
                        added.reduce(Int128(0)) { $0 + sum(line, $1) }
                        - ["spent", "refunded", "expired"].reduce(Int128(0)) { $0 + sum(line, $1) }
                    #expect(sum(line, "closing") == sum(line, "opening") + change)
                    #expect(sum(line, "opening") == before[Array(line.values[..<2])] ?? 0)
                    before[Array(line.values[..<2])] = sum(line, "closing")
                }
                let deferred = try Self.lines(reports, ReportQuery(kind: .deferred, asOf: end, from: begin))
                for line in deferred {
                    #expect(
                        sum(line, "closing")
                            == sum(line, "opening") + sum(line, "sold") + sum(line, "imported") - sum(line, "refunded")
                            - sum(line, "recognised"))
                    #expect(sum(line, "opening") == closing[line.key] ?? 0, "\(line)")
                    let ages = ["upTo30Days", "upTo90Days", "upTo180Days", "upTo365Days", "older"]
                    #expect(ages.reduce(Int128(0)) { $0 + sum(line, $1) } == sum(line, "closing"))
                }
                closing = Dictionary(uniqueKeysWithValues: deferred.map { ($0.key, sum($0, "closing")) })
                begin = end + 1
            }
        }
    }
}
