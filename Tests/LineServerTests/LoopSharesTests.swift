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
        var scheduledCount: Int { scheduled.count }
        var limits = ServerLimits()
        lazy var shares = LoopShares(limits: limits, now: { self.now }) { self.scheduled.append(($0, $1)) }
        /// What was done, and when it was over.
        private(set) var done: [(name: String, at: NIODeadline)] = []

        /// Something that keeps the loop for so many microseconds.
        func ask(
            _ name: String, microseconds: Int64, bytes: Int = 0, of tenant: Tenant?, isInVain: Bool = false,
            behind: @escaping () -> Void = {}, then: @escaping () -> Void = {}
        ) {
            shares.run(for: tenant, bytes: bytes, then: behind) {
                self.now = self.now + .microseconds(microseconds)
                self.done.append((name, self.now))
                then()
                return LoopShares.Yield(lines: 1, inVain: isInVain ? 1 : 0)
            }
        }

        /// Something else keeps the loop.
        func spend(microseconds: Int64) { now = now + .microseconds(microseconds) }

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
        func flood(_ name: String, microseconds: Int64, bytes: Int = 0, of tenant: Tenant?, isInVain: Bool = false) {
            ask(name, microseconds: microseconds, bytes: bytes, of: tenant, isInVain: isInVain) { [unowned self] in
                scheduled.append(
                    (
                        now,
                        {
                            self.flood(name, microseconds: microseconds, bytes: bytes, of: tenant, isInVain: isInVain)
                        }
                    ))
            }
        }
    }

    /// What is read of HTTP asks so.
    @Test func whoAsksForTheNextTurnBehindEachHasOneThatIsToCome() {
        let bench = Bench()
        var left = 200
        func ask() {
            if left == 0 { return }
            left -= 1
            bench.ask("a", microseconds: 700, of: nil, behind: ask)
        }
        ask()
        ask()
        var scheduledMost = 0
        while left > 0 {
            bench.pass(until: bench.now + .microseconds(100))
            scheduledMost = max(scheduledMost, bench.scheduledCount)
        }
        #expect(scheduledMost == 1)
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
        // The other has nearly all that the one does not need.
        let used = bench.done.count { $0.name == "many" } * 600
        #expect((270_000...300_000).contains(used), "\(used)")
    }

    @Test func whoAsksForMuchHasAllThatTwentyOthersDoNotNeed() {
        let bench = Bench()
        let (many, others) = (Tenant(), (0..<20).map { _ in Tenant(share: 4) })
        let begin = bench.now
        for _ in 0..<100 { bench.flood("many", microseconds: 50, of: many) }
        var waits: [Int64] = []
        for step in 1...500 {
            let asked = begin + .milliseconds(Int64(step))
            bench.pass(until: asked)
            // Each some 50 times a second: they take a twentieth of the time.
            bench.ask("other", microseconds: 50, of: others[step % 20])
            waits.append((bench.now - asked).nanoseconds / 1_000)
        }
        let used = bench.done.count { $0.name == "many" } * 50
        #expect(used > 425_000, "\(used) of 500,000")
        #expect(waits.max()! <= 150, "\(waits.max()!)")
    }

    @Test func nobodyWaitsForLongerThanTheLongestPause() {
        let bench = Bench()
        let (game, begin) = (Tenant(share: 100), bench.now)
        for _ in 0..<20 { bench.flood("game", microseconds: 100, of: game) }
        bench.ask("junk", microseconds: 60_000, of: nil, isInVain: true)
        var isDone = false
        bench.ask("honest", microseconds: 10, of: nil) { isDone = true }
        bench.pass(until: begin + .milliseconds(60 + 20 + 5))
        #expect(isDone)
    }

    /// First pieces of connections are looked at at once, however many come, and are all strangers'.
    @Test func aStrangerDoesNotPayForAllThatOthersHadLookedAtAtOnce() {
        let bench = Bench()
        let game = Tenant(share: 100)
        for _ in 0..<20 { bench.flood("game", microseconds: 100, of: game) }
        bench.pass(until: bench.now + .milliseconds(10))
        for _ in 0..<1_000 {
            let begin = bench.now
            bench.spend(microseconds: 1_000)
            bench.shares.charge(nil, since: begin, LoopShares.Yield(lines: 1, inVain: 1))
        }
        var isDone = false
        bench.ask("honest", microseconds: 10, of: nil) { isDone = true }
        bench.pass(until: bench.now + .milliseconds(20 + 5))
        #expect(isDone)
    }

    /// They come without end.
    @Test func whoWaitsAsAStrangerIsNotPutOffByWhatNewcomersHaveLookedAtAtOnce() {
        let bench = Bench()
        let game = Tenant(share: 100)
        for _ in 0..<20 { bench.flood("game", microseconds: 100, of: game) }
        bench.pass(until: bench.now + .milliseconds(10))
        bench.ask("junk", microseconds: 1_000, of: nil, isInVain: true)
        let asked = bench.now
        var waited: TimeAmount?
        bench.ask("honest", microseconds: 10, of: nil) { waited = bench.now - asked }
        for _ in 0..<100 {
            let begin = bench.now
            bench.spend(microseconds: 500)
            bench.shares.charge(nil, since: begin, LoopShares.Yield(lines: 1, inVain: 1))
            bench.pass(until: begin + .milliseconds(1))
        }
        #expect(waited.map { $0 <= .milliseconds(20 + 2) } == true, "\(String(describing: waited))")
        // All of it is paid behind that.
        var isNextDone = false
        bench.ask("next", microseconds: 10, of: nil) { isNextDone = true }
        bench.pass(until: bench.now + .milliseconds(1))
        #expect(!isNextDone)
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

    @Test func whoSendsInVainHasASeventeenthOfTheLoopBesideOneOther() {
        let bench = Bench()
        let (bad, good) = (Tenant(), Tenant())
        let begin = bench.now
        for _ in 0..<20 { bench.flood("bad", microseconds: 50, of: bad, isInVain: true) }
        for _ in 0..<20 { bench.flood("good", microseconds: 50, of: good) }
        bench.pass(until: begin + .milliseconds(500))
        let counts = ["bad", "good"].map { name in bench.done.count { $0.name == name } }
        #expect((500...700).contains(counts[0]) && counts[1] >= 8_500, "\(counts)")
    }

    @Test func ofAReadingOnlyWhatIsInVainCountsSeveralTimes() {
        let bench = Bench()
        let (mixed, other, begin) = (Tenant(), Tenant(), bench.now)
        bench.ask("other", microseconds: 1, of: other)
        bench.shares.run(for: mixed, bytes: 0) {
            bench.spend(microseconds: 1_000)
            return LoopShares.Yield(lines: 100, inVain: 1)
        }
        bench.ask("mixed", microseconds: 1, of: mixed)
        bench.pass(until: begin + .milliseconds(2))
        #expect(bench.done.map(\.name) == ["other", "mixed"])
    }

    @Test func readingCountsAsTimeOfTheLoop() {
        let bench = Bench()
        bench.limits.readingNanosecondsPerKibibyte = 1_000
        let (much, little) = (Tenant(), Tenant())
        let begin = bench.now
        // Each takes 20 microseconds, and 64 were spent before.
        for _ in 0..<20 { bench.flood("much", microseconds: 20, bytes: 64 << 10, of: much) }
        for _ in 0..<20 { bench.flood("little", microseconds: 20, of: little) }
        bench.pass(until: begin + .milliseconds(500))
        let counts = ["much", "little"].map { name in bench.done.count { $0.name == name } }
        #expect(counts[0] * 3 < counts[1], "\(counts)")
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
        bench.ask("other", microseconds: 5_000, of: other)
        let begin = bench.now
        bench.spend(microseconds: 10_000)
        bench.shares.charge(writer, since: begin)
        bench.ask("writer", microseconds: 1, of: writer)
        let charged = bench.now
        // The other has a twentieth of the time.
        bench.pass(until: charged + .microseconds(400))
        #expect(bench.done.map(\.name) == ["other"])
        bench.pass(until: charged + .microseconds(700))
        #expect(bench.done.map(\.name) == ["other", "writer"])
    }

    @Test func whatIsChargedWhileATurnIsAwaitedPutsItOff() {
        let bench = Bench()
        let (writer, other) = (Tenant(), Tenant())
        for _ in 0..<20 { bench.flood("other", microseconds: 100, of: other) }
        bench.pass(until: bench.now + .milliseconds(200))
        bench.ask("writer", microseconds: 10_000, of: writer)
        bench.ask("writer", microseconds: 1, of: writer)
        let begin = bench.now
        bench.pass(until: begin + .milliseconds(1))
        bench.shares.charge(writer, since: bench.now - .milliseconds(10))
        bench.pass(until: begin + .milliseconds(12))
        #expect(bench.done.count { $0.name == "writer" } == 1)
        bench.pass(until: begin + .milliseconds(45))
        #expect(bench.done.count { $0.name == "writer" } == 2)
    }
}
