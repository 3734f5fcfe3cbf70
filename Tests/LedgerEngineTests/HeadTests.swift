import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// Every decision sees the head of the chain, however far the projection is behind.
@Suite struct HeadTests {
    private static func purchase(_ number: Int64, signed: Timestamp = 1, revoked: Int64 = 0) -> SignedPurchase {
        let header = Array("header".utf8)
        return SignedPurchase(
            facts: PurchaseFacts(
                transaction: TransactionID(number: number), product: "com.example.game.gems500", quantity: 1,
                purchaseDate: 1_000, price: 4_990, priceCurrency: "USD"),
            signedDate: signed, revoked: revoked,
            evidence: JWSParts(
                headerDigest: Digest(of: header, Workload.hash), header: header, payload: Array("{}".utf8),
                signature: [UInt8](repeating: 1, count: 64)))
    }

    /// An account that a refused request has named has no transfer by which one could tell that it is new.
    @Test func aPlayerWithoutTransfersIsNotForgottenBeforeThatIsProjected() throws {
        let bench = try Bench { $0.cachedPlayersMax = 2 }
        bench.projection.hold()
        guard case .refused = try bench.ask(.spend("s", "ann", 1)) else {
            Issue.record("not refused")
            return
        }
        for number in 0..<50 { _ = try bench.ask(.grant("g\(number)", "player-\(number)", 10)) }
        _ = try bench.ask(.grant("a", "ann", 5))
        bench.projection.release()
        #expect(try bench.available("ann") == 5)
        #expect(try bench.engine.history(HistoryQuery(account: AccountName("ann")!)).entries.count == 1)
        let accounts = try bench.log.blocks.flatMap { try Block(opening: $0, checks: .form).rows.accounts }
        #expect(accounts.filter { $0.name == AccountName("ann") }.count == 1)
        try bench.engine.close()
    }

    @Test func readsAloneDoNotFillTheMemory() throws {
        let bench = try Bench { $0.cachedPlayersMax = 10 }
        _ = try bench.ask((0..<200).map { .grant("g\($0)", "player-\($0)", 10) })
        #expect(try bench.engine.journal(JournalQuery(after: 0)).entries.count == 100)
        for number in 0..<200 { #expect(try bench.available("player-\(number)") == 10) }
        let inMemory = try bench.engine.run(Needs()) { $0.players.count }
        #expect(inMemory <= 22)
        try bench.engine.close()
    }

    /// However many may go, no batch waits until all have.
    @Test func playersLeaveMemoryLittleByLittle() throws {
        let bench = try Bench { $0.cachedPlayersMax = 10 }
        _ = try bench.ask((0..<4_000).map { .grant("g\($0)", "player-\($0)", 10) })
        #expect(try bench.engine.journal(JournalQuery(after: 0)).entries.count == 100)
        let counts = try (0..<12).map { _ in try bench.engine.run(Needs()) { $0.players.count } }
        #expect(counts[0] > 3_000 && counts[11] <= 22)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 - $1 <= 512 })
        try bench.engine.close()
    }

    /// Lots that are used up and gone do not count.
    @Test func playersWhoFitStayHoweverManyLotsTheyHaveUsedUp() throws {
        let bench = try Bench { $0.cachedPlayersMax = 50 }
        for round in 0..<200 {
            _ = try bench.ask((0..<40).map { .grant("g\(round)-\($0)", "player-\($0)", 10) })
            _ = try bench.ask((0..<40).map { .spend("s\(round)-\($0)", "player-\($0)", 10) })
            _ = try bench.engine.journal(JournalQuery(after: 0))
        }
        #expect(try bench.engine.run(Needs()) { $0.players.count } == 40)
        try bench.engine.close()
    }

    /// Others come to stay, and not each in the place of the one before.
    @Test func whoComesLastIsNotForgottenFirst() throws {
        let bench = try Bench { $0.cachedPlayersMax = 50 }
        func come(_ group: String) throws {
            for number in 0..<25 {
                _ = try bench.ask(.grant("\(group)\(number)", "\(group)-\(number)", 10))
                _ = try bench.engine.journal(JournalQuery(after: 0))
            }
        }
        for group in ["a", "b", "c"] { try come(group) }
        let kept = try bench.engine.run(Needs()) { books in
            books.players.values.count { $0.name.text.hasPrefix("c") }
        }
        #expect(kept >= 20)
        try bench.engine.close()
    }

    /// The same of lots that are used up.
    @Test func usedLotsLeaveMemoryLittleByLittle() throws {
        let bench = try Bench()
        _ = try bench.ask((0..<4_000).map { .grant("g\($0)", "player-\($0)", 10) })
        _ = try bench.ask((0..<4_000).map { .spend("s\($0)", "player-\($0)", 10) })
        #expect(try bench.engine.journal(JournalQuery(after: 0)).entries.count == 100)
        let counts = try (0..<8).map { _ in
            try bench.engine.run(Needs()) { $0.players.values.reduce(0) { $0 + $1.lotCount } }
        }
        #expect(counts[0] > 2_000 && counts[7] == 0)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 - $1 <= 1_024 })
        try bench.engine.close()
    }

    @Test func whatIsNotProjectedIsFound() throws {
        let bench = try Bench { $0.cachedPlayersMax = 2 }
        bench.projection.hold()
        let ann = AccountName("ann")!
        _ = try bench.ask(.credit(Self.purchase(1), account: ann))
        for number in 0..<50 { _ = try bench.ask(.grant("g\(number)", "player-\(number)", 10)) }
        _ = try bench.ask(.spend("s", "ann", 100))
        _ = try bench.ask(
            .hold(
                Hold(
                    key: RequestKey("h")!, account: ann, currency: Bench.gems, amount: Amount(50)!,
                    timeoutMilliseconds: 1_000)))
        // A purchase, a key, a spend and a hold named by their keys, and players past the cache's bound.
        guard case .purchase(let again) = try bench.ask(.credit(Self.purchase(1), account: ann)) else {
            Issue.record("no receipt")
            return
        }
        #expect(again.outcome == .alreadyCredited)
        guard case .spend(let replayed) = try bench.ask(.spend("s", "ann", 100)) else {
            Issue.record("no receipt")
            return
        }
        #expect(replayed.replayed)
        guard
            case .reversal = try bench.ask(
                .reverse(Reversal(key: RequestKey("r")!, spendKey: RequestKey("s")!)))
        else {
            Issue.record("not reversed")
            return
        }
        guard case .capture = try bench.ask(.capture(Capture(key: RequestKey("c")!, holdKey: RequestKey("h")!)))
        else {
            Issue.record("not captured")
            return
        }
        guard
            case .refused(let closed) = try bench.ask(
                .release(Release(key: RequestKey("e")!, holdKey: RequestKey("h")!)))
        else {
            Issue.record("released twice")
            return
        }
        #expect(closed.reason == .holdClosed)
        guard
            case .refused(let reversed) = try bench.ask(
                .reverse(Reversal(key: RequestKey("r2")!, spendKey: RequestKey("s")!)))
        else {
            Issue.record("reversed twice")
            return
        }
        #expect(reversed.reason == .alreadyReversed(currency: Bench.gems, reversible: 0))
        for number in 0..<50 { #expect(try bench.available("player-\(number)") == 10) }
        #expect(try bench.available("ann") == 450)
        bench.projection.release()
        #expect(try bench.engine.history(HistoryQuery(account: ann)).entries.count == 5)
        #expect(try bench.available("ann") == 450)
        try bench.engine.close()
    }

    @Test func whatIsProjectedIsForgottenAndLoadedAgain() throws {
        let bench = try Bench { $0.cachedPlayersMax = 2 }
        for number in 0..<200 {
            _ = try bench.ask(.grant("g\(number)", "player-\(number)", Int64(number + 1)))
            if number % 50 == 0 { _ = try bench.engine.journal(JournalQuery(after: 0)) }
        }
        _ = try bench.engine.journal(JournalQuery(after: 0))
        _ = try bench.ask(.grant("last", "player-0", 1))
        let kept = try bench.engine.run(Needs()) { $0.players.count }
        #expect(kept < 20)
        #expect(try bench.engine.run(Needs()) { $0.answers.count } <= 1)
        for number in 1..<200 { #expect(try bench.available("player-\(number)") == Int64(number + 1)) }
        #expect(try bench.available("player-0") == 2)
        try bench.engine.close()
    }

    /// Grants from a thread of their own, one after the other: each is sent when the one before it is done.
    private final class Grants: Sendable {
        private struct State {
            var done = 0
            var failure: String?
        }

        private let state = Monitor(State())
        private let thread = Monitor<EngineThread?>(nil)

        init(_ bench: Bench, count: Int) throws {
            let own = try EngineThread("test-grants") { [self] in
                for number in 0..<count {
                    do {
                        _ = try bench.ask(.grant("a\(number)", "ann", 1))
                        state.withLock { $0.done += 1 }
                    } catch {
                        state.withLock { $0.failure = "\(error)" }
                        return
                    }
                }
            }
            thread.withLock { $0 = own }
        }

        var done: Int { state.withLock { $0.done } }

        /// Waits for the last one. Gives what went wrong.
        func end() -> String? {
            thread.withLock { thread in
                thread?.join()
                thread = nil
            }
            return state.withLock { $0.failure }
        }
    }

    /// With the projection held up, deciding goes on up to the bound and then waits, and nothing is lost.
    @Test func aProjectionThatIsFarBehindHoldsTheWriterUp() throws {
        let bench = try Bench {
            $0.unprojectedBlocksMax = 20
            $0.blocksAheadMax = 4
        }
        // A read brings the projection to the head, so that all blocks that it lacks later are the grants'.
        _ = try bench.engine.journal(JournalQuery(after: 0))
        bench.projection.hold()
        let grants = try Grants(bench, count: 25)
        #expect(try eventually { grants.done == 20 })
        pause(milliseconds: 50)
        #expect(grants.done == 20)
        bench.projection.release()
        #expect(grants.end() == nil)
        #expect(grants.done == 25)
        #expect(try bench.available("ann") == 25)
        try bench.engine.close()
    }

    /// The same where blocks are few and large: the block that reaches the bound is the last one.
    @Test func theBytesThatAProjectionLacksAreBoundedToo() throws {
        let bytesMax = 8_000
        let bench = try Bench {
            $0.unprojectedBytesMax = bytesMax
            $0.projectionStepBytes = bytesMax / 2
        }
        _ = try bench.engine.journal(JournalQuery(after: 0))
        let before = bench.log.blocks.count
        bench.projection.hold()
        let grants = try Grants(bench, count: 500)
        let hasReachedIt = try eventually {
            bench.log.blocks.dropFirst(before).reduce(0) { $0 + $1.byteCount } >= bytesMax
        }
        #expect(hasReachedIt)
        pause(milliseconds: 50)
        let sizes = bench.log.blocks.dropFirst(before).map(\.byteCount)
        #expect(sizes.count < 500)
        #expect(sizes.dropLast().reduce(0, +) < bytesMax)
        bench.projection.release()
        #expect(grants.end() == nil)
        #expect(try bench.available("ann") == 500)
        try bench.engine.close()
    }

    /// Nothing is projected before a read asks for it.
    private static func waitsForReads(_ limits: inout EngineLimits) {
        limits.idleMilliseconds = 3_600_000
        limits.projectionLagMilliseconds = 3_600_000
    }

    @Test(arguments: [1, 2, 5])
    func aStepOfTheProjectionIsBoundedInBytes(blocksPerStep: Int) throws {
        let probe = try Bench()
        for number in 0..<2 { _ = try probe.ask(.grant("a\(number)", "ann", 1)) }
        // The first of a player's blocks has the account too; those after it are of almost one size.
        let blockBytes = try #require(probe.log.blocks.last).byteCount
        try probe.engine.close()

        let bench = try Bench {
            Self.waitsForReads(&$0)
            $0.projectionStepBytesMax = blocksPerStep * blockBytes + blockBytes / 2
        }
        _ = try bench.ask(.grant("first", "ann", 1))
        _ = try bench.engine.journal(JournalQuery(after: 0))
        let before = bench.projection.steps
        for number in 0..<10 { _ = try bench.ask(.grant("b\(number)", "ann", 1)) }
        #expect(bench.projection.steps == before)
        #expect(try bench.engine.journal(JournalQuery(after: 0)).entries.count == 11)
        #expect(bench.projection.steps - before == 10 / blocksPerStep)
        try bench.engine.close()
    }

    /// Blocks come without a pause and are few, so that only the time remains by which the projection may be behind.
    @Test func aProjectionIsBroughtForwardInTimeWhileBlocksKeepComing() throws {
        let bench = try Bench {
            Self.waitsForReads(&$0)
            $0.projectionLagMilliseconds = 100
            $0.projectionStepBytes = 1 << 30
            $0.unprojectedBytesMax = 1 << 30
            $0.unprojectedBlocksMax = 1_000_000
        }
        _ = try bench.engine.journal(JournalQuery(after: 0))
        var number = 0
        for round in 0..<2 {
            let before = bench.projection.steps
            let begun = ContinuousClock.now
            let hasCome = try eventually {
                _ = try bench.ask(.grant("a\(number)", "ann", 1))
                number += 1
                return bench.projection.steps > before
            }
            #expect(hasCome)
            // The second time runs from a block of the first round, so it may end a little earlier.
            if round == 0 { #expect(begun.duration(to: .now) >= .milliseconds(100)) }
        }
        let last = try #require(bench.log.blocks.last)
        #expect(try eventually { try bench.projection.state().head == last.head })
        try bench.engine.close()
    }

    @Test func anIdleLedgersProjectionIsAtTheHead() throws {
        let bench = try Bench()
        for number in 0..<5 { _ = try bench.ask(.grant("a\(number)", "ann", 1)) }
        let last = try #require(bench.log.blocks.last)
        #expect(try eventually { try bench.projection.state().head == last.head })
        try bench.engine.close()
    }

    @Test func theProjectionIsBroughtToTheHeadAtStart() throws {
        let first = try Bench()
        for number in 0..<30 { _ = try first.ask(.grant("a\(number)", "player-\(number % 3)", 1)) }
        try first.engine.close()
        // Tables that are empty, and then all of them at once.
        let second = try Bench(first.log.storage)
        #expect(second.reports.contains { $0.contains("catchingUp") })
        #expect(try second.available("player-0") == 10)
        #expect(try second.engine.journal(JournalQuery(after: 0)).entries.count == 30)
        let terms = second.log.blocks.map(\.term)
        #expect(Set(terms) == [1, 2] && terms == terms.sorted())
        try second.engine.close()
    }

    @Test func aClosedPeriodStaysClosedAfterARestartWithAnotherClock() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 1))
        try bench.engine.run(Needs()) { $0.close(through: Bench.now + 1_000) }
        try bench.engine.close()
        let next = try Bench(bench.log.storage)
        _ = try next.ask(.grant("b", "ann", 1), at: Bench.now - 86_400_000)
        #expect(try next.engine.journal(JournalQuery(after: 0)).entries.map(\.time) == [Bench.now, Bench.now + 1_001])
        try next.engine.close()
    }

    /// A log that tables with a lost row were used for: it is readable again, and whoever reads it says so.
    @Test func aKeyThatStandsTwiceInTheLogKeepsItsFirstAnswer() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("k", "ann", 5))
        try bench.engine.close()
        let last = try #require(bench.log.blocks.last)
        var again = try Block(opening: last, checks: .form)
        let rows = try #require(
            try bench.log.blocks.compactMap { block -> BlockRows? in
                let rows = try Block(opening: block, checks: .form).rows
                return rows.requests.isEmpty ? nil : rows
            }.first)
        again.number += 1
        again.previous = last.hash
        again.rows = BlockRows()
        again.position.request += 1
        again.rows.requests = [
            BlockRows.RequestRow(
                id: again.position.request, key: rows.requests[0].key, fingerprint: Digest.zero, entry: nil,
                answer: KeyedAnswer.refused(.unknownSpend).encoded[...])
        ]
        var salts = SystemRandomNumberGenerator()
        let sealed = SealedBlock(sealing: again, salts: &salts, hash: Workload.hash)
        _ = try MemoryLog(bench.log.storage).lead { _ in sealed }
        let next = try Bench(bench.log.storage)
        guard case .grant(let receipt) = try next.ask(.grant("k", "ann", 5)) else {
            Issue.record("the first answer is gone")
            return
        }
        #expect(receipt.replayed)
        try next.engine.close()
    }

    @Test func whoAskedStandsWithTheEntry() throws {
        let bench = try Bench()
        try bench.engine.run(Needs()) { books in
            _ = books.decide(.grant("a", "ann", 5, expiresAt: Bench.now + 10), by: "game", at: Bench.now)
            _ = books.decide(.grant("b", "ann", 5), by: "tools", at: Bench.now)
            _ = books.decide(.grant("c", "ann", 5), by: "game", at: Bench.now + 20)
        }
        let rows = try bench.log.blocks.map { try Block(opening: $0, checks: .hashes(Workload.hash)).rows }
        #expect(rows.flatMap(\.actors).map(\.name) == ["game", "tools"])
        // What expired by itself nobody asked for.
        #expect(rows.flatMap(\.entries).map(\.actor) == [1, 2, nil, 1])
        try bench.engine.close()
    }
}
