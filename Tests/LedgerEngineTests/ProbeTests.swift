import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// What tells a ledger that works from one that is stuck.
@Suite struct ProbeTests {
    @Test func aProbeIsAnsweredWhenTheOneOrderMovesAndOnlyThen() async throws {
        let store = FaultyStore()
        var limits = EngineLimits()
        limits.expirySweepMilliseconds = 3_600_000
        let ledger = try RunningLedger(
            store: store, verifier: try SandboxApp().verifier, limits: limits, now: { SandboxApp.date + 60_000 },
            report: { _ in })
        ledger.start()
        let answers = Monitor(0)
        func probe() { ledger.probe { answers.withLock { $0 += 1 } } }
        func areAnswered(_ count: Int) -> Bool { answers.withLock { $0 } == count }
        probe()
        #expect(try eventually { areAnswered(1) })
        store.hold()
        probe()
        #expect(try eventually { store.waiting == 1 })
        #expect(areAnswered(1))
        store.release()
        #expect(try eventually { areAnswered(2) })
        // A ledger that cannot write works still: it says so to everybody.
        store.failCommits(1)
        probe()
        #expect(try eventually { areAnswered(3) })
        try await ledger.stop()
    }
}
