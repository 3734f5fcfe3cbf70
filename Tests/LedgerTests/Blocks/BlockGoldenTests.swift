import Ledger
import LedgerTestKit
import Testing

/// Bytes of every row, written by hand from the page BlockFormat. Shipped bytes never change.
@Suite struct BlockGoldenTests {
    private static let time: Timestamp = 1_000_000

    /// Number 2, term 3, time 1,000,000, previous AA…; the position is the one below, its time the block's.
    private static let head =
        "434C4201 0000000000000002 0000000000000003 00000000000F4240" + String(repeating: "AA", count: 32)
        + "02 03 AC02 04 0A 14 1E 28 32 3C"

    private static let position: LastNumbers = {
        var position = LastNumbers()
        position.currency = 2
        position.actor = 3
        position.account = 300
        position.header = 4
        position.entry = 10
        position.transfer = 20
        position.evidence = 30
        position.assignment = 40
        position.notification = 50
        position.request = 60
        position.time = time
        return position
    }()

    private static func expect(
        _ rows: BlockRows, is sections: String, lastTime: (time: Timestamp, hex: String) = (time, "00"),
        redactable: String = "", _ location: SourceLocation = #_sourceLocation
    ) throws {
        var position = position
        position.time = lastTime.time
        let block = Block(
            number: 2, term: 3, time: time, previous: Digest([UInt8](repeating: 0xAA, count: 32))!, position: position,
            rows: rows)
        var salts = CountedSalts()
        let sealed = SealedBlock(sealing: block, salts: &salts, hash: testSHA256)
        #expect(sealed.body.hex == (head + lastTime.hex + sections).bytes.hex, sourceLocation: location)
        #expect(sealed.redactable.hex == redactable.bytes.hex, sourceLocation: location)
        #expect(sealed.hash == Digest(of: sealed.body, testSHA256), sourceLocation: location)
        let opened = try Block(opening: sealed, checks: .hashes(testSHA256))
        #expect(opened.isSame(as: block), sourceLocation: location)
    }

    @Test func theFirstBlockOfThePage() throws {
        var rows = BlockRows()
        rows.ledger = BlockRows.LedgerRow(bundleID: "a", environment: "Sandbox")
        rows.currencies = [BlockRows.CurrencyRow(id: 1, code: CurrencyCode("gems"))]
        var position = LastNumbers()
        position.currency = 1
        let block = Block(
            number: 1, term: 1, time: 1_700_000_000_000, previous: Digest([UInt8](repeating: 0, count: 32))!,
            position: position, rows: rows)
        var salts = CountedSalts()
        let sealed = SealedBlock(sealing: block, salts: &salts, hash: testSHA256)
        let expected =
            "434C4201 0000000000000001 0000000000000001 0000018BCFE56800" + String(repeating: "00", count: 32)
            + "01000000000000000000 FF9FABFEF962"
            + "01 01 0000000A 01 61 07 53616E64626F78"
            + "02 01 00000005 04 67656D73"
        #expect(sealed.body.hex == expected.bytes.hex)
        #expect(sealed.redactable.isEmpty)
        #expect(try Block(opening: sealed, checks: .hashes(testSHA256)).isSame(as: block))
    }

    /// All of it in one number: a change of any shipped byte shows here.
    @Test func aWholeChainHasTheHashThatItAlwaysHad() throws {
        let head = try #require(GameChain.lively(seed: 1).blocks.last)
        #expect(head.hash.bytes.hex == "990292A30381D639C25A9512F29AF853C4560938CB01992C2A9ADE879261BA94")
    }

    @Test func actorsAccountsAndHeaders() throws {
        var rows = BlockRows()
        rows.actors = [BlockRows.ActorRow(id: 3, name: "ops")]
        rows.accounts = [BlockRows.AccountRow(id: 300, name: AccountName("ana"))]
        rows.headers = [BlockRows.HeaderRow(id: 4, text: Array("eyJ".utf8)[...])]
        try Self.expect(
            rows,
            is: "03 01 00000004 03 6F7073"
                + "04 01 00000020 47DF49D4BFFD1699FBFF3E37798652C893B49C7279C484A330E48F72B537441A"
                + "05 01 00000004 03 65794A",
            redactable: "00 03 0807060504030201 0807060504030201 616E61")
    }

    @Test func spendAndGrant() throws {
        let wallet = LedgerAccount(.wallet, 2, player: 300)
        var rows = BlockRows()
        rows.entries = [
            Entry(
                id: 9, time: Self.time - 1, kind: .spend, firstTransfer: 19, key: RequestKey("k1"), actor: 3),
            Entry(id: 10, time: Self.time + 2, kind: .grant, firstTransfer: 20, note: "hi"),
        ]
        rows.transfers = [
            Transfer(
                id: 19, entry: 9, player: 300, debit: wallet, credit: LedgerAccount(.spent, 2, player: 300),
                amount: 150, lot: 5, debtLot: nil, previous: 12, spendOrder: .freeFirst),
            Transfer(
                id: 20, entry: 10, player: 300, debit: LedgerAccount(.granted, 2, player: 300), credit: wallet,
                amount: 9, lot: 20, debtLot: nil, previous: 19),
        ]
        rows.lots = [BlockRows.LotRow(id: 20, lotClass: .free, price: 0, expiresAt: Self.time + 1_000)]
        rows.requests = [
            BlockRows.RequestRow(
                id: 60, key: RequestKey("k1"), fingerprint: Digest([UInt8](repeating: 0xBB, count: 32))!, entry: 9,
                answer: [1, 2])
        ]
        try Self.expect(
            rows,
            is: "06 02 0000000A 84 01 01 03  45 03 01 02 6869"
                + "07 02 0000000D 17 01 AC02 02 9601 07 07  61 38 09 01"
                + "08 01 00000003 0A D00F"
                + "0D 01 00000027 02 6B31 \(String(repeating: "BB", count: 32)) 01 02 0102",
            lastTime: (Self.time + 2, "04"))
    }

    @Test func refundDebtAndReversal() throws {
        var rows = BlockRows()
        rows.entries = [
            Entry(id: 10, time: Self.time, kind: .refund, firstTransfer: 19, transaction: TransactionID(number: 77))
        ]
        rows.transfers = [
            Transfer(
                id: 19, entry: 10, player: 1, debit: LedgerAccount(.receivable, 1, player: 1),
                credit: LedgerAccount(.refunded, 1, player: 1), amount: 1, lot: 18, debtLot: nil, previous: 18),
            Transfer(
                id: 20, entry: 10, player: 1, debit: LedgerAccount(.spent, 1, player: 1),
                credit: LedgerAccount(.wallet, 1, player: 1), amount: Limits.amountMax, lot: 18, debtLot: 15,
                previous: 19, reference: 10),
        ]
        try Self.expect(
            rows,
            is: "06 01 00000004 22 00 02 4D"
                + "07 02 00000015 35 00 01 01 01 01 00  71 D8 FFFFFFFFFFFFFF0F 01 01 0A 05")
    }

    @Test func hold() throws {
        var rows = BlockRows()
        rows.entries = [
            Entry(id: 10, time: Self.time, kind: .hold, firstTransfer: 20, key: RequestKey("h"))
        ]
        rows.transfers = [
            Transfer(
                id: 20, entry: 10, player: 2, debit: LedgerAccount(.wallet, 1, player: 2),
                credit: LedgerAccount(.held, 1, player: 2), amount: 5, lot: 13, debtLot: nil, previous: 13,
                spendOrder: .oldest)
        ]
        rows.requests = [
            BlockRows.RequestRow(
                id: 60, key: RequestKey("h"), fingerprint: Digest([UInt8](repeating: 0xCC, count: 32))!, entry: 10,
                answer: [])
        ]
        rows.holds = [
            BlockRows.HoldRow(
                id: 20, entry: 10, account: 2, currency: 1, amount: 5, expiresAt: Self.time + 60_000)
        ]
        try Self.expect(
            rows,
            is: "06 01 00000003 07 00 01"
                + "07 01 00000007 12 03 02 01 05 07 00"
                + "0D 01 00000024 01 68 \(String(repeating: "CC", count: 32)) 01 00"
                + "0E 01 00000005 01 05 C0A907")
    }

    private static let credited = Transfer(
        id: 20, entry: 10, player: 2, debit: LedgerAccount(.purchased, 1, player: 2),
        credit: LedgerAccount(.wallet, 1, player: 2), amount: 500, lot: 20, debtLot: nil, previous: 0)

    private static func signature(_ byte: UInt8) -> ArraySlice<UInt8> { [UInt8](repeating: byte, count: 64)[...] }

    private static func signatureHex(_ byte: String) -> String { String(repeating: byte, count: 64) }

    @Test func purchasesAndEvidence() throws {
        let transaction = TransactionID(number: 1_000)
        var rows = BlockRows()
        rows.entries = [
            Entry(id: 10, time: Self.time, kind: .credit, firstTransfer: 20, transaction: transaction)
        ]
        rows.transfers = [Self.credited]
        rows.lots = [BlockRows.LotRow(id: 20, lotClass: .paid, price: 4_990, expiresAt: nil)]
        rows.purchases = [
            BlockRows.PurchaseRow(
                facts: PurchaseFacts(
                    transaction: transaction, product: "gem", quantity: 1, purchaseDate: Self.time - 1, price: 4_990,
                    priceCurrency: "USD", storefront: "USA",
                    offer: PurchaseFacts.Offer(type: 1, identifier: "o", discountType: "F"), original: transaction,
                    ownership: "PURCHASED"),
                grants: [PurchaseRegister.Grant(currency: 1, units: 500)], account: 2, evidence: 29, entry: 10),
            BlockRows.PurchaseRow(
                facts: PurchaseFacts(
                    transaction: TransactionID(number: 5), product: "", quantity: 2, purchaseDate: Self.time,
                    source: .external, original: TransactionID(number: 6), ownership: "X"), grants: [], account: nil,
                evidence: 0, entry: nil),
        ]
        rows.evidence = [
            BlockRows.EvidenceRow(
                id: 29, transaction: transaction, isFirst: true, signedDate: Self.time - 2, revoked: 0,
                time: Self.time, entry: 10, header: 4, payload: Array("{}".utf8)[...],
                signature: Self.signature(0xDD)),
            BlockRows.EvidenceRow(
                id: 30, transaction: transaction, isFirst: false, signedDate: Self.time, revoked: 100_000,
                time: Self.time + 1, entry: nil, header: 1, payload: [], signature: Self.signature(0xEE)),
        ]
        try Self.expect(
            rows,
            is: "06 01 00000003 01 00 01"
                + "07 01 00000007 41 20 02 01 F403 00"
                + "08 01 00000003 05 FE26"
                + "09 02 0000002A F9 5F E807 0367656D 01 01 FE26 03555344 03555341 02 016F 0146 02 01 01 01F40301"
                + "               03 A0 05 00 02 00 06 0158 00"
                + "0A 02 00000094 01 03 01 00 027B7D 40" + Self.signatureHex("DD")
                + "               06 E807 00 A08D06 02 00 03 00 40" + Self.signatureHex("EE"))
    }

    @Test func assignment() throws {
        var rows = BlockRows()
        rows.entries = [
            Entry(id: 10, time: Self.time, kind: .credit, firstTransfer: 20, transaction: TransactionID(number: 7))
        ]
        rows.transfers = [Self.credited]
        rows.lots = [BlockRows.LotRow(id: 20, lotClass: .paid, price: 0, expiresAt: nil)]
        rows.assignments = [
            BlockRows.AssignmentRow(
                id: 40, transaction: TransactionID(number: 7), account: 2, time: Self.time, entry: 10)
        ]
        try Self.expect(
            rows,
            is: "06 01 00000004 21 00 01 07"
                + "07 01 00000007 41 20 02 01 F403 00"
                + "08 01 00000001 01"
                + "0B 01 00000004 07 02 00 01")
    }

    @Test func notificationsAndClosing() throws {
        var rows = BlockRows()
        rows.notifications = [
            BlockRows.NotificationRow(
                id: 49, uuid: "u", type: "T", subtype: "S", signedDate: Self.time, reason: "R", time: Self.time + 1,
                transaction: TransactionID(number: 5), header: 3, payload: Array("ab".utf8)[...],
                nested: BlockRows.NotificationRow.Nested(header: 4, at: 1), signature: Self.signature(0xEE)),
            BlockRows.NotificationRow(
                id: 50, uuid: "", type: "", subtype: nil, signedDate: Self.time, reason: nil, time: Self.time,
                transaction: nil, header: 4, payload: [], nested: nil, signature: Self.signature(0)),
        ]
        rows.closedThrough = Self.time - 5_000
        try Self.expect(
            rows,
            is: "0C 02 0000009B 0F 0175 0154 0153 00 0152 02 05 01 026162 00 01 40" + Self.signatureHex("EE")
                + "               00 00 00 00 00 00 00 40" + Self.signatureHex("00")
                + "0F 01 00000002 8F4E")
    }

    @Test func rowsOfLaterVersions() throws {
        var rows = BlockRows()
        rows.entries = [Entry(id: 10, time: Self.time, kind: .grant, firstTransfer: 20)]
        rows.transfers = [Self.credited]
        rows.lots = [BlockRows.LotRow(id: 20, lotClass: .paid, price: 0, expiresAt: nil)]
        rows.links = [BlockRows.LinkRow(token: 3, account: 4, entry: nil, time: Self.time, actor: 2)]
        rows.consents = [
            BlockRows.ConsentRow(account: 5, consumption: true, time: Self.time + 1, actor: nil)
        ]
        rows.adjustments = [BlockRows.AdjustmentRow(entry: 10, lotClass: .free, reason: "bug", approver: 1)]
        rows.externals = [
            BlockRows.ExternalRow(transaction: TransactionID(number: 9), source: "shop", identifier: "x-1")
        ]
        rows.catalogs = [
            BlockRows.CatalogRow(version: 7, digest: Digest([UInt8](repeating: 0xFF, count: 32))!, time: Self.time)
        ]
        try Self.expect(
            rows,
            is: "06 01 00000003 05 00 01"
                + "07 01 00000007 41 20 02 01 F403 00"
                + "08 01 00000001 01"
                + "10 01 00000006 01 03 04 00 00 02"
                + "11 01 00000003 01 05 02"
                + "12 01 00000007 06 01 03627567 01"
                + "13 01 0000000A 09 0473686F70 03782D31"
                + "14 01 00000022 07 \(String(repeating: "FF", count: 32)) 00")
    }

    @Test func erasures() throws {
        var rows = BlockRows()
        rows.erasures = [
            BlockRows.ErasureRow(account: 3, time: Self.time + 1, actor: nil),
            BlockRows.ErasureRow(account: 5, time: Self.time, actor: 2),
        ]
        try Self.expect(rows, is: "15 02 00000007 00 03 02 01 05 00 02")
    }

    @Test func statements() throws {
        var rows = BlockRows()
        rows.entries = [
            Entry(id: 10, time: Self.time, kind: .credit, firstTransfer: 20, transaction: TransactionID(number: 7))
        ]
        rows.transfers = [Self.credited]
        rows.lots = [BlockRows.LotRow(id: 20, lotClass: .paid, price: 0, expiresAt: nil)]
        rows.statements = [
            BlockRows.StatementRow(
                transaction: TransactionID(number: 7), revoked: 0, time: Self.time, entry: 10, actor: nil),
            BlockRows.StatementRow(
                transaction: TransactionID(number: 1 << 62), revoked: 100_000, time: Self.time + 1, entry: nil, actor: 3
            ),
        ]
        try Self.expect(
            rows,
            is: "06 01 00000004 21 00 01 07"
                + "07 01 00000007 41 20 02 01 F403 00"
                + "08 01 00000001 01"
                + "17 02 00000014 00 07 00 01 03 808080808080808040 A08D06 02 00 03")
    }

    @Test func closings() throws {
        var rows = BlockRows()
        rows.closings = [
            BlockRows.ClosingRow(through: Self.time - 2, time: Self.time, actor: 2),
            BlockRows.ClosingRow(through: Self.time - 1, time: Self.time + 1, actor: nil),
        ]
        try Self.expect(rows, is: "80 02 00000007 01 03 00 02 00 01 02")
    }

    @Test func calls() throws {
        var rows = BlockRows()
        let transaction = TransactionID(number: 7)
        rows.calls = [
            BlockRows.CallRow(
                transaction: transaction, kind: .consumption, notification: 9, end: .accepted,
                body: Array("{}".utf8)[...], time: Self.time),
            BlockRows.CallRow(
                transaction: transaction, kind: .finish, notification: nil, end: .refused(code: 4_040_010), body: [],
                time: Self.time + 1),
            BlockRows.CallRow(
                transaction: transaction, kind: .accountToken, notification: nil, end: .expired, body: [],
                time: Self.time),
        ]
        try Self.expect(
            rows, is: "16 03 00000011 15 07 09 027B7D 00" + "0A 07 94 95 ED 03 02" + "0F 07 00")
    }
}

/// Salts that can be written by hand.
struct CountedSalts: RandomNumberGenerator {
    mutating func next() -> UInt64 { UInt64(littleEndian: 0x0102_0304_0506_0708) }
}

extension String {
    /// Of hexadecimal digits, spaces between them.
    var bytes: [UInt8] {
        let digits = filter { $0 != " " }
        var bytes: [UInt8] = []
        var index = digits.startIndex
        while index < digits.endIndex {
            let next = digits.index(index, offsetBy: 2)
            bytes.append(UInt8(digits[index..<next], radix: 16)!)
            index = next
        }
        return bytes
    }
}

extension [UInt8] {
    var hex: String {
        map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }.joined()
    }
}
