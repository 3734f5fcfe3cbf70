import Foundation
import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteStore

private let gems = CurrencyCode("gems")!

@Suite struct SQLiteStoreTests {
    @Test func aCreditIsThereAfterACrash() throws {
        let folder = try TemporaryFolder()
        let player = Workload.account(1)
        var store: SQLiteStore? = try open(folder)
        let first = try #require(try store?.run(.credit(Workload.purchase(1, signedDate: 1), account: player), at: 10))
        guard case .purchase(let receipt) = first else { Issue.record("\(first)"); return }
        #expect(receipt.outcome == .credited)
        try store?.abandon()
        store = nil

        let again = try open(folder)
        #expect(try again.balances(player).first?.balance.available == 1_000)
        guard
            case .purchase(let repeated) = try again.run(
                .credit(Workload.purchase(1, signedDate: 1), account: player), at: 20)
        else { Issue.record("refused"); return }
        #expect(repeated.outcome == .alreadyCredited)
        #expect(repeated.entry == receipt.entry)
        try again.close()
    }

    @Test func aKeyKeepsItsAnswerAcrossARestart() throws {
        let folder = try TemporaryFolder()
        let player = Workload.account(1)
        let spend = Command.spend(
            Spend(
                key: RequestKey("k")!, account: player,
                debits: [CurrencyAmount(currency: gems, amount: Amount(5)!)]))
        let store = try open(folder)
        guard case .refused(let refusal) = try store.run(spend, at: 1) else { Issue.record("spent"); return }
        #expect(refusal == Refusal(.insufficientFunds(currency: gems, available: 0)))
        try store.close()

        let again = try open(folder)
        _ = try again.run(.credit(Workload.purchase(1, signedDate: 1), account: player), at: 2)
        guard case .refused(let replayed) = try again.run(spend, at: 3) else { Issue.record("spent"); return }
        #expect(replayed == Refusal(.insufficientFunds(currency: gems, available: 0), replayed: true))
        try again.close()
    }

    @Test func aSecondWriterIsRefused() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        let error = #expect(throws: StoreError.self) { try open(folder) }
        #expect(error?.description.contains("open for writing in another process") == true)
        let other = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(atPath: other.database, withDestinationPath: folder.database)
        let byLink = #expect(throws: StoreError.self) { try open(other) }
        #expect(byLink?.description.contains("open for writing in another process") == true)
        try FileManager.default.removeItem(atPath: other.database)
        try FileManager.default.linkItem(atPath: folder.database, toPath: other.database)
        let byHardLink = #expect(throws: StoreError.self) { try open(other) }
        #expect(byHardLink?.description.contains("another hard link") == true)
        try store.close()
    }

    @Test func anotherAppsOrEnvironmentsLedgerIsRefused() throws {
        let folder = try TemporaryFolder()
        try open(folder).close()
        for other in [
            LedgerIdentity(bundleID: "com.example.other", environment: "Sandbox"),
            LedgerIdentity(bundleID: "com.example.game", environment: "Production"),
        ] {
            let error = #expect(throws: StoreError.self) { try open(folder, identity: other) }
            #expect(error?.description.contains("is the ledger of com.example.game in Sandbox") == true)
        }
        try open(folder).close()
    }

    @Test func anotherProgramsDatabaseIsRefusedAndLeftAsItIs() throws {
        let folder = try TemporaryFolder()
        let other = try DatabaseQueue(path: folder.database)
        try other.write { try $0.execute(sql: "CREATE TABLE theirs (id INTEGER)") }
        try other.close()
        let error = #expect(throws: StoreError.self) { try open(folder) }
        #expect(error?.description.contains("another program") == true)
        let tables = try DatabaseQueue(path: folder.database).read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_schema")
        }
        #expect(tables == ["theirs"])
        let mode = try DatabaseQueue(path: folder.database).read { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
        #expect(mode == "delete")
    }

    @Test func aNewerFormatIsRefused() throws {
        let folder = try TemporaryFolder()
        try open(folder).close()
        let queue = try DatabaseQueue(path: folder.database)
        try queue.write { try $0.execute(sql: "UPDATE ledger SET format = 99") }
        try queue.close()
        let error = #expect(throws: StoreError.self) { try open(folder) }
        #expect(error?.description.contains("newer version") == true)
    }

    @Test func aFailedCommitChangesNothingAndTheStoreGoesOn() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        let player = Workload.account(1)
        _ = try store.run(.credit(Workload.purchase(1, signedDate: 1), account: player), at: 1)
        try store.pool.writeWithoutTransaction { db in
            try db.execute(
                sql: "CREATE TRIGGER fault BEFORE INSERT ON block BEGIN SELECT raise(ABORT, 'the disk is full'); END")
        }
        let error = #expect(throws: StoreError.self) {
            try store.run(.credit(Workload.purchase(2, signedDate: 1), account: player), at: 2)
        }
        #expect(error?.description.contains("the disk is full") == true)
        #expect(try store.balances(player).first?.balance.available == 1_000)
        try store.pool.writeWithoutTransaction { try $0.execute(sql: "DROP TRIGGER fault") }
        guard
            case .purchase(let receipt) = try store.run(
                .credit(Workload.purchase(2, signedDate: 1), account: player), at: 3)
        else { Issue.record("refused"); return }
        #expect(receipt.outcome == .credited)
        #expect(receipt.entry == 2)
        try store.close()
    }

    @Test func nothingOfALargeBatchThatFailedIsKept() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        try store.pool.writeWithoutTransaction { db in
            try db.execute(
                sql: "CREATE TRIGGER fault BEFORE INSERT ON purchase BEGIN SELECT raise(ABORT, 'the disk is full'); END"
            )
        }
        weak var evidence: Evidence?
        do {
            // So many that its hash is computed on another core.
            let purchases = (0..<200).map { Workload.purchase($0, signedDate: 1) }
            evidence = purchases[0].evidence
            #expect(throws: StoreError.self) {
                try store.run(purchases.map { .credit($0, account: Workload.account(1)) }, at: 1)
            }
        }
        for _ in 0..<1_000 where evidence != nil { pause(milliseconds: 5) }
        #expect(evidence == nil)
        try store.close()
    }

    @Test func aPeriodThatAReportHasSeenStaysClosedWhenTheBooksAreReadAnew() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        try store.commit(Needs()) { $0.close(through: 100) }
        try store.pool.writeWithoutTransaction { db in
            try db.execute(
                sql: "CREATE TRIGGER fault BEFORE INSERT ON block BEGIN SELECT raise(ABORT, 'the disk is full'); END")
        }
        let credit = Command.credit(Workload.purchase(1, signedDate: 1), account: Workload.account(1))
        #expect(throws: StoreError.self) { try store.run(credit, at: 50) }
        try store.pool.writeWithoutTransaction { try $0.execute(sql: "DROP TRIGGER fault") }
        _ = try store.run(credit, at: 50)
        let entries = try store.history(HistoryQuery(account: Workload.account(1))).entries
        #expect(entries.map(\.time) == [101])
        try store.close()
    }

    @Test func aStopSucceedsWhileAnotherProcessReads() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        _ = try store.run(.credit(Workload.purchase(1, signedDate: 1), account: Workload.account(1)), at: 1)
        let reader = try DatabaseQueue(path: folder.database)
        try reader.inDatabase { db in
            try db.execute(sql: "BEGIN; SELECT * FROM wallet")
            try store.close()
            try db.execute(sql: "COMMIT")
        }
        try reader.close()
        let again = try open(folder)
        #expect(try again.balances(Workload.account(1)).first?.balance.available == 1_000)
        try again.close()
    }

    @Test func aNotificationsPayloadIsStoredWithoutTheNestedHeaderAndCanBeRebuilt() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        let signed = Workload.purchase(1, signedDate: 1)
        let evidence = signed.evidence.with(
            payload: Array("{\"data\":\"".utf8) + signed.evidence.header + Array(".p.s\"}".utf8))
        _ = try store.run(
            .notify(
                SignedNotification(
                    uuid: "u", type: "ONE_TIME_CHARGE", subtype: nil, signedDate: 1, evidence: evidence,
                    purchase: signed), account: nil), at: 1)
        let (cut, at, header) = try store.pool.read { db -> ([UInt8], Int, [UInt8]) in
            let row = try #require(
                try Row.fetchOne(
                    db,
                    sql: """
                        SELECT n.payload, n.nested_at, h.text
                        FROM notification AS n JOIN jws_header AS h ON h.id = n.nested_header
                        """))
            return ([UInt8](row["payload"] as Data), row["nested_at"], [UInt8](row["text"] as Data))
        }
        #expect(cut.count == evidence.payload.count - header.count)
        #expect(Array(cut[..<at]) + header + Array(cut[at...]) == evidence.payload)
        try store.close()
    }

    @Test func aTransferThatWasChangedOnDiskIsNoticedAtStart() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        for number in 1...3 {
            _ = try store.run(
                .credit(Workload.purchase(number, signedDate: 1), account: Workload.account(1)), at: Int64(number))
        }
        try store.pool.writeWithoutTransaction { try $0.execute(sql: "DELETE FROM transfer WHERE id = 3") }
        try store.abandon()
        #expect(throws: StoreError.self) { try open(folder) }
    }

    @Test func aSecondCreditOfATransactionIsStoppedByTheSchemaToo() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        let signed = Workload.purchase(1, signedDate: 1)
        _ = try store.run(.credit(signed, account: Workload.account(1)), at: 1)
        // Without its needs the books do not know that the purchase is recorded; the primary key does.
        #expect(throws: StoreError.self) {
            try store.commit(Needs()) { $0.decide(.credit(signed, account: Workload.account(1)), at: 2) }
        }
        #expect(try store.balances(Workload.account(1)).first?.balance.available == 1_000)
        try store.close()
    }

    private func grant(_ key: String, _ account: AccountName, _ amount: Int64, expiresAt: Timestamp? = nil) -> Command {
        .grant(
            Grant(
                key: RequestKey(key)!, account: account, currency: gems, amount: Amount(amount)!, expiresAt: expiresAt))
    }

    /// From the projection, where the close wrote it, and from the journal's tail, where a crash left it there.
    @Test(arguments: [false, true])
    func whatExpiredWhileTheServiceWasDownIsPostedAtTheFirstSweep(crashes: Bool) throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        let count = Limits.expirationsPerBatchMax + 5
        for number in 0..<count {
            _ = try store.run(grant("g\(number)", Workload.account(number), 5, expiresAt: 1_000), at: 1)
        }
        _ = try store.run(
            .hold(
                Hold(
                    key: RequestKey("h")!, account: Workload.account(0), currency: gems, amount: Amount(3)!,
                    timeoutMilliseconds: 100)), at: 2)
        if crashes { try store.abandon() } else { try store.close() }

        let again = try open(folder)
        guard case .expired(let none) = try again.run(.expire, at: 101) else { Issue.record("no sweep"); return }
        #expect(none == 0)
        guard case .expired(let first) = try again.run(.expire, at: 102) else { Issue.record("no sweep"); return }
        #expect(first == 1)
        #expect(try again.balances(Workload.account(0)).first?.balance.available == 5)
        var sweeps: [Int] = []
        for _ in 0..<3 {
            guard case .expired(let players) = try again.run(.expire, at: 1_000) else { continue }
            sweeps.append(players)
        }
        #expect(sweeps == [Limits.expirationsPerBatchMax, 5, 0])
        #expect(try again.viewed().values.allSatisfy { $0 == [0, 0, 0, 0, 0] })
        let release = Command.release(Release(key: RequestKey("r")!, holdKey: RequestKey("h")!))
        guard case .refused(let refusal) = try again.run(release, at: 1_001) else { Issue.record("released"); return }
        #expect(refusal == Refusal(.holdExpired(expiresAt: 102)))
        try again.close()
        let rows = try DatabaseQueue(path: folder.database).read { db in
            try Int.fetchOne(db, sql: "SELECT (SELECT count(*) FROM deadline) + (SELECT count(*) FROM open_hold)")
        }
        #expect(rows == 0)
    }

    @Test func aHoldOutlivesRestartsWithItsParts() throws {
        let folder = try TemporaryFolder()
        var store = try open(folder)
        let player = Workload.account(1)
        _ = try store.run(grant("g", player, 5), at: 1)
        _ = try store.run(.credit(Workload.purchase(1, signedDate: 1), account: player), at: 2)
        _ = try store.run(
            .hold(
                Hold(
                    key: RequestKey("h")!, account: player, currency: gems, amount: Amount(9)!,
                    timeoutMilliseconds: 1_000)), at: 3)
        try store.close()
        store = try open(folder)
        let capture = Command.capture(Capture(key: RequestKey("c")!, holdKey: RequestKey("h")!, amount: Amount(7)!))
        guard case .capture(let receipt) = try store.run(capture, at: 4) else { Issue.record("refused"); return }
        #expect(receipt.drawn.map(\.amount.units) == [5, 2])
        #expect(receipt.drawn.map(\.transaction?.number) == [nil, 2_000_000_001])
        try store.abandon()
        store = try open(folder)
        guard
            case .reversal(let back) = try store.run(
                .reverse(Reversal(key: RequestKey("r")!, spendKey: RequestKey("c")!)), at: 5)
        else { Issue.record("refused"); return }
        #expect(back.returned.map(\.amount.units) == [2, 5])
        #expect(try store.balances(player).first?.balance.available == 1_005)
        try store.close()
    }

    @Test func theJournalEndsWhereTheLastCommitEnded() throws {
        let folder = try TemporaryFolder()
        let store = try open(folder)
        #expect(try store.journal(JournalQuery(after: 0)) == JournalPage(entries: [], next: 0))
        _ = try store.run(grant("g", Workload.account(1), 5), at: 7)
        let page = try store.journal(JournalQuery(after: 0))
        let line = JournalEntry.Line(
            transfer: 1, account: Workload.account(1), debit: .granted, credit: .wallet, currency: gems,
            amount: Amount(5)!, lot: 1, debtLot: nil)
        let entry = JournalEntry(
            entry: 1, time: 7, kind: .grant, key: RequestKey("g")!, note: nil, transaction: nil, transfers: [line])
        #expect(page == JournalPage(entries: [entry], next: 1))
        #expect(try store.journal(JournalQuery(after: 1)) == JournalPage(entries: [], next: 1))
        #expect(try store.journal(JournalQuery(after: 99)) == JournalPage(entries: [], next: 99))
        try store.close()
    }
}
