import GRDB
import Ledger

/// Brings what a batch needs from the tables into the books, within a read transaction of its caller. What is in the
/// books already is newer and stays.
///
/// Every row is checked before anything of it is in the books: a load that fails leaves them without that player or
/// purchase.
final class BooksLoader {
    let selectState: PreparedStatement
    let selectAccountByName: PreparedStatement
    let selectAccountName: PreparedStatement
    let selectWallets: PreparedStatement
    let selectAllOpenLots: PreparedStatement
    let selectOpenLots: PreparedStatement
    let selectLot: PreparedStatement
    let purchases: StoredPurchases
    let links: StoredLinks
    let selectRequest: PreparedStatement
    let selectNotification: PreparedStatement
    let calls: StoredCalls
    let selectOpenHolds: PreparedStatement
    let selectHeldParts: PreparedStatement
    let selectReturned: PreparedStatement
    let selectHoldState: PreparedStatement
    let selectDue: PreparedStatement
    let selectExpiries: PreparedStatement
    private let usedKeys: UsedKeys
    let suspects: SuspectTables
    /// Players whose rows do not fit.
    private var unreadable: Set<PlayerID> = []

    init(_ db: Database, _ usedKeys: UsedKeys, _ suspects: SuspectTables) throws {
        self.usedKeys = usedKeys
        self.suspects = suspects
        selectState = try PreparedStatement(db, "SELECT 1 FROM projection")
        selectAccountByName = try PreparedStatement(db, "SELECT id FROM account WHERE name = ?")
        selectAccountName = try PreparedStatement(db, "SELECT name FROM account WHERE id = ?")
        selectWallets = try PreparedStatement(
            db, "SELECT \(StoredWallet.columns) FROM wallet WHERE account = ? ORDER BY currency")
        // The index's own condition, so that it is used.
        selectAllOpenLots = try PreparedStatement(
            db, "SELECT \(StoredLot.columns) FROM lot WHERE account = ? AND is_open")
        selectOpenLots = try PreparedStatement(
            db, "SELECT \(StoredLot.columns) FROM lot WHERE account = ? AND currency = ? AND is_open")
        selectLot = try PreparedStatement(db, "SELECT \(StoredLot.columns) FROM lot WHERE id = ?")
        purchases = try StoredPurchases(db)
        links = try StoredLinks(db)
        selectRequest = try PreparedStatement(db, "SELECT fingerprint, answer FROM request WHERE key = ?")
        selectNotification = try PreparedStatement(
            db, "SELECT number, type, transaction_id FROM notification WHERE uuid = ?")
        calls = try StoredCalls(db)
        selectOpenHolds = try PreparedStatement(
            db,
            "SELECT id, currency, amount, expires_at FROM hold WHERE account = ? AND state = 'open' ORDER BY id")
        selectHeldParts = try PreparedStatement(
            db, "SELECT account, currency, credit, lot, amount FROM transfer WHERE id >= ? ORDER BY id")
        selectReturned = try PreparedStatement(
            db, "SELECT lot, sum(amount) FROM transfer WHERE reference = ? AND debit = 'spent' GROUP BY lot")
        selectHoldState = try PreparedStatement(db, "SELECT state FROM hold WHERE id = ?")
        selectDue = try PreparedStatement(
            db,
            """
            SELECT 1 FROM wallet AS w WHERE w.account = ?1 AND EXISTS (
                SELECT 1 FROM lot AS l WHERE l.account = ?2 AND l.currency = w.currency AND l.expires_at <= ?3
                    AND l.is_open AND l.remaining > 0
            )
            UNION ALL
            SELECT 1 FROM hold WHERE account = ?2 AND state = 'open' AND expires_at <= ?3
            LIMIT 1
            """)
        selectExpiries = try PreparedStatement(
            db,
            """
            SELECT expires_at, account FROM lot WHERE is_open AND expires_at IS NOT NULL AND remaining > 0
            UNION ALL
            SELECT expires_at, account FROM hold WHERE state = 'open'
            ORDER BY 1, 2
            """)
    }

    /// - Throws: ``Unreadable``, or what keeps anything else from being loaded.
    func load(_ needs: Needs, into books: inout Books) throws {
        // The first read says what this transaction sees; what `usedKeys` says must not be older.
        _ = try selectState.first { _ in }
        try links.begin()
        for name in needs.accounts { try load(name, withLots: true, into: &books) }
        for name in needs.wallets { try load(name, withLots: false, into: &books) }
        for name in needs.expiring {
            let time = books.entryTime(needs.time)
            if try hasDue(name, by: time, books) { try load(name, withLots: false, into: &books) }
        }
        // What of suspect tables seems never to have been used may have been.
        let lastKey = suspects.isEmpty ? usedKeys.last : nil
        for key in needs.keys where books.answers[key] == nil {
            if let lastKey, key.text > lastKey { continue }
            try load(key, into: &books)
        }
        for key in needs.spends { try loadSpends(key, into: &books) }
        for key in needs.holds { try loadHolds(key, into: &books) }
        if needs.expirations { try loadExpiries(by: books.entryTime(needs.time), into: &books) }
        for transaction in needs.transactions { try load(transaction, into: &books) }
        for uuid in needs.notifications where books.notifications[uuid] == nil { try load(uuid, into: &books) }
        for call in needs.calls where books.calls[call] == nil { try load(call, into: &books) }
    }

    private func load(_ uuid: String, into books: inout Books) throws {
        try suspects.check(.notification)
        selectNotification.bind(1, uuid)
        let recorded = try selectNotification.first { row in
            Books.RecordedNotification(
                number: row.integer(0), type: row.text(1),
                transaction: row.optionalInteger(2).map { TransactionID(number: $0) })
        }
        guard let recorded else { return }
        guard recorded.number > 0, recorded.number <= books.position.notification else {
            throw StoreError.corrupt("notification \(uuid) has a number that was never given")
        }
        books.load(notification: uuid, recorded)
    }

    /// The notification that it answers is in the books, where there is one.
    private func load(_ call: Books.CallKey, into books: inout Books) throws {
        try suspects.check(.event)
        var record: Int64 = 0
        if let uuid = call.notificationUUID {
            guard let recorded = books.notifications[uuid] else { return }
            record = recorded.number
        }
        let kind = PurchaseView.Event.Kind(call.kind)
        if let end = try calls.last(of: call.transaction, kind, record) { books.load(end, of: call) }
    }

    // MARK: Players

    /// Loads a player by number with all that is open, for a purchase, a spend, a hold, or what expires.
    func load(player id: PlayerID, into books: inout Books) throws {
        if books.players.slot(of: id) == nil {
            books.load(try player(id, try name(of: id), withLots: true, books))
        } else {
            try complete(id, &books)
        }
        try loadLinked(id, withLots: true, into: &books)
    }

    /// Loads those to whom a player in memory is linked. Links lead to no circle: an account is never linked to one
    /// that is linked itself.
    private func loadLinked(_ id: PlayerID, withLots: Bool, into books: inout Books) throws {
        for link in books.players[id]?.links ?? [] {
            if books.players.slot(of: link.account) == nil {
                let name = try name(of: link.account)
                books.load(try player(link.account, name, withLots: withLots, books))
            } else if withLots {
                try complete(link.account, &books)
            }
            try loadLinked(link.account, withLots: withLots, into: &books)
        }
    }

    private func load(_ name: AccountName, withLots: Bool, into books: inout Books) throws {
        if let id = books.playerIDs[name] {
            if withLots { try complete(id, &books) }
            return try loadLinked(id, withLots: withLots, into: &books)
        }
        guard let id = try findAccount(name, books) else { return }
        // The index and the account's own row must agree: a player who got another's number would get the other's
        // money.
        guard try self.name(of: id) == name, books.players.slot(of: id) == nil else {
            throw StoreError.corrupt("account \(id) is found by a name that it does not have")
        }
        books.load(try player(id, name, withLots: withLots, books))
        try loadLinked(id, withLots: withLots, into: &books)
    }

    /// `nil` where the tables have no such account.
    private func findAccount(_ name: AccountName, _ books: borrowing Books) throws -> PlayerID? {
        try suspects.check(.account)
        selectAccountByName.bind(1, name.text)
        guard let id = try selectAccountByName.first({ $0.integer(0) }) else { return nil }
        guard id > 0, id <= books.position.account else {
            throw StoreError.corrupt("account \(id) has a number that was never given")
        }
        return id
    }

    func name(of id: PlayerID) throws -> AccountName {
        guard let name = try findName(of: id) else { throw StoreError.corrupt("account \(id) is missing") }
        return name
    }

    /// `nil` where there is no such account.
    private func findName(of id: PlayerID) throws -> AccountName? {
        try suspects.check(.account)
        selectAccountName.bind(1, id)
        return try selectAccountName.first { row in
            guard let text = row.optionalText(0) else { return AccountName.erased(id) }
            guard let name = AccountName(text), name.text == text else {
                throw StoreError.corrupt("account \(id) has a name that cannot be")
            }
            return name
        }
    }

    /// Loads the lots that were left out when their player was loaded.
    private func complete(_ id: PlayerID, _ books: inout Books) throws {
        if !suspects.isEmpty && !books.walletsWithoutLots(of: id).isEmpty { try suspects.check(.lot) }
        for currency in books.walletsWithoutLots(of: id) {
            let stored = try readOpenLots(try members(of: id), currency)
            guard let slot = books.players.slot(of: id),
                var wallet = books.players[slot: slot].wallets.first(where: { $0.currency == currency })
            else { preconditionFailure("a wallet without lots is in memory") }
            // Tried on a copy: lots that do not fit never come into the books.
            wallet.complete(with: stored)
            try check(wallet, id)
            _ = books.complete(id, currency, with: stored)
        }
    }

    /// - Parameter withLots: whether all open lots are wanted, or only those of wallets that cannot do without.
    private func player(
        _ id: PlayerID, _ name: AccountName, withLots: Bool, _ books: borrowing Books
    ) throws -> Player {
        try suspects.check(.wallet, .lot, .hold, .transfer)
        let members = try members(of: id)
        var player = Player(
            id: id, name: name, links: try links.links(of: id), consent: try consent(of: id, members))
        let currencies = books.currencies.count
        var stored: [StoredWallet] = []
        selectWallets.bind(1, id)
        try selectWallets.forEach { row in
            let wallet = try StoredWallet(row)
            guard wallet.account == id, Int(wallet.currency) <= currencies else {
                throw StoreError.corrupt("\(wallet): there is no such currency, or the wallet is another's")
            }
            stored.append(wallet)
        }
        // All at once, so that lots without a wallet are noticed as well.
        let openLots = withLots || stored.isEmpty ? try readOpenLots(members) : nil
        for currency in openLots?.keys.sorted() ?? [] where !stored.contains(where: { $0.currency == currency }) {
            throw StoreError.corrupt("the wallet of account \(id), currency \(currency) is missing, but has lots")
        }
        for row in stored {
            var wallet = row.wallet
            if !withLots && wallet.isCreditedWithoutLots {
                wallet.leaveLots()
            } else {
                let lots = try openLots.map { $0[row.currency] ?? [] } ?? readOpenLots(members, row.currency)
                wallet.complete(with: lots)
                try check(wallet, id)
                let heldPaid = lots.reduce(0) { $0 + ($1.lotClass == .paid ? $1.held : 0) }
                guard heldPaid == row.heldPaid else {
                    throw StoreError.corrupt("\(row): what is held of what was bought is not what its lots say")
                }
            }
            player.wallets.append(wallet)
        }
        try loadOpenHolds(&player, members)
        return player
    }

    /// The accounts whose lots and holds are the player's.
    private func members(of id: PlayerID) throws -> [PlayerID] {
        try suspects.check(.link)
        return try links.members(of: id)
    }

    private func consent(of id: PlayerID, _ members: [PlayerID]) throws -> ConsentRecord? {
        try suspects.check(.consent)
        return try links.consent(of: members.isEmpty ? [id] : members)
    }

    /// Whenever a wallet's lots are read it is compared with them.
    private func check(_ wallet: Wallet, _ player: PlayerID) throws {
        // Taken away one after the other, so that no sum of damaged lots leaves its range.
        var (available, held, debt) = (wallet.available, wallet.held, wallet.debt)
        for lot in wallet.lots where available >= 0 && held >= 0 && debt >= 0 {
            available -= lot.remaining
            held -= lot.held
            debt -= lot.owed
        }
        guard available == 0, held == 0, debt == 0, wallet.isSumOfLots else {
            throw StoreError.corrupt(
                "the wallet of account \(player), currency \(wallet.currency) is not the sum of its lots")
        }
    }

    private func readOpenLots(_ members: [PlayerID]) throws -> [CurrencyID: [Lot]] {
        var lots: [CurrencyID: [Lot]] = [:]
        for account in members {
            selectAllOpenLots.bind(1, account)
            try selectAllOpenLots.forEach { row in
                let stored = try StoredLot(row)
                guard stored.account == account, stored.lot.isOpen else {
                    throw StoreError.corrupt("lot \(stored.lot.id) is found where it does not belong")
                }
                lots[stored.currency, default: []].append(stored.lot)
            }
        }
        return lots.mapValues(inOrder)
    }

    private func readOpenLots(_ members: [PlayerID], _ currency: CurrencyID) throws -> [Lot] {
        var lots: [Lot] = []
        for account in members {
            selectOpenLots.bind(1, account)
            selectOpenLots.bind(2, Int64(currency))
            try selectOpenLots.forEach { row in
                let stored = try StoredLot(row)
                guard stored.account == account, stored.currency == currency, stored.lot.isOpen else {
                    throw StoreError.corrupt("lot \(stored.lot.id) is found where it does not belong")
                }
                lots.append(stored.lot)
            }
        }
        return inOrder(lots)
    }

    /// The index has them by their expiry: SQLite would sort whole rows, which takes it half as long as to find them.
    private func inOrder(_ lots: [Lot]) -> [Lot] { lots.sorted { $0.id < $1.id } }

    /// Loads lots of a loaded wallet that are not open.
    func load(lots ids: [LotID], of player: PlayerID, _ currency: CurrencyID, into books: inout Books) throws {
        var lots: [Lot] = []
        // Used lots that came over with a token may be all that an account has of a currency.
        var needsWallet = false
        for id in books.missing(ids, player, currency) {
            try suspects.check(.lot)
            selectLot.bind(1, id)
            guard let stored = try selectLot.first({ try StoredLot($0) }) else {
                throw StoreError.corrupt("lot \(id) is missing")
            }
            guard try stored.account == player || owner(of: stored.account, books) == player,
                stored.currency == currency
            else {
                throw StoreError.corrupt("lot \(id) is not in the wallet of account \(player), currency \(currency)")
            }
            guard !stored.lot.isOpen else {
                throw StoreError.corrupt("lot \(id) is open, but not among the open lots of its wallet")
            }
            lots.append(stored.lot)
            needsWallet = needsWallet || stored.account == player
        }
        if lots.isEmpty { return }
        guard !needsWallet || books.players[player]?.walletIndex(currency) != nil else {
            throw StoreError.corrupt("the wallet of account \(player), currency \(currency) is missing")
        }
        books.load(lots, player: player, currency: currency)
    }

    /// Whose everything is that an account ever had. Memory is asked of each on the way who is there, for a player in
    /// memory may have been linked since, and the tables of the others: those between two players in memory may have
    /// been forgotten.
    private func owner(of account: PlayerID, _ books: borrowing Books) throws -> PlayerID {
        try suspects.check(.link)
        var owners = [account]
        while let link = try firstLink(of: owners[owners.count - 1], books) {
            if owners.contains(link.account) {
                throw StoreError.corrupt("account \(account) is linked to itself")
            }
            owners.append(link.account)
        }
        return owners[owners.count - 1]
    }

    private func firstLink(of account: PlayerID, _ books: borrowing Books) throws -> AccountLink? {
        try allLinks(of: account, books).first
    }

    private func allLinks(of account: PlayerID, _ books: borrowing Books) throws -> [AccountLink] {
        guard let slot = books.players.slot(of: account) else { return try links.links(of: account) }
        return books.players[slot: slot].links
    }

    // MARK: Keys

    func load(_ key: RequestKey, into books: inout Books) throws {
        try suspects.check(.request)
        selectRequest.bind(1, key.text)
        let row = try selectRequest.first { (fingerprint: Digest($0.blob(0)), answer: $0.blob(1)) }
        guard let row else { return }
        var missing: (any Error)?
        let answer = KeyedAnswer(encoded: row.answer[...]) { player in
            do {
                return try findName(of: player)
            } catch {
                missing = error
                return nil
            }
        }
        if let missing { throw missing }
        guard let fingerprint = row.fingerprint, let answer else {
            throw StoreError.corrupt("the answer of request \(key) cannot be read")
        }
        books.load(key, Books.Answered(fingerprint: fingerprint, answer: answer))
    }

    // MARK: What expires

    /// Whether something of an account has expired, and is not posted yet. What others have does not count, and neither
    /// do lots of which everything is held.
    /// - Parameter name: the account's, or that of a token that is linked to it.
    private func hasDue(_ name: AccountName, by time: Timestamp, _ books: borrowing Books) throws -> Bool {
        var account = books.playerIDs[name]
        if account == nil { account = try findAccount(name, books) }
        guard var owner = account else { return false }
        try suspects.check(.link)
        // As in the books: what comes under a name goes over its last link.
        if let link = try allLinks(of: owner, books).last { owner = try self.owner(of: link.account, books) }
        if let slot = books.players.slot(of: owner) { return books.players[slot: slot].deadline <= time }
        try suspects.check(.wallet, .lot, .hold)
        for member in try members(of: owner) {
            selectDue.bind(1, owner)
            selectDue.bind(2, member)
            selectDue.bind(3, time)
            if try selectDue.first({ _ in true }) ?? false { return true }
        }
        return false
    }

    /// The players of whom something has expired by `time`, those of whom it did first, and as many as one batch posts.
    /// Those whom memory knows better (what was due of them was posted, and the tables do not say so yet) do not count,
    /// and neither do those who cannot be read.
    /// - Throws: ``Unreadable`` for one of whom a row does not fit.
    private func loadExpiries(by time: Timestamp, into books: inout Books) throws {
        try suspects.check(.lot, .hold)
        var due: [PlayerID] = []
        var seen: Set<PlayerID> = []
        defer { selectExpiries.reset() }
        while due.count < Limits.expirationsPerBatchMax, try selectExpiries.next(), selectExpiries.integer(0) <= time {
            let id = try owner(of: selectExpiries.integer(1), books)
            if let slot = books.players.slot(of: id),
                books.players[slot: slot].deadline != selectExpiries.integer(0)
            {
                continue
            }
            if !unreadable.contains(id), seen.insert(id).inserted { due.append(id) }
        }
        for id in due {
            do {
                try load(player: id, into: &books)
            } catch let error as StoreError where error.kind == .corrupt {
                throw Unreadable(player: id, error: error)
            } catch let error as DatabaseError where error.isDamage {
                throw Unreadable(player: id, error: .corrupt("loading account \(id): \(error.sentence)"))
            }
        }
    }

    /// A player who cannot be read, and of whom something has expired. Nobody asks for them by name, and the others are
    /// not to wait for them.
    struct Unreadable: Error {
        let player: PlayerID
        let error: StoreError
    }

    /// From now on what expires of a player waits for tables that are made anew.
    func leaveOut(_ player: PlayerID) { unreadable.insert(player) }
}
