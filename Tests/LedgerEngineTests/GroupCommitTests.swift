import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// Batches that are decided while the log is busy become one block. (With random batches: ``EngineDifferentialTests``.)
@Suite struct GroupCommitTests {
    private static func units(_ outcome: Outcome) -> Int64? {
        guard case .balance(let balances) = outcome else { return nil }
        return balances.balances.first?.balance.available
    }

    private static let balance = Command.balance(account: AccountName("ann")!, currency: nil)

    @Test func whatIsDecidedWhileTheLogIsBusyBecomesOneBlock() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        let before = bench.log.blocks.count
        bench.log.hold()
        let first = bench.send(.spend("first", "ann", 1))
        #expect(try eventually { bench.log.waiting == 1 })
        let spends = (1...20).map { bench.send(.spend("s\($0)", "ann", 1)) }
        let read = bench.send(Self.balance)
        let last = bench.send(.spend("last", "ann", 1))
        pause(milliseconds: 20)
        #expect(first.value == nil && spends.allSatisfy { $0.value == nil } && read.value == nil && last.value == nil)
        bench.log.release()
        for spend in [first] + spends + [last] {
            guard case .spend = try spend.get() else {
                Issue.record("a spend was refused")
                return
            }
        }
        #expect(Self.units(try read.get()) == 79, "it saw what was decided before it, and no more")
        #expect(bench.log.blocks.count == before + 2)
        let block = try Block(opening: bench.log.blocks[before + 1], checks: .hashes(Workload.hash))
        #expect(block.rows.requests.map(\.key.text) == (1...20).map { "s\($0)" } + ["last"])
        #expect(try bench.engine.journal(JournalQuery(after: 0)).entries.map(\.entry) == Array(1...23))
        #expect(try bench.available("ann") == 78)
        try bench.engine.close()
    }

    @Test(arguments: [MemoryLog.Fault.notAppended, .unknown(isThere: true), .unknown(isThere: false)])
    func aBlockThatIsNotAppendedFailsAllThatBecamePartOfIt(fault: MemoryLog.Fault) throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        bench.log.hold()
        let first = bench.send(.spend("first", "ann", 1))
        #expect(try eventually { bench.log.waiting == 1 })
        // This one saw what is appended well.
        let before = bench.send(Self.balance)
        let spends = (1...5).map { bench.send(.spend("s\($0)", "ann", 10)) }
        let behind = bench.send(Self.balance)
        bench.log.failAppends(fault, after: 1)
        bench.log.release()
        _ = try first.get()
        #expect(Self.units(try before.get()) == 99)
        let kind = fault == .notAppended ? StoreError.Kind.unavailable : .unknown
        for spend in spends { #expect { try spend.get() } throws: { ($0 as? StoreError)?.kind == kind } }
        #expect { try behind.get() } throws: { ($0 as? StoreError)?.kind == .unavailable }
        let isThere = fault == .unknown(isThere: true)
        #expect(try bench.available("ann") == (isThere ? 49 : 99))
        for number in 1...5 {
            guard case .spend(let receipt) = try bench.ask(.spend("s\(number)", "ann", 10)) else {
                Issue.record("a repeat was refused")
                return
            }
            #expect(receipt.replayed == isThere)
        }
        #expect(try bench.available("ann") == 49)
        try bench.engine.close()
    }

    @Test func aBlockGrowsUpToItsBounds() throws {
        let bench = try Bench {
            $0.operationsPerCommitWorthwhile = 4
            $0.blocksAheadMax = 8
        }
        _ = try bench.ask(.grant("a", "ann", 100))
        let before = bench.log.blocks.count
        bench.log.hold()
        let first = bench.send(.spend("first", "ann", 1))
        #expect(try eventually { bench.log.waiting == 1 })
        let spends = (1...10).map { bench.send(.spend("s\($0)", "ann", 1)) }
        bench.log.release()
        for spend in [first] + spends { _ = try spend.get() }
        let blocks = try bench.log.blocks[before...].map { try Block(opening: $0, checks: .hashes(Workload.hash)) }
        #expect(blocks.map(\.rows.requests.count) == [1, 4, 4, 2])
        #expect(try bench.available("ann") == 89)
        try bench.engine.close()
    }

    @Test func noMoreBatchesWaitForABlockThanTheirBound() throws {
        let bench = try Bench { $0.batchesPerBlockMax = 3 }
        _ = try bench.ask(.grant("a", "ann", 100))
        let before = bench.log.blocks.count
        bench.log.hold()
        let first = bench.send(.spend("first", "ann", 1))
        #expect(try eventually { bench.log.waiting == 1 })
        let spends = (1...2).map { bench.send(.spend("s\($0)", "ann", 1)) }
        let read = bench.send(Self.balance)
        let last = bench.send(.spend("last", "ann", 1))
        bench.log.release()
        for spend in [first] + spends + [last] { _ = try spend.get() }
        #expect(Self.units(try read.get()) == 97)
        let blocks = try bench.log.blocks[before...].map { try Block(opening: $0, checks: .hashes(Workload.hash)) }
        #expect(blocks.map(\.rows.requests.count) == [1, 2, 1])
        try bench.engine.close()
    }

    /// A purchase is joined to its catalog by its block.
    @Test func aBlockThatSaysWhichCatalogIsFollowedFromThereOnJoinsNone() throws {
        func digest(_ byte: UInt8) -> Digest { Digest([UInt8](repeating: byte, count: 32))! }
        let catalog = CatalogInForce(.init(.small, digest: digest(1)))
        let bench = try Bench(following: catalog) { $0.blocksAheadMax = 8 }
        _ = try bench.ask(.grant("a", "ann", 100))
        let before = bench.log.blocks.count
        bench.log.hold()
        let first = bench.send(.spend("first", "ann", 1))
        #expect(try eventually { bench.log.waiting == 1 })
        var sent = [bench.send(.spend("old", "ann", 1))]
        catalog.replace(by: .init(.small, digest: digest(2)))
        sent += [bench.send(.spend("new", "ann", 1)), bench.send(.spend("newer", "ann", 1))]
        bench.log.release()
        for spend in [first] + sent { _ = try spend.get() }
        let blocks = try bench.log.blocks[before...].map { try Block(opening: $0, checks: .hashes(Workload.hash)) }
        #expect(blocks.map { $0.rows.requests.map(\.key.text) } == [["first"], ["old"], ["new", "newer"]])
        #expect(blocks.map { $0.rows.catalogs.map(\.digest) } == [[], [], [digest(2)]])
        try bench.engine.close()
    }

    /// All others wait while a name is erased.
    @Test func aNameIsErasedInABatchOfItsOwnHoweverManyAreSentAtOnce() async throws {
        let bench = try Bench()
        for number in 0..<10 { _ = try bench.ask(.grant("g\(number)", "player-\(number)", 1)) }
        let before = bench.log.blocks.count
        let ledger = try RunningLedger(
            store: bench.engine, verifier: try SandboxApp().verifier, now: { Bench.now }, report: { _ in })
        let outcomes = Monitor<[Answer]>([])
        let session = ledger.session(outlet: .queue()) { answers in outcomes.withLock { $0 += answers } }
        session.submit(
            (0..<10).flatMap { number in
                [
                    LedgerOperation.command(.spend("s\(number)", "player-\(number)", 1)),
                    .command(.forget(AccountName("player-\(number)")!)),
                ]
            })
        #expect(try eventually { outcomes.withLock { $0.count } == 20 })
        let kinds = outcomes.withLock { $0 }.map { answer in
            switch answer {
            case .success(.spend): "spend"
            case .success(.forgotten(true)): "forgotten"
            default: "\(answer)"
            }
        }
        #expect(kinds == (0..<10).flatMap { _ in ["spend", "forgotten"] })
        let blocks = try bench.log.blocks[before...].map { try Block(opening: $0, checks: .hashes(Workload.hash)) }
        #expect(blocks.count { $0.rows.erasures.count == 1 } == 10)
        session.close()
        try await ledger.stop()
    }

    @Test func whatStandbysLackInTimeIsInDoubtForWhoAddsAndNotForWhoReads() throws {
        let standbys = try Standbys(Standbys.Requirement(count: 1, timeoutMilliseconds: 50))
        let bench = try Bench(standbys: standbys)
        bench.log.hold()
        let first = bench.send(.grant("first", "ann", 1))
        #expect(try eventually { bench.log.waiting == 1 })
        let adding = [bench.send(.grant("a", "ann", 1)), bench.send(.grant("b", "ann", 1))]
        let read = bench.send(Self.balance)
        bench.log.release()
        for grant in [first] + adding {
            #expect { try grant.get() } throws: { ($0 as? StoreError)?.kind == .unknown }
        }
        #expect { try read.get() } throws: { ($0 as? StoreError)?.kind == .notReady }
        try bench.engine.close()
        standbys.stop()
    }

    /// A block has one look-up of where the names stand that it erases.
    @Test func aBlockThatErasesNamesTakesNothingElseIn() throws {
        let bench = try Bench { $0.blocksAheadMax = 8 }
        _ = try bench.ask([.grant("a", "ann", 1), .grant("b", "ben", 1)])
        let before = bench.log.blocks.count
        bench.log.hold()
        let first = bench.send(.grant("c", "ben", 1))
        #expect(try eventually { bench.log.waiting == 1 })
        let second = bench.send(.grant("d", "ben", 1))
        let forgetting = bench.send(.forget(AccountName("ann")!))
        bench.log.release()
        for pending in [first, second, forgetting] { _ = try pending.get() }
        let blocks = try bench.log.blocks[before...].map { try Block(opening: $0, checks: .hashes(Workload.hash)) }
        #expect(blocks.map(\.rows.erasures.count) == [0, 0, 1])
        #expect(blocks.map(\.rows.requests.count) == [1, 1, 0])
        try bench.engine.close()
    }
}
