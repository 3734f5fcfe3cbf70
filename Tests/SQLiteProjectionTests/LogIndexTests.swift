import Foundation
import GRDB
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import SQLiteProjection

/// The index of the write-ahead log, a file that every program can write into, says where the newest frame of a page
/// is. Where it says something else, nothing older than what was committed is ever read, and nothing is copied wrongly.
@Suite struct LogIndexTests {
    /// Of both copies of its header, and of what is known of copying and reading.
    private static let startBytes = 136

    /// Tables in use, of which each purchase is known that was credited.
    private struct Credits {
        var store: Ledger
        var count = 0
        /// Of currencies, which stay the same.
        private let state: ProjectedState

        init(checkpointPages: Int) throws {
            var bounds = SQLiteBounds()
            bounds.checkpointPages = checkpointPages
            store = try Ledger(TemporaryFolder(), bounds: bounds)
            for first in 0..<2 {
                let purchase = Workload.purchase(first, signedDate: 1)
                try store.run(.credit(purchase, account: Workload.account(first)), at: 1)
            }
            count = 2
            state = try store.projection.state()
        }

        var index: String { store.folder.database + "-shm" }

        /// Of two more purchases.
        mutating func credit() throws {
            let commands = (count..<count + 2).map {
                Command.credit(Workload.purchase($0, signedDate: 1), account: Workload.account($0 % 12))
            }
            // Of the books themselves nothing is asked.
            _ = try store.decide(commands, at: Int64(count))
            try store.project()
            count += 2
        }

        /// What the loader and the readers answer of every purchase.
        /// - Returns: how many of them are not known though they were credited, and how many answers were refused.
        func ask(_ numbers: Range<Int>? = nil) -> (missing: Int, refused: Int) {
            var answers = (missing: 0, refused: 0)
            func note(_ body: () throws -> Bool) {
                do { if try !body() { answers.missing += 1 } } catch let error as StoreError {
                    // A purchase that is not found is said to be missing.
                    if error.description.contains("is missing") { answers.missing += 1 } else { answers.refused += 1 }
                    #expect(error.kind == .corrupt, "\(error)")
                } catch { Issue.record("\(error)") }
            }
            for number in numbers ?? 0..<count {
                let transaction = Workload.transaction(number)
                var needs = Needs()
                needs.transactions = [transaction]
                note {
                    var books = Books(
                        catalog: Workload.catalog, known: state.currencies, position: state.position,
                        totals: state.totals, hash: Workload.hash)
                    try store.projection.load(needs, into: &books)
                    return books.purchases[transaction] != nil
                }
                note { try store.projection.purchase(PurchaseQuery(transaction: transaction)).events.count > 0 }
            }
            return answers
        }

        /// What is left of it at the end, in tables that are opened again or made anew, is what the blocks say.
        func end(_ message: String) throws {
            try? store.projection.close()
            let whole = try TemporaryFolder()
            let right = try open(whole)
            try right.apply(store.blocks)
            try right.close()
            do {
                let tables = try open(store.folder)
                defer { try? tables.close() }
                let head = Int(try tables.state().head?.number ?? 0)
                try tables.apply(Array(store.blocks[head...]))
                #expect(tables.checkAll().isEmpty, "\(message)")
            } catch let error as ProjectionOpeningError {
                #expect(error.kind == .rebuild, "\(message): \(error)")
                return
            } catch let error as StoreError {
                #expect(error.kind == .corrupt, "\(message): \(error)")
                return
            }
            #expect(try store.folder.dump() == whole.dump(), "\(message)")
        }
    }

    private static func bytes(_ path: String, _ places: Range<Int>) throws -> [UInt8] {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(places.lowerBound))
        return try [UInt8](file.read(upToCount: places.count) ?? Data())
    }

    private static func write(_ bytes: [UInt8], _ path: String, at place: Int) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        defer { try? file.close() }
        try file.seek(toOffset: UInt64(place))
        try file.write(contentsOf: bytes)
    }

    /// Changes one bit of a byte.
    private static func flip(
        _ path: String, at place: Int, using random: inout SplitMix64
    ) throws -> (before: [UInt8], flipped: [UInt8]) {
        let before = try bytes(path, place..<place + 1)
        let flipped = [before[0] ^ 1 << UInt8.random(in: 0..<8, using: &random)]
        try write(flipped, path, at: place)
        return (before, flipped)
    }

    /// The places that have something: the start, the page of each frame, and what is found by pages.
    private static func used(_ path: String) throws -> [Int] {
        let bytes = try Self.bytes(path, 0..<32_768)
        return Array(0..<startBytes) + (startBytes..<32_768).filter { bytes[$0] != 0 }
    }

    @Test(arguments: [40, 100_000]) func aHeaderOfBeforeIsNotBelieved(checkpointPages: Int) async throws {
        try await apart {
            for start in [48, 96, Self.startBytes] {
                var credits = try Credits(checkpointPages: checkpointPages)
                var headers: [[UInt8]] = []
                var refused = 0
                for round in 0..<40 {
                    // Connections keep pages as of the header that they have seen, and believe them with it.
                    #expect(credits.ask(0..<2) == (0, 0), "round \(round)")
                    headers.append(try Self.bytes(credits.index, 0..<Self.startBytes))
                    try credits.credit()
                    let newest = try Self.bytes(credits.index, 0..<Self.startBytes)
                    for header in [headers[round], headers[round / 2]] where header[..<96] != newest[..<96] {
                        try Self.write(Array(header[..<start]), credits.index, at: 0)
                        let answers = credits.ask(credits.count - 4..<credits.count)
                        #expect(answers.missing == 0, "round \(round), \(start) bytes")
                        refused += answers.refused
                        try Self.write(newest, credits.index, at: 0)
                    }
                    #expect(credits.ask(credits.count - 4..<credits.count) == (0, 0), "round \(round)")
                }
                #expect(refused > 600, "\(start) bytes")
                try credits.end("\(start) bytes")
            }
        }
    }

    @Test(arguments: [1, 60, 100_000]) func aBitThatFlipsIsNotBelieved(checkpointPages: Int) async throws {
        let seed = Seed.drawn()
        try await apart {
            var random = SplitMix64(seed: seed)
            var credits = try Credits(checkpointPages: checkpointPages)
            var refused = 0
            for round in 0..<400 {
                // Then each connection reads every page anew.
                try credits.credit()
                let used = try Self.used(credits.index)
                let place = try #require(round < Self.startBytes ? round : used.randomElement(using: &random))
                let (before, flipped) = try Self.flip(credits.index, at: place, using: &random)
                let asked = max(0, credits.count - 8)..<credits.count
                let answers = credits.ask(asked)
                #expect(answers.missing == 0, "seed \(seed), round \(round), byte \(place)")
                if answers.refused > 0 { refused += 1 }
                // Where readers have not changed it themselves.
                if try Self.bytes(credits.index, place..<place + 1) == flipped {
                    try Self.write(before, credits.index, at: place)
                }
                #expect(credits.ask(asked) == (0, 0), "seed \(seed), round \(round), byte \(place)")
            }
            #expect(refused > 50, "seed \(seed)")
            try credits.end("seed \(seed)")
        }
    }

    /// Also where pages are copied by what it says, and the log is begun anew.
    @Test(arguments: [1, 30, 200]) func nothingIsCopiedWronglyByABitThatStays(checkpointPages: Int) async throws {
        let seed = Seed.drawn()
        try await apart {
            var random = SplitMix64(seed: seed)
            var damaged = 0
            for number in 0..<40 {
                let message = "seed \(seed), case \(number)"
                var credits = try Credits(checkpointPages: checkpointPages)
                for _ in 0..<Int.random(in: 1..<30, using: &random) { try credits.credit() }
                var used = try Self.used(credits.index)
                // The header alone is repaired by the writer.
                if number % 4 > 0 { used.removeAll { $0 < 96 } }
                let place = try #require(used.randomElement(using: &random))
                let (_, flipped) = try Self.flip(credits.index, at: place, using: &random)
                do {
                    for _ in 0..<30 {
                        let asked = max(0, credits.count - 6)..<credits.count
                        #expect(credits.ask(asked).missing == 0, "\(message), byte \(place) is \(flipped)")
                        try credits.credit()
                    }
                } catch let error as StoreError {
                    #expect(error.kind == .corrupt, "\(message): \(error)")
                    damaged += 1
                }
                try credits.end("\(message), byte \(place) is \(flipped)")
            }
            #expect(damaged > 0, "seed \(seed)")
        }
    }

    /// What is right is never refused: beside thousands of commits, copies and logs that are begun anew, whoever reads
    /// for how long.
    @Test func whatIsRightIsNeverRefused() async throws {
        let seed = Seed.drawn()
        try await apart {
            var bounds = SQLiteBounds()
            bounds.checkpointPages = 60
            var store = try Ledger(TemporaryFolder(), bounds: bounds, seed: seed)
            var workload = Workload(seed: seed)
            let path = store.folder.database
            var logs: Set<[UInt8]> = []
            // Of the books themselves nothing is asked: numbers that are given later are not wrong.
            var given = LastNumbers()
            (given.currency, given.account, given.header, given.entry) = (1 << 20, 1 << 20, 1 << 20, 1 << 20)
            (given.transfer, given.evidence, given.assignment) = (1 << 20, 1 << 20, 1 << 20)
            (given.notification, given.request, given.time) = (1 << 20, 1 << 20, 1 << 20)
            let position = given
            var now: Int64 = 0
            for turn in 0..<4 {
                let projection = store.projection
                let ended = DispatchGroup()
                let isOver = Atomic(false)
                let reads = Atomic(0)
                @Sendable func again(_ name: String, _ body: @escaping @Sendable () throws -> Void) {
                    ended.enter()
                    inThread {
                        while !isOver.load(ordering: .relaxed) {
                            do { try body() } catch { Issue.record("seed \(seed), \(name): \(error)") }
                            reads.add(1, ordering: .relaxed)
                        }
                        ended.leave()
                    }
                }
                again("loading") {
                    var needs = Needs()
                    needs.accounts = [Workload.account(Int.random(in: 0..<12))]
                    needs.transactions = [Workload.transaction(Int.random(in: 0..<60))]
                    let state = try projection.state()
                    var books = Books(
                        catalog: Workload.catalog, known: state.currencies, position: position,
                        totals: state.totals, hash: Workload.hash)
                    try projection.load(needs, into: &books)
                }
                for _ in 0..<2 {
                    again("reading") {
                        _ = try projection.state()
                        _ = try projection.journal(JournalQuery(after: 0, limit: 20))
                        _ = try projection.report(ReportQuery(kind: .trial, asOf: 5))
                    }
                }
                // Its read transactions last for long, each beside many commits.
                again("checking") {
                    let found = projection.checkAll().filter { $0.kind == .corrupt }
                    #expect(found.isEmpty, "\(found)")
                    usleep(UInt32.random(in: 0..<40_000))
                }
                let long = try DatabaseFile.openFurther(path)
                let outside = try Intruder.connection(path, .heedsLocks)
                for (name, reader) in [("a long read", long), ("another program", outside)] {
                    again(name) {
                        try reader.inDatabase { db in
                            try db.execute(sql: "BEGIN")
                            let sql = "SELECT count(*), sum(amount) FROM transfer"
                            let first = try Row.fetchOne(db, sql: sql)
                            for _ in 0..<Int.random(in: 0..<10) {
                                usleep(2_000)
                                #expect(try Row.fetchOne(db, sql: sql) == first)
                            }
                            try db.execute(sql: "COMMIT")
                        }
                        usleep(UInt32.random(in: 0..<60_000))
                    }
                }
                // The log begins anew only where no reader needs it, so not after a number of commits that is known.
                var batch = 0
                while batch < 700 || logs.count <= 2 * (turn + 1) && batch < 20_000 {
                    batch += 1
                    now += 1
                    do { try store.run((0..<3).map { _ in workload.next() }, at: now) } catch {
                        Issue.record("seed \(seed), batch \(now): \(error)")
                        break
                    }
                    logs.insert(try Self.bytes(path + WriteAheadLog.suffix, 16..<24))
                    if batch % 50 == 0 {
                        // What is not committed is not there any more.
                        #expect(throws: CancellationError.self) {
                            try projection.change { db in
                                try db.execute(sql: "UPDATE wallet SET version = version + 1")
                                throw CancellationError()
                            }
                        }
                    }
                }
                isOver.store(true, ordering: .relaxed)
                ended.wait()
                #expect(reads.load(ordering: .relaxed) > 20)
                try long.close()
                // The index that another program keeps is read on by the next start.
                try outside.inDatabase { try $0.execute(sql: "BEGIN; SELECT count(*) FROM entry") }
                try store.restart(bounds: bounds)
                try outside.inDatabase { try $0.execute(sql: "COMMIT") }
                try outside.close()
            }
            #expect(logs.count > 8, "the log was begun anew")
            #expect(store.projection.checkAll().isEmpty)
            try store.projection.close()
        }
    }
}
