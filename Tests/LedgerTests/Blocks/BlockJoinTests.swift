import LedgerTestKit
import Testing

@testable import Ledger

/// Blocks that become one block.
@Suite struct BlockJoinTests {
    private static func books() -> Books {
        Books(
            catalog: Workload.catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0),
            hash: Workload.hash)
    }

    @Test func batchesThatJoinAreTheBlockThatTheyWouldBeHadTheyBeenDecidedTogether() throws {
        for number in 0..<UInt64(20) {
            let seed = Seed.drawn(for: "batchesThatJoin…, case \(number)")
            var workload = Workload(seed: seed)
            var (apart, together) = (Self.books(), Self.books())
            var now: Timestamp = 1_000
            var joined: Block?
            for _ in 0..<10 {
                now += Int64.random(in: 0...50, using: &workload.generator)
                workload.now = now
                for _ in 0..<Int.random(in: 1...12, using: &workload.generator) {
                    let command = workload.next()
                    let answer = apart.decide(command, at: now)
                    #expect("\(answer)" == "\(together.decide(command, at: now))", "seed \(seed)")
                }
                let block = Block(
                    number: joined == nil ? 2 : 3, term: 1, time: now, previous: .zero, position: apart.position,
                    rows: apart.takeRows())
                if joined == nil { joined = block } else { joined?.join(block) }
            }
            let whole = Block(
                number: 2, term: 1, time: now, previous: .zero, position: together.position,
                rows: together.takeRows())
            var (some, same) = (SplitMix64(seed: seed), SplitMix64(seed: seed))
            let sealed = SealedBlock(sealing: try #require(joined), salts: &some, hash: testSHA256)
            #expect(sealed == SealedBlock(sealing: whole, salts: &same, hash: testSHA256), "seed \(seed)")
        }
    }

    /// Random rows of every kind. The seeds are those of ``BlockRoundTripTests``.
    @Test func aBlockThatTookInTheNextOnesHasAllTheirRowsInTheirOrder() throws {
        var joins = 0
        for number in 0..<BlockRoundTripTests.settings.cases {
            let seed = BlockRoundTripTests.settings.seed &+ UInt64(number)
            var chain = RandomChain(seed: seed)
            var joined = chain.next(operations: 8).block
            var parts = [joined]
            for _ in 0..<10 {
                let next = chain.next(operations: Int.random(in: 0...12, using: &chain.random)).block
                guard next.term == joined.term else {
                    try check(joined, isMadeOf: parts, seed)
                    joined = next
                    parts = [next]
                    continue
                }
                var following = next
                following.number = joined.number + 1
                joined.join(following)
                parts.append(next)
                joins += 1
            }
            try check(joined, isMadeOf: parts, seed)
        }
        #expect(joins > 0)
    }

    private func check(_ joined: Block, isMadeOf parts: [Block], _ seed: UInt64) throws {
        let last = try #require(parts.last)
        #expect(joined.number == parts[0].number && joined.previous == parts[0].previous, "seed \(seed)")
        #expect(joined.time == last.time && joined.position == last.position, "seed \(seed)")
        #expect(joined.rows.closedThrough == parts.compactMap(\.rows.closedThrough).last, "seed \(seed)")
        #expect(joined.rows.ledger == parts[0].rows.ledger, "seed \(seed)")
        // Of every kind of row, also of those that a later version adds.
        for (kind, rows) in Self.rows(joined.rows) {
            let expected = parts.flatMap { Self.rows($0.rows)[kind] ?? [] }
            #expect(rows == expected, "seed \(seed), \(kind)")
        }
    }

    private static func rows(_ rows: BlockRows) -> [String: [AnyHashable]] {
        var result: [String: [AnyHashable]] = [:]
        for case (let kind?, let value) in Mirror(reflecting: rows).children {
            if kind == "ledger" || kind == "closedThrough" { continue }
            guard let list = value as? [any Hashable] else {
                Issue.record("rows of the kind \(kind) cannot be compared")
                continue
            }
            result[kind] = list.map { AnyHashable($0) }
        }
        return result
    }
}
