#if Postgres
import Foundation
import LedgerTestKit
import Synchronization
import Testing

/// Several nodes fight for the lead of one ledger, while connections are cut before and after each commit.
@Suite(.serialized) struct DuelTests {
    @Test(arguments: [1, 2] as [UInt64])
    func theChainIsOneChainWhoeverLeads(seed: UInt64) throws {
        let duel = try Duel(nodes: 3, mayEnd: true)
        try duel.fight(seed: Seed.drawn(or: seed), blocks: 300)
        let faults = try duel.history.faults(duel.ledger.session())
        #expect(faults == [])
        print(duel.summary)
        #expect(duel.history.count(.durable) >= 300)
    }

    /// Sessions of former leaders go on: the primary key alone keeps their appends out.
    @Test(arguments: [4, 5] as [UInt64])
    func theChainIsOneChainWhereNobodyMayEndASession(seed: UInt64) throws {
        let duel = try Duel(nodes: 3, mayEnd: false)
        try duel.fight(seed: Seed.drawn(or: seed), blocks: 300)
        let faults = try duel.history.faults(duel.ledger.session())
        #expect(faults == [])
        print(duel.summary)
        #expect(duel.history.count(.durable) >= 300)
    }

    /// PostgreSQL ends all sessions and recovers from its write-ahead log when one of its processes is killed.
    @Test func theChainIsOneChainWhileTheServerCrashes() throws {
        let server = try PostgresServer()
        defer { server.stop() }
        let duel = try Duel(nodes: 2, mayEnd: true, on: server)
        let crashes = Mutex(0)
        let isOver = Mutex(false)
        inThread {
            var random = SplitMix64(seed: 8)
            while !isOver.withLock({ $0 }) {
                usleep(.random(in: 300_000...900_000, using: &random))
                let sessions = try? PlainSession(server.uri()).run(
                    """
                    SELECT pid FROM pg_stat_activity
                    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1
                    """)
                if let pid = sessions?.first.flatMap({ Int32($0[0]) }), kill(pid, SIGKILL) == 0 {
                    crashes.withLock { $0 += 1 }
                }
            }
        }
        try duel.fight(seed: 7, blocks: 200)
        isOver.withLock { $0 = true }
        var faults: [String]?
        // It may be recovering.
        for _ in 0..<100 where faults == nil {
            faults = try? duel.history.faults(duel.ledger.session())
            if faults == nil { usleep(100_000) }
        }
        #expect(faults == [])
        print("\(duel.summary); the server crashed \(crashes.withLock { $0 }) times")
        #expect(duel.history.count(.durable) >= 200)
        #expect(crashes.withLock { $0 } > 0)
    }

    /// So the tests above would fail if it were not for the primary key.
    @Test func withoutThePrimaryKeyTheChainIsBroken() throws {
        var found: [String] = []
        for seed in 4...20 as ClosedRange<UInt64> where found.isEmpty {
            let duel = try Duel(nodes: 3, mayEnd: false)
            try duel.ledger.session().run("ALTER TABLE block DROP CONSTRAINT block_pkey")
            try duel.fight(seed: seed, blocks: 300)
            found = try duel.history.faults(duel.ledger.session())
            print("seed \(seed): \(found.prefix(3)) \(duel.summary)")
        }
        #expect(!found.isEmpty, "nothing depends on the primary key")
    }
}

extension Duel {
    var summary: String {
        "\(history.count(.durable)) durable, \(history.count(.unknown)) unknown, "
            + "\(history.count(.superseded)) superseded, \(history.count(.notAppended)) not appended"
    }
}
#endif
