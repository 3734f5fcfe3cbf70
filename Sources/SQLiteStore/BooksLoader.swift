import GRDB
import Ledger

/// Brings what a batch needs from the tables into the books. What is in the books already is newer and stays.
final class BooksLoader {
    let selectAccountByName: PreparedStatement
    let selectAccountName: PreparedStatement
    let selectWallets: PreparedStatement
    let selectOpenLots: PreparedStatement
    let selectLot: PreparedStatement
    let selectPurchase: PreparedStatement
    let selectAssignment: PreparedStatement
    let selectEvidence: PreparedStatement
    let selectLaterEvidence: PreparedStatement
    let selectNotificationEvents: PreparedStatement
    let selectFirstTransfer: PreparedStatement
    let selectRequest: PreparedStatement
    let selectNotification: PreparedStatement
    let selectOpenHolds: PreparedStatement
    let selectHeldParts: PreparedStatement
    let selectReturned: PreparedStatement
    let selectHoldEnd: PreparedStatement
    let selectDeadlines: PreparedStatement

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
        for name in needs.accounts { try load(name, withLots: true, into: &books) }
        for name in needs.wallets { try load(name, withLots: false, into: &books) }
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

    /// Loads a player by number with all that is open, for a purchase or for the journal's tail.
    func load(player id: PlayerID, into books: inout Books) throws {
        if books.players.slot(of: id) != nil { return try complete(id, &books) }
        selectAccountName.bind(1, id)
        guard try selectAccountName.next() else { throw StoreError("account \(id) is missing from the journal") }
        let name = AccountName(stored: selectAccountName.text(0))
        selectAccountName.reset()
        books.load(try player(id, name, withLots: true, books))
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

    private func load(_ name: AccountName, withLots: Bool, into books: inout Books) throws {
        if let id = books.playerIDs[name] {
            if withLots { try complete(id, &books) }
            return
        }
        selectAccountByName.bind(1, name.text)
        guard try selectAccountByName.next() else { return }
        let id = selectAccountByName.integer(0)
        selectAccountByName.reset()
        books.load(try player(id, name, withLots: withLots, books))
    }

    /// Loads the lots that were left out when their player was loaded.
    private func complete(_ id: PlayerID, _ books: inout Books) throws {
        for currency in books.walletsWithoutLots(of: id) {
            if !books.complete(id, currency, with: try readOpenLots(id, currency)) {
                throw BooksLoader.isNotSumOfLots(id, currency)
            }
        }
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

    func load(_ key: RequestKey, into books: inout Books) throws {
        selectRequest.bind(1, key.text)
        guard try selectRequest.next() else { return }
        defer { selectRequest.reset() }
        guard let fingerprint = Digest(selectRequest.blob(0)), let answer = Answer(encoded: selectRequest.blob(1))
        else {
            throw StoreError("what is stored with a key cannot be read")
        }
        books.load(key, Books.Answered(fingerprint: fingerprint, answer: answer))
    }

    /// - Parameter withLots: whether all open lots are wanted, or only those of wallets that cannot do without.
    private func player(
        _ id: PlayerID, _ name: AccountName, withLots: Bool, _ books: borrowing Books
    ) throws -> Player {
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
        for index in player.wallets.indices {
            if !withLots && player.wallets[index].isCreditedWithoutLots {
                player.wallets[index].leaveLots()
                continue
            }
            let currency = player.wallets[index].currency
            player.wallets[index].complete(with: try readOpenLots(id, currency))
            guard player.wallets[index].isSumOfLots else { throw BooksLoader.isNotSumOfLots(id, currency) }
        }
        if player.wallets.contains(where: { $0.held > 0 }) { try loadOpenHolds(&player) }
        return player
    }

    private func readOpenLots(_ player: PlayerID, _ currency: CurrencyID) throws -> [Lot] {
        var lots: [Lot] = []
        selectOpenLots.bind(1, player)
        selectOpenLots.bind(2, Int64(currency))
        while try selectOpenLots.next() { lots.append(try readLot(selectOpenLots)) }
        return lots
    }

    /// Whenever a wallet's lots are read it is compared with them: what other hands, or a disk, made of either is noticed then.
    private static func isNotSumOfLots(_ player: PlayerID, _ currency: CurrencyID) -> StoreError {
        StoreError("the wallet of account \(player), currency \(currency) is not the sum of its lots")
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
}
