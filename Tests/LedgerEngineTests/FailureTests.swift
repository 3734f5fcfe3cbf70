import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// What becomes of batches when the log fails, whichever way it does.
@Suite struct FailureTests {
    private static func isReplayed(_ outcome: Outcome) -> Bool? {
        switch outcome {
        case .grant(let receipt): receipt.replayed
        case .spend(let receipt): receipt.replayed
        default: nil
        }
    }

    private static func kind(_ result: Result<Outcome, StoreError>?) -> StoreError.Kind? {
        guard case .failure(let error) = result else { return nil }
        return error.kind
    }

    @Test func aBatchThatIsNotAppendedLeavesNothing() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        bench.log.failAppends(.notAppended)
        #expect { try bench.ask(.grant("b", "ann", 10)) } throws: { ($0 as? StoreError)?.kind == .unavailable }
        #expect(try bench.available("ann") == 100)
        // The same request again is a new one.
        #expect(Self.isReplayed(try bench.ask(.grant("b", "ann", 10))) == false)
        #expect(try bench.available("ann") == 110)
        #expect(
            bench.reports.contains { $0.contains("logFailed") } && bench.reports.contains { $0.contains("logWorks") })
        try bench.engine.close()
    }

    @Test(arguments: [true, false])
    func aBatchInDoubtIsKnownToItsRepeat(isThere: Bool) throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        bench.log.failAppends(.unknown(isThere: isThere))
        #expect { try bench.ask(.spend("s", "ann", 30)) } throws: { ($0 as? StoreError)?.kind == .unknown }
        #expect(Self.isReplayed(try bench.ask(.spend("s", "ann", 30))) == isThere)
        #expect(try bench.available("ann") == 70)
        try bench.engine.close()
        // Whoever comes after it finds the same.
        let next = try Bench(bench.log.storage)
        #expect(try next.available("ann") == 70)
        #expect(Self.isReplayed(try next.ask(.spend("s", "ann", 30))) == true)
        try next.engine.close()
    }

    /// Decided on books that were never durable: none of it is answered as done, and none of it is seen later.
    @Test(arguments: [MemoryLog.Fault.notAppended, .unknown(isThere: true), .unknown(isThere: false)])
    func whatWasDecidedAfterABatchThatFailedFailsToo(fault: MemoryLog.Fault) throws {
        let bench = try Bench { $0.blocksAheadMax = 8 }
        _ = try bench.ask(.grant("a", "ann", 100))
        bench.log.hold()
        let first = bench.send(.spend("1", "ann", 60))
        #expect(try eventually { bench.log.waiting == 1 })
        let second = bench.send(.grant("2", "ann", 5))
        let read = bench.send(.balance(account: AccountName("ann")!, currency: nil))
        bench.log.failAppends(fault)
        bench.log.release()
        #expect(throws: StoreError.self) { try first.get() }
        #expect(throws: StoreError.self) { try second.get() }
        // It saw what the first had decided.
        #expect(throws: StoreError.self) { try read.get() }
        let left: Int64 = fault == .unknown(isThere: true) ? 40 : 100
        #expect(try bench.available("ann") == left)
        #expect(Self.isReplayed(try bench.ask(.grant("2", "ann", 5))) == false)
        #expect(try bench.available("ann") == left + 5)
        try bench.engine.close()
    }

    @Test func aReadIsAnsweredWhenWhatItSawIsDurable() throws {
        let bench = try Bench { $0.blocksAheadMax = 8 }
        bench.log.hold()
        let grant = bench.send(.grant("a", "ann", 100))
        let read = bench.send(.balance(account: AccountName("ann")!, currency: nil))
        #expect(try eventually { bench.log.waiting == 1 })
        pause(milliseconds: 20)
        #expect(read.value == nil && grant.value == nil)
        bench.log.release()
        guard case .balance(let balances) = try read.get() else {
            Issue.record("no balance")
            return
        }
        #expect(balances.balances.map(\.balance.available) == [100])
        try bench.engine.close()
    }

    @Test func readsGoOnWhileNothingCanBeAppended() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        bench.log.failAppends(.unknown(isThere: false))
        bench.log.failLeads(
            LogError(.notAppended, "full"), LogError(.notAppended, "full"), LogError(.unknown, "full"),
            LogError(.notAppended, "full"), LogError(.notAppended, "full"), LogError(.notAppended, "full"))
        #expect(throws: StoreError.self) { try bench.ask(.grant("b", "ann", 1)) }
        // Nothing of a request that comes now is in doubt.
        #expect(bench.engine.fault()?.kind == .unavailable)
        #expect(try bench.available("ann") == 100)
        #expect(throws: StoreError.self) { try bench.ask(.grant("c", "ann", 1)) }
        #expect(try bench.available("ann") == 100)
        #expect(try bench.engine.history(HistoryQuery(account: AccountName("ann")!)).entries.count == 1)
        #expect(try bench.engine.journal(JournalQuery(after: 0)).entries.count == 1)
        #expect(try eventually { bench.engine.fault() == nil })
        _ = try bench.ask(.grant("b", "ann", 1))
        #expect(try bench.available("ann") == 101)
        try bench.engine.close()
    }

    /// What is due cannot be posted then, and is not shown as available all the same.
    @Test func readsThatFindSomethingDueGoOnWhileNothingCanBeAppended() throws {
        let bench = try Bench()
        _ = try bench.ask([.grant("a", "ann", 100), .grant("b", "ann", 7, expiresAt: Bench.now + 50)])
        bench.log.failAppends(.unknown(isThere: false))
        let full = LogError(.notAppended, "full")
        bench.log.failLeads(full, full, full, full, full, full, full, full)
        #expect(throws: StoreError.self) { try bench.ask(.grant("c", "ann", 1)) }
        let balance = Command.balance(account: AccountName("ann")!, currency: nil)
        for _ in 0..<3 {
            guard case .balance(let read) = try bench.ask(balance, at: Bench.now + 60) else {
                Issue.record("no balance")
                return
            }
            #expect(read.balances.map(\.balance.available) == [100])
        }
        #expect(throws: StoreError.self) { try bench.ask([balance, .grant("d", "ann", 1)], at: Bench.now + 60) }
        #expect(try eventually { bench.engine.fault() == nil })
        _ = try bench.ask(.grant("d", "ann", 1), at: Bench.now + 60)
        #expect(try bench.available("ann") == 101)
        let entries = try bench.engine.journal(JournalQuery(after: 0)).entries
        #expect(entries.map(\.kind) == [.grant, .grant, .expiry, .grant])
        try bench.engine.close()
    }

    @Test func anotherReasonWhyTheLogFailsIsTold() throws {
        let bench = try Bench()
        bench.log.failAppends(.unknown(isThere: false))
        let (full, damaged) = (LogError(.notAppended, "full"), LogError(.corrupt, "block 7 is damaged"))
        bench.log.failLeads(full, full, damaged, damaged, full)
        #expect(throws: StoreError.self) { try bench.ask(.grant("a", "ann", 1)) }
        #expect(try eventually { bench.engine.fault() == nil })
        let failures = bench.reports.filter { $0.hasPrefix("logFailed") }
        #expect(failures.count == 4, "\(failures)")
        #expect(failures[2].contains("block 7 is damaged"))
        #expect(bench.reports.filter { $0.hasPrefix("logWorksAgain") }.count == 1)
        try bench.engine.close()
    }

    /// Another leader's block stands where ours was to go: ours is dropped with the books, and theirs is read.
    @Test func anotherLeadersBlockReplacesWhatWasDecided() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        let last = try #require(bench.log.blocks.last)
        var theirs = try Block(opening: last, checks: .form)
        theirs.number += 1
        theirs.term += 1
        theirs.previous = last.hash
        theirs.rows = BlockRows()
        theirs.rows.closedThrough = Bench.now + 5_000
        var salts = SystemRandomNumberGenerator()
        bench.log.failAppends(.superseded(by: [SealedBlock(sealing: theirs, salts: &salts, hash: Workload.hash)]))
        #expect { try bench.ask(.spend("s", "ann", 50)) } throws: { ($0 as? StoreError)?.kind == .unavailable }
        #expect(try bench.available("ann") == 100)
        _ = try bench.ask(.grant("b", "ann", 1))
        let entries = try bench.engine.journal(JournalQuery(after: 0)).entries
        #expect(entries.map(\.time) == [Bench.now, Bench.now + 5_001])
        try bench.engine.close()
    }

    @Test func aProjectionThatCannotBeWrittenIsTriedAgain() throws {
        let bench = try Bench()
        bench.projection.failSteps(3)
        for number in 0..<20 { _ = try bench.ask(.grant("k\(number)", "ann", 1)) }
        #expect(try bench.available("ann") == 20)
        #expect(try eventually { (try? bench.engine.journal(JournalQuery(after: 0)).entries.count) == 20 })
        #expect(bench.reports.count { $0.contains("projectionFailed") } == 1)
        #expect(try eventually { bench.reports.contains { $0.contains("projectionWorksAgain") } })
        try bench.engine.close()
    }

    /// A batch was made up while the log worked. What is left then is good for reading, and knows no products: a
    /// purchase is not refused for that.
    @Test func aPurchaseIsNotRefusedForALogThatFailsMeanwhile() throws {
        let bench = try Bench(catalog: Workload.catalog) { $0.blocksAheadMax = 8 }
        _ = try bench.ask(.balance(account: AccountName("ann")!, currency: nil))
        bench.log.hold()
        let first = bench.send(
            .credit(Workload.purchase(1, signedDate: 1), account: AccountName("ann")!))
        #expect(try eventually { bench.log.waiting == 1 })
        #expect(bench.engine.fault() == nil)
        bench.log.failAppends(.notAppended)
        bench.log.failLeads(LogError(.unknown, "the test's disk has failed"))
        bench.log.release()
        #expect(throws: StoreError.self) { try first.get() }
        let second = Command.credit(Workload.purchase(2, signedDate: 1), account: AccountName("ann")!)
        #expect { try bench.ask(second) } throws: { ($0 as? StoreError)?.kind == .unavailable }
        guard case .purchase(let receipt) = try bench.ask(second) else {
            Issue.record("the purchase was refused")
            return
        }
        #expect(receipt.outcome == .credited)
        try bench.engine.close()
    }

    /// A ledger that was opened while its log fails tells its journal at once to whoever would wait for more.
    @Test func whatIsDurableIsNotWaitedForWhileTheLogFails() async throws {
        let before = try Bench()
        _ = try before.ask([.grant("a", "ann", 1), .grant("b", "ann", 2)])
        try before.engine.close()
        let bench = try Bench(
            before.log.storage,
            prepare: { log in
                for _ in 0..<1_000 { log.failLeads(LogError(.unknown, "the test's disk has failed")) }
            })
        let ledger = try RunningLedger(
            store: bench.engine, verifier: try SandboxApp().verifier, now: { Bench.now }, report: { _ in })
        let pages = Monitor<[JournalPage]>([])
        let session = ledger.session(outlet: .queue()) { answers in
            for case .success(.journal(let page)) in answers { pages.withLock { $0.append(page) } }
        }
        session.allowRead(.read, taken: 0)
        session.submit([.query(.journal(JournalQuery(after: 1, waitMilliseconds: 200)))])
        #expect(try eventually { pages.withLock { !$0.isEmpty } })
        #expect(pages.withLock { $0.first?.entries.map(\.entry) } == [2])
        session.close()
        try await ledger.stop()
    }
}
