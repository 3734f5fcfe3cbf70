import Ledger
import LedgerTestKit
import Testing

@Suite struct BlockRedactionTests {
    private static func block(players: Int) -> SealedBlock {
        var chain = GameChain(seed: 7)
        for _ in 0..<players { _ = chain.player() }
        chain.seal()
        return chain.blocks[1]
    }

    private static func names(_ sealed: SealedBlock) throws -> [AccountName?] {
        try Block(opening: sealed, checks: .hashes(testSHA256)).rows.accounts.map(\.name)
    }

    @Test func anErasedNameIsGoneAndTheOthersAreThere() throws {
        let sealed = Self.block(players: 3)
        let before = try Self.names(sealed)
        var redacted = sealed
        redacted.redactable = try sealed.redactable(erasing: [2])
        #expect(try Self.names(redacted) == [before[0], nil, before[2]])
        #expect(redacted.redactable.count == sealed.redactable.count)
        #expect(redacted.hash == Digest(of: redacted.body, testSHA256))
        let name = try #require(before[1])
        #expect(!redacted.redactable.hex.contains(Array(name.text.utf8).hex))
        #expect(sealed.redactable.hex.contains(Array(name.text.utf8).hex))
    }

    @Test func theOtherNamesAreStillChecked() throws {
        let sealed = Self.block(players: 3)
        var redacted = sealed
        redacted.redactable = try sealed.redactable(erasing: [1, 3])
        for place in 54..<108 {
            var changed = redacted
            changed.redactable[place] ^= 1
            let error = #expect(throws: BlockError.self) { try Self.names(changed) }
            #expect(error?.kind == .nameMismatch)
            #expect(error?.section == .accounts)
        }
    }

    @Test func nothingMayBeLeftOfAnErasedName() throws {
        let sealed = Self.block(players: 1)
        var redacted = sealed
        redacted.redactable = try sealed.redactable(erasing: [1])
        for place in 2..<redacted.redactable.count {
            var changed = redacted
            changed.redactable[place] = 1
            let error = #expect(throws: BlockError.self) { try Self.names(changed) }
            #expect(error?.kind == .nameMismatch)
        }
    }

    @Test func erasingAgainOrAnotherBlocksAccountChangesNothing() throws {
        var sealed = Self.block(players: 2)
        sealed.redactable = try sealed.redactable(erasing: [2])
        #expect(try sealed.redactable(erasing: [2]) == sealed.redactable)
        #expect(try sealed.redactable(erasing: [0, 3, 99]) == sealed.redactable)
        #expect(try sealed.redactable(erasing: []) == sealed.redactable)
    }

    @Test func saltsDiffer() throws {
        let redactable = Self.block(players: 2).redactable
        #expect(redactable[2..<18] != redactable[56..<72])
        #expect(redactable.count == 2 * 54)
    }

    @Test func aNameOfTheGreatestLengthIsKept() throws {
        var rows = BlockRows()
        let name = AccountName(String(repeating: "é", count: 64))!
        rows.accounts = [BlockRows.AccountRow(id: 1, name: name)]
        var position = LastNumbers()
        position.account = 1
        let block = Block(
            number: 2, term: 1, time: 0, previous: Digest([UInt8](repeating: 1, count: 32))!, position: position,
            rows: rows)
        var salts = SplitMix64(seed: 3)
        let sealed = SealedBlock(sealing: block, salts: &salts, hash: testSHA256)
        #expect(try Self.names(sealed) == [name])
    }

    @Test func aBlockWithoutAccountsHasNoRedactablePart() throws {
        var sealed = Self.block(players: 0)
        #expect(sealed.redactable.isEmpty)
        #expect(try sealed.redactable(erasing: [1]).isEmpty)
        sealed.redactable = [0]
        let error = #expect(throws: BlockError.self) { try Self.names(sealed) }
        #expect(error?.kind == .nameMismatch)
    }
}
