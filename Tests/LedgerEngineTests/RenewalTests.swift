import Foundation
import GRDB
import Ledger
import LedgerTestKit
import SQLiteProjection
import Synchronization
import Testing

@testable import LedgerEngine

/// Tables that are damaged, or that somebody outside keeps, are made anew while everything else goes on.
@Suite struct RenewalTests {
    /// An engine over real tables that are made anew as the service makes them.
    private final class Studio: Sendable {
        private struct Plan {
            var isHeld = false
            var failures = 0
            var made = 0
        }

        static let gems = Bench.gems
        let folder: TemporaryFolder
        let log: MemoryLog
        let engine: Engine
        private let plan: Plans

        private final class Plans: Sendable {
            let plan = Mutex(Plan())
            let texts = Mutex<[String]>([])
        }

        /// - Parameters:
        ///   - folder: of a studio before this one, whose engine is closed.
        ///   - failures: how many renewals fail, of which the first may begin at once.
        ///   - isHeld: whether none begins before it is released: damage may be found before `init` returns.
        init(
            _ folder: TemporaryFolder? = nil, log: MemoryLog.Storage = .init(), bounds: SQLiteBounds = .init(),
            failures: Int = 0, isHeld: Bool = false
        ) throws {
            let folder = try folder ?? TemporaryFolder()
            self.folder = folder
            self.log = MemoryLog(log)
            let plan = Plans()
            plan.plan.withLock { ($0.failures, $0.isHeld) = (failures, isHeld) }
            self.plan = plan
            var limits = EngineLimits()
            limits.projectionRetryMilliseconds = 1
            limits.renewalRetryMilliseconds = 1
            limits.renewalRepeatMilliseconds = 1
            let path = folder.path("projection.sqlite")
            let new = path + ".new"
            @Sendable func open(_ path: String, areMade: Bool = false) throws -> SQLiteProjection {
                try SQLiteProjection(
                    path: path, ledger: Bench.ledger, areMade: areMade, hash: Workload.hash, bounds: bounds)
            }
            engine = try Engine(
                log: self.log, projection: try open(path),
                renewal: TableRenewal {
                    while plan.plan.withLock({ $0.isHeld }) { pause(milliseconds: 1) }
                    let fails = plan.plan.withLock { plan in
                        defer { plan.failures = max(0, plan.failures - 1) }
                        plan.made += 1
                        return plan.failures > 0
                    }
                    if fails { throw StoreError("the test's disk is full") }
                    try SQLiteProjection.remove(at: new)
                    return try open(new)
                } replace: {
                    try SQLiteProjection.move(from: new, to: path)
                } open: {
                    try open(path, areMade: true)
                },
                configuration: Engine.Configuration(
                    bundleID: Bench.ledger.bundleID, environment: Bench.ledger.environment, catalog: .small,
                    limits: limits), hash: Workload.hash, now: { Bench.now },
                report: { event in plan.texts.withLock { $0.append("\(event)") } })
        }

        var reports: [String] { plan.texts.withLock { $0 } }
        var made: Int { plan.plan.withLock { $0.made } }
        func hold() { plan.plan.withLock { $0.isHeld = true } }
        func release() { plan.plan.withLock { $0.isHeld = false } }

        /// Commits commands together, as parts of one batch.
        func ask(_ commands: [Command], at now: Timestamp = Bench.now) throws -> [Swift.Result<Outcome, StoreError>] {
            let each = commands.map { command in
                var needs = Needs()
                needs.time = now
                needs.add(command)
                return needs
            }
            var all = Needs()
            all.time = now
            for command in commands { all.add(command) }
            let done = Monitor<Swift.Result<[Swift.Result<Outcome, StoreError>], StoreError>?>(nil)
            engine.commit(all, each: { each }, isLast: true) { books, faults in
                commands.enumerated().map { index, command -> Swift.Result<Outcome, StoreError> in
                    if index < faults.count, let fault = faults[index] { return .failure(fault) }
                    return .success(books.decide(command, at: now))
                }
            } done: { result in
                done.withLock { $0 = result }
                done.wakeAll()
            }
            return try done.wait { $0 }.get()
        }

        func available(_ account: String) throws -> Int64 {
            guard case .balance(let told) = try ask([.balance(account: AccountName(account)!, currency: nil)])[0].get()
            else { return -1 }
            return told.balances.first { $0.currency == Studio.gems }?.balance.available ?? 0
        }

        func isRenewed() throws -> Bool { try eventually { reports.contains { $0.contains("tablesRenewed") } } }
    }

    private static func name(_ number: Int) -> String { "a player whose name is long and has the number \(number)." }

    /// A studio whose tables have damage in every page that has a certain player's name.
    private static func damaged(
        _ victim: Int, expiring: Bool = false, failures: Int = 0, isHeld: Bool = false
    ) throws -> Studio {
        let before = try Studio()
        for first in stride(from: 0, to: 2_000, by: 100) {
            let grants = (first..<first + 100).map { number in
                Command.grant("g\(number)", name(number), 50, expiresAt: expiring ? Bench.now + 1_000 : nil)
            }
            for outcome in try before.ask(grants) { _ = try outcome.get() }
        }
        try before.engine.close()
        let path = before.folder.path("projection.sqlite")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        var start = bytes.startIndex
        var pages: Set<Int> = []
        while let found = bytes.range(of: Data(name(victim).utf8), in: start..<bytes.endIndex) {
            bytes[found.lowerBound] ^= 1
            pages.insert(found.lowerBound / 4_096)
            start = found.upperBound
        }
        #expect(pages.count >= 2)
        try bytes.write(to: URL(fileURLWithPath: path))
        return try Studio(before.folder, log: before.log.storage, failures: failures, isHeld: isHeld)
    }

    @Test func onlyWhatNeedsADamagedRowFailsAndItIsRepaired() async throws {
        try await apart {
            let studio = try Self.damaged(1_000, isHeld: true)
            let numbers = [40, 1_000, 1_990]
            for turn in 0..<3 {
                let answers = try studio.ask(numbers.map { .spend("s\(turn)-\($0)", Self.name($0), 7) })
                for (number, answer) in zip(numbers, answers) {
                    switch answer {
                    case .success: #expect(number != 1_000)
                    case .failure(let error): #expect(number == 1_000 && error.kind == .corrupt, "\(error)")
                    }
                }
            }
            #expect(studio.reports.filter { $0.contains("tablesDamaged") }.count == 1)
            studio.release()
            #expect(try studio.isRenewed())
            #expect(try studio.available(Self.name(1_000)) == 50)
            #expect(try studio.available(Self.name(40)) == 29)
            #expect(try studio.ask([.spend("later", Self.name(1_000), 8)])[0].get().isSpend)
            #expect(try studio.engine.history(HistoryQuery(account: AccountName(Self.name(1_000))!)).entries.count == 2)
            #expect(studio.reports.contains { $0.contains("tablesRenewed") && $0.contains("failures: 3") })
            #expect(studio.made == 1)
            try studio.engine.close()
            // A start finds nothing wrong.
            let next = try Studio(studio.folder, log: studio.log.storage)
            #expect(try next.available(Self.name(1_000)) == 42)
            #expect(!next.reports.contains { $0.contains("tablesDamaged") })
            try next.engine.close()
        }
    }

    @Test func whatExpiresOfOthersDoesNotWaitForADamagedPlayer() async throws {
        try await apart {
            let studio = try Self.damaged(3, expiring: true, isHeld: true)
            var expired = 0
            for _ in 0..<12 {
                guard case .expired(let players) = try studio.ask([.expire], at: Bench.now + 2_000)[0].get() else {
                    Issue.record("it does not expire")
                    break
                }
                expired += players
            }
            // All but those who stand in the same pages.
            #expect(expired > 1_500 && expired < 2_000)
            studio.release()
            #expect(try studio.isRenewed())
            var rest = 0
            for _ in 0..<12 {
                if case .expired(let players) = try studio.ask([.expire], at: Bench.now + 2_000)[0].get() {
                    rest += players
                }
            }
            #expect(expired + rest == 2_000)
            try studio.engine.close()
        }
    }

    @Test func aReadThatMeetsDamageHasItRepaired() async throws {
        try await apart {
            let studio = try Self.damaged(500)
            let query = HistoryQuery(account: AccountName(Self.name(500))!)
            #expect { try studio.engine.history(query) } throws: { ($0 as? StoreError)?.kind == .corrupt }
            #expect(try studio.isRenewed())
            #expect(try studio.engine.history(query).entries.count == 1)
            try studio.engine.close()
        }
    }

    @Test func aRenewalThatFailsIsTriedAgain() async throws {
        try await apart {
            let studio = try Self.damaged(500, failures: 3)
            #expect(try studio.ask([.grant("x", Self.name(500), 1)])[0].isFailure)
            #expect(try studio.isRenewed())
            #expect(studio.reports.filter { $0.contains("renewalFailed") }.count == 3 && studio.made == 4)
            #expect(try studio.ask([.grant("x", Self.name(500), 1)])[0].get().isGrant)
            try studio.engine.close()
        }
    }

    @Test func aStopDoesNotWaitForARenewalThatFails() async throws {
        try await apart {
            let studio = try Self.damaged(500, failures: 1_000_000)
            #expect(try studio.ask([.grant("x", Self.name(500), 1)])[0].isFailure)
            #expect(try eventually { studio.made > 2 })
            try studio.engine.close()
        }
    }

    /// Another program keeps a read open: the write-ahead log does not grow behind it for ever.
    @Test func aReadThatSomebodyKeepsDoesNotKeepTheTables() async throws {
        try await apart {
            var bounds = SQLiteBounds()
            bounds.checkpointPages = 10
            bounds.walPagesRenewed = 200
            let studio = try Studio(bounds: bounds)
            _ = try studio.ask([.grant("first", "ann", 5)])
            _ = try studio.engine.history(HistoryQuery(account: AccountName("ann")!))
            var configuration = Configuration()
            configuration.readonly = true
            configuration.allowsUnsafeTransactions = true
            let outside = try DatabaseQueue(path: studio.folder.path("projection.sqlite"), configuration: configuration)
            let seen = try outside.inDatabase { db in
                try db.execute(sql: "BEGIN")
                return try Int.fetchOne(db, sql: "SELECT count(*) FROM entry")
            }
            #expect(seen == 1)
            var number = 0
            while !studio.reports.contains(where: { $0.contains("tablesRenewed") }), number < 20_000 {
                number += 1
                _ = try studio.ask([.grant("g\(number)", Self.name(number), 1)])
                _ = try studio.engine.history(HistoryQuery(account: AccountName("ann")!))
            }
            #expect(studio.reports.contains { $0.contains("tablesRenewed") }, "after \(number)")
            #expect(try outside.inDatabase { try Int.fetchOne($0, sql: "SELECT count(*) FROM entry") } == 1)
            #expect(try studio.available(Self.name(number)) == 1)
            let inside = try DatabaseQueue(path: studio.folder.path("projection.sqlite"), configuration: configuration)
            #expect(try inside.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM entry") } == number + 1)
            try inside.close()
            try outside.inDatabase { try $0.execute(sql: "ROLLBACK") }
            try outside.close()
            try studio.engine.close()
        }
    }

    /// Changes tables that nobody has open as a fault of this program would: everything but the rows fits.
    private static func change(_ studio: Studio, _ sql: String) throws {
        let path = studio.folder.path("projection.sqlite")
        let tables = try SQLiteProjection(path: path, ledger: Bench.ledger, hash: Workload.hash)
        defer { try? tables.close() }
        try tables.change { try $0.execute(sql: sql) }
    }

    /// A key's row is gone, and every page has its right checksum.
    @Test func aKeyWhoseRowIsGoneIsNotTakenForANewOne() async throws {
        try await apart {
            let before = try Studio()
            let commands = (0..<50).map { Command.grant("g\($0)", Self.name($0), 50) }
            let told = try before.ask(commands).map { try $0.get().grantEntry }
            try before.engine.close()
            try Self.change(before, "DELETE FROM request WHERE key = 'g7'")
            let studio = try Studio(before.folder, log: before.log.storage)
            studio.hold()
            #expect(try eventually { studio.reports.contains { $0.contains("table request has other rows") } })
            for answer in try studio.ask([commands[7], .grant("new", Self.name(7), 1)]) { #expect(answer.isFailure) }
            // What needs no key is answered.
            #expect(try studio.available(Self.name(7)) == 50)
            studio.release()
            #expect(try studio.isRenewed())
            #expect(try studio.ask([commands[7]])[0].get().grantEntry == told[7])
            #expect(try studio.available(Self.name(7)) == 50)
            #expect(try studio.ask([.grant("new", Self.name(7), 1)])[0].get().isGrant)
            try studio.engine.close()
            // What was made anew fits.
            let next = try Studio(studio.folder, log: studio.log.storage)
            #expect(try next.available(Self.name(7)) == 51)
            #expect(!next.reports.contains { $0.contains("tablesDamaged") })
            try next.engine.close()
        }
    }

    // MARK: What is wrong in the log

    /// A chain that believes what it is told to forget: then it says it once more.
    private struct Chain {
        private var books = Books(
            catalog: Workload.catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0),
            hash: Workload.hash)
        private(set) var blocks: [SealedBlock] = []
        private var random = SplitMix64(seed: 1)

        init() { seal() }

        mutating func credit(_ number: Int, signedDate: Timestamp) {
            let purchase = Workload.purchase(number, signedDate: signedDate)
            _ = books.decide(.credit(purchase, account: AccountName("ann")!), at: Bench.now)
            seal()
        }

        mutating func forget(_ number: Int) { books.forget(Workload.transaction(number)) }

        private mutating func seal() {
            var rows = books.takeRows()
            if blocks.isEmpty { rows.ledger = Bench.ledger }
            let block = Block(
                number: Int64(blocks.count + 1), term: 1, time: Bench.now, previous: blocks.last?.hash ?? .zero,
                position: books.position, rows: rows)
            blocks.append(SealedBlock(sealing: block, salts: &random, hash: Workload.hash))
        }
    }

    /// Tables in use that are made anew as the service makes them.
    private final class TablesInUse: Sendable {
        let tables: RenewableProjection
        private let folder: TemporaryFolder
        private let words: Monitor<[String]>

        /// - Parameter applied: how many of the blocks the tables have that are opened.
        init(_ blocks: [SealedBlock], applied: Int) throws {
            let folder = try TemporaryFolder()
            self.folder = folder
            let path = folder.path("projection.sqlite")
            let words = Monitor<[String]>([])
            @Sendable func open(_ path: String, areMade: Bool = false) throws -> SQLiteProjection {
                try SQLiteProjection(path: path, ledger: Bench.ledger, areMade: areMade, hash: Workload.hash) { text in
                    words.withLock { $0.append("warned: \(text)") }
                }
            }
            self.words = words
            let first = try open(path)
            try first.apply(Array(blocks.prefix(applied)))
            try first.close()
            var limits = EngineLimits()
            // Whoever waits for that does not come to an end.
            limits.renewalRepeatMilliseconds = 3_600_000
            limits.renewalRetryMillisecondsMax = 7_200_000
            tables = try RenewableProjection(
                try open(path),
                TableRenewal {
                    try SQLiteProjection.remove(at: path + ".new")
                    return try open(path + ".new")
                } replace: {
                    try SQLiteProjection.move(from: path + ".new", to: path)
                } open: {
                    try open(path, areMade: true)
                }, log: MemoryLog(MemoryLog.Storage(blocks)), limits: limits
            ) { event in words.withLock { $0.append("\(event)") } }
            tables.whenExchanged { block in words.withLock { $0.append("exchanged at \(block)") } }
        }

        var said: [String] { words.withLock { $0 } }
        func count(_ part: String) -> Int { said.filter { $0.contains(part) }.count }
    }

    /// As the start does, what is applied while the service runs keeps the first and goes on.
    @Test func aPurchaseThatTheLogHasTwiceIsNamedOnceAndTheTablesGoOn() throws {
        var chain = Chain()
        chain.credit(1, signedDate: 1)
        chain.credit(2, signedDate: 1)
        chain.forget(1)
        chain.credit(1, signedDate: 1)
        chain.credit(3, signedDate: 1)
        chain.forget(2)
        chain.credit(2, signedDate: 1)
        let blocks = chain.blocks
        let used = try TablesInUse(blocks, applied: 3)
        let error = #expect(throws: StoreError.self) { try used.tables.apply([blocks[3]]) }
        #expect(error?.description.contains("they are damaged, or the log has it twice") == true, "\(used.said)")
        #expect(try eventually { used.count("exchanged at 3") == 1 })
        for block in blocks[3...] { try used.tables.apply([block]) }
        #expect(used.count("tablesBeingRenewed") == 1 && used.count("renewalPutOff") == 0)
        #expect(used.count("warned: ") == 2, "\(used.said)")
        #expect(used.count("warned: block 4: a transaction id is two purchases in the log; the first stays") == 1)
        #expect(used.count("warned: block 6: a transaction id is two purchases in the log; the first stays") == 1)
        #expect(try used.tables.state().head?.number == 6)
        while try used.tables.checkNext() { continue }
        try used.tables.close()
    }

    /// No renewal mends blocks that fit no tables. Each reads the whole log.
    @Test func tablesThatAreDamagedAgainAtOnceAreMadeAnewAfterAWait() throws {
        var chain = Chain()
        for number in 1...3 { chain.credit(number, signedDate: 1) }
        let used = try TablesInUse(chain.blocks, applied: 2)
        // Who reads the log found its hash right.
        let next = chain.blocks[2]
        let wrong = SealedBlock(
            number: next.number, term: next.term, previous: next.previous, hash: next.hash,
            body: next.body.dropLast(8), redactable: next.redactable)
        #expect(throws: StoreError.self) { try used.tables.apply([wrong]) }
        #expect(try eventually { used.count("exchanged at 2") == 1 })
        for _ in 0..<20 { #expect(throws: StoreError.self) { try used.tables.apply([wrong]) } }
        #expect(used.count("tablesBeingRenewed") == 1 && used.count("exchanged") == 1)
        #expect(used.count("renewalPutOff") == 1 && used.count("seconds: 3600") == 1, "\(used.said)")
        // The wait keeps nobody from anything, nor from a stop.
        for block in chain.blocks[2...] { try used.tables.apply([block]) }
        try used.tables.close()
    }

    /// Whoever opens the ledger makes such tables anew: a start does not fail for ever, nor leave a thread behind.
    @Test func aStartSaysOfTablesToWhichBlocksCannotBeAppliedThatTheyAreDamaged() throws {
        let first = try Studio()
        _ = try first.ask([.grant("a", "ann", 100)])
        try first.engine.close()
        let second = try Studio(log: first.log.storage)
        _ = try second.ask([.grant("b", "bob", 100)])
        try second.engine.close()
        // Another hand has taken the key of the next block's request.
        try Self.change(first, "INSERT INTO request (key, fingerprint, answer) VALUES ('b', x'00', x'00')")
        #expect {
            try Studio(first.folder, log: first.log.storage)
        } throws: {
            ($0 as? StoreError)?.kind == .corrupt
        }
        try SQLiteProjection.remove(at: first.folder.path("projection.sqlite"))
        let again = try Studio(first.folder, log: first.log.storage)
        #expect(again.made == 0)
        try again.engine.close()
    }
}

extension Outcome {
    fileprivate var isSpend: Bool { if case .spend = self { true } else { false } }
    fileprivate var grantEntry: EntryID? { if case .grant(let receipt) = self { receipt.entry } else { nil } }
    fileprivate var isGrant: Bool { if case .grant = self { true } else { false } }
}

extension Result {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
