import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// What is told of a purchase: the engine with its tables against a store that has every row in memory.
@Suite struct PurchaseTests {
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

    private static func query(_ workload: inout Workload, _ known: [TransactionID]) -> PurchaseQuery? {
        guard let transaction = known.randomElement(using: &workload.generator) else { return nil }
        return PurchaseQuery(
            transaction: transaction, limit: Int.random(in: 1...4, using: &workload.generator),
            before: workload.generator.chance(50) ? Int64.random(in: 1...12, using: &workload.generator) : nil)
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func whatIsToldIsWhatTheRowsSay(run: UInt64) throws {
        let seed = Seed.drawn(for: "whatIsToldIsWhatTheRowsSay, run \(run)")
        var workload = Workload(seed: seed)
        workload.purchases = 20
        let memory = MemoryStore(Workload.catalog)
        var bench = try Self.open(MemoryLog.Storage())
        var longest = 0
        for batch in 1...150 {
            workload.now += 10
            var commands = (0..<Int.random(in: 1...8, using: &workload.generator)).map { _ in workload.next() }
            if workload.generator.chance(8) {
                let number = Int.random(in: 0..<workload.players, using: &workload.generator)
                commands.append(.forget(Workload.account(number)))
            }
            Self.ask(memory, commands, at: workload.now)
            _ = try bench.ask(commands, at: workload.now)
            let known = memory.rows.purchases.map(\.facts.transaction)
            // At once, of what the tables may not have yet.
            for _ in 0..<3 {
                guard let query = Self.query(&workload, known) else { continue }
                let view = try memory.purchase(query)
                #expect(try bench.engine.purchase(query) == view, "seed \(seed), batch \(batch): \(query)")
                longest = max(longest, Int(view.events.last?.number ?? 0))
            }
            if workload.generator.chance(5) {
                try bench.engine.close()
                bench = try Self.open(bench.log.storage)
            }
        }
        #expect(longest > 5, "seed \(seed)")
        try bench.engine.close()
    }

    /// Thousands of newer JWS, some of them while the pages are read.
    @Test func pagesGiveEveryEventOnceWhileNewOnesCome() throws {
        let bench = try Bench(catalog: Workload.catalog)
        let player = Workload.account(1)
        func sign(_ dates: ClosedRange<Timestamp>) throws {
            _ = try bench.ask(dates.map { .credit(Workload.purchase(1, signedDate: $0), account: player) })
        }
        for begin in stride(from: 1, to: 5_000, by: 500) { try sign(Int64(begin)...Int64(begin + 499)) }
        var query = PurchaseQuery(transaction: Workload.transaction(1), limit: 300)
        var dates: [Timestamp] = []
        var last: Int64 = 5_000
        repeat {
            let page = try bench.engine.purchase(query)
            #expect(page.events.count <= 300 && page.events.count == 300 || page.next == nil)
            dates = page.events.compactMap(\.signedDate) + dates
            query.before = page.next
            try sign(last + 1...last + 5)
            last += 5
        } while query.before != nil
        #expect(dates == Array(1...5_000))
        query.before = nil
        #expect(try bench.engine.purchase(query).events.last?.signedDate == last)
        try bench.engine.close()
    }
}
