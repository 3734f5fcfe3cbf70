import Ledger
import LedgerTestKit
import Testing

@testable import AppStore
@testable import LedgerEngine

/// Who is woken for what, and how much is verified and committed at a time.
@Suite struct SequencerQueuesTests {
    private final class Bench {
        var queues: SequencerQueues
        let lane = Lane(outlet: .queue()) { _ in }
        let tenant = Tenant()
        let clock = Monitor<UInt64>(0)

        init(_ change: (inout EngineLimits) -> Void = { _ in }, threads: Int = 2) {
            var limits = EngineLimits()
            limits.verifierThreads = threads
            change(&limits)
            // No commit is due by its time, for the first one is long past.
            limits.commitMicrosecondsMax = 1 << 40
            queues = SequencerQueues(limits: limits) { [clock] in clock.withLock { $0 } }
            add(plain: 1, from: Lane(outlet: .queue()) { _ in })
            _ = (wakes, batch(), batch())
        }

        /// Submissions of one operation each: with a JWS, or without.
        func add(signed: Int = 0, plain: Int = 0, from lane: Lane? = nil, deadline: UInt64 = .max) {
            let lane = lane ?? self.lane
            let jws = LedgerOperation.signed(.transaction([]), account: nil)
            let operations = Array(repeating: jws, count: signed) + Array(repeating: .command(.expire), count: plain)
            queues.add(
                operations.map { Submission(lane: lane, tenant: tenant, operations: [$0], deadline: deadline) })
        }

        /// Whom it wakes: `v`, `w`, both or nobody.
        var wakes: String {
            let wakes = queues.wakes()
            return (wakes.verifier ? "v" : "") + (wakes.writer ? "w" : "")
        }

        /// How many submissions the writer commits next.
        func batch() -> Int? {
            guard case .commit(let batch, _) = queues.nextForWriter() else { return nil }
            delivered()
            return batch.count
        }

        /// The answers of the oldest batch are handed out now.
        func delivered(operations: Int = 0, core: UInt64 = 0) {
            queues.delivered(SequencerQueues.CommitWork(operations: operations, core: core))
        }
    }

    @Test func aLoneRequestWaitsForNothing() {
        let bench = Bench()
        #expect(bench.queues.isIdle && bench.wakes == "")
        bench.add(plain: 1)
        #expect(!bench.queues.isIdle && bench.wakes == "w" && bench.wakes == "")
        #expect(bench.batch() == 1 && bench.batch() == nil && bench.queues.isIdle)

        // A lone JWS is verified by the writer itself.
        bench.add(signed: 1)
        #expect(bench.wakes == "w" && bench.wakes == "")
        guard case .verify(let chunk) = bench.queues.nextForWriter() else {
            Issue.record("the writer has nothing to verify")
            return
        }
        #expect(chunk.submissions.count == 1 && bench.wakes == "" && !bench.queues.isIdle)
        bench.queues.finish(chunk)
        #expect(bench.batch() == 1 && bench.batch() == nil && bench.queues.isIdle)
    }

    @Test func whatComesWhileTheWriterVerifiesGoesToAThread() {
        let bench = Bench()
        bench.add(signed: 1)
        #expect(bench.wakes == "w")
        guard case .verify(let lone) = bench.queues.nextForWriter() else {
            Issue.record("the writer has nothing to verify")
            return
        }
        bench.add(signed: 1)
        #expect(bench.wakes == "v" && bench.wakes == "")
        let next = bench.queues.nextChunk()!
        bench.queues.finish(next)
        // It waits for the one before it.
        #expect(bench.queues.nextChunk() == nil && bench.queues.countInFirstStage(bench.lane) == 2)
        bench.queues.finish(lone)
        #expect(bench.batch() == 2 && bench.batch() == nil && bench.queues.isIdle)
    }

    @Test func aLoneJWSIsAThreadsWhileTheWriterIsBusy() {
        let bench = Bench()
        bench.add(plain: 1)
        #expect(bench.wakes == "w" && bench.batch() == 1)
        bench.add(signed: 1)
        #expect(bench.wakes == "v")
        bench.queues.finish(bench.queues.nextChunk()!)
        #expect(bench.queues.nextChunk() == nil)
        #expect(bench.batch() == 1 && bench.batch() == nil && bench.queues.isIdle)
    }

    @Test func aCommitTakesNoMoreThanHalfOfManyAndAllOfFew() {
        let bench = Bench {
            $0.operationsPerCommitMin = 4
            $0.operationsPerCommitMax = 100
        }
        bench.add(plain: 1_000)
        #expect(bench.wakes == "w")
        var batches: [Int] = []
        while let count = bench.batch() { batches.append(count) }
        #expect(batches.prefix(9) == [100, 100, 100, 100, 100, 100, 100, 100, 100])
        #expect(batches.dropFirst(9) == [50, 25, 12, 6, 4, 3])
    }

    @Test func aCommitWaitsForAFourthWhileOthersAreVerifiedButNotForTheLast() {
        let bench = Bench({
            $0.verificationBatchMax = 10
            $0.verificationsPerThreadMin = 10
        })
        bench.add(signed: 80)
        #expect(bench.wakes == "v")
        let first = bench.queues.nextChunk()!
        #expect(first.submissions.count == 10 && bench.wakes == "v")
        let second = bench.queues.nextChunk()!
        // Ten of eighty are no fourth, twenty are.
        bench.queues.finish(first)
        #expect(bench.wakes == "")
        let third = bench.queues.nextChunk()!
        bench.queues.finish(second)
        #expect(bench.wakes == "w" && bench.batch() == 20)
        // What the writer leaves for later it is woken for, when there is enough of it.
        #expect(bench.batch() == nil)
        bench.queues.finish(third)
        #expect(bench.wakes == "")
        while let chunk = bench.queues.nextChunk() { bench.queues.finish(chunk) }
        #expect(bench.queues.nextChunk() == nil)
        #expect(bench.wakes == "w" && bench.batch() == 60 && bench.batch() == nil && bench.queues.isIdle)
    }

    @Test func aRequestWithoutAJWSDoesNotWaitForThemToBeVerified() {
        let bench = Bench()
        let other = Lane(outlet: .queue()) { _ in }
        bench.add(signed: 400)
        #expect(bench.wakes == "v" && bench.wakes == "v")
        let chunk = bench.queues.nextChunk()!
        bench.queues.finish(chunk)
        // Less than a fourth of all.
        #expect(chunk.submissions.count < 100 && bench.wakes == "")
        bench.add(plain: 1, from: other)
        #expect(bench.wakes == "w" && bench.batch() == chunk.submissions.count + 1)
        // It is gone: what is verified waits for a fourth again.
        bench.queues.finish(bench.queues.nextChunk()!)
        #expect(bench.batch() == nil && bench.wakes == "")
    }

    /// However fast the writer is, each commit is a sync.
    @Test func thereAreFarFewerCommitsThanChunks() {
        let bench = Bench({
            $0.verificationBatchMax = 10
            $0.verificationsPerThreadMin = 1
        })
        bench.add(signed: 2_000)
        var (chunks, commits, committed) = (0, 0, 0)
        _ = bench.wakes
        while let chunk = bench.queues.nextChunk() {
            chunks += 1
            bench.queues.finish(chunk)
            guard bench.wakes.hasSuffix("w") else { continue }
            while let count = bench.batch() {
                commits += 1
                committed += count
            }
        }
        // A fourth of what is left each time, down to chunks of ten.
        #expect(chunks == 200 && committed == 2_000 && commits < 40)
    }

    @Test func whatHasWaitedForTooLongIsAnsweredSoAndNotCarriedOut() {
        let bench = Bench({ $0.verificationBatchMax = 10 })
        bench.add(signed: 2, plain: 1, deadline: 5)
        bench.add(signed: 1, plain: 1, deadline: 6)
        #expect(bench.wakes == "v")
        bench.clock.withLock { $0 = 4 }
        let chunk = bench.queues.nextChunk()!
        #expect(chunk.submissions.map { Self.isRefused($0) } == [false, false, false, false, false])
        #expect(bench.queues.takeLateCount() == nil)
        // Too late for three: before they are committed.
        bench.clock.withLock { $0 = 5 }
        bench.queues.finish(chunk)
        #expect(bench.wakes == "w")
        guard case .commit(let batch, _) = bench.queues.nextForWriter() else {
            Issue.record("the writer has nothing to commit")
            return
        }
        #expect(batch.map { Self.isRefused($0) } == [true, true, true, false, false])
        #expect(bench.queues.takeLateCount() == 3 && bench.queues.takeLateCount() == nil)
        bench.delivered()

        // And before they are verified: those that come later are told of when that was not done just now.
        bench.add(signed: 2, deadline: 5)
        #expect(bench.queues.nextChunk()!.submissions.map { Self.isRefused($0) } == [true, true])
        #expect(bench.queues.takeLateCount() == nil)
        bench.clock.withLock { $0 = 20_000_000_000 }
        #expect(bench.queues.takeLateCount() == 2)
    }

    @Test func certificatesThatWaitedForTooLongAreNotVerified() {
        let bench = Bench()
        bench.add(signed: 1, deadline: 5)
        bench.add(signed: 1, deadline: 5)
        #expect(bench.wakes == "v")
        var chunk = bench.queues.nextChunk()!
        chunk.submissions[0].isPostponed = true
        bench.queues.finish(chunk)
        bench.clock.withLock { $0 = 5 }
        let next = bench.queues.nextChunk()!
        #expect(next.isPostponed && next.submissions.map { Self.isRefused($0) } == [true])
        bench.queues.finish(next)
        // Both, in their order, and counted once.
        #expect(bench.wakes == "w")
        guard case .commit(let batch, _) = bench.queues.nextForWriter() else {
            Issue.record("the writer has nothing to commit")
            return
        }
        #expect(batch.map { Self.isRefused($0) } == [true, true] && bench.queues.takeLateCount() == 2)
    }

    private static func isRefused(_ submission: Submission) -> Bool {
        submission.operations.allSatisfy { operation in
            if case .refused(.overloaded) = operation { true } else { false }
        }
    }

    @Test func theFourthIsBounded() {
        let bench = Bench({
            $0.operationsPerCommitWorthwhile = 5
            $0.verificationBatchMax = 5
            $0.verificationsPerThreadMin = 1
        })
        bench.add(signed: 400)
        _ = bench.wakes
        bench.queues.finish(bench.queues.nextChunk()!)
        #expect(bench.wakes.hasSuffix("w") && bench.batch() == 5)
    }

    @Test func anotherThreadHelpsOnlyWhereThereIsMuch() {
        let bench = Bench({ $0.verificationsPerThreadMin = 8 })
        bench.add(signed: 2)
        #expect(bench.wakes == "v")
        let chunk = bench.queues.nextChunk()!
        bench.add(signed: 7)
        #expect(bench.wakes == "")
        bench.add(signed: 1)
        #expect(bench.wakes == "v" && bench.wakes == "")
        #expect(bench.queues.nextChunk()?.submissions.count == 8)
        bench.queues.finish(chunk)
        #expect(bench.queues.nextChunk() == nil)
    }

    @Test func chunksLeaveInTheOrderInWhichTheyWereTaken() {
        let bench = Bench({
            $0.verificationBatchMax = 2
            $0.verificationsPerThreadMin = 1
        })
        bench.add(signed: 6)
        _ = bench.wakes
        _ = bench.wakes
        let chunks = [bench.queues.nextChunk()!, bench.queues.nextChunk()!, bench.queues.nextChunk()!]
        bench.queues.finish(chunks[2])
        bench.queues.finish(chunks[1])
        #expect(bench.wakes == "" && bench.queues.countInFirstStage(bench.lane) == 6)
        bench.queues.finish(chunks[0])
        #expect(bench.wakes == "w" && bench.queues.countInFirstStage(bench.lane) == 0 && bench.batch() == 6)
    }

    @Test func whatIsPostponedKeepsItsLaneWaitingAndNoOther() {
        let bench = Bench({ $0.verificationBatchMax = 10 })
        let other = Lane(outlet: .queue()) { _ in }
        bench.add(signed: 3)
        bench.add(plain: 1)
        bench.add(signed: 2, from: other)
        #expect(bench.wakes == "v")
        var chunk = bench.queues.nextChunk()!
        #expect(chunk.submissions.count == 6 && !chunk.isPostponed)
        // The second of the first lane.
        let place = chunk.submissions.indices.filter { chunk.submissions[$0].lane === bench.lane }[1]
        chunk.submissions[place].isPostponed = true
        bench.queues.finish(chunk)
        // It does not wait for more, though operations are left.
        #expect(bench.wakes == "w" && bench.batch() == 3 && bench.batch() == nil)
        #expect(bench.queues.countInFirstStage(bench.lane) == 3 && !bench.queues.isIdle)

        // While its certificates are verified another thread verifies what else comes, and the writer what is alone.
        let postponed = bench.queues.nextChunk()!
        #expect(postponed.isPostponed && postponed.submissions.count == 1)
        bench.add(signed: 1, from: other)
        #expect(bench.wakes == "w")
        guard case .verify(let lone) = bench.queues.nextForWriter() else {
            Issue.record("the writer has nothing to verify")
            return
        }
        bench.add(signed: 1, from: other)
        #expect(bench.wakes == "v")
        bench.queues.finish(lone)
        bench.queues.finish(bench.queues.nextChunk()!)
        #expect(bench.batch() == 2)
        bench.queues.finish(postponed)
        #expect(bench.batch() == 3 && bench.queues.nextChunk() == nil && bench.queues.nextChunk() == nil)
        #expect(bench.batch() == nil && bench.queues.isIdle)
    }

    @Test func certificatesHaveTheirTurnOnlyAfterSomeJWS() {
        let bench = Bench(
            {
                $0.verificationBatchMax = 1
                $0.verificationsPerThreadMin = 1
                $0.verificationsPerPostponedTurn = 3
                $0.doubtfulPerTurnMax = 1
            }, threads: 1)
        let strange = Lane(outlet: .queue()) { _ in }
        bench.add(signed: 5, from: strange)
        #expect(bench.wakes == "v")
        var turns = ""
        for _ in 0..<40 {
            guard var chunk = bench.queues.nextChunk() else { break }
            turns += chunk.isPostponed ? "p" : "-"
            if !chunk.isPostponed && chunk.submissions[0].lane === strange {
                chunk.submissions[0].isPostponed = true
            }
            bench.queues.finish(chunk)
            if turns.count == 5 { bench.add(signed: 6) }
        }
        #expect(turns == "---p---p---p--pp")
        #expect(bench.batch() == 11 && bench.batch() == nil && bench.queues.isIdle)
    }

    /// Where JWS come one by one a chunk has one, and is no measure of time.
    @Test(arguments: [1, 2, 3, 6]) func howManyJWSThatAreDoesNotDependOnTheSizeOfChunks(size: Int) {
        let bench = Bench(
            {
                $0.verificationBatchMax = size
                $0.verificationsPerThreadMin = 1
                $0.verificationsPerPostponedTurn = 6
                $0.doubtfulPerTurnMax = 1
            }, threads: 1)
        let strange = Lane(outlet: .queue()) { _ in }
        bench.add(signed: 3, from: strange)
        bench.add(signed: 40)
        #expect(bench.wakes == "v")
        var counts = [0]
        while let next = bench.queues.nextChunk(), counts.count < 4 {
            var chunk = next
            if chunk.isPostponed {
                counts.append(0)
            } else {
                counts[counts.count - 1] += chunk.submissions.count
                for place in chunk.submissions.indices where chunk.submissions[place].lane === strange {
                    chunk.submissions[place].isPostponed = true
                }
            }
            bench.queues.finish(chunk)
        }
        #expect(counts.prefix(3) == [6, 6, 6])
    }

    /// At a start nothing is proven, and all that came first is put aside.
    @Test func aTurnOfWhatWasPutAsideHasAsManyAsMayBeDoubtful() {
        let bench = Bench(
            {
                $0.verificationBatchMax = 20
                $0.doubtfulPerTurnMax = 8
            }, threads: 1)
        bench.add(signed: 20)
        #expect(bench.wakes == "v")
        guard var chunk = bench.queues.nextChunk() else {
            Issue.record("there is a chunk")
            return
        }
        for place in chunk.submissions.indices { chunk.submissions[place].isPostponed = true }
        bench.queues.finish(chunk)
        var sizes: [Int] = []
        while let next = bench.queues.nextChunk() {
            sizes.append(next.submissions.count)
            bench.queues.finish(next)
        }
        #expect(sizes == [8, 8, 4])
    }

    private static let forged = Result<Verified, VerificationFailure>.failure(
        VerificationFailure(.invalidSignature, "forged"))
    /// Truly signed.
    private static let good = Result<Verified, VerificationFailure>.failure(VerificationFailure(.wrongApp, "another's"))

    @Test func aLaneOfWhichMostIsForgedIsDoubtedAndOneOfWhichHalfIsGoodIsNot() {
        let (limits, doubt) = (EngineLimits(), LaneDoubt())
        func note(forged: Int = 0, good: Int = 0) {
            var verdicts = Submission.Verdicts()
            for _ in 0..<forged { verdicts.note(Self.forged) }
            for _ in 0..<good { verdicts.note(Self.good) }
            doubt.note(verdicts, limits)
        }
        for _ in 0..<1_000 {
            note(forged: 1)
            note(good: 1)
            #expect(!doubt.isDoubted(limits))
        }
        note(forged: limits.forgedPerDoubtMin - 1)
        #expect(!doubt.isDoubted(limits))
        note(forged: 1)
        #expect(doubt.isDoubted(limits))
        // However many were forged, some good ones suffice.
        note(forged: 100_000)
        note(good: limits.forgedPerDoubtMin)
        #expect(doubt.isDoubted(limits))
        note(good: 1)
        #expect(!doubt.isDoubted(limits))
    }

    @Test(arguments: [VerificationFailure.Reason.malformed, .unsupportedAlgorithm, .untrustedRoot, .certificateExpired])
    func whatIsRefusedWithTheFirstLookSaysNothingOfALane(reason: VerificationFailure.Reason) {
        var verdicts = Submission.Verdicts()
        for _ in 0..<100 { verdicts.note(.failure(VerificationFailure(reason, ""))) }
        #expect(verdicts.forged == 0 && verdicts.good == 0)
    }

    /// A chunk gives its good ones first and postpones most that are forged: that is no matter.
    @Test func verdictsCountInTheOrderInWhichJWSCame() {
        let bench = Bench(threads: 1)
        bench.add(signed: 64)
        #expect(bench.wakes == "v")
        while var chunk = bench.queues.nextChunk() {
            for index in chunk.submissions.indices {
                let isGood = chunk.submissions[index].place.isMultiple(of: 2)
                if chunk.isPostponed || isGood {
                    chunk.submissions[index].settle { isGood ? Self.good : Self.forged }
                } else {
                    chunk.submissions[index].isPostponed = true
                }
            }
            bench.queues.finish(chunk)
            #expect(!bench.lane.doubt.isDoubted(EngineLimits()))
        }
        #expect(bench.batch() == 64 && bench.batch() == nil && bench.queues.isIdle)
    }

    /// The lane's first JWS is verified with those of others, and what it sends behind it is not.
    @Test func whatADoubtedLanePipelinesIsPutAsideUntilItIsDoubtedNoMore() {
        let bench = Bench(threads: 3)
        let storm = Lane(outlet: .queue()) { _ in }
        var verdicts = Submission.Verdicts()
        verdicts.forged = EngineLimits().forgedPerDoubtMin
        storm.doubt.note(verdicts, EngineLimits())
        bench.add(signed: 20, plain: 1, from: storm)
        #expect(bench.queues.countInFirstStage(storm) == 21 && bench.wakes == "w")
        guard case .verify(var first) = bench.queues.nextForWriter() else {
            Issue.record("the writer has nothing to verify")
            return
        }
        #expect(bench.wakes == "v")
        let postponed = bench.queues.nextChunk()!
        #expect(first.submissions.map(\.place) == [0] && !first.isPostponed)
        #expect(postponed.isPostponed && postponed.submissions.count == EngineLimits().doubtfulPerTurnMax)
        // What others send goes to other threads, which do not take of it.
        bench.add(signed: 2)
        #expect(bench.wakes == "v")
        let chunk = bench.queues.nextChunk()!
        #expect(!chunk.isPostponed && chunk.submissions.allSatisfy { $0.lane === bench.lane })
        bench.queues.finish(chunk)
        #expect(bench.queues.nextChunk() == nil)
        // A good one: the rest is as that of others.
        first.submissions[0].settle { Self.good }
        bench.queues.finish(first)
        #expect(!storm.doubt.isDoubted(EngineLimits()) && bench.wakes == "v")
        var rest = 0
        while let next = bench.queues.nextChunk() {
            #expect(!next.isPostponed)
            rest += next.submissions.count
            bench.queues.finish(next)
        }
        #expect(rest == 11)
        bench.queues.finish(postponed)
        // Its order is kept: what has no JWS stands behind those that have.
        #expect(bench.queues.countInFirstStage(storm) == 0 && bench.queues.waitingCount == 23)
        #expect(bench.batch() == 23 && bench.batch() == nil && bench.queues.waitingCount == 0)
        #expect(bench.queues.nextChunk() == nil && bench.queues.isIdle)
    }

    @Test func whatIsPostponedOfALaneThatIsGoneIsDropped() {
        let bench = Bench()
        bench.add(signed: 3)
        #expect(bench.wakes == "v")
        var chunk = bench.queues.nextChunk()!
        chunk.submissions[0].isPostponed = true
        bench.queues.finish(chunk)
        bench.queues.drop(bench.lane)
        #expect(bench.queues.nextChunk() == nil && bench.queues.isIdle)
    }

    @Test func whatIsToBePostponedOfALaneThatWentMeanwhileIsDropped() {
        let bench = Bench()
        bench.add(signed: 3)
        #expect(bench.wakes == "v")
        var chunk = bench.queues.nextChunk()!
        bench.queues.drop(bench.lane)
        chunk.submissions[0].isPostponed = true
        bench.queues.finish(chunk)
        // The two behind it, too, though they are verified: nobody's requests are carried out without those before.
        #expect(bench.queues.nextChunk() == nil && bench.batch() == nil && bench.queues.isIdle)
    }

    @Test func batchesAreSmallWhileSeveralTokensAsk() {
        let bench = Bench({ $0.sharedCommitNanoseconds = 70 * $0.operationNanosecondsMin })
        bench.add(plain: 1_000, deadline: .max - 1)
        #expect(bench.wakes == "w" && bench.batch() == 500)
        let (lane, tenant) = (Lane(outlet: .queue()) { _ in }, Tenant())
        let one = Submission(
            lane: lane, tenant: tenant, operations: [.command(.expire)], deadline: .max - 1)
        bench.queues.add([one])
        #expect(bench.batch() == 70)
        bench.clock.withLock { $0 += EngineLimits().sharedMilliseconds * 1_000_000 }
        #expect(bench.batch() == 215)
        // What the ledger asks for by itself makes no difference.
        bench.queues.add([Submission(lane: lane, tenant: Tenant(), operations: [.command(.expire)])])
        #expect(bench.batch() == 108)
    }

    @Test func batchesThatSeveralTokensShareAreAsLargeAsTheirOperationsAreDear() {
        let bench = Bench { $0.sharedCommitNanoseconds = 1_000_000 }
        bench.add(plain: 999, deadline: .max - 1)
        let lane = Lane(outlet: .queue()) { _ in }
        bench.queues.add([
            Submission(lane: lane, tenant: Tenant(), operations: [.command(.expire)], deadline: .max - 1)
        ])
        #expect(bench.wakes == "w")
        var batches: [Int] = []
        // Microseconds of a core that each of their operations takes.
        for each in [40, 400] + Array(repeating: 8, count: 20) as [UInt64] {
            guard case .commit(let batch, _) = bench.queues.nextForWriter() else { break }
            let count = batch.reduce(0) { $0 + $1.operations.count }
            batches.append(count)
            bench.delivered(operations: count, core: UInt64(count) * each * 1_000)
            bench.add(plain: count, deadline: .max - 1)
        }
        // A millisecond of those at 40 µs; no fewer than a turn of those at 400; and nearly as many as before, once
        // what was dear is some commits ago.
        #expect(batches[..<3] == [125, 25, 16] && batches[21] > 100, "\(batches)")
    }

    @Test func whatIsLeftOfABatchThatWasCutGoesBeforeAllOthers() {
        let bench = Bench()
        let other = Lane(outlet: .queue()) { _ in }
        bench.add(plain: 3)
        #expect(bench.wakes == "w")
        guard case .commit(let batch, _) = bench.queues.nextForWriter() else {
            Issue.record("nothing is committed")
            return
        }
        bench.add(plain: 1, from: other)
        bench.queues.putBack(Array(batch.dropFirst()))
        #expect(!bench.queues.isIdle)
        guard case .commit(let rest, let isLast) = bench.queues.nextForWriter() else {
            Issue.record("nothing is committed")
            return
        }
        #expect(rest.count == 2 && rest.allSatisfy { $0.lane === bench.lane } && !isLast)
        guard case .commit(let last, _) = bench.queues.nextForWriter() else {
            Issue.record("nothing is committed")
            return
        }
        #expect(last.count == 1 && last[0].lane === other && bench.queues.nextForWriter() == nil)
        for _ in 0..<3 { bench.delivered() }
        #expect(bench.queues.isIdle)
    }

    @Test func whatHasNoJWSPassesOtherLanesAndNotItsOwn() {
        let bench = Bench()
        let other = Lane(outlet: .queue()) { _ in }
        bench.add(signed: 1)
        bench.add(plain: 1)
        bench.add(plain: 1, from: other)
        #expect(bench.wakes == "vw")
        guard case .commit(let batch, isLast: true) = bench.queues.nextForWriter() else {
            Issue.record("the writer has nothing to commit")
            return
        }
        #expect(batch.map { $0.lane === other } == [true])
        let chunk = bench.queues.nextChunk()!
        #expect(chunk.submissions.count == 2)
        bench.queues.finish(chunk)
        #expect(bench.batch() == 2)
    }

    @Test func whatWaitsOfALaneThatIsGoneIsDropped() {
        let bench = Bench({ $0.verificationBatchMax = 10 })
        let other = Lane(outlet: .queue()) { _ in }
        bench.add(signed: 400)
        bench.add(plain: 5)
        bench.add(signed: 3, from: other)
        #expect(bench.wakes == "v" && bench.wakes == "v")
        let chunk = bench.queues.nextChunk()!
        bench.queues.drop(bench.lane)
        // What a thread has is waited for, and dropped then.
        #expect(bench.queues.countInFirstStage(bench.lane) == chunk.submissions.filter { $0.lane === bench.lane }.count)
        bench.queues.finish(chunk)
        var verified = chunk.submissions.count { $0.lane === other }
        while let next = bench.queues.nextChunk() {
            #expect(next.submissions.allSatisfy { $0.lane === other })
            verified += next.submissions.count
            bench.queues.finish(next)
        }
        #expect(bench.queues.nextChunk() == nil && !bench.queues.isIdle)
        #expect(bench.wakes == "w")
        var committed = 0
        while let count = bench.batch() { committed += count }
        #expect(committed == 3 && verified == 3 && bench.queues.isIdle)

        // Nor is anything left of what was verified.
        bench.add(plain: 100)
        bench.queues.drop(bench.lane)
        #expect(bench.queues.isIdle && bench.wakes == "")
        bench.add(plain: 1)
        #expect(bench.wakes == "w" && bench.batch() == 1 && bench.batch() == nil && bench.queues.isIdle)
    }
}
