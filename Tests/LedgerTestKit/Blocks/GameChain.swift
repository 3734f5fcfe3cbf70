package import Ledger

/// A small ledger whose amounts, chains of wallets and JWS are right, as blocks: a verifier must find nothing wrong
/// with it.
package struct GameChain {
    package private(set) var blocks: [SealedBlock] = []
    private var position = LastNumbers()
    private var rows = BlockRows()
    private var time: Timestamp = 1_763_800_000_000
    private var last: [PlayerID: TransferID] = [:]
    private var lots: [PlayerID: LotID] = [:]
    private var salts: SplitMix64
    private static let header = Array("eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUlFTUQiXX0".utf8)[...]
    /// As large as the payload of a consumable's JWS usually is.
    package static let payload = [UInt8](repeating: UInt8(ascii: "p"), count: 720)[...]
    static let signature = [UInt8](repeating: 0x5A, count: 64)[...]

    package init(seed: UInt64) {
        salts = SplitMix64(seed: seed)
        rows.ledger = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox")
        position.currency = 1
        rows.currencies = [BlockRows.CurrencyRow(id: 1, code: CurrencyCode("gems")!)]
        position.actor = 1
        rows.actors = [BlockRows.ActorRow(id: 1, name: "game server")]
        seal()
    }

    /// Makes a block of what was added since the last.
    package mutating func seal(term: Term = 1) {
        let before = blocks.last
        time += 7
        let block = Block(
            number: (before?.number ?? 0) + 1, term: max(term, before?.term ?? 1), time: time,
            previous: before?.hash ?? .zero, position: position, rows: rows)
        blocks.append(SealedBlock(sealing: block, salts: &salts, hash: testSHA256))
        rows = BlockRows()
    }

    /// An account named like a UUID.
    package mutating func player() -> PlayerID {
        position.account += 1
        let digits = String(position.account)
        let name = "6f9619ff-8b86-d011-b42d-" + String(repeating: "0", count: 12 - digits.count) + digits
        rows.accounts.append(BlockRows.AccountRow(id: position.account, name: AccountName(name)!))
        return position.account
    }

    private mutating func entry(_ kind: EntryKind, _ transaction: TransactionID? = nil, key: RequestKey? = nil)
        -> EntryID
    {
        position.entry += 1
        position.time = max(position.time, time)
        rows.entries.append(
            Entry(
                id: position.entry, time: position.time, kind: kind, firstTransfer: position.transfer + 1,
                transaction: transaction, key: key, actor: 1))
        return position.entry
    }

    private mutating func move(
        _ debit: AccountKind, _ credit: AccountKind, _ player: PlayerID, _ amount: Int64, lot: LotID? = nil,
        spendOrder: SpendOrder? = nil, debtLot: LotID? = nil
    ) {
        position.transfer += 1
        rows.transfers.append(
            Transfer(
                id: position.transfer, entry: position.entry, player: player,
                debit: LedgerAccount(debit, 1, player: player), credit: LedgerAccount(credit, 1, player: player),
                amount: amount, lot: lot ?? position.transfer, debtLot: debtLot, previous: last[player] ?? 0,
                spendOrder: spendOrder))
        last[player] = position.transfer
    }

    private mutating func header() -> HeaderID {
        if position.header == 0 {
            position.header = 1
            rows.headers.append(BlockRows.HeaderRow(id: 1, text: Self.header))
        }
        return 1
    }

    private mutating func evidence(_ transaction: TransactionID, isFirst: Bool, revoked: Int64, _ entry: EntryID) {
        position.evidence += 1
        rows.evidence.append(
            BlockRows.EvidenceRow(
                id: position.evidence, transaction: transaction, isFirst: isFirst, signedDate: time - 800,
                revoked: revoked, time: time, entry: entry, header: header(), payload: Self.payload,
                signature: Self.signature))
    }

    /// 500 for a player.
    package mutating func credit(_ player: PlayerID) {
        let transaction = TransactionID(number: 2_000_000_912_345_678 + position.evidence)
        let entry = entry(.credit, transaction)
        move(.purchased, .wallet, player, 500)
        lots[player] = position.transfer
        rows.lots.append(BlockRows.LotRow(id: position.transfer, lotClass: .paid, price: 4_990, expiresAt: nil))
        evidence(transaction, isFirst: true, revoked: 0, entry)
        rows.purchases.append(
            BlockRows.PurchaseRow(
                facts: PurchaseFacts(
                    transaction: transaction, product: "com.example.game.gems500", quantity: 1,
                    purchaseDate: time - 2_000, price: 4_990, priceCurrency: "USD", storefront: "USA",
                    original: transaction, ownership: "PURCHASED"),
                grants: [PurchaseRegister.Grant(currency: 1, units: 500)], account: player,
                evidence: position.evidence, entry: entry))
    }

    /// From the player's newest lot, under a key of 36 characters and with an answer as the books store it.
    package mutating func spend(_ player: PlayerID, _ amount: Int64) {
        let digits = String(position.request + 1)
        let key = RequestKey("11111111-2222-4333-8444-" + String(repeating: "0", count: 12 - digits.count) + digits)!
        let entry = entry(.spend, key: key)
        move(.wallet, .spent, player, amount, lot: lots[player], spendOrder: .freeFirst)
        request(key, entry)
    }

    private mutating func request(_ key: RequestKey, _ entry: EntryID?) {
        position.request += 1
        rows.requests.append(
            BlockRows.RequestRow(
                id: position.request, key: key, fingerprint: Digest(of: Array(key.text.utf8), testSHA256),
                entry: entry, answer: [UInt8](repeating: 0x2A, count: 44)[...]))
    }

    package mutating func hold(_ player: PlayerID, _ amount: Int64) {
        let key = RequestKey("hold \(position.request)")!
        let entry = entry(.hold, key: key)
        move(.wallet, .held, player, amount, lot: lots[player], spendOrder: .freeFirst)
        rows.holds.append(
            BlockRows.HoldRow(
                id: position.transfer, entry: entry, account: player, currency: 1, amount: amount,
                expiresAt: time + 60_000))
        request(key, entry)
    }

    /// Takes so much back from the wallet, and makes the rest of it a debt; with the notification that said so.
    package mutating func refund(_ player: PlayerID, there: Int64, owed: Int64) {
        let transaction = TransactionID(number: 2_000_000_912_345_678)
        let entry = entry(.refund, transaction)
        if there > 0 { move(.wallet, .refunded, player, there, lot: lots[player]) }
        if owed > 0 { move(.receivable, .refunded, player, owed, lot: lots[player]) }
        evidence(transaction, isFirst: false, revoked: Limits.wholeShare, entry)
        position.notification += 1
        rows.notifications.append(
            BlockRows.NotificationRow(
                id: position.notification, uuid: "f05b1a1c-0000-4000-8000-00000000000\(position.notification)",
                type: "REFUND", subtype: nil, signedDate: time - 10, reason: nil, time: time,
                transaction: transaction, header: header(), payload: Self.payload,
                nested: BlockRows.NotificationRow.Nested(header: header(), at: 100), signature: Self.signature))
    }

    package mutating func closePeriod() { rows.closedThrough = time - 1 }

    /// The row of an erasure; the name itself stays.
    package mutating func erase(_ player: PlayerID) {
        rows.erasures.append(BlockRows.ErasureRow(account: player, time: time, actor: nil))
    }

    /// A ledger with something of everything, in several blocks and two terms.
    package static func lively(seed: UInt64) -> GameChain {
        var chain = GameChain(seed: seed)
        let ana = chain.player()
        chain.credit(ana)
        chain.seal()
        let ben = chain.player()
        chain.spend(ana, 150)
        chain.credit(ben)
        chain.spend(ben, 500)
        chain.seal()
        chain.hold(ana, 100)
        chain.seal(term: 2)
        chain.refund(ana, there: 250, owed: 150)
        chain.closePeriod()
        chain.seal()
        return chain
    }

    /// A block without rows, of the next term.
    package static func emptyBlock(after last: SealedBlock) throws -> SealedBlock {
        let before = try Block(opening: last, checks: .hashes(testSHA256))
        let block = Block(
            number: before.number + 1, term: before.term + 1, time: before.time, previous: last.hash,
            position: before.position, rows: BlockRows())
        var salts = SplitMix64(seed: 0)
        return SealedBlock(sealing: block, salts: &salts, hash: testSHA256)
    }
}
