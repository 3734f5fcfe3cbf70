import LedgerTestKit
import Testing

@testable import Ledger

/// The values that the hot path keeps in memory of their own.
@Suite struct MemoryTests {
    private func player(_ id: PlayerID) -> Player { Player(id: id, name: AccountName("player-\(id)")!) }

    @Test func aTableOfPlayersIsADictionary() {
        let seed = Seed.drawn()
        var random = SplitMix64(seed: seed)
        var table = PlayerTable()
        var expected: [PlayerID: Int64] = [:]
        for step in 1...5_000 {
            let id = PlayerID.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                table.remove(id)
                expected[id] = nil
            default:
                var new = player(id)
                new.wallets = [Wallet(currency: 1)]
                new.wallets[0].version = Int64(step)
                table.insert(new)
                expected[id] = Int64(step)
            }
            if let id = expected.keys.min(), let slot = table.slot(of: id) {
                table[slot: slot].wallets[0].version += 1
                expected[id, default: 0] += 1
            }
            #expect(table.count == expected.count && table.isEmpty == expected.isEmpty, "seed \(seed), step \(step)")
        }
        #expect(expected.allSatisfy { table[$0.key]?.wallets[0].version == $0.value }, "seed \(seed)")
        #expect(Set(table.values.map(\.id)) == Set(expected.keys), "seed \(seed)")
        #expect(table.values.allSatisfy { table[$0.id]?.name == $0.name }, "seed \(seed)")
        #expect(table[1_000] == nil && table.slot(of: 1_000) == nil)
    }

    @Test func aFormGrowsAndKeepsWhatItHas() {
        var expected: [UInt8] = []
        let bytes = ByteForm.make { made in
            var form = made
            for number in 0..<200 {
                form.add(byte: UInt8(number))
                form.add(Int64(number) - 100)
                form.add(length: number)
                form.add(raw: String(repeating: "é", count: number))
                form.add(raw: [UInt8](repeating: 7, count: number % 3))
                expected.append(UInt8(number))
                expected += withUnsafeBytes(of: (Int64(number) - 100).bigEndian) { Array($0) }
                expected += withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
                expected += Array(String(repeating: "é", count: number).utf8)
                expected += [UInt8](repeating: 7, count: number % 3)
            }
            #expect(form.count == expected.count)
            return form.bytes
        }
        #expect(bytes == expected)
    }

    @Test(
        arguments: [
            (0, [0]), (127, [127]), (128, [128, 1]), (300, [172, 2]),
            (UInt64.max, [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] as [(UInt64, [UInt8])])
    func aVarintHasSevenBitsAByte(value: UInt64, bytes: [UInt8]) {
        let form = ByteForm.make { made in
            var form = made
            form.add(varint: value)
            return form.bytes
        }
        #expect(form == bytes)
    }

    @Test func aDigestIsItsThirtyTwoBytes() {
        let bytes = (0..<32).map { UInt8($0 * 7) }
        #expect(Digest(bytes)?.bytes == bytes)
        #expect(Digest(Array(bytes.dropLast())) == nil && Digest(bytes + [0]) == nil)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1
            #expect(Digest(other) != Digest(bytes), "byte \(index)")
        }
        let text: [UInt8] = [1, 2, 3]
        #expect(Digest(of: text, testHash) == text.withUnsafeBytes { Digest(of: $0, testHash) })
    }

    @Test func namesOfOneLengthDifferInWhateverByte() {
        let text = "player-0123456789-abcdefgh"
        for index in text.utf8.indices {
            var bytes = Array(text.utf8)
            bytes[text.utf8.distance(from: text.startIndex, to: index)] = UInt8(ascii: "~")
            #expect(AccountName(String(decoding: bytes, as: UTF8.self)) != AccountName(text))
        }
        #expect(AccountName(text) == AccountName(String(decoding: Array(text.utf8), as: UTF8.self)))
        // Canonically equivalent, and two players.
        #expect(AccountName("caf\u{E9}") != AccountName("cafe\u{301}"))
    }

    /// Each command would take as long as there are players in memory.
    @Test(arguments: ["credit", "grant", "link"])
    func aNewPlayerCopiesNoneOfTheOthers(kind: String) {
        var books = Books(
            catalog: Workload.catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0),
            hash: Workload.hash)
        var (place, moves) = (UnsafeRawPointer?.none, 0)
        for number in 1...1_000 {
            let name = AccountName("player-\(number)")!
            let command: Command =
                switch kind {
                case "credit": .credit(Workload.purchase(number, signedDate: 1), account: name)
                case "grant":
                    .grant(
                        Grant(
                            key: RequestKey("k\(number)")!, account: name, currency: "gems",
                            amount: 1))
                default:
                    .link(
                        Link(
                            token: AppAccountToken("a0000000-0000-4000-8000-\(100_000_000_000 + number)")!,
                            account: name))
                }
            _ = books.decide(command, at: 1)
            let now = books.players.values.withUnsafeBufferPointer { UnsafeRawPointer($0.baseAddress) }
            if now != place { moves += 1 }
            place = now
        }
        #expect(books.players.count >= 1_000)
        // Only where they need more room.
        #expect(moves < 30)
    }
}
