#if Postgres
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import PostgresLog

/// A primary and a synchronous standby, both real.
@Suite(.serialized) struct PostgresStandbyTests {
    /// - Parameter leaseMilliseconds: so long that no renewal waits for a standby in place of what the test does.
    private static func configuration(_ ledger: TestLedger, leaseMilliseconds: Int = 60_000) -> PostgresLogConfiguration
    {
        var configuration = ledger.configuration()
        configuration.requireSynchronousStandby = true
        configuration.leaseMilliseconds = leaseMilliseconds
        return configuration
    }

    private static func wait(_ session: PlainSession, for condition: String) throws {
        for _ in 0..<400 {
            if try session.run("SELECT \(condition)") == [["t"]] { return }
            pause(milliseconds: 25)
        }
        throw PostgresServer.Failure(description: "it never came to be: \(condition)")
    }

    /// Has commits wait for another standby, or for none.
    private static func require(_ standby: String, _ session: PlainSession) throws {
        try session.run("ALTER SYSTEM SET synchronous_standby_names = '\(standby)'")
        try session.run("SELECT pg_reload_conf()")
        try wait(session, for: "current_setting('synchronous_standby_names') = '\(standby)'")
        // Other processes read their settings a moment later.
        pause(milliseconds: 100)
    }

    private static let streams = "EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')"

    @Test func nobodyLeadsWithoutTheStandbyThatIsRequired() throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let ledger = try TestLedger(on: server)
        let session = try ledger.session()
        let log = try ledger.open(Self.configuration(ledger))
        defer { log.close() }
        var random = SplitMix64(seed: 1)
        let none = try #require(logError { try log.settle() })
        #expect(none.kind == .notAppended && none.description.contains("synchronous_standby_names is empty"))
        try Self.require("standby", session)
        let missing = try #require(logError { try log.settle() })
        #expect(missing.kind == .notAppended && missing.description.contains("none is connected"))

        let standby = try PostgresServer(standbyOf: server)
        defer { standby.stop() }
        try Self.wait(session, for: Self.streams)
        let first = try log.leadWithTestBlock(&random)

        // Someone takes the requirement away from the server: commits would not wait any more.
        try Self.require("", session)
        let next = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 0, &random)
        #expect(logError { try log.append(next) }?.kind == .notAppended)
        #expect(try session.run("SELECT count(*) FROM block") == [["1"]])
    }

    /// The wait for the standby ends with a warning and success, and the block is on one machine only.
    @Test func aCommitThatDidNotWaitForItsStandbyIsInDoubtAndThenSettled() throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let standby = try PostgresServer(standbyOf: server)
        defer { standby.stop() }
        let ledger = try TestLedger(on: server)
        let session = try ledger.session()
        try Self.require("standby", session)
        try Self.wait(session, for: Self.streams)
        let log = try ledger.open(Self.configuration(ledger))
        defer { log.close() }
        var random = SplitMix64(seed: 2)
        let first = try log.leadWithTestBlock(&random)

        // The one that commits wait for is not there.
        try Self.require("another", session)
        let next = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 0, &random)
        let outcome = Mutex<LogError??>(.none)
        inThread { outcome.withLock { $0 = .some(logError { try log.append(next) }) } }
        try Self.wait(session, for: Self.waits)
        let follower = try ledger.open(ledger.configuration(node: "b"))
        defer { follower.close() }
        #expect(follower.head == first.head, "a block was seen that is not durable")
        try session.run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        while outcome.withLock({ $0 }) == nil { pause(milliseconds: 1) }
        #expect(outcome.withLock { $0 }??.kind == .unknown)

        try Self.require("standby", session)
        try Self.wait(session, for: Self.streams)
        let term = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [first, next, term])
    }

    /// A successor ends the session that waits for it, for instance: the block is there, and lost with that server.
    @Test func aBlockThatNoStandbyHasIsNotHandedOutByWhoFollows() throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let standby = try PostgresServer(standbyOf: server)
        defer { standby.stop() }
        let ledger = try TestLedger(on: server)
        let session = try ledger.session()
        try Self.require("standby", session)
        try Self.wait(session, for: Self.streams)
        let log = try ledger.open(Self.configuration(ledger))
        var configuration = Self.configuration(ledger)
        configuration.node = "b"
        let follower = try ledger.open(configuration)
        defer {
            log.close()
            follower.close()
        }
        var random = SplitMix64(seed: 7)
        let first = try log.leadWithTestBlock(&random)
        #expect(try follower.standing().block == 1 && follower.readAll() == [first])

        try Self.require("another", session)
        let next = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 0, &random)
        let outcome = Mutex<LogError??>(.none)
        inThread { outcome.withLock { $0 = .some(logError { try log.append(next) }) } }
        try Self.wait(session, for: Self.waits)
        try session.run("SELECT pg_terminate_backend(backend_pid, 1000) FROM leader")
        while outcome.withLock({ $0 }) == nil { pause(milliseconds: 1) }
        #expect(outcome.withLock { $0 }??.kind == .unknown)
        #expect(try session.run("SELECT count(*) FROM block") == [["2"]])
        let error = logError { _ = try follower.standing() }
        #expect(error?.kind == .unknown && error?.description.contains("none has the last block") == true)
        #expect(try follower.readAll() == [first])

        try Self.require("standby", session)
        try Self.wait(session, for: Self.streams)
        #expect(try follower.standing().block == 2 && follower.readAll() == [first, next])
    }

    private static let waits = "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')"

    /// Begins something in a thread, and has the server end the wait of all commits once it waits for its standby: they
    /// return with success and without a warning, and what they did is on one machine only.
    private static func losingTheStandby(
        _ session: PlainSession, _ body: @escaping @Sendable () throws -> Void
    ) throws -> LogError? {
        let outcome = Mutex<LogError??>(.none)
        inThread { outcome.withLock { $0 = .some(logError(body)) } }
        try wait(session, for: waits)
        try require("", session)
        while outcome.withLock({ $0 }) == nil { pause(milliseconds: 1) }
        return outcome.withLock { $0 } ?? nil
    }

    /// As a cluster manager does that is not told to be strict, when the last standby is gone.
    @Test func aBlockThatNoStandbyHasIsNotAcknowledgedWhenCommitsAreToldToWaitNoMore() throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let standby = try PostgresServer(standbyOf: server)
        defer { standby.stop() }
        let ledger = try TestLedger(on: server)
        let session = try ledger.session()
        let log = try ledger.open(Self.configuration(ledger))
        defer { log.close() }
        var random = SplitMix64(seed: 5)
        var blocks: [SealedBlock] = []
        // One block, several in a transaction, and a name that is erased.
        for round in 0..<3 {
            try Self.require("standby", session)
            try Self.wait(session, for: Self.streams)
            blocks.append(try log.leadWithTestBlock(&random))
            let next = TestBlock.after(blocks.last?.head, bodyBytes: 10, redactableBytes: 4, &random)
            let second = TestBlock.after(next.head, bodyBytes: 10, redactableBytes: 0, &random)
            if round == 2 { try log.append(next) }
            try Self.require("another", session)
            let error = try Self.losingTheStandby(session) { [blocks] in
                switch round {
                case 0: try log.append(next)
                case 1: try log.append([next, second])
                default: try log.redact(BlockNumber(blocks.count + 1), [0, 0, 0, 0])
                }
            }
            #expect(error?.kind == .unknown, "round \(round): \(error as Any)")
            blocks += round == 1 ? [next, second] : [next]
        }
        try Self.require("standby", session)
        try Self.wait(session, for: Self.streams)
        _ = try log.leadWithTestBlock(&random)
        #expect(try log.readAll().count == blocks.count + 1)
    }

    @Test func aLeadThatNoStandbyKnowsOfIsNeitherTakenNorRenewed() throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let standby = try PostgresServer(standbyOf: server)
        defer { standby.stop() }
        let ledger = try TestLedger(on: server)
        let session = try ledger.session()
        try Self.require("standby", session)
        try Self.wait(session, for: Self.streams)
        // While it is waited for that this lease is over, the standby goes.
        try session.run("UPDATE leader SET term = 1, node = 'z', lease_ms = 2000")
        let log = try ledger.open(Self.configuration(ledger, leaseMilliseconds: 1000))
        defer { log.close() }
        let outcome = Mutex<LogError??>(.none)
        inThread { outcome.withLock { $0 = .some(logError { try log.settle() }) } }
        try Self.wait(
            session,
            for: """
                (SELECT count(*) > 1 FROM pg_stat_activity
                    WHERE application_name = 'currency-ledger a' AND query LIKE '%renewals, backend_pid%')
                """)
        try Self.require("another", session)
        try Self.wait(session, for: Self.waits)
        try Self.require("", session)
        while outcome.withLock({ $0 }) == nil { pause(milliseconds: 1) }
        let taken = outcome.withLock { $0 } ?? nil
        #expect(taken?.description.contains("none has what was committed") == true, "\(taken as Any)")

        try Self.require("standby", session)
        try Self.wait(session, for: Self.streams)
        var random = SplitMix64(seed: 6)
        // Whose lease the row names it does not know: it waits for it as for another's.
        var block: SealedBlock?
        for _ in 0..<20 where block == nil { block = try? log.leadWithTestBlock(&random) }
        #expect(block != nil)
        // It is idle, and renews its lease by itself.
        try Self.require("another", session)
        try Self.wait(session, for: Self.waits)
        try Self.require("", session)
        // What was renewed before that is over by then.
        pause(milliseconds: 1500)
        #expect(logError { try log.confirmLead() } != nil, "a lead was renewed of which no standby knows")
    }

    /// As a primary does that its cluster has demoted, before it ends its sessions (25006).
    @Test func aServerThatTakesNoWritesAnyMoreIsLeft() throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let ledger = try TestLedger(on: server)
        var random = SplitMix64(seed: 4)
        let log = try ledger.open()
        defer { log.close() }
        let first = try log.leadWithTestBlock(&random)
        let session = try ledger.session()
        try session.run("ALTER SYSTEM SET default_transaction_read_only = on")
        try session.run("SELECT pg_reload_conf()")
        try Self.wait(session, for: "current_setting('default_transaction_read_only') = 'on'")
        pause(milliseconds: 100)
        let next = TestBlock.after(first.head, bodyBytes: 10, redactableBytes: 0, &random)
        let error = try #require(logError { try log.append(next) })
        #expect([.unknown, .notAppended].contains(error.kind))
        #expect(logError { try log.settle() }?.kind == .unknown)
        #expect(try log.readAll() == [first])
        try session.run("SET default_transaction_read_only = off")
        try session.run("ALTER SYSTEM RESET default_transaction_read_only")
        try session.run("SELECT pg_reload_conf()")
        try Self.wait(PlainSession(server.uri()), for: "current_setting('default_transaction_read_only') = 'off'")
        let term = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [first, term])
    }

    @Test func aFollowerReadsFromAStandbyAndTheLeaderGoesOnWhereItIsPromoted() throws {
        let server = try PostgresServer(["synchronous_standby_names=standby"])
        defer { server.stop() }
        let standby = try PostgresServer(["synchronous_standby_names="], standbyOf: server)
        defer { standby.stop() }
        try Self.wait(try PlainSession(server.uri()), for: Self.streams)
        let ledger = try TestLedger(on: server)
        var random = SplitMix64(seed: 3)
        // Both hosts, the standby first: only the primary will do for leading.
        let hosts = "\(standby.folder),\(server.folder)"
        var configuration = ledger.configuration(folder: hosts)
        configuration.requireSynchronousStandby = false
        let log = try ledger.open(configuration)
        defer { log.close() }
        var blocks = [try log.leadWithTestBlock(&random)]
        for _ in 0..<20 {
            let block = TestBlock.after(blocks.last?.head, bodyBytes: 100, redactableBytes: 3, &random)
            try log.append(block)
            blocks.append(block)
        }
        #expect(try log.readAll() == blocks, "the leader reads what it has just appended")

        var reading = ledger.configuration(node: "finance", folder: standby.folder)
        reading.right = .reading
        let replica = try PlainSession(standby.uri())
        try Self.wait(replica, for: "(SELECT max(id) FROM \(ledger.schema).block) = 21")
        let follower = try ledger.open(reading)
        defer { follower.close() }
        #expect(try follower.readAll() == blocks)

        let other = try ledger.open(ledger.configuration(node: "b", folder: hosts))
        defer { other.close() }
        #expect(try other.standing().block == 21)

        // The primary's machine loses power.
        server.stop()
        for node in [log, other] {
            let error = logError { _ = try node.standing() }
            #expect(error?.kind == .unknown, "a standby was asked how the log stands")
        }
        #expect(logError { _ = try other.read(after: 20, bytesMax: 0) }?.kind == .unknown)
        #expect(logError { _ = try ledger.open(ledger.configuration(node: "c", folder: hosts)) }?.kind == .unknown)
        let lost = TestBlock.after(blocks.last?.head, bodyBytes: 10, redactableBytes: 0, &random)
        let kind = try #require(logError { try log.append(lost) }).kind
        #expect([.unknown, .notAppended].contains(kind))
        #expect(logError { try log.settle() }?.kind == .unknown, "there is no primary")
        #expect(try follower.read(after: 20, bytesMax: 0) == [blocks[20]])
        try replica.run("SELECT pg_promote()")
        let term = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == blocks + [term])
        #expect(try follower.read(after: 21, bytesMax: 0) == [term])
        #expect(try other.standing().block == 22)
        #expect(try other.standing().leader?.node == "a")
    }
}
#endif
