import Ledger
import LedgerTestKit
import Testing

@Suite struct BlockSizeTests {
    /// Bytes that one more row of something adds to a block, of a thousand.
    private static func bytesEach(_ add: (inout GameChain, PlayerID) -> Void) -> Double {
        var chain = GameChain(seed: 1)
        let players = (0..<1_000).map { _ in chain.player() }
        for player in players { chain.credit(player) }
        chain.seal()
        let count = 1_000
        for index in 0..<count { add(&chain, players[index * 7 % 1_000]) }
        chain.seal()
        let full = chain.blocks[chain.blocks.count - 1].byteCount
        chain.seal()
        let empty = chain.blocks[chain.blocks.count - 1].byteCount
        return Double(full - empty) / Double(count)
    }

    @Test func aSpendTakesAtMost150BytesWithItsKeyAndItsAnswer() {
        let bytes = Self.bytesEach { chain, player in chain.spend(player, 1) }
        #expect(bytes <= 150, "\(bytes)")
        // 36 of the key, 32 of its fingerprint, 44 of the answer.
        #expect(bytes >= 36 + 32 + 44)
    }

    @Test func aCreditTakesAtMost100BytesBesideItsPayloadAndSignature() {
        let bytes = Self.bytesEach { chain, player in chain.credit(player) }
        #expect(bytes <= 720 + 64 + 100, "\(bytes)")
        #expect(bytes >= 720 + 64)
    }

    @Test func aLoneBlockTakesAtMost128BytesMoreThanItsRows() {
        var chain = GameChain(seed: 1)
        let player = chain.player()
        chain.credit(player)
        chain.seal()
        chain.spend(player, 1)
        chain.seal()
        let bytes = chain.blocks[2].byteCount
        #expect(bytes <= 150 + 128, "\(bytes)")
    }
}
