import Foundation
import Ledger
import LedgerTestKit
import Testing

/// `Schema/verify/verify_log.py`, written from the page BlockFormat alone, over blocks that this program made.
@Suite struct BlockVerifierTests {
    private static func verify(_ blocks: [SealedBlock]) throws -> (status: Int32, output: String) {
        var bytes: [UInt8] = []
        for block in blocks {
            for part in [block.body, block.redactable] {
                withUnsafeBytes(of: UInt32(part.count).bigEndian) { bytes.append(contentsOf: $0) }
                bytes.append(contentsOf: part)
            }
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).blocks")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try ChainVerifier.run(file.path)
    }

    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramFindsNothingWrong() throws {
        let blocks = GameChain.lively(seed: 5).blocks
        let (status, output) = try Self.verify(blocks)
        #expect(status == 0, "\(output)")
        #expect(output.contains("ledger: com.example.game Sandbox"))
        #expect(output.contains("blocks: 5, entries: 6, transfers: 7, purchases: 2, signed: 4, accounts: 2, erased: 0"))
        let head = try #require(blocks.last)
        #expect(output.contains("head: 5 \(head.hash.bytes.hex.lowercased())"))
    }

    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramReadsAnErasedNameAndSkipsALaterSection() throws {
        var chain = GameChain.lively(seed: 6)
        chain.erase(1)
        chain.seal()
        var blocks = chain.blocks
        blocks[1].redactable = try blocks[1].redactable(erasing: [1])
        let last = blocks.removeLast()
        blocks.append(last.with(body: last.body + "81 01 00000002 0000".bytes))
        let (status, output) = try Self.verify(blocks)
        #expect(status == 0, "\(output)")
        #expect(output.contains("erased: 1"))
        #expect(output.contains("skipped: section 129 of a later version, in 1 blocks"))
    }

    /// The chain's hashes do not cover whether a name is there.
    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramFindsANameThatNoBlockErases() throws {
        var blocks = GameChain.lively(seed: 11).blocks
        blocks[1].redactable = try blocks[1].redactable(erasing: [1])
        let (status, output) = try Self.verify(blocks)
        #expect(status == 1 && output.contains("the name of account 1 is gone, and no block erases it"), "\(output)")
    }

    /// Of the last block that has rows the next writer erases the names.
    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramFindsANameThatAnErasureLeft() throws {
        var chain = GameChain(seed: 7)
        let player = chain.player()
        chain.credit(player)
        chain.seal()
        chain.erase(player)
        chain.seal()
        chain.seal(term: 2)
        var (status, output) = try Self.verify(chain.blocks)
        #expect(status == 0 && output.contains("erased: 0"), "\(output)")
        chain.credit(chain.player())
        chain.seal(term: 2)
        (status, output) = try Self.verify(chain.blocks)
        #expect(status == 1 && output.contains("account 1 was erased, and its name is still there"), "\(output)")
        var blocks = chain.blocks
        blocks[1].redactable = try blocks[1].redactable(erasing: [player])
        (status, output) = try Self.verify(blocks)
        #expect(status == 0 && output.contains("erased: 1"), "\(output)")
    }

    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramRefusesDamageByTheBlocksNumber() throws {
        let blocks = GameChain.lively(seed: 8).blocks
        // A flipped bit of a body shows in the block after it, if the block itself can still be read.
        var changed = blocks
        changed[2] = blocks[2].flipping(bit: (blocks[2].body.count - 1) * 8)
        var (status, output) = try Self.verify(changed)
        #expect(status == 1 && output.contains("block 4: it does not follow the block before"), "\(output)")

        changed = blocks
        changed[2].redactable[20] ^= 1
        (status, output) = try Self.verify(changed)
        #expect(status == 1 && output.contains("block 3: section 4, row 1: the name is not"), "\(output)")

        changed = blocks
        changed.remove(at: 1)
        (status, output) = try Self.verify(changed)
        #expect(status == 1 && output.contains("block 2: its number is 3"), "\(output)")
    }

    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramRefusesAWalletBelowZero() throws {
        var chain = GameChain(seed: 9)
        let player = chain.player()
        chain.credit(player)
        chain.seal()
        chain.spend(player, 501)
        chain.seal()
        let (status, output) = try Self.verify(chain.blocks)
        #expect(status == 1, "\(output)")
        #expect(output.contains("block 3: an entry leaves a player's account below zero"), "\(output)")
    }

    @Test(.enabled(if: ChainVerifier.isThere, "\(ChainVerifier.absence)"))
    func anotherProgramRefusesAKeyOrATransactionIdThatIsUsedTwice() throws {
        let chain = GameChain.lively(seed: 10)
        let last = try #require(chain.blocks.last)
        let opened = try chain.blocks.map { try Block(opening: $0, checks: .form) }
        let request = try #require(opened.flatMap(\.rows.requests).first)
        let purchase = try #require(opened.flatMap(\.rows.purchases).first)
        func verify(_ change: (inout Block) -> Void) throws -> (Int32, String) {
            var block = try Block(opening: last, checks: .form)
            (block.number, block.previous, block.rows) = (last.number + 1, last.hash, BlockRows())
            change(&block)
            var salts = SplitMix64(seed: 1)
            return try Self.verify(chain.blocks + [SealedBlock(sealing: block, salts: &salts, hash: testSHA256)])
        }
        let (status, output) = try verify { block in
            block.position.request += 1
            block.rows.requests = [
                BlockRows.RequestRow(
                    id: block.position.request, key: request.key, fingerprint: request.fingerprint, entry: nil,
                    answer: request.answer)
            ]
        }
        #expect(status == 1 && output.contains("its key has an answer already"), "\(output)")
        let (other, words) = try verify { block in
            block.position.evidence += 1
            block.rows.purchases = [
                BlockRows.PurchaseRow(
                    facts: purchase.facts, grants: purchase.grants, account: nil, evidence: block.position.evidence,
                    entry: nil)
            ]
            block.rows.evidence = [
                BlockRows.EvidenceRow(
                    id: block.position.evidence, transaction: purchase.facts.transaction, isFirst: true,
                    signedDate: block.time, revoked: 0, time: block.time, entry: nil, header: block.position.header,
                    payload: GameChain.payload, signature: [UInt8](repeating: 1, count: 64)[...])
            ]
        }
        #expect(other == 1 && words.contains("its transaction id is another purchase's already"), "\(words)")
    }
}
