/// The books in memory: the part of the projection that a batch needs, and the journal rows that the batch adds.
///
/// `decide` reads and changes nothing but this value; a store fills it (``Needs``), keeps its journal and drops it when
/// a commit fails. Invariants, asserted after every decision:
/// 1. per currency all accounts sum to zero (each transfer debits and credits the same amount);
/// 2. a wallet's `available` is the sum of its lots' remainders and never negative, `held` that of their held parts,
///    `debt` that of what they owe; a wallet never has both, something available and a debt;
/// 3. what a purchase has posted is what its newest JWS says;
/// 4. no transaction id posts twice, no key has two answers;
/// 5. journal rows are only ever added.
package struct Books {
    /// A currency of this ledger. One that the catalog no longer lists keeps its balances and default settings.
    package struct Currency: Sendable {
        package var code: CurrencyCode
        package var settings: CurrencySettings

        package init(code: CurrencyCode, settings: CurrencySettings) {
            self.code = code
            self.settings = settings
        }
    }

    /// A used key.
    package struct Answered: Sendable {
        package var fingerprint: Digest
        package var answer: Answer

        package init(fingerprint: Digest, answer: Answer) {
            self.fingerprint = fingerprint
            self.answer = answer
        }
    }

    package let catalog: Catalog
    package let hash: HashFunction
    /// By number, from 1.
    package let currencies: [Currency]
    private let currencyIDs: [CurrencyCode: CurrencyID]

    package internal(set) var position: JournalPosition
    package internal(set) var totals: Totals
    /// The end of the last period that a report has seen.
    package private(set) var closedThrough: Timestamp = -1
    package internal(set) var journal = Journal()

    package private(set) var playerIDs: [AccountName: PlayerID] = [:]
    package internal(set) var players: [PlayerID: Player] = [:]
    package internal(set) var purchases: [TransactionID: PurchaseRegister] = [:]
    package internal(set) var answers: [RequestKey: Answered] = [:]
    package internal(set) var notifications: Set<String> = []
    /// Players with a wallet that differs from the stored projection, each once.
    package internal(set) var dirtyPlayers: [PlayerID] = []
    /// Players to whom a closed lot was loaded for this batch.
    private var borrowers: [PlayerID] = []

    /// - Parameters:
    ///   - known: the currencies that the store has numbered, in that order. Those of the catalog that are not among them
    ///     get the next numbers and are added to the journal.
    ///   - totals: the turnovers of the known currencies.
    package init(
        catalog: Catalog, known: [CurrencyCode], position: JournalPosition, totals: Totals, hash: @escaping HashFunction
    ) {
        let new = catalog.currencies.keys.filter { !known.contains($0) }.sorted()
        let currencies = known + new
        precondition(
            currencies.count <= Limits.currenciesMax, "a ledger has at most \(Limits.currenciesMax) currencies")
        self.catalog = catalog
        self.currencies = currencies.map {
            Currency(code: $0, settings: catalog.currencies[$0] ?? CurrencySettings())
        }
        var ids: [CurrencyCode: CurrencyID] = [:]
        for (index, code) in currencies.enumerated() { ids[code] = CurrencyID(index + 1) }
        currencyIDs = ids
        self.position = position
        self.position.currency = Int64(currencies.count)
        self.totals = totals.extended(to: currencies.count)
        self.hash = hash
        for code in new {
            if let id = ids[code] { journal.currencies.append(Journal.CurrencyRow(id: id, code: code)) }
        }
    }

    package func currencyID(_ code: CurrencyCode) -> CurrencyID? { currencyIDs[code] }
    package func code(_ id: CurrencyID) -> CurrencyCode { currencies[Int(id) - 1].code }
    package func settings(_ id: CurrencyID) -> CurrencySettings { currencies[Int(id) - 1].settings }

    // MARK: Loading

    package func isLoaded(_ name: AccountName) -> Bool { playerIDs[name] != nil }

    package mutating func load(_ player: Player) {
        playerIDs[player.name] = player.id
        players[player.id] = player
    }

    package mutating func load(_ register: PurchaseRegister) { purchases[register.facts.transaction] = register }

    /// Adds a purchase's lot that its wallet no longer keeps open.
    package mutating func load(_ lot: Lot, player: PlayerID, currency: CurrencyID) {
        guard let index = players[player]?.walletIndex(currency) else {
            preconditionFailure("lot \(lot.id) was loaded before its wallet")
        }
        guard players[player]?.wallets[index].lot(lot.id) == nil else { return }
        players[player]?.wallets[index].insert(lot)
        borrowers.append(player)
    }

    package mutating func load(_ key: RequestKey, _ answered: Answered) { answers[key] = answered }
    package mutating func load(notification uuid: String) { notifications.insert(uuid) }

    // MARK: Keeping

    /// What the batch appended was made durable: its rows, and whatever is now to be found in the store, may go.
    package mutating func committed() {
        journal.removeAll()
        if !purchases.isEmpty { purchases.removeAll(keepingCapacity: true) }
        if !answers.isEmpty { answers.removeAll(keepingCapacity: true) }
        if !notifications.isEmpty { notifications.removeAll(keepingCapacity: true) }
        for id in borrowers {
            for index in players[id]?.wallets.indices ?? 0..<0 where players[id]?.wallets[index].isDirty == false {
                players[id]?.wallets[index].closed.removeAll()
            }
        }
        borrowers.removeAll()
    }

    /// Hands over the list of dirty players to be written; whoever becomes dirty from now on is on the next list.
    /// (A player on the handed list who changes again before being written is written as he then is.)
    package mutating func takeDirtyPlayers() -> [PlayerID] {
        defer { dirtyPlayers = [] }
        return dirtyPlayers
    }

    /// The projection of a player was written: he is clean, and his closed lots are on disk.
    package mutating func written(_ id: PlayerID) {
        guard let slot = players.index(forKey: id) else { return }
        for index in players.values[slot].wallets.indices {
            players.values[slot].wallets[index].isDirty = false
            players.values[slot].wallets[index].closed.removeAll()
        }
    }

    /// Forgets players that are clean until about `count` are kept.
    package mutating func forgetCleanPlayers(keeping count: Int) {
        // A tenth over the bound before anything is done, so that the walk over all players is rare.
        guard players.count > count + count / 10 else { return }
        var excess = players.count - count
        for (id, player) in players where excess > 0 && !player.wallets.contains(where: \.isDirty) {
            players[id] = nil
            playerIDs[player.name] = nil
            excess -= 1
        }
    }

    // MARK: Time

    /// The time of now, or of the last entry where the clock has been set back.
    package func latestTime(_ now: Timestamp) -> Timestamp { max(now, position.time) }

    /// An entry's time is never earlier than that of the entry before it, and later than every closed period.
    package func entryTime(_ now: Timestamp) -> Timestamp { max(latestTime(now), closedThrough + 1) }

    /// Closes the period up to `time`: entries posted from now on are later.
    package mutating func close(through time: Timestamp) { closedThrough = max(closedThrough, time) }

    // MARK: Players

    /// The player, made now where the name is new.
    mutating func openPlayer(_ name: AccountName) -> PlayerID {
        if let id = playerIDs[name] { return id }
        position.account += 1
        journal.accounts.append(Journal.AccountRow(id: position.account, name: name))
        load(Player(id: position.account, name: name))
        return position.account
    }

    package func balances(_ player: Player) -> [CurrencyBalance] {
        player.wallets.map { CurrencyBalance(currency: code($0.currency), balance: $0.balance) }
            .sorted { $0.currency < $1.currency }
    }

    func balances(_ player: PlayerID, _ chosen: some Sequence<CurrencyID>) -> [CurrencyBalance] {
        chosen.map { currency in
            let wallet = players[player]?.wallets.first { $0.currency == currency }
            return CurrencyBalance(currency: code(currency), balance: wallet?.balance ?? Balance())
        }
    }
}
