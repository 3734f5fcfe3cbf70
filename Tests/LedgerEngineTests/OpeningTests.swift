import Ledger
import LedgerTestKit
import Synchronization
import Testing

@testable import LedgerEngine

/// While a store is being opened everybody is told so; then it is as if it had been there from the beginning.
@Suite struct OpeningTests {
    private struct Broken: Error {}

    /// What a commit ends with.
    private static func commit(_ store: any Store, _ command: Command) throws -> Outcome {
        let result = Mutex<Result<Outcome, StoreError>?>(nil)
        var needs = Needs()
        needs.add(command)
        store.commit(needs, isLast: true) { books in
            books.decide(command, at: Bench.now)
        } done: { done in
            result.withLock { $0 = done }
        }
        #expect(try eventually { result.withLock { $0 != nil } })
        guard let result = result.withLock({ $0 }) else { throw StoreError("a batch is never done") }
        return try result.get()
    }

    @Test func whoAsksIsToldHowFarItIs() throws {
        let bench = try Bench()
        let mayOpen = Mutex(false)
        let store = try OpeningStore(engine: "e", failed: { Issue.record("\($0)") }) { progress in
            try progress("block 3 of 9")
            while !mayOpen.withLock({ $0 }) { pause(milliseconds: 1) }
            return bench.engine
        }
        #expect(try store.wait(milliseconds: 5) == false)
        let account = AccountName("ann")!
        var errors: [StoreError?] = []
        errors.append(#expect(throws: StoreError.self) { try Self.commit(store, .grant("a", "ann", 5)) })
        errors.append(#expect(throws: StoreError.self) { try store.history(HistoryQuery(account: account)) })
        errors.append(
            #expect(throws: StoreError.self) { try store.balances(account, currency: nil, asOf: Bench.now) })
        errors.append(
            #expect(throws: StoreError.self) { try store.report(ReportQuery(kind: .balances, asOf: Bench.now)) })
        errors.append(#expect(throws: StoreError.self) { try store.journal(JournalQuery(after: 0)) })
        errors.append(#expect(throws: StoreError.self) { try store.find(.account(account)) })
        #expect(errors.allSatisfy { $0?.kind == .notReady && $0?.description == "block 3 of 9" })
        #expect(store.fault() == nil && store.time(at: 7) == 7)
        mayOpen.withLock { $0 = true }
        #expect(try store.wait(milliseconds: 60_000))
        guard case .grant = try Self.commit(store, .grant("a", "ann", 5)) else {
            Issue.record("not granted")
            return
        }
        #expect(try store.history(HistoryQuery(account: account)).entries.count == 1)
        #expect(try store.find(.account(account)) == .account(Finding.Account(name: account)))
        try store.close()
        #expect(throws: StoreError.self) { try bench.ask(.grant("b", "ann", 5)) }
    }

    @Test func whatKeepsItFromOpeningIsToldOnce() throws {
        let told = Mutex(0)
        let store = try OpeningStore(engine: "e", failed: { _ in told.withLock { $0 += 1 } }) { _ in throw Broken() }
        #expect(throws: Broken.self) { try store.wait(milliseconds: 60_000) }
        let error = #expect(throws: StoreError.self) { try store.journal(JournalQuery(after: 0)) }
        #expect(error?.description.contains("cannot be opened") == true)
        #expect(throws: Broken.self) { try store.close() }
        #expect(told.withLock { $0 } == 1)
    }

    @Test func closingEndsTheOpening() throws {
        let store = try OpeningStore(engine: "e", failed: { Issue.record("\($0)") }) { progress in
            while true {
                try progress("on the way")
                pause(milliseconds: 1)
            }
        }
        #expect(try store.wait(milliseconds: 5) == false)
        try store.close()
        #expect(throws: StoreError.self) { try store.journal(JournalQuery(after: 0)) }
    }
}
