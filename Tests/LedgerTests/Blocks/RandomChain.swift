import Ledger
import LedgerTestKit

/// Makes the blocks of one chain, one after the other, with random rows of every kind: what the form allows, whether
/// or not the books would ever write it.
struct RandomChain {
    private struct Wallet {
        var player: PlayerID
        var currency: CurrencyID
        var last: TransferID = 0
        var lots: [LotID] = []
    }

    var random: SplitMix64
    private(set) var position = LastNumbers()
    private var number: BlockNumber = 0
    private var term: Term = 0
    private var time: Timestamp = 1_700_000_000_000
    private var previous = Digest([UInt8](repeating: 0, count: 32))!
    private var wallets: [Wallet] = []
    private var rows = BlockRows()
    private var keys = 0

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// The next block with about so many operations, sealed.
    mutating func next(operations: Int) -> (block: Block, sealed: SealedBlock) {
        rows = BlockRows()
        if number == 0 || random.chance(5) { term += Int64.random(in: 1...3, using: &random) }
        number += 1
        time += Int64.random(in: 0...5_000, using: &random)
        position.time = max(position.time, time - 100)
        addNames()
        for _ in 0..<operations { operate() }
        if random.chance(10) { rows.closedThrough = anyTime() }
        let block = Block(
            number: number, term: term, time: time, previous: previous, position: position, rows: rows)
        var salts = random
        let sealed = SealedBlock(sealing: block, salts: &salts, hash: testSHA256)
        random = salts
        previous = sealed.hash
        return (block, sealed)
    }

    private mutating func addNames() {
        if number == 1 { rows.ledger = BlockRows.LedgerRow(bundleID: "com.example.game", environment: "Sandbox") }
        for _ in 0..<(number == 1 ? 2 : random.chance(5) && position.currency < 200 ? 1 : 0) {
            position.currency += 1
            rows.currencies.append(
                BlockRows.CurrencyRow(
                    id: CurrencyID(position.currency), code: CurrencyCode("currency-\(position.currency)")!))
        }
        for _ in 0..<(number == 1 ? 1 : Int.random(in: 0...1, using: &random)) {
            position.actor += 1
            rows.actors.append(BlockRows.ActorRow(id: position.actor, name: "server ‹\(position.actor)›"))
        }
        for _ in 0..<(number == 1 ? 2 : Int.random(in: 0...3, using: &random)) {
            position.account += 1
            let name = random.chance(50) ? "player-\(position.account)-é" : uuid()
            rows.accounts.append(BlockRows.AccountRow(id: position.account, name: AccountName(name)!))
        }
        for _ in 0..<(number == 1 ? 1 : random.chance(10) ? 1 : 0) {
            position.header += 1
            rows.headers.append(BlockRows.HeaderRow(id: position.header, text: bytes(0...80)))
        }
    }

    // MARK: Values

    private mutating func uuid() -> String {
        let digits = Array("0123456789abcdef")
        return [8, 4, 4, 4, 12].map { count in
            String((0..<count).map { _ in digits[Int.random(in: 0..<16, using: &random)] })
        }.joined(separator: "-")
    }

    private mutating func bytes(_ counts: ClosedRange<Int>) -> ArraySlice<UInt8> {
        let count = Int.random(in: counts, using: &random)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }[...]
    }

    /// Near the block's, or any at all.
    private mutating func anyTime() -> Timestamp {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: Int64.random(in: -Limits.amountMax...Limits.amountMax, using: &random)
        case 1: [-Limits.amountMax, Limits.amountMax, 0, -1].randomElement(using: &random)!
        case _: time + Int64.random(in: -90_000_000...90_000_000, using: &random)
        }
    }

    private mutating func number(upTo largest: Int64) -> Int64 {
        let bits = Int64.random(in: 0...62, using: &random)
        return min(largest, Int64.random(in: 0...(1 << bits), using: &random))
    }

    private mutating func amount() -> Int64 { max(1, number(upTo: Limits.amountMax)) }

    private mutating func transaction() -> TransactionID {
        TransactionID(
            number: random.chance(90) ? number(upTo: Int64.max) : [0, Int64.max].randomElement(using: &random)!)
    }

    private mutating func text() -> String {
        ["", "a note", "naïve 🎲", "PURCHASED", "USD", String(repeating: "x", count: 200)].randomElement(using: &random)!
    }

    private mutating func maybe<Value>(_ value: (inout RandomChain) -> Value) -> Value? {
        random.chance(50) ? value(&self) : nil
    }

    private mutating func player() -> PlayerID { Int64.random(in: 1...position.account, using: &random) }
    private mutating func header() -> HeaderID { Int64.random(in: 1...position.header, using: &random) }
    private mutating func actor() -> ActorID { Int64.random(in: 1...position.actor, using: &random) }

    // MARK: Operations

    private mutating func operate() {
        switch Int.random(in: 0..<14, using: &random) {
        case 0, 1: credit()
        case 2: request(entry: nil, key: key())
        case 3: notification()
        case 4:
            let entry = beginEntry(.credit, transaction: transaction())
            open()
            position.assignment += 1
            rows.assignments.append(
                BlockRows.AssignmentRow(
                    id: position.assignment, transaction: transaction(), account: player(), time: anyTime(),
                    entry: entry))
        case 5: hold()
        case 6: later()
        case 7:
            _ = beginEntry(.expiry)
            move(.wallet, .expired)
        case 8:
            let key = key()
            let entry = beginEntry(.atomic, key: key)
            for _ in 0..<Int.random(in: 2...8, using: &random) { if random.chance(40) { open() } else { draw() } }
            request(entry: entry, key: key)
        case 9: refund()
        case 10: link()
        case _:
            let key = key()
            let entry = beginEntry(.spend, key: key)
            draw()
            request(entry: entry, key: key)
        }
    }

    private mutating func key() -> RequestKey {
        keys += 1
        return RequestKey(random.chance(50) ? uuid() : "key \(keys)")!
    }

    private mutating func beginEntry(
        _ kind: EntryKind, transaction: TransactionID? = nil, key: RequestKey? = nil
    ) -> EntryID {
        position.entry += 1
        position.time += Int64.random(in: 0...3, using: &random)
        rows.entries.append(
            Entry(
                id: position.entry, time: position.time, kind: kind, firstTransfer: position.transfer + 1,
                transaction: transaction, key: key, note: maybe { $0.text() }, actor: maybe { $0.actor() }))
        return position.entry
    }

    private mutating func append(
        _ debit: AccountKind, _ credit: AccountKind, _ place: Int, lot: LotID?, debtLot: LotID? = nil,
        spendOrder: SpendOrder? = nil, reference: TransferID? = nil
    ) {
        position.transfer += 1
        let wallet = wallets[place]
        rows.transfers.append(
            Transfer(
                id: position.transfer, entry: position.entry, player: wallet.player,
                debit: LedgerAccount(debit, wallet.currency, player: wallet.player),
                credit: LedgerAccount(credit, wallet.currency, player: wallet.player), amount: amount(),
                lot: lot ?? position.transfer, debtLot: debtLot, previous: wallet.last, spendOrder: spendOrder,
                reference: reference))
        wallets[place].last = position.transfer
    }

    private mutating func open() {
        let currency = CurrencyID(Int64.random(in: 1...position.currency, using: &random))
        let player = player()
        let place = wallets.firstIndex { $0.player == player && $0.currency == currency } ?? wallets.count
        if place == wallets.count { wallets.append(Wallet(player: player, currency: currency)) }
        let isPaid = random.chance(50)
        append(isPaid ? .purchased : .granted, .wallet, place, lot: nil)
        wallets[place].lots.append(position.transfer)
        let price = random.chance(30) ? 0 : number(upTo: Limits.amountMax)
        rows.lots.append(
            BlockRows.LotRow(
                id: position.transfer, lotClass: isPaid ? .paid : .free, price: price,
                expiresAt: maybe { $0.anyTime() }))
    }

    private mutating func move(_ debit: AccountKind, _ credit: AccountKind) {
        guard let place = wallets.indices.randomElement(using: &random) else { return open() }
        append(debit, credit, place, lot: wallets[place].lots.randomElement(using: &random))
    }

    /// Some draws of one spend.
    private mutating func draw() {
        guard let place = wallets.indices.randomElement(using: &random) else { return open() }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            append(
                .wallet, .spent, place, lot: wallets[place].lots.randomElement(using: &random),
                spendOrder: SpendOrder.allCases.randomElement(using: &random))
        }
    }

    private mutating func refund() {
        _ = beginEntry(.refund, transaction: maybe { $0.transaction() })
        guard let place = wallets.indices.randomElement(using: &random) else { return open() }
        let lot = wallets[place].lots.randomElement(using: &random)
        append(.receivable, .refunded, place, lot: lot)
        append(.writtenOff, .refunded, place, lot: lot)
        append(.wallet, .receivable, place, lot: lot, debtLot: lot)
        append(.spent, .wallet, place, lot: lot, reference: Int64.random(in: 1...position.transfer, using: &random))
    }

    /// A lot of one wallet moves to another, where it may be later than whatever was before it.
    private mutating func link() {
        guard let from = wallets.indices.randomElement(using: &random) else { return }
        let entry = beginEntry(.link)
        let lot = wallets[from].lots.randomElement(using: &random)
        append(.wallet, .moved, from, lot: lot)
        let player = player()
        let currency = wallets[from].currency
        let to = wallets.firstIndex { $0.player == player && $0.currency == currency } ?? wallets.count
        if to == wallets.count { wallets.append(Wallet(player: player, currency: currency)) }
        append(.moved, .wallet, to, lot: lot)
        wallets[to].lots.append(lot!)
        rows.links.append(
            BlockRows.LinkRow(
                token: wallets[from].player, account: player, entry: entry, time: anyTime(),
                actor: maybe { $0.actor() }))
    }

    private mutating func hold() {
        guard let place = wallets.indices.randomElement(using: &random) else { return }
        let key = key()
        let entry = beginEntry(.hold, key: key)
        append(.wallet, .held, place, lot: wallets[place].lots.randomElement(using: &random), spendOrder: .oldest)
        rows.holds.append(
            BlockRows.HoldRow(
                id: position.transfer, entry: entry, account: wallets[place].player,
                currency: wallets[place].currency, amount: amount(), expiresAt: anyTime()))
        request(entry: entry, key: key)
    }

    private mutating func request(entry: EntryID?, key: RequestKey) {
        position.request += 1
        rows.requests.append(
            BlockRows.RequestRow(
                id: position.request, key: key, fingerprint: Digest(Array(bytes(32...32)))!, entry: entry,
                answer: bytes(0...90)))
    }

    private mutating func credit() {
        let transaction = transaction()
        let isFirst = random.chance(70)
        var entry: EntryID?
        if random.chance(80) {
            entry = beginEntry(.credit, transaction: transaction)
            open()
        }
        position.evidence += 1
        rows.evidence.append(
            BlockRows.EvidenceRow(
                id: position.evidence, transaction: transaction, isFirst: isFirst, signedDate: anyTime(),
                revoked: maybe { $0.number(upTo: 100_000) } ?? 0, time: maybe { $0.anyTime() } ?? time, entry: entry,
                header: header(), payload: bytes(0...300), signature: bytes(64...64)))
        if isFirst { purchase(transaction, position.evidence, entry) }
        if random.chance(10) { purchase(self.transaction(), 0, nil) }
    }

    private mutating func purchase(_ transaction: TransactionID, _ evidence: EvidenceID, _ entry: EntryID?) {
        var facts = PurchaseFacts(
            transaction: transaction, product: text(), quantity: 1 + number(upTo: 9), purchaseDate: anyTime(),
            price: maybe { $0.number(upTo: Limits.amountMax) }, priceCurrency: maybe { $0.text() },
            source: PurchaseSource.allCases.randomElement(using: &random)!, storefront: maybe { $0.text() })
        facts.offer = maybe {
            PurchaseFacts.Offer(
                type: $0.anyTime(), identifier: $0.maybe { $0.text() }, discountType: $0.maybe { $0.text() })
        }
        facts.original = maybe { $0.random.chance(50) ? transaction : $0.transaction() }
        facts.ownership = maybe { $0.text() }
        // What grants nothing has no entry.
        let count = Int.random(in: (entry == nil ? 0 : 1)...3, using: &random)
        var grants: [PurchaseRegister.Grant] = []
        for _ in 0..<count {
            grants.append(
                PurchaseRegister.Grant(
                    currency: CurrencyID(Int64.random(in: 1...position.currency, using: &random)), units: amount(),
                    weight: number(upTo: 1_000)))
        }
        rows.purchases.append(
            BlockRows.PurchaseRow(
                facts: facts, grants: grants,
                account: entry != nil || grants.isEmpty && random.chance(50) ? player() : nil,
                evidence: evidence, entry: entry))
    }

    private mutating func notification() {
        position.notification += 1
        let payload = bytes(0...200)
        let carried = maybe { $0.transaction() }
        rows.notifications.append(
            BlockRows.NotificationRow(
                id: position.notification, uuid: uuid(), type: text(), subtype: maybe { $0.text() },
                signedDate: anyTime(), reason: maybe { $0.text() }, time: anyTime(),
                transaction: carried, subject: carried == nil ? maybe { $0.transaction() } : nil, header: header(),
                payload: payload,
                nested: maybe {
                    BlockRows.NotificationRow.Nested(header: $0.header(), at: $0.number(upTo: Int64(payload.count)))
                }, signature: bytes(64...64)))
    }

    private mutating func later() {
        switch Int.random(in: 0..<9, using: &random) {
        case 8:
            var entry: EntryID?
            if random.chance(50) {
                entry = beginEntry(.refund, transaction: transaction())
                open()
            }
            rows.statements.append(
                BlockRows.StatementRow(
                    transaction: transaction(), revoked: number(upTo: 100_000), time: anyTime(), entry: entry,
                    actor: maybe { $0.actor() }))
        case 7:
            rows.closings.append(
                BlockRows.ClosingRow(through: anyTime(), time: anyTime(), actor: maybe { $0.actor() }))
        case 6:
            let kind = AppStoreCall.Kind.allCases.randomElement(using: &random)!
            guard kind != .consumption || position.notification > 0 else { return }
            let ends: [AppStoreCall.End] = [.accepted, .refused(code: anyTime()), .expired]
            rows.calls.append(
                BlockRows.CallRow(
                    transaction: transaction(), kind: kind,
                    notification: kind == .consumption
                        ? Int64.random(in: 1...position.notification, using: &random) : nil,
                    end: ends.randomElement(using: &random)!, body: Array((maybe { $0.text() } ?? "").utf8)[...],
                    time: anyTime()))
        case 0:
            rows.links.append(
                BlockRows.LinkRow(
                    token: player(), account: player(), entry: nil, time: anyTime(), actor: maybe { $0.actor() }))
            let entry = beginEntry(.atomic)
            open()
            rows.links.append(
                BlockRows.LinkRow(
                    token: player(), account: player(), entry: entry, time: anyTime(), actor: maybe { $0.actor() }))
        case 1:
            rows.consents.append(
                BlockRows.ConsentRow(
                    account: player(), consumption: random.chance(50), time: anyTime(), actor: maybe { $0.actor() }))
        case 2:
            let entry = beginEntry(.grant)
            open()
            rows.adjustments.append(
                BlockRows.AdjustmentRow(
                    entry: entry, lotClass: random.chance(50) ? .paid : .free, reason: text(),
                    approver: maybe { $0.actor() }))
        case 3:
            rows.erasures.append(BlockRows.ErasureRow(account: player(), time: anyTime(), actor: maybe { $0.actor() }))
        case 4:
            rows.externals.append(
                BlockRows.ExternalRow(transaction: transaction(), source: text(), identifier: text()))
        case _:
            rows.catalogs.append(
                BlockRows.CatalogRow(
                    version: number(upTo: Int64.max), digest: Digest(Array(bytes(32...32)))!, time: anyTime()))
        }
    }
}

/// The salts of a sealed block again, so that sealing what was opened gives the same bytes.
struct SaltsAgain: RandomNumberGenerator {
    private var words: [UInt64] = []

    /// - Parameter redactable: with no name erased.
    init(_ redactable: [UInt8]) {
        var place = 0
        while place + 18 <= redactable.count {
            redactable.withUnsafeBytes { bytes in
                words.append(bytes.loadUnaligned(fromByteOffset: place + 2, as: UInt64.self))
                words.append(bytes.loadUnaligned(fromByteOffset: place + 10, as: UInt64.self))
            }
            place += 18 + Int(redactable[place + 1])
        }
        words.reverse()
    }

    mutating func next() -> UInt64 { words.popLast() ?? 0 }
}

extension SealedBlock {
    /// What this block's rows are sealed to, with the same salts.
    func sealedAgain(_ checks: Block.Checks) throws(BlockError) -> SealedBlock {
        var salts = SaltsAgain(redactable)
        return SealedBlock(sealing: try Block(opening: self, checks: checks), salts: &salts, hash: testSHA256)
    }
}
