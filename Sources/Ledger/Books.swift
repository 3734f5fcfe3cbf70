/// The books in memory: the part of the projection that a batch needs, and the journal rows that the batch adds.
///
/// `decide` reads and changes nothing but this value; a store fills it (``Needs``), keeps its journal and drops it when
/// a commit fails. Invariants, asserted after every decision:
/// 1. per currency all accounts sum to zero (each transfer debits and credits the same amount);
/// 2. a wallet's `available` is never negative and never beside a debt; it is the sum of its lots' remainders, `held` that of their
///    held parts, `debt` that of what they owe (asserted in debug builds, where the lots are in memory);
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

    /// How a hold ended.
    package enum HoldEnd: Sendable {
        /// It was captured or released.
        case closed
        /// Its time was over.
        case expired
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

    package internal(set) var playerIDs: [AccountName: PlayerID] = [:]
    package internal(set) var players = PlayerTable()
    package internal(set) var purchases: [TransactionID: PurchaseRegister] = [:]
    package internal(set) var answers: [RequestKey: Answered] = [:]
    package internal(set) var notifications: Set<String> = []
    /// What of each spend that this batch may give back went back before, by the spend's first transfer and by lot.
    package internal(set) var returned: [TransferID: [LotID: Int64]] = [:]
    /// How each hold that this batch may ask for ended, by the hold's first transfer; those that are open are not here.
    package internal(set) var holdEnds: [TransferID: HoldEnd] = [:]
    /// Players in memory of whom something expires.
    var deadlines = Deadlines()
    /// Whether the entry being posted is an atomic's, which all its operations share.
    var isInAtomic = false
    /// Players with a wallet that differs from the stored projection, each once.
    package internal(set) var dirtyPlayers: [PlayerID] = []
    /// Lots of all players, about: counted anew whenever some are forgotten.
    var lotsKept = 0
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

    /// Loads a player as the projection has him.
    package mutating func load(_ player: Player) {
        var player = player
        player.deadline = player.exactDeadline
        player.projectedDeadline = player.deadline
        playerIDs[player.name] = player.id
        players.insert(player)
        lotsKept += player.lotCount
        if player.deadline < Timestamp.max { expect(player.id, at: player.deadline) }
    }

    package mutating func load(_ register: PurchaseRegister) { purchases[register.facts.transaction] = register }

    /// Adds lots that their wallet no longer keeps; those that it has stay as they are.
    package mutating func load(_ lots: [Lot], player: PlayerID, currency: CurrencyID) {
        guard let place = place(player, currency) else {
            preconditionFailure("lots of player \(player) were loaded before their wallet")
        }
        let missing = lots.filter { self[place].index($0.id) == nil }
        if missing.isEmpty { return }
        lotsKept += missing.count
        if missing.count == 1 { self[place].insert(missing[0]) } else { self[place].insert(missing) }
        borrowers.append(player)
    }

    /// The wallets of a loaded player whose lots were left in the store.
    package func walletsWithoutLots(of player: PlayerID) -> [CurrencyID] {
        guard let slot = players.slot(of: player) else { return [] }
        // Almost always none, which must cost nothing.
        guard players[slot: slot].wallets.contains(where: { !$0.hasAllLots }) else { return [] }
        return players[slot: slot].wallets.filter { !$0.hasAllLots }.map(\.currency)
    }

    /// Gives a wallet that was loaded without its lots all open ones that the store has.
    /// - Returns: whether the wallet is their sum.
    package mutating func complete(_ player: PlayerID, _ currency: CurrencyID, with stored: [Lot]) -> Bool {
        guard let place = place(player, currency) else {
            preconditionFailure("lots of player \(player) were loaded before their wallet")
        }
        let before = self[place].lots.count
        self[place].complete(with: stored)
        lotsKept += self[place].lots.count - before
        return self[place].isSumOfLots
    }

    /// Says what of a spend went back before.
    package mutating func load(returned: [LotID: Int64], of spend: TransferID) { self.returned[spend] = returned }

    /// Says how a hold ended that is not open.
    package mutating func load(_ end: HoldEnd, of hold: TransferID) { holdEnds[hold] = end }

    package mutating func load(_ key: RequestKey, _ answered: Answered) { answers[key] = answered }
    package mutating func load(notification uuid: String) { notifications.insert(uuid) }

    // MARK: Keeping

    /// What the batch appended was made durable: its rows, and whatever is now to be found in the store, may go.
    package mutating func committed() {
        journal.removeAll()
        if !purchases.isEmpty { purchases.removeAll(keepingCapacity: true) }
        if !answers.isEmpty { answers.removeAll(keepingCapacity: true) }
        if !notifications.isEmpty { notifications.removeAll(keepingCapacity: true) }
        if !returned.isEmpty { returned.removeAll(keepingCapacity: true) }
        if !holdEnds.isEmpty { holdEnds.removeAll(keepingCapacity: true) }
        for id in borrowers {
            guard let slot = players.slot(of: id) else { continue }
            lotsKept -= players[slot: slot].lotCount
            defer { lotsKept += players[slot: slot].lotCount }
            for index in players[slot: slot].wallets.indices where !players[slot: slot].wallets[index].isDirty {
                players[slot: slot].wallets[index].dropClosed()
            }
        }
        if !borrowers.isEmpty { borrowers.removeAll() }
    }

    /// Hands over the list of dirty players to be written; whoever becomes dirty from now on is on the next list.
    /// (A player on the handed list who changes again before being written is written as he then is.)
    package mutating func takeDirtyPlayers() -> [PlayerID] {
        defer { dirtyPlayers = [] }
        return dirtyPlayers
    }

    /// The projection of a player was written: he is clean, and his closed lots are on disk.
    package mutating func written(_ id: PlayerID) {
        guard let slot = players.slot(of: id) else { return }
        let before = players[slot: slot].lotCount
        for index in players[slot: slot].wallets.indices { players[slot: slot].wallets[index].written() }
        lotsKept -= before - players[slot: slot].lotCount
        players[slot: slot].holdsAreDirty = false
        if players[slot: slot].deadline < Timestamp.max { refreshDeadline(slot) }
        players[slot: slot].projectedDeadline = players[slot: slot].deadline
    }

    /// Forgets players that are clean until about `count` are kept, each with one lot: a player with many lots counts for more.
    package mutating func forgetCleanPlayers(keeping count: Int) {
        // A tenth over the bound before anything is done, so that the walk over all players is rare.
        guard players.count + lotsKept > 2 * (count + count / 10) else { return }
        var excess = players.count + lotsKept - 2 * count
        var forgotten: [(id: PlayerID, name: AccountName)] = []
        lotsKept = 0
        // From anywhere on: were those forgotten first who came first, players who come by turns would never be found here.
        let start = Int((UInt64(bitPattern: position.transfer) &* 0x9E37_79B9_7F4A_7C15) >> 32) % max(players.count, 1)
        for step in 0..<players.count {
            let slot = (start + step) % players.count
            let lots = players[slot: slot].lotCount
            if excess > 0 && !players[slot: slot].wallets.contains(where: \.isDirty) {
                forgotten.append((players[slot: slot].id, players[slot: slot].name))
                excess -= 1 + lots
            } else {
                lotsKept += lots
            }
        }
        for (id, name) in forgotten {
            players.remove(id)
            playerIDs[name] = nil
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

    func name(of player: PlayerID?) -> AccountName? {
        guard let player, let slot = players.slot(of: player) else { return nil }
        return players[slot: slot].name
    }

    package func balances(_ player: Player) -> [CurrencyBalance] {
        player.wallets.map { CurrencyBalance(currency: code($0.currency), balance: $0.balance) }
            .sorted { $0.currency < $1.currency }
    }

    func balances(_ player: PlayerID, _ chosen: some Sequence<CurrencyID>) -> [CurrencyBalance] {
        // No closures here and where a spend is decided: what captures the books may copy them.
        var balances: [CurrencyBalance] = []
        balances.reserveCapacity(chosen.underestimatedCount)
        for currency in chosen {
            balances.append(CurrencyBalance(currency: code(currency), balance: balance(place(player, currency))))
        }
        return balances
    }

    /// Nothing where there is no wallet.
    func balance(_ place: WalletPlace?) -> Balance {
        guard let place else { return Balance() }
        return self[place].balance
    }

    // MARK: Wallets

    /// The head of the chain of a loaded wallet's transfers; 0 where there is no such wallet.
    package func lastTransfer(_ player: PlayerID, _ currency: CurrencyID) -> TransferID {
        place(player, currency).map { self[$0].lastTransfer } ?? 0
    }

    /// Those of `lots` that the loaded wallet does not have in memory.
    package func missing(_ lots: [LotID], _ player: PlayerID, _ currency: CurrencyID) -> [LotID] {
        guard let place = place(player, currency) else { return lots }
        return lots.filter { self[place].index($0) == nil }
    }

    /// Where a wallet is; good until a wallet is added or a player forgotten.
    struct WalletPlace {
        fileprivate let slot: Int
        fileprivate let wallet: Int
    }

    func place(_ player: PlayerID?, _ currency: CurrencyID) -> WalletPlace? {
        guard let player, let slot = players.slot(of: player),
            let wallet = players[slot: slot].walletIndex(currency)
        else { return nil }
        return WalletPlace(slot: slot, wallet: wallet)
    }

    /// A wallet where it stands. One that is read is not to be kept while something is posted: its lots would be copied.
    subscript(_ place: WalletPlace) -> Wallet {
        _read { yield players[slot: place.slot].wallets[place.wallet] }
        _modify { yield &players[slot: place.slot].wallets[place.wallet] }
    }
}
