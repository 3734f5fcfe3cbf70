import AppStore
import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// What is counted of a ledger in operation, and how it says that it is.
@Suite(.serialized) struct FiguresTests {
    @Test func batchesAndBlocksAreMeasured() throws {
        let bench = try Bench()
        _ = try bench.ask([.grant("a", "one", 5), .grant("b", "two", 5)])
        _ = try bench.ask([.balance(account: AccountName("one")!, currency: nil)])
        let figures = bench.figures
        // The first block says which currencies there are.
        #expect(figures.append.reading.total == 2, "a batch that adds nothing appends nothing")
        #expect(figures.decision.reading.total == 3)
        #expect(figures.appendedBytes.total > 0)
        #expect(figures.players.value == 2)
        #expect(figures.walletsNeeded.total == 3 && figures.playersLoaded.total == 0)
        try bench.engine.close()
    }

    @Test func aBatchThatIsTracedIsToldWithItsBlockBeforeItsAnswers() async throws {
        let bench = try Bench(figures: EngineFigures(tracesCommits: true))
        let ledger = try RunningLedger(
            store: bench.engine, verifier: try SandboxApp().verifier, figures: bench.figures, now: { Bench.now },
            report: { _ in })
        let told = Monitor<(commits: [CommitTrace], answers: Int)>(([], 0))
        let session = ledger.session(
            outlet: .queue(), noteCommit: { commit in told.withLock { $0.commits.append(commit) } }
        ) { answers in told.withLock { $0.answers += answers.count } }
        for (number, command) in [Command.grant("a", "one", 5), .grant("a", "one", 5), .grant("b", "one", 5)]
            .enumerated()
        {
            session.submit([.command(command)])
            #expect(try eventually { told.withLock { $0.answers } == number + 1 })
            #expect(told.withLock { $0.commits.count } == number + 1)
        }
        session.close()
        try await ledger.stop()
        let commits = told.withLock { $0.commits }
        for commit in commits {
            #expect(commit.isDone && commit.requests == 1)
            #expect(commit.begin <= commit.decided && commit.decided <= commit.end)
        }
        #expect(commits[1].append == nil, "a repeat adds nothing")
        let blocks = commits.compactMap(\.append)
        #expect(blocks.count == 2 && blocks[1].block == blocks[0].block + 1)
        for (commit, block) in zip([commits[0], commits[2]], blocks) {
            #expect(block.entries == 1 && block.transfers >= 1 && block.bytes > 100)
            #expect(commit.begin <= block.begin && block.begin <= block.end && block.end <= commit.end)
        }
    }

    @Test func aBatchThatFailsIsTracedAsSuchAndWithoutABlock() async throws {
        let bench = try Bench(figures: EngineFigures(tracesCommits: true))
        let ledger = try RunningLedger(
            store: bench.engine, verifier: try SandboxApp().verifier, figures: bench.figures, now: { Bench.now },
            report: { _ in })
        let told = Monitor<[CommitTrace]>([])
        let session = ledger.session(
            outlet: .queue(), noteCommit: { commit in told.withLock { $0.append(commit) } }, deliver: { _ in })
        bench.log.failAppends(.notAppended)
        session.submit([.command(.grant("a", "one", 5))])
        #expect(try eventually { told.withLock { $0.count } == 1 })
        let commit = told.withLock { $0[0] }
        #expect(!commit.isDone && commit.append == nil && commit.requests == 1)
        session.close()
        try await ledger.stop()
    }

    @Test func theLastBlocksAreKnownToAllThatBecamePartOfThem() throws {
        let recent = RecentAppends()
        func position(_ entry: EntryID) -> LastNumbers {
            var position = LastNumbers()
            position.entry = entry
            return position
        }
        for number in 1...40 {
            let append = AppendTrace(
                block: BlockNumber(number), bytes: 1, entries: 1, transfers: 1, begin: UInt64(number), end: 100)
            recent.note(append, at: position(2 * EntryID(number)))
        }
        #expect(recent.block(of: position(1), since: 0)?.block == 9, "the oldest have gone")
        #expect(recent.block(of: position(80), since: 41) == nil, "it is of a batch before")
        #expect(recent.block(of: position(80), since: 40)?.block == 40)
        #expect(recent.block(of: position(79), since: 40)?.block == 40, "it became part of the same block")
        #expect(recent.block(of: position(81), since: 0) == nil, "its block is not there yet")
        #expect(recent.block(of: position(18), since: 0)?.block == 9)
    }

    @Test func whoIsNotInMemoryIsLoaded() throws {
        let first = try Bench()
        _ = try first.ask([.grant("a", "one", 5)])
        try first.engine.close()
        let second = try Bench(first.log.storage, folder: first.folder)
        _ = try second.ask([.spend("b", "one", 1)])
        _ = try second.ask([.spend("c", "one", 1)])
        #expect(second.figures.playersLoaded.total == 1 && second.figures.walletsNeeded.total == 2)
        try second.engine.close()
    }

    @Test func theStoreSaysHowItIs() throws {
        let bench = try Bench()
        _ = try bench.ask([.grant("a", "one", 5)])
        #expect(try eventually { bench.engine.standing.projected == bench.engine.standing.block })
        var standing = bench.engine.standing
        #expect(standing.leads && standing.block > 1 && standing.unprojectedBytes == 0)
        #expect(standing.logFailure == nil && standing.projectionFailure == nil && !standing.lacksStandbys)
        bench.log.failAppends(.notAppended)
        #expect(throws: StoreError.self) { try bench.ask([.grant("b", "one", 5)]) }
        standing = bench.engine.standing
        #expect(standing.logFailure?.kind == .notAppended)
        #expect(try bench.engine.projectedFigures()?.position.account == 1)
        try bench.engine.close()
    }

    @Test func whatIsOpenedSaysThatItIs() throws {
        let gate = Monitor(false)
        let store = try OpeningStore(engine: "none", failed: { _ in }) { progress in
            try progress("block 1 of 2")
            gate.wait { $0 ? () : nil }
            throw StoreError("it cannot be opened")
        }
        #expect(
            try eventually {
                if case .opening("block 1 of 2") = store.standing.state { true } else { false }
            })
        gate.withLock { $0 = true }
        gate.wakeAll()
        #expect(
            try eventually {
                if case .failed(let words) = store.standing.state { words.contains("cannot be opened") } else { false }
            })
        #expect(throws: StoreError.self) { try store.projectedFigures() }
        #expect(throws: StoreError.self) { try store.close() }
    }

    @Test func whatTheOperatorIsToldIsCounted() {
        let figures = EngineFigures()
        let told = Monitor(0)
        let report = figures.counting { _ in told.withLock { $0 += 1 } }
        report(.clockHeldBack(clock: 2, time: 1))
        #expect(figures.isClockHeldBack.value == 1)
        report(.clockReasonable)
        report(.cameTooLate(requests: 7))
        report(.readFailed("a disk"))
        report(.readFailed("a disk"))
        #expect(told.withLock { $0 } == 5 && figures.isClockHeldBack.value == 0 && figures.lateOperations.total == 7)
        let events = figures.toldEvents.map { "\($0.name) \($0.count)" }
        #expect(events == ["came_too_late 1", "clock_held_back 1", "clock_reasonable 1", "read_failed 2"])
    }
}
