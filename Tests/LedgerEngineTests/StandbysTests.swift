import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import LedgerEngine

/// What is answered, and what the tables have, while standbys are required.
@Suite(.serialized) struct StandbysTests {
    private static func bench(_ count: Int, timeout: UInt64) throws -> (Bench, Standbys) {
        let standbys = try Standbys(Standbys.Requirement(count: count, timeoutMilliseconds: timeout))
        return (try Bench(standbys: standbys), standbys)
    }

    /// A standby says that it has everything.
    private static func acknowledge(_ name: String, _ bench: Bench, _ standbys: Standbys) throws {
        let name = try #require(StandbyName(name))
        _ = standbys.come(name)
        let head = try #require(bench.log.head)
        _ = try bench.engine.blocks(
            BlocksQuery(standby: name, after: head.number, hash: head.hash.bytes, durable: head.number))
    }

    private static func end(_ bench: Bench, _ standbys: Standbys) throws {
        try bench.engine.close()
        standbys.stop()
    }

    @Test func nothingIsAnsweredOrShownBeforeAStandbyHasIt() throws {
        let (bench, standbys) = try Self.bench(1, timeout: 600_000)
        let before = bench.log.blocks.count
        let pending = (0..<10).map { bench.send(.grant("g\($0)", "ann", 1)) }
        // Deciding and appending run ahead.
        #expect(try eventually { bench.log.blocks.count == before + 10 })
        pause(milliseconds: 20)
        #expect(pending.allSatisfy { $0.value == nil })
        #expect((try bench.projection.state().head?.number ?? 0) < bench.log.head?.number ?? 0)
        try Self.acknowledge("b", bench, standbys)
        for one in pending { _ = try one.get() }
        #expect(try bench.engine.history(HistoryQuery(account: AccountName("ann")!)).entries.count == 10)
        #expect(try bench.available("ann") == 10, "what was acknowledged can be read without another word")
        try Self.end(bench, standbys)
    }

    @Test func whatIsNotThereInTimeIsUnknownAndNothingIsDecidedUntilItIs() throws {
        let (bench, standbys) = try Self.bench(1, timeout: 30)
        #expect { try bench.ask(.grant("a", "ann", 7)) } throws: { ($0 as? StoreError)?.kind == .unknown }
        let count = bench.log.blocks.count
        #expect(bench.engine.fault()?.kind == .notReady)
        for number in 0..<5 {
            #expect { try bench.ask(.grant("b\(number)", "ann", 1)) } throws: { ($0 as? StoreError)?.kind == .notReady }
            #expect { try bench.available("ann") } throws: { ($0 as? StoreError)?.kind == .notReady }
        }
        #expect(bench.log.blocks.count == count, "nothing was decided")
        try Self.acknowledge("b", bench, standbys)
        #expect(try eventually { bench.engine.fault() == nil })
        #expect(try bench.available("ann") == 7, "the block is there")
        guard case .grant(let receipt) = try bench.ask(.grant("a", "ann", 7)) else {
            Issue.record("no receipt")
            return
        }
        #expect(receipt.replayed, "a repetition tells")
        try Self.end(bench, standbys)
    }

    @Test func asManyAreRequiredAsAreSaidAndANameCountsOnce() throws {
        let (bench, standbys) = try Self.bench(2, timeout: 600_000)
        let pending = bench.send(.grant("a", "ann", 7), isLast: true)
        try Self.acknowledge("b", bench, standbys)
        try Self.acknowledge("b", bench, standbys)
        pause(milliseconds: 20)
        #expect(pending.value == nil)
        try Self.acknowledge("c", bench, standbys)
        _ = try pending.get()
        try Self.end(bench, standbys)
    }

    /// What a standby has of another chain is no acknowledgement.
    @Test func aBlockOfAnotherChainIsNoAcknowledgement() throws {
        let (bench, standbys) = try Self.bench(1, timeout: 600_000)
        let pending = bench.send(.grant("a", "ann", 7), isLast: true)
        let head = try #require(bench.log.head)
        let name = try #require(StandbyName("b"))
        for (after, hash) in [(head.number, Digest.zero), (head.number + 1, head.hash), (1, head.hash)] {
            #expect {
                try bench.engine.blocks(BlocksQuery(standby: name, after: after, hash: hash.bytes, durable: after))
            } throws: {
                if case .chainMismatch(head.number) = $0 as? Fault { true } else { false }
            }
        }
        pause(milliseconds: 20)
        #expect(pending.value == nil && standbys.standing.members.isEmpty)
        try Self.acknowledge("b", bench, standbys)
        _ = try pending.get()
        try Self.end(bench, standbys)
    }

    /// A start brings the tables to the log's head, of which nobody may have had the end.
    @Test func aRestartShowsNothingBeforeAStandbyHasIt() throws {
        let first = try Bench()
        _ = try first.ask(.grant("a", "ann", 7))
        try first.engine.close()
        let standbys = try Standbys(Standbys.Requirement(count: 1, timeoutMilliseconds: 30))
        let bench = try Bench(first.log.storage, standbys: standbys)
        // It would be signed.
        #expect { try bench.engine.projectedState() } throws: { ($0 as? StoreError)?.kind == .notReady }
        #expect { try bench.available("ann") } throws: { ($0 as? StoreError)?.kind == .notReady }
        try Self.acknowledge("b", bench, standbys)
        #expect(try eventually { bench.engine.fault() == nil })
        #expect(try bench.available("ann") == 7)
        #expect(try bench.engine.projectedState().head == bench.log.head)
        try Self.end(bench, standbys)
    }

    /// A failure of the log while blocks wait for a standby: order and outcome of each stay right.
    @Test func aFailureOfTheLogIsTellableWhileBlocksWait() throws {
        let (bench, standbys) = try Self.bench(1, timeout: 600_000)
        let held = bench.send(.grant("a", "ann", 7), isLast: true)
        bench.log.failAppends(.notAppended)
        let failed = bench.send(.grant("b", "ann", 1), isLast: true)
        pause(milliseconds: 20)
        #expect(held.value == nil && failed.value == nil, "in their order")
        try Self.acknowledge("b", bench, standbys)
        _ = try held.get()
        #expect { try failed.get() } throws: { ($0 as? StoreError)?.kind == .unavailable }
        let done = Mutex(false)
        inThread {
            while !done.withLock({ $0 }) {
                try? Self.acknowledge("b", bench, standbys)
                pause(milliseconds: 1)
            }
        }
        _ = try bench.ask(.grant("c", "ann", 1))
        #expect(try bench.available("ann") == 8)
        done.withLock { $0 = true }
        try Self.end(bench, standbys)
    }

    @Test func noMoreNamesAreRememberedThanMayBe() throws {
        let standbys = try Standbys()
        for number in 0..<EngineLimits.standbysMax { #expect(standbys.come(StandbyName("s\(number)")!)) }
        #expect(!standbys.come(StandbyName("one-more")!))
        standbys.leave(StandbyName("s3")!)
        #expect(standbys.come(StandbyName("one-more")!))
        #expect(standbys.standing.members.count == EngineLimits.standbysMax)
        standbys.stop()
    }
}
