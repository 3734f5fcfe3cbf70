import Foundation
import Ledger
import LedgerTestKit
import SQLiteProjection
import Testing

@testable import LedgerEngine

/// The engine, with bounds so small that everything is projected, forgotten and loaded again at any time, against
/// books that forget nothing.
@Suite struct EngineDifferentialTests {
    private static func books() -> Books {
        Books(
            catalog: Workload.catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0),
            hash: Workload.hash)
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func everyAnswerIsThatOfBooksThatForgetNothing(run: UInt64) throws {
        let seed = Seed.drawn(for: "everyAnswerIsThatOfBooksThatForgetNothing, run \(run)")
        var workload = Workload(seed: seed)
        var reference = Self.books()
        var storage = MemoryLog.Storage()
        var bench = try open(storage)
        var now: Timestamp = 1_000
        var joins = 0
        for batch in 1...300 {
            now += workload.generator.chance(5) ? 400 : 10
            workload.now = now
            let size = workload.generator.chance(5) ? 60...120 : 1...6
            let commands = (0..<Int.random(in: size, using: &workload.generator)).map { _ in workload.next() }
            let before = reference
            let expected = commands.map { reference.decide($0, at: now) }
            if workload.generator.chance(6) {
                // An append that fails in one of its ways; the whole batch is then sent again. (Books are read anew
                // from tables that are at the head.)
                bench.projection.release()
                bench.log.failAppends(
                    workload.generator.chance(30)
                        ? .notAppended : .unknown(isThere: workload.generator.chance(50)))
                let count = bench.log.blocks.count
                let failed = Result { try bench.ask(commands, at: now) }
                if case .failure = failed {
                    _ = bench.engine.fault()
                    // A block of rows, then that of the next term: then it happened.
                    let isThere = bench.log.blocks.count == count + 2
                    if !isThere { reference = before }
                    if isThere { continue }
                    let again = try bench.ask(commands, at: now)
                    for command in commands { _ = reference.decide(command, at: now) }
                    #expect("\(again)" == "\(expected)", "seed \(seed), batch \(batch), after a failure")
                    continue
                }
                // It added nothing.
                bench.log.forgetFaults()
                let answers = try failed.get()
                #expect("\(answers)" == "\(expected)", "seed \(seed), batch \(batch)")
                continue
            }
            let answers: [Outcome]
            if workload.generator.chance(20) {
                let count = bench.log.blocks.count
                answers = try askWhileTheLogIsBusy(bench, commands, at: now)
                for block in bench.log.blocks[count...] {
                    joins += max(0, try Block(opening: block, checks: .hashes(Workload.hash)).rows.requests.count - 1)
                }
            } else {
                answers = try bench.ask(commands, at: now)
            }
            for (index, command) in commands.enumerated() {
                #expect("\(answers[index])" == "\(expected[index])", "seed \(seed), batch \(batch): \(command)")
            }
            switch Int.random(in: 0..<20, using: &workload.generator) {
            case 0..<6:
                bench.projection.release()
                _ = try bench.engine.journal(JournalQuery(after: 0, limit: 1))
            case 6: bench.projection.hold()
            case 7..<11: bench.projection.release()
            case 12:
                bench.projection.release()
                try bench.engine.close()
                storage = bench.log.storage
                bench = try open(storage)
            default: break
            }
        }
        #expect(joins > 0, "seed \(seed): no batch became part of the block before it")
        bench.projection.release()
        try compare(bench, &reference, "seed \(seed)")
        try bench.engine.close()
    }

    /// Each command is a batch of its own; most are decided before the block of the first is durable.
    private func askWhileTheLogIsBusy(
        _ bench: Bench, _ commands: [Command], at now: Timestamp
    ) throws -> [Outcome] {
        bench.log.hold()
        let areSent = DispatchSemaphore(value: 0)
        let released = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            // Some batches wait for the log before they are decided.
            _ = areSent.wait(timeout: .now() + .milliseconds(20))
            bench.log.release()
            released.signal()
        }
        let pending = commands.map { bench.send($0, at: now) }
        areSent.signal()
        released.wait()
        return try pending.map { try $0.get() }
    }

    private func open(_ storage: MemoryLog.Storage) throws -> Bench {
        try Bench(storage, catalog: Workload.catalog) {
            $0.cachedPlayersMax = 3
            $0.projectionStepBytes = 4_000
            $0.idleMilliseconds = 3
            // Held up by a test, it must not hold the test up.
            $0.unprojectedBytesMax = 1 << 30
            $0.unprojectedBlocksMax = 1 << 20
        }
    }

    /// The journal, every balance, every purchase and the trial balance are those of the books; and so are they when
    /// computed anew from the blocks.
    private func compare(_ bench: Bench, _ reference: inout Books, _ place: Comment) throws {
        for player in reference.players.values {
            let ask = Command.balance(account: player.name, currency: nil)
            #expect("\(try bench.ask(ask, at: 0))" == "\(reference.decide(ask, at: 0))", place)
        }
        var entries: [JournalEntry] = []
        var after: EntryID = 0
        while true {
            let page = try bench.engine.journal(JournalQuery(after: after, limit: 100))
            if page.entries.isEmpty { break }
            entries += page.entries
            after = page.next
        }
        #expect(entries.map(\.entry) == reference.rows.entries.map(\.id), place)
        #expect(entries.flatMap(\.transfers).map(\.transfer) == reference.rows.transfers.map(\.id), place)
        #expect(entries.flatMap(\.transfers).map(\.lot) == reference.rows.transfers.map(\.lot), place)
        let trial = try bench.engine.report(ReportQuery(kind: .trial, asOf: Timestamp.max / 2))
        for case .trial(let code, let kind, let debits, let credits) in trial.rows {
            let currency = try #require(reference.currencyID(code))
            let turnover = reference.totals[currency, kind]
            // Reports count as expired what the journal has not posted yet.
            if kind != .wallet && kind != .expired {
                #expect(Totals.Turnover(debits: debits, credits: credits) == turnover, place)
            }
        }
        let folder = try TemporaryFolder()
        let anew = try SQLiteProjection(
            path: folder.path("anew.sqlite"), ledger: Bench.ledger, hash: Workload.hash)
        try anew.apply(bench.log.blocks)
        #expect(try anew.state().head == bench.projection.state().head, place)
        #expect(
            try anew.journal(JournalQuery(after: 0, limit: 1_000))
                == bench.projection.journal(JournalQuery(after: 0, limit: 1_000)), place)
        for (id, register) in reference.purchases {
            let query = PurchaseQuery(transaction: id, limit: 1_000)
            let view = try bench.engine.purchase(query)
            #expect(try anew.purchase(query) == view, place)
            let newest = view.events.last { $0.revoked != nil }
            // What was imported is older than whatever Apple signed of it.
            let stated = register.facts.source == .imported ? register.facts.purchaseDate : newest?.time
            let date = newest?.kind == .stated ? stated : newest?.signedDate
            #expect(date == register.signedDate && newest?.revoked == register.revoked, place)
            #expect(view.events.compactMap(\.entry).max() == register.lastEntry, place)
        }
        try anew.close()
    }
}
