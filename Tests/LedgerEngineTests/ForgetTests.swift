import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// A player who is forgotten: the name is gone, everything else stays.
@Suite struct ForgetTests {
    private static let ann = AccountName("ann")!

    private static func purchase(signed: Timestamp = 1, revoked: Int64 = 0) -> SignedPurchase {
        let header = Array("header".utf8)
        return SignedPurchase(
            facts: PurchaseFacts(
                transaction: TransactionID(number: 1), product: "com.example.game.gems500", quantity: 1,
                purchaseDate: 1_000, price: 4_990, priceCurrency: "USD", token: ann),
            signedDate: signed, revoked: revoked,
            evidence: JWSParts(
                headerDigest: Digest(of: header, Workload.hash), header: header, payload: Array("{}".utf8),
                signature: [UInt8](repeating: 1, count: 64)))
    }

    private static func wasThere(_ outcome: Outcome) -> Bool? {
        if case .forgotten(let wasThere) = outcome { wasThere } else { nil }
    }

    private static func receipt(_ outcome: Outcome) -> PurchaseReceipt? {
        switch outcome {
        case .purchase(let receipt): receipt
        case .notification(let receipt): receipt.purchase
        default: nil
        }
    }

    /// The names that the log has, by account; `nil` where one was erased.
    private static func names(_ log: MemoryLog) throws -> [AccountName?] {
        try log.blocks.flatMap { try Block(opening: $0, checks: .names(Workload.hash)).rows.accounts.map(\.name) }
    }

    @Test func theNameIsGoneFromTheLogAndTheTables() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("b", "bob", 3))
        _ = try bench.ask(.grant("a", "ann", 100))
        #expect(Self.wasThere(try bench.ask(.forget(Self.ann))) == true)

        #expect(try Self.names(bench.log) == [AccountName("bob"), nil])
        for block in bench.log.blocks { #expect(block.redactable.firstRange(of: Array("ann".utf8)) == nil) }
        #expect(try bench.available("ann") == 0)
        #expect(try bench.engine.history(HistoryQuery(account: Self.ann)).entries.isEmpty)
        let journal = try bench.engine.journal(JournalQuery(after: 0))
        #expect(journal.entries.map { $0.transfers[0].account.isErased } == [false, true])
        // Nothing went but the name.
        let report = try bench.engine.report(ReportQuery(kind: .balances, asOf: Bench.now))
        #expect(report.rows.count == 2)
        #expect(Self.wasThere(try bench.ask(.forget(Self.ann))) == false)
        try bench.engine.close()
    }

    @Test func whoComesUnderTheNameIsAnother() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        _ = try bench.ask(.forget(Self.ann))
        // The key was the other one's.
        guard case .refused(let refusal) = try bench.ask(.grant("a", "ann", 100)) else {
            Issue.record("another account's key was answered")
            return
        }
        #expect(refusal.reason == .keyReused)
        _ = try bench.ask(.grant("n", "ann", 7))
        #expect(try bench.available("ann") == 7)
        #expect(Self.wasThere(try bench.ask(.forget(Self.ann))) == true)
        #expect(try Self.names(bench.log) == [nil, nil])
        try bench.engine.close()
    }

    @Test func purchasesStayTheErasedAccounts() throws {
        let bench = try Bench()
        _ = try bench.ask(.credit(Self.purchase(), account: nil))
        _ = try bench.ask(.spend("s", "ann", 100))
        _ = try bench.ask(.forget(Self.ann))
        _ = try bench.ask(.grant("n", "ann", 7))

        // A device shows it again, with the token that is another account's name now.
        let again = try #require(Self.receipt(try bench.ask(.credit(Self.purchase(), account: nil))))
        #expect(again.outcome == .alreadyCredited && again.account?.isErased == true && again.finish)
        // Apple refunds it.
        let refund = Self.purchase(signed: 2, revoked: 100_000)
        let notified = SignedNotification(
            uuid: "u", type: "REFUND", subtype: nil, signedDate: 2, evidence: refund.evidence, purchase: refund)
        let told = try #require(Self.receipt(try bench.ask(.notify(notified, account: nil))))
        #expect(told.outcome == .reversed && told.account?.isErased == true)
        #expect(told.balances.first?.balance.debt == 100)
        #expect(try bench.available("ann") == 7)
        try bench.engine.close()
    }

    @Test func aNameOfTheSameBlockIsErasedInIt() throws {
        let bench = try Bench()
        let outcomes = try bench.ask([
            .grant("1", "ann", 1), .forget(Self.ann), .grant("2", "ann", 2), .forget(Self.ann), .grant("3", "ann", 3),
        ])
        #expect(outcomes.compactMap(Self.wasThere) == [true, true])
        #expect(try bench.available("ann") == 3)
        #expect(try bench.engine.history(HistoryQuery(account: Self.ann)).entries.count == 1)
        #expect(try Self.names(bench.log) == [nil, nil, Self.ann])
        try bench.engine.close()
        let next = try Bench(bench.log.storage)
        #expect(try next.available("ann") == 3)
        try next.engine.close()
    }

    /// Else a player who left memory would be found in the tables by the name.
    @Test func nothingIsDecidedBeforeTheTablesKnow() throws {
        let bench = try Bench { $0.cachedPlayersMax = 2 }
        for number in 0..<50 { _ = try bench.ask(.grant("g\(number)", "player-\(number)", 10)) }
        _ = try bench.ask(.grant("a", "ann", 100))
        _ = try bench.engine.journal(JournalQuery(after: 0))
        bench.projection.hold()
        #expect(Self.wasThere(try bench.ask(.forget(Self.ann))) == true)
        let thread = try EngineThread("release") {
            pause(milliseconds: 20)
            bench.projection.release()
        }
        for number in 0..<50 { _ = try bench.ask(.spend("s\(number)", "player-\(number)", 1)) }
        #expect(try bench.available("ann") == 0)
        thread.join()
        try bench.engine.close()
    }

    /// A crash after the block was durable: whoever leads next overwrites the name.
    @Test func whatACrashLeftIsErasedByTheNextLeader() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        bench.log.failRedactions(1)
        #expect(throws: StoreError.self) { try bench.ask(.forget(Self.ann)) }
        #expect(try Self.names(bench.log) == [Self.ann])
        #expect(Self.wasThere(try bench.ask(.forget(Self.ann))) == false)
        #expect(try Self.names(bench.log) == [nil])
        #expect(try bench.available("ann") == 0)

        _ = try bench.ask(.grant("b", "bob", 5))
        bench.log.failRedactions(1)
        #expect(throws: StoreError.self) { try bench.ask(.forget(AccountName("bob")!)) }
        let next = try Bench(bench.log.storage)
        #expect(try Self.names(next.log) == [nil, nil])
        #expect(try next.available("bob") == 0)
        try next.engine.close()
    }

    /// Three hundred elections later; and one of the blocks before the last that has rows is damaged.
    @Test func whatACrashLeftIsErasedAfterAnyCountOfIdleTerms() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        for number in 0..<20 { _ = try bench.ask(.grant("b\(number)", "bob", 1)) }
        bench.log.failRedactions(1)
        #expect(throws: StoreError.self) { try bench.ask(.forget(Self.ann)) }
        #expect(try Self.names(bench.log) == [Self.ann, AccountName("bob")])
        let log = MemoryLog(bench.log.storage)
        let erasing = try #require(log.head).number
        var random = MachineRandom()
        for _ in 0..<300 {
            _ = try log.lead { last in
                let before = try Block(opening: try #require(last), checks: .hashes(Workload.hash))
                let term = Block(
                    number: before.number + 1, term: before.term + 1, time: before.time,
                    previous: try #require(last).hash, position: before.position, rows: BlockRows())
                return SealedBlock(sealing: term, salts: &random, hash: Workload.hash)
            }
        }
        log.makeUnreadable([erasing - 1])
        let before = log.reads
        try log.eraseLastNames(through: erasing + 300) { Issue.record("\($0): \($1)") }
        #expect(try Self.names(log) == [nil, AccountName("bob")])
        #expect(log.reads - before < 100)
    }

    /// The answer of an atomic that shows the account without having named it.
    @Test func anAnswerOfTheSameBatchTellsNoName() throws {
        let bench = try Bench()
        _ = try bench.ask([
            .grant("a", "ann", 100),
            .hold(
                Hold(
                    key: RequestKey("h")!, account: Self.ann, currency: Bench.gems, amount: Amount(10)!,
                    timeoutMilliseconds: 60_000)),
        ])
        let key = RequestKey("at")!
        let bob = Grant(key: key, account: AccountName("bob")!, currency: Bench.gems, amount: Amount(1)!)
        let atomic = Command.atomic(
            Atomic(key: key, operations: [.capture(Capture(key: key, holdKey: RequestKey("h")!)), .grant(bob)]))
        let outcomes = try bench.ask([atomic, .forget(Self.ann), atomic])
        var told: [[AccountName]] = []
        for outcome in outcomes + [try bench.ask(atomic)] {
            if case .atomic(let receipt) = outcome { told.append(receipt.balances.map(\.account)) }
        }
        #expect(told.map { $0.contains(Self.ann) } == [true, false, false])
        try bench.engine.close()
    }

    @Test(arguments: [MemoryLog.Fault.notAppended, .unknown(isThere: true), .unknown(isThere: false)])
    func afterAFailureItIsAskedAgain(fault: MemoryLog.Fault) throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        bench.log.failAppends(fault)
        #expect(throws: StoreError.self) { try bench.ask(.forget(Self.ann)) }
        let isDone = fault == .unknown(isThere: true)
        // Until it is done the account has its name: nothing of it is lost to the player.
        #expect(try bench.available("ann") == (isDone ? 0 : 100))
        #expect(Self.wasThere(try bench.ask(.forget(Self.ann))) == !isDone)
        #expect(try Self.names(bench.log) == [nil])
        #expect(try bench.available("ann") == 0)
        try bench.engine.close()
    }

    /// The block that would have erased the name is never there: nobody waits until the tables have it.
    @Test func aForgettingDecidedAheadOfABatchThatFailsHoldsNobodyUp() throws {
        let bench = try Bench { $0.blocksAheadMax = 8 }
        _ = try bench.ask(.grant("a", "ann", 100))
        bench.log.hold()
        let first = bench.send(.spend("1", "ann", 60))
        #expect(try eventually { bench.log.waiting == 1 })
        let forgetting = bench.send(.forget(Self.ann))
        bench.log.failAppends(.notAppended)
        bench.log.release()
        #expect(throws: StoreError.self) { try first.get() }
        #expect(throws: StoreError.self) { try forgetting.get() }
        #expect(try bench.available("ann") == 100)
        #expect(Self.wasThere(try bench.ask(.forget(Self.ann))) == true)
        try bench.engine.close()
    }

    // MARK: A log that is damaged where the name is

    private static func block(adding account: PlayerID, _ log: MemoryLog) throws -> BlockNumber {
        try #require(try log.blocks.first { try $0.addedAccounts().contains(account) }).number
    }

    /// That one request is refused; the others of its batch are not.
    @Test func aNameInADamagedBlockIsRefusedAndNothingElse() throws {
        let bench = try Bench()
        _ = try bench.ask(.grant("b", "bob", 3))
        _ = try bench.ask(.grant("a", "ann", 100))
        bench.log.damage(try Self.block(adding: 2, bench.log))
        let count = bench.log.blocks.count
        #expect { try bench.ask(.forget(Self.ann)) } throws: {
            ($0 as? StoreError)?.kind == .corrupt && "\($0)".contains("the test has damaged it")
        }
        #expect(bench.log.blocks.count == count)

        let commands: [Command] = [.grant("c", "bob", 4), .forget(Self.ann), .forget(AccountName("bob")!)]
        var needs = Needs()
        for command in commands { needs.add(command) }
        let parts = commands.map { command in
            var part = Needs()
            part.add(command)
            return part
        }
        let told = Monitor<[String]?>(nil)
        bench.engine.commit(needs, each: { parts }, isLast: true) { books, faults in
            zip(commands, faults).map { command, fault in
                fault.map { "\($0)" } ?? "\(books.decide(command, at: Bench.now))"
            }
        } done: { result in
            told.withLock { $0 = (try? result.get()) ?? [] }
            told.wakeAll()
        }
        let answers = told.wait { $0 }
        #expect(answers.count == 3 && answers[1].contains("the test has damaged it"), "\(answers)")
        #expect(answers.last == "forgotten(true)")
        #expect(try bench.available("ann") == 100)
        #expect(try Self.names(bench.log) == [nil, Self.ann])
        #expect(bench.engine.fault() == nil)
        #expect(bench.reports.contains { $0.hasPrefix("erasureRefused") }, "\(bench.reports)")
        #expect(!bench.reports.contains { $0.hasPrefix("tablesDamaged") || $0.hasPrefix("logFailed") })
        bench.log.damage(try Self.block(adding: 2, bench.log), after: nil)
        #expect(Self.wasThere(try bench.ask(.forget(Self.ann))) == true)
        #expect(try Self.names(bench.log) == [nil, nil])
        try bench.engine.close()
    }

    /// Damage that is met between the look and the erasure: all goes on, also at a start, and the name is erased at the
    /// first start after the log was mended.
    @Test func aNameThatCannotBeErasedAfterTheAppendIsOwed() throws {
        let names = MemoryMark()
        let bench = try Bench(names: names)
        _ = try bench.ask(.grant("a", "ann", 100))
        let number = try Self.block(adding: 1, bench.log)
        bench.log.damage(number, after: 1)
        #expect { try bench.ask(.forget(Self.ann)) } throws: { ($0 as? StoreError)?.kind == .unknown }
        #expect(names.reason == .owed)
        #expect(bench.reports.contains { $0.hasPrefix("nameOwed") }, "\(bench.reports)")
        #expect(bench.engine.fault() == nil)
        #expect(Self.wasThere(try bench.ask(.forget(Self.ann))) == false, "its block is durable")
        for key in 0..<5 { _ = try bench.ask(.grant("b\(key)", "bob", 5)) }
        #expect(try bench.available("bob") == 25)
        #expect(try Self.names(bench.log).first == Self.ann)
        try bench.engine.close()

        let second = try Bench(bench.log.storage, names: names) { _ in
        } prepare: {
            $0.damage(number)
        }
        #expect(second.engine.fault() == nil && names.reason == .owed)
        #expect(second.reports.contains { $0.hasPrefix("nameOwed") }, "\(second.reports)")
        _ = try second.ask(.grant("c", "bob", 1))
        #expect(try second.available("ann") == 0)
        try second.engine.close()

        let third = try Bench(bench.log.storage, names: names)
        #expect(try Self.names(third.log) == [nil, AccountName("bob")])
        #expect(names.reason == nil && !third.reports.contains { $0.hasPrefix("nameOwed") })
        try third.engine.close()
    }

    /// Blocks keep their places: what was looked up before the erasure was decided is not looked up again, on the way
    /// of all that is committed.
    @Test func theBlockWithTheNameIsLookedUpOnce() throws {
        let bench = try Bench()
        for number in 0..<70 { _ = try bench.ask(.grant("g\(number)", "player-\(number)", 1)) }
        for account in 1...70 as ClosedRange<PlayerID> {
            let head = try #require(bench.log.head).number
            var reads = bench.log.reads
            var places = NamePlaces(searched: head)
            try bench.log.checkErasable(account, &places)
            let search = bench.log.reads - reads
            let adding = try Self.block(adding: account, bench.log)
            #expect(search <= 8 && places.blocks == [account: adding])
            reads = bench.log.reads
            _ = try bench.ask(.forget(AccountName("player-\(account - 1)")!))
            #expect(bench.log.reads - reads == search + 1, "account \(account)")
        }
        #expect(try Self.names(bench.log).allSatisfy { $0 == nil })
        try bench.engine.close()
    }

    /// An account that the same block adds, and one of a block that was not durable when the erasure was decided.
    @Test func aNameThatNoBlockHadYetIsLookedForInNewBlocksOnly() throws {
        let bench = try Bench { $0.blocksAheadMax = 8 }
        for number in 0..<70 { _ = try bench.ask(.grant("g\(number)", "player-\(number)", 1)) }
        var reads = bench.log.reads
        _ = try bench.ask([.grant("a", "ann", 1), .forget(Self.ann)])
        #expect(bench.log.reads - reads == 1)

        reads = bench.log.reads
        bench.log.hold()
        let adding = bench.send(.grant("b", "ann", 1))
        #expect(try eventually { bench.log.waiting == 1 })
        let forgetting = bench.send(.forget(Self.ann))
        bench.log.release()
        _ = try adding.get()
        #expect(Self.wasThere(try forgetting.get()) == true)
        #expect(bench.log.reads - reads <= 9, "the look before it was decided, and that at two new blocks")
        #expect(try Self.names(bench.log).suffix(2) == [nil, nil])
        try bench.engine.close()
    }
}
