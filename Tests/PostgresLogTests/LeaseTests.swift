#if Postgres
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import PostgresLog

@Suite struct LeaseTests {
    private static func leader(renewals: Int64, lease: Int64 = 1000, node: String = "a") -> PostgresLeader {
        PostgresLeader(
            reign: 3, node: node, address: "a:7000", leaseMilliseconds: lease, renewals: renewals, backendPID: 7,
            backendStart: 8)
    }

    private static let second: UInt64 = 1_000_000_000

    @Test func aChallengerWaitsAWholeLeaseFromItsFirstLook() {
        var watch = LeaseWatch()
        #expect(
            watch.see(Self.leader(renewals: 5), isOwn: false, asked: 100 * Self.second, now: 100 * Self.second) == .runs
        )
        #expect(
            watch.see(Self.leader(renewals: 5), isOwn: false, asked: 101 * Self.second - 1, now: 101 * Self.second - 1)
                == .runs)
        #expect(
            watch.see(Self.leader(renewals: 5), isOwn: false, asked: 101 * Self.second, now: 101 * Self.second) == .over
        )
    }

    /// It stood still between the server's answer and its look at the clock: the leader may have renewed its lease
    /// since.
    @Test func aChallengerThatStoodStillDoesNotTakeTheLeadOfALeaderThatIsThere() {
        var watch = LeaseWatch()
        #expect(watch.see(Self.leader(renewals: 5), isOwn: false, asked: 0, now: 1) == .runs)
        #expect(
            watch.see(Self.leader(renewals: 5), isOwn: false, asked: Self.second / 2, now: 60 * Self.second) == .runs)
        #expect(watch.see(Self.leader(renewals: 5), isOwn: false, asked: Self.second, now: 61 * Self.second) == .runs)
        #expect(
            watch.see(Self.leader(renewals: 5), isOwn: false, asked: Self.second + 1, now: 62 * Self.second) == .over)
    }

    @Test func aRenewalIsRespected() {
        var watch = LeaseWatch()
        #expect(watch.see(Self.leader(renewals: 5), isOwn: false, asked: 0, now: 0) == .runs)
        #expect(
            watch.see(Self.leader(renewals: 6), isOwn: false, asked: 2 * Self.second, now: 2 * Self.second) == .renewed)
    }

    @Test func nobodyWaitsForALeadThatWasGivenBackOrForItsOwn() {
        var watch = LeaseWatch()
        #expect(watch.see(Self.leader(renewals: 5, lease: 0), isOwn: false, asked: 0, now: 0) == .over)
        #expect(watch.see(Self.leader(renewals: 5), isOwn: true, asked: 0, now: 0) == .over)
    }

    @Test func aLeaderCountsItsLeaseFromBeforeItAskedAndOnLessThanAllOfIt() {
        var lease = Lease(milliseconds: 1000, begin: 10 * Self.second)
        #expect(lease.end == 10 * Self.second + 900_000_000)
        #expect(!lease.isDue(at: 10 * Self.second + 249_000_000))
        #expect(lease.isDue(at: 10 * Self.second + 250_000_000))
        lease.renew(12 * Self.second)
        #expect(lease.end == 12 * Self.second + 900_000_000)
    }

    @Test func anotherNodeWaitsForALeaderThatIsThereAndLeadsOneLeaseAfterItIsGone() throws {
        let ledger = try TestLedger()
        let proxy = try FaultyProxy(of: ledger.server)
        defer { proxy.stop() }
        var random = SplitMix64(seed: 1)
        let a = try ledger.open(ledger.configuration(node: "a", folder: proxy.folder))
        let clock = TestClock()
        let b = try ledger.open(ledger.configuration(node: "b"), clock: clock)
        defer {
            a.close()
            b.close()
        }
        let first = try a.leadWithTestBlock(&random)
        let refused = try #require(logError { try b.settle() })
        #expect(refused.kind == .superseded && refused.description == "taking the lead: node a leads, at a:7000")
        #expect(try b.leader()?.address == "a:7000")

        // The leader's machine is cut off: nothing comes to the server any more, and nothing from it.
        proxy.hold()
        #expect(try b.standing().leader?.node == "a")
        clock.advance(milliseconds: 999)
        #expect(try b.standing().leader?.node == "a", "a whole lease was not waited for")
        // A renewal that was under way may have come since, which is waited for anew.
        while try b.standing().leader != nil { clock.advance(milliseconds: 1) }
        clock.go()
        // The challenger's clock was put on: by the former leader's own as much time has to pass.
        pause(milliseconds: 1000)
        let second = try b.leadWithTestBlock(&random)
        #expect(logError { try b.confirmLead() } == nil)
        let late = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 0, &random)
        let outcome = Mutex<LogError?>(nil)
        let reads = Mutex<LogError?>(nil)
        let isDone = Mutex(false)
        inThread {
            reads.withLock { $0 = logError { try a.confirmLead() } }
            outcome.withLock { $0 = logError { try a.append(late) } }
            isDone.withLock { $0 = true }
        }
        proxy.release()
        while !isDone.withLock({ $0 }) { pause(milliseconds: 1) }
        #expect(outcome.withLock { $0 } != nil, "a former leader's block was appended")
        #expect(reads.withLock { $0 } != nil, "a former leader says that it leads")
        #expect(try b.readAll() == [first, second])
        #expect(logError { try a.settle() }?.kind == .superseded)
        #expect(try a.readAll() == [first, second], "it follows, and reads what the other one appends")
        #expect(a.head == second.head)
    }

    /// The statement that renews the lease waits for a server that does not answer, and has the session.
    @Test func whoCannotRenewItsLeaseSaysSoBeforeTheServerAnswers() throws {
        let ledger = try TestLedger()
        let proxy = try FaultyProxy(of: ledger.server)
        defer { proxy.stop() }
        var random = SplitMix64(seed: 8)
        var configuration = ledger.configuration(folder: proxy.folder)
        configuration.leaseMilliseconds = 2000
        configuration.answerMilliseconds = 60_000
        let log = try ledger.open(configuration)
        defer { log.close() }
        let first = try log.leadWithTestBlock(&random)
        proxy.hold()
        func firstRefusal() -> LogError {
            while true {
                if let error = logError({ try log.confirmLead() }) { return error }
                pause(milliseconds: 1)
            }
        }
        let words = "the lead is not confirmed: the lease is over, and its renewal is not answered"
        #expect(firstRefusal() == LogError(.unknown, words))
        #expect(logError { _ = try log.standing() }?.kind == .unknown)
        #expect(
            firstRefusal() == LogError(.unknown, words), "who asked how the log stands waited for the renewal's end")
        proxy.release()
        let second = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [first, second])
    }

    @Test func anIdleLeaderRenewsItsLease() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 2)
        let a = try ledger.open(ledger.configuration(node: "a"))
        let b = try ledger.open(ledger.configuration(node: "b"))
        defer {
            a.close()
            b.close()
        }
        let first = try a.leadWithTestBlock(&random)
        // Each takes a quarter of the lease at least: two leases together.
        let session = try ledger.session()
        func renewals() throws -> Int { try Int(session.run("SELECT renewals FROM leader")[0][0]) ?? 0 }
        for _ in 0..<1_000 where try renewals() < 9 { pause(milliseconds: 10) }
        #expect(try renewals() >= 9)
        #expect(logError { try b.settle() }?.kind == .superseded)
        #expect(logError { try a.confirmLead() } == nil)
        let next = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 0, &random)
        try a.append(next)
        #expect(try b.readAll() == [first, next])
    }

    /// Somebody wrote into the leader's row: nobody would find that leader, as long as it leads.
    @Test(arguments: [true, false]) func aRenewalSaysAgainWhoLeadsAndWhere(whenAppending: Bool) throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 11)
        var configuration = ledger.configuration(node: "a")
        // By itself it renews it after 15 s, by a clock that stands.
        if whenAppending { configuration.leaseMilliseconds = 60_000 }
        let clock = TestClock()
        let a = try ledger.open(configuration, clock: whenAppending ? clock : nil)
        defer { a.close() }
        let first = try a.leadWithTestBlock(&random)
        let session = try ledger.session()
        func row() throws -> [[String]] { try session.run("SELECT node, address, weight FROM leader") }
        let own = try row()
        #expect(own == [["a", "a:7000", "1"]])
        try session.run("UPDATE leader SET node = 'x', address = 'x:1', weight = 0")
        if whenAppending {
            clock.advance(milliseconds: 20_000)
            try a.append(TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 0, &random))
        } else {
            for _ in 0..<1_000 where try row() != own { pause(milliseconds: 10) }
        }
        #expect(try row() == own)
    }

    @Test func aLeadThatIsGivenBackIsTakenAtOnce() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 3)
        let a = try ledger.open(ledger.configuration(node: "a"))
        // By its clock no lease is ever over.
        let b = try ledger.open(ledger.configuration(node: "b"), clock: TestClock())
        defer { b.close() }
        let first = try a.leadWithTestBlock(&random)
        #expect(try b.standing().leader?.node == "a")
        a.close()
        let second = try b.leadWithTestBlock(&random)
        #expect(try b.readAll() == [first, second])
        #expect(second.term == 2)
    }

    /// It took the lead, and cannot append: its disk is full, for example.
    @Test func whoCannotAppendGivesTheLeadBackAllTheSame() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 7)
        let a = try ledger.open(ledger.configuration(node: "a"))
        let b = try ledger.open(ledger.configuration(node: "b"))
        defer {
            a.close()
            b.close()
        }
        let first = try a.leadWithTestBlock(&random)
        let session = try ledger.session()
        try session.run("ALTER TABLE block ADD CONSTRAINT full_disk CHECK (id < 2)")
        let next = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 0, &random)
        #expect(logError { try a.append(next) }?.kind == .notAppended)
        #expect(try session.run("SELECT lease_ms > 0 FROM leader") == [["t"]])
        a.giveBack()
        #expect(try session.run("SELECT lease_ms FROM leader") == [["0"]])
        #expect(try b.standing().leader == nil)
        try session.run("ALTER TABLE block DROP CONSTRAINT full_disk")
        let second = try b.leadWithTestBlock(&random)
        #expect(try b.readAll() == [first, second])
    }

    /// A node is started anew elsewhere, while the one that it replaces is cut off and answers reads still.
    @Test func theLeaseOfAnotherProcessOfTheSameNameIsWaitedFor() throws {
        let ledger = try TestLedger()
        let proxy = try FaultyProxy(of: ledger.server)
        defer { proxy.stop() }
        var random = SplitMix64(seed: 5)
        let old = try ledger.open(ledger.configuration(folder: proxy.folder))
        let new = try ledger.open()
        defer {
            old.close()
            new.close()
        }
        let first = try old.leadWithTestBlock(&random)
        proxy.hold()
        // It says that it leads as long as its lease runs.
        let isTaken = Mutex(false)
        let isAnswered = Mutex(false)
        let isOver = Mutex(false)
        let isDone = Mutex(false)
        inThread {
            while !isOver.withLock({ $0 }) {
                let wasTaken = isTaken.withLock { $0 }
                let isConfirmed = logError { try old.confirmLead() } == nil
                if isConfirmed, wasTaken { isAnswered.withLock { $0 = true } }
                pause(milliseconds: 1)
            }
            isDone.withLock { $0 = true }
        }
        #expect(try new.standing().leader?.node == "a")
        let second = try leadPatiently(new, &random)
        isTaken.withLock { $0 = true }
        proxy.release()
        #expect(logError { try old.confirmLead() } != nil)
        isOver.withLock { $0 = true }
        while !isDone.withLock({ $0 }) { pause(milliseconds: 1) }
        #expect(!isAnswered.withLock { $0 }, "two processes led at once")
        #expect(try new.readAll() == [first, second])
    }

    /// The database lost the commits of a leader's takings, or somebody lowered the term in its row: the next leader's
    /// term is then that of the former one, or is below it.
    @Test(arguments: [1, 2])
    func aFormerLeaderFollowsOneWhoseTermIsNoHigher(takings: Int) throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 9)
        let a = try ledger.open(ledger.configuration(node: "a"))
        let b = try ledger.open(ledger.configuration(node: "b"))
        defer {
            a.close()
            b.close()
        }
        for _ in 0..<takings {
            a.giveBack()
            try a.settle()
        }
        #expect(try a.standing().leader == nil, "it is its own")
        try ledger.session().run("UPDATE leader SET term = 0, node = '', address = '', lease_ms = 0, backend_pid = 0")
        let first = try b.leadWithTestBlock(&random)
        #expect(try b.leader()?.reign == 1)
        #expect(try a.standing().leader?.node == "b")
        #expect(logError { try a.confirmLead() } != nil, "it says that it leads still")
        #expect(logError { try a.settle() }?.kind == .superseded, "it did not wait for the lease of the other")
        let late = TestBlock.after(nil, term: 2, bodyBytes: 10, redactableBytes: 0, &random)
        #expect(logError { try a.append(late) } != nil)
        #expect(try a.readAll() == [first] && b.readAll() == [first])
    }

    /// The database lost the commit of its taking, and the next leader's has the same term.
    @Test func aFormerLeaderDoesNotRenewTheLeaseOfAnotherOfItsTerm() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 10)
        let a = try ledger.open(ledger.configuration(node: "a"))
        var configuration = ledger.configuration(node: "b")
        // It renews its own after 15 s.
        configuration.leaseMilliseconds = 60_000
        let b = try ledger.open(configuration)
        defer {
            a.close()
            b.close()
        }
        try a.settle()
        // Its session is not known, so that nobody ends it.
        try ledger.session().run("UPDATE leader SET term = 0, node = '', address = '', lease_ms = 0, backend_pid = 0")
        let first = try b.leadWithTestBlock(&random)
        let taken = try #require(try b.leader())
        // A whole lease of its own, in which it renews it several times.
        pause(milliseconds: 1000)
        #expect(try b.leader() == taken, "another has renewed its lease, or given it back")
        #expect(logError { try a.confirmLead() } != nil, "it says that it leads still")
        #expect(logError { try b.confirmLead() } == nil)
        #expect(try b.readAll() == [first])
    }

    enum Change: CaseIterable {
        case append
        case redact
        case giveBack
        case move
    }

    /// It has not found out yet: its lease is long, and only what it does now may tell.
    @Test(arguments: Change.allCases)
    func aFormerLeaderChangesNothingOfAnotherOfItsTerm(change: Change) throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 11)
        var configuration = ledger.configuration()
        configuration.leaseMilliseconds = 60_000
        let clock = TestClock()
        let former = try ledger.open(configuration, clock: clock)
        defer { former.close() }
        let first = try former.leadWithTestBlock(&random)
        let block = TestBlock.after(first.head, bodyBytes: 20, redactableBytes: 4, &random)
        try former.append(block)
        let session = try ledger.session()
        try session.run("UPDATE leader SET node = 'b', backend_pid = backend_pid + 1, renewals = renewals + 1")
        let row = "SELECT term, node, backend_pid, lease_ms, renewals, moved_to FROM leader"
        let before = try session.run(row)
        switch change {
        case .append:
            // It renews its lease with the next.
            clock.advance(milliseconds: 20_000)
            let next = TestBlock.after(block.head, bodyBytes: 20, redactableBytes: 0, &random)
            #expect(logError { try former.append(next) }?.description.contains("node b leads") == true)
        case .redact: #expect(logError { try former.redact(block.number, [0, 0, 0, 0]) }?.kind == .superseded)
        case .giveBack: former.giveBack()
        case .move: #expect(logError { try former.note(movedTo: "elsewhere") }?.kind == .superseded)
        }
        #expect(try session.run(row) == before)
        #expect(try former.readAll() == [first, block])
    }

    /// What follows its commit fails: the partitions cannot be made.
    @Test func aTakingThatCannotLeadGivesTheLeadBack() throws {
        let ledger = try TestLedger()
        let session = try ledger.session()
        _ = try? session.run("CREATE ROLE poor LOGIN")
        try session.run(
            """
            GRANT USAGE ON SCHEMA \(ledger.schema) TO poor;
            GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA \(ledger.schema) TO poor
            """)
        try session.run("DROP TABLE block_0")
        var configuration = ledger.configuration(user: "poor")
        configuration.leaseMilliseconds = 60_000
        let poor = try ledger.open(configuration)
        defer { poor.close() }
        #expect(logError { try poor.settle() } != nil)
        #expect(try poor.leader()?.leaseMilliseconds == 0, "everybody waits for a lease that nobody uses")
        let other = try ledger.open(ledger.configuration(node: "b"))
        defer { other.close() }
        var random = SplitMix64(seed: 12)
        #expect(try other.leadWithTestBlock(&random).number == 1)
    }

    /// Its node stalls in a transaction that holds the leader's row; no timeout of the server's ends that.
    @Test func aSessionThatHoldsALockIsEnded() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 4)
        let stalled = try ledger.session()
        try stalled.run(
            """
            UPDATE leader SET term = 1, node = 'z', lease_ms = 300, backend_pid = pg_backend_pid(),
                backend_start = (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid());
            """)
        try stalled.run("BEGIN")
        try stalled.run("UPDATE leader SET renewals = renewals + 1")
        let b = try ledger.open(ledger.configuration(node: "b"))
        defer { b.close() }
        // It waits for the lock in vain where the session goes on.
        let block = try b.leadWithTestBlock(&random)
        #expect(try b.readAll() == [block])
        #expect(throws: PostgresServer.Failure.self) { try stalled.run("COMMIT") }
    }

    /// Its session was not ended, for the successor's role may not, and the successor has erased another name in the
    /// same block.
    @Test func aFormerLeaderPutsNoNameBack() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 6)
        var configuration = ledger.configuration()
        // It does not find out by renewing its lease.
        configuration.leaseMilliseconds = 60_000
        let former = try ledger.open(configuration)
        defer { former.close() }
        let first = try former.leadWithTestBlock(&random)
        let block = TestBlock.after(first.head, bodyBytes: 20, redactableBytes: 4, &random)
        try former.append(block)
        try former.redact(block.number, [1, 2, 3, 4])
        let session = try ledger.session()
        try session.run("UPDATE leader SET term = term + 1, node = 'b', renewals = renewals + 1")
        try session.run("UPDATE block SET redactable = '\\x00020304' WHERE id = \(block.number)")
        #expect(logError { try former.redact(block.number, [1, 0, 3, 4]) }?.kind == .superseded)
        let names = try session.run("SELECT encode(redactable, 'hex') FROM block WHERE id = \(block.number)")
        #expect(names == [["00020304"]])
        #expect(logError { try former.confirmLead() } != nil, "it knows that another leads")
    }

    private func leadPatiently(_ log: PostgresLog, _ random: inout SplitMix64) throws -> SealedBlock {
        for _ in 0..<20 {
            do { return try log.leadWithTestBlock(&random) } catch let error as LogError where error.kind == .superseded
            {
                continue
            }
        }
        throw PostgresServer.Failure(description: "the leader was heard of again and again")
    }
}
#endif
