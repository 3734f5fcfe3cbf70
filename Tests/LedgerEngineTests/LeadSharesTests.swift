import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// How the leads of several ledgers come to be spread over their nodes.
@Suite struct LeadSharesTests {
    /// Nodes that all serve the same ledgers. Time goes on by steps, and in each a node may be given a lead.
    private struct Cluster {
        let weights: [Int]
        var leaders: [Int]
        var shares: [LeadShares]
        var now: UInt64 = monotonicNanoseconds()
        var changes = 0

        init(weights: [Int], leaders: [Int]) {
            self.weights = weights
            self.leaders = leaders
            shares = weights.map { weight in
                LeadShares(weights: leaders.map { _ in weight }, steadyMilliseconds: 1)
            }
            look()
        }

        func look() {
            for (node, shares) in shares.enumerated() {
                for (place, leader) in leaders.enumerated() {
                    if leader == node {
                        shares.noteOwn(at: place)
                    } else {
                        shares.note(LogLeader(node: "\(leader)", address: "", weight: weights[leader]), at: place)
                    }
                }
            }
        }

        /// Each node looks at each of its ledgers, in an order of its own, and is given what it asks for.
        mutating func round(_ random: inout SplitMix64) {
            now += 100_000_000
            for node in weights.indices.shuffled(using: &random) {
                for place in leaders.indices.shuffled(using: &random)
                where leaders[place] != node && shares[node].isWanted(at: place, now: now) {
                    leaders[place] = node
                    changes += 1
                    look()
                    now += 100_000_000
                }
            }
        }

        /// What each node has to do.
        var loads: [Double] {
            weights.indices.map { node in Double(leaders.count { $0 == node }) / Double(weights[node]) }
        }
    }

    @Test(arguments: 0..<200)
    func leadsComeToRestByTheNodesWeights(number: Int) throws {
        var random = SplitMix64(seed: UInt64(number))
        let nodes = Int.random(in: 1...6, using: &random)
        let weights = (0..<nodes).map { _ in Int.random(in: 1...5, using: &random) }
        let leaders = (0..<Int.random(in: 2...20, using: &random)).map { _ in Int.random(in: 0..<nodes, using: &random)
        }
        var cluster = Cluster(weights: weights, leaders: leaders)
        for _ in 0..<100 { cluster.round(&random) }
        let before = cluster.changes
        for _ in 0..<20 { cluster.round(&random) }
        #expect(cluster.changes == before, "they come to rest")
        #expect(before <= leaders.count * nodes)
        // No node would have less to do with one more lead than another has.
        for node in weights.indices {
            for other in weights.indices where cluster.leaders.contains(other) {
                #expect(
                    cluster.loads[node] + 1 / Double(weights[node]) >= cluster.loads[other] - 1e-9, "\(cluster.loads)")
            }
        }
    }

    @Test func nothingIsAskedForBeforeTheLeadsAreSteadyAndKnown() {
        let shares = LeadShares(weights: [1, 1], steadyMilliseconds: 1_000)
        let a = LogLeader(node: "a", address: "")
        let second: UInt64 = 1_000_000_000
        let later = { monotonicNanoseconds() + $0 * second }
        shares.note(a, at: 0)
        #expect(!shares.isWanted(at: 0, now: later(9)), "of the other ledger nobody knows who leads")
        shares.note(a, at: 1)
        #expect(!shares.isWanted(at: 0, now: monotonicNanoseconds()))
        #expect(shares.isWanted(at: 0, now: later(2)))
        #expect(!shares.isWanted(at: 1, now: later(2)), "one at a time")
        #expect(!shares.isWanted(at: 0, now: later(9)), "it was asked for, and not given")
        #expect(shares.isWanted(at: 0, now: later(90)))
        shares.noteOwn(at: 0)
        #expect(!shares.isWanted(at: 1, now: later(200)), "each has one")
    }

    @Test func whoLeadsAllIsAskedForAsManyAsTheWeightsSay() {
        var random = SplitMix64(seed: 1)
        var cluster = Cluster(weights: [1, 3], leaders: [0, 0, 0, 0, 0, 0, 0, 0])
        for _ in 0..<20 { cluster.round(&random) }
        #expect(cluster.leaders.count { $0 == 1 } == 6)
    }
}
