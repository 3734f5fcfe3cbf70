import AppStore
package import Ledger

/// A small ledger with something of everything, which is the same each time: what the inputs of what is stored are made
/// of.
package enum SampleLedger {
    package static let hash: HashFunction = { SHA256.hash($0, into: $1) }
    package static let row = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
    package static let identity = Digest(of: row, hash)

    package static let blocks = life.blocks
    package static let books = life.books

    /// The rows of the blocks.
    package static let opened = blocks.map { block in
        certain("opening a block") { try Block(opening: block, checks: .hashes(hash)) }
    }

    /// A block with the row of an erasure, and others that are seldom.
    package static let laterBlock: SealedBlock = {
        let last = certain(opened.last, "the last block")
        var rows = BlockRows()
        rows.links = [BlockRows.LinkRow(token: 1, account: 2, entry: nil, time: last.time, actor: 1)]
        rows.consents = [BlockRows.ConsentRow(account: 1, consumption: true, time: last.time, actor: nil)]
        rows.calls = [
            BlockRows.CallRow(
                transaction: transaction(2), kind: .finish, notification: nil, end: .refused(code: 4_040_010),
                body: Array("{}".utf8)[...], time: last.time)
        ]
        rows.externals = [
            BlockRows.ExternalRow(transaction: TransactionID(number: 7), source: "store", identifier: "x")
        ]
        rows.catalogs = [BlockRows.CatalogRow(version: 2, digest: .zero, time: last.time)]
        rows.erasures = [BlockRows.ErasureRow(account: 1, time: last.time, actor: 1)]
        rows.closedThrough = last.time - 1
        rows.statements = [
            BlockRows.StatementRow(
                transaction: transaction(2), revoked: 1, time: last.time, entry: nil, actor: 1)
        ]
        rows.closings = [BlockRows.ClosingRow(through: last.time - 1, time: last.time, actor: 1)]
        let block = Block(
            number: last.number + 1, term: 2, time: last.time + 1, previous: blocks[blocks.count - 1].hash,
            position: last.position, rows: rows)
        var salts = CountedSalts()
        return SealedBlock(sealing: block, salts: &salts, hash: hash)
    }()

    // MARK: Names

    package static func account(_ name: String) -> AccountName { certain(AccountName(name), name) }
    package static func key(_ text: String) -> RequestKey { certain(RequestKey(text), text) }
    package static func transaction(_ number: Int64) -> TransactionID { TransactionID(number: 2_000_000_000 + number) }
    package static let gems = certain(CurrencyCode("gems"), "gems")
    package static let coins = certain(CurrencyCode("coins"), "coins")
    package static let ana = account("ana")
    package static let ben = account("ben")
    package static let eve = account("7e3fb204-14e0-4d0b-9d0e-c6e3e2a1b0af")
    package static let accounts = [ana, ben, eve]
    package static let keys = [
        "bonus", "sword", "late", "back", "hold", "capture", "hold 2", "release", "both", "hold 3", "poor", "none",
    ].map { key($0) }
    package static let transactions = (1...4).map { transaction($0) }

    package static let catalog = Catalog(
        currencies: [
            gems: CurrencySettings(), coins: CurrencySettings(spendOrder: .oldest, refundShortfall: .writtenOff),
        ],
        products: [
            "gems500": [Catalog.Offer(from: 0, grants: [amount(500, gems)])],
            "bundle": [Catalog.Offer(from: 0, grants: [amount(1_000, gems), amount(7, coins)])],
        ])

    package static func amount(_ units: Int64, _ currency: CurrencyCode) -> CurrencyAmount {
        CurrencyAmount(currency: currency, amount: certain(Amount(units), "an amount"))
    }

    package static func purchase(_ number: Int64, signedDate: Timestamp, revoked: Int64 = 0) -> SignedPurchase {
        let header = Array("eyJhbGciOiJFUzI1NiJ9".utf8)
        return SignedPurchase(
            facts: PurchaseFacts(
                transaction: transaction(number), product: number % 2 == 0 ? "bundle" : "gems500", quantity: number,
                purchaseDate: 50, price: number == 3 ? 0 : 4_990, priceCurrency: "USD", storefront: "USA",
                offer: number == 3 ? PurchaseFacts.Offer(type: 3, identifier: "SPRING") : nil,
                original: transaction(number), ownership: "PURCHASED"),
            signedDate: signedDate, revoked: revoked,
            evidence: JWSParts(
                headerDigest: Digest(of: header, hash), header: header, payload: Array("{\(number)}".utf8),
                signature: [UInt8](repeating: UInt8(number), count: 64)))
    }

    // MARK: Its life

    private static func spend(_ name: String, _ account: AccountName, _ units: Int64) -> KeyedOperation {
        .spend(Spend(key: key(name), account: account, debits: [amount(units, gems)]))
    }

    private static func hold(_ name: String, _ account: AccountName, _ units: Int64) -> KeyedOperation {
        .hold(
            Hold(
                key: key(name), account: account, currency: gems, amount: amount(units, gems).amount,
                timeoutMilliseconds: 1_000))
    }

    private static func refund(_ number: Int64, _ uuid: String, revoked: Int64) -> Command {
        let purchase = purchase(number, signedDate: 900, revoked: revoked)
        let payload = Array(#"{"signedTransactionInfo":""#.utf8) + purchase.evidence.header + Array(#".x.y"}"#.utf8)
        let evidence = JWSParts(
            headerDigest: purchase.evidence.headerDigest, header: purchase.evidence.header, payload: payload,
            signature: purchase.evidence.signature)
        return .notify(
            SignedNotification(
                uuid: uuid, type: "REFUND", subtype: "x", signedDate: 900, reason: "OTHER", evidence: evidence,
                purchase: purchase), account: nil)
    }

    private static let batches: [[Command]] = [
        [
            .credit(purchase(1, signedDate: 100), account: ana), .credit(purchase(2, signedDate: 100), account: ben),
            .credit(purchase(3, signedDate: 100), account: nil),
            .keyed(
                .grant(
                    Grant(
                        key: key("bonus"), account: ana, currency: gems, amount: amount(60, gems).amount,
                        note: "a reward", expiresAt: 2_500))),
        ],
        [
            .keyed(spend("sword", ana, 150)), .keyed(hold("hold", ben, 100)), .keyed(hold("hold 2", ben, 30)),
            .keyed(spend("poor", eve, 1)), .credit(purchase(3, signedDate: 120), account: eve),
        ],
        [
            .keyed(
                .capture(
                    Capture(key: key("capture"), holdKey: key("hold"), operation: nil, amount: amount(40, gems).amount))
            ),
            .keyed(.release(Release(key: key("release"), holdKey: key("hold 2"), operation: nil))),
            .keyed(
                .reverse(
                    Reversal(key: key("back"), spendKey: key("sword"), operation: nil, debits: [amount(50, gems)]))),
        ],
        [
            .atomic(Atomic(key: key("both"), operations: [spend("both", ben, 10), hold("both", ana, 5)])),
            .keyed(hold("hold 3", ana, 20)), .keyed(spend("late", ben, 1_700)),
        ],
        [refund(2, "u-1", revoked: 100_000), refund(1, "u-2", revoked: 33_333), .expire],
        [.credit(purchase(4, signedDate: 950), account: ben), .keyed(spend("poor", ben, 1_000_000)), .expire],
    ]

    private static let life: (blocks: [SealedBlock], books: Books) = {
        var books = Books(
            catalog: catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0), hash: hash)
        var blocks: [SealedBlock] = []
        var salts = CountedSalts()
        for (number, batch) in batches.enumerated() {
            let time = Timestamp(1_000 + 600 * number)
            for command in batch { _ = books.decide(command, by: number == 3 ? nil : "shop", at: time) }
            var rows = books.takeRows()
            if blocks.isEmpty { rows.ledger = row }
            let block = Block(
                number: BlockNumber(blocks.count + 1), term: number < 3 ? 1 : 2, time: time,
                previous: blocks.last?.hash ?? .zero, position: books.position, rows: rows)
            blocks.append(SealedBlock(sealing: block, salts: &salts, hash: hash))
        }
        return (blocks, books)
    }()
}

/// Salts that are the same each time.
struct CountedSalts: RandomNumberGenerator {
    private var count: UInt64 = 0

    mutating func next() -> UInt64 {
        count += 1
        return count &* 0x9E37_79B9_7F4A_7C15
    }
}
