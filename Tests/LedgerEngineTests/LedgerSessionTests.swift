import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// The order within a session: what stands behind a read waits for it, and nothing else does.
@Suite(.serialized) struct LedgerSessionTests {
    private final class Bench: Sendable {
        let store = FaultyStore()
        let ledger: RunningLedger
        private let memory: ReplyMemory?
        private let outlet = Outlet.queue()
        private let delivered = Monitor<[[String]]>([])
        private let sessions = Monitor<[LedgerSession]>([])

        private let told = Monitor<[LedgerEvent]>([])

        init(
            readerThreads: Int = 2, readMilliseconds: UInt64 = 600_000, waitMillisecondsMax: UInt64 = 600_000,
            memory: ReplyMemory? = nil
        ) throws {
            self.memory = memory
            var limits = EngineLimits()
            limits.waitMillisecondsMax = waitMillisecondsMax
            limits.readMilliseconds = readMilliseconds
            limits.readerThreads = readerThreads
            limits.expirySweepMilliseconds = 3_600_000
            ledger = try RunningLedger(
                store: store, verifier: try SandboxApp().verifier, limits: limits,
                now: { SandboxApp.date + 60_000 }, report: { [told] event in told.withLock { $0.append(event) } })
            ledger.start()
        }

        /// A session that notes its answers under its number.
        func session(
            of tenant: Tenant = Tenant(), outlet: Outlet? = nil
        ) -> (number: Int, session: LedgerSession) {
            let number = delivered.withLock { delivered in
                delivered.append([])
                return delivered.count - 1
            }
            let session = ledger.session(of: tenant, memory: memory, outlet: outlet ?? self.outlet) {
                [delivered] answers in
                delivered.withLock { $0[number] += answers.map(Bench.name) }
            }
            sessions.withLock { $0.append(session) }
            session.allowRead(.read, taken: 0)
            return (number, session)
        }

        /// Gives permission as a client does that has taken all answers.
        func allow(_ permission: LedgerSession.ReadPermission, _ session: (number: Int, session: LedgerSession)) {
            let taken = answers(session.number).filter { !$0.hasPrefix("entry") }.count
            session.session.allowRead(permission, taken: taken)
        }

        func answers(_ number: Int) -> [String] { delivered.withLock { $0[number] } }
        var events: [LedgerEvent] { told.withLock { $0 } }

        private static func name(_ answer: Answer) -> String {
            switch answer {
            case .success(.grant(let receipt)): "entry \(receipt.entry)"
            case .success(.history(let page)): "history of \(page.entries.count)"
            case .success(.journal(let page)): "journal of \(page.entries.count)"
            case .success(.report(let page)): "report at \(page.asOf)"
            case .success(.refused(let refusal)): "refused \(refusal.reason)"
            case .success: "outcome"
            case .failure(let fault): "\(fault)"
            }
        }

        func stop() async throws {
            store.release()
            for session in sessions.withLock({ $0 }) { session.close() }
            try await ledger.stop()
        }
    }

    private static let a = AccountName("a")!
    private static let history = LedgerOperation.query(.history(HistoryQuery(account: a)))

    private static func journal(after: EntryID, wait: Int64 = 0) -> LedgerOperation {
        .query(.journal(JournalQuery(after: after, waitMilliseconds: wait)))
    }

    private static func grant(_ key: String) -> LedgerOperation {
        .command(
            .grant(
                Grant(key: RequestKey(key)!, account: a, currency: CurrencyCode("gems")!, amount: Amount(1)!)))
    }

    @Test func aReadSeesWhatWasSubmittedBeforeItAndNothingBehindIt() async throws {
        let bench = try Bench()
        let (number, session) = bench.session()
        session.submit([Self.grant("g1"), Self.history, Self.grant("g2"), Self.grant("g3")])
        session.submit([Self.history])
        session.submit([Self.grant("g4")])
        let isDone = try eventually {
            bench.allow(.read, (number, session))
            return bench.answers(number).count == 6
        }
        #expect(isDone)
        #expect(
            bench.answers(number) == ["entry 1", "history of 1", "entry 2", "entry 3", "history of 3", "entry 4"])
        try await bench.stop()
    }

    /// Nobody has to be loaded for it then, and nothing of them be readable.
    @Test func aHistoryPostsWhatHasExpiredOnlyWhereItCanBeMadeDurable() async throws {
        let bench = try Bench()
        let (number, session) = bench.session()
        session.submit([Self.history])
        #expect(try eventually { bench.answers(number).count == 1 })
        #expect(bench.store.expiring == 1)
        bench.allow(.read, (number, session))
        bench.store.setFault(StoreError("the test's disk is full"))
        session.submit([Self.history])
        #expect(try eventually { bench.answers(number).count == 2 })
        #expect(bench.store.expiring == 1)
        #expect(bench.answers(number) == ["history of 0", "history of 0"])
        try await bench.stop()
    }

    @Test func aReadThatIsRefusedBeforeItBeginsHoldsNothingUp() async throws {
        let bench = try Bench()
        let (number, session) = bench.session()
        let future = ReportRequest(kind: .trial, asOf: SandboxApp.date + 600_000, currency: nil, limit: 10)
        let early = ReportRequest(kind: .trial, asOf: -1, currency: nil, limit: 10)
        // What was bought before the ledger began may have come into it since.
        let bought = ReportRequest(kind: .sales, asOf: -1, dates: .effective, limit: 10)
        #expect(bought.isOfTimeBeforeLedger && !early.isOfTimeBeforeLedger)
        session.submit([.query(.report(future)), .query(.report(early)), Self.grant("g1")])
        #expect(try eventually { bench.answers(number).count == 3 })
        #expect(
            bench.answers(number) == [
                "futureTime(parameter: \"asOf\")", "timeBeforeLedger(parameter: \"asOf\", began: 0)", "entry 1",
            ])
        try await bench.stop()
    }

    @Test func eachReadNeedsAPermissionOfItsOwn() async throws {
        let bench = try Bench()
        let (number, session) = bench.session()
        session.allowRead(.wait, taken: 0)
        session.submit([Self.history, Self.history, Self.grant("g1"), Self.history, Self.history])
        pause(milliseconds: 30)
        #expect(bench.answers(number) == [] && bench.store.reads == 0)
        for count in 1...2 {
            // What was said before the last answer was taken is void.
            session.allowRead(.read, taken: count - 1)
            session.allowRead(.readNow, taken: count - 2)
            #expect(try eventually { bench.answers(number).count >= count })
            pause(milliseconds: 20)
            #expect(bench.store.reads == count)
        }
        #expect(try eventually { bench.answers(number) == ["history of 0", "history of 0", "entry 1"] })
        session.allowRead(.readNow, taken: 2)
        #expect(try eventually { bench.answers(number).count == 4 })
        pause(milliseconds: 20)
        #expect(bench.answers(number).count == 4 && bench.store.reads == 3)
        session.allowRead(.readNow, taken: 3)
        #expect(try eventually { bench.answers(number).count == 5 })
        try await bench.stop()
    }

    @Test func whoWaitsForTheJournalHoldsNoReaderAndNobodyElse() async throws {
        let bench = try Bench(readerThreads: 1)
        let (follower, following) = bench.session()
        let (other, session) = bench.session()
        following.submit([Self.journal(after: 0, wait: 3_600_000), Self.grant("behind")])
        session.submit([Self.history])
        #expect(try eventually { bench.answers(other) == ["history of 0"] })
        #expect(bench.answers(follower) == [])
        session.submit([Self.grant("g1")])
        #expect(try eventually { bench.answers(follower) == ["journal of 1", "entry 2"] })
        try await bench.stop()
    }

    @Test func aSessionWhoseWaitsAreEndedIsAnsweredAndWaitsNoMore() async throws {
        let bench = try Bench()
        let (number, session) = bench.session()
        session.submit([Self.journal(after: 0, wait: 3_600_000), Self.journal(after: 0, wait: 3_600_000)])
        let (other, follower) = bench.session()
        follower.submit([Self.journal(after: 0, wait: 3_600_000)])
        session.endWaits()
        let isDone = try eventually {
            bench.allow(.read, (number, session))
            return bench.answers(number).count == 2
        }
        #expect(isDone)
        #expect(bench.answers(number) == ["journal of 0", "journal of 0"])
        #expect(bench.answers(other) == [], "another session goes on waiting")
        session.submit([Self.grant("g")])
        #expect(try eventually { bench.answers(other) == ["journal of 1"] })
        try await bench.stop()
    }

    @Test func aSessionWhoseWaitsAreEndedForNowWaitsForWhatIsSubmittedLater() async throws {
        let bench = try Bench()
        let (number, session) = bench.session()
        session.submit([Self.journal(after: 0, wait: 3_600_000), Self.journal(after: 0, wait: 3_600_000)])
        session.endWaits(forGood: false)
        let isDone = try eventually {
            bench.allow(.read, (number, session))
            return bench.answers(number).count == 2
        }
        #expect(isDone, "what stood behind does not wait either")
        bench.allow(.read, (number, session))
        session.submit([Self.journal(after: 0, wait: 3_600_000)])
        pause(milliseconds: 20)
        bench.allow(.read, (number, session))
        #expect(bench.answers(number).count == 2)
        let (_, other) = bench.session()
        other.submit([Self.grant("g")])
        #expect(try eventually { bench.answers(number).last == "journal of 1" })
        try await bench.stop()
    }

    @Test func aSessionThatIsClosedReadsNothingMoreAndLeavesNoWaitBehind() async throws {
        let bench = try Bench()
        let (waiting, first) = bench.session()
        let (held, second) = bench.session()
        first.submit([Self.journal(after: 0, wait: 3_600_000), Self.grant("never1")])
        second.allowRead(.wait, taken: 0)
        second.submit([Self.history, Self.grant("never2")])
        pause(milliseconds: 20)
        first.close()
        second.close()
        first.allowRead(.read, taken: 0)
        second.allowRead(.read, taken: 0)
        first.submit([Self.grant("never3")])
        let (number, session) = bench.session()
        session.submit([Self.grant("g")])
        #expect(try eventually { bench.answers(number) == ["entry 1"] })
        pause(milliseconds: 20)
        #expect(bench.answers(waiting) == [] && bench.answers(held) == [])
        #expect(bench.store.base.rows.entries.count == 1 && bench.store.reads == 0)
        try await bench.stop()
    }

    @Test func aReadWhoseSessionIsClosedBeforeItsTurnIsNotCarriedOut() async throws {
        let bench = try Bench(readerThreads: 1)
        let (slow, first) = bench.session()
        bench.store.holdReads()
        first.submit([Self.history])
        #expect(try eventually { bench.store.reads == 1 })
        let closed = (0..<20).map { _ in bench.session().session }
        for session in closed { session.submit([Self.history]) }
        let (number, session) = bench.session()
        session.submit([Self.history])
        pause(milliseconds: 30)
        for session in closed { session.close() }
        bench.store.releaseReads()
        #expect(try eventually { bench.answers(number) == ["history of 0"] })
        #expect(bench.answers(slow) == ["history of 0"] && bench.store.reads == 2)
        try await bench.stop()
    }

    // MARK: Room for pages

    /// Takes all that pages may have.
    private static func fill(_ memory: ReplyMemory) throws -> ReplyMemory.Page {
        guard case .taken(let page) = memory.takePage(memory.bytesMax, of: Tenant(), grant: nil) else {
            throw StoreError("something is unread already")
        }
        return page
    }

    @Test func aReadWaitsForRoomUntilThereIsSome() async throws {
        let memory = ReplyMemory(bytesMax: 1_000)
        let bench = try Bench(memory: memory)
        var held = Optional(try Self.fill(memory))
        #expect(held != nil)
        let (number, session) = bench.session()
        session.submit([Self.history, Self.grant("g")])
        #expect(try eventually { memory.isShort })
        #expect(bench.answers(number) == [] && bench.store.reads == 0)
        held = nil
        #expect(try eventually { bench.answers(number) == ["history of 0", "entry 1"] })
        #expect(try eventually { memory.sums == (0, 0) })
        try await bench.stop()
    }

    @Test func aReadThatFindsNoRoomInTimeIsAnsweredAndWhatIsBehindItGoesOn() async throws {
        let memory = ReplyMemory(bytesMax: 1_000)
        let bench = try Bench(readMilliseconds: 300, memory: memory)
        var held = Optional(try Self.fill(memory))
        #expect(held != nil)
        let (number, session) = bench.session()
        session.submit([Self.history, Self.grant("g")])
        #expect(try eventually { bench.answers(number) == ["overloaded", "entry 1"] })
        #expect(!memory.isShort && bench.store.reads == 0)
        held = nil
        let (next, other) = bench.session()
        other.submit([Self.history])
        #expect(try eventually { bench.answers(next) == ["history of 1"] })
        try await bench.stop()
    }

    @Test func aReadWhoseTimeIsOverBeforeItsTurnIsAnsweredAndNotCarriedOut() throws {
        let store = FaultyStore()
        let readers = try Readers(store: store, signer: nil, limits: EngineLimits(), report: { _ in })
        let answers = Monitor<[Answer]>([])
        let query = Query.history(HistoryQuery(account: Self.a))
        for deadline in [monotonicNanoseconds(), readers.deadline] {
            readers.read(query, of: Tenant(), until: deadline, isWanted: { true }) { answer in
                answers.withLock { $0.append(answer) }
            }
        }
        readers.stop()
        let overloaded = answers.withLock { answers in
            answers.filter { if case .failure(.overloaded) = $0 { true } else { false } }.count
        }
        #expect(overloaded >= 1 && store.reads == answers.withLock { $0.count } - overloaded)
    }

    @Test func whoIsClosedWaitsForNoRoomAndTheNextOneHasIt() async throws {
        let memory = ReplyMemory(bytesMax: 1_000)
        let bench = try Bench(memory: memory)
        var held = Optional(try Self.fill(memory))
        #expect(held != nil)
        let tenant = Tenant()
        let closed = (0..<10).map { _ in bench.session(of: tenant).session }
        for session in closed { session.submit([Self.history]) }
        #expect(try eventually { memory.waits == 10 })
        let (number, session) = bench.session(of: tenant)
        session.submit([Self.history])
        #expect(try eventually { memory.waits == 11 })
        for session in closed { session.close() }
        #expect(memory.waits == 1)
        held = nil
        #expect(try eventually { bench.answers(number) == ["history of 0"] })
        #expect(!memory.isShort && bench.store.reads == 1)
        try await bench.stop()
    }

    /// The page was given to a session, and its loop has not told it yet.
    @Test func aPageOnItsWayToASessionThatIsClosedGoesToTheNext() async throws {
        let memory = ReplyMemory(bytesMax: 1_000)
        let bench = try Bench(memory: memory)
        var held = Optional(try Self.fill(memory))
        #expect(held != nil)
        let deliveries = Monitor<[@Sendable () -> Void]>([])
        let busy = Outlet { delivery in
            deliveries.withLock { $0.append(delivery) }
        }
        let tenant = Tenant()
        let first = bench.session(of: tenant, outlet: busy)
        first.session.submit([Self.history])
        #expect(try eventually { memory.waits == 1 })
        let second = bench.session(of: tenant)
        second.session.submit([Self.history])
        #expect(try eventually { memory.waits == 2 })
        held = nil
        #expect(memory.waits == 1 && memory.isShort)
        first.session.close()
        #expect(bench.answers(second.number) == [])
        let waiting = deliveries.withLock { deliveries in
            defer { deliveries = [] }
            return deliveries
        }
        for delivery in waiting { delivery() }
        // What was carried out lets go of what it had.
        _ = consume waiting
        #expect(try eventually { bench.answers(second.number) == ["history of 0"] })
        #expect(!memory.isShort && bench.store.reads == 1)
        try await bench.stop()
    }

    @Test func aStopEndsWhatWaitsForRoom() async throws {
        let memory = ReplyMemory(bytesMax: 1_000)
        let bench = try Bench(memory: memory)
        let held = try Self.fill(memory)
        let (number, session) = bench.session()
        session.submit([Self.history])
        #expect(try eventually { memory.isShort })
        try await bench.ledger.stop()
        #expect(try eventually { bench.answers(number) == ["overloaded"] })
        #expect(!memory.isShort)
        withExtendedLifetime(held) {}
    }

    // MARK: Reads that end

    private static let report = LedgerOperation.query(.report(ReportRequest(kind: .trial)))

    @Test func aReadThatTakesTooLongIsAnsweredAndThenOthersAre() async throws {
        let bench = try Bench(readerThreads: 1, readMilliseconds: 300)
        bench.store.holdReads()
        let (number, session) = bench.session()
        session.submit([Self.history, Self.grant("g")])
        #expect(try eventually { bench.answers(number) == ["overloaded", "entry 1"] })
        bench.store.releaseReads()
        let (next, other) = bench.session()
        other.submit([Self.history])
        #expect(try eventually { bench.answers(next) == ["history of 1"] })
        try await bench.stop()
    }

    @Test func aReadWhoseClientHasGoneEnds() async throws {
        let bench = try Bench(readerThreads: 1)
        bench.store.holdReads()
        let (number, session) = bench.session()
        session.submit([Self.history])
        #expect(try eventually { bench.store.reads == 1 })
        let (next, other) = bench.session()
        other.submit([Self.journal(after: 0)])
        session.close()
        #expect(try eventually { bench.answers(next) == ["journal of 0"] })
        #expect(bench.answers(number) == [])
        try await bench.stop()
    }

    @Test func reportsKeepNobodyElseFromReading() async throws {
        let bench = try Bench(readerThreads: 1)
        bench.store.holdReports()
        for _ in 0..<5 { bench.session().session.submit([Self.report]) }
        #expect(try eventually { bench.store.reads == 1 })
        let (number, session) = bench.session()
        session.submit([Self.history, Self.journal(after: 0)])
        session.allowRead(.read, taken: 0)
        #expect(try eventually { bench.answers(number) == ["history of 0"] })
        try await bench.stop()
    }

    @Test func aTokenNeverHasAllThreadsThatRead() async throws {
        let bench = try Bench(readerThreads: 3)
        let (many, one) = (Tenant(), Tenant())
        bench.store.holdReads()
        let sessions = (0..<5).map { _ in bench.session(of: many) }
        for session in sessions { session.session.submit([Self.history]) }
        #expect(try eventually { bench.store.reads == 2 })
        let (number, session) = bench.session(of: one)
        session.submit([Self.journal(after: 0)])
        #expect(try eventually { bench.answers(number) == ["journal of 0"] })
        #expect(bench.store.reads == 3)
        bench.store.releaseReads()
        // What could not be read meanwhile is not forgotten.
        #expect(try eventually { sessions.allSatisfy { bench.answers($0.number) == ["history of 0"] } })
        try await bench.stop()
    }

    @Test func aStopEndsWhatIsRead() async throws {
        let bench = try Bench()
        bench.store.holdReads()
        bench.store.holdReports()
        let (number, session) = bench.session()
        session.submit([Self.history])
        let (other, reporting) = bench.session()
        reporting.submit([Self.report])
        #expect(try eventually { bench.store.reads == 2 })
        try await bench.ledger.stop()
        #expect(try eventually { bench.answers(number) == ["overloaded"] && bench.answers(other) == ["overloaded"] })
    }

    /// Many sessions with reads and writes in a random mixture: each sees its own in its order.
    @Test func everySessionsAnswersComeInItsOrder() async throws {
        let bench = try Bench()
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        var expected: [[Bool]] = []
        var sessions: [(number: Int, session: LedgerSession)] = []
        let tenants = (1...3).map { Tenant(share: $0) }
        for number in 0..<8 {
            sessions.append(bench.session(of: tenants[number % 3]))
            expected.append([])
        }
        for turn in 0..<400 {
            let place = Int.random(in: 0..<sessions.count, using: &random)
            var operations: [LedgerOperation] = []
            for count in 0..<Int.random(in: 1...90, using: &random) {
                let isRead = random.chance(4)
                operations.append(isRead ? Self.journal(after: 0) : Self.grant("k\(turn)-\(count)"))
                expected[place].append(isRead)
            }
            sessions[place].session.submit(
                operations, as: random.chance(10) ? tenants.randomElement(using: &random) : nil)
        }
        let isDone = try eventually {
            for session in sessions { bench.allow(.read, session) }
            return sessions.allSatisfy { bench.answers($0.number).count == expected[$0.number].count }
        }
        #expect(isDone, "seed \(seed)")
        for (number, _) in sessions {
            let answers = bench.answers(number)
            #expect(answers.map { $0.hasPrefix("journal") } == expected[number], "seed \(seed)")
            let entries = answers.compactMap { $0.hasPrefix("entry ") ? Int($0.dropFirst(6)) : nil }
            #expect(entries == entries.sorted(), "seed \(seed)")
        }
        try await bench.stop()
    }

    @Test func whatIsTooLateIsAnsweredSoInItsOrderAndChangesNothing() async throws {
        let bench = try Bench(waitMillisecondsMax: 0)
        let (number, session) = bench.session()
        session.submit([Self.grant("a"), Self.journal(after: 0), Self.grant("b")])
        #expect(try eventually { bench.answers(number).count == 3 })
        #expect(bench.answers(number) == ["overloaded", "overloaded", "overloaded"])
        // What an operator asks for is not too late.
        session.submit([.promote])
        #expect(try eventually { bench.answers(number).count == 4 })
        #expect(bench.answers(number).last != "overloaded")
        let late = bench.events.contains { event in
            if case .cameTooLate(requests: 1...3) = event { true } else { false }
        }
        #expect(late)
        try await bench.stop()
    }

    @Test func aCommitThatTakesLongIsToldWithItsParts() async throws {
        let bench = try Bench()
        let figures = bench.ledger.figures
        func batches() -> UInt64 { figures.batchOperations.reading.counts.reduce(0, +) }
        // The sweep of the start.
        #expect(try eventually { batches() == 1 })
        figures.slowCommits.set(milliseconds: 20)
        bench.store.hold()
        let (number, session) = bench.session()
        session.submit([Self.grant("a")])
        #expect(try eventually { batches() == 2 })
        let end = monotonicNanoseconds() + 40_000_000
        #expect(try eventually { monotonicNanoseconds() >= end })
        bench.store.release()
        #expect(try eventually { bench.answers(number) == ["entry 1"] })
        func slow() -> [SlowCommit] {
            bench.events.compactMap { event in
                if case .slowCommit(let slow) = event { slow } else { nil }
            }
        }
        #expect(try eventually { slow().count == 1 })
        let told = try #require(slow().first)
        #expect(told.requests == 1 && told.more == 0)
        // It was held before it was decided; a millisecond may be lost in each part.
        #expect(told.total >= 20 && told.deciding >= 20 && told.deciding + told.durable <= told.total)
        try await bench.stop()
    }

    @Test func aSessionIsOneStandbys() async throws {
        let bench = try Bench()
        let session = bench.session()
        for name in ["a", "b", "a"] {
            let query = BlocksQuery(
                standby: try #require(StandbyName(name)), after: 0, hash: Digest.zero.bytes, durable: 0)
            session.session.submit([.query(.blocks(query))])
        }
        let isDone = try eventually {
            bench.allow(.read, session)
            return bench.answers(session.number).count == 3
        }
        #expect(isDone)
        #expect(bench.answers(session.number) == ["outcome", "otherStandby(a)", "outcome"])
        try await bench.stop()
    }
}
