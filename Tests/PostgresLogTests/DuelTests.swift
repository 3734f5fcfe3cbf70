#if Postgres
import LedgerTestKit
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

    /// So the two tests above would fail if it were not for the primary key.
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
