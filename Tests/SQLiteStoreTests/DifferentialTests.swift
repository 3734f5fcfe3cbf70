import Foundation
import GRDB
import Ledger
import Testing

@testable import SQLiteStore

/// The embedded engine, with a tail and a cache so short that everything is written, forgotten and read again, against
/// books that stay in memory.
@Suite struct DifferentialTests {
    private struct Debt: Hashable {
        var account: AccountName
        var lot: LotID
        var owed: Int64
    }

    /// Books that forget nothing.
    private struct Reference {
        var books = Books(
            catalog: Workload.catalog, known: [], position: JournalPosition(), totals: Totals(currencies: 0),
            hash: Workload.hash)

        func balances(_ account: AccountName) -> [CurrencyBalance] {
            books.playerIDs[account].flatMap { books.players[$0] }.map { books.balances($0) } ?? []
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func everyAnswerIsThatOfBooksInMemoryAcrossCrashes(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        var workload = Workload(seed: seed)
        var reference = Reference()
        var store: SQLiteStore? = try open(folder, tail: 20, players: 4)
        var remembered: [(time: Timestamp, balances: [[CurrencyBalance]], totals: Totals, debts: Set<Debt>)] = []
        var now: Timestamp = 1_000
        var reached: [EntryKind: Int] = [:]
        var walletsWithoutLots = 0
        for batch in 1...150 {
            // Now and then the service was down for longer than most holds last.
            now += workload.generator.chance(5) ? 400 : 10
            workload.now = now
            // Now and then a batch so large that its rows are inserted many at a time and hashed beside.
            let size = workload.generator.chance(5) ? 150...250 : 1...8
            let commands = (0..<Int.random(in: size, using: &workload.generator)).map { _ in workload.next() }
            let answers = try #require(try store?.run(commands, at: now))
            for (command, answer) in zip(commands, answers) {
                let expected = reference.books.decide(command, at: now)
                #expect("\(answer)" == "\(expected)", "seed \(seed), batch \(batch): \(command)")
            }
            try compareView(try #require(store), reference, "seed \(seed), batch \(batch)", workload.players)
            walletsWithoutLots += try compareLots(
                try #require(store), reference, "seed \(seed), batch \(batch)")
            if batch % 30 == 0 {
                remembered.append(
                    (now, accounts(workload).map { reference.balances($0) }, reference.books.totals, debts(reference)))
            }
            if Int.random(in: 0..<12, using: &workload.generator) == 0 {
                if Bool.random(using: &workload.generator) { try store?.close() } else { try store?.abandon() }
                store = nil
                store = try open(folder, tail: 20, players: 4)
            }
        }
        let last = try #require(store)
        for entry in reference.books.journal.entries { reached[entry.kind, default: 0] += 1 }
        #expect(EntryKind.allCases.allSatisfy { reached[$0] != nil }, "seed \(seed) reaches only \(reached)")
        #expect(walletsWithoutLots > 0, "seed \(seed)")
        try checkChain(last)
        try checkJournal(last, reference)
        for past in remembered { try checkPast(last, past.time, past.balances, past.totals, past.debts, workload) }
        try checkHistory(last, reference, workload)
        try last.close()
        try compareView(try open(folder), reference, "seed \(seed), at the end", workload.players)
    }

    private func accounts(_ workload: Workload) -> [AccountName] { (0..<workload.players).map { Workload.account($0) } }

    /// What the SQL view shows beside the writer is what the books hold.
    private func compareView(_ store: SQLiteStore, _ reference: Reference, _ place: Comment, _ players: Int) throws {
        var expected: [String: [Int64]] = [:]
        for player in reference.books.players.values {
            for item in reference.books.balances(player) where item.balance.version > 0 {
                let balance = item.balance
                expected["\(player.name) \(item.currency)"] = [
                    balance.available, balance.paid, balance.free, balance.held, balance.debt,
                ]
            }
        }
        #expect(try store.viewed() == expected, place)
    }

    /// Whatever the store has of players in memory, lots and holds included, is what the books that forget nothing have.
    /// - Returns: how many wallets' lots it has left in the file.
    private func compareLots(_ store: SQLiteStore, _ reference: Reference, _ place: Comment) throws -> Int {
        var walletsWithoutLots = 0
        for player in try store.commit(Needs(), { $0.players }).values {
            let expected = try #require(reference.books.players[player.id])
            #expect(player.holds == expected.holds, place)
            for wallet in player.wallets {
                let other = try #require(expected.wallets.first { $0.currency == wallet.currency })
                if wallet.hasAllLots { #expect(wallet.open == other.open, place) } else { walletsWithoutLots += 1 }
                #expect(wallet.open == Array(other.open.suffix(wallet.open.count)), place)
                #expect(wallet.balance == other.balance, place)
            }
        }
        return walletsWithoutLots
    }

    /// Pages of the journal give every entry once, in order, with the transfers that the books posted.
    private func checkJournal(_ store: SQLiteStore, _ reference: Reference) throws {
        var entries: [JournalEntry] = []
        var after: EntryID = 0
        while true {
            let page = try store.journal(JournalQuery(after: after, limit: 7))
            if page.entries.isEmpty {
                #expect(page.next == after)
                break
            }
            #expect(page.entries.count <= 7 && page.next == page.entries.last?.entry)
            entries += page.entries
            after = page.next
        }
        let expected = reference.books.journal
        #expect(entries.map(\.entry) == expected.entries.map(\.id))
        #expect(entries.map(\.kind) == expected.entries.map(\.kind))
        #expect(entries.map(\.time) == expected.entries.map(\.time))
        #expect(entries.map(\.key) == expected.entries.map(\.key))
        let lines = entries.flatMap { entry in entry.transfers.map { (entry.entry, $0) } }
        #expect(lines.map(\.1.transfer) == expected.transfers.map(\.id))
        for ((entry, line), transfer) in zip(lines, expected.transfers) {
            let player = transfer.debit.kind.isPersonal ? transfer.debit.player : transfer.credit.player
            #expect(entry == transfer.entry && line.amount.units == transfer.amount && line.lot == transfer.lot)
            #expect(line.debit == transfer.debit.kind && line.credit == transfer.credit.kind)
            #expect(line.debtLot == transfer.debtLot && reference.books.code(transfer.debit.currency) == line.currency)
            if player != 0 { #expect(reference.books.players[player]?.name == line.account) }
        }
    }

    /// Every debt of every lot, as the books in memory have them.
    private func debts(_ reference: Reference) -> Set<Debt> {
        var debts: Set<Debt> = []
        for player in reference.books.players.values {
            for wallet in player.wallets {
                for lot in wallet.open where lot.owed > 0 {
                    debts.insert(Debt(account: player.name, lot: lot.id, owed: lot.owed))
                }
            }
        }
        return debts
    }

    private func checkPast(
        _ store: SQLiteStore, _ time: Timestamp, _ balances: [[CurrencyBalance]], _ totals: Totals, _ owed: Set<Debt>,
        _ workload: Workload
    ) throws {
        var debts: [Debt] = []
        var cursor: String?
        repeat {
            let page = try store.report(ReportQuery(kind: .debts, asOf: time, limit: 2, after: cursor))
            for row in page.rows {
                guard case .debt(let account, _, _, let lot, let debt, let since, let age) = row else { continue }
                #expect(since > 0 && since <= time && age == time - since)
                debts.append(Debt(account: account, lot: lot, owed: debt))
            }
            cursor = page.next
        } while cursor != nil
        #expect(Set(debts) == owed)
        #expect(debts.count == owed.count)
        var expectedRows: Set<ReportRow> = []
        for (account, expected) in zip(accounts(workload), balances) {
            #expect(try store.balances(account, currency: nil, asOf: time) == expected)
            for item in expected where item.balance.available + item.balance.held + item.balance.debt > 0 {
                expectedRows.insert(
                    .balance(
                        account: account, currency: item.currency, available: item.balance.available,
                        held: item.balance.held, debt: item.balance.debt, paid: item.balance.paid))
            }
        }
        var rows: [ReportRow] = []
        var after: String?
        repeat {
            let page = try store.report(ReportQuery(kind: .balances, asOf: time, limit: 3, after: after))
            rows += page.rows
            after = page.next
        } while after != nil
        #expect(Set(rows) == expectedRows)
        #expect(rows.count == expectedRows.count)
        let trial = try store.report(ReportQuery(kind: .trial, asOf: time))
        for row in trial.rows {
            guard case .trial(let code, let kind, let debits, let credits) = row else { continue }
            let number: CurrencyID = code.text == "gems" ? 1 : 2
            #expect(Totals.Turnover(debits: debits, credits: credits) == totals[number, kind])
        }
        #expect(trial.rows.count == 18)
    }

    /// Pages of any size give every entry once, newest first, and each balance is what the entries before it make.
    private func checkHistory(_ store: SQLiteStore, _ reference: Reference, _ workload: Workload) throws {
        for account in accounts(workload) {
            var entries: [HistoryEntry] = []
            var before: EntryID?
            repeat {
                let page = try store.history(HistoryQuery(account: account, limit: 7, before: before))
                entries += page.entries
                before = page.next
            } while before != nil
            let whole = try store.history(HistoryQuery(account: account, limit: 1_000))
            #expect(entries == whole.entries)
            #expect(entries.map(\.entry) == entries.map(\.entry).sorted(by: >))
            var running: [CurrencyCode: Int64] = [:]
            for entry in entries.reversed() {
                for move in entry.transfers {
                    if move.credit == .wallet { running[move.currency, default: 0] += move.amount.units }
                    if move.debit == .wallet { running[move.currency, default: 0] -= move.amount.units }
                }
                for item in entry.balances { #expect(item.balance.available == running[item.currency, default: 0]) }
            }
            for item in reference.balances(account) {
                #expect(running[item.currency, default: 0] == item.balance.available)
            }
        }
    }

    /// The chain, computed anew from nothing but the tables as `Journal+CanonicalForm.swift` describes them.
    private func checkChain(_ store: SQLiteStore) throws {
        try store.pool.read { db in
            db.add(function: signedDigestFunction)
            var hash = Journal.genesis(bundleID: "com.example.game", environment: "Sandbox", hash: Workload.hash)
            var last = try #require(
                try Row.fetchOne(
                    db,
                    sql: """
                        SELECT 0 AS currency, 0 AS account, 0 AS entry, 0 AS transfer, 0 AS evidence, 0 AS assignment,
                            0 AS notification, 0 AS request
                        """))
            let blocks = try Row.fetchAll(db, sql: "SELECT * FROM block ORDER BY id")
            #expect(blocks.count > 50)
            for (index, block) in blocks.enumerated() {
                #expect(block["id"] == Int64(index + 1))
                var bytes = hash.bytes
                bytes += be(Int64(index + 1))
                for table in chainedTables {
                    let rows = try Row.fetchAll(
                        db, sql: table.sql, arguments: [last[table.sequence] as Int64, block[table.sequence] as Int64])
                    for row in rows { bytes += form(table, row) }
                }
                hash = Digest(of: bytes, Workload.hash)
                #expect([UInt8](block["hash"] as Data) == hash.bytes, "block \(index + 1)")
                last = block
            }
        }
    }
}
