import Ledger
import LedgerTestKit
import Testing

/// Bytes that a careless writer, or a careful forger, might make: each is refused for its own reason.
@Suite struct BlockRefusalTests {
    private static let head =
        "434C4201 0000000000000002 0000000000000003 00000000000F4240" + String(repeating: "AA", count: 32)
        + "02 03 05 04 0A 14 1E 28 32 3C 00"
    /// Entry 10 of one transfer, 20, which opens a lot.
    private static let entry = "06 01 00000003 05 00 01"
    private static let transfer = "07 01 00000007 61 20 02 01 F403 00"
    private static let lot = "08 01 00000001 01"

    private static func sealed(_ hex: String, number: BlockNumber = 2) -> SealedBlock {
        SealedBlock(
            number: number, term: 3, previous: Digest([UInt8](repeating: 0xAA, count: 32))!,
            hash: Digest(of: hex.bytes, testSHA256), body: hex.bytes, redactable: [])
    }

    private static func error(_ hex: String) -> BlockError? {
        #expect(throws: BlockError.self) { try Block(opening: sealed(head + hex), checks: .hashes(testSHA256)) }
    }

    @Test func theBytesThatTheseAreMadeOfAreABlock() throws {
        let block = try Block(
            opening: Self.sealed(Self.head + Self.entry + Self.transfer + Self.lot), checks: .hashes(testSHA256))
        #expect(block.rows.transfers.count == 1 && block.rows.lots.count == 1)
        _ = try Block(opening: Self.sealed(Self.head), checks: .hashes(testSHA256))
    }

    @Test(arguments: [
        (
            "a number with a byte too many", "06 01 00000004 05 00 8100",
            "entries row 1: a number has more bytes than it needs"
        ),
        ("an undefined kind of entry", "06 01 00000003 1F 00 01", "entries row 1: its kind is not defined"),
        ("an entry of kind 0", "06 01 00000003 00 00 01", "entries row 1: its kind is not defined"),
        ("a note that is not UTF-8", "06 01 00000005 45 00 01 01 FF", "entries row 1: a text is not UTF-8"),
        ("a note that ends too early", "06 01 00000005 45 00 01 09 61", "entries row 1: the bytes end within a field"),
        (
            "a section larger than the body", "06 01 00000009 05 00 01",
            "entries: the section is larger than what is left"
        ),
        (
            "a section larger than its rows", "06 01 00000004 05 00 01 00",
            "entries: the section is larger than its rows"
        ),
        ("a section without rows", "06 00 00000000", "entries: the section is empty"),
        ("more rows than bytes", "06 FFFFFFFF0F 00000003 05 00 01", "entries: the section has more rows than bytes"),
        (
            "a section twice", "06 01 00000003 05 00 01 06 01 00000003 05 00 01",
            "entries: the sections are not in the order"
        ),
        (
            "a section out of order", "0F 01 00000001 00 06 01 00000003 05 00 01",
            "entries: the sections are not in the order"
        ),
        ("tag 0", "00 01 00000001 00", "the sections are not in the order"),
        ("bytes after the sections", "0F 01 00000001 00 10", "links: the bytes end within a field"),
        (
            "entries without their transfers", "06 01 00000003 05 00 01",
            "transfers: there are fewer than the entries have"
        ),
        (
            "an actor that there is not", "06 01 00000004 85 00 01 04",
            "entries row 1: it names an actor that there is not"
        ),
        (
            "an entry later than the position", "06 01 00000003 05 02 01 \(transfer) \(lot)",
            "entries: the position's time is not that of the last"
        ),
        ("transfers without entries", transfer, "transfers: there are not as many as the entries have"),
        ("a lot that no transfer opens", lot, "lots row 1: no transfer opens it"),
        ("a ledger row in a later block", "01 01 00000002 00 00", "ledger: the first block, and no other"),
        ("two closings", "0F 02 00000002 00 00", "closing: there is more than one"),
        ("more rows than numbers", "03 04 00000004 00 00 00 00", "actors: there are more rows than the sequence"),
        ("a currency's code with a space", "02 01 00000002 01 20", "currencies row 1: it is no currency's code"),
        ("accounts without names", "04 01 00000020 " + String(repeating: "00", count: 32), "the redactable part ends"),
        (
            "an empty key", "0D 01 00000023 00 \(String(repeating: "00", count: 32)) 00 00",
            "requests row 1: it has no key"
        ),
        (
            "an entry of another block", "0D 01 00000024 01 61 \(String(repeating: "00", count: 32)) 01 00",
            "requests row 1: it names an entry that the block does not have"
        ),
        ("a hold without a transfer", "0E 01 00000003 01 05 00", "holds: no transfer sets anything aside"),
        ("a flag that is not defined", "11 01 00000003 04 01 00", "consents row 1: a flag is not defined"),
        ("a call of no kind", "16 01 00000003 04 07 00", "calls row 1: its kind is not defined"),
        ("a call without an end", "16 01 00000003 02 07 00", "calls row 1: its end is not defined"),
        (
            "an answer to a notification that there is not", "16 01 00000005 05 07 FF7F 00",
            "calls row 1: it answers a notification that there is not"
        ),
        ("a call's empty body", "16 01 00000004 16 07 00 00", "calls row 1: a body without bytes is written"),
        (
            "a call's body of 1,025 bytes", "16 01 00000406 16 07 8108 \(String(repeating: "61", count: 1_025)) 00",
            "calls row 1: its body is too large"
        ),
        ("a call's body that is no text", "16 01 00000005 16 07 01 FF 00", "calls row 1: "),
    ])
    func refusesByName(what: String, sections: String, words: String) {
        let error = Self.error(sections)
        #expect(error?.description.contains(words) == true, "\(what): \(error?.description ?? "opened")")
        #expect(error?.description.hasPrefix("block 2") == true)
    }

    @Test(arguments: [
        ("an amount of 0", "07 01 00000006 61 20 02 01 00 00", "its amount is not within"),
        ("an amount of 2^53", "07 01 0000000D 61 20 02 01 8080808080808010 00", "its amount is not within"),
        ("a player that there is not", "07 01 00000006 61 20 06 01 01 00", "it names a player that there is not"),
        ("player 0", "07 01 00000006 61 20 00 01 01 00", "it repeats the player"),
        ("a currency that there is not", "07 01 00000006 61 20 02 03 01 00", "it names a currency that there is not"),
        ("the same player in a first row", "07 01 00000005 61 28 01 01 00", "it names a player that there is not"),
        ("an undefined debited account", "07 01 00000006 F1 20 02 01 01 00", "its kind of account is not defined"),
        ("an undefined credited account", "07 01 00000006 60 20 02 01 01 00", "its kind of account is not defined"),
        ("one account twice", "07 01 00000006 11 20 02 01 01 00", "it debits and credits one account"),
        ("an undefined spend order", "07 01 00000006 61 25 02 01 01 00", "its spend order is not defined"),
        ("a transfer before itself", "07 01 00000006 61 20 02 01 01 14", "the transfer before it is none"),
        (
            "a drawn lot without a transfer before", "07 01 00000007 17 00 02 01 01 00 00",
            "the transfer before it is none"
        ),
        ("lot 0", "07 01 00000007 17 00 02 01 01 01 13", "its lot is none"),
        ("a reference to itself", "07 01 00000007 61 60 02 01 01 00 00", "it refers to no earlier transfer"),
        ("a debt of lot 0", "07 01 00000007 61 A0 02 01 01 00 14", "it refers to no earlier transfer"),
        ("a number of 2^63", "07 01 0000000F 61 20 02 01 80808080808080808001 00", "a number is 2^63 or more"),
        ("a number of 65 bits", "07 01 0000000F 61 20 02 01 80808080808080808002 00", "a number has more than 64 bits"),
    ])
    func refusesATransfer(what: String, transfers: String, words: String) {
        let error = Self.error(Self.entry + transfers + Self.lot)
        #expect(error?.section == .transfers && error?.row == 1, "\(what): \(error?.description ?? "opened")")
        #expect(error?.words.contains(words) == true, "\(what): \(error?.description ?? "opened")")
    }

    @Test func theHeadMustBeTheOneUnderWhichTheLogKeepsIt() {
        let error = #expect(throws: BlockError.self) {
            try Block(opening: Self.sealed(Self.head, number: 3), checks: .form)
        }
        #expect(error?.kind == .headMismatch)
    }

    @Test func aLaterVersionIsRefusedByName() {
        let hex = "434C4203" + Self.head.dropFirst(8)
        let error = #expect(throws: BlockError.self) { try Block(opening: Self.sealed(hex), checks: .form) }
        #expect(error?.kind == .unknownVersion)
    }

    /// Version 2 is of blocks that name a lot that moved, and of no others.
    @Test func aBlockThatNamesNoLotThatMovedIsNotOfVersion2() {
        let hex = "434C4202" + Self.head.dropFirst(8) + Self.entry + Self.transfer + Self.lot
        let error = #expect(throws: BlockError.self) { try Block(opening: Self.sealed(hex), checks: .form) }
        #expect(error?.kind == .malformed && error?.words.contains("lot that moved") == true, "\(error as Any)")
    }

    @Test func aSectionOfALaterVersionIsSkippedAndReported() throws {
        let later = "81 02 00000003 AABBCC  FF 01 00000001 00"
        let sealed = Self.sealed(Self.head + Self.entry + Self.transfer + Self.lot + later)
        let block = try Block(opening: sealed, checks: .hashes(testSHA256))
        #expect(block.skippedSections == [0x81, 0xFF])
        #expect(block.rows.transfers.count == 1)
        let known = try Block(
            opening: Self.sealed(Self.head + Self.entry + Self.transfer + Self.lot), checks: .hashes(testSHA256))
        #expect(known.skippedSections.isEmpty)
    }

    @Test(arguments: ["18", "40", "7F"])
    func aSectionThatMustBeUnderstoodIsRefusedWhereItIsNot(tag: String) throws {
        let error = Self.error(Self.entry + Self.transfer + Self.lot + tag + "01 00000001 00")
        #expect(error?.kind == .unknownVersion && error?.words.contains("later version") == true)
    }

    @Test func evidenceCanBeLeftOut() throws {
        let chain = GameChain.lively(seed: 3)
        for sealed in chain.blocks {
            let whole = try Block(opening: sealed, checks: .hashes(testSHA256))
            let bare = try Block(opening: sealed, checks: .hashes(testSHA256), evidence: .leftOut)
            #expect(bare.rows.evidence.allSatisfy { $0.payload.isEmpty && $0.signature.isEmpty })
            #expect(bare.rows.notifications.allSatisfy { $0.payload.isEmpty && $0.signature.isEmpty })
            #expect(whole.rows.evidence.allSatisfy { $0.payload == GameChain.payload })
            #expect(bare.rows.transfers == whole.rows.transfers && bare.rows.requests == whole.rows.requests)
        }
    }

    @Test func theTokenOfAPurchaseStandsInItsEvidenceOnly() throws {
        let transaction = TransactionID(number: 1)
        var rows = BlockRows()
        rows.purchases = [
            BlockRows.PurchaseRow(
                facts: PurchaseFacts(
                    transaction: transaction, product: "gems", quantity: 1, purchaseDate: 0,
                    token: AccountName("token-of-a-player")), grants: [], account: nil, evidence: 1, entry: nil)
        ]
        rows.headers = [BlockRows.HeaderRow(id: 1, text: [1])]
        rows.evidence = [
            BlockRows.EvidenceRow(
                id: 1, transaction: transaction, isFirst: true, signedDate: 0, revoked: 0, time: 0, entry: nil,
                header: 1, payload: [2], signature: [UInt8](repeating: 3, count: 64)[...])
        ]
        var position = LastNumbers()
        position.header = 1
        position.evidence = 1
        let block = Block(
            number: 2, term: 1, time: 0, previous: Digest([UInt8](repeating: 1, count: 32))!, position: position,
            rows: rows)
        var salts = CountedSalts()
        let sealed = SealedBlock(sealing: block, salts: &salts, hash: testSHA256)
        #expect(try Block(opening: sealed, checks: .form).rows.purchases[0].facts.token == nil)
        #expect(!sealed.body.hex.contains(Array("token-of-a-player".utf8).hex))
    }

    @Test func aSealedBlockIsFoundAgainFromItsBytes() throws {
        for sealed in GameChain.lively(seed: 4).blocks {
            #expect(try SealedBlock(body: sealed.body, redactable: sealed.redactable, hash: sealed.hash) == sealed)
        }
    }
}
