import Ledger
import LedgerTestKit

/// A store that keeps its journal and its projection in memory: it loads what a batch needs and nothing else, forgets
/// what it may forget, restarts from the journal after the watermark, and can lose a batch. An auditor reads along.
struct AuditedStore {
    /// The wallets and lots as they were last written, up to a watermark.
    private struct Projection {
        var players: [PlayerID: Player] = [:]
        var closedLots: [LotID: Lot] = [:]
        var transfers = 0
        var totals: Totals
    }

    private(set) var books: Books
    private(set) var index = JournalIndex()
    private(set) var auditor = Auditor()
    /// The server's clock.
    var now: Timestamp = 1_700_000_000_000
    private var position = JournalPosition()
    private var projection: Projection

    init(_ catalog: Catalog = .standard) {
        projection = Projection(totals: Totals(currencies: 0))
        books = Books(catalog: catalog, known: [], position: position, totals: projection.totals, hash: testHash)
    }

    // MARK: The batch

    mutating func commit(_ commands: [Command]) -> [Outcome] {
        let outcomes = decide(commands)
        index.append(books.journal)
        auditor.read(books.journal, books)
        position = books.position
        books.committed()
        return outcomes
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
                for (grant, lot) in zip(register.grants, register.lots) { load(lot, player, grant.currency) }
            }
            books.load(register)
        }
        for name in needs.accounts where !books.isLoaded(name) {
            if let player = index.players[name] { load(player) }
        }
        for key in needs.keys {
            if let answered = index.answered(key) { books.load(key, answered) }
        }
        loadNamed(needs)
        if needs.expirations { for id in projection.players.keys.sorted() { load(id) } }
        for uuid in needs.notifications where index.notifications.contains(uuid) { books.load(notification: uuid) }
    }

    /// The players and lots of spends and holds that are named by their key.
    private mutating func loadNamed(_ needs: Needs) {
        index.loadReferences(needs, into: &books)
        for key in needs.spends {
            for (_, spend) in books.answers[key]?.answer.spends ?? [] {
                load(spend.trace.player)
                for part in spend.drawn { load(part.lot, spend.trace.player, books.currencyID(part.currency)!) }
            }
        }
        for key in needs.holds {
            for (_, hold) in books.answers[key]?.answer.holds ?? [] { load(hold.trace.player) }
        }
    }

    private mutating func load(_ player: PlayerID) {
        guard books.players[player] == nil else { return }
        books.load(projection.players[player] ?? Player(id: player, name: index.name(player)))
    }

    private mutating func load(_ lot: LotID, _ player: PlayerID, _ currency: CurrencyID) {
        let wallet = books.players[player]?.wallets.first { $0.currency == currency }
        guard wallet?.lot(lot) == nil, let closed = projection.closedLots[lot] else { return }
        books.load([closed], player: player, currency: currency)
    }

    // MARK: The projection

    /// Writes the wallets that changed, and moves the watermark.
    mutating func checkpoint() {
        for id in books.takeDirtyPlayers() {
            for wallet in books.players[id]?.wallets ?? [] {
                for lot in wallet.closed { projection.closedLots[lot.id] = lot }
                for lot in wallet.open { projection.closedLots[lot.id] = nil }
            }
            books.written(id)
            projection.players[id] = books.players[id]
        }
        projection.transfers = index.rows.transfers.count
        projection.totals = books.totals
    }

    mutating func forget() { books.forgetCleanPlayers(keeping: 0) }

    /// Starts again from what is durable: the projection, or nothing of it, and the journal after the watermark.
    mutating func restart(_ catalog: Catalog? = nil, fromGenesis: Bool = false) {
        let known = index.rows.currencies.map(\.code)
        if fromGenesis { projection = Projection(totals: Totals(currencies: known.count)) }
        books = Books(
            catalog: catalog ?? books.catalog, known: known, position: position, totals: projection.totals,
            hash: testHash)
        for transfer in index.rows.transfers[projection.transfers...] {
            guard let owner = index.owners[transfer.lot] else { preconditionFailure("a lot that nothing opened") }
            load(owner.player)
            load(transfer.lot, owner.player, owner.currency)
            _ = books.apply(
                transfer, player: owner.player, opening: index.opening(transfer),
                hold: index.hold(transfer))
        }
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
            for wallet in books.players[row.id]?.wallets.sorted(by: { $0.currency < $1.currency }) ?? [] {
                snapshot.wallets.append(
                    Snapshot.WalletState(
                        player: row.id, currency: wallet.currency, balance: wallet.balance,
                        lastEntry: wallet.lastEntry, lastTransfer: wallet.lastTransfer, open: wallet.open,
                        holds: books.players[row.id]!.holds.filter { $0.currency == wallet.currency }))
                for lot in wallet.open + wallet.closed { lots[lot.id] = lot }
            }
        }
        snapshot.lots = lots.values.sorted { $0.id < $1.id }
        return snapshot
    }
}
