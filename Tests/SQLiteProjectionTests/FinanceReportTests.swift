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
        let dates = rows.evidence.compactMap { row in
            Workload.revocationDate(signedDate: row.signedDate, revoked: row.revoked).map { (row.id, $0) }
        }
        return FinanceModel(
            rows, revocationDates: Dictionary(uniqueKeysWithValues: dates), name: { names[$0] ?? "" })
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

    /// In which way two JWS of a purchase come, the second of which takes it back.
    enum Order: CaseIterable {
        /// The account shows both.
        case claimedFirst
        /// Notifications tell of both before an account claims the purchase.
        case claimedLast
        /// The account claims it with the second.
        case claimedByRefund
        /// The first to come is the second, before an account claims the purchase.
        case refundAlone

        var commands: [Command] {
            let account = Workload.account(1)
            let bought = Workload.purchase(1, signedDate: 20)
            let taken = Workload.purchase(1, signedDate: 25, revoked: 100_000)
            func told(_ uuid: String, _ purchase: SignedPurchase) -> Command {
                .notify(
                    SignedNotification(
                        uuid: uuid, type: "REFUND", subtype: nil, signedDate: purchase.signedDate,
                        evidence: purchase.evidence, purchase: purchase), account: nil)
            }
            return switch self {
            case .claimedFirst: [.credit(bought, account: account), .credit(taken, account: account)]
            case .claimedLast: [told("a", bought), told("b", taken), .credit(bought, account: account)]
            case .claimedByRefund: [told("a", bought), .credit(taken, account: account)]
            case .refundAlone: [told("b", taken), .credit(bought, account: account)]
            }
        }
    }

    /// Bought at 711, taken back at 775, and all told at 5,000.
    @Test(arguments: Order.allCases)
    func byWhenItHappenedARefundCountsFromWhenTheAppStoreTookItBack(order: Order) throws {
        var store = try Ledger(TemporaryFolder())
        let account = Workload.account(1)
        try store.run(order.commands, at: 5_000)
        try DatabaseQueue(path: store.folder.database).read { db in
            let reports = try Reports(db)
            func line(_ kind: ReportKind, _ end: Timestamp, _ dates: ReportDates = .effective) throws -> ReportLine? {
                let lines = try Self.lines(
                    reports, ReportQuery(kind: kind, asOf: end, from: nil, dates: dates, scope: .all))
                #expect(lines.count <= 2 || kind == .rollforward)
                return lines.first { $0.kind != .rollforward || $0.word("class") == "paid" }
            }
            for (end, isBought, isTaken) in [(710, false, false), (774, true, false), (775, true, true)] {
                let end = Timestamp(end)
                let (sold, back): (Int128, Int128) = (isBought ? 4_990 : 0, isTaken ? 4_990 : 0)
                let sales = try line(.sales, end)
                #expect((sales == nil) == !isBought)
                if let sales {
                    #expect(["sold", "refunded", "refundedOfSale"].map { sales.sum($0) } == [sold, back, back])
                    #expect(["net", "netOfSale"].map { sales.sum($0) } == [sold - back, sold - back])
                }
                #expect(try line(.deferred, end)?.sum("closing") ?? 0 == sold - back)
                #expect(try line(.lots, end)?.sum("refunded") == (isBought ? back : nil))
                let rolled = try #require(try line(.rollforward, end))
                let used = ["purchased", "refunded", "closing"].map { rolled.sum($0) != 0 }
                #expect(used == [isBought, isTaken, sold > back])
                let purchase = try line(.purchases, end)
                #expect(purchase?.integer("revoked") == (isBought ? isTaken ? 100_000 : 0 : nil))
                #expect(purchase?.optionalInteger("revocationDate") == (isTaken ? 775 : nil))
                #expect(purchase?.text("account") == (isBought ? account.text : nil))
                #expect(try line(.unassigned, end) == nil)
                // Nothing was posted yet.
                for kind in Self.kinds where kind != .rollforward { #expect(try line(kind, end, .posted) == nil) }
            }
        }
        try store.projection.close()
    }

    /// Taken back, given again and taken back once more; both times the App Store says that it was before that.
    @Test func aLotWithLessThanNothingLeftIsAmongTheLotsOfWhatIsDeferred() throws {
        var store = try Ledger(TemporaryFolder())
        let account = Workload.account(1)
        for (signedDate, revoked, time) in [
            (20, 0, 5_000), (25, 100_000, 6_000), (30, 0, 7_000), (35, 100_000, 8_000),
        ] as [(Timestamp, Int64, Timestamp)] {
            let purchase = Workload.purchase(1, signedDate: signedDate, revoked: revoked)
            try store.run([.credit(purchase, account: account)], at: time)
        }
        try DatabaseQueue(path: store.folder.database).read { db in
            let reports = try Reports(db)
            // Taken back at 775 and at 1,085, and given again at 7,000.
            for (end, left) in [(774, 1_000), (775, 0), (1_084, 0), (1_085, -1_000), (6_999, -1_000), (7_000, 0)] {
                func lines(_ kind: ReportKind) throws -> [ReportLine] {
                    try Self.lines(
                        reports, ReportQuery(kind: kind, asOf: Timestamp(end), from: nil, dates: .effective))
                }
                let lots = try lines(.lots)
                let deferred = try #require(try lines(.deferred).first)
                #expect(lots.map { $0.integer("left") } == (left == 0 ? [] : [Int64(left)]), "\(end)")
                #expect(deferred.sum("lots") == Int128(lots.count) && deferred.sum("units") == Int128(left), "\(end)")
            }
        }
        try store.projection.close()
    }

    /// What is posted while pages are read, of a time before, is in none of them.
    @Test(arguments: FinanceReportTests.kinds.filter(\.hasEffectiveDates))
    func theRowsOfAReportByEffectiveDateAddUpWhateverIsPostedBetweenItsPages(kind: ReportKind) throws {
        var store = try Ledger(TemporaryFolder())
        let account = Workload.account(1)
        try store.run((1...5).map { .credit(Workload.purchase($0, signedDate: 20), account: account) }, at: 5_000)
        var next = 6
        try store.run(
            (2000...2003).map { number in
                let purchase = Workload.purchase(number, signedDate: 20)
                return .notify(
                    SignedNotification(
                        uuid: "u\(number)", type: "ONE_TIME_CHARGE", subtype: nil, signedDate: 20,
                        evidence: purchase.evidence, purchase: purchase), account: nil)
            }, at: 5_000)
        var query = ReportQuery(kind: kind, asOf: 6_000, from: nil, dates: .effective, scope: .all, limit: 1)
        func page() throws -> ReportPage {
            try DatabaseQueue(path: store.folder.database).read { try Reports($0, stepsMax: 2).page(query) }
        }
        func line(_ row: ReportRow) -> ReportLine? { if case .line(let line) = row { line } else { nil } }
        let expected = try DatabaseQueue(path: store.folder.database).read { db in
            var whole = query
            whole.limit = Limits.reportPageMax
            return try Self.lines(try Reports(db), whole)
        }
        var (rows, sums) = ([ReportLine](), ReportSums())
        var pages = 0
        repeat {
            let page = try page()
            rows += page.rows.compactMap(line)
            pages += 1
            query.after = page.next
            try store.run(
                [
                    .credit(Workload.purchase(next, signedDate: 20), account: account),
                    .credit(
                        Workload.purchase(2003, signedDate: Int64(20 + next), revoked: Int64(next % 80) * 1_000),
                        account: kind == .unassigned ? account : nil),
                    .credit(
                        Workload.purchase(1, signedDate: Int64(20 + next), revoked: Int64(next % 90) * 1_000),
                        account: account
                    ),
                ], at: 7_000)
            next += 1
        } while query.after != nil
        #expect(pages > 1, "\(kind)")
        for row in rows where kind.isOfSums { sums.add(row) }
        #expect((kind.isOfSums ? sums.rows : rows) == expected, "\(kind)")
        try store.projection.close()
    }

    /// Of a lot of 1,000 for 4.99, of which 200 are held, both parts move; its money moves once.
    @Test func aLotOfWhichAPartIsHeldMovesItsMoneyOnce() throws {
        var store = try Ledger(TemporaryFolder())
        let token = Workload.token(1)
        let hold = Hold(
            key: try #require(RequestKey("h")), account: token.account, currency: try #require(CurrencyCode("gems")),
            amount: try #require(Amount(200)), timeoutMilliseconds: 60_000)
        for command in [
            .credit(Workload.purchase(1, signedDate: 20), account: token.account), .keyed(.hold(hold)),
            .link(Link(token: token, account: Workload.account(2))),
        ] as [Command] {
            try store.run([command], at: 5_000)
        }
        try DatabaseQueue(path: store.folder.database).read { db in
            let rows = try Self.lines(
                try Reports(db),
                ReportQuery(kind: .journal, asOf: 6_000, from: nil, currency: CurrencyCode("gems"))
            ).filter { $0.word("kind") == "link" }
            #expect(rows.map { $0.integer("amount") }.sorted() == [200, 200, 800, 800])
            #expect(rows.map { $0.sum("deferred") }.sorted() == [-4_990, 0, 0, 4_990])
        }
        try store.projection.close()
    }

    /// What is earned, given back and still owed of each lot is its price, at any time; and what was there at the end
    /// of a period is what the next one begins with, whichever dates count.
    @Test(arguments: [6, 7] as [UInt64], ReportDates.allCases)
    func thePartsOfEachLotAreItsPriceAndMonthsContinueEachOther(seed: UInt64, dates: ReportDates) throws {
        let (store, now) = try Self.store(seed: seed, batches: 150)
        try DatabaseQueue(path: store.folder.database).read { db in
            let reports = try Reports(db)
            func lines(_ kind: ReportKind, _ end: Timestamp, from: Timestamp? = nil) throws -> [ReportLine] {
                try Self.lines(reports, ReportQuery(kind: kind, asOf: end, from: from, dates: dates, scope: .all))
            }
            var closing: [[ReportValue?]: Int128] = [:]
            var before: [[ReportValue?]: Int128] = [:]
            var flows: [ReportKind: ReportSums] = [:]
            var begin: Timestamp?
            let ends = Array(stride(from: 1_100, to: now + 300, by: 300))
            for end in ends {
                for line in try lines(.lots, end) {
                    let parts = ["deferred", "recognised", "refunded"].map { line.sum($0) }
                    #expect(line.sum("price") == parts.reduce(0, +), "\(line)")
                    if dates == .posted {
                        #expect(parts.allSatisfy { $0 >= 0 }, "\(line)")
                        #expect(line.integer("left") > 0 || parts[0] == 0, "\(line)")
                    }
                }
                // What lots have left is what players have, whether or not what had expired was posted.
                var left: [[String]: Int128] = [:]
                for line in try lines(.lots, end) {
                    left[[line.word("currency"), line.word("class")], default: 0] += Int128(line.integer("left"))
                }
                for line in try lines(.rollforward, end, from: begin) {
                    #expect(
                        line.sum("available") + line.sum("held")
                            == left[[line.word("currency"), line.word("class")]] ?? 0, "\(line)")
                    let added = [
                        "purchased", "imported", "granted", "reinstated", "reversed", "adjusted", "writtenOff",
                        "debtPaid",
                    ]
                    let taken = ["spent", "refunded", "expired"]
                    let change =
                        added.reduce(Int128(0)) { $0 + line.sum($1) } - taken.reduce(Int128(0)) { $0 + line.sum($1) }
                    #expect(line.sum("closing") == line.sum("opening") + change, "\(line)")
                    #expect(line.sum("closing") == line.sum("available") + line.sum("held") - line.sum("debt"))
                    #expect(line.sum("opening") == before[line.key] ?? 0)
                    before[line.key] = line.sum("closing")
                }
                let deferred = try lines(.deferred, end, from: begin)
                for line in deferred {
                    let added = line.sum("sold") + line.sum("imported")
                    #expect(
                        line.sum("closing")
                            == line.sum("opening") + added - line.sum("refunded") - line.sum("recognised"))
                    #expect(line.sum("opening") == closing[line.key] ?? 0, "\(line)")
                    let ages = ["upTo30Days", "upTo90Days", "upTo180Days", "upTo365Days", "older"]
                    #expect(ages.reduce(Int128(0)) { $0 + line.sum($1) } == line.sum("closing"))
                }
                closing = Dictionary(uniqueKeysWithValues: deferred.map { ($0.key, $0.sum("closing")) })
                for kind in [ReportKind.sales, .revenue] {
                    for line in try lines(kind, end, from: begin) {
                        if kind == .sales {
                            #expect(line.sum("net") == line.sum("sold") - line.sum("refunded"))
                            #expect(line.sum("netOfSale") == line.sum("sold") - line.sum("refundedOfSale"))
                        }
                        flows[kind, default: ReportSums()].add(line)
                    }
                }
                begin = end + 1
            }
            // All periods together have what one of the whole time has.
            let whole = try #require(ends.last)
            let revenue = try #require(flows[.revenue]).rows
            #expect(try lines(.revenue, whole) == revenue)
            let sold = try #require(flows[.sales]).rows.map { [$0.key, [$0["units"], $0["sold"], $0["refunded"]]] }
            #expect(try lines(.sales, whole).map { [$0.key, [$0["units"], $0["sold"], $0["refunded"]]] } == sold)
        }
        try store.projection.close()
    }
}
