import Ledger
import LedgerTestKit
import Testing

extension ServerTests {
    /// The service's own sweeps.
    @Suite struct Sweeps {
        @Test func theServiceSweepsFromItsStartToItsEndOneAtATime() async throws {
            let store = FaultyStore(areSweepsMeant: true)
            try await TestServer.run(store: store, engineLimits: { $0.expirySweepMilliseconds = 10 }) { server in
                #expect(try await eventually { store.commits >= 5 })
                let blocks = store.base.blocks
                store.hold()
                #expect(try await eventually { store.waiting == 1 })
                let begun = store.commits
                try await Task.sleep(for: .milliseconds(100))
                #expect(store.waiting == 1 && store.commits == begun)
                store.release()
                // A sweep that fails is not the last, and a request is answered in between.
                store.failCommits(1)
                #expect(try await eventually { store.commits >= begun + 5 })
                let reply = try await server.connect().ask(Requests.grant("g", "a", 1))
                #expect(reply.result["entry"].int == 1)
                #expect(store.base.blocks == blocks + 1, "a sweep that finds nothing writes nothing")
            }
            let commits = store.commits
            try await Task.sleep(for: .milliseconds(50))
            #expect(store.commits == commits && store.base.isClosed)
        }
    }
}
