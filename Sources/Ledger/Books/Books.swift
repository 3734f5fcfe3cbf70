/// The books in memory: the part of the projection that a batch needs, and the rows that the batch adds.
///
/// `decide` reads and changes nothing but this value; whoever keeps it fills it (``Needs``), takes its rows to the
/// log, and drops it when an append fails. Invariants, asserted where something is posted, kept or handed over:
/// 1. per currency all accounts sum to zero (each transfer debits and credits the same amount);
/// 2. a wallet's `available` is never negative and never beside a debt; it is the sum of its lots' remainders, `held`
///    that of their held parts, `debt` that of what they owe (asserted in debug builds, where the lots are in memory);
///    what it has and holds, and what it owes, is each at most 2^53 − 1;
/// 3. what a purchase has posted is what its newest JWS says;
/// 4. no transaction id posts twice, no key has two answers;
/// 5. rows are only ever added, each under the next number;
/// 6. an entry's time is never earlier than the one before, nor in a closed period, and no entry is without a transfer.
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
        package var answer: KeyedAnswer

        package init(fingerprint: Digest, answer: KeyedAnswer) {
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

    /// What decisions follow.
    package private(set) var catalog: Catalog
    /// The catalog that the blocks name last; `nil` where none does.
    package private(set) var recordedCatalog: BlockRows.CatalogRow?
    package let hash: HashFunction
    /// By number, from 1.
    package private(set) var currencies: [Currency] = []
    private var currencyIDs: [CurrencyCode: CurrencyID] = [:]

    package internal(set) var position: LastNumbers
    package internal(set) var totals: Totals
    /// The end of the last period that was closed, by a read of the past or by name.
    package private(set) var closedThrough: Timestamp
    /// What can be closed by name.
    package private(set) var periods: Periods
    package internal(set) var rows = BlockRows()

    package internal(set) var playerIDs = DividedDictionary<AccountName, PlayerID>()
    package internal(set) var players = PlayerTable()
    package internal(set) var purchases = DividedDictionary<TransactionID, PurchaseRegister>()
    package internal(set) var answers = DividedDictionary<RequestKey, Answered>()
    package internal(set) var notifications = DividedDictionary<String, RecordedNotification>()
    /// How the last call of each key ended.
    package internal(set) var calls = DividedDictionary<CallKey, AppStoreCall.End>()
    /// What of each spend that this batch may give back went back before, by the spend's first transfer and by lot.
    package internal(set) var returned = DividedDictionary<TransferID, [LotID: Int64]>()
    /// How each hold that this batch may ask for ended, by the hold's first transfer; those that are open are not
    /// here.
    package internal(set) var holdEnds = DividedDictionary<TransferID, HoldEnd>()
    /// Players in memory of whom something expires.
    var deadlines = Deadlines()
    /// Whether the entry being posted is an atomic's, which all its operations share.
    var isInAtomic = false
    /// What was loaded since it was asked for last.
    var loaded = Loaded()
    /// Whether a player with links is, or was, in memory; mostly none is, and then a name is its own account.
    var hasLinks = false
    /// Players of whom something changed that no transfer tells, since it was asked for last.
    var changedAccounts: [PlayerID] = []
    /// Players of whom a lot was used up since it was asked for last, perhaps more than once.
    var closers: [PlayerID] = []
    /// The numbers of the header segments of JWS that the blocks have, by their SHA-256. Apple signs with two or three
    /// at a time, so they are few.
    var headerIDs: [Digest: HeaderID]
    /// The numbers of the tokens' names that the blocks have.
    var actorIDs: [String: ActorID]
    /// The name of the token under which the command being decided was sent.
    var actor: String?

    /// - Parameters:
    ///   - known: the currencies that the blocks have numbered, in that order. Those of the catalog that are not among
    ///     them get the next numbers and are added to the rows.
    ///     The catalog has no excess beside them (``Catalog/excess(beside:)``).
    ///   - totals: the turnovers of the known currencies.
    package init(
        catalog: Catalog, known: [CurrencyCode], position: LastNumbers, totals: Totals,
        closedThrough: Timestamp = -1, periods: Periods = Periods(), headers: [Digest: HeaderID] = [:],
        actors: [String: ActorID] = [:], recordedCatalog: BlockRows.CatalogRow? = nil, hash: @escaping HashFunction
    ) {
        self.catalog = catalog
        self.recordedCatalog = recordedCatalog
        self.position = position
        self.totals = totals
        self.closedThrough = closedThrough
        self.periods = periods
        headerIDs = headers
        actorIDs = actors
        self.hash = hash
        setCurrencies(known: known)
    }

    /// Of a few currencies the code is found sooner by comparing than by hashing.
    package func currencyID(_ code: CurrencyCode) -> CurrencyID? {
        if currencies.count > 8 { return currencyIDs[code] }
        for index in currencies.indices where currencies[index].code == code { return CurrencyID(index + 1) }
        return nil
    }
    package func code(_ id: CurrencyID) -> CurrencyCode { currencies[Int(id) - 1].code }
    package func settings(_ id: CurrencyID) -> CurrencySettings { currencies[Int(id) - 1].settings }

    // MARK: The catalog

    /// From here on decisions follow another catalog. Currencies that it has first get the next numbers and are added
    /// to the rows; those that it lacks keep their balances, and have the default settings. The catalog has no excess
    /// (``Catalog/excess(beside:)``).
    package mutating func follow(_ catalog: Catalog) {
        self.catalog = catalog
        setCurrencies(known: currencies.map(\.code))
    }

    /// Has the rows say which catalog decisions follow from here on.
    /// - Parameter digest: SHA-256 of its file; another one than that of ``recordedCatalog``.
    package mutating func record(catalog digest: Digest, at now: Timestamp) {
        precondition(recordedCatalog?.digest != digest, "a catalog is recorded again")
        let row = BlockRows.CatalogRow(
            version: (recordedCatalog?.version ?? 0) + 1, digest: digest, time: latestTime(now))
        rows.catalogs.append(row)
        recordedCatalog = row
    }

    private mutating func setCurrencies(known: [CurrencyCode]) {
        let new = catalog.currencies.keys.filter { !known.contains($0) }.sorted()
        let codes = known + new
        precondition(codes.count <= Limits.currenciesMax, "a ledger has at most \(Limits.currenciesMax) currencies")
        currencies = codes.map { Currency(code: $0, settings: catalog.currencies[$0] ?? CurrencySettings()) }
        currencyIDs = [:]
        for (index, code) in codes.enumerated() { currencyIDs[code] = CurrencyID(index + 1) }
        position.currency = Int64(codes.count)
        totals = totals.extended(to: codes.count)
        for code in new {
            if let id = currencyIDs[code] { rows.currencies.append(BlockRows.CurrencyRow(id: id, code: code)) }
        }
    }

    // MARK: Time

    /// The time of now, or of the last entry where the clock has been set back.
    package func latestTime(_ now: Timestamp) -> Timestamp { max(now, position.time) }

    /// An entry's time is never earlier than that of the entry before it, and later than every closed period.
    package func entryTime(_ now: Timestamp) -> Timestamp { max(latestTime(now), closedThrough + 1) }

    /// Closes the period up to `time`: entries posted from now on are later, also after a restart with another clock.
    /// A period that the last entry is later than is closed by itself.
    package mutating func close(through time: Timestamp) {
        guard time > closedThrough, time >= position.time else { return }
        closedThrough = time
        rows.closedThrough = time
    }

    /// The periods of a ledger: when the first begins, and where the last that was closed by name ends.
    package struct Periods: Hashable, Sendable {
        /// The time of the ledger's first block.
        package var began: Timestamp
        /// -1 where none was closed by name.
        package var closedThrough: Timestamp

        package init(began: Timestamp = 0, closedThrough: Timestamp = -1) {
            self.began = began
            self.closedThrough = closedThrough
        }
    }

    /// Closes by name the period up to a time that is past, later than the last period that was closed so, and not
    /// before the ledger began. Where entries are later already, the period is closed by itself; it is recorded all
    /// the same who closed it.
    package mutating func closePeriod(through time: Timestamp, by actor: String?, at now: Timestamp) {
        let latest = latestTime(now)
        precondition(
            time <= latest && time > periods.closedThrough && time >= periods.began,
            "a period is closed that cannot be")
        self.actor = actor
        rows.closings.append(BlockRows.ClosingRow(through: time, time: latest, actor: actorID()))
        periods.closedThrough = time
        close(through: time)
        precondition(position.time > time || closedThrough >= time, "a closed period is open")
    }

    // MARK: Players

    /// The player, made now where the name is new.
    mutating func openPlayer(_ name: AccountName) -> PlayerID {
        if let id = playerIDs[name] { return id }
        position.account += 1
        rows.accounts.append(BlockRows.AccountRow(id: position.account, name: name))
        load(Player(id: position.account, name: name))
        return position.account
    }

    /// Gives a player another name; the one before is free.
    mutating func rename(_ player: PlayerID, _ name: AccountName) {
        guard let slot = players.slot(of: player) else { preconditionFailure("player \(player) is not loaded") }
        playerIDs[players[slot: slot].name] = nil
        players[slot: slot].name = name
        playerIDs[name] = player
    }

    func name(of player: PlayerID?) -> AccountName? {
        guard let player, let slot = players.slot(of: player) else { return nil }
        return players[slot: slot].name
    }

    package func balances(_ player: Player) -> [CurrencyBalance] {
        // A wallet that only keeps used lots that moved there has had no balance yet.
        player.wallets.filter { $0.version > 0 }
            .map { CurrencyBalance(currency: code($0.currency), balance: $0.balance) }
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

    /// A wallet where it stands. One that is read is not to be kept while something is posted: its lots would be
    /// copied.
    subscript(_ place: WalletPlace) -> Wallet {
        _read { yield players[slot: place.slot].wallets[place.wallet] }
        _modify { yield &players[slot: place.slot].wallets[place.wallet] }
    }
}
