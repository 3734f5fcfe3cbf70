import Foundation
import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

private let gems = CurrencyCode("gems")!

private func grant(_ key: String, _ account: AccountName, _ amount: Int64, expiresAt: Timestamp? = nil) -> Command {
    .grant(
        Grant(
            key: RequestKey(key)!, account: account, currency: gems, amount: Amount(amount)!, expiresAt: expiresAt))
}

@Suite struct SQLiteProjectionTests {
    @Test func aCreditIsThereAfterARestartAndIsNotCreditedTwice() throws {
        var store = try Ledger(TemporaryFolder())
        let player = Workload.account(1)
        let credit = Command.credit(Workload.purchase(1, signedDate: 1), account: player)
        guard case .purchase(let receipt) = try store.run(credit, at: 10) else { Issue.record("refused"); return }
        #expect(receipt.outcome == .credited)
        try store.restart()
        #expect(try store.balances(player).first?.balance.available == 1_000)
        guard case .purchase(let repeated) = try store.run(credit, at: 20) else { Issue.record("refused"); return }
        #expect(repeated.outcome == .alreadyCredited)
        #expect(repeated.entry == receipt.entry)
    }

    @Test func aKeyKeepsItsAnswerAcrossARestart() throws {
        var store = try Ledger(TemporaryFolder())
        let player = Workload.account(1)
        let spend = Command.spend(
            Spend(
                key: RequestKey("k")!, account: player,
                debits: [CurrencyAmount(currency: gems, amount: Amount(5)!)]))
        guard case .refused(let refusal) = try store.run(spend, at: 1) else { Issue.record("spent"); return }
        #expect(refusal == Refusal(.insufficientFunds(currency: gems, available: 0)))
        try store.restart()
        try store.run(.credit(Workload.purchase(1, signedDate: 1), account: player), at: 2)
        guard case .refused(let replayed) = try store.run(spend, at: 3) else { Issue.record("spent"); return }
        #expect(replayed == Refusal(.insufficientFunds(currency: gems, available: 0), replayed: true))
    }

    @Test func aStepThatFailsChangesNothingAndTheNextGoesOn() throws {
        var store = try Ledger(TemporaryFolder())
        try store.run(.credit(Workload.purchase(1, signedDate: 1), account: Workload.account(1)), at: 1)
        let before = try store.folder.dump()
        let folder = store.folder
        try store.restart {
            try folder.change(
                "CREATE TRIGGER fault BEFORE INSERT ON block BEGIN SELECT raise(FAIL, 'the disk is full'); END")
        }
        let purchases = (2..<200).map {
            Command.credit(Workload.purchase($0, signedDate: 1), account: Workload.account(1))
        }
        let error = #expect(throws: StoreError.self) { try store.run(purchases, at: 2) }
        #expect(error?.description.contains("the disk is full") == true)
        #expect(try store.folder.dump() == before)
        try store.restart { try folder.change("DROP TRIGGER fault") }
        #expect(try store.projection.state().position.entry == 199)
    }

    /// As after an error between opening and closing. AddressSanitizer finds what is used after it is freed.
    @Test func tablesThatAreGivenUpWithoutBeingClosedCanBeOpenedAgain() throws {
        let folder = try TemporaryFolder()
        for turn in 0..<20 {
            let store = try Ledger(folder.copy())
            let projection = store.projection
            try projection.apply(store.blocks)
            var books = store.books
            _ = try projection.load(Needs(), into: &books)
            #expect(try projection.state().head?.number == 1, "turn \(turn)")
        }
    }

    @Test func tablesThatAreClosedAlreadyAreClosed() throws {
        let store = try Ledger(TemporaryFolder())
        try store.projection.close()
        try store.projection.close()
    }

    @Test func blocksThatDoNotContinueTheTablesAreRefused() throws {
        var store = try Ledger(TemporaryFolder())
        for number in 1...4 { _ = try store.decide([grant("g\(number)", Workload.account(1), 5)], at: 1) }
        let blocks = store.blocks
        let projection = store.projection
        #expect(throws: StoreError.self) { try projection.apply(Array(blocks[1...])) }
        try projection.apply(Array(blocks[..<2]))
        #expect(throws: StoreError.self) { try projection.apply(Array(blocks[1...])) }
        #expect(throws: StoreError.self) { try projection.apply(Array(blocks[3...])) }
        #expect(throws: StoreError.self) { try projection.apply([blocks[2], blocks[4]]) }
        // The block of another chain.
        var other = try Ledger(TemporaryFolder())
        for number in 1...4 { _ = try other.decide([grant("g\(number)", Workload.account(2), 6)], at: 1) }
        let error = #expect(throws: StoreError.self) { try projection.apply([other.blocks[2]]) }
        #expect(error?.kind == .corrupt)
        #expect(try projection.state().head == blocks[1].head)
        try projection.apply(Array(blocks[2...]))
        #expect(try projection.state().head == blocks[4].head)
    }

    @Test func theStateIsThatOfTheBooks() throws {
        var store = try Ledger(TemporaryFolder())
        var workload = Workload(seed: 7)
        for batch in 1...20 { try store.run((1...3).map { _ in workload.next() }, at: Int64(batch)) }
        try store.close(through: 19)
        try store.close(through: 40)
        let state = try store.projection.state()
        #expect(state.position == store.books.position)
        #expect(state.totals == store.books.totals)
        #expect(state.closedThrough == 40 && store.books.closedThrough == 40)
        #expect(state.currencies.map(\.text) == ["gems", "gold"])
        #expect(state.actors == ["shop": 1])
        #expect(!state.headers.isEmpty && Int64(state.headers.count) == store.books.position.header)
        #expect(state.head == store.blocks.last?.head)
        try store.restart()
        try store.run(grant("late", Workload.account(1), 1), at: 3)
        let history = try store.projection.history(HistoryQuery(account: Workload.account(1), limit: 1))
        #expect(history.entries.first?.time == 41)
    }

    /// A load that sees anything of a block sees its keys, also before `apply` returns.
    @Test func loadsBesideAWriterFindEveryKeyOfABlockThatTheySee() throws {
        var source = try Ledger(TemporaryFolder())
        // So many in a block that between its commit and whatever comes after it there is time to look.
        for number in 1...40 {
            let grants = (0..<200).map { grant("g\(1_000 + number)-\($0)", Workload.account(number), 5) }
            _ = try source.decide(grants, at: 1)
        }
        let blocks = source.blocks
        let folder = try TemporaryFolder()
        let projection = try open(folder)
        try projection.apply([blocks[0]])
        let state = try projection.state()
        let empty = Books(
            catalog: Workload.catalog, known: state.currencies, position: source.books.position,
            totals: state.totals, hash: Workload.hash)
        let writer = Thread {
            for block in blocks.dropFirst() where (try? projection.apply([block])) == nil { break }
        }
        writer.start()
        let end = Date(timeIntervalSinceNow: 60)
        var number = 1
        while number <= 40, Date() < end {
            var needs = Needs()
            needs.accounts = [Workload.account(number)]
            needs.keys = [RequestKey("g\(1_000 + number)-99")!]
            var books = empty
            try projection.load(needs, into: &books)
            if books.players.isEmpty { continue }
            #expect(books.answers.count == 1, "block \(number)")
            number += 1
        }
        #expect(number == 41)
        try projection.close()
    }

    /// A load goes on with what it saw while blocks are applied, and a step is applied while someone reads.
    @Test func aReadThatIsOpenDelaysNobody() throws {
        var store = try Ledger(TemporaryFolder())
        try store.run(grant("a", Workload.account(1), 5), at: 1)
        let queue = try DatabaseQueue(path: store.folder.database)
        try queue.inDatabase { db in
            try db.execute(sql: "BEGIN")
            #expect(try Int.fetchOne(db, sql: "SELECT available FROM wallet") == 5)
            try store.run(grant("b", Workload.account(1), 5), at: 2)
            #expect(try store.balances(Workload.account(1)).first?.balance.available == 10)
            #expect(try Int.fetchOne(db, sql: "SELECT available FROM wallet") == 5)
            try db.execute(sql: "COMMIT")
        }
        try queue.close()
    }

    @Test func reportsAreReadBesideTheWriter() throws {
        var store = try Ledger(TemporaryFolder())
        try store.run(grant("a", Workload.account(1), 5), at: 1)
        let reports = try SQLiteReports(path: store.folder.database)
        try store.run(grant("b", Workload.account(1), 6), at: 2)
        var rows: [ReportRow] = []
        try reports.report(ReportRequest(kind: .balances, asOf: 1)) { block, time in
            #expect(block == store.blocks.last?.number && time == 2)
        } each: {
            rows += $0
        }
        #expect(
            rows == [
                .balance(account: Workload.account(1), currency: gems, available: 5, held: 0, debt: 0, paid: 0)
            ])
        #expect(try reports.state().head == store.blocks.last?.head)
        #expect(try reports.databaseBytes() > 4_096)
    }

    /// The pages of one report belong together, whatever is applied between them.
    @Test func aReportOfManyPagesIsOfOneMoment() throws {
        var store = try Ledger(TemporaryFolder())
        let count = Limits.reportPageMax + 50
        let grants = (0..<count).map { grant("g\($0)", AccountName("player-\($0)")!, 5) }
        try store.run(grants, at: 1)
        let reports = try SQLiteReports(path: store.folder.database)
        var pages: [Int] = []
        var sum: Int64 = 0
        try reports.report(ReportRequest(kind: .balances)) { _, time in
            #expect(time == 1)
        } each: { rows in
            pages.append(rows.count)
            for case .balance(_, _, let available, _, _, _) in rows { sum += available }
            // At the same time, as a block with an earlier clock has it.
            let last = AccountName("player-\(count - 1)")!
            try store.run(grant("later-\(pages.count)", last, 1_000), at: 1)
        }
        #expect(pages == [Limits.reportPageMax, 50])
        #expect(sum == Int64(count) * 5)
        try reports.report(ReportRequest(kind: .trial)) { _, _ in
        } each: { rows in
            let turnover = rows.reduce(into: Int128(0)) {
                if case .trial(_, .granted, let debits, _) = $1 { $0 += debits }
            }
            #expect(turnover == Int128(count) * 5 + 2_000)
        }
    }

    /// Players who are not in memory expire by the time of the last entry, and of the last period that was closed, as
    /// those in memory do.
    @Test func aSweepFindsWhatHasExpiredThoughTheClockIsSetBack() throws {
        var store = try Ledger(TemporaryFolder())
        var sweep = Needs()
        sweep.add(.expire)
        sweep.time = 500
        try store.run(grant("a", Workload.account(0), 5, expiresAt: 1_000), at: 1)
        try store.run(grant("b", Workload.account(1), 5, expiresAt: 3_001), at: 2_000)
        try store.restart()
        try store.load(sweep)
        #expect(Set(store.books.playerIDs.keys) == [Workload.account(0)])
        try store.run(.expire, at: 500)
        try store.close(through: 3_000)
        try store.restart()
        try store.load(sweep)
        #expect(Set(store.books.playerIDs.keys) == [Workload.account(1)])
    }

    @Test func whatExpiredWhileTheServiceWasDownIsPostedByTheFirstSweeps() throws {
        var store = try Ledger(TemporaryFolder())
        let count = Limits.expirationsPerBatchMax + 5
        for number in 0..<count {
            _ = try store.decide([grant("g\(number)", Workload.account(number), 5, expiresAt: 1_000)], at: 1)
        }
        try store.run(
            .hold(
                Hold(
                    key: RequestKey("h")!, account: Workload.account(0), currency: gems, amount: Amount(3)!,
                    timeoutMilliseconds: 100)), at: 2)
        try store.restart()
        guard case .expired(let none) = try store.run(.expire, at: 101) else { Issue.record("no sweep"); return }
        #expect(none == 0)
        guard case .expired(let first) = try store.run(.expire, at: 102) else { Issue.record("no sweep"); return }
        #expect(first == 1)
        #expect(try store.balances(Workload.account(0)).first?.balance.available == 5)
        var sweeps: [Int] = []
        // The tables are behind: what memory has posted is not loaded again.
        for _ in 0..<3 {
            guard case .expired(let players) = try store.decide([.expire], at: 1_000)[0] else { continue }
            sweeps.append(players)
        }
        #expect(sweeps == [Limits.expirationsPerBatchMax, 5, 0])
        try store.project()
        #expect(try store.viewed().values.allSatisfy { $0 == [0, 0, 0, 0, 0] })
        let release = Command.release(Release(key: RequestKey("r")!, holdKey: RequestKey("h")!))
        guard case .refused(let refusal) = try store.run(release, at: 1_001) else { Issue.record("released"); return }
        #expect(refusal == Refusal(.holdExpired(expiresAt: 102)))
        let rows = try DatabaseQueue(path: store.folder.database).read { db in
            try Int.fetchOne(
                db,
                sql: """
                    SELECT (SELECT count(*) FROM lot WHERE is_open) + (SELECT count(*) FROM hold WHERE state = 'open')
                    """)
        }
        #expect(rows == 0)
    }

    @Test func aHoldOutlivesRestartsWithItsParts() throws {
        var store = try Ledger(TemporaryFolder())
        let player = Workload.account(1)
        try store.run(grant("g", player, 5), at: 1)
        try store.run(.credit(Workload.purchase(1, signedDate: 1), account: player), at: 2)
        try store.run(
            .hold(
                Hold(
                    key: RequestKey("h")!, account: player, currency: gems, amount: Amount(9)!,
                    timeoutMilliseconds: 1_000)), at: 3)
        let heldPaid = try DatabaseQueue(path: store.folder.database).read { db in
            try Int.fetchAll(db, sql: "SELECT held_paid FROM wallet")
        }
        #expect(heldPaid == [4])
        try store.restart()
        let capture = Command.capture(Capture(key: RequestKey("c")!, holdKey: RequestKey("h")!, amount: Amount(7)!))
        guard case .capture(let receipt) = try store.run(capture, at: 4) else { Issue.record("refused"); return }
        #expect(receipt.drawn.map(\.amount.units) == [5, 2])
        #expect(receipt.drawn.map(\.transaction?.number) == [nil, 2_000_000_001])
        try store.restart()
        let reversal = Command.reverse(Reversal(key: RequestKey("r")!, spendKey: RequestKey("c")!))
        guard case .reversal(let back) = try store.run(reversal, at: 5) else { Issue.record("refused"); return }
        #expect(back.returned.map(\.amount.units) == [2, 5])
        #expect(try store.balances(player).first?.balance.available == 1_005)
    }

    @Test func theJournalEndsWhereTheLastStepEnded() throws {
        var store = try Ledger(TemporaryFolder())
        try store.project()
        #expect(try store.projection.journal(JournalQuery(after: 0)) == JournalPage(entries: [], next: 0))
        try store.run(grant("g", Workload.account(1), 5), at: 7)
        let page = try store.projection.journal(JournalQuery(after: 0))
        let line = JournalEntry.Line(
            transfer: 1, account: Workload.account(1), debit: .granted, credit: .wallet, currency: gems,
            amount: Amount(5)!, lot: 1, debtLot: nil)
        let entry = JournalEntry(
            entry: 1, time: 7, kind: .grant, key: RequestKey("g")!, note: nil, transaction: nil, transfers: [line])
        #expect(page == JournalPage(entries: [entry], next: 1))
        #expect(try store.projection.journal(JournalQuery(after: 1)) == JournalPage(entries: [], next: 1))
        #expect(try store.projection.journal(JournalQuery(after: 99)) == JournalPage(entries: [], next: 99))
    }

    @Test func closedTablesLeaveNoFileOpen() throws {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        var workload = Workload(seed: 3)
        for time in 1...5 {
            try store.run((0..<20).map { _ in workload.next() }, at: Int64(time))
            try store.restart()
        }
        try store.projection.close()
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(open.filter { $0.hasPrefix(folder.url.path) } == [])
    }

    /// Not when the write-ahead log happens to be copied the next time.
    @Test func aNameThatIsForgottenIsGoneFromTheTablesFile() throws {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        let name = try #require(AccountName("somebody-who-has-a-name"))
        let grant = Grant(
            key: try #require(RequestKey("g")), account: name, currency: try #require(CurrencyCode("gems")),
            amount: try #require(Amount(5)))
        try store.run(.keyed(.grant(grant)), at: 10)
        try store.restart()
        func isThere() throws -> Bool {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.database))
            return bytes.firstRange(of: Data(name.text.utf8)) != nil
        }
        #expect(try isThere())
        try store.run(.forget(name), at: 20)
        #expect(try !isThere())
        try store.projection.close()
    }

    @Test func aNameThatWasErasedFromItsBlockIsFoundByNobody() throws {
        var store = try Ledger(TemporaryFolder())
        _ = try store.decide([grant("g", Workload.account(1), 5)], at: 7)
        var erased = store.blocks[1]
        erased.redactable = try erased.redactable(erasing: [1])
        try store.projection.apply([store.blocks[0], erased])
        #expect(try store.projection.history(HistoryQuery(account: Workload.account(1))).entries.isEmpty)
        let name = try store.projection.journal(JournalQuery(after: 0)).entries[0].transfers[0].account
        #expect(AccountName(name.text) == nil, "nobody may take the name that stands for one that was erased")
        let rows = try store.projection.report(ReportQuery(kind: .balances, asOf: 9)).rows
        #expect(rows == [.balance(account: name, currency: gems, available: 5, held: 0, debt: 0, paid: 0)])
    }
}

/// What has expired is not available, though nothing posted it yet, or later.
@Suite struct PastExpiryTests {
    private func reported(_ store: Ledger, _ asOf: Timestamp) throws -> [Int64] {
        let rows = try store.projection.report(ReportQuery(kind: .balances, asOf: asOf)).rows
        let trial = try store.projection.report(ReportQuery(kind: .trial, asOf: asOf, currency: gems)).rows
        var expired: Int64 = 0
        var sum: Int128 = 0
        for row in trial {
            guard case .trial(_, let kind, let debits, let credits) = row else { continue }
            if kind == .expired { expired = Int64(credits) }
            sum += debits - credits
        }
        #expect(sum == 0)
        var available: Int64 = 0
        for row in rows { if case .balance(_, _, let units, _, _, _) = row { available += units } }
        let past = try store.projection.balances(Workload.account(1), currency: gems, asOf: asOf)
        #expect(past.reduce(0) { $0 + $1.balance.available } == available)
        return [available, expired]
    }

    @Test func itIsExpiredFromItsTimeOnWheneverThatWasPosted() throws {
        var store = try Ledger(TemporaryFolder())
        try store.run(grant("a", Workload.account(1), 7), at: 10)
        try store.run(grant("b", Workload.account(1), 5, expiresAt: 100), at: 20)
        try store.run(grant("c", Workload.account(1), 3, expiresAt: 1_000), at: 30)
        for isPosted in [false, true] {
            if isPosted { try store.run(.expire, at: 500) }
            #expect(try reported(store, 15) == [7, 0])
            #expect(try reported(store, 99) == [15, 0])
            #expect(try reported(store, 100) == [10, 5])
            #expect(try reported(store, 400) == [10, 5])
            #expect(try reported(store, 999) == [10, 5])
            #expect(try reported(store, 1_000) == [7, 8])
        }
    }

    @Test func whatAHoldHasKeepsItsPlaceUntilItComesBack() throws {
        var store = try Ledger(TemporaryFolder())
        try store.run(grant("b", Workload.account(1), 5, expiresAt: 100), at: 20)
        try store.run(
            .hold(
                Hold(
                    key: RequestKey("h")!, account: Workload.account(1), currency: gems, amount: Amount(2)!,
                    timeoutMilliseconds: 400)), at: 30)
        #expect(try reported(store, 50) == [3, 0])
        #expect(try reported(store, 200) == [0, 3])
        try store.run(.release(Release(key: RequestKey("r")!, holdKey: RequestKey("h")!)), at: 300)
        #expect(try reported(store, 50) == [3, 0])
        #expect(try reported(store, 200) == [0, 3])
        #expect(try reported(store, 300) == [0, 5])
    }
}
