import Ledger
import LedgerTestKit
import SQLiteProjection
import Synchronization
import Testing

@testable import LedgerEngine

/// Engines that share a log: who leads, who follows, and what each answers when that changes.
@Suite(.serialized) struct NodeTests {
    typealias Store = SharedMemoryLog.Store

    /// An engine of one node, with tables of its own.
    private final class NodeBench: Sendable {
        let log: SharedMemoryLog
        let node: Node
        let engine: Engine
        let folder: TemporaryFolder
        private let notes = Notes()

        private final class Notes: Sendable {
            private let list = Mutex<[String]>([])
            var texts: [String] { list.withLock { $0 } }
            func add(_ text: String) { list.withLock { $0.append(text) } }
        }

        init(
            _ store: Store, _ name: String, mayLead: Bool = true, folder: TemporaryFolder? = nil,
            lookMilliseconds: UInt64 = 1, idleLookMilliseconds: UInt64? = nil
        ) throws {
            self.folder = try folder ?? TemporaryFolder()
            log = SharedMemoryLog(store, node: name, mayLead: mayLead)
            node = Node(log)
            var limits = EngineLimits()
            limits.logRetryMilliseconds = 1
            limits.nodeLookMilliseconds = lookMilliseconds
            limits.nodeIdleLookMilliseconds = idleLookMilliseconds ?? lookMilliseconds
            // Otherwise it would look often for three seconds after each block.
            if idleLookMilliseconds != nil { limits.nodeActiveMilliseconds = 0 }
            limits.blocksAheadMax = 8
            limits.nodeOwedMilliseconds = 20
            limits.followBytesMax = 4_000
            let notes = notes
            engine = try Engine(
                log: log,
                projection: try SQLiteProjection(
                    path: self.folder.path("projection.sqlite"), ledger: Bench.ledger, hash: Workload.hash),
                configuration: Engine.Configuration(
                    bundleID: Bench.ledger.bundleID, environment: Bench.ledger.environment, catalog: .small,
                    limits: limits),
                node: node, hash: Workload.hash, now: { Bench.now }, report: { notes.add("\($0)") })
        }

        var reports: [String] { notes.texts }

        func ask(_ command: Command) throws -> Outcome {
            var needs = Needs()
            needs.add(command)
            return try engine.run(needs) { books in books.decide(command, at: Bench.now) }
        }

        func send(_ command: Command) -> Bench.Pending {
            let pending = Bench.Pending()
            var needs = Needs()
            needs.add(command)
            engine.commit(needs, isLast: false) { books in
                books.decide(command, at: Bench.now)
            } done: { result in
                pending.finish(result)
            }
            return pending
        }

        func available(_ account: String) throws -> Int64 {
            guard case .balance(let answer) = try ask(.balance(account: AccountName(account)!, currency: nil)) else {
                return -1
            }
            return answer.balances.first { $0.currency == Bench.gems }?.balance.available ?? 0
        }

        /// What who asks it to write is answered before anything is decided.
        var fault: StoreError.Kind? { engine.fault()?.kind }
    }

    private static func isReplayed(_ outcome: Outcome) -> Bool? {
        switch outcome {
        case .grant(let receipt): receipt.replayed
        case .spend(let receipt): receipt.replayed
        default: nil
        }
    }

    private static func kind(_ body: () throws -> Void) -> StoreError.Kind? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StoreError)?.kind
        }
    }

    @Test func theFirstLeadsAndTheOthersFollowIt() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        #expect(a.node.leads && a.fault == nil, "it leads when it is open: \(a.reports)")
        let b = try NodeBench(store, "b")
        #expect(!b.node.leads && b.fault == .notLeader(address: "a:7000"))
        for number in 0..<200 {
            _ = try a.ask(.grant("g\(number)", "ann", 1))
            // Each read sees what was acknowledged before it, on either node.
            #expect(try b.available("ann") == Int64(number) + 1)
        }
        #expect(b.node.status.standing.state == .following)
        try b.engine.close()
        try a.engine.close()
    }

    /// It does not look by itself for a long time, and sees all the same what was acknowledged.
    @Test func aFollowerLooksBeforeItReads() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let b = try NodeBench(store, "b", lookMilliseconds: 60_000)
        _ = try a.ask(.grant("g", "ann", 5))
        #expect(try b.available("ann") == 5)
        b.log.cutOff(true)
        #expect(Self.kind { _ = try b.available("ann") } == .unavailable, "it cannot know what is acknowledged")
        b.log.cutOff(false)
        // That it could not look is believed for a moment.
        #expect(try eventually { (try? b.available("ann")) == 5 })
        try b.engine.close()
        try a.engine.close()
    }

    /// Where nothing happens it looks rarely: here in an hour. What only the leader does, and a read that finds that
    /// nobody leads, have it look at once.
    @Test func aFollowerThatLooksRarelyLooksForWhoeverAsks() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let b = try NodeBench(store, "b", idleLookMilliseconds: 3_600_000)
        #expect(b.log.looks == 1)
        for number in 0..<50 { _ = try a.ask(.grant("g\(number)", "ann", 1)) }
        #expect(b.log.looks == 1 && b.engine.standing.block < a.engine.standing.block)
        // A batch of which everything was refused.
        #expect(b.fault == .notLeader(address: "a:7000"))
        try b.engine.run(Needs()) { _ in }
        #expect(try eventually { b.engine.standing.block == a.engine.standing.block })
        try a.engine.close()
        #expect(try b.available("ann") == 50)
        #expect(try eventually { b.node.leads })
        try b.engine.close()
    }

    @Test func whoIsAskedWhileItLooksLooksAgainBehindThat() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let b = try NodeBench(store, "b", idleLookMilliseconds: 3_600_000)
        b.log.holdLooks()
        try b.engine.run(Needs()) { _ in }
        #expect(try eventually { b.log.looks == 2 })
        // What the look says that is under way is old by now.
        _ = try a.ask(.grant("g", "ann", 5))
        try b.engine.run(Needs()) { _ in }
        b.log.releaseLooks()
        #expect(try eventually { b.engine.standing.block == a.engine.standing.block })
        for bench in [b, a] { try bench.engine.close() }
    }

    @Test func aLeadThatIsGivenBackIsTakenByAnother() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let b = try NodeBench(store, "b")
        let receipt = try a.ask(.grant("g", "ann", 5))
        #expect(Self.isReplayed(receipt) == false)
        try a.engine.close()
        #expect(store.leader != "a")
        #expect(try eventually { b.node.leads })
        #expect(Self.isReplayed(try b.ask(.grant("g", "ann", 5))) == true)
        _ = try b.ask(.spend("s", "ann", 2))
        let again = try NodeBench(store, "a", folder: a.folder)
        #expect(again.fault == .notLeader(address: "b:7000"))
        #expect(try again.available("ann") == 3)
        try again.engine.close()
        try b.engine.close()
    }

    /// Who is asked to give the lead to another leaves it to others, and takes it again where nobody else does.
    @Test func aLeadThatIsHandedOverIsTakenByAnother() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let b = try NodeBench(store, "b")
        _ = try a.ask(.grant("g", "ann", 5))
        a.log.hold()
        let last = a.send(.grant("h", "ann", 1))
        #expect(try eventually { a.log.waiting == 1 })
        let handover = Mutex<Handover?>(nil)
        let thread = OwnThread()
        try thread.begin("step-down") { handover.withLock { $0 = try? a.engine.stepDown() } }
        a.log.release()
        thread.join()
        #expect(handover.withLock { $0?.steppedDown } == true)
        #expect(Self.isReplayed(try last.get()) == false, "what was decided before is durable")
        #expect(try eventually { b.node.leads })
        #expect(try b.available("ann") == 6)
        #expect(try eventually { a.fault == .notLeader(address: "b:7000") })
        #expect(Self.kind { _ = try a.engine.stepDown() } == .notLeader(address: "b:7000"))
        #expect(Self.isReplayed(try b.ask(.grant("h", "ann", 1))) == true)
        try a.engine.close()
        #expect(try b.engine.stepDown().steppedDown)
        #expect(try eventually { b.node.leads }, "nobody else did")
        #expect(try b.available("ann") == 6)
        try b.engine.close()
    }

    /// A node that takes the lead, and then cannot begin its term, leaves the lead to those that can.
    @Test func whoCannotLeadKeepsNobodyFromLeading() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let c = try NodeBench(store, "c", lookMilliseconds: 100)
        let b = try NodeBench(store, "b", mayLead: false)
        _ = try a.ask(.grant("g", "ann", 5))
        #expect(try c.available("ann") == 5)
        a.log.fill(true)
        #expect(throws: StoreError.self) { try a.ask(.grant("h", "ann", 1)) }
        #expect(try eventually { c.node.leads }, "its lease does not end by itself: it was given back")
        #expect(try c.available("ann") == 5)
        #expect(!a.node.leads)
        for bench in [a, b, c] { try bench.engine.close() }
    }

    /// The lead goes to the node that has asked for it, though others look more often.
    @Test func aLeadGoesToTheNodeThatHasAskedForIt() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let c = try NodeBench(store, "c", lookMilliseconds: 30)
        let b = try NodeBench(store, "b")
        _ = try a.ask(.grant("g", "ann", 5))
        try c.log.askForLead()
        #expect(try eventually { c.node.leads })
        #expect(!a.node.leads && !b.node.leads)
        #expect(try c.available("ann") == 5)
        // Who has asked is gone by then: another takes it.
        try b.log.askForLead()
        b.log.cutOff(true)
        #expect(try eventually { a.node.leads })
        b.log.cutOff(false)
        for bench in [a, b, c] { try bench.engine.close() }
    }

    /// A leader that stood still for longer than its lease: what it had decided is not done, and it follows.
    @Test func aLeaderThatIsSupersededInTheMiddleOfBatchesFollows() throws {
        let store = Store()
        let a = try NodeBench(store, "a", lookMilliseconds: 60_000)
        let b = try NodeBench(store, "b")
        _ = try a.ask(.grant("g", "ann", 100))
        a.log.hold()
        let first = a.send(.spend("1", "ann", 60))
        #expect(try eventually { a.log.waiting == 1 })
        let second = a.send(.grant("2", "ann", 5))
        let read = a.send(.balance(account: AccountName("ann")!, currency: nil))
        store.endLease()
        #expect(try eventually { b.node.leads })
        #expect(Self.isReplayed(try b.ask(.spend("1", "ann", 70))) == false)
        a.log.release()
        #expect(Self.kind { _ = try first.get() } == .notLeader(address: "b:7000"))
        #expect(throws: StoreError.self) { try second.get() }
        #expect(throws: StoreError.self, "it saw what was never durable") { try read.get() }
        #expect(try eventually { a.fault == .notLeader(address: "b:7000") })
        #expect(try a.available("ann") == 30, "it follows")
        #expect(a.reports.contains { $0.hasPrefix("steppedDown") }, "\(a.reports)")
        try a.engine.close()
        try b.engine.close()
    }

    @Test func aReadOfALeaderThatIsNoneAnyMoreIsNotAnswered() throws {
        let store = Store()
        let a = try NodeBench(store, "a", lookMilliseconds: 60_000)
        let b = try NodeBench(store, "b")
        _ = try a.ask(.grant("g", "ann", 100))
        store.endLease()
        #expect(try eventually { b.node.leads })
        _ = try b.ask(.spend("s", "ann", 70))
        // What it has in memory is out of date; it does not know, and asks.
        #expect(Self.kind { _ = try a.available("ann") } == .notLeader(address: "b:7000"))
        #expect(try a.available("ann") == 30)
        try a.engine.close()
        try b.engine.close()
    }

    @Test func aLeaderThatCannotConfirmThatItLeadsAnswersNothing() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        _ = try a.ask(.grant("g", "ann", 100))
        a.log.cutOff(true)
        // It added nothing: its outcome is known.
        #expect(Self.kind { _ = try a.available("ann") } == .unavailable)
        #expect(throws: StoreError.self) { try a.available("ann") }
        #expect(throws: StoreError.self) { try a.ask(.grant("h", "ann", 1)) }
        a.log.cutOff(false)
        #expect(try eventually { a.node.leads }, "nobody else led meanwhile")
        #expect(try a.available("ann") == 100)
        #expect(Self.isReplayed(try a.ask(.grant("h", "ann", 1))) == false)
        try a.engine.close()
    }

    /// For a hundred reads that wait together it is asked a few times, and behind a block not at all.
    @Test func theLeadIsConfirmedOnceForBatchesThatWaitTogether() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        _ = try a.ask(.grant("g", "ann", 100))
        let before = a.log.confirmations
        for number in 0..<50 { _ = try a.ask(.grant("g\(number)", "ann", 1)) }
        #expect(a.log.confirmations == before, "an append says as much")
        a.log.hold()
        let grant = a.send(.grant("h", "ann", 1))
        #expect(try eventually { a.log.waiting == 1 })
        let reads = (0..<6).map { _ in a.send(.balance(account: AccountName("ann")!, currency: nil)) }
        a.log.release()
        _ = try grant.get()
        for read in reads { _ = try read.get() }
        #expect(a.log.confirmations - before <= 2, "\(a.log.confirmations - before)")
        let asked = a.log.confirmations
        _ = try a.available("ann")
        #expect(a.log.confirmations == asked + 1)
        try a.engine.close()
    }

    @Test(arguments: [true, false])
    func aBatchInDoubtIsKnownToItsRepeatAtTheNextLeader(isThere: Bool) throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let b = try NodeBench(store, "b")
        _ = try a.ask(.grant("g", "ann", 100))
        a.log.losesAnswer(isThere: isThere)
        #expect(Self.kind { _ = try a.ask(.spend("s", "ann", 30)) } == .unknown)
        a.log.cutOff(true)
        store.endLease()
        #expect(try eventually { b.node.leads })
        #expect(Self.isReplayed(try b.ask(.spend("s", "ann", 30))) == isThere)
        a.log.cutOff(false)
        #expect(try eventually { a.fault == .notLeader(address: "b:7000") })
        #expect(try a.available("ann") == 70)
        try a.engine.close()
        try b.engine.close()
    }

    @Test func aNodeWithoutTheRightToLeadOnlyReads() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let reader = try NodeBench(store, "r", mayLead: false)
        _ = try a.ask(.grant("g", "ann", 5))
        #expect(reader.fault == .notLeader(address: "a:7000"))
        try a.engine.close()
        pause(milliseconds: 50)
        #expect(store.leader == nil && reader.fault == .notReady)
        #expect(try reader.available("ann") == 5)
        try reader.engine.close()
    }

    @Test func aNameThatTheLeaderErasesIsGoneFromAFollowersTables() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let b = try NodeBench(store, "b")
        _ = try a.ask(.grant("g", "ann", 5))
        #expect(try b.available("ann") == 5)
        _ = try a.ask(.forget(AccountName("ann")!))
        #expect(try b.available("ann") == 0)
        let late = try NodeBench(store, "c")
        #expect(try late.available("ann") == 0)
        try a.engine.close()
        #expect(try eventually { b.node.leads || late.node.leads })
        let next = b.node.leads ? b : late
        _ = try next.ask(.grant("h", "ann", 1))
        #expect(try next.available("ann") == 1)
        for bench in [late, b] { try bench.engine.close() }
    }

    /// The damage came between the look at the block that has the name and the erasure.
    @Test func aNameThatIsOwedIsErasedByWhoeverLeadsOnceItCanBe() throws {
        let store = Store()
        func hasName() -> Bool { store.blocks.contains { $0.redactable.firstRange(of: Array("ann".utf8)) != nil } }
        let a = try NodeBench(store, "a")
        let b = try NodeBench(store, "b")
        _ = try a.ask(.grant("g", "ann", 5))
        store.damage(true)
        #expect(Self.kind { _ = try a.ask(.forget(AccountName("ann")!)) } == .unknown)
        #expect(store.owed.count == 1 && hasName())
        #expect(a.reports.contains { $0.hasPrefix("nameOwed") } && !a.reports.contains { $0.hasPrefix("owedName") })
        // Everything else goes on.
        _ = try a.ask(.grant("h", "bob", 1))
        try a.engine.close()
        #expect(try eventually { b.node.leads })
        #expect(store.owed.count == 1 && hasName())
        store.damage(false)
        #expect(try eventually { store.owed.isEmpty })
        #expect(!hasName())
        #expect(try b.available("bob") == 1 && b.available("ann") == 0)
        try b.engine.close()
    }

    /// The blocks that were read from it are in the tables: nothing is appended behind a gap, and nothing is read.
    @Test func aLogThatLostBlocksIsNotGoneOnWith() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        _ = try a.ask(.grant("g", "ann", 5))
        let b = try NodeBench(store, "b")
        #expect(try b.available("ann") == 5)
        try a.engine.close()
        try b.engine.close()
        #expect { try NodeBench(Store(), "b", folder: b.folder) } throws: { "\($0)".contains("back in time") }
    }

    /// An older copy of the log was put in its place while the node ran, and another node goes on with it: that one
    /// would answer of another ledger than the one that was read here.
    @Test func whatIsAskedOfANodeOfAnotherPastIsNotPassedOn() throws {
        let store = Store()
        let a = try NodeBench(store, "a")
        let b = try NodeBench(store, "b", mayLead: false)
        for number in 0..<5 { _ = try a.ask(.grant("g\(number)", "ann", 1)) }
        #expect(try b.available("ann") == 5)
        #expect(b.node.place == .elsewhere && a.node.place == .here)
        try a.engine.close()
        let whole = store.blocks
        store.replace(Array(whole.dropLast(3)))
        let d = try NodeBench(store, "d")
        #expect(try eventually { d.node.leads && b.node.place == .unknown })
        #expect(b.fault == .unavailable, "it may be an older standby that is asked for a moment")
        var number = 0
        func grow(to count: Int) throws {
            while store.blocks.count < count {
                _ = try d.ask(.grant("d\(number)", "ann", 100))
                number += 1
            }
        }
        // As many blocks as before, and the last one is another.
        try grow(to: whole.count)
        #expect(try eventually { Self.kind { _ = try b.available("ann") } == .corrupt })
        #expect(b.node.place == .unknown && b.fault == .corrupt)
        try grow(to: whole.count + 3)
        #expect(try eventually { Self.kind { _ = try b.available("ann") } == .corrupt })
        #expect(b.node.place == .unknown && b.fault == .corrupt)
        #expect(!b.reports.contains { $0.contains("followsNode") && $0.contains("\"d\"") }, "\(b.reports)")
        try d.engine.close()
        store.replace(whole)
        #expect(try eventually { b.node.place == .elsewhere }, "the right log is there again")
        #expect(try eventually { (try? b.available("ann")) == 5 })
        try b.engine.close()
    }

    /// Leads that change hands all the time, under load: each key has one answer, and all nodes end with the same.
    @Test func keysHaveOneAnswerHoweverOftenTheLeadChangesHands() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let store = Store()
        let benches = try ["a", "b", "c"].map { try NodeBench(store, $0) }
        var fresh = 0
        for number in 0..<300 {
            if random.chance(10) { store.endLease() }
            if random.chance(10), let leader = benches.first(where: { $0.node.leads }) {
                switch Int.random(in: 0..<2, using: &random) {
                case 0: leader.log.losesAnswer(isThere: random.chance(50))
                default:
                    leader.log.cutOff(true)
                    store.endLease()
                }
            }
            var answer: Outcome?
            for _ in 0..<20_000 where answer == nil {
                guard let leader = benches.first(where: { $0.node.leads }) else {
                    pause(milliseconds: 1)
                    continue
                }
                answer = try? leader.ask(.grant("k\(number)", "ann", 1))
                for bench in benches { bench.log.cutOff(false) }
            }
            if Self.isReplayed(try #require(answer)) == false { fresh += 1 }
        }
        #expect(fresh <= 300)
        for bench in benches {
            #expect(try eventually { (try? bench.available("ann")) == 300 }, "\(bench.reports.suffix(5))")
        }
        #expect(zip(store.blocks, store.blocks.dropFirst()).allSatisfy { $1.previous == $0.hash })
        for bench in benches { try bench.engine.close() }
    }
}
