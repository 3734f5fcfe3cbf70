import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// What Apple was told and asks: the engine with its tables against a store that looks at every row in memory.
@Suite struct AppStoreCallTests {
    private static func open(_ storage: MemoryLog.Storage) throws -> Bench {
        try Bench(storage, catalog: Workload.catalog) {
            $0.cachedPlayersMax = 3
            $0.projectionStepBytes = 4_000
            $0.idleMilliseconds = 3
        }
    }

    private static func ask(_ store: any Store, _ commands: [Command], at now: Timestamp) -> [Outcome] {
        var needs = Needs()
        for command in commands { needs.add(command) }
        let outcomes = Monitor<[Outcome]>([])
        store.commit(needs, isLast: true) { books in
            commands.map { books.decide($0, at: now) }
        } done: { result in
            switch result {
            case .success(let answers): outcomes.withLock { $0 = answers }
            case .failure(let error): Issue.record("\(error)")
            }
        }
        return outcomes.withLock { $0 }
    }

    private static func rows(_ store: any Store, _ query: ReportQuery) throws -> [ReportRow] {
        var (query, rows) = (query, [ReportRow]())
        repeat {
            let page = try store.report(query)
            #expect(page.rows.count <= query.limit)
            rows += page.rows
            query.after = page.next
        } while query.after != nil
        return rows
    }

    private static let work: [AppStoreWorkQuery] = [
        .consumptionRequests(after: 0), .consumptionRequests(after: 4, limit: 2), .purchases(after: 0),
        .purchases(after: 9, limit: 3), .purchases(after: 2, since: 40), .assignments(after: 0),
        .assignments(after: 1, limit: 1),
    ]

    private static func reports(_ now: Timestamp) -> [ReportQuery] {
        let later = now + 12 * 3_600_000
        return [
            ReportQuery(kind: .notifications, asOf: now, limit: 7), ReportQuery(kind: .notifications, asOf: now / 2),
            ReportQuery(kind: .notifications, asOf: now, from: now / 2, limit: 3),
            ReportQuery(kind: .consumptionRequests, asOf: now, limit: 3),
            ReportQuery(kind: .consumptionRequests, asOf: now, scope: .all, limit: 7),
            ReportQuery(kind: .consumptionRequests, asOf: now / 2, scope: .all),
            ReportQuery(kind: .consumptionRequests, asOf: later - now + 20, limit: 3),
            ReportQuery(kind: .consumptionRequests, asOf: later, scope: .all),
        ]
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func whatWasToldAndAskedIsWhatTheRowsSay(run: UInt64) throws {
        let seed = Seed.drawn(for: "whatWasToldAndAskedIsWhatTheRowsSay, run \(run)")
        var workload = Workload(seed: seed)
        let memory = MemoryStore(Workload.catalog)
        var bench = try Self.open(MemoryLog.Storage())
        var answers: Set<String> = []
        var seen: Set<String> = []
        let kinds: Set = [
            "credited", "reversed", "reinstated", "unchanged", "unassigned", "open given", "open withdrawn",
            "open none", "answered", "refused", "expired",
        ]
        // Longer where chance has left out one of the answers, or of the kinds of rows.
        for batch in 1...6_000 where batch <= 600 || answers.count < 4 || !seen.isSuperset(of: kinds) {
            workload.now += 10
            var commands = (0..<Int.random(in: 1...12, using: &workload.generator)).map { _ in workload.next() }
            if workload.generator.chance(4) {
                let number = Int.random(in: 0..<workload.players, using: &workload.generator)
                commands.append(.forget(Workload.account(number)))
            }
            let expected = Self.ask(memory, commands, at: workload.now)
            for (command, (answer, other)) in zip(
                commands, zip(try bench.ask(commands, at: workload.now), expected))
            {
                guard case .record = command else { continue }
                #expect("\(answer)" == "\(other)", "seed \(seed), batch \(batch): \(command)")
                answers.insert("\(answer)")
            }
            // At once, of what the tables may not have yet.
            for query in Self.work {
                #expect(
                    try bench.engine.appStoreWork(query) == memory.appStoreWork(query),
                    "seed \(seed), batch \(batch): \(query)")
            }
            if batch % 10 == 0 {
                for query in Self.reports(workload.now) {
                    let rows = try Self.rows(bench.engine, query)
                    #expect(try rows == Self.rows(memory, query), "seed \(seed), batch \(batch): \(query)")
                    for row in rows { seen.insert(Self.kind(row)) }
                }
            }
            if workload.generator.chance(5) {
                try bench.engine.close()
                bench = try Self.open(bench.log.storage)
            }
        }
        #expect(answers.count == 4, "seed \(seed): \(answers)")
        #expect(seen.isSuperset(of: kinds), "seed \(seed): \(seen)")
        try bench.engine.close()
    }

    private static func kind(_ row: ReportRow) -> String {
        switch row {
        case .notification(let row): row.verdict.rawValue
        case .consumptionRequest(let row):
            row.state == .open ? "open \(row.consent.rawValue)" : row.state.rawValue
        case .balance, .trial, .debt, .line, .closing: "\(row)"
        }
    }
}
