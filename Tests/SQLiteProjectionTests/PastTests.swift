import Foundation
import GRDB
import GRDBSQLite
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import SQLiteProjection

/// What is told of the past: the same as the transfers up to then add up to, and no dearer for being long ago.
@Suite struct PastTests {
    private static let gems = CurrencyCode("gems")!

    /// The books as the transfers of entries up to a time make them, added up by nothing but this test: once, from one
    /// time to the next.
    private struct Past {
        struct Key: Hashable {
            var player: PlayerID
            var currency: CurrencyID
        }

        struct Sums {
            var balances: [Key: Balance] = [:]
            var totals: [CurrencyID: [AccountKind: Totals.Turnover]] = [:]
            var debts: [LotID: Int64] = [:]
        }

        private struct Remainder {
            var key: Key
            var isPaid: Bool
            var units: Int64 = 0
            var expiresAt: Timestamp?
        }

        private struct Movement {
            var time: Timestamp
            var transfer: Transfer
            /// The lot that it opens.
            var opening: BlockRows.LotRow?
        }

        private var movements: ArraySlice<Movement> = []
        private var sums = Sums()
        private var lots: [LotID: Remainder] = [:]
        private var changed: [Key: EntryID] = [:]

        init(_ blocks: [Block]) {
            for rows in blocks.map(\.rows) {
                var openings = rows.lots[...]
                var entries = rows.entries[...]
                for transfer in rows.transfers {
                    while let next = entries.dropFirst().first, next.firstTransfer <= transfer.id {
                        entries.removeFirst()
                    }
                    movements.append(
                        Movement(
                            time: entries.first?.time ?? 0, transfer: transfer,
                            opening: transfer.lot == transfer.id ? openings.popFirst() : nil))
                }
            }
        }

        /// - Parameter time: not before that of the call before.
        mutating func sums(asOf time: Timestamp) -> Sums {
            while let next = movements.first, next.time <= time {
                movements.removeFirst()
                add(next.transfer, next.opening)
            }
            var told = sums
            told.debts = told.debts.filter { $0.value != 0 }
            for lot in lots.values where lot.units > 0 && lot.expiresAt.map({ $0 <= time }) ?? false {
                let units = Int128(lot.units)
                told.balances[lot.key]?.available -= lot.units
                told.totals[lot.key.currency, default: [:]][.wallet, default: Totals.Turnover()].debits += units
                told.totals[lot.key.currency, default: [:]][.expired, default: Totals.Turnover()].credits += units
            }
            return told
        }

        private mutating func add(_ transfer: Transfer, _ opening: BlockRows.LotRow?) {
            let (debit, credit) = (transfer.debit.kind, transfer.credit.kind)
            let key = Key(player: transfer.player, currency: transfer.debit.currency)
            if let opening {
                lots[transfer.id] = Remainder(
                    key: key, isPaid: opening.lotClass == .paid, expiresAt: opening.expiresAt)
            }
            func change(_ kind: AccountKind) -> Int64 {
                (credit == kind ? transfer.amount : 0) - (debit == kind ? transfer.amount : 0)
            }
            let amount = Int128(transfer.amount)
            sums.totals[key.currency, default: [:]][debit, default: Totals.Turnover()].debits += amount
            sums.totals[key.currency, default: [:]][credit, default: Totals.Turnover()].credits += amount
            var balance = sums.balances[key] ?? Balance()
            balance.available += change(.wallet)
            balance.held += change(.held)
            balance.debt -= change(.receivable)
            if lots[transfer.lot]?.isPaid == true { balance.paid += change(.wallet) }
            let isChange = change(.wallet) != 0 || change(.held) != 0 || change(.receivable) != 0
            if isChange, changed.updateValue(transfer.entry, forKey: key) != transfer.entry {
                balance.version += 1
            }
            sums.balances[key] = balance
            lots[transfer.lot]?.units += change(.wallet)
            // Whoever a token is linked to has its lots.
            if credit == .wallet { lots[transfer.lot]?.key = key }
            if debit == .receivable { sums.debts[transfer.lot, default: 0] += transfer.amount }
            if let lot = transfer.debtLot { sums.debts[lot, default: 0] -= transfer.amount }
        }
    }

    /// How many times are asked as of which all balances are compared, and of each tenth everything.
    private static let timesAsked =
        ProcessInfo.processInfo.environment["LEDGER_PAST_TIMES"].flatMap { Int($0) } ?? 1_000

    /// Wallets with hundreds of entries, thousands of transfers, and what expires while nobody posts it.
    @Test func whateverTimeOfThePastIsAskedTheAnswerIsWhatTheTransfersMake() async throws {
        try await apart {
            let seed = Seed.drawn()
            var store = try Ledger(TemporaryFolder(), seed: seed)
            var workload = Workload(seed: seed)
            workload.players = 5
            while store.books.position.transfer < 3 * PastTotals.interval + 500 {
                workload.now += workload.generator.chance(5) ? 700 : 10
                let count = Int.random(in: 1...60, using: &workload.generator)
                try store.run((0..<count).map { _ in workload.next() }, at: workload.now)
                try store.forget(chance: 30)
            }
            let remembered = try store.folder.rows("SELECT count(*) FROM wallet_past")
            #expect(try store.folder.rows("SELECT count(*) FROM expiry_past") == 3 && remembered > 50, "seed \(seed)")
            let times = (0..<Self.timesAsked).map { _ in
                Timestamp.random(in: 1...workload.now, using: &workload.generator)
            }
            // The last transfer stands anywhere.
            try check(store, asOf: times, reportsOfEach: 10, &workload.generator, seed)
            // Then at the end of a part; of what was asked before some is asked again.
            let midnight = workload.now + 1_000
            try expire(at: midnight, endingAPartOf: &store)
            try check(store, asOf: times.prefix(5) + [midnight], reportsOfEach: 1, &workload.generator, seed)
            try checkHistory(store.projection, &workload.generator, seed)
            try store.projection.close()
        }
    }

    /// All balances as of these times.
    /// - Parameter part: as of one in so many of them everything else is compared too.
    private func check(
        _ store: Ledger, asOf times: [Timestamp], reportsOfEach part: Int, _ random: inout SplitMix64, _ seed: UInt64
    ) throws {
        let blocks = try store.blocks.map { try Block(opening: $0, checks: .form) }
        let names = names(blocks)
        var past = Past(blocks)
        for (number, time) in times.sorted().enumerated() {
            let place = Comment(rawValue: "seed \(seed), as of \(time)")
            let sums = past.sums(asOf: time)
            try checkBalances(store.projection, sums, asOf: time, names, place)
            if number % part == 0 { try checkReports(store.projection, sums, asOf: time, names, &random, place) }
        }
    }

    /// The report of them has all wallets in which anything is.
    private func checkBalances(
        _ tables: SQLiteProjection, _ past: Past.Sums, asOf time: Timestamp, _ names: [PlayerID: AccountName],
        _ place: Comment
    ) throws {
        var expected: [String: Balance] = [:]
        for (key, balance) in past.balances where (balance.available, balance.held, balance.debt) != (0, 0, 0) {
            var balance = balance
            balance.version = 0
            expected["\(names[key.player]?.text ?? "") \(key.currency == 1 ? "gems" : "gold")"] = balance
        }
        let page = try tables.report(ReportQuery(kind: .balances, asOf: time, limit: 1_000))
        var told: [String: Balance] = [:]
        for case .balance(let account, let currency, let available, let held, let debt, let paid) in page.rows {
            told["\(account) \(currency)"] = Balance(available: available, held: held, debt: debt, paid: paid)
        }
        #expect(told == expected && page.next == nil, place)
    }

    private func checkReports(
        _ tables: SQLiteProjection, _ past: Past.Sums, asOf time: Timestamp, _ names: [PlayerID: AccountName],
        _ random: inout SplitMix64, _ place: Comment
    ) throws {
        for (key, name) in names {
            let told = try tables.balances(name, currency: nil, asOf: time)
            for (number, code) in [(1, "gems"), (2, "gold")] as [(CurrencyID, String)] {
                let known = past.balances[Past.Key(player: key, currency: number)]
                let isKnown = known?.version ?? 0 > 0
                #expect(told.first { $0.currency.text == code }?.balance == (isKnown ? known : nil), place)
            }
        }
        var (sums, after) = (Balance(), String?.none)
        repeat {
            let limit = Int.random(in: 1...4, using: &random)
            let page = try tables.report(
                ReportQuery(kind: .balances, asOf: time, currency: Self.gems, limit: limit, after: after))
            for case .balance(_, _, let available, let held, let debt, let paid) in page.rows {
                sums.available += available
                sums.held += held
                sums.debt += debt
                sums.paid += paid
            }
            after = page.next
        } while after != nil
        let all = past.balances.filter { $0.key.currency == 1 }.map(\.value)
        #expect(sums.available == all.map(\.available).reduce(0, +), place)
        #expect(sums.held == all.map(\.held).reduce(0, +) && sums.paid == all.map(\.paid).reduce(0, +), place)
        for case .trial(let code, let kind, let debits, let credits) in try tables.report(
            ReportQuery(kind: .trial, asOf: time)
        ).rows {
            let turnover = past.totals[code.text == "gems" ? 1 : 2]?[kind] ?? Totals.Turnover()
            #expect(turnover == Totals.Turnover(debits: debits, credits: credits), "\(place): \(code) \(kind)")
        }
        var owed: [LotID: Int64] = [:]
        repeat {
            let page = try tables.report(ReportQuery(kind: .debts, asOf: time, limit: 2, after: after))
            for case .debt(_, _, _, _, let lot, let debt, _, _) in page.rows { owed[lot] = debt }
            after = page.next
        } while after != nil
        #expect(owed == past.debts, place)
    }

    /// What a player has expires at a time, and that is posted after it, by a transfer that ends one of the parts in
    /// which trial balances of the past are remembered.
    private func expire(at midnight: Timestamp, endingAPartOf store: inout Ledger) throws {
        try store.run(.expire, at: midnight - 1)
        // Nothing else expires while these parts are filled, for nobody else has anything that does.
        var keys = 0
        func grant(_ amount: Int64, expiresAt: Timestamp? = nil) -> Command {
            keys += 1
            return .grant(
                Grant(
                    key: RequestKey("at the end \(keys)")!, account: AccountName("nobody else")!, currency: Self.gems,
                    amount: Amount(amount)!, expiresAt: expiresAt))
        }
        try store.run(grant(70, expiresAt: midnight), at: midnight - 1)
        while (store.books.position.transfer + 1) % PastTotals.interval != 0 {
            let left = PastTotals.interval - 1 - store.books.position.transfer % PastTotals.interval
            try store.run((0..<min(left, 100)).map { _ in grant(1) }, at: midnight - 1)
        }
        try store.run(.expire, at: midnight + 10)
        #expect(store.books.position.transfer % PastTotals.interval == 0)
    }

    private func names(_ blocks: [Block]) -> [PlayerID: AccountName] {
        let rows = blocks.flatMap(\.rows.accounts)
        return rows.reduce(into: [:]) { names, row in names[row.id] = row.name.flatMap { AccountName($0.text) } }
    }

    /// A page from anywhere is that part of the whole.
    private func checkHistory(_ tables: SQLiteProjection, _ random: inout SplitMix64, _ seed: UInt64) throws {
        for player in 0..<5 {
            var entries: [HistoryEntry] = []
            var before: EntryID?
            repeat {
                let page = try tables.history(
                    HistoryQuery(account: Workload.account(player), limit: 1_000, before: before))
                entries += page.entries
                before = page.next
            } while before != nil
            guard entries.count > 1 else { continue }
            for _ in 0..<40 {
                let place = Int.random(in: 0..<entries.count, using: &random)
                let page = try tables.history(
                    HistoryQuery(account: Workload.account(player), limit: 3, before: entries[place].entry))
                #expect(page.entries == Array(entries[(place + 1)...].prefix(3)), "seed \(seed)")
            }
        }
    }

    // MARK: Costs

    /// A ledger of two players, of whom one has so many entries; so many others had a debt and paid it, or something
    /// that expired long before that was posted.
    private static func long(_ entries: Int, debtors: Int) throws -> Ledger {
        var store = try Ledger(TemporaryFolder())
        func grant(_ key: String, _ player: Int, expiresAt: Timestamp? = nil) -> Command {
            .grant(
                Grant(
                    key: RequestKey(key)!, account: Workload.account(player), currency: gems, amount: Amount(1_000)!,
                    expiresAt: expiresAt))
        }
        try store.run([grant("first", 1), grant("other", 2)], at: 1)
        try store.run((0..<debtors).map { grant("of a day \($0)", 100 + $0, expiresAt: 4) }, at: 1)
        for begin in stride(from: 0, to: entries, by: 500) {
            let grants = (begin..<min(begin + 500, entries)).map { grant("key \($0)", 1) }
            try store.run(grants, at: 10 + Int64(begin))
        }
        for debtor in 0..<debtors {
            let account = Workload.account(100 + debtor)
            let debit = CurrencyAmount(currency: gems, amount: Amount(400)!)
            try store.run(
                [
                    .credit(Workload.purchase(debtor * 6 + 2, signedDate: 1), account: account),
                    .spend(Spend(key: RequestKey("spend \(debtor)")!, account: account, debits: [debit])),
                    .credit(Workload.purchase(debtor * 6 + 2, signedDate: 2, revoked: 100_000), account: account),
                    grant("pay \(debtor)", 100 + debtor),
                ], at: 200_000)
        }
        try store.run(.expire, at: 250_000)
        try store.run([grant("last", 2)], at: 300_000)
        return store
    }

    /// How many steps SQLite's machine takes for each question.
    private static func costs(_ store: Ledger) throws -> [String: Int] {
        let questions: [String: (SQLiteProjection) throws -> Void] = [
            "balances": { _ = try $0.balances(Workload.account(1), currency: nil, asOf: 5) },
            "history": { _ = try $0.history(HistoryQuery(account: Workload.account(1), limit: 1, before: 3)) },
            "balances report": { _ = try $0.report(ReportQuery(kind: .balances, asOf: 5, limit: 2)) },
            "trial": { _ = try $0.report(ReportQuery(kind: .trial, asOf: 5)) },
            "debts": { _ = try $0.report(ReportQuery(kind: .debts, asOf: 250_000, limit: 1)) },
        ]
        return try questions.mapValues { question in
            let checks = Atomic(0)
            try ReadCondition.$current.withValue(
                ReadCondition {
                    checks.add(1, ordering: .relaxed)
                    return true
                }
            ) { try question(store.projection) }
            return checks.load(ordering: .relaxed)
        }
    }

    /// So many steps that each check is one of five thousand: of a past that costs what it returns there are few.
    @Test func aPastThatIsLongAgoCostsNoMore() async throws {
        try await apart {
            let store = try Self.long(20_000, debtors: 50)
            for (question, checks) in try Self.costs(store) { #expect(checks <= 6, "\(question): \(checks)") }
            try store.projection.close()
        }
    }

    // MARK: Ends

    /// Its client is gone, its time is over, or the service stops.
    @Test(arguments: ["history", "balances", "debts", "journal"])
    func aReadThatNobodyWantsEnds(question: String) async throws {
        try await apart {
            let store = try Self.long(3_000, debtors: 800)
            let tables = store.projection
            let left = Atomic(0)
            let condition = ReadCondition { left.subtract(1, ordering: .relaxed).newValue >= 0 }
            func ask() throws {
                switch question {
                case "history":
                    _ = try tables.history(HistoryQuery(account: Workload.account(1), limit: Limits.historyPageMax))
                case "balances": _ = try tables.report(ReportQuery(kind: .balances, asOf: 250_000))
                case "debts": _ = try tables.report(ReportQuery(kind: .debts, asOf: 200_000, limit: 4_000))
                default: _ = try tables.journal(JournalQuery(after: 0, limit: Limits.journalPageMax))
                }
            }
            #expect(throws: ReadEnded.self) { try ReadCondition.$current.withValue(condition) { try ask() } }
            // The connection is as good as before.
            try ask()
            try tables.close()
        }
    }
}

extension TemporaryFolder {
    fileprivate func rows(_ sql: String) throws -> Int {
        try DatabaseQueue(path: database).read { try Int.fetchOne($0, sql: sql) ?? 0 }
    }
}
