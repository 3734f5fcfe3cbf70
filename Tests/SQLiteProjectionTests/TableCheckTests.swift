import Foundation
import GRDB
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import SQLiteProjection

/// The sums that are kept of each table's rows, and what is believed of tables that do not fit them.
@Suite struct TableCheckTests {
    private static let gems = CurrencyCode("gems")!

    @Test func whateverIsWrittenFitsTheSums() async throws {
        try await apart {
            let seed = Seed.drawn()
            let folder = try TemporaryFolder()
            var bounds = SQLiteBounds()
            bounds.checkedRowsAtOnce = 3
            var store = try Ledger(folder, bounds: bounds, seed: seed)
            var workload = Workload(seed: seed)
            for batch in 1...150 {
                workload.now = Int64(batch) * 20
                var commands = (0..<90).map { _ in workload.next() }
                if batch % 10 == 0 { commands.append(.forget(Workload.account(batch / 10))) }
                try store.run(commands, at: workload.now)
                if batch % 50 != 0 { continue }
                if batch == 50 { store.record(catalog: Digest(of: [1], Workload.hash), at: workload.now) }
                try store.closePeriod(through: workload.now, by: batch == 50 ? nil : "finance")
                try store.restart(bounds: bounds)
                let found = store.projection.checkAll()
                #expect(found.isEmpty, "seed \(seed): \(found)")
            }
            let queue = try DatabaseQueue(path: folder.database)
            let rows = try queue.read { try StoredState($0).sums }
            try queue.close()
            for table in StoredTable.allCases { #expect(rows[table].rows > 0, "\(table.name) is never written") }
            try store.projection.close()
        }
    }

    @Test func aCheckGoesOnBesideWhatIsWritten() throws {
        let folder = try TemporaryFolder()
        var bounds = SQLiteBounds()
        bounds.checkedRowsAtOnce = 10
        var store = try Ledger(folder, bounds: bounds)
        var workload = Workload(seed: 3)
        try store.run((0..<400).map { _ in workload.next() }, at: 10)
        var turns = 0
        while try store.projection.checkNext() {
            turns += 1
            workload.now = 10 + Int64(turns)
            try store.run((0..<3).map { _ in workload.next() }, at: workload.now)
        }
        #expect(turns > 50)
        try store.projection.close()
    }

    @Test func aTableIsLeftForLaterWhereTooMuchIsWritten() throws {
        let folder = try TemporaryFolder()
        var bounds = SQLiteBounds()
        bounds.checkedRowsAtOnce = 10
        bounds.checkWALPagesMax = 40
        var store = try Ledger(folder, bounds: bounds)
        var workload = Workload(seed: 4)
        try store.run((0..<400).map { _ in workload.next() }, at: 10)
        #expect(try store.projection.checkNext())
        for _ in 0..<20 { try store.run((0..<10).map { _ in workload.next() }, at: 20) }
        let error = #expect(throws: StoreError.self) { try store.projection.checkNext() }
        #expect(error?.kind == .unavailable && error?.description.contains("so much is written") == true)
        #expect(store.projection.checkAll().isEmpty)
        try store.projection.close()
    }

    /// Nothing may ask for long for what stands in it: an index's page, for one.
    @Test func aDamagedPageIsFoundWithoutBeingAskedFor() async throws {
        try await apart {
            let folder = try TemporaryFolder()
            var store = try Ledger(folder)
            var workload = Workload(seed: 13)
            for batch in 1...60 { try store.run((0..<30).map { _ in workload.next() }, at: Int64(batch) * 10) }
            try store.projection.close()
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.database))
            // Nothing is in these (https://sqlite.org/fileformat2.html#the_database_header).
            let unused = bytes[36..<40].reduce(0) { $0 << 8 | Int($1) }
            var unnoticed = 0
            for start in stride(from: 0, to: bytes.count, by: 4_096) {
                let copy = try folder.copy()
                let file = try FileHandle(forUpdating: URL(fileURLWithPath: copy.database))
                try file.seek(toOffset: UInt64(start + 4_050))
                try file.write(contentsOf: Data([bytes[start + 4_050] ^ 4]))
                try file.close()
                do {
                    let tables = try open(copy)
                    if tables.checkAll().isEmpty { unnoticed += 1 }
                    try? tables.close()
                } catch let error as ProjectionOpeningError {
                    #expect(error.kind == .rebuild, "page \(start / 4_096 + 1)")
                }
            }
            #expect(bytes.count > 60 * 4_096 && unnoticed <= unused, "\(unnoticed) of \(bytes.count / 4_096)")
        }
    }

    /// What is gone from a table may not be taken as what never was.
    @Test(arguments: ["request", "purchase", "notification", "purchase_event", "account", "wallet", "lot", "hold"])
    func nothingIsBelievedOfATableThatLacksRows(table: String) throws {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        var workload = Workload(seed: 5)
        for batch in 1...40 {
            workload.now = Int64(batch) * 10
            try store.run((0..<10).map { _ in workload.next() }, at: workload.now)
        }
        // With right checksums of the pages: they are written by this process.
        let some = table == "account" ? " WHERE id < 9" : ""
        try store.restart { try folder.change("DELETE FROM \(table)\(some)") }
        let found = store.projection.checkAll()
        #expect(found.count == 1 && found[0].kind == .corrupt)
        #expect(found[0].description.contains("table \(table) has other rows than were written"))
        let next = workload.now + 10
        let player = Workload.account(1)
        let commands: [String: Command] = [
            "request": .grant(
                Grant(key: RequestKey("zzz")!, account: player, currency: Self.gems, amount: Amount(1)!)),
            "purchase": .credit(Workload.purchase(900, signedDate: next), account: Workload.account(99)),
            "purchase_event": .credit(Workload.purchase(901, signedDate: next), account: Workload.account(99)),
            "account": .balance(account: AccountName("nobody yet")!, currency: nil),
            "wallet": .balance(account: player, currency: nil), "lot": .expire, "hold": .expire,
        ]
        if let command = commands[table] {
            #expect(throws: StoreError.self, "\(table)") { try store.decide([command], at: next) }
        } else {
            var needs = Needs()
            needs.notifications = ["never seen"]
            #expect(throws: StoreError.self) { try store.load(needs) }
        }
        #expect(throws: StoreError.self) { _ = try store.projection.journal(JournalQuery(after: 0, limit: 10)) }
        try store.projection.close()
    }

    /// Also before the first blocks come, and after blocks that could not be applied.
    @Test func nobodyElseCanWriteWhileTheTablesAreOpen() throws {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        var workload = Workload(seed: 6)
        try store.run((0..<20).map { _ in workload.next() }, at: 10)
        let other = try Intruder.connection(folder.database, .heedsLocks)
        func checkOther() throws {
            let error = #expect(throws: DatabaseError.self) {
                try other.writeWithoutTransaction { try $0.execute(sql: "DELETE FROM request") }
            }
            #expect(error?.resultCode == .SQLITE_BUSY)
            // Whoever reads is not in the way.
            #expect(try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM request") } ?? 0 > 0)
        }
        try checkOther()
        try store.run((0..<20).map { _ in workload.next() }, at: 20)
        try checkOther()
        try store.restart()
        try checkOther()
        #expect(throws: StoreError.self) { try store.projection.apply([store.blocks[0]]) }
        try checkOther()
        try store.run((0..<20).map { _ in workload.next() }, at: 30)
        try other.close()
        try store.projection.close()
    }

    /// Applies blocks to tables until damage is found. (Who heeds no locks may also be in the way.)
    private func applyUntilDamageIsFound(_ store: inout Ledger) -> StoreError? {
        var workload = Workload(seed: 8)
        for time in 1...2_000 {
            do { _ = try store.run((0..<3).map { _ in workload.next() }, at: Int64(10 * time)) } catch {
                if let error = error as? StoreError, error.kind == .corrupt { return error }
            }
        }
        return nil
    }

    /// Not between two transactions either, and not while the write-ahead log is copied and begun anew.
    @Test(arguments: [1, 50, 100_000]) func nobodyElseGetsTheLockForWritingWhileTheTablesAreOpen(
        checkpointPages: Int
    ) async throws {
        try await apart {
            var bounds = SQLiteBounds()
            bounds.checkpointPages = checkpointPages
            let folder = try TemporaryFolder()
            var store = try Ledger(folder, bounds: bounds)
            var workload = Workload(seed: 8)
            let others = try (0..<2).map { _ in
                try Intruder(folder.database) { db in
                    try db.execute(sql: "BEGIN IMMEDIATE")
                    try db.execute(sql: "UPDATE wallet SET version = version + 1")
                    try db.execute(sql: "COMMIT")
                }
            }
            for time in 1...400 { _ = try store.run((0..<3).map { _ in workload.next() }, at: Int64(10 * time)) }
            // A statement that fails, and a transaction that is taken back, give it to nobody either.
            for _ in 0..<50 {
                #expect(throws: (any Error).self) { try store.projection.changeWrongly("UPDATE nowhere SET a = 1") }
            }
            for other in others {
                #expect(other.failures > 100)
                try other.end()
            }
            #expect(store.projection.checkAll().isEmpty)
            try store.projection.close()
            try folder.changeAsOthers("UPDATE wallet SET version = version + 1")
        }
    }

    @Test func tablesThatSomebodyKeepsALockOnAreToBeRebuilt() async throws {
        try await apart {
            let store = try Ledger(TemporaryFolder())
            try store.projection.close()
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: store.folder.database, configuration: configuration)
            try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
            let error = #expect(throws: ProjectionOpeningError.self) { try open(store.folder) }
            #expect(error?.kind == .rebuild && error?.description.contains("keeps a lock") == true)
            try other.inDatabase { try $0.execute(sql: "ROLLBACK") }
            try other.close()
            try open(store.folder).close()
        }
    }

    /// It heeds no locks; nothing of what it wrote is copied into the tables as if it was ours.
    @Test(arguments: [1, 100_000]) func whatAnotherProgramWritesBetweenTwoTransactionsIsNoticed(
        checkpointPages: Int
    ) async throws {
        try await apart {
            var bounds = SQLiteBounds()
            bounds.checkpointPages = checkpointPages
            var store = try Ledger(TemporaryFolder(), bounds: bounds)
            let other = try Intruder(store.folder.database, .heedsNoLocks) { db in
                try db.execute(sql: "UPDATE wallet SET version = version + 1")
                // What it wrote while this program was writing is written over.
                usleep(2_000)
                throw StoreError("once more")
            }
            let error = self.applyUntilDamageIsFound(&store)
            #expect(error?.kind == .corrupt)
            try other.end()
            // Both may have written at once, this program last: then all that was not written over is right.
            let query = ReportQuery(kind: .balances, asOf: 5)
            let report = try? store.projection.report(query).rows
            let next = #expect(throws: StoreError.self) { try store.projection.apply(Array(store.blocks.suffix(1))) }
            let isApplied = next?.description.contains("does not follow") ?? false
            #expect(next?.kind == .corrupt || isApplied, "\(next?.description ?? "")")
            let killed = try store.folder.copy()
            try store.projection.close()
            let right = try TemporaryFolder()
            let tables = try open(right)
            try tables.apply(store.blocks)
            if let report { #expect(try "\(report)" == "\(tables.report(query).rows)") }
            try tables.close()
            for folder in [killed, store.folder] { try Self.expectOnly(right, in: folder, store.blocks) }
        }
    }

    /// - Throws: where the tables can be opened and gone on with, and have other rows than these.
    private static func expectOnly(_ right: TemporaryFolder, in folder: TemporaryFolder, _ blocks: [SealedBlock]) throws
    {
        do {
            let tables = try open(folder)
            defer { try? tables.close() }
            try tables.apply(Array(blocks[Int(tables.state().head?.number ?? 0)...]))
            #expect(try folder.dump() == right.dump())
        } catch let error as ProjectionOpeningError {
            #expect(error.kind == .rebuild)
        } catch let error as StoreError {
            #expect(error.kind == .corrupt)
        } catch let error as DatabaseError {
            #expect(error.isDamage)
        }
    }

    /// It gets the lock as soon as this program gives it back.
    @Test func whatAnotherProgramWritesWhileTheTablesAreClosedIsNotBelieved() async throws {
        try await apart {
            var store = try Ledger(TemporaryFolder())
            var workload = Workload(seed: 12)
            try store.run((0..<200).map { _ in workload.next() }, at: 10)
            try store.projection.close()
            // SQLite waits up to ten seconds where the other program left the index of the write-ahead log unfinished.
            for _ in 0..<4 {
                let folder = try store.folder.copy()
                let tables = try open(folder)
                let other = try Intruder(folder.database) {
                    try $0.execute(sql: "UPDATE wallet SET version = version + 1")
                }
                try tables.close()
                try other.end(waits: true)
                try Self.expectOnly(store.folder, in: folder, store.blocks)
            }
        }
    }

    /// What the books add up to is signed, and decided on.
    @Test(arguments: ["total", "currency"])
    func theBooksAreNotReadOfATableThatDoesNotFit(table: String) throws {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        var workload = Workload(seed: 9)
        try store.run((0..<200).map { _ in workload.next() }, at: 10)
        let changes = [
            // Each currency still adds up to zero.
            "total": "UPDATE total SET debits = debits + 1, credits = credits + 1 WHERE kind = 'wallet'",
            "currency": "UPDATE currency SET code = 'other' WHERE id = 1",
        ]
        try store.restart { try folder.change(try #require(changes[table])) }
        _ = try store.projection.state()
        #expect(store.projection.checkAll().count == 1)
        let error = #expect(throws: StoreError.self) { try store.projection.state() }
        #expect(error?.kind == .corrupt && error?.description.contains("table \(table) has other rows") == true)
        try store.projection.close()
    }

    @Test func sumsThatCannotBeReadEndTheCheck() throws {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        var workload = Workload(seed: 10)
        try store.run((0..<20).map { _ in workload.next() }, at: 10)
        try store.restart()
        try store.projection.changeWrongly("UPDATE projection SET sums = x'00'")
        var found = 0
        for _ in 0..<100 {
            do {
                if try !store.projection.checkNext() { break }
            } catch let error as StoreError {
                #expect(error.kind == .corrupt && error.description.contains("the sums of the tables cannot be read"))
                found += 1
            }
        }
        #expect(found == StoredTable.allCases.count, "each table once")
        try store.projection.close()
    }

    /// A lock of another process would be refused, as long as this one keeps its own: without them another program
    /// could take the write-ahead log away.
    @Test func aCheckLeavesTheLocksOnTheFileAlone() throws {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        var workload = Workload(seed: 11)
        try store.run((0..<20).map { _ in workload.next() }, at: 10)
        try store.restart()
        while try store.projection.checkNext() {}
        // Locks of open file descriptions are refused by those of processes, also of this one (fcntl(2)).
        let descriptor = open(folder.database, O_RDWR)
        try #require(descriptor >= 0)
        // It gives up the locks in question itself, so it is closed last.
        defer { close(descriptor) }
        // The bytes that a reader locks (https://sqlite.org/src/file/src/os.h, SHARED_FIRST and SHARED_SIZE).
        var lock = flock()
        (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
        (lock.l_start, lock.l_len) = (0x4000_0002, 510)
        // F_OFD_GETLK
        try #require(fcntl(descriptor, 36, &lock) == 0)
        #expect(lock.l_type == Int16(F_RDLCK))
        try store.projection.close()
    }
}
