import Foundation
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// A bit of the tables that is not what was written is never believed: whatever is asked then is answered right, or
/// with an error of damage, and tables that cannot be gone on with are found at the next opening.
@Suite struct FlippedBitTests {
    private static func flip(_ file: String, at place: Int, _ bit: Int) throws {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        defer { try? handle.close() }
        try handle.seek(toOffset: UInt64(place))
        let byte = try #require(try handle.read(upToCount: 1)?.first)
        try handle.seek(toOffset: UInt64(place))
        try handle.write(contentsOf: [byte ^ 1 << UInt8(bit)])
    }

    /// The places, among the frames of a write-ahead log, of those that hold the newest versions of their pages.
    private static func newestFrames(_ file: String, count: Int) throws -> [Int] {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
        var newest: [[UInt8]: Int] = [:]
        for frame in 0..<count {
            let start = 32 + frame * (4_096 + 24)
            newest[Array(bytes[start..<start + 4])] = frame
        }
        return newest.values.sorted()
    }

    /// Flips one bit after the other, each in a copy of its own.
    /// - Returns: how many were noticed.
    private static func flip(
        _ sample: AskedTables, _ suffix: String, places: [Int], seed: UInt64
    ) throws -> Int {
        var random = SplitMix64(seed: seed)
        var noticed = 0
        for place in places {
            let bit = Int.random(in: 0..<8, using: &random)
            let folder = try sample.copy()
            try flip(folder.database + suffix, at: place, bit)
            guard let answers = try sample.ask(folder) else {
                noticed += 1
                continue
            }
            if answers.values.contains("error") { noticed += 1 }
            for (question, answer) in answers where answer != "error" {
                #expect(
                    answer == sample.answers[question], "seed \(seed), \(suffix) \(place), bit \(bit): \(question)")
            }
        }
        return noticed
    }

    private static func size(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    @Test(arguments: [1, 2] as [UInt64])
    func aBitOfTheTablesIsNeverBelieved(seed: UInt64) async throws {
        try await apart {
            // Everything is in the file itself.
            let sample = try AskedTables(seed: seed, checkpointPages: 1)
            try sample.store.projection.close()
            var random = SplitMix64(seed: seed)
            // In every page, and in the header more often.
            let pages = try Self.size(sample.folder.database) / 4_096
            #expect(pages > 25)
            let places =
                (0..<pages).flatMap { page in
                    (0..<2).map { _ in page * 4_096 + Int.random(in: 0..<4_096, using: &random) }
                } + (0..<30).map { _ in Int.random(in: 0..<100, using: &random) }
            let noticed = try Self.flip(sample, "", places: places, seed: seed)
            // All but those in pages that nothing read.
            #expect(noticed > places.count * 3 / 4, "seed \(seed): \(noticed) of \(places.count)")
        }
    }

    /// SQLite ends a write-ahead log where it is damaged. What was copied out of the rest is in the tables all the
    /// same, and what is left of the log stands over it: such tables are not opened.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func aBitOfTheWriteAheadLogIsNeverBelieved(seed: UInt64) async throws {
        try await apart {
            let sample = try AskedTables(seed: seed, checkpointPages: [60, 150, 300, 100_000][Int(seed) - 1])
            var random = SplitMix64(seed: seed)
            let size = try Self.size(sample.folder.database + "-wal")
            let places = (0..<40).map { _ in Int.random(in: 0..<(random.chance(20) ? 60 : size), using: &random) }
            _ = try Self.flip(sample, "-wal", places: places, seed: seed)
            try sample.store.projection.close()
        }
    }

    /// Trees of several levels, whose old inner pages would hide rows that were there for long.
    @Test func tablesThatLostWhatWasCopiedOfTheirWriteAheadLogAreNotOpened() throws {
        let seed = Seed.drawn()
        print("FlippedBitTests seed \(seed)")
        var random = SplitMix64(seed: seed)
        let folder = try TemporaryFolder()
        var bounds = SQLiteBounds()
        bounds.checkpointPages = 400
        bounds.walBytesReserved = 0
        var store = try Ledger(folder, bounds: bounds)
        var turn = 0
        repeat {
            turn += 1
            let grants = (0..<100).map { _ in
                Command.grant(
                    Grant(
                        key: RequestKey("\(random.next())")!, account: Workload.account(Int(random.next() % 500)),
                        currency: CurrencyCode("gems")!, amount: Amount(1)!))
            }
            try store.run(grants, at: Int64(turn))
        } while turn < 60 || store.projection.walPages < bounds.checkpointPages
        let last = try #require(store.blocks.last).number
        #expect(CheckpointMark(tables: folder.database).read()?.copied == last)
        var (refused, opened) = (0, 0)
        let size = try Self.size(folder.database + "-wal")
        for _ in 0..<60 {
            let copy = try folder.copy()
            let place = Int.random(in: 0..<size, using: &random)
            try Self.flip(copy.database + "-wal", at: place, Int.random(in: 0..<8, using: &random))
            do {
                // Behind its last page, or in its header: then everything is in the tables themselves.
                let tables = try open(copy)
                #expect(try tables.state().head?.number == last, "seed \(seed), byte \(place)")
                opened += 1
                try tables.close()
            } catch let error as ProjectionOpeningError {
                #expect(error.kind == .rebuild, "seed \(seed), byte \(place): \(error)")
                refused += 1
            }
        }
        #expect(refused > 20, "seed \(seed): \(refused) refused, \(opened) opened")
        try store.projection.close()
    }

    /// Keys and purchases that the tables have already are taken for a damaged log's only where the tables are new.
    @Test func blocksWhoseKeysTheTablesHaveAlreadyDoNotFitThem() throws {
        let folder = try TemporaryFolder()
        var store = try Ledger(folder)
        let grant = Grant(
            key: RequestKey("k")!, account: Workload.account(1), currency: CurrencyCode("gems")!, amount: Amount(1)!)
        try store.run(.grant(grant), at: 1)
        try store.projection.close()
        var block = try Block(opening: try #require(store.blocks.last), checks: .form)
        let request = try #require(block.rows.requests.first)
        (block.number, block.previous, block.rows) = (block.number + 1, store.blocks.last!.hash, BlockRows())
        block.position.request += 1
        block.rows.requests = [
            BlockRows.RequestRow(
                id: block.position.request, key: request.key, fingerprint: request.fingerprint, entry: nil,
                answer: request.answer)
        ]
        var salts = SplitMix64(seed: 1)
        let twice = SealedBlock(sealing: block, salts: &salts, hash: Workload.hash)
        let old = try open(folder)
        let error = #expect(throws: StoreError.self) { try old.apply([twice]) }
        #expect(error?.kind == .corrupt)
        try old.close()
        let other = try TemporaryFolder()
        let new = try open(other)
        try new.apply(store.blocks + [twice])
        #expect(try new.state().head?.number == twice.number)
        try new.close()
    }

    @Test(arguments: [60, 150, 100_000])
    func aWriteAheadLogThatIsGoneIsNotBelievedToBeEmpty(checkpointPages: Int) throws {
        let sample = try AskedTables(seed: 5, checkpointPages: checkpointPages)
        let folder = try sample.copy()
        try FileManager.default.removeItem(atPath: folder.database + "-wal")
        if let answers = try sample.ask(folder) { #expect(answers == sample.answers) }
        try sample.store.projection.close()
    }

    /// What a page says is bound to its place.
    @Test func pagesThatChangedPlacesAreNotBelieved() throws {
        let sample = try AskedTables(seed: 7, checkpointPages: 1)
        try sample.store.projection.close()
        let folder = try sample.copy()
        let file = URL(fileURLWithPath: folder.database)
        var bytes = [UInt8](try Data(contentsOf: file))
        let pages = bytes.count / 4_096
        for page in stride(from: 1, to: pages - 1, by: 2) {
            for place in 0..<4_096 { bytes.swapAt(page * 4_096 + place, (page + 1) * 4_096 + place) }
        }
        try Data(bytes).write(to: file)
        #expect(try sample.ask(folder) == nil)
    }

    /// Another program changes a page without its checksum.
    @Test func whatOtherHandsChangedIsNotBelieved() throws {
        let sample = try AskedTables(seed: 8, checkpointPages: 1)
        try sample.store.projection.close()
        let folder = try sample.copy()
        PageChecks.expectOwn(false, at: folder.database)
        try folder.changeAsOthers("UPDATE wallet SET available = available + 1")
        let answers = try sample.ask(folder)
        #expect(answers == nil || answers?.values.contains("error") == true)
    }

    /// Every row of every table, as an auditor reads them beside the writer.
    private static func rows(_ folder: TemporaryFolder) throws -> [String: [[UInt8]]] {
        let tables = try SQLiteTables(path: folder.database, connections: 1)
        var all: [String: [[UInt8]]] = [:]
        for table in StoredTable.allCases {
            let columns = table.columns.split(separator: ",").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            var found: [[UInt8]] = []
            try tables.read(table.name, columns, keyColumns: 1) { found.append($0.bytes) }
            all[table.name] = found
        }
        return all
    }

    /// While the tables are open SQLite itself takes what the write-ahead log has for what was written.
    @Test func aBitOfTheLogThatFlipsWhileItIsUsedIsNotBelieved() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let folder = try TemporaryFolder()
        var bounds = SQLiteBounds()
        // A read takes nothing from a write-ahead log that was copied into the tables whole.
        bounds.checkpointPages = 100_000
        var store = try Ledger(folder, bounds: bounds, seed: seed)
        var workload = Workload(seed: seed)
        for batch in 1...30 {
            workload.now = Int64(batch) * 10
            try store.run((0..<10).map { _ in workload.next() }, at: workload.now)
        }
        let before = try Self.rows(folder)
        let path = folder.database + "-wal"
        let used = 32 + store.projection.walPages * (4_096 + 24)
        #expect(store.projection.walPages > 100)
        let newest = try Self.newestFrames(path, count: store.projection.walPages)
        var refused = 0
        for round in 0..<150 {
            // Most frames are older versions of their pages, which nothing reads: every second bit is of a newest one.
            let place =
                if round.isMultiple(of: 2), let frame = newest.randomElement(using: &random) {
                    32 + frame * (4_096 + 24) + 24 + Int.random(in: 0..<4_096, using: &random)
                } else {
                    Int.random(in: 0..<used, using: &random)
                }
            let bit = Int.random(in: 0..<8, using: &random)
            try Self.flip(path, at: place, bit)
            do {
                #expect(try Self.rows(folder) == before, "seed \(seed), byte \(place)")
            } catch let error as StoreError {
                #expect(error.kind == .corrupt, "\(error)")
                refused += 1
            } catch let error as ProjectionOpeningError {
                #expect(error.kind == .rebuild, "\(error)")
                refused += 1
            }
            try Self.flip(path, at: place, bit)
        }
        #expect(refused > 30, "seed \(seed)")
        #expect(try Self.rows(folder) == before)
        try store.projection.close()
    }

    /// The disk lost the newer ones. What an earlier log has fits sums of its own.
    @Test func framesThatAreLeftOfAnEarlierLogAreNotBelieved() throws {
        let folder = try TemporaryFolder()
        var bounds = SQLiteBounds()
        bounds.checkpointPages = 150
        var store = try Ledger(folder, bounds: bounds, seed: 36)
        var workload = Workload(seed: 36)
        let file = URL(fileURLWithPath: folder.database + "-wal")
        var (earlier, log) = (Data(), Data())
        // Until a log that was begun anew has half as many frames as the one before.
        while earlier.isEmpty || store.projection.walPages < 75 {
            workload.now += 10
            try store.run((0..<10).map { _ in workload.next() }, at: workload.now)
            let now = try Data(contentsOf: file)
            if !log.isEmpty, now[16..<24] != log[16..<24] { earlier = log }
            log = now
        }
        let before = try Self.rows(folder)
        let newest = try Self.newestFrames(file.path, count: store.projection.walPages)
        let handle = try FileHandle(forUpdating: file)
        var refused = 0
        for frame in newest where frame > 0 {
            let places = 32 + (frame - 1) * (4_096 + 24)..<32 + (frame + 1) * (4_096 + 24)
            try handle.seek(toOffset: UInt64(places.lowerBound))
            try handle.write(contentsOf: earlier[places])
            do { #expect(try Self.rows(folder) == before, "frame \(frame)") } catch let error as StoreError {
                #expect(error.kind == .corrupt, "\(error)")
                refused += 1
            } catch let error as ProjectionOpeningError {
                #expect(error.kind == .rebuild, "\(error)")
                refused += 1
            }
            try handle.seek(toOffset: UInt64(places.lowerBound))
            try handle.write(contentsOf: log[places])
        }
        try handle.close()
        #expect(refused > newest.count / 2, "\(refused) of \(newest.count)")
        #expect(try Self.rows(folder) == before)
        try store.projection.close()
    }
}
