import Testing

@testable import LedgerEngine

/// Whose turn it is, by what each has had.
@Suite struct TurnsTests {
    private final class Member: TurnTaker {
        var waiting: [Int] = []
        let quantum = 16
        var credit = 0
        var takesTurns = false
        var served = 0

        var hasSome: Bool { !waiting.isEmpty }
    }

    private struct Bench {
        var turns = Turns<Member>()

        mutating func add(_ member: Member, cost: Int) {
            member.waiting.append(cost)
            turns.add(member)
        }

        /// Serves the next one.
        mutating func serve() -> Member? {
            guard let member = turns.first() else { return nil }
            let cost = member.waiting.removeFirst()
            member.credit -= cost
            member.served += cost
            return member
        }
    }

    /// One asks for four turns' worth at once, and has nothing for a round before it asks again.
    @Test(arguments: [20, 40, 60]) func whoHadMoreThanItsTurnPaysForItAlsoWhileItHasNothing(pause: Int) {
        var bench = Bench()
        let (steady, sudden) = (Member(), Member())
        for _ in 0..<10_000 { bench.add(steady, cost: 1) }
        var sinceSudden = 0
        for _ in 0..<5_000 {
            if !sudden.hasSome && sinceSudden >= pause { bench.add(sudden, cost: 64) }
            let isSudden = bench.serve() === sudden
            sinceSudden = isSudden ? 0 : sinceSudden + 1
        }
        #expect(sudden.served > 0 && sudden.served <= steady.served + 64, "\(sudden.served) and \(steady.served)")
    }

    @Test func whoSendsNoMoreThanItsTurnIsServedAtOnceEachTime() {
        var bench = Bench()
        let (steady, modest) = (Member(), Member())
        for _ in 0..<10_000 { bench.add(steady, cost: 1) }
        for _ in 0..<100 {
            for _ in 0..<40 { _ = bench.serve() }
            for _ in 0..<16 { bench.add(modest, cost: 1) }
            for _ in 0..<16 {
                let isModest = bench.serve() === modest
                #expect(isModest)
            }
        }
    }

    @Test func whereNobodyElseHasAnythingNobodyWaits() {
        var bench = Bench()
        let member = Member()
        for _ in 0..<100 {
            bench.add(member, cost: 64)
            let first = bench.serve(), second = bench.serve()
            #expect(first === member && second == nil)
            #expect(!member.takesTurns && member.credit >= 0, "where all are idle nobody owes anything")
        }
    }

    @Test func whatWasFoundToCostMoreIsPaidAlsoByWhoHasLeft() {
        var bench = Bench()
        let (steady, dear) = (Member(), Member())
        bench.add(dear, cost: 1)
        let first = bench.serve(), second = bench.serve()
        #expect(first === dear && second == nil)
        dear.credit -= 4 * 16
        for _ in 0..<200 { bench.add(steady, cost: 1) }
        bench.add(dear, cost: 1)
        var order: [Bool] = []
        for _ in 0..<100 { order.append(bench.serve() === dear) }
        let place = order.firstIndex(of: true)
        #expect(place.map { (32...80).contains($0) } == true, "after \(place ?? -1) others")
    }
}
