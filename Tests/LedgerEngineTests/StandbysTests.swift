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
        _ = standbys.come(name) {}
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
        let pending = (0..<10).map { bench.send(.grant("g\($0)", "ann", 1), isLast: true) }
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

    // MARK: Sessions

    private static func come(_ standbys: Standbys, _ name: String) -> Standbys.Place? {
        standbys.come(StandbyName(name)!) {}
    }

    @Test func noMoreNamesAreRememberedThanMayBe() throws {
        let standbys = try Standbys()
        let places = try (0..<EngineLimits.standbysMax).map { try #require(Self.come(standbys, "s\($0)")) }
        #expect(Self.come(standbys, "one-more") == nil)
        standbys.leave(places[3])
        #expect(Self.come(standbys, "one-more") != nil)
        #expect(standbys.standing.members.count == EngineLimits.standbysMax)
        standbys.stop()
    }

    /// A standby whose connection was lost comes again, and again, before the leader learns of it.
    @Test func theOldestSessionOfAStandbyGivesWay() throws {
        let standbys = try Standbys()
        let gone = Mutex<[Int]>([])
        let name = try #require(StandbyName("b"))
        let places = try (0..<5).map { number in
            try #require(standbys.come(name) { gone.withLock { $0.append(number) } })
        }
        #expect(gone.withLock { $0 } == [0, 1, 2])
        #expect(places.map { standbys.goesOn($0, holdsPage: true) } == [false, false, false, true, true])
        for place in places[..<4] { standbys.leave(place) }
        #expect(standbys.standing.members.map { $0.isConnected } == [true])
        standbys.leave(places[4])
        #expect(standbys.standing.members.map { $0.isConnected } == [false])
        standbys.stop()
    }

    /// However many sessions come, few of them have pages in memory.
    @Test func sessionsThatGaveWayCountWhileTheyHoldAPage() throws {
        let standbys = try Standbys()
        func comeAndHold() -> Standbys.Place? {
            let place = Self.come(standbys, "b")
            if let place { #expect(standbys.goesOn(place, holdsPage: true)) }
            return place
        }
        let places = try (0..<4).map { _ in try #require(comeAndHold()) }
        #expect(comeAndHold() == nil && comeAndHold() == nil)
        // One that has taken its page gives way, and the older one, which has not, stays.
        #expect(standbys.goesOn(places[3], holdsPage: false))
        let fifth = try #require(comeAndHold())
        #expect(!standbys.goesOn(places[3], holdsPage: false) && standbys.goesOn(places[2], holdsPage: true))
        #expect(comeAndHold() == nil)
        // One that gave way has taken its page, or has ended.
        #expect(!standbys.goesOn(places[0], holdsPage: false))
        _ = try #require(comeAndHold())
        #expect(!standbys.goesOn(places[2], holdsPage: false), "it was the oldest")
        _ = try #require(comeAndHold())
        #expect(!standbys.goesOn(fifth, holdsPage: false))
        standbys.stop()
    }

    /// What sessions of a name hold is not forgotten with it.
    @Test func aNameIsRememberedWhileASessionThatGaveWayHoldsAPage() throws {
        let standbys = try Standbys()
        let first = try (0..<3).map { _ in
            let place = try #require(Self.come(standbys, "s0"))
            #expect(standbys.goesOn(place, holdsPage: true))
            return place
        }
        for number in 1..<EngineLimits.standbysMax { _ = try #require(Self.come(standbys, "s\(number)")) }
        standbys.leave(first[1])
        standbys.leave(first[2])
        #expect(Self.come(standbys, "one-more") == nil)
        standbys.leave(first[0])
        #expect(Self.come(standbys, "one-more") != nil)
        standbys.stop()
    }
}
