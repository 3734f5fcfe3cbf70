import GRDB
import Ledger

/// Brings players from the tables into the books: their wallets with lots and holds, whom they are linked to, and what
/// they consented to.
final class PlayerLoader {
    private let selectAccountByName: PreparedStatement
    private let selectAccountName: PreparedStatement
    private let selectWallets: PreparedStatement
    private let selectAllOpenLots: PreparedStatement
    private let selectOpenLots: PreparedStatement
    private let selectLot: PreparedStatement
    private let holds: OpenHoldReader
    private let links: StoredLinks
    private let suspects: SuspectTables

    init(_ db: Database, _ suspects: SuspectTables) throws {
        self.suspects = suspects
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
        holds = try OpenHoldReader(db)
        links = try StoredLinks(db)
    }

    /// A transaction has begun.
    func begin() throws { try links.begin() }

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

    func load(_ name: AccountName, withLots: Bool, into books: inout Books) throws {
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
    func findAccount(_ name: AccountName, _ books: borrowing Books) throws -> PlayerID? {
        try suspects.check(.account)
        selectAccountByName.bind(1, name.text)
        guard let id = try selectAccountByName.first({ $0.integer(0) }) else { return nil }
        guard id > 0, id <= books.position.account else {
            throw StoreError.corrupt("account \(id) has a number that was never given")
        }
        return id
    }

    private func name(of id: PlayerID) throws -> AccountName {
        guard let name = try findName(of: id) else { throw StoreError.corrupt("account \(id) is missing") }
        return name
    }

    /// `nil` where there is no such account.
    func findName(of id: PlayerID) throws -> AccountName? {
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
        try holds.load(&player, members)
        return player
    }

    /// The accounts whose lots and holds are the player's.
    func members(of id: PlayerID) throws -> [PlayerID] {
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
    func owner(of account: PlayerID, _ books: borrowing Books) throws -> PlayerID {
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

    func allLinks(of account: PlayerID, _ books: borrowing Books) throws -> [AccountLink] {
        guard let slot = books.players.slot(of: account) else { return try links.links(of: account) }
        return books.players[slot: slot].links
    }
}
