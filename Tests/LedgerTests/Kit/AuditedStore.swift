import Ledger
import LedgerTestKit

/// A store that keeps its journal and its projection in memory: it loads what a batch needs and nothing else, forgets
/// what it may forget, restarts from the journal after the watermark, and can lose a batch. An auditor reads along.
struct AuditedStore {
    /// The wallets and lots as they were last written, up to a watermark.
    private struct Projection {
        var players: [PlayerID: Player] = [:]
        var closedLots: [LotID: Lot] = [:]
        var applied = JournalIndex.Applied()
        var totals: Totals

        func lots(_ player: PlayerID, _ currency: CurrencyID) -> [Lot] {
            players[player]?.wallets.first { $0.currency == currency }?.lots ?? []
        }
    }

    private(set) var books: Books
    private(set) var index = JournalIndex(headerDigest: { _ in testEvidence.headerDigest })
    private(set) var auditor = Auditor()
    /// The server's clock.
    var now: Timestamp = 1_700_000_000_000
    private var position = LastNumbers()
    private var projection: Projection
    /// Players who were changed since they were last written.
    private(set) var dirtyPlayers: Set<PlayerID> = []

    init(_ catalog: Catalog = .standard) {
        projection = Projection(totals: Totals(currencies: 0))
        books = Books(catalog: catalog, known: [], position: position, totals: projection.totals, hash: testHash)
    }

    // MARK: The batch

    mutating func commit(_ commands: [Command]) -> [Outcome] {
        commit { $0.decide(commands) }
    }

    private mutating func commit<Result>(_ decide: (inout AuditedStore) -> Result) -> Result {
        let result = decide(&self)
        let rows = books.takeRows()
        index.append(rows)
        auditor.read(rows, books, names: { index.name($0) })
        position = books.position
        dirtyPlayers.formUnion(rows.transfers.map(\.player))
        dirtyPlayers.formUnion(rows.links.flatMap { [$0.token, $0.account] } + rows.consents.map(\.account))
        books.forgetAllButPlayers()
        for player in books.takeLoaded().borrowers {
            books.forgetClosedLots(of: player, through: TransferID(projection.applied.transfers))
        }
        return result
    }

    /// What is told of a purchase, after a batch that posts what has expired; `nil` where there is no such purchase.
    mutating func view(_ query: PurchaseQuery) -> PurchaseView? {
        var needs = Needs()
        needs.transactions = [query.transaction]
        return commit { store in
            store.load(needs)
            store.books.settle(query.transaction, at: store.now)
            guard let register = store.books.purchases[query.transaction] else { return nil }
            let (events, next) = store.index.events(query)
            return register.view(
                account: register.account.map { store.index.name(store.index.owner(of: $0)) },
                lots: store.books.lots(of: register),
                events: events, next: next
            ) { store.books.code($0) }
        }
    }

    /// Decides a batch, then loses it as a failed commit does.
    mutating func lose(_ commands: [Command]) {
        _ = decide(commands)
        restart()
    }

    private mutating func decide(_ commands: [Command]) -> [Outcome] {
        var needs = Needs()
        for command in commands { needs.add(command) }
        load(needs)
        return commands.map { books.decide($0, at: now) }
    }

    private mutating func load(_ needs: Needs) {
        for transaction in needs.transactions {
            guard books.purchases[transaction] == nil, let register = index.register(transaction) else { continue }
            if let player = register.account {
                load(player)
                let owner = books.owner(of: player)
                for (grant, lot) in zip(register.grants, register.lots) { load(lot, owner, grant.currency) }
            }
            books.load(register)
        }
        for name in needs.accounts {
            if let player = index.players[name] { load(player) }
        }
        for name in needs.wallets + needs.expiring {
            if let player = index.players[name] { load(player, withLots: false) }
        }
        for key in needs.keys {
            if let answered = index.answered(key) { books.load(key, answered) }
        }
        loadNamed(needs)
        if needs.expirations { for id in projection.players.keys.sorted() { load(id) } }
        index.loadNotifications(needs, into: &books)
    }

    /// The players and lots of spends and holds that are named by their key.
    private mutating func loadNamed(_ needs: Needs) {
        index.loadReferences(needs, into: &books)
        for key in needs.spends {
            for (_, spend) in books.answers[key]?.answer.spends ?? [] {
                load(spend.trace.player)
                let owner = books.owner(of: spend.trace.player)
                for part in spend.drawn { load(part.lot, owner, books.currencyID(part.currency)!) }
            }
        }
        for key in needs.holds {
            for (_, hold) in books.answers[key]?.answer.holds ?? [] { load(hold.trace.player) }
        }
    }

    /// Loads a player, and those to whom they are linked.
    private mutating func load(_ id: PlayerID, withLots: Bool = true) {
        load(id, withLots: withLots, into: &books)
        for link in books.players[id]?.links ?? [] { load(link.account, withLots: withLots) }
    }

    private func load(_ id: PlayerID, withLots: Bool, into books: inout Books) {
        if books.players[id] == nil {
            var player = projection.players[id] ?? Player(id: id, name: index.name(id))
            if !withLots { for place in player.wallets.indices { player.wallets[place].leaveLotsIfItCan() } }
            return books.load(player)
        }
        guard withLots else { return }
        for currency in books.walletsWithoutLots(of: id) {
            let isSum = books.complete(id, currency, with: projection.lots(id, currency))
            precondition(isSum, "a wallet that was completed is not the sum of its lots")
        }
    }

    private mutating func load(_ lot: LotID, _ player: PlayerID, _ currency: CurrencyID) {
        load(lot, player, currency, into: &books)
    }

    private func load(_ lot: LotID, _ player: PlayerID, _ currency: CurrencyID, into books: inout Books) {
        let wallet = books.players[player]?.wallets.first { $0.currency == currency }
        guard wallet?.lot(lot) == nil, let closed = projection.closedLots[lot] else { return }
        books.load([closed], player: player, currency: currency)
    }

    // MARK: The projection

    /// Writes the wallets that changed, and moves the watermark.
    mutating func checkpoint() {
        for id in dirtyPlayers.sorted() {
            for wallet in books.players[id]?.wallets ?? [] {
                for lot in wallet.closed { projection.closedLots[lot.id] = lot }
                for lot in wallet.open { projection.closedLots[lot.id] = nil }
            }
            books.forgetClosedLots(of: id, through: .max)
            guard var player = books.players[id] else { continue }
            for place in player.wallets.indices where !player.wallets[place].hasAllLots {
                player.wallets[place].complete(with: projection.lots(id, player.wallets[place].currency))
            }
            projection.players[id] = player
        }
        projection.applied = index.applied
        projection.totals = books.totals
        dirtyPlayers = []
    }

    /// Forgets every player who is written as they are.
    mutating func forget() {
        for player in books.players.values.map(\.id) where !dirtyPlayers.contains(player) { books.forget(player) }
    }

    /// Starts again from what is durable: the projection, or nothing of it, and the journal after the watermark.
    mutating func restart(_ catalog: Catalog? = nil, fromGenesis: Bool = false) {
        let known = index.rows.currencies.map(\.code)
        if fromGenesis { projection = Projection(totals: Totals(currencies: known.count)) }
        books = Books(
            catalog: catalog ?? books.catalog, known: known, position: position, totals: projection.totals,
            closedThrough: index.rows.closedThrough ?? -1, headers: index.headers, actors: index.actors, hash: testHash)
        dirtyPlayers = []
        var (dirty, replayed) = (Set<PlayerID>(), books)
        index.replay(into: &replayed, after: projection.applied) { books, player, lot in
            loadAll(player, into: &books)
            if let lot, let currency = index.owners[lot]?.currency { load(lot, player, currency, into: &books) }
            dirty.insert(player)
        }
        (books, dirtyPlayers) = (replayed, dirty)
    }

    private func loadAll(_ id: PlayerID, into books: inout Books) {
        load(id, withLots: true, into: &books)
        for link in books.players[id]?.links ?? [] { loadAll(link.account, into: &books) }
    }

    /// A player with all lots, wherever they are kept.
    mutating func player(_ name: AccountName) -> Player? {
        guard let id = index.players[name] else { return nil }
        load(id)
        return books.players[books.current(id)]
    }

    // MARK: The whole

    /// Every wallet with every lot it ever had, wherever it is kept.
    struct Snapshot: Hashable {
        struct WalletState: Hashable {
            var player: PlayerID
            var currency: CurrencyID
            var balance: Balance
            var lastEntry: EntryID
            var lastTransfer: TransferID
            var open: [Lot]
            var holds: [OpenHold]
        }

        var wallets: [WalletState] = []
        var lots: [Lot] = []
        var totals: Totals
    }

    mutating func snapshot() -> Snapshot {
        var snapshot = Snapshot(totals: books.totals)
        var lots = projection.closedLots
        for row in index.rows.accounts {
            load(row.id)
            // One that has had no transfer only keeps used lots that came over, which any store may leave out.
            for wallet in books.players[row.id]?.wallets.sorted(by: { $0.currency < $1.currency }) ?? [] {
                for lot in wallet.open + wallet.closed { lots[lot.id] = lot }
                if wallet.lastTransfer == 0 { continue }
                snapshot.wallets.append(
                    Snapshot.WalletState(
                        player: row.id, currency: wallet.currency, balance: wallet.balance,
                        lastEntry: wallet.lastEntry, lastTransfer: wallet.lastTransfer, open: wallet.open,
                        holds: books.players[row.id]!.holds.filter { $0.currency == wallet.currency }))
            }
        }
        snapshot.lots = lots.values.sorted { $0.id < $1.id }
        return snapshot
    }
}

extension Wallet {
    /// The wallet as a store has it that leaves out the lots which a credit does not need.
    fileprivate mutating func leaveLotsIfItCan() {
        guard isCreditedWithoutLots else { return }
        var bare = Wallet(currency: currency)
        (bare.available, bare.paid, bare.version) = (available, paid, version)
        (bare.lastEntry, bare.lastTransfer) = (lastEntry, lastTransfer)
        bare.leaveLots()
        self = bare
    }
}
