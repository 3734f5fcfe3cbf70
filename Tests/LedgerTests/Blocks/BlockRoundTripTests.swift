import Foundation
import Ledger
import LedgerTestKit
import Testing

/// Random blocks of random chains. Case `n` of a run has the seed `LEDGER_SEED + n`, which a failure names;
/// `LEDGER_BLOCK_CASES` says how many.
@Suite struct BlockRoundTripTests {
    static let settings: (seed: UInt64, cases: Int) = {
        let environment = ProcessInfo.processInfo.environment
        let seed = Seed.drawn(for: "BlockRoundTripTests")
        let cases = environment["LEDGER_BLOCK_CASES"].flatMap { Int($0) } ?? 200
        return (seed, cases)
    }()

    @Test func whatIsSealedOpensAsTheSameRowsAndSealsToTheSameBytes() throws {
        for number in 0..<Self.settings.cases {
            let seed = Self.settings.seed &+ UInt64(number)
            var chain = RandomChain(seed: seed)
            for _ in 0..<10 {
                let operations = chain.random.chance(10) ? 200 : Int.random(in: 0...12, using: &chain.random)
                let (block, sealed) = chain.next(operations: operations)
                let opened = try Block(opening: sealed, checks: .hashes(testSHA256))
                let again = try sealed.sealedAgain(.hashes(testSHA256))
                try #require(opened.isSame(as: block), "seed \(seed)")
                try #require(again == sealed, "seed \(seed)")
            }
        }
    }

    @Test func oneFlippedBitIsRefusedByTheHashAndByTheNames() throws {
        for number in 0..<4 {
            let seed = Self.settings.seed &+ UInt64(number)
            var chain = RandomChain(seed: seed)
            for _ in 0..<3 {
                let sealed = chain.next(operations: 6).sealed
                for bit in 0..<sealed.body.count * 8 {
                    let changed = sealed.flipping(bit: bit)
                    let error = #expect(throws: BlockError.self) {
                        try Block(opening: changed, checks: .hashes(testSHA256))
                    }
                    try #require(error?.kind == .hashMismatch, "seed \(seed), bit \(bit)")
                }
                for bit in 0..<sealed.redactable.count * 8 {
                    let changed = sealed.flipping(redactableBit: bit)
                    let error = #expect(throws: BlockError.self) {
                        try Block(opening: changed, checks: .hashes(testSHA256))
                    }
                    try #require(error?.kind == .nameMismatch, "seed \(seed), bit \(bit)")
                }
            }
        }
    }

    @Test func withoutTheHashAFlippedBitIsRefusedOrIsAnotherCanonicalBlock() throws {
        var opened = 0
        for number in 0..<3 {
            let seed = Self.settings.seed &+ UInt64(number)
            var chain = RandomChain(seed: seed)
            for _ in 0..<3 {
                let sealed = chain.next(operations: 8).sealed
                for bit in 0..<sealed.body.count * 8 {
                    if try Self.isCanonical(sealed.flipping(bit: bit), "seed \(seed), bit \(bit)") { opened += 1 }
                }
            }
        }
        #expect(opened > 0, "flips of amounts and payloads make other blocks")
    }

    @Test func everyTruncationIsRefused() throws {
        for number in 0..<8 {
            let seed = Self.settings.seed &+ UInt64(number)
            var chain = RandomChain(seed: seed)
            for _ in 0..<3 {
                let sealed = chain.next(operations: 8).sealed
                for count in 0..<sealed.body.count {
                    let cut = sealed.with(body: Array(sealed.body[..<count]))
                    // Whole sections may be missing where nothing that is left speaks of them.
                    _ = try Self.isCanonical(cut, "seed \(seed), \(count) bytes")
                    #expect(throws: BlockError.self) { try Block(opening: cut, checks: .hashes(testSHA256)) }
                }
                for count in 0..<sealed.redactable.count {
                    var cut = sealed
                    cut.redactable = Array(sealed.redactable[..<count])
                    #expect(throws: BlockError.self) { try Block(opening: cut, checks: .form) }
                    #expect(throws: BlockError.self) { try cut.redactable(erasing: [1]) }
                }
            }
        }
    }

    @Test func randomChangesAreRefusedOrAreAnotherCanonicalBlock() throws {
        var opened = 0
        for number in 0..<Self.settings.cases {
            let seed = Self.settings.seed &+ UInt64(number)
            var chain = RandomChain(seed: seed)
            _ = chain.next(operations: 4)
            let sealed = chain.next(operations: 12).sealed
            for _ in 0..<100 {
                var body = sealed.body
                for _ in 0..<Int.random(in: 1...4, using: &chain.random) { body.mutate(&chain.random) }
                if try Self.isCanonical(sealed.with(body: body), "seed \(seed)") { opened += 1 }
            }
        }
        #expect(opened > 0, "some changes make other blocks")
    }

    @Test func randomBytesAreRefused() {
        var random = SplitMix64(seed: Self.settings.seed)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...300, using: &random)
            var body = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            // Half of them begin as a block does, and go on with small numbers.
            if count > 80 && random.chance(50) {
                body.replaceSubrange(0..<4, with: [0x43, 0x4C, 0x42, 0x01])
                for index in 4..<28 { body[index] = index % 8 == 3 ? 2 : 0 }
                for index in 60..<count where random.chance(80) { body[index] &= 0x0F }
            }
            let sealed = SealedBlock(
                number: 2, term: 2, previous: Digest([UInt8](repeating: 0, count: 32))!,
                hash: Digest([UInt8](repeating: 0, count: 32))!, body: body, redactable: [])
            #expect(throws: BlockError.self) { try Block(opening: sealed, checks: .form) }
            _ = try? sealed.redactable(erasing: [1])
        }
    }

    /// Whether the bytes are a block; then they must be the bytes of its rows. The names are not checked, so that
    /// sealing again gives the digests of other names than the body's: such a block counts as refused.
    private static func isCanonical(_ sealed: SealedBlock, _ place: String) throws -> Bool {
        guard let block = try? Block(opening: sealed, checks: .names(testSHA256)) else { return false }
        guard block.skippedSections.isEmpty else { return true }
        let again = try sealed.sealedAgain(.names(testSHA256))
        try #require(again.body == sealed.body && again.redactable == sealed.redactable, "\(place)")
        return true
    }
}

extension SealedBlock {
    /// Another body under the same name, its head as the body says it, so that more than the head is read.
    func with(body: [UInt8]) -> SealedBlock {
        (try? SealedBlock(body: body, redactable: redactable, hash: hash))
            ?? SealedBlock(
                number: number, term: term, previous: previous, hash: hash, body: body, redactable: redactable)
    }

    func flipping(bit: Int) -> SealedBlock {
        var body = body
        body[bit / 8] ^= 1 << UInt8(bit % 8)
        return with(body: body)
    }

    func flipping(redactableBit bit: Int) -> SealedBlock {
        var changed = self
        changed.redactable[bit / 8] ^= 1 << UInt8(bit % 8)
        return changed
    }
}

extension [UInt8] {
    /// One change as damage or malice makes them.
    fileprivate mutating func mutate(_ random: inout SplitMix64) {
        let place = Int.random(in: 0..<count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: self[place] = UInt8.random(in: 0...255, using: &random)
        case 1: self[place] &+= 1
        case 2: insert(UInt8.random(in: 0...255, using: &random), at: place)
        case 3: remove(at: place)
        case 4: self[place] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random)!
        case _:
            let other = Int.random(in: 0..<count, using: &random)
            let length = Int.random(in: 0...Swift.min(10, count - Swift.max(place, other)), using: &random)
            replaceSubrange(place..<place + length, with: Array(self[other..<other + length]))
        }
        if isEmpty { append(0) }
    }
}

extension Block {
    /// Whether two blocks have the same rows, all of them.
    func isSame(as other: Block) -> Bool {
        number == other.number && term == other.term && time == other.time && previous == other.previous
            && position == other.position && skippedSections == other.skippedSections && rows.isSame(as: other.rows)
    }
}

extension BlockRows {
    fileprivate func isSame(as other: BlockRows) -> Bool {
        ledger == other.ledger && currencies == other.currencies && actors == other.actors
            && accounts == other.accounts && headers == other.headers && entries == other.entries
            && transfers == other.transfers && lots == other.lots && purchases == other.purchases
            && evidence == other.evidence && assignments == other.assignments
            && notifications == other.notifications && requests == other.requests && holds == other.holds
            && erasures == other.erasures
            && closedThrough == other.closedThrough && links == other.links && consents == other.consents
            && calls == other.calls && closings == other.closings
            && statements == other.statements
            && adjustments == other.adjustments && externals == other.externals && catalogs == other.catalogs
    }
}
