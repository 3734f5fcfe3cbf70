import FileLog
import Ledger
import LedgerTestKit
import Testing

/// Random damage to all of a log's files.
@Suite struct InspectionFuzzTests {
    /// Changes some bytes, and gives how many.
    private static func damage(_ bytes: inout [UInt8], _ random: inout SplitMix64) -> Int {
        let count = Int.random(in: 1...(1 << Int.random(in: 0...11, using: &random)), using: &random)
        let start = Int.random(in: 0...bytes.count, using: &random)
        let end = min(bytes.count, start + count)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: bytes.replaceSubrange(start..<end, with: TestBlock.bytes(end - start, &random))
        case 1: bytes.replaceSubrange(start..<end, with: [UInt8](repeating: 0, count: end - start))
        case 2:
            for index in start..<end where random.chance(10) { bytes[index] ^= 1 << (random.next() % 8) }
        case 3:
            let other = Int.random(in: 0...bytes.count - (end - start), using: &random)
            bytes.replaceSubrange(start..<end, with: Array(bytes[other..<other + end - start]))
        case 4: bytes.removeSubrange(start..<end)
        case 5: bytes.insert(contentsOf: TestBlock.bytes(count, &random), at: start)
        case 6: bytes.removeSubrange(start...)
        default: bytes += TestBlock.bytes(count, &random)
        }
        return count
    }

    /// Whether other bytes were changed than the zeros at a file's end, of which there may be any number.
    private static func differ(_ log: InspectedLog, _ changed: [String: [UInt8]]) -> Bool {
        changed.contains { path, bytes in
            let before = log.files[path] ?? []
            if path == log.ledger.folder.headFile || path == log.lockPath { return bytes != before }
            let ends = [bytes, before].map { ($0.lastIndex { $0 != 0 } ?? -1) + 1 }
            return bytes[..<ends[0]] != before[..<ends[1]]
        }
    }

    @Test func aMillionDamagedBytesAreToldAndNothingElseIsHandedOver() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let log = try InspectedLog(seed: seed)
        let paths = log.files.keys.sorted()
        var damaged = 0
        var rounds = 0
        var handedOver = 0
        while damaged < 1_000_000 {
            var changed: [String: [UInt8]] = [:]
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let path = paths[Int.random(in: 0..<paths.count, using: &random)]
                damaged += Self.damage(&changed[path, default: log.files[path] ?? []], &random)
            }
            let context = "round \(rounds), seed \(seed)"
            let inspected = try log.inspected(changed, context)
            #expect(!inspected.words.isEmpty || !Self.differ(log, changed), "nothing is told, \(context)")
            for block in inspected.blocks {
                let isLog = block.number <= log.blocks.count && log.blocks[Int(block.number) - 1].hash == block.hash
                #expect(isLog && Digest(of: block.body, testSHA256) == block.hash, "\(context)")
            }
            if changed[log.ledger.folder.headFile] == nil { #expect(inspected.next == 15, "\(context)") }
            handedOver += inspected.blocks.count
            rounds += 1
        }
        #expect(handedOver > rounds * 5)
    }

    /// Headers say anything, and their checksums are right.
    @Test func aForgedHeaderIsToldAndNeverTraps() throws {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        let log = try InspectedLog(seed: seed)
        // Number, term, lengths, the hash before, the hash.
        let fields = [8..<16, 16..<24, 24..<28, 28..<32, 32..<64, 64..<96]
        for round in 0..<5000 {
            var changed: [String: [UInt8]] = [:]
            var isToldAnyway = false
            for place in log.places where random.chance(round % 2 == 0 ? 5 : 40) {
                let field = fields[Int.random(in: 0..<fields.count, using: &random)]
                let value: [UInt8]
                switch Int.random(in: 0..<4, using: &random) {
                case 0: value = [UInt8](repeating: 0, count: field.count)
                case 1: value = [UInt8](repeating: 0xFF, count: field.count)
                case 2: value = [0x7F] + [UInt8](repeating: 0xFF, count: field.count - 1)
                default:
                    let low = UInt8.random(in: 0...30, using: &random)
                    value = [UInt8](repeating: 0, count: field.count - 1) + [low]
                }
                let before = try log.bytes(place.path)
                let forged = try log.forged(place.path, place.offset) { $0.replaceSubrange(field, with: value) }
                var bytes = changed[place.path] ?? before
                bytes.replaceSubrange(
                    place.offset..<place.offset + 104, with: forged[place.offset..<place.offset + 104])
                changed[place.path] = bytes
                // A block's term stands in its body too; a log does not look into it.
                if forged != before, field.lowerBound != 16 { isToldAnyway = true }
            }
            let context = "round \(round), seed \(seed)"
            let inspected = try log.inspected(changed, context)
            #expect(!inspected.words.isEmpty || !isToldAnyway, "\(context)")
            #expect(inspected.blocks.allSatisfy { Digest(of: $0.body, testSHA256) == $0.hash }, "\(context)")
            #expect(inspected.next >= 15, "\(context)")
        }
    }
}
