import FileLog
import Foundation
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import LedgerEngine

/// Names that differ from what the blocks of a log say: who may lead, who follows, and what is told.
@Suite(.serialized) struct NamesTests {
    private static let ann = AccountName("ann")!
    private static let bob = AccountName("bob")!

    private static func block(adding account: PlayerID, _ blocks: [SealedBlock]) throws -> BlockNumber {
        try #require(try blocks.first { try $0.addedAccounts().contains(account) }).number
    }

    /// Takes the name of an account out of a log by no right.
    private static func takeName(of account: PlayerID, _ storage: MemoryLog.Storage) throws {
        let number = try block(adding: account, storage.blocks)
        let log = MemoryLog(storage)
        try log.redact(number, try storage.blocks[Int(number) - 1].redactable(erasing: [account]))
    }

    /// Ann and Bob come in a block each, with one between them and one behind, and their ledger is closed.
    private static func twoPlayers() throws -> (Bench, ann: BlockNumber, bob: BlockNumber) {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        _ = try bench.ask(.grant("a2", "ann", 1))
        _ = try bench.ask(.grant("b", "bob", 5))
        _ = try bench.ask(.grant("b2", "bob", 1))
        try bench.engine.close()
        let blocks = bench.log.blocks
        return (bench, try block(adding: 1, blocks), try block(adding: 2, blocks))
    }

    // MARK: Leaders

    @Test func aStartThatComparesNamesEndsWhenItIsStopped() throws {
        let (before, _, _) = try Self.twoPlayers()
        let storage = before.log.storage
        let count = storage.blocks.count
        let isReading = Monitor(false)
        let store = try OpeningStore(engine: "e", failed: { Issue.record("\($0)") }) { progress in
            let bench = try Bench(
                storage, names: MemoryMark(.owed),
                readingNames: { block, head in
                    isReading.withLock { $0 = true }
                    isReading.wakeAll()
                    while true {
                        try progress("names: block \(block) of \(head)")
                        pause(milliseconds: 1)
                    }
                })
            return bench.engine
        }
        isReading.wait { $0 ? () : nil }
        try store.close()
        #expect(storage.blocks.count == count, "the lead was not taken")
    }

    /// It is noted that a name is owed, by a leader: what a damaged block hides is no reason to refuse everybody.
    @Test func aLeaderThatOwesANameStartsWithADamagedBlock() throws {
        let (before, ann, bob) = try Self.twoPlayers()
        let names = MemoryMark(.owed)
        // The block that erases it may be the one that is damaged.
        try Self.takeName(of: 1, before.log.storage)
        func start(unreadable: BlockNumber) throws -> Bench {
            try Bench(before.log.storage, folder: before.folder, names: names) { _ in
            } prepare: {
                $0.makeUnreadable([unreadable])
            }
        }
        let bench = try start(unreadable: ann + 1)
        let told = bench.reports.filter { $0.hasPrefix("nameOwed") }
        #expect(told.count == 1 && told[0].contains("block \(ann + 1): "), "\(bench.reports)")
        _ = try bench.ask(.grant("c", "ann", 1))
        #expect(names.reason == .owed)
        try bench.engine.close()

        // No block erases that of Bob, whatever stands in a block before his.
        try Self.takeName(of: 2, before.log.storage)
        let count = before.log.blocks.count
        #expect { _ = try start(unreadable: ann + 1) } throws: {
            "\($0)".hasPrefix("the name of account 2, which block \(bob) adds, came erased")
                && "\($0)".contains("block \(ann + 1): ") && ($0 as? StoreError)?.kind == .notReady
        }
        #expect(before.log.blocks.count == count, "nothing was appended")
    }

    /// Erasures behind a damaged block are done, but for names in that block.
    @Test func whatIsOwedInWholeBlocksIsErasedBesideADamagedOne() throws {
        let bench = try Bench()
        for name in ["ann", "bob", "cid"] { _ = try bench.ask(.grant(name, name, 1)) }
        let blocks = try (1...3).map { try Self.block(adding: $0, bench.log.blocks) }
        for number in blocks { bench.log.damage(number, after: 1) }
        for name in ["ann", "bob", "cid"] {
            #expect(throws: StoreError.self) { try bench.ask(.forget(AccountName(name)!)) }
        }
        try bench.engine.close()
        func names() throws -> [AccountName?] {
            try bench.log.blocks.flatMap { try Block(opening: $0, checks: .form).rows.accounts.map(\.name) }
        }
        let before = try names()
        #expect(before.allSatisfy { $0 != nil })
        let mark = MemoryMark(.owed)
        let next = try Bench(bench.log.storage, folder: bench.folder, names: mark) { _ in
        } prepare: {
            $0.makeUnreadable([blocks[1]])
        }
        #expect(try names() == [nil, Self.bob, nil])
        #expect(next.reports.filter { $0.contains("what it says of names is not known") }.count == 1)
        #expect(mark.reason == .owed)
        try next.engine.close()
    }

    /// Of a ledger that was a standby a damaged block may hide all.
    @Test func aFormerStandbyDoesNotLeadWithADamagedBlockBeforeAnOperatorSaysSo() throws {
        let (before, ann, _) = try Self.twoPlayers()
        let names = MemoryMark(.unproven)
        func start() throws -> Bench {
            try Bench(before.log.storage, folder: before.folder, names: names) { _ in
            } prepare: {
                $0.makeUnreadable([ann])
            }
        }
        let count = before.log.blocks.count
        #expect { _ = try start() } throws: {
            "\($0)".hasPrefix("block \(ann): ") && "\($0)".contains("may write the word owed into the mark")
                && ($0 as? StoreError)?.kind == .notReady
        }
        #expect(before.log.blocks.count == count && names.reason == .unproven)
        try names.mark.write(.owed)
        let bench = try start()
        _ = try bench.ask(.grant("c", "bob", 1))
        try bench.engine.close()
        let mended = try Bench(before.log.storage, names: names)
        #expect(names.reason == nil)
        try mended.engine.close()
    }

    /// Ann's name was taken by nobody who may; Bob's is there still, though a block erases it.
    private static func lostAndOwed() throws -> (Bench, damaged: BlockNumber) {
        let bench = try Bench()
        for name in ["ann", "bob"] { _ = try bench.ask(.grant(name, name, 1)) }
        let adding = try block(adding: 2, bench.log.blocks)
        bench.log.damage(adding, after: 1)
        #expect(throws: StoreError.self) { try bench.ask(.forget(bob)) }
        try bench.engine.close()
        try takeName(of: 1, bench.log.storage)
        #expect(try names(in: bench.log.storage) == [nil, bob])
        return (bench, adding)
    }

    private static func names(in storage: MemoryLog.Storage) throws -> [AccountName?] {
        try storage.blocks.flatMap { try Block(opening: $0, checks: .form).rows.accounts.map(\.name) }
    }

    /// What an operator gives up is what is gone, not the erasure of what is there.
    @Test(arguments: [NamesMark.Reason.unproven, .owed])
    func anOperatorWhoAcceptsThatNamesAreLostHasTheOwedOnesErasedStill(reason: NamesMark.Reason) throws {
        let (before, damaged) = try Self.lostAndOwed()
        let storage = before.log.storage
        let names = MemoryMark(reason)
        func start(unreadable: Set<BlockNumber> = []) throws -> Bench {
            try Bench(storage, folder: before.folder, names: names) { _ in
            } prepare: {
                $0.makeUnreadable(unreadable)
            }
        }
        #expect { _ = try start() } throws: {
            let words = "\($0)"
            return words.hasPrefix("the name of account 1, ")
                && words.contains("may write the word accepted into the mark")
                && !words.contains("remove the mark") && words.contains("standby") == (reason == .unproven)
                && ($0 as? StoreError)?.kind == .notReady
        }
        #expect(try Self.names(in: storage) == [nil, Self.bob] && names.reason == reason)

        try names.mark.write(.accepted)
        // While the damage is there it stays noted, and nobody has to accept the same again.
        let first = try start(unreadable: [damaged])
        _ = try first.ask(.grant("c", "cid", 1))
        try first.engine.close()
        #expect(names.reason == .accepted)
        #expect(first.reports.contains { $0.hasPrefix("nameOwed") }, "\(first.reports)")
        let mended = try start()
        #expect(try Self.names(in: storage) == [nil, nil, AccountName("cid")])
        #expect(names.reason == nil)
        try mended.engine.close()
    }

    @Test func aMarkThatCannotBeRemovedIsNoNameThatIsOwed() throws {
        let (before, _, _) = try Self.twoPlayers()
        let names = MemoryMark(.owed)
        names.setWritable(false)
        let bench = try Bench(before.log.storage, names: names)
        #expect(bench.reports.filter { $0.hasPrefix("namesMarkLeft(\"the mark: ") }.count == 1, "\(bench.reports)")
        #expect(!bench.reports.contains { $0.hasPrefix("nameOwed") })
        _ = try bench.ask(.grant("c", "bob", 1))
        try bench.engine.close()
    }

    @Test func anOwedNameThatCannotBeNotedIsToldByItself() throws {
        let names = MemoryMark()
        let bench = try Bench(names: names)
        _ = try bench.ask(.grant("a", "ann", 100))
        names.setWritable(false)
        bench.log.damage(try Self.block(adding: 1, bench.log.blocks), after: 1)
        #expect(throws: StoreError.self) { try bench.ask(.forget(Self.ann)) }
        let told = bench.reports.map { $0.prefix { $0 != "(" } }
        #expect(told.suffix(2) == ["nameOwed", "owedNameNotNoted"], "\(bench.reports)")
        try bench.engine.close()
    }

    // MARK: Standbys

    /// A leader with Ann and some more, whom its standby has too; the standby could not erase Ann's name.
    private static func owingStandby(
        _ names: MemoryMark, _ storage: MemoryLog.Storage
    ) throws -> (Bench, StandbyBench, damaged: BlockNumber) {
        let leader = try Bench()
        _ = try leader.ask(.grant("a", "ann", 100))
        _ = try leader.ask(.grant("b", "bob", 5))
        let log = MemoryLog(storage)
        let standby = try StandbyBench(of: leader.engine, log: log, names: names)
        #expect(try eventually { storage.blocks.count == leader.log.blocks.count })
        let damaged = try block(adding: 1, storage.blocks)
        log.damage(damaged)
        _ = try leader.ask(.forget(ann))
        _ = try leader.ask(.grant("b1", "bob", 5))
        #expect(try eventually { storage.blocks.count == leader.log.blocks.count })
        return (leader, standby, damaged)
    }

    @Test func aStandbyThatCannotReadItsOwnNamesFollowsAndDoesNotLead() throws {
        let names = MemoryMark()
        let storage = MemoryLog.Storage()
        let (leader, first, damaged) = try Self.owingStandby(names, storage)
        #expect(names.reason == .owed)
        try first.engine.close()

        let log = MemoryLog(storage)
        log.makeUnreadable([damaged])
        let second = try StandbyBench(of: leader.engine, log: log, folder: first.folder, names: names)
        for key in 0..<5 { _ = try leader.ask(.grant("c\(key)", "bob", 1)) }
        #expect(try eventually { storage.blocks.count == leader.log.blocks.count })
        #expect(try eventually { second.status.standing.state == .following })
        let told = second.reports.filter { $0.hasPrefix("nameOwed") }
        #expect(told.count == 1 && told[0].contains("block \(damaged): "), "\(second.reports)")
        #expect(second.faults.isEmpty && names.reason == .unproven)
        #expect { try second.engine.promote() } throws: {
            ($0 as? StoreError)?.kind == .notReady && "\($0)".hasPrefix("block \(damaged): ")
                && "\($0)".contains("mend its log")
        }
        _ = try leader.ask(.grant("d", "bob", 1))
        #expect(try eventually { storage.blocks.count == leader.log.blocks.count })
        try second.engine.close()
        #expect { _ = try Bench(storage, names: names, prepare: { $0.makeUnreadable([damaged]) }) } throws: {
            "\($0)".contains("block \(damaged): ")
        }

        // Mended.
        let third = try StandbyBench(of: leader.engine, log: MemoryLog(storage), folder: first.folder, names: names)
        #expect(try eventually { storage.blocks == leader.log.blocks && names.reason == nil })
        #expect(try third.engine.promote().promoted)
        try third.engine.close()
        try leader.engine.close()
    }

    /// Its leader had erased Ann's name in a block that never came, and is lost.
    @Test func aStandbyOfWhichLostNamesAreAcceptedMayLeadAndErasesTheOwedOnes() throws {
        let (before, damaged) = try Self.lostAndOwed()
        let storage = before.log.storage
        let leader = try Bench(MemoryLog.Storage(storage.blocks))
        let names = MemoryMark(.unproven)
        func start(unreadable: Set<BlockNumber> = []) throws -> StandbyBench {
            let log = MemoryLog(storage)
            log.makeUnreadable(unreadable)
            return try StandbyBench(of: leader.engine, log: log, folder: before.folder, names: names)
        }
        let first = try start(unreadable: [damaged])
        #expect(try eventually { first.status.standing.state == .following })
        #expect(throws: StoreError.self) { try first.engine.promote() }
        try first.engine.close()
        #expect(names.reason == .unproven)

        try names.mark.write(.accepted)
        let second = try start(unreadable: [damaged])
        #expect(try eventually { second.status.standing.state == .following })
        #expect(second.reports.contains { $0.hasPrefix("nameOwed") } && names.reason == .accepted)
        try second.engine.close()
        let third = try start()
        #expect(try eventually { try Self.names(in: storage) == [nil, nil] })
        #expect(try eventually { (try? third.engine.promote())?.promoted == true }, "\(third.reports)")
        try third.engine.close()
        try leader.engine.close()
    }

    /// That a name is owed is noted as soon as that can be.
    @Test func aStandbyNotesAnOwedNameWhenItsMarkCanBeWritten() throws {
        let names = MemoryMark()
        let leader = try Bench()
        _ = try leader.ask(.grant("a", "ann", 100))
        let storage = MemoryLog.Storage()
        let log = MemoryLog(storage)
        let standby = try StandbyBench(of: leader.engine, log: log, names: names)
        #expect(try eventually { storage.blocks.count == leader.log.blocks.count })
        names.setWritable(false)
        log.damage(try Self.block(adding: 1, storage.blocks))
        _ = try leader.ask(.forget(Self.ann))
        #expect(try eventually { standby.reports.contains { $0.hasPrefix("owedNameNotNoted") } })
        #expect(names.reason == nil)
        names.setWritable(true)
        _ = try leader.ask(.grant("b", "bob", 5))
        #expect(try eventually { names.reason == .owed }, "\(standby.reports)")
        try standby.engine.close()
        try leader.engine.close()
    }

    @Test func aStandbyWhoseMarkCannotBeRemovedFollowsOn() throws {
        let names = MemoryMark(.unproven)
        names.setWritable(false)
        let leader = try Bench()
        let log = MemoryLog()
        let standby = try StandbyBench(of: leader.engine, log: log, names: names)
        for key in 0..<5 {
            _ = try leader.ask(.grant("c\(key)", "bob", 1))
            #expect(try eventually { log.blocks.count == leader.log.blocks.count })
        }
        #expect(try eventually { standby.reports.contains { $0.hasPrefix("namesMarkLeft(\"the mark: ") } })
        #expect(!standby.reports.contains { $0.hasPrefix("leaderLost") || $0.hasPrefix("nameOwed") })
        names.setWritable(true)
        _ = try leader.ask(.grant("more", "bob", 1))
        #expect(try eventually { names.reason == nil })
        #expect(standby.reports.filter { $0.hasPrefix("namesMarkLeft") }.count == 1, "\(standby.reports)")
        try standby.engine.close()
        try leader.engine.close()
    }

    /// A name that is owed cannot be erased before the log was settled.
    @Test func anOwedNameWaitsForALogThatIsSettled() throws {
        let names = MemoryMark()
        let storage = MemoryLog.Storage()
        let (leader, first, _) = try Self.owingStandby(names, storage)
        try first.engine.close()
        let log = MemoryLog(storage)
        for _ in 0..<5 { log.failLeads(LogError(.notAppended, "the test's disk is read-only")) }
        let second = try StandbyBench(of: leader.engine, log: log, folder: first.folder, names: names)
        #expect(try eventually { storage.blocks == leader.log.blocks && names.reason == nil }, "\(second.reports)")
        try second.engine.close()
        try leader.engine.close()
    }

    // MARK: What came erased

    /// They say the same as a plain list of them, and are not looked through before one may be late.
    @Test func unprovenNamesAreLookedThroughOnlyWhenOneMayBeLate() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        var unproven = UnprovenErasures()
        var plain: [PlayerID: BlockNumber?] = [:]
        var (block, leaderBlock, account) = (BlockNumber(0), BlockNumber(40), PlayerID(0))
        var faults = 0
        for _ in 0..<4_000 {
            block += 1
            leaderBlock = max(block, leaderBlock + Int64.random(in: -1...2, using: &random))
            var rows = BlockRows()
            let dated = random.chance(90) ? leaderBlock : nil
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                account += 1
                rows.accounts.append(BlockRows.AccountRow(id: account, name: nil))
                plain[account] = .some(dated)
            }
            unproven.addNameless(
                of: Block(
                    number: block, term: 1, time: 0, previous: .zero, position: LastNumbers(), rows: rows),
                leaderBlock: dated)
            var proof = BlockRows()
            for account in plain.keys.sorted() where random.chance(20) {
                proof.erasures.append(BlockRows.ErasureRow(account: account, time: 0, actor: 1))
                plain[account] = nil
            }
            unproven.prove(
                by: Block(
                    number: block, term: 1, time: 0, previous: .zero, position: LastNumbers(), rows: proof))
            if random.chance(50) {
                unproven.date(leaderBlock: leaderBlock)
                for (account, dated) in plain where dated == nil { plain[account] = .some(leaderBlock) }
            }
            let late = plain.filter { ($0.value ?? .max) <= block }.keys.sorted()
            let dueBefore = unproven.due
            let fault = unproven.fault(at: block)
            #expect((fault == nil) == late.isEmpty, "block \(block)")
            if let first = late.first {
                faults += 1
                #expect(fault?.hasPrefix("the name of account \(first), ") == true)
                #expect(fault?.contains("and of \(late.count - 1) more") == (late.count > 1))
            }
            #expect(plain.values.allSatisfy { ($0 ?? .max) >= unproven.due })
            // As it was where nothing was due: they were not looked through.
            if block < dueBefore { #expect(unproven.due == dueBefore && fault == nil) }
            #expect(late.isEmpty == (unproven.due > block))
            #expect(unproven.isEmpty == plain.isEmpty)
        }
        #expect(faults > 100 && faults < 3_900, "\(faults)")
    }

    // MARK: Logs that are damaged

    /// Bytes of a log's files that changed anywhere but in the last of them: every other block is read, and those that
    /// are not are named.
    @Test func damagedBlocksArePassedOverAndNamed() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let source = try Bench()
        try source.live(160, seed: seed)
        try source.engine.close()
        let blocks = source.log.blocks
        let head = BlockNumber(blocks.count)
        let identity = Digest(of: Bench.ledger, Workload.hash)
        let configuration = FileLogConfiguration(
            segmentBytes: 8192, writeAheadBytes: 1000, writeAheadRecordBytesMax: 700)
        let temporary = try TemporaryFolder()
        let whole = LedgerFolder(temporary.path("whole"))
        func open(_ folder: LedgerFolder) throws -> FileLog {
            try FileLog.open(
                folder: folder.log, headFile: folder.headFile, identity: identity, hash: Workload.hash,
                configuration: configuration)
        }
        try LedgerFolder.create(at: whole.path) { path in
            try FileLog.create(
                folder: LedgerFolder(path).log, headFile: LedgerFolder(path).headFile, identity: identity,
                configuration: configuration)
        }
        let written = try open(whole)
        try written.settle()
        for block in blocks { try written.append(block) }
        written.close()
        var (lone, many) = (0, 0)
        for round in 0..<60 {
            let folder = LedgerFolder(temporary.path("\(round)"))
            try FileManager.default.copyItem(atPath: whole.path, toPath: folder.path)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder.log).filter { $0.count == 20 }
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                let file = folder.log + "/" + files.sorted().dropLast().randomElement(using: &random)!
                var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
                bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                try bytes.write(to: URL(fileURLWithPath: file))
            }
            let log = try open(folder)
            defer { log.close() }
            var next = BlockNumber(1)
            try log.readReadablePages(through: head, bytesMax: [0, 900, 4_000, 1 << 20][round % 4]) { page in
                for block in page {
                    #expect(block == blocks[Int(next) - 1], "round \(round)")
                    next += 1
                }
            } unreadable: { numbers, error in
                #expect(numbers.lowerBound == next && error.kind == .corrupt, "round \(round)")
                for number in [numbers.lowerBound, numbers.upperBound] {
                    #expect(throws: LogError.self) { try log.read(after: number - 1, bytesMax: 0) }
                }
                #expect("\(error)".contains(folder.log), "\(error)")
                next = numbers.upperBound + 1
                if next <= head {
                    let after = try log.read(after: numbers.upperBound, bytesMax: 0)
                    #expect(after.count == 1)
                }
                if numbers.count == 1 { lone += 1 } else { many += 1 }
            }
            #expect(next == head + 1, "round \(round)")
        }
        #expect(lone > 0 && many > 0, "\(lone), \(many)")
    }
}
