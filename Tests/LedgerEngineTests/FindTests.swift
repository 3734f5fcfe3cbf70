import Foundation
import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// What a string is and whose: the engine with its tables against a store that looks at every row in memory.
@Suite struct FindTests {
    /// Everything that the workload can have made, and some that nothing made.
    private static func queries(_ keys: Set<RequestKey>, _ names: Int) -> [FindQuery] {
        keys.sorted { $0.text < $1.text }.map { .key($0) } + [.key(RequestKey("never used")!)]
            + (0..<61).map { .transaction(Workload.transaction($0)) }
            + (0...names).map { .account(Workload.account($0)) }
    }

    /// A purchase that stays nobody's.
    private static var notified: Command {
        let signed = Workload.purchase(60, signedDate: 1)
        return .notify(
            SignedNotification(
                uuid: "unassigned", type: "ONE_TIME_CHARGE", subtype: nil, signedDate: 1, evidence: signed.evidence,
                purchase: signed), account: nil)
    }

    /// A request that touches the wallets of two.
    private static var traded: Command {
        let key = RequestKey("trade")!
        let grants = [3, 1].map { number in
            KeyedOperation.grant(
                Grant(
                    key: key, account: Workload.account(number), currency: CurrencyCode("gems")!, amount: Amount(1)!))
        }
        return .atomic(Atomic(key: key, operations: grants))
    }

    private static func ask(_ store: any Store, _ commands: [Command], at now: Timestamp) {
        var needs = Needs()
        for command in commands { needs.add(command) }
        store.commit(needs, isLast: true) { books in
            for command in commands { _ = books.decide(command, at: now) }
        } done: { result in
            if case .failure(let error) = result { Issue.record("\(error)") }
        }
    }

    private static func open(_ storage: MemoryLog.Storage) throws -> Bench {
        try Bench(storage, catalog: Workload.catalog) {
            $0.cachedPlayersMax = 3
            $0.projectionStepBytes = 4_000
            $0.idleMilliseconds = 3
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func whatIsFoundIsWhatTheRowsSay(run: UInt64) throws {
        let seed = Seed.drawn(for: "whatIsFoundIsWhatTheRowsSay, run \(run)")
        var workload = Workload(seed: seed)
        let memory = MemoryStore(Workload.catalog)
        var bench = try Self.open(MemoryLog.Storage())
        var keys: Set<RequestKey> = []
        var kinds: Set<String> = []
        for batch in 1...150 {
            workload.now += 10
            var commands = batch == 1 ? [Self.notified, Self.traded] : []
            commands += (0..<Int.random(in: 1...8, using: &workload.generator)).map { _ in workload.next() }
            if workload.generator.chance(8) {
                let number = Int.random(in: 0..<workload.players, using: &workload.generator)
                commands.append(.forget(Workload.account(number)))
            }
            for command in commands {
                switch command {
                case .keyed(let operation): keys.insert(operation.key)
                case .atomic(let atomic): keys.insert(atomic.key)
                case .consent(let consent): keys.insert(consent.key)
                case .adjust(let adjustment, _): keys.insert(adjustment.key)
                case .importLots(let carried): keys.insert(carried.key)
                case .credit, .notify, .external, .link, .record, .expire, .balance, .consumption, .forget: break
                }
            }
            Self.ask(memory, commands, at: workload.now)
            _ = try bench.ask(commands, at: workload.now)
            // At once, of what the tables may not have yet.
            for _ in 0..<3 {
                let query = try #require(
                    Self.queries(keys, workload.players).randomElement(using: &workload.generator))
                #expect(try bench.engine.find(query) == memory.find(query), "seed \(seed), batch \(batch): \(query)")
            }
            if workload.generator.chance(5) {
                try bench.engine.close()
                bench = try Self.open(bench.log.storage)
            }
        }
        for query in Self.queries(keys, workload.players) {
            let found = try memory.find(query)
            #expect(try bench.engine.find(query) == found, "seed \(seed): \(query)")
            kinds.insert(Self.kind(found))
        }
        #expect(
            kinds == ["unknown", "account", "purchase", "unassigned", "posted", "several", "refused", "consent"],
            "seed \(seed)")
        try bench.engine.close()
    }

    private static func kind(_ finding: Finding) -> String {
        switch finding {
        case .unknown: "unknown"
        case .account: "account"
        case .purchase(let purchase): purchase.account == nil ? "unassigned" : "purchase"
        case .request(let request):
            if case .refused = request.answer {
                "refused"
            } else if case .recorded = request.answer {
                "consent"
            } else {
                finding.accounts.count == 1 ? "posted" : "several"
            }
        }
    }

    /// What is durable is found, also where the tables do not have it: the read waits for them.
    @Test func whatIsNotProjectedYetIsFound() throws {
        let bench = try Bench()
        bench.projection.hold()
        guard case .grant(let receipt) = try bench.ask(.grant("g", "ann", 5)) else {
            Issue.record("not granted")
            return
        }
        let found = Monitor<Result<Finding, any Error>?>(nil)
        let reader = Thread { found.withLock { $0 = Result { try bench.engine.find(.key(RequestKey("g")!)) } } }
        reader.start()
        pause(milliseconds: 30)
        bench.projection.release()
        #expect(try eventually { found.withLock { $0 != nil } })
        guard case .request(let request) = try found.withLock({ $0 })?.get(), case .posted(let entry) = request.answer
        else {
            Issue.record("not found")
            return
        }
        #expect(entry.entry == receipt.entry && entry.transfers.map(\.account) == [AccountName("ann")!])
        try bench.engine.close()
    }
}
