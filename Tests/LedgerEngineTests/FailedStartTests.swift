import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// A start while the log cannot be written: what is durable is read, and the rest goes on when the log works again.
@Suite struct FailedStartTests {
    private static let ann = AccountName("ann")!
    private static let full = LogError(.notAppended, "the test's disk is full")

    private static func lived() throws -> MemoryLog.Storage {
        let bench = try Bench()
        _ = try bench.ask(.grant("a", "ann", 100))
        _ = try bench.ask(.spend("s", "ann", 30))
        try bench.engine.close()
        return bench.log.storage
    }

    @Test(arguments: [LogError.Kind.notAppended, .unknown])
    func whatIsDurableIsReadAndTheRestIsRefused(kind: LogError.Kind) throws {
        let storage = try Self.lived()
        let count = storage.blocks.count
        let errors = Array(repeating: LogError(kind, "the test's disk is full"), count: 40)
        let bench = try Bench(
            storage,
            prepare: {
                for error in errors { $0.failLeads(error) }
            })
        #expect(bench.reports.contains { $0.contains("logFailed") })
        for _ in 0..<5 {
            #expect(try bench.available("ann") == 70)
            #expect(try bench.engine.history(HistoryQuery(account: Self.ann)).entries.count == 2)
            #expect { try bench.ask(.spend("t", "ann", 1)) } throws: { ($0 as? StoreError)?.kind == .unavailable }
        }
        #expect(storage.blocks.count == count)
        // The disk has room again.
        #expect(
            try eventually {
                guard case .success = Result(catching: { try bench.ask(.spend("t", "ann", 1)) }) else { return false }
                return true
            })
        #expect(try bench.available("ann") == 69)
        #expect(bench.reports.contains { $0.contains("logWorksAgain") })
        try bench.engine.close()
        let next = try Bench(storage)
        #expect(try next.available("ann") == 69)
        try next.engine.close()
    }

    /// A currency that the catalog has got meanwhile is in no block yet, and keeps nobody from reading.
    /// - Parameter leads: whether the disk has room for the leader's block, and for no other.
    @Test(arguments: [false, true])
    func aNewCurrencyWaitsForTheLog(leads: Bool) throws {
        let storage = try Self.lived()
        let more = CurrencyCode("more")!
        var currencies = Catalog.small.currencies
        currencies[more] = CurrencySettings()
        let catalog = Catalog(currencies: currencies, products: Catalog.small.products)
        let bench = try Bench(
            storage, catalog: catalog,
            prepare: { log in
                if leads { return log.failAppends(.notAppended, after: 1) }
                for _ in 0..<10 { log.failLeads(Self.full) }
            })
        #expect(try bench.available("ann") == 70)
        #expect(bench.reports.contains { $0.contains("logFailed") })
        let grant = Command.grant(
            Grant(key: RequestKey("m")!, account: Self.ann, currency: more, amount: Amount(3)!))
        #expect(
            try eventually {
                guard case .success = Result(catching: { try bench.ask(grant) }) else { return false }
                return true
            })
        guard case .balance(let told) = try bench.ask(.balance(account: Self.ann, currency: more)) else {
            Issue.record("no balance")
            return
        }
        #expect(told.balances.map(\.balance.available) == [3])
        try bench.engine.close()
    }

    @Test func whatCannotGetBetterEndsTheStart() throws {
        let storage = try Self.lived()
        for kind in [LogError.Kind.corrupt, .superseded] {
            #expect(throws: LogError.self) {
                _ = try Bench(storage, prepare: { $0.failLeads(LogError(kind, "another writer, or damage")) })
            }
        }
        // A ledger without a block, or with only its leader's, has nothing to be read.
        #expect(throws: LogError.self) { _ = try Bench(prepare: { $0.failLeads(Self.full) }) }
        let begun = MemoryLog.Storage()
        #expect(throws: LogError.self) {
            _ = try Bench(begun, prepare: { $0.failAppends(.notAppended, after: 1) })
        }
        #expect(begun.blocks.count == 1)
        #expect(throws: LogError.self) { _ = try Bench(begun, prepare: { $0.failLeads(Self.full) }) }
    }
}
