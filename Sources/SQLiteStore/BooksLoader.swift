import GRDB
import Ledger

/// Brings what a batch needs from the tables into the books. What is in the books already is newer and stays.
final class BooksLoader {
    private let selectAccountByName: PreparedStatement
    private let selectAccountName: PreparedStatement
    private let selectWallets: PreparedStatement
    private let selectOpenLots: PreparedStatement
    private let selectLot: PreparedStatement
    private let selectPurchase: PreparedStatement
    private let selectAssignment: PreparedStatement
    private let selectEvidence: PreparedStatement
    private let selectLaterEvidence: PreparedStatement
    private let selectNotificationEvents: PreparedStatement
    private let selectFirstTransfer: PreparedStatement
    private let selectRequest: PreparedStatement
    private let selectNotification: PreparedStatement
    private let selectOpenHolds: PreparedStatement
    private let selectHeldParts: PreparedStatement
    private let selectReturned: PreparedStatement
    private let selectHoldEnd: PreparedStatement
    private let selectDeadlines: PreparedStatement

    private static let lotColumns = """
        id, class, transaction_id, time, price, granted, remaining, held, spent, expired, refunded, indebted, recovered,
        written_off, repaid, expires_at
        """

    /// No key after this one, in the order of the bytes (keys are ASCII), was ever used.
    private var lastKey: String

    init(_ db: Database) throws {
        lastKey = try String.fetchOne(db, sql: "SELECT max(key) FROM request") ?? ""
        selectAccountByName = try PreparedStatement(db, "SELECT account FROM account_name WHERE name = ?")
        selectAccountName = try PreparedStatement(db, "SELECT name FROM account WHERE id = ?")
        selectWallets = try PreparedStatement(
            db,
            """
            SELECT currency, available, paid, held, debt, version, last_entry, last_transfer FROM wallet
            WHERE account = ?
            """)
        // The index's own condition, so that it is used.
        selectOpenLots = try PreparedStatement(
            db,
            """
            SELECT \(BooksLoader.lotColumns) FROM lot
            WHERE account = ? AND currency = ? AND is_open ORDER BY id
            """)
        selectLot = try PreparedStatement(db, "SELECT \(BooksLoader.lotColumns) FROM lot WHERE id = ?")
        selectPurchase = try PreparedStatement(
            db,
            """
            SELECT account, product, quantity, purchase_date, price, price_currency, grants, evidence, entry
            FROM purchase WHERE transaction_id = ?
            """)
        selectAssignment = try PreparedStatement(
            db, "SELECT account, entry, time FROM purchase_assignment WHERE transaction_id = ?")
        selectEvidence = try PreparedStatement(
            db, "SELECT time, signed_date, revoked, entry FROM purchase_evidence WHERE id = ?")
        selectLaterEvidence = try PreparedStatement(
            db,
            """
            SELECT time, signed_date, revoked, entry FROM purchase_evidence
            WHERE transaction_id = ? AND is_first = 0 ORDER BY id
            """)
        selectNotificationEvents = try PreparedStatement(
            db,
            """
            SELECT type, time, signed_date, reason FROM notification
            WHERE transaction_id = ? AND type IN ('CONSUMPTION_REQUEST', 'REFUND_DECLINED') ORDER BY id
            """)
        selectFirstTransfer = try PreparedStatement(db, "SELECT first_transfer FROM entry WHERE id = ?")
        selectRequest = try PreparedStatement(db, "SELECT fingerprint, answer FROM request WHERE key = ?")
        selectNotification = try PreparedStatement(db, "SELECT 1 FROM notification WHERE uuid = ?")
        selectOpenHolds = try PreparedStatement(
            db, "SELECT id, currency, amount, expires_at FROM open_hold WHERE account = ? ORDER BY id")
        selectHeldParts = try PreparedStatement(
            db, "SELECT credit, lot, amount FROM transfer WHERE id >= ? ORDER BY id")
        selectReturned = try PreparedStatement(
            db,
            """
            SELECT lot, sum(amount) FROM transfer WHERE reference = ? AND debit & 15 = \(AccountKind.spent.rawValue)
            GROUP BY lot
            """)
        selectHoldEnd = try PreparedStatement(
            db,
            "SELECT e.kind FROM transfer AS t JOIN entry AS e ON e.id = t.entry WHERE t.reference = ? LIMIT 1")
        selectDeadlines = try PreparedStatement(db, "SELECT time, account FROM deadline ORDER BY time, account")
    }

    func load(_ needs: Needs, into books: inout Books) throws {
        for name in needs.accounts where !books.isLoaded(name) { try load(name, into: &books) }
        try load(needs.keys, into: &books)
        for key in needs.spends { try loadSpends(key, into: &books) }
        for key in needs.holds { try loadHolds(key, into: &books) }
        if needs.expirations { try loadDeadlines(into: &books) }
        for transaction in needs.transactions where books.purchases[transaction] == nil {
            try load(transaction, into: &books)
        }
        for uuid in needs.notifications where !books.notifications.contains(uuid) {
            selectNotification.bind(1, uuid)
            if try selectNotification.next() {
                selectNotification.reset()
                books.load(notification: uuid)
            }
        }
    }

    /// Loads a player by number, for a purchase or for the journal's tail.
    func load(player id: PlayerID, into books: inout Books) throws {
        if books.players[id] != nil { return }
        selectAccountName.bind(1, id)
        guard try selectAccountName.next() else { throw StoreError("account \(id) is missing from the journal") }
        let name = AccountName(stored: selectAccountName.text(0))
        selectAccountName.reset()
        books.load(try player(id, name, books))
    }

    /// Loads lots of a loaded wallet that are not open.
    func load(lots ids: [LotID], of player: PlayerID, _ currency: CurrencyID, into books: inout Books) throws {
        var lots: [Lot] = []
        for id in books.missing(ids, player, currency) {
            selectLot.bind(1, id)
            guard try selectLot.next() else { throw StoreError("lot \(id) is missing from the projection") }
            lots.append(try readLot(selectLot))
            selectLot.reset()
        }
        if !lots.isEmpty { books.load(lots, player: player, currency: currency) }
    }

    private func load(_ name: AccountName, into books: inout Books) throws {
        selectAccountByName.bind(1, name.text)
        guard try selectAccountByName.next() else { return }
        let id = selectAccountByName.integer(0)
        selectAccountByName.reset()
        books.load(try player(id, name, books))
    }

    /// A key past all that were ever used has no answer: where keys are ordered by time most are not looked up.
    private func load(_ keys: [RequestKey], into books: inout Books) throws {
        var last = lastKey
        for key in keys {
            if key.text > lastKey {
                if key.text > last { last = key.text }
            } else if books.answers[key] == nil {
                try load(key, into: &books)
            }
        }
        // Too late a key, where the batch fails, is only looked up in vain.
        lastKey = last
    }

    private func load(_ key: RequestKey, into books: inout Books) throws {
        selectRequest.bind(1, key.text)
        guard try selectRequest.next() else { return }
        defer { selectRequest.reset() }
        guard let fingerprint = Digest(selectRequest.blob(0)), let answer = Answer(encoded: selectRequest.blob(1))
        else {
            throw StoreError("what is stored with a key cannot be read")
        }
        books.load(key, Books.Answered(fingerprint: fingerprint, answer: answer))
    }

    private func player(_ id: PlayerID, _ name: AccountName, _ books: borrowing Books) throws -> Player {
        var player = Player(id: id, name: name)
        selectWallets.bind(1, id)
        while try selectWallets.next() {
            let number = selectWallets.integer(0)
            guard number >= 1, number <= books.currencies.count else {
                throw StoreError("wallet of account \(id): there is no currency \(number)")
            }
            var wallet = Wallet(currency: CurrencyID(number))
            wallet.isStored = true
            wallet.available = selectWallets.integer(1)
            wallet.paid = selectWallets.integer(2)
            wallet.held = selectWallets.integer(3)
            wallet.debt = selectWallets.integer(4)
            wallet.version = selectWallets.integer(5)
            wallet.lastEntry = selectWallets.integer(6)
            wallet.lastTransfer = selectWallets.integer(7)
            player.wallets.append(wallet)
        }
        for index in player.wallets.indices { try loadOpenLots(id, &player.wallets[index]) }
        if player.wallets.contains(where: { $0.held > 0 }) { try loadOpenHolds(&player) }
        return player
    }

    private func loadOpenLots(_ player: PlayerID, _ wallet: inout Wallet) throws {
        selectOpenLots.bind(1, player)
        selectOpenLots.bind(2, Int64(wallet.currency))
        while try selectOpenLots.next() { wallet.insert(try readLot(selectOpenLots)) }
        // Checked before writing, and after reading: the pair guards the disk.
        let lots = wallet.lots
        guard lots.reduce(0, { $0 + $1.remaining }) == wallet.available,
            lots.reduce(0, { $0 + ($1.lotClass == .paid ? $1.remaining : 0) }) == wallet.paid,
            lots.reduce(0, { $0 + $1.held }) == wallet.held, lots.reduce(0, { $0 + $1.owed }) == wallet.debt
        else {
            throw StoreError("the wallet of account \(player), currency \(wallet.currency) is not the sum of its lots")
        }
    }

    private func readLot(_ row: PreparedStatement) throws -> Lot {
        guard let lotClass = LotClass(rawValue: row.integer(1)) else {
            throw StoreError("lot \(row.integer(0)) is of an unknown class")
        }
        var lot = Lot(
            id: row.integer(0), lotClass: lotClass,
            transaction: row.optionalInteger(2).map { TransactionID(number: $0) }, time: row.integer(3),
            price: row.integer(4), granted: row.integer(5), remaining: row.integer(6),
            expiresAt: row.optionalInteger(15))
        lot.held = row.integer(7)
        lot.spent = row.integer(8)
        lot.expired = row.integer(9)
        lot.refunded = row.integer(10)
        lot.indebted = row.integer(11)
        lot.recovered = row.integer(12)
        lot.writtenOff = row.integer(13)
        lot.repaid = row.integer(14)
        lot.mark.stored = lot.isOpen ? .open : .closed
        return lot
    }

    // MARK: Spends and holds that are named by their key

    /// The players and lots of a key's spends, and what of them went back.
    private func loadSpends(_ key: RequestKey, into books: inout Books) throws {
        if books.answers[key] == nil { try load(key, into: &books) }
        for (_, spend) in books.answers[key]?.answer.spends ?? [] where books.returned[spend.trace.first] == nil {
            let first = spend.trace.first
            try load(player: spend.trace.player, into: &books)
            var lots: [CurrencyID: [LotID]] = [:]
            for part in spend.drawn {
                guard let currency = books.currencyID(part.currency) else {
                    throw StoreError("a spend drew currency \(part.currency), which the ledger does not have")
                }
                lots[currency, default: []].append(part.lot)
            }
            for (currency, ids) in lots {
                try load(lots: ids, of: spend.trace.player, currency, into: &books)
            }
            var returned: [LotID: Int64] = [:]
            selectReturned.bind(1, first)
            while try selectReturned.next() { returned[selectReturned.integer(0)] = selectReturned.integer(1) }
            books.load(returned: returned, of: first)
        }
    }

    /// The players of a key's holds, and how those ended that are not open.
    private func loadHolds(_ key: RequestKey, into books: inout Books) throws {
        if books.answers[key] == nil { try load(key, into: &books) }
        for (_, hold) in books.answers[key]?.answer.holds ?? [] {
            let first = hold.trace.first
            try load(player: hold.trace.player, into: &books)
            if books.players[hold.trace.player]?.holds.contains(where: { $0.id == first }) == true { continue }
            selectHoldEnd.bind(1, first)
            guard try selectHoldEnd.next() else { throw StoreError("hold \(first) is not open, and nothing closed it") }
            let isExpired = selectHoldEnd.integer(0) == EntryKind.holdExpiry.rawValue
            selectHoldEnd.reset()
            books.load(isExpired ? .expired : .closed, of: first)
        }
    }

    private func loadOpenHolds(_ player: inout Player) throws {
        var amounts: [Int64] = []
        selectOpenHolds.bind(1, player.id)
        while try selectOpenHolds.next() {
            player.holds.append(
                OpenHold(
                    id: selectOpenHolds.integer(0),
                    currency: CurrencyID(truncatingIfNeeded: selectOpenHolds.integer(1)),
                    expiresAt: selectOpenHolds.integer(3)))
            amounts.append(selectOpenHolds.integer(2))
        }
        for (index, amount) in amounts.enumerated() {
            let hold = player.holds[index]
            guard let wallet = player.walletIndex(hold.currency) else {
                throw StoreError("hold \(hold.id) of account \(player.id) has no wallet")
            }
            let account = LedgerAccount(.held, hold.currency, player: player.id).number
            selectHeldParts.bind(1, hold.id)
            while player.holds[index].amount < amount, try selectHeldParts.next(), selectHeldParts.integer(0) == account
            {
                let lot = selectHeldParts.integer(1)
                player.holds[index].add(
                    LotPart(
                        lot: lot, units: selectHeldParts.integer(2),
                        transaction: player.wallets[wallet].lot(lot)?.transaction))
            }
            selectHeldParts.reset()
            guard player.holds[index].amount == amount else {
                throw StoreError("the transfers of hold \(hold.id) are not its amount")
            }
        }
        for wallet in player.wallets {
            let held = player.holds.reduce(0) { $0 + ($1.currency == wallet.currency ? $1.amount : 0) }
            guard held == wallet.held else {
                throw StoreError("what account \(player.id) has held is not the sum of the holds")
            }
        }
    }

    /// The players of whom something expires first, as many as one batch posts. Those whom memory knows better (what was
    /// due of them was posted, and the projection does not say so yet) do not count.
    private func loadDeadlines(into books: inout Books) throws {
        var due: [PlayerID] = []
        while due.count < Limits.expirationsPerBatchMax, try selectDeadlines.next() {
            let id = selectDeadlines.integer(1)
            if let player = books.players[id], player.deadline != selectDeadlines.integer(0) { continue }
            due.append(id)
        }
        selectDeadlines.reset()
        for id in due { try load(player: id, into: &books) }
    }

    private func load(_ transaction: TransactionID, into books: inout Books) throws {
        selectPurchase.bind(1, transaction.number)
        guard try selectPurchase.next() else { return }
        var account = selectPurchase.optionalInteger(0)
        let facts = PurchaseFacts(
            transaction: transaction, product: selectPurchase.text(1), quantity: selectPurchase.integer(2),
            purchaseDate: selectPurchase.integer(3), price: selectPurchase.optionalInteger(4),
            priceCurrency: selectPurchase.optionalText(5))
        let grants = try readGrants(selectPurchase.text(6), transaction, books)
        let firstEvidence = selectPurchase.integer(7)
        var openingEntry = selectPurchase.optionalInteger(8)
        selectPurchase.reset()
        var assigned: Timestamp?
        if account == nil {
            selectAssignment.bind(1, transaction.number)
            if try selectAssignment.next() {
                account = selectAssignment.integer(0)
                openingEntry = selectAssignment.integer(1)
                assigned = selectAssignment.integer(2)
                selectAssignment.reset()
            }
        }
        let register = PurchaseRegister(
            facts: facts, grants: grants, account: account, opening: try readOpening(openingEntry), assigned: assigned,
            signed: try readEvents(transaction, firstEvidence), told: try readNotificationEvents(transaction))
        guard let register else { throw StoreError("purchase \(transaction) has no evidence") }
        if let account {
            try load(player: account, into: &books)
            for (grant, lot) in zip(grants, register.lots) {
                try load(lots: [lot], of: account, grant.currency, into: &books)
            }
        }
        books.load(register)
    }

    private func readEvents(_ transaction: TransactionID, _ first: Int64) throws -> [PurchaseView.Event] {
        var events: [PurchaseView.Event] = []
        func read(_ row: PreparedStatement) {
            events.append(
                PurchaseView.Event(
                    time: row.integer(0), signedDate: row.integer(1), revoked: row.integer(2),
                    entry: row.optionalInteger(3)))
        }
        selectEvidence.bind(1, first)
        while try selectEvidence.next() { read(selectEvidence) }
        selectLaterEvidence.bind(1, transaction.number)
        while try selectLaterEvidence.next() { read(selectLaterEvidence) }
        return events
    }

    private func readNotificationEvents(_ transaction: TransactionID) throws -> [PurchaseView.Event] {
        var events: [PurchaseView.Event] = []
        selectNotificationEvents.bind(1, transaction.number)
        while try selectNotificationEvents.next() {
            guard let kind = PurchaseView.Event.Kind(notificationType: selectNotificationEvents.text(0)) else {
                continue
            }
            events.append(
                PurchaseView.Event(
                    kind: kind, time: selectNotificationEvents.integer(1),
                    signedDate: selectNotificationEvents.integer(2), revoked: nil, entry: nil,
                    reason: selectNotificationEvents.optionalText(3)))
        }
        return events
    }

    private func readOpening(_ entry: EntryID?) throws -> PurchaseRegister.Opening? {
        guard let entry else { return nil }
        selectFirstTransfer.bind(1, entry)
        guard try selectFirstTransfer.next() else { throw StoreError("entry \(entry) is missing from the journal") }
        defer { selectFirstTransfer.reset() }
        return PurchaseRegister.Opening(entry: entry, firstTransfer: selectFirstTransfer.integer(0))
    }

    private func readGrants(
        _ text: String, _ transaction: TransactionID, _ books: borrowing Books
    ) throws -> [PurchaseRegister.Grant] {
        var grants: [PurchaseRegister.Grant] = []
        for part in text.split(separator: " ") {
            let pair = part.split(separator: ":")
            guard pair.count == 2, let code = CurrencyCode(String(pair[0])), let currency = books.currencyID(code),
                let units = Int64(pair[1]), units > 0
            else { throw StoreError("the grants of purchase \(transaction) cannot be read") }
            grants.append(PurchaseRegister.Grant(currency: currency, units: units))
        }
        return grants
    }
}
