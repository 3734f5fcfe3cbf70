import Ledger
import LedgerTestKit
import Testing

@testable import LedgerEngine

/// Who is served next where many wait.
@Suite struct FairQueueTests {
    private struct Bench {
        var queue = FairQueue(lane: { $0.verified }, tenant: { $0.queues[0].verified }, cost: { $0.operations.count })
        let tenants: [Tenant]
        let lanes: [(lane: Lane, tenant: Int)]

        /// - Parameters:
        ///   - shares: of each tenant.
        ///   - lanes: how many each of them has.
        init(shares: [Int], lanes: Int = 1) {
            tenants = shares.map { Tenant(share: $0) }
            self.lanes = shares.indices.flatMap { tenant in
                (0..<lanes).map { _ in (Lane(outlet: .queue()) { _ in }, tenant) }
            }
        }

        /// - Parameter tenant: another than the lane's own.
        mutating func add(_ lane: Int, cost: Int = 1, as tenant: Int? = nil) {
            queue.append(
                Submission(
                    lane: lanes[lane].lane, tenant: tenants[tenant ?? lanes[lane].tenant],
                    operations: Array(repeating: .command(.expire), count: cost)))
        }

        /// The lanes of the next submissions, and what each costs.
        mutating func take(_ count: Int = .max) -> [(lane: Int, cost: Int)] {
            var taken: [(lane: Int, cost: Int)] = []
            while taken.count < count, let first = queue.first() {
                let submission = queue.removeFirst()
                #expect(first.lane === submission.lane && first.operations.count == submission.operations.count)
                taken.append((lanes.firstIndex { $0.lane === submission.lane } ?? -1, submission.operations.count))
            }
            return taken
        }
    }

    private static let quantum = FairQueue.quantum

    @Test func oneLaneIsServedInItsOrder() {
        var bench = Bench(shares: [1])
        for cost in [3, 8, 1, 64, 8, 8] { bench.add(0, cost: cost) }
        #expect(bench.queue.count == 6)
        #expect(bench.take().map(\.cost) == [3, 8, 1, 64, 8, 8])
        #expect(bench.queue.isEmpty && bench.queue.first() == nil)
    }

    @Test func whoSendsLittleIsServedBeforeThoseWhoSendMuch() {
        var bench = Bench(shares: [1, 1, 1])
        for _ in 0..<10_000 { bench.add(0) }
        for _ in 0..<10_000 { bench.add(1, cost: 64) }
        _ = bench.take(100)
        for _ in 0..<50 {
            bench.add(2)
            #expect(bench.take(1).map(\.lane) == [2])
            // A round without anything of it.
            _ = bench.take(100)
        }
        // No more than its turn goes before the others'.
        for _ in 0..<(2 * Self.quantum) { bench.add(2) }
        let first = bench.take(2 * Self.quantum).map(\.lane)
        #expect(first.prefix(Self.quantum).allSatisfy { $0 == 2 } && first.contains(0))
    }

    @Test func whoSendsLittleButAlwaysDoesNotStarveTheOthers() {
        var bench = Bench(shares: [1, 1])
        for _ in 0..<5_000 { bench.add(0) }
        var served = [0, 0]
        for _ in 0..<4_000 {
            bench.add(1)
            for (lane, _) in bench.take(1) { served[lane] += 1 }
        }
        #expect(served[0] >= 1_900, "the turns are the same")
    }

    @Test(arguments: [8, 64]) func tenantsAreServedByTheirShares(costMax: Int) {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let shares = [1, 2, 5]
        var bench = Bench(shares: shares)
        // All have something to the end of what is looked at.
        for lane in shares.indices {
            for _ in 0..<4_000 { bench.add(lane, cost: Int.random(in: 1...costMax, using: &random)) }
        }
        var served = [0, 0, 0]
        for (lane, cost) in bench.take(4_000) { served[lane] += cost }
        let round = Double(served.reduce(0, +)) / Double(shares.reduce(0, +))
        for lane in shares.indices {
            let expected = round * Double(shares[lane])
            // What a turn can leave over or take ahead.
            #expect(abs(Double(served[lane]) - expected) <= Double(2 * costMax + 3 * Self.quantum * 5), "seed \(seed)")
        }
    }

    @Test func manyConnectionsOfOneNameHaveTheTurnsOfOne() {
        var bench = Bench(shares: [1, 1], lanes: 100)
        for lane in 0..<100 { for _ in 0..<50 { bench.add(lane) } }
        for _ in 0..<2_000 { bench.add(100) }
        _ = bench.take(2 * Self.quantum)
        var served = [0, 0]
        var lanes: Set<Int> = []
        for (lane, _) in bench.take(200 * Self.quantum) {
            served[lane == 100 ? 1 : 0] += 1
            lanes.insert(lane)
        }
        #expect(served == [100 * Self.quantum, 100 * Self.quantum])
        #expect(lanes.count == 101, "each of the many comes on in its turn")
        #expect(bench.take().count == 5_000 + 2_000 - 202 * Self.quantum && bench.queue.isEmpty)
    }

    @Test func aConnectionUnderAnotherNameHasTheTurnsOfThatWhenWhatWaitedIsDone() {
        var bench = Bench(shares: [1, 1], lanes: 2)
        // The first name has much to do, and the connection asks for it, then under the second name.
        for _ in 0..<1_000 { bench.add(1) }
        for _ in 0..<Self.quantum { bench.add(0) }
        for _ in 0..<100 { bench.add(0, as: 1) }
        let first = bench.take(4 * Self.quantum).count { $0.lane == 0 }
        #expect(first == 2 * Self.quantum, "in the turns of the first name, with the other connection")
        _ = bench.take()
        for _ in 0..<1_000 { bench.add(1) }
        _ = bench.take(100)
        bench.add(0, as: 1)
        #expect(bench.take(1).map(\.lane) == [0], "the second name had nothing for a round")
    }

    @Test func whatALaneDidNotUseIsNotSavedUp() {
        var bench = Bench(shares: [1, 1])
        for _ in 0..<100 {
            bench.add(0)
            #expect(bench.take().map(\.lane) == [0])
        }
        for _ in 0..<100 {
            bench.add(0)
            bench.add(1)
        }
        let first = bench.take(4 * Self.quantum).map(\.lane)
        #expect(first.count { $0 == 0 } == 2 * Self.quantum)
    }

    @Test func whatWasFoundToCostMoreIsPaidWithTurns() {
        var bench = Bench(shares: [1, 1])
        for _ in 0..<100 {
            bench.add(0)
            bench.add(1)
        }
        #expect(bench.take(1).map(\.lane) == [0])
        bench.queue.charge(bench.lanes[0].lane, 3 * Self.quantum)
        let next = bench.take(4 * Self.quantum).map(\.lane)
        #expect(next.prefix(3 * Self.quantum).allSatisfy { $0 == 1 })
        #expect(bench.take().count { $0.lane == 0 } + next.count { $0 == 0 } == 99)
    }

    /// Against a model that keeps only each lane's order.
    @Test func nothingIsLostAndEveryLaneKeepsItsOrder() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        var bench = Bench(shares: [1, 3, 1, 7], lanes: 3)
        var waiting: [[Int]] = Array(repeating: [], count: 12)
        for _ in 0..<20_000 {
            if random.chance(1) {
                let lane = Int.random(in: 0..<12, using: &random)
                let removed = bench.queue.removeAll(of: bench.lanes[lane].lane)
                #expect(removed.map(\.operations.count) == waiting[lane], "seed \(seed)")
                waiting[lane] = []
            } else if random.chance(1) {
                bench.queue.charge(bench.lanes[Int.random(in: 0..<12, using: &random)].lane, 1_000)
            } else if random.chance(50) {
                let (lane, cost) = (Int.random(in: 0..<12, using: &random), Int.random(in: 1...64, using: &random))
                bench.add(lane, cost: cost, as: random.chance(5) ? Int.random(in: 0..<4, using: &random) : nil)
                waiting[lane].append(cost)
            } else if let (lane, cost) = bench.take(1).first {
                let expected = waiting[lane].removeFirst()
                #expect(cost == expected, "seed \(seed)")
            }
            #expect(bench.queue.count == waiting.reduce(0) { $0 + $1.count }, "seed \(seed)")
        }
    }

    @Test func whatIsTakenAwayOfOneLaneLeavesTheOthersTheirTurns() {
        var bench = Bench(shares: [1, 1, 2])
        for lane in 0..<3 { for _ in 0..<50 { bench.add(lane) } }
        _ = bench.take(3)
        let removed = bench.queue.removeAll(of: bench.lanes[1].lane)
        #expect(removed.count == 50 && bench.queue.count == 97)
        let again = bench.queue.removeAll(of: bench.lanes[1].lane)
        #expect(again.isEmpty)
        bench.add(1)
        let rest = bench.take().map(\.lane)
        #expect(rest.filter { $0 == 0 }.count == 47 && rest.filter { $0 == 1 }.count == 1)
        #expect(rest.filter { $0 == 2 }.count == 50 && bench.queue.isEmpty)
    }
}
