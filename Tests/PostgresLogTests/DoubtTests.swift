#if Postgres
import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import PostgresLog

/// An append of whose end the node hears nothing, or not what it has to hear.
@Suite struct DoubtTests {
    @Test(
        arguments: [
            (.cutBefore, false), (.cutBeforeCommit, false), (.cutAfterCommit, true), (.loseReply, true),
        ] as [(NetworkFault, Bool)])
    func aCutConnectionIsInDoubtAndSettledByTheNextTerm(fault: NetworkFault, isThere: Bool) throws {
        let ledger = try TestLedger()
        let proxy = try FaultyProxy(of: ledger.server)
        defer { proxy.stop() }
        var random = SplitMix64(seed: 1)
        let log = try ledger.open(ledger.configuration(folder: proxy.folder))
        defer { log.close() }
        var blocks = [try log.leadWithTestBlock(&random)]
        let next = TestBlock.after(blocks[0].head, bodyBytes: 500, redactableBytes: 5, &random)
        proxy.fail(fault)
        #expect(logError { try log.append(next) }?.kind == .unknown)
        #expect(try log.readAll() == blocks, "what is in doubt was handed out")
        #expect(logError { try log.append(next) }?.kind == .notAppended, "appended before it was settled")
        let term = try log.leadWithTestBlock(&random)
        #expect(term.term == 2)
        blocks += isThere ? [next, term] : [term]
        #expect(try log.readAll() == blocks)
    }

    @Test func anAnswerThatDoesNotComeInTimeIsInDoubt() throws {
        let ledger = try TestLedger()
        let proxy = try FaultyProxy(of: ledger.server)
        defer { proxy.stop() }
        var random = SplitMix64(seed: 2)
        var configuration = ledger.configuration(folder: proxy.folder)
        configuration.answerMilliseconds = 300
        let log = try ledger.open(configuration)
        defer { log.close() }
        let first = try log.leadWithTestBlock(&random)
        let next = TestBlock.after(first.head, bodyBytes: 500, redactableBytes: 5, &random)
        proxy.fail(.delayReply(milliseconds: 600))
        #expect(logError { try log.append(next) }?.kind == .unknown)
        let term = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [first, next, term])
    }

    @Test func aSessionThatTheServerEndsIsTakenUpAgain() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 3)
        let log = try ledger.open()
        defer { log.close() }
        let first = try log.leadWithTestBlock(&random)
        try ledger.session().run("SELECT pg_terminate_backend(backend_pid, 1000) FROM leader")
        let next = TestBlock.after(first.head, bodyBytes: 500, redactableBytes: 5, &random)
        let kind = try #require(logError { try log.append(next) }).kind
        #expect([.unknown, .notAppended].contains(kind))
        let term = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [first, term])
    }

    /// The server says that the row was inserted, and then fails to commit.
    @Test(arguments: [true, false])
    func anErrorOfTheServerIsNoSuccessHoweverLateItComes(atCommit: Bool) throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 5)
        let log = try ledger.open()
        defer { log.close() }
        var blocks = [try log.leadWithTestBlock(&random)]
        let session = try ledger.session()
        try session.run(
            """
            CREATE TABLE plan (code text);
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
            DECLARE code text := (SELECT code FROM \(ledger.schema).plan);
            BEGIN
                IF code IS NOT NULL THEN RAISE EXCEPTION 'as the test says' USING ERRCODE = code; END IF;
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON block_0
                DEFERRABLE INITIALLY \(atCommit ? "DEFERRED" : "IMMEDIATE") FOR EACH ROW EXECUTE FUNCTION fail()
            """)
        let kinds: [(String, LogError.Kind)] = [
            ("53100", .notAppended), ("25006", .unknown), ("57P01", .unknown), ("XX001", .corrupt),
            ("40001", .notAppended), ("40P01", .notAppended),
        ]
        for (code, kind) in kinds {
            let next = TestBlock.after(blocks.last?.head, bodyBytes: 20, redactableBytes: 5, &random)
            try session.run("INSERT INTO plan VALUES ('\(code)')")
            #expect(logError { try log.append(next) }?.kind == kind, "\(code)")
            try session.run("DELETE FROM plan")
            blocks.append(try log.leadWithTestBlock(&random))
        }
        #expect(try log.readAll() == blocks)
    }

    @Test(arguments: [1, 2]) func whatAnotherTransactionWasInTheWayOfIsTriedAgain(together: Int) throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 6)
        let log = try ledger.open()
        defer { log.close() }
        let first = try log.leadWithTestBlock(&random)
        try ledger.session().run(
            """
            CREATE SEQUENCE attempts;
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                CASE nextval('\(ledger.schema).attempts')
                WHEN 1 THEN RAISE EXCEPTION 'once' USING ERRCODE = '40001';
                WHEN 2 THEN RAISE EXCEPTION 'twice' USING ERRCODE = '40P01';
                ELSE RETURN NULL;
                END CASE;
            END $$;
            CREATE TRIGGER fail AFTER INSERT ON block_0 FOR EACH ROW EXECUTE FUNCTION fail()
            """)
        var next = [TestBlock.after(first.head, bodyBytes: 20, redactableBytes: 5, &random)]
        if together == 2 { next.append(TestBlock.after(next[0].head, bodyBytes: 20, redactableBytes: 5, &random)) }
        try log.append(next)
        #expect(try log.readAll() == [first] + next)
        // Two of the first block, and then one of each.
        #expect(try ledger.session().run("SELECT last_value FROM attempts") == [["\(together + 2)"]])
    }

    /// Blocks that are appended together, and another writer's block has the number of one of them.
    @Test(arguments: [2, 3] as [BlockNumber])
    func blocksTogetherAreSupersededByOneThatIsThere(taken: BlockNumber) throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 8)
        let log = try ledger.open()
        defer { log.close() }
        let first = try log.leadWithTestBlock(&random)
        let session = try ledger.session()
        try session.run(
            """
            INSERT INTO block SELECT \(taken), term, time, previous, hash, body, redactable FROM block WHERE id = 1
            """)
        let second = TestBlock.after(first.head, bodyBytes: 20, redactableBytes: 5, &random)
        let third = TestBlock.after(second.head, bodyBytes: 20, redactableBytes: 5, &random)
        let error = try #require(logError { try log.append([second, third]) })
        #expect(error == LogError(.superseded, "block \(taken) of another leader is there already"))
        try session.run("DELETE FROM block WHERE id = \(taken)")
        #expect(try session.run("SELECT count(*) FROM block") == [["1"]])
        let term = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [first, term])
    }

    @Test func aDamagedRowThatCannotBeOverwrittenKeepsNobodyFromLeading() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 9)
        let log = try ledger.open()
        defer { log.close() }
        let first = try log.leadWithTestBlock(&random)
        let second = TestBlock.after(first.head, bodyBytes: 20, redactableBytes: 3, &random)
        try log.append(second)
        let session = try ledger.session()
        try session.run(
            """
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'as the test says' USING ERRCODE = 'XX001'; END $$;
            CREATE TRIGGER fail BEFORE UPDATE ON block_0 FOR EACH ROW EXECUTE FUNCTION fail()
            """)
        #expect(logError { try log.redact(2, [1, 2, 3]) }?.kind == .corrupt)
        let third = TestBlock.after(second.head, bodyBytes: 20, redactableBytes: 3, &random)
        try log.append(third)
        #expect(try log.readAll() == [first, second, third])

        #expect(try log.owed() == [])
        for account in [7, 3, 7] as [PlayerID] { try log.owe(account) }
        #expect(try log.owed() == [3, 7])
        try log.paid(7)
        #expect(try ledger.open(ledger.configuration(node: "b")).owed() == [3], "another node finds it")
    }

    @Test func aStatementThatReachesTheServerTwiceInsertsOnce() throws {
        let ledger = try TestLedger()
        let proxy = try FaultyProxy(of: ledger.server)
        defer { proxy.stop() }
        var random = SplitMix64(seed: 7)
        let log = try ledger.open(ledger.configuration(folder: proxy.folder))
        defer { log.close() }
        var blocks = [try log.leadWithTestBlock(&random)]
        for _ in 0..<10 {
            let next = TestBlock.after(blocks.last?.head, bodyBytes: 20, redactableBytes: 5, &random)
            proxy.fail(.duplicate)
            try log.append(next)
            blocks.append(next)
        }
        #expect(try log.readAll() == blocks)
        #expect(try ledger.session().run("SELECT count(*) FROM block") == [["11"]])
    }

    @Test func anErrorOfTheServerMeansWhatItsCodeSays() {
        let kinds: [(String, LogError.Kind)] = [
            ("25006", .unknown), ("57P01", .unknown), ("57P03", .unknown), ("08006", .unknown),
            ("53100", .notAppended), ("55P03", .notAppended), ("42501", .notAppended), ("XX001", .corrupt),
        ]
        for (code, kind) in kinds {
            #expect(PostgresFault(.refused(code: code), "x").error("appending").kind == kind, "\(code)")
        }
        #expect(PostgresFault(.warned, "x").error("appending").kind == .unknown)
        #expect(PostgresFault(.lost, "x").error("appending").kind == .unknown)
        #expect(PostgresFault(.refused(code: "40001"), "x").isOfTwoTransactions)
        #expect(PostgresFault(.refused(code: "40P01"), "x").isOfTwoTransactions)
    }

    /// What a node without the right to end sessions meets: the commit of its predecessor cannot be seen, and comes.
    @Test func aBlockThatComesAfterTheLeadWasTakenIsFoundByAppending() throws {
        let ledger = try TestLedger()
        var random = SplitMix64(seed: 4)
        let log = try ledger.open()
        defer { log.close() }
        let first = try log.leadWithTestBlock(&random)
        let hidden = TestBlock.after(first.head, bodyBytes: 30, redactableBytes: 0, &random)
        let other = try ledger.session()
        try other.run("BEGIN")
        try other.run(
            """
            INSERT INTO block VALUES (2, 1, now(), '\\x\(first.hash.hexadecimal)', '\\x\(hidden.hash.hexadecimal)',
                '\\x\(hidden.body.map { Digest.twoDigits($0) }.joined())', '')
            """)
        try log.settle()
        #expect(log.head == first.head)
        let isCommitted = Mutex(false)
        inThread { [other = Box(other)] in
            pause(milliseconds: 200)
            _ = try? other.value.run("COMMIT")
            isCommitted.withLock { $0 = true }
        }
        let term = TestBlock.term(after: first, &random)
        #expect(logError { try log.append(term) }?.kind == .notAppended)
        while !isCommitted.withLock({ $0 }) { pause(milliseconds: 1) }
        let again = try log.leadWithTestBlock(&random)
        #expect(try log.readAll() == [first, hidden, again])
    }

    /// A session that one thread hands to another.
    private struct Box: @unchecked Sendable {
        let value: PlainSession
        init(_ value: PlainSession) { self.value = value }
    }
}

extension Digest {
    fileprivate static func twoDigits(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }
}
#endif
