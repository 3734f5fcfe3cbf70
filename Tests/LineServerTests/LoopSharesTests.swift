import LedgerEngine
import LedgerTestKit
import NIOCore
import Testing

@testable import LineServer

/// Whose requests an event loop looks at next, by a clock of the test's own.
@Suite struct LoopSharesTests {
    /// An event loop without I/O: what was scheduled comes when its time is there and nothing else is done.
    private final class Bench {
        private(set) var now = NIODeadline.uptimeNanoseconds(1_000_000_000)
        private var scheduled: [(time: NIODeadline, work: () -> Void)] = []
        var limits = ServerLimits()
        lazy var shares = LoopShares(limits: limits, now: { self.now }) { self.scheduled.append(($0, $1)) }
        /// What was done, and when it was over.
        private(set) var done: [(name: String, at: NIODeadline)] = []

        /// Something that keeps the loop for so many microseconds.
        func ask(_ name: String, microseconds: Int64, of tenant: Tenant?, then: @escaping () -> Void = {}) {
            shares.run(for: tenant) {
                self.now = self.now + .microseconds(microseconds)
                self.done.append((name, self.now))
                then()
            }
        }

        /// Lets what is scheduled come until a time.
        func pass(until end: NIODeadline) {
            while let next = scheduled.indices.min(by: { scheduled[$0].time < scheduled[$1].time }),
                max(scheduled[next].time, now) < end
            {
                let (time, work) = scheduled.remove(at: next)
                now = max(now, time)
                work()
            }
            now = max(now, end)
        }

        /// A tenant's connection that has something again as soon as it was looked at.
        func flood(_ name: String, microseconds: Int64, of tenant: Tenant?) {
            ask(name, microseconds: microseconds, of: tenant) { [unowned self] in
                scheduled.append((now, { self.flood(name, microseconds: microseconds, of: tenant) }))
            }
        }
    }

    @Test func aTenantThatIsAloneHasNearlyAllOfTheLoop() {
        let bench = Bench()
        let begin = bench.now
        for _ in 0..<50 { bench.flood("a", microseconds: 100, of: nil) }
        bench.pass(until: begin + .milliseconds(100))
        #expect(bench.done.count > 940)
    }

    @Test func whoAsksForLittleWaitsForLittleOfWhatAnotherSends() {
        let bench = Bench()
        let (many, one) = (Tenant(), Tenant())
        let begin = bench.now
        bench.ask("one", microseconds: 10, of: one)
        for _ in 0..<100 { bench.flood("many", microseconds: 600, of: many) }
        var waits: [Int64] = []
        for number in 1...100 {
            bench.pass(until: begin + .milliseconds(Int64(number) * 3))
            let asked = begin + .milliseconds(Int64(number) * 3)
            bench.ask("one", microseconds: 10, of: one)
            waits.append(((bench.done.last { $0.name == "one" })!.at - asked).nanoseconds / 1_000)
        }
        // One turn of the other's, at most: it could not be broken off.
        #expect(waits.max()! <= 620, "\(waits)")
        // The other has half of the loop, though little is asked for beside it.
        let used = bench.done.count { $0.name == "many" } * 600
        #expect((140_000...160_000).contains(used), "\(used)")
    }

    @Test func timeIsSharedAsTheTenantsSharesSay() {
        let bench = Bench()
        let tenants = [("purchases", Tenant(share: 4)), ("finance", Tenant(share: 1))]
        let begin = bench.now
        for (name, tenant) in tenants { for _ in 0..<20 { bench.flood(name, microseconds: 50, of: tenant) } }
        bench.pass(until: begin + .milliseconds(500))
        let counts = tenants.map { name, _ in bench.done.count { $0.name == name } }
        let ratio = Double(counts[0]) / Double(counts[1])
        #expect((3.4...4.6).contains(ratio), "\(counts)")
    }

    @Test func whatATenantSendsIsLookedAtInItsOrderAndToItsEnd() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let bench = Bench()
        let tenants: [Tenant?] = [nil, Tenant(), Tenant(share: 4)]
        var asked: [[String]] = [[], [], []]
        for number in 0..<3_000 {
            let tenant = Int.random(in: 0..<3, using: &random)
            let name = "\(tenant).\(number)"
            asked[tenant].append(name)
            bench.ask(name, microseconds: Int64.random(in: 1...900, using: &random), of: tenants[tenant])
            if random.chance(20) { bench.pass(until: bench.now + .microseconds(700)) }
        }
        bench.pass(until: bench.now + .seconds(100))
        for tenant in 0..<3 {
            #expect(bench.done.map(\.name).filter { $0.hasPrefix("\(tenant).") } == asked[tenant], "seed \(seed)")
        }
    }

    @Test func whatCannotWaitIsPaidAfterwards() {
        let bench = Bench()
        let (writer, other) = (Tenant(), Tenant())
        bench.ask("other", microseconds: 1, of: other)
        let begin = bench.now
        bench.pass(until: begin + .milliseconds(10))
        bench.shares.charge(writer, since: begin)
        bench.ask("writer", microseconds: 1, of: writer)
        #expect(bench.done.map(\.name) == ["other"])
        bench.pass(until: begin + .milliseconds(19))
        #expect(bench.done.map(\.name) == ["other"])
        bench.pass(until: begin + .milliseconds(21))
        #expect(bench.done.map(\.name) == ["other", "writer"])
    }
}
