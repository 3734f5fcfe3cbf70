import Foundation
import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// What stands in the place of what this program wrote last is never believed, also where its own checksums fit: a
/// page that is an older version of itself, because the disk lost the newer one, or what another program wrote.
@Suite struct NewestPagesTests {
    private static let pageBytes = 4_096

    /// Asks everything of tables one page of which is what it was some blocks before, page by page.
    /// - Returns: of how many pages, and for how many of them it was noticed.
    private static func askWithOlderPages(
        _ sample: AskedTables, whileOpen: Bool
    ) throws -> (pages: Int, noticed: Int) {
        let newest = try Data(contentsOf: URL(fileURLWithPath: sample.folder.database))
        var (pages, noticed) = (0, 0)
        for start in stride(from: 0, to: min(sample.earlier.count, newest.count), by: pageBytes) {
            let older = sample.earlier[start..<start + pageBytes]
            if older == newest[start..<start + pageBytes] { continue }
            pages += 1
            let folder = try sample.copy()
            func change() throws {
                let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.database))
                defer { try? file.close() }
                try file.seek(toOffset: UInt64(start))
                try file.write(contentsOf: older)
            }
            if !whileOpen { try change() }
            let answers = try sample.ask(folder) { if whileOpen { try change() } }
            if answers?.values.contains("error") ?? true { noticed += 1 }
            for (question, answer) in answers ?? [:] where answer != "error" {
                #expect(answer == sample.answers[question], "page \(start / pageBytes + 1): \(question)")
            }
        }
        return (pages, noticed)
    }

    @Test func aPageThatIsOlderThanTheLastOneWrittenIsNotBelieved() async throws {
        try await apart {
            let sample = try AskedTables(seed: 21, checkpointPages: 1)
            try sample.store.projection.close()
            let (pages, noticed) = try Self.askWithOlderPages(sample, whileOpen: false)
            #expect(pages > 15 && noticed > pages * 3 / 4, "\(noticed) of \(pages)")
        }
    }

    /// What another program writes into the tables while they are used, though locks would keep it from that, is not
    /// believed: neither before this program writes again nor after.
    @Test(arguments: [
        "UPDATE wallet SET available = available + 500000, paid = paid + 500000",
        "UPDATE lot SET remaining = remaining + 7, granted = granted + 7", "DELETE FROM purchase",
        "DELETE FROM request",
        "UPDATE account SET name = 'x' || name", "UPDATE entry SET time = time - 1",
    ])
    func whatAProgramThatHeedsNoLocksWritesIsNotBelieved(sql: String) async throws {
        try await apart {
            for checkpointPages in [1, 100_000] {
                let sample = try AskedTables(seed: 23, checkpointPages: checkpointPages)
                try sample.store.projection.close()
                let folder = try sample.copy()
                let answers = try #require(
                    try sample.ask(folder) {
                        let other = try Intruder.connection(folder.database, .heedsNoLocks)
                        try other.inDatabase { db in
                            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
                            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
                            try db.execute(sql: sql)
                            #expect(db.changesCount > 0)
                        }
                    })
                var noticed = 0
                for (question, answer) in answers {
                    if answer == "error" {
                        noticed += 1
                    } else {
                        #expect(answer == sample.answers[question], "\(question)")
                    }
                }
                #expect(noticed > 0, "\(checkpointPages)")
            }
        }
    }

    /// What a connection has read of it already it need not read again.
    @Test func aPageThatGoesBackWhileTheTablesAreOpenIsNotBelieved() async throws {
        try await apart {
            let sample = try AskedTables(seed: 22, checkpointPages: 1)
            try sample.store.projection.close()
            let (pages, noticed) = try Self.askWithOlderPages(sample, whileOpen: true)
            #expect(pages > 15 && noticed > pages / 3, "\(noticed) of \(pages)")
        }
    }

    /// The whole file too is an older version of itself; then nothing of it fits.
    @Test func theWholeFileOfBeforeIsNotBelieved() throws {
        let sample = try AskedTables(seed: 23, checkpointPages: 1)
        try sample.store.projection.close()
        let folder = try sample.copy()
        try sample.earlier.write(to: URL(fileURLWithPath: folder.database))
        #expect(try sample.ask(folder) == nil)
    }

    @Test(arguments: ["gone", "empty", "short", "flipped", "older"])
    func sumsThatAreNotThoseOfThePagesEndTheTables(damage: String) throws {
        let sample = try AskedTables(seed: 24, checkpointPages: 1)
        try sample.store.projection.close()
        let folder = try sample.copy()
        let file = URL(fileURLWithPath: folder.database + PageSums.suffix)
        var sums = try Data(contentsOf: file)
        switch damage {
        case "gone": try FileManager.default.removeItem(at: file)
        case "empty": try Data().write(to: file)
        case "short": try sums.prefix(sums.count / 2).write(to: file)
        case "flipped":
            for place in stride(from: 8, to: sums.count, by: 16) { sums[place] ^= 1 }
            try sums.write(to: file)
        default:
            // The sums of before the last blocks.
            var store = try Ledger(TemporaryFolder())
            let earlier = try Data(contentsOf: URL(fileURLWithPath: store.folder.database + PageSums.suffix))
            let purchases = (0..<40).map {
                Command.credit(Workload.purchase(1_000 + $0, signedDate: 1), account: Workload.account($0))
            }
            try store.run(purchases, at: 5_000)
            try store.projection.close()
            let newer = try store.folder.copy()
            try earlier.write(to: URL(fileURLWithPath: newer.database + PageSums.suffix))
            #expect(throws: ProjectionOpeningError.self) { try open(newer).close() }
            return
        }
        #expect(try sample.ask(folder) == nil)
    }

    // MARK: The write-ahead log

    /// What another program does, and what it sees of its work.
    private static let edits = [
        "UPDATE wallet SET available = available + 1000000 WHERE debt = 0":
            "SELECT max(available) > 900000 FROM wallet",
        "DELETE FROM purchase": "SELECT count(*) = 0 FROM purchase",
        "DELETE FROM request": "SELECT count(*) = 0 FROM request",
        "UPDATE account SET name = 'somebody' || id": "SELECT count(*) FROM account WHERE name LIKE 'somebody%'",
        "DROP INDEX account_name": "SELECT count(*) = 0 FROM sqlite_schema WHERE name = 'account_name'",
        "CREATE TRIGGER more AFTER UPDATE ON wallet BEGIN UPDATE lot SET remaining = remaining + 1; END":
            "SELECT count(*) FROM sqlite_schema WHERE name = 'more'",
    ]

    /// Makes a copy to which another program has added a transaction, which only the write-ahead log has; that program
    /// has ended without closing the tables.
    private static func edited(
        _ folder: TemporaryFolder, _ sql: String, hasChecks: Bool = false
    ) throws -> TemporaryFolder {
        let edited = try folder.copy()
        if hasChecks { PageChecks.expectOwn(true, at: edited.database) }
        defer { PageChecks.expectOwn(false, at: edited.database) }
        let other = try DatabaseQueue(path: edited.database)
        try other.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            try db.execute(sql: sql)
        }
        let left = try edited.copy()
        try other.close()
        return left
    }

    /// Its frames have sums that fit; but they come after the last commit that is noted as this program's own.
    @Test(arguments: edits.keys.sorted(), [false, true])
    func whatAnotherProgramAddedToTheWriteAheadLogIsCutOff(edit: String, isKilled: Bool) throws {
        let sample = try AskedTables(seed: 25, checkpointPages: isKilled ? 100_000 : 1)
        if !isKilled { try sample.store.projection.close() }
        let folder = try Self.edited(sample.folder, edit)
        let look = try folder.copy()
        let outside = try DatabaseQueue(path: look.database)
        let seen = try #require(Self.edits[edit])
        #expect(try outside.read { db in try Int.fetchOne(db, sql: seen) ?? 0 } > 0)
        try outside.close()
        #expect(try sample.ask(folder) == sample.answers)
        let tables = try open(folder)
        #expect(tables.checkAll().isEmpty)
        try tables.close()
        if isKilled { try sample.store.projection.close() }
    }

    /// Another program that copies the write-ahead log into the tables gives the pages no checksums, or, as this one
    /// does, such as fit; they are not the newest that this one knows.
    @Test(arguments: edits.keys.sorted(), [false, true])
    func whatAnotherProgramCopiedIntoTheTablesIsNotBelieved(edit: String, hasChecks: Bool) throws {
        let sample = try AskedTables(seed: 26, checkpointPages: 100_000)
        let folder = try Self.edited(
            sample.folder, "\(edit); PRAGMA wal_checkpoint(TRUNCATE); UPDATE wallet SET version = version + 1",
            hasChecks: hasChecks)
        let answers = try sample.ask(folder)
        for (question, answer) in answers ?? [:] where answer != "error" {
            #expect(answer == sample.answers[question], "\(question)")
        }
        #expect(answers == nil || answers?.values.contains("error") == true)
        try sample.store.projection.close()
    }

    /// Applies to a copy of tables what it lacks; then it has what they have.
    /// - Returns: the last block that it had.
    private static func goesOn(_ copy: TemporaryFolder, _ store: Ledger) throws -> Int {
        let tables = try open(copy)
        let head = Int(try tables.state().head?.number ?? 0)
        try tables.apply(Array(store.blocks[head...]))
        #expect(tables.checkAll().isEmpty)
        let state = try tables.state()
        try tables.close()
        #expect(try state.head == store.projection.state().head && copy.dump() == store.folder.dump())
        return head
    }

    /// The log begins anew when it was copied whole; the first commit of the new one may not be noted yet.
    @Test(arguments: [40, 100_000])
    func aCommitThatIsNotNotedYetIsAppliedAgain(checkpointPages: Int) throws {
        var bounds = SQLiteBounds()
        bounds.checkpointPages = checkpointPages
        var store = try Ledger(TemporaryFolder(), bounds: bounds)
        var workload = Workload(seed: 27)
        for batch in 1...60 {
            let before = CheckpointMark(tables: store.folder.database).read()
            let mark = try Data(contentsOf: URL(fileURLWithPath: store.folder.database + CheckpointMark.suffix))
            let count = store.blocks.count
            try store.run((0..<6).map { _ in workload.next() }, at: Int64(batch))
            // Before anything is copied the mark is durable.
            if CheckpointMark(tables: store.folder.database).read()?.copied != before?.copied { continue }
            if store.blocks.count == count { continue }
            let killed = try store.folder.copy()
            try mark.write(to: URL(fileURLWithPath: killed.database + CheckpointMark.suffix))
            #expect(try Self.goesOn(killed, store) < store.blocks.count)
        }
        try store.projection.close()
    }

    /// Power took the end of the log and left the mark that names it; then another program added something.
    @Test(arguments: [false, true])
    func whatAnotherProgramAddedToALogThatLostItsEndIsCutOff(isRead: Bool) throws {
        var bounds = SQLiteBounds()
        bounds.checkpointPages = 60
        var store = try Ledger(TemporaryFolder(), bounds: bounds)
        var workload = Workload(seed: 35)
        try store.run((0..<6).map { _ in workload.next() }, at: 1)
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let reader = try DatabaseQueue(path: store.folder.database, configuration: configuration)
        // A read that goes on keeps the log from being begun anew.
        if isRead {
            let sql = "BEGIN; SELECT count(*) FROM entry"
            try reader.inDatabase { try $0.execute(sql: sql) }
        }
        var cut = 0
        for batch in 2...40 {
            try store.run((0..<6).map { _ in workload.next() }, at: Int64(batch))
            let mark = try #require(CheckpointMark(tables: store.folder.database).read())
            let isOfSameLog = mark.synced.salts == mark.commit.salts
            if mark.synced == mark.commit || mark.synced.frames == 0 || isOfSameLog != isRead { continue }
            cut += 1
            let short = try store.folder.copy()
            let log = try FileHandle(forUpdating: URL(fileURLWithPath: short.database + WriteAheadLog.suffix))
            try log.seek(toOffset: UInt64(32 + (mark.commit.frames - 1) * (4_096 + 24)))
            try log.write(contentsOf: Data(repeating: 0, count: 4_096 + 24))
            try log.close()
            let folder = try Self.edited(short, "UPDATE wallet SET available = available + 1000000 WHERE debt = 0")
            #expect(try Self.goesOn(folder, store) < store.blocks.count)
        }
        #expect(cut > 5)
        if isRead { try reader.inDatabase { try $0.execute(sql: "COMMIT") } }
        try reader.close()
        try store.projection.close()
    }

    /// The mark is an older version of itself: what is cut off then was copied already.
    @Test func aMarkOfBeforeTheLastCopyEndsTheTables() throws {
        var bounds = SQLiteBounds()
        bounds.checkpointPages = 60
        var store = try Ledger(TemporaryFolder(), bounds: bounds)
        var workload = Workload(seed: 28)
        var marks: [Data] = []
        var refused = 0
        for batch in 1...60 {
            marks.append(try Data(contentsOf: URL(fileURLWithPath: store.folder.database + CheckpointMark.suffix)))
            try store.run((0..<6).map { _ in workload.next() }, at: Int64(batch))
            let killed = try store.folder.copy()
            try marks[marks.count / 2].write(to: URL(fileURLWithPath: killed.database + CheckpointMark.suffix))
            do { _ = try Self.goesOn(killed, store) } catch let error as ProjectionOpeningError {
                #expect(error.kind == .rebuild, "\(error)")
                refused += 1
            }
        }
        #expect(refused > 0)
        try store.projection.close()
    }

    /// What says of pages which are the newest is itself written anew at times, and read again by each start.
    @Test func sumsAreKeptThroughManyCopiesAndStarts() throws {
        var bounds = SQLiteBounds()
        bounds.checkpointPages = 1
        var store = try Ledger(TemporaryFolder(), bounds: bounds)
        var workload = Workload(seed: 29)
        var sizes: [Int] = []
        let sums = store.folder.database + PageSums.suffix
        for batch in 1...400 {
            try store.run((0..<8).map { _ in workload.next() }, at: Int64(batch) * 10)
            sizes.append(try FileManager.default.attributesOfItem(atPath: sums)[.size] as? Int ?? 0)
            if batch % 40 == 0 { try store.restart(bounds: bounds) }
        }
        #expect(zip(sizes, sizes.dropFirst()).contains { $0 > $1 }, "it was written anew")
        #expect(sizes.allSatisfy { $0 <= 2_048 * 16 })
        try store.restart(bounds: bounds)
        #expect(store.projection.checkAll().isEmpty)
        try store.projection.close()
    }

    /// Where the sums cannot be saved the write-ahead log stays, and has all pages.
    @Test func nothingIsLostWhereTheSumsCannotBeSaved() throws {
        var bounds = SQLiteBounds()
        bounds.checkpointPages = 1
        var store = try Ledger(TemporaryFolder(), bounds: bounds)
        var workload = Workload(seed: 30)
        try store.run((0..<20).map { _ in workload.next() }, at: 1)
        let sums = store.folder.database + PageSums.suffix
        try FileManager.default.moveItem(atPath: sums, toPath: sums + ".kept")
        try FileManager.default.createDirectory(atPath: sums, withIntermediateDirectories: false)
        for batch in 2...20 { try store.run((0..<8).map { _ in workload.next() }, at: Int64(batch)) }
        let pages = store.projection.walPages
        #expect(pages > 100)
        try FileManager.default.removeItem(atPath: sums)
        try FileManager.default.moveItem(atPath: sums + ".kept", toPath: sums)
        let killed = try store.folder.copy()
        let tables = try open(killed)
        #expect(try tables.state().head == store.projection.state().head && tables.checkAll().isEmpty)
        try tables.close()
        for batch in 21...24 { try store.run((0..<8).map { _ in workload.next() }, at: Int64(batch)) }
        #expect(store.projection.walPages < pages)
        try store.restart(bounds: bounds)
        #expect(store.projection.checkAll().isEmpty)
        try store.projection.close()
    }

    /// It reads and writes on behind what is cut off, for SQLite keeps where the log ends in memory that they share.
    @Test(arguments: [false, true])
    func whatAProgramWroteThatStillHasTheTablesOpenIsNotBelieved(isKilled: Bool) throws {
        let sample = try AskedTables(seed: 32, checkpointPages: isKilled ? 100_000 : 1)
        if !isKilled { try sample.store.projection.close() }
        let folder = try sample.copy()
        PageChecks.expectOwn(false, at: folder.database)
        let other = try DatabaseQueue(path: folder.database)
        try other.writeWithoutTransaction { db in
            try db.execute(sql: "UPDATE wallet SET version = version + 1; UPDATE lot SET remaining = remaining + 1")
            try db.execute(sql: "CREATE TRIGGER more AFTER UPDATE ON wallet BEGIN DELETE FROM lot; END")
        }
        let error = #expect(throws: ProjectionOpeningError.self) { try open(folder) }
        #expect(error?.kind == .rebuild, "\(error?.description ?? "")")
        try other.close()
        if isKilled { try sample.store.projection.close() }
    }

    @Test func aBitOfTheMarkThatFlipsIsNeverBelieved() async throws {
        try await apart {
            let sample = try AskedTables(seed: 33, checkpointPages: 100)
            let size = try Data(contentsOf: URL(fileURLWithPath: sample.folder.database + CheckpointMark.suffix)).count
            for place in 0..<size * 8 where place % 7 == 0 {
                let folder = try sample.copy()
                let file = URL(fileURLWithPath: folder.database + CheckpointMark.suffix)
                var mark = try Data(contentsOf: file)
                mark[place / 8] ^= 1 << UInt8(place % 8)
                try mark.write(to: file)
                #expect(CheckpointMark(tables: folder.database).read() == nil, "bit \(place)")
                let error = #expect(throws: ProjectionOpeningError.self) { try open(folder) }
                #expect(error?.kind == .rebuild, "bit \(place)")
            }
            try sample.store.projection.close()
        }
    }

    /// SQLite copies the log when the last connection is closed, whether or not its end is noted.
    @Test(arguments: [3, 9, 15])
    func whatIsCopiedThoughItsEndCouldNotBeNotedIsNotMixedWithWhatWasBefore(noted: Int) throws {
        var bounds = SQLiteBounds()
        bounds.checkpointPages = 100_000
        var store = try Ledger(TemporaryFolder(), bounds: bounds)
        var workload = Workload(seed: 34)
        let mark = store.folder.database + CheckpointMark.suffix
        var kept = Data()
        for batch in 1...20 {
            try store.run((0..<6).map { _ in workload.next() }, at: Int64(batch))
            guard batch == noted else { continue }
            kept = try Data(contentsOf: URL(fileURLWithPath: mark))
            try FileManager.default.removeItem(atPath: mark)
            try FileManager.default.createDirectory(atPath: mark, withIntermediateDirectories: false)
        }
        let right = try store.folder.dump()
        try store.projection.close()
        try FileManager.default.removeItem(atPath: mark)
        try kept.write(to: URL(fileURLWithPath: mark))
        let outcome = try Self.outcome(of: store, right)
        #expect(outcome == "right")
    }

    /// What becomes of tables that are opened and brought up to the last block.
    private static func outcome(of store: Ledger, _ right: [String]) throws -> String {
        let tables: SQLiteProjection
        do { tables = try open(store.folder) } catch let error as ProjectionOpeningError {
            return "opening: \(error.kind)"
        }
        defer { try? tables.close() }
        do {
            let head = Int(try tables.state().head?.number ?? 0)
            try tables.apply(Array(store.blocks[head...]))
        } catch let error as StoreError {
            return "applying: \(error.kind)"
        }
        if !tables.checkAll().isEmpty { return "checking: damage" }
        return try store.folder.dump() == right ? "right" : "wrong"
    }

    // MARK: Files that are cut off while they are used

    /// Whoever finds a page in the write-ahead log, and it is not there, meets damage.
    @Test(arguments: ["", "-wal"]) func aFileThatIsCutOffWhileItIsUsedIsDamage(suffix: String) async throws {
        try await apart {
            let sample = try AskedTables(seed: 31, checkpointPages: suffix.isEmpty ? 1 : 100_000)
            let folder = try sample.copy()
            let answers = try sample.ask(folder) {
                #expect(truncate(folder.database + suffix, suffix.isEmpty ? 4 * 4_096 : 0) == 0)
            }
            let all = try #require(answers)
            for (question, answer) in all where answer != "error" {
                #expect(answer == sample.answers[question], "\(question)")
            }
            #expect(all.values.filter { $0 == "error" }.count > 50)
            try sample.store.projection.close()
        }
    }

    /// The file is memory that SQLite's connections share.
    @Test func anIndexOfTheWriteAheadLogThatIsOverwrittenIsDamage() async throws {
        try await apart {
            var store = try Ledger(TemporaryFolder())
            try store.run(.credit(Workload.purchase(1, signedDate: 1), account: Workload.account(1)), at: 1)
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: store.folder.database + "-shm"))
            try file.write(contentsOf: Data(repeating: 7, count: 32_768))
            try file.close()
            var books = store.books
            var needs = Needs()
            needs.accounts = [Workload.account(2)]
            let error = #expect(throws: StoreError.self) { try store.projection.load(needs, into: &books) }
            #expect(error?.kind == .corrupt, "\(error?.description ?? "")")
            try? store.projection.close()
        }
    }
}
