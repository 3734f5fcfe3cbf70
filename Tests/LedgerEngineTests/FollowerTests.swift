import FileLog
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import LedgerEngine

/// A standby beside its leader in one process: what it appends, whatever comes and whatever fails.
@Suite(.serialized) struct FollowerTests {
    @Test func itHasTheLeadersBlocksAndReadsThem() throws {
        let seed = Seed.drawn()
        let leader = try Bench()
        let log = MemoryLog()
        let standby = try StandbyBench(of: leader.engine, log: log)
        #expect(try standby.available("player-1") == 0, "an empty one is read too")
        for round in 0..<20 {
            try leader.live(20, seed: seed &+ UInt64(round))
            #expect(try eventually { log.blocks.count == leader.log.blocks.count })
            for player in 0..<9 {
                #expect(try standby.available("player-\(player)") == leader.available("player-\(player)"))
            }
        }
        #expect(log.blocks == leader.log.blocks)
        let ann = AccountName("player-1")!
        #expect(
            try standby.engine.history(HistoryQuery(account: ann)) == leader.engine.history(HistoryQuery(account: ann)))
        guard case .notLeader("leader:1") = standby.engine.fault()?.kind else {
            Issue.record("a standby takes writes")
            return
        }
        #expect(standby.reports.allSatisfy { $0.hasPrefix("follows") }, "\(standby.reports)")
        #expect(standby.status.standing.state == .following)
        try standby.engine.close()
        try leader.engine.close()
    }

    /// Reads go on, each of one block, while the tables are brought forward.
    @Test func readsAreOfOneBlockWhileBlocksCome() throws {
        let leader = try Bench()
        let log = MemoryLog()
        let standby = try StandbyBench(of: leader.engine, log: log)
        let isDone = Mutex(false)
        let failure = Mutex<String?>(nil)
        inThread {
            // What one player has, and the other lacks: a transfer in two steps that happen together.
            while !isDone.withLock({ $0 }) {
                do {
                    var needs = Needs()
                    let commands = ["x", "y"].map { Command.balance(account: AccountName($0)!, currency: nil) }
                    for command in commands { needs.add(command) }
                    let told = try standby.engine.run(needs) { books in
                        commands.map { books.decide($0, at: Bench.now) }
                    }
                    let units = told.map { outcome -> Int64 in
                        guard case .balance(let answer) = outcome else { return -1 }
                        return answer.balances.first?.balance.available ?? 0
                    }
                    if units[0] != units[1] { failure.withLock { $0 = "\(units)" } }
                } catch {
                    failure.withLock { $0 = "\(error)" }
                }
            }
        }
        for number in 0..<300 {
            _ = try leader.ask([.grant("x\(number)", "x", 1), .grant("y\(number)", "y", 1)])
        }
        #expect(try eventually { log.blocks.count == leader.log.blocks.count })
        isDone.withLock { $0 = true }
        #expect(failure.withLock { $0 } == nil)
        try standby.engine.close()
        try leader.engine.close()
    }

    /// It posts nothing, and from the time on at which a lot runs out its `lots` lack it as its balance does.
    @Test func whatHasRunOutIsNotOpen() throws {
        let leader = try Bench()
        let log = MemoryLog()
        let standby = try StandbyBench(of: leader.engine, log: log)
        _ = try leader.ask([.grant("a", "ann", 100), .grant("b", "ann", 7, expiresAt: Bench.now + 50)])
        #expect(try eventually { log.blocks.count == leader.log.blocks.count })
        let ann = AccountName("ann")!
        let balance = Command.balance(account: ann, currency: nil)
        for (time, left) in [(Bench.now + 49, [7, 100]), (Bench.now + 50, [100])] as [(Timestamp, [Int64])] {
            var needs = Needs()
            needs.add(balance)
            let (told, read) = try standby.engine.run(needs) { books in
                var decision = Decision()
                books.perform(
                    .query(.lots(OpenItemsQuery(account: ann))), at: time, mayClose: false, into: &decision)
                return (books.decide(balance, at: time), decision.read)
            }
            guard case .balance(let balances) = told,
                case .lots(let page) = try #require(read).answer(from: standby.engine, signer: nil)
            else {
                Issue.record("\(told)")
                continue
            }
            #expect(page.items.map(\.remaining) == left)
            #expect(balances.balances.map(\.balance.available) == [left.reduce(0, +)])
        }
        try standby.engine.close()
        try leader.engine.close()
    }

    /// Bytes that change on the way: in the hash, the body, or the names, which the hash does not cover.
    @Test func whatIsGarbledIsNeverAppended() throws {
        let seed = Seed.drawn()
        let leader = try Bench()
        try leader.live(200, seed: seed)
        let random = Mutex(SplitMix64(seed: seed))
        let garbled = Mutex(0)
        let log = MemoryLog()
        let standby = try StandbyBench(of: leader.engine, log: log, bytesMax: 900) { page in
            try random.withLock { random in
                if random.chance(10) { throw EngineLink.Lost() }
                guard !page.blocks.isEmpty, random.chance(60) else { return }
                let place = Int.random(in: 0..<page.blocks.count, using: &random)
                func flip(_ bytes: inout [UInt8]) {
                    if bytes.isEmpty { return bytes.append(1) }
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &random)
                }
                switch Int.random(in: 0..<6, using: &random) {
                case 0: flip(&page.blocks[place].hash)
                case 1: flip(&page.blocks[place].body)
                case 2: flip(&page.blocks[place].redactable)
                case 3: page.blocks.remove(at: place)
                case 4: page.blocks.insert(page.blocks[place], at: place)
                default: page.head = 0
                }
                // The last block left out is a page that is right.
                garbled.withLock { $0 += 1 }
            }
        }
        #expect(try eventually { log.blocks.count == leader.log.blocks.count })
        #expect(log.blocks == leader.log.blocks)
        #expect(garbled.withLock { $0 } > 5)
        #expect(standby.reports.contains { $0.hasPrefix("leaderLost") }, "\(standby.reports)")
        #expect(standby.faults.isEmpty)
        try standby.engine.close()
        try leader.engine.close()
    }

    /// Its own log fails, in each way, at each block: it goes on, and has every block once.
    @Test func aLogThatFailsIsSettledAndGoneOnWith() throws {
        let seed = Seed.drawn()
        let leader = try Bench()
        let log = MemoryLog()
        let standby = try StandbyBench(of: leader.engine, log: log)
        for round in 0..<30 {
            let fault: MemoryLog.Fault = [.notAppended, .unknown(isThere: true), .unknown(isThere: false)][round % 3]
            log.failAppends(fault)
            try leader.live(5, seed: seed &+ UInt64(round))
            #expect(try eventually { log.blocks.count == leader.log.blocks.count })
        }
        log.forgetFaults()
        #expect(log.blocks == leader.log.blocks)
        for player in 0..<9 {
            #expect(try standby.available("player-\(player)") == leader.available("player-\(player)"))
        }
        try standby.engine.close()
        try leader.engine.close()
    }

    /// A start while its own log cannot be written: what is durable is read, and the rest comes when it can.
    @Test func aStartWithoutAWritableLogIsRead() throws {
        let leader = try Bench()
        _ = try leader.ask(.grant("a", "ann", 100))
        let storage = MemoryLog.Storage()
        let log = MemoryLog(storage)
        let first = try StandbyBench(of: leader.engine, log: log)
        #expect(try eventually { storage.blocks.count == leader.log.blocks.count })
        try first.engine.close()
        _ = try leader.ask(.grant("b", "ann", 1))
        let full = MemoryLog(storage)
        for _ in 0..<40 { full.failLeads(LogError(.notAppended, "the test's disk is read-only")) }
        let standby = try StandbyBench(of: leader.engine, log: full, folder: first.folder)
        #expect(try standby.available("ann") >= 100)
        #expect(try eventually { storage.blocks == leader.log.blocks })
        #expect(try standby.available("ann") == 101)
        #expect(standby.reports.contains { $0.contains("read-only") }, "\(standby.reports)")
        try standby.engine.close()
        try leader.engine.close()
    }

    /// A name that could not be erased when its block came is erased before another block is appended, or at the next
    /// start.
    @Test(arguments: [false, true])
    func anErasureThatFailedIsDone(restarts: Bool) throws {
        let leader = try Bench()
        _ = try leader.ask(.grant("a", "ann", 100))
        let log = MemoryLog()
        var standby = try StandbyBench(of: leader.engine, log: log)
        #expect(try eventually { log.blocks.count == leader.log.blocks.count })
        log.failRedactions(restarts ? 1_000_000 : 3)
        _ = try leader.ask(.forget(AccountName("ann")!))
        if restarts {
            #expect(try eventually { log.blocks.count == leader.log.blocks.count })
            try standby.engine.close()
            #expect(log.blocks != leader.log.blocks, "the name is there still")
            log.failRedactions(0)
            standby = try StandbyBench(of: leader.engine, log: log, folder: standby.folder)
        }
        #expect(try eventually { log.blocks == leader.log.blocks })
        #expect(try eventually { try standby.available("ann") == 0 })
        try standby.engine.close()
        try leader.engine.close()
    }

    /// The power of the standby's machine is cut again and again, and its disk fails: what it said that it has it has,
    /// and in the end it has all.
    @Test(arguments: 0..<12)
    func powerCutsLoseNothingThatWasAcknowledged(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let standbys = try Standbys()
        let leader = try Bench(standbys: standbys)
        let disk = SimulatedDisk(seed: random.next())
        let folder = LedgerFolder("/ledger/books")
        let identity = Digest(of: Bench.ledger, Workload.hash)
        let configuration = FileLogConfiguration(
            segmentBytes: 8192, writeAheadBytes: 1000, writeAheadRecordBytesMax: 700)
        try LedgerFolder.create(at: folder.path, disk: disk) { path in
            try FileLog.create(
                folder: LedgerFolder(path).log, headFile: LedgerFolder(path).headFile, identity: identity,
                configuration: configuration, disk: disk)
        }
        func open() throws -> FileLog {
            try FileLog.open(
                folder: folder.log, headFile: folder.headFile, identity: identity, hash: Workload.hash,
                configuration: configuration, disk: disk)
        }
        let tables = try TemporaryFolder()
        for round in 0..<6 {
            let log = try open()
            let said = standbys.standing.members.first?.block ?? 0
            #expect(log.head?.number ?? 0 >= said, "round \(round)")
            let off = disk.changeCount + .random(in: 0..<250, using: &random)
            let failing = random.chance(50) ? disk.changeCount + .random(in: 0..<60, using: &random) : .max
            let fault: SimulatedDisk.Fault = random.chance(50) ? .partThenFailure(.failed) : .doneThenFailure(.full)
            disk.setFault { call in
                guard call.isChange else { return nil }
                if call.index >= off { return .off }
                return failing <= call.index && call.index < failing + 2 ? fault : nil
            }
            let standby = try? StandbyBench(of: leader.engine, log: log, folder: tables)
            try leader.live(25, seed: seed &* 100 &+ UInt64(round))
            pause(milliseconds: .random(in: 0..<30, using: &random))
            if let standby { try? standby.engine.close() } else { log.close() }
            if random.chance(70) { disk.cutPower() } else { disk.kill() }
            disk.setFault { _ in nil }
        }
        let log = try open()
        let standby = try StandbyBench(of: leader.engine, log: log, folder: tables)
        #expect(try eventually { log.head == leader.log.head })
        #expect(try log.read(after: 0, bytesMax: 1 << 30) == leader.log.blocks)
        for player in 0..<9 {
            #expect(try standby.available("player-\(player)") == leader.available("player-\(player)"))
        }
        try standby.engine.close()
        try leader.engine.close()
    }

    @Test func aChainThatDiffersEndsItByTheFirstBlockThatDoes() throws {
        let storage = MemoryLog.Storage()
        let first = try Bench(storage)
        try first.live(20, seed: 1)
        try first.engine.close()
        let common = storage.blocks.count
        let copy = MemoryLog()
        for block in storage.blocks { try copy.append(block) }
        // Both go on by themselves.
        let leader = try Bench(storage)
        try leader.live(10, seed: 2)
        let other = try Bench(copy.storage)
        try other.live(5, seed: 3)
        try other.engine.close()
        let blocks = copy.storage.blocks
        let standby = try StandbyBench(of: leader.engine, log: MemoryLog(copy.storage))
        #expect(try eventually { !standby.faults.isEmpty })
        // Their terms' blocks are of one millisecond here, and so the same.
        #expect(blocks[common] == storage.blocks[common])
        let leaderBlock = BlockNumber(storage.blocks.count)
        #expect(
            standby.faults == [
                .forked(
                    leader: "leader:1", first: BlockNumber(common + 2), block: BlockNumber(blocks.count),
                    leaderBlock: leaderBlock)
            ])
        #expect(copy.storage.blocks == blocks, "nothing was appended")
        #expect(throws: FollowingFault.self) { try standby.engine.close() }

        // A chain that goes on behind the leader's last block.
        let ahead = MemoryLog()
        for block in storage.blocks { try ahead.append(block) }
        let longer = try Bench(ahead.storage)
        let more = ahead.storage.blocks.count
        try longer.engine.close()
        let second = try StandbyBench(of: leader.engine, log: MemoryLog(ahead.storage))
        #expect(try eventually { !second.faults.isEmpty })
        #expect(
            second.faults == [.ahead(leader: "leader:1", block: BlockNumber(more), leaderBlock: leaderBlock)])
        #expect(throws: FollowingFault.self) { try second.engine.close() }
        let third = try StandbyBench(
            of: leader.engine, log: MemoryLog(),
            ledger: BlockRows.LedgerRow(bundleID: "another", environment: "Sandbox"))
        #expect(try eventually { !third.faults.isEmpty })
        #expect("\(third.faults)".contains("keeps the ledger of another, Sandbox"))
        #expect(throws: FollowingFault.self) { try third.engine.close() }
        try leader.engine.close()
    }

    @Test func aStandbyThatIsPromotedLeadsInTheNextTerm() throws {
        let leader = try Bench()
        let log = MemoryLog()
        let standby = try StandbyBench(of: leader.engine, log: log)
        try leader.live(30, seed: 5)
        #expect(try eventually { log.blocks.count == leader.log.blocks.count })
        let blocks = log.blocks
        let promotion = try standby.engine.promote()
        #expect(promotion.promoted && promotion.term == 2 && promotion.block >= Int64(blocks.count) + 1)
        #expect(standby.engine.fault() == nil)
        #expect(try !standby.engine.promote().promoted)
        // The old leader goes on, and nobody hears of it.
        try leader.live(5, seed: 6)
        var needs = Needs()
        let command = Command.grant("new", "ann", 5)
        needs.add(command)
        _ = try standby.engine.run(needs) { books in books.decide(command, at: Bench.now) }
        #expect(try standby.available("ann") == 5)
        #expect(Array(log.blocks.prefix(blocks.count)) == blocks)
        #expect(log.blocks.last?.term == 2)
        try standby.engine.close()
        try leader.engine.close()

        let empty = try StandbyBench(of: leader.engine, log: MemoryLog()) { _ in throw EngineLink.Lost() }
        #expect { try empty.engine.promote() } throws: { "\($0)".contains("no block yet") }
        try empty.engine.close()
    }

    /// Whoever promotes, and whoever writes then, is told what is wrong with the log, and not that this is a standby.
    @Test func aPromotionThatCannotLeadYetSaysWhyAndLeadsWhenItCan() throws {
        let leader = try Bench()
        let log = MemoryLog()
        let standby = try StandbyBench(of: leader.engine, log: log)
        try leader.live(10, seed: 7)
        #expect(try eventually { log.blocks.count == leader.log.blocks.count })
        let full = LogError(.notAppended, "the test's disk is full")
        log.failLeads(full, full)
        #expect { try standby.engine.promote() } throws: { "\($0)".contains("the test's disk is full") }
        #expect(standby.engine.fault()?.description.contains("the test's disk is full") == true)
        #expect(standby.status.standing.state == .promoted)
        #expect(standby.engine.fault() == nil)
        let told = standby.reports.map { $0.prefix { $0 != "(" } }
        #expect(told.suffix(3) == ["logFailed", "logWorksAgain", "promoted"], "\(standby.reports)")
        #expect(log.blocks.last?.term == 2)
        try standby.engine.close()
        try leader.engine.close()
    }

    // MARK: Names that came erased

    private static func eraseAllNames(_ page: inout BlocksPage) throws {
        for place in page.blocks.indices {
            let given = page.blocks[place]
            let sealed = try SealedBlock(
                body: given.body, redactable: given.redactable, hash: try #require(Digest(given.hash)))
            page.blocks[place].redactable = try sealed.redactable(erasing: Set(try sealed.addedAccounts()))
        }
    }

    private static func reason(_ standby: StandbyBench) -> String? {
        if case .connecting(let reason) = standby.status.standing.state { reason } else { nil }
    }

    /// A leader that lies: the block's hash does not cover whether its names are there.
    @Test func namesThatNoBlockErasesAreNotBelieved() throws {
        let leader = try Bench()
        for number in 0..<20 { _ = try leader.ask(.grant("g\(number)", "player-\(number)", 1)) }
        let names = MemoryMark()
        let storage = MemoryLog.Storage()
        let standby = try StandbyBench(of: leader.engine, log: MemoryLog(storage), names: names) {
            try Self.eraseAllNames(&$0)
        }
        #expect(try eventually { storage.blocks.count == leader.log.blocks.count })
        let words = "the name of account 1, which block 3 adds, and of 19 more came erased, and no block up to"
        #expect(try eventually { Self.reason(standby)?.hasPrefix(words) == true }, "\(standby.status.standing)")
        #expect(standby.reports.contains { $0.contains(words) }, "\(standby.reports)")
        #expect(names.reason == .unproven && standby.faults.isEmpty)
        #expect { try standby.engine.promote() } throws: {
            ($0 as? StoreError)?.kind == .notReady && "\($0)".contains(words)
        }
        _ = try leader.ask(.grant("more", "player-0", 1))
        #expect(try eventually { storage.blocks.count == leader.log.blocks.count })
        #expect(Self.reason(standby)?.hasPrefix(words) == true)
        try standby.engine.close()

        // A restart knows it, whoever leads, and it leads nothing itself.
        let second = try StandbyBench(of: leader.engine, log: MemoryLog(storage), folder: standby.folder, names: names)
        #expect(try eventually { Self.reason(second)?.hasPrefix(words) == true }, "\(second.status.standing)")
        #expect { try second.engine.promote() } throws: { "\($0)".contains(words) }
        try second.engine.close()
        let count = storage.blocks.count
        #expect { _ = try Bench(storage, names: names) } throws: {
            "\($0)".contains(words) && "\($0)".contains("may write the word accepted into the mark")
        }
        #expect(storage.blocks.count == count, "nothing was appended")
        try names.mark.write(.accepted)
        let meant = try Bench(storage, names: names)
        #expect(try meant.available("player-3") == 0)
        try meant.engine.close()
        try leader.engine.close()
    }

    /// A leader gives an early block as its log has it now: that is believed once the block that erases its names came.
    @Test(arguments: [false, true])
    func namesThatALaterBlockErasesAreBelievedOnceItIsThere(restarts: Bool) throws {
        let leader = try Bench()
        for number in 0..<20 { _ = try leader.ask(.grant("g\(number)", "player-\(number)", 1)) }
        for number in 0..<30 { _ = try leader.ask(.grant("h\(number)", "somebody", 1)) }
        for number in 0..<20 { _ = try leader.ask(.forget(AccountName("player-\(number)")!)) }
        let names = MemoryMark()
        let storage = MemoryLog.Storage()
        let pages = Mutex(3)
        var standby = try StandbyBench(of: leader.engine, log: MemoryLog(storage), bytesMax: 900, names: names) { _ in
            if try pages.withLock({ pages in
                pages -= 1
                return pages < 0
            }) {
                throw EngineLink.Lost()
            }
        }
        #expect(try eventually { pages.withLock { $0 } < 0 && names.reason == .unproven })
        #expect(storage.blocks.count > 3 && storage.blocks.count < 40)
        #expect { try standby.engine.promote() } throws: { "\($0)".contains("came erased") }
        if restarts {
            try standby.engine.close()
            standby = try StandbyBench(
                of: leader.engine, log: MemoryLog(storage), folder: standby.folder, bytesMax: 900, names: names)
        } else {
            pages.withLock { $0 = .max }
        }
        #expect(try eventually { storage.blocks == leader.log.blocks })
        #expect(try eventually { standby.status.standing.state == .following && names.reason == nil })
        #expect(!standby.reports.contains { $0.contains("came erased") }, "\(standby.reports)")
        // What is added and erased while it follows is believed at once.
        try leader.live(60, seed: 3)
        #expect(try eventually { storage.blocks == leader.log.blocks && names.reason == nil })
        #expect(try standby.engine.promote().promoted)
        try standby.engine.close()
        try leader.engine.close()
    }

    @Test func aLeaderThatSaysNothingIsNotFollowed() {
        let status = StandbyStatus(silenceMilliseconds: 0)
        #expect(status.standing.state == .connecting("the leader has said nothing for 0 s"))
        status.enter(.following)
        #expect(status.standing.state == .connecting("the leader has said nothing for 0 s"))
        status.enter(.connecting("refused"))
        #expect(status.standing.state == .connecting("refused"))
        let heard = StandbyStatus(silenceMilliseconds: 1_000_000)
        heard.enter(.following)
        #expect(heard.standing.state == .following)
    }
}
