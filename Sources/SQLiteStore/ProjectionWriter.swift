import GRDB
import Ledger

/// Writes the projection behind the journal, a slice with each commit, so that no commit waits for much of it.
///
/// A cycle begins when the tail behind the watermark is long enough: it takes the list of dirty players, sorted, and the
/// journal's position. Slices write these players as they are by then. When the last is written, everything up to that
/// position is in the tables, and the watermark moves there. A wallet that is ahead of the watermark says itself (`last_transfer`)
/// what it includes, so the tail is never applied twice.
final class ProjectionWriter {
    private struct Cycle {
        var players: [PlayerID]
        var next = 0
        var position: JournalPosition
    }

    private let upsertWallet: PreparedStatement
    private let upsertLot: PreparedStatement
    private let insertName: PreparedStatement
    private let upsertTotal: PreparedStatement
    private let updateWatermark: PreparedStatement
    private var cycle: Cycle?
    private var watermark: JournalPosition
    private let tailTransfersMax: Int64

    init(_ db: Database, watermark: JournalPosition, tailTransfersMax: Int64) throws {
        self.watermark = watermark
        self.tailTransfersMax = tailTransfersMax
        upsertWallet = try PreparedStatement(
            db,
            """
            INSERT OR REPLACE INTO wallet (account, currency, available, paid, held, debt, version, last_entry,
                last_transfer)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        upsertLot = try PreparedStatement(
            db,
            """
            INSERT OR REPLACE INTO lot (id, account, currency, class, transaction_id, time, price, granted, remaining,
                held, spent, expired, refunded, indebted, recovered, written_off, repaid)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertName = try PreparedStatement(db, "INSERT OR IGNORE INTO account_name (name, account) VALUES (?, ?)")
        upsertTotal = try PreparedStatement(
            db, "INSERT OR REPLACE INTO total (currency, kind, debits, credits) VALUES (?, ?, ?, ?)")
        updateWatermark = try PreparedStatement(
            db, "UPDATE watermark SET transfer = ?, account = ?, totals_transfer = ?")
    }

    /// Writes what is due beside a batch that appended `appended` transfers, in the batch's transaction.
    func step(_ books: inout Books, appended: Int) throws {
        if cycle == nil {
            let tail = books.position.transfer - watermark.transfer
            guard tail >= tailTransfersMax else { return }
            cycle = Cycle(players: books.takeDirtyPlayers().sorted(), position: books.position)
        }
        // Twice what the batch dirtied: the cycle ends before half as much again has gathered.
        try write(&books, players: max(SQLiteLimits.sliceMin, 2 * appended))
    }

    /// Writes everything.
    func finish(_ books: inout Books) throws {
        if cycle != nil { try write(&books, players: Int.max) }
        cycle = Cycle(players: books.takeDirtyPlayers().sorted(), position: books.position)
        try write(&books, players: Int.max)
    }

    private func write(_ books: inout Books, players count: Int) throws {
        guard var current = cycle else { return }
        let end = current.players.count - current.next <= count ? current.players.count : current.next + count
        for id in current.players[current.next..<end] {
            guard let player = books.players[id] else { continue }
            // With the first wallet: a player who may be forgotten must be found by name.
            if id > watermark.account { try writeName(of: player) }
            for wallet in player.wallets where wallet.isDirty { try write(wallet, of: id) }
            books.written(id)
        }
        current.next = end
        guard end == current.players.count else {
            cycle = current
            return
        }
        cycle = nil
        try write(books.totals, currencies: books.currencies.count)
        updateWatermark.bind(1, current.position.transfer)
        updateWatermark.bind(2, current.position.account)
        updateWatermark.bind(3, books.position.transfer)
        try updateWatermark.run()
        watermark = current.position
    }

    private func writeName(of player: Player) throws {
        insertName.bind(1, player.name.text)
        insertName.bind(2, player.id)
        try insertName.run()
    }

    private func write(_ wallet: Wallet, of player: PlayerID) throws {
        upsertWallet.bind(1, player)
        upsertWallet.bind(2, Int64(wallet.currency))
        upsertWallet.bind(3, wallet.available)
        upsertWallet.bind(4, wallet.paid)
        upsertWallet.bind(5, wallet.held)
        upsertWallet.bind(6, wallet.debt)
        upsertWallet.bind(7, wallet.version)
        upsertWallet.bind(8, wallet.lastEntry)
        upsertWallet.bind(9, wallet.lastTransfer)
        try upsertWallet.run()
        for lot in wallet.closed { try write(lot, player, wallet.currency) }
        for lot in wallet.open { try write(lot, player, wallet.currency) }
    }

    private func write(_ lot: Lot, _ player: PlayerID, _ currency: CurrencyID) throws {
        upsertLot.bind(1, lot.id)
        upsertLot.bind(2, player)
        upsertLot.bind(3, Int64(currency))
        upsertLot.bind(4, lot.lotClass.rawValue)
        upsertLot.bind(5, lot.transaction?.number)
        upsertLot.bind(6, lot.time)
        upsertLot.bind(7, lot.price)
        upsertLot.bind(8, lot.granted)
        upsertLot.bind(9, lot.remaining)
        upsertLot.bind(10, lot.held)
        upsertLot.bind(11, lot.spent)
        upsertLot.bind(12, lot.expired)
        upsertLot.bind(13, lot.refunded)
        upsertLot.bind(14, lot.indebted)
        upsertLot.bind(15, lot.recovered)
        upsertLot.bind(16, lot.writtenOff)
        upsertLot.bind(17, lot.repaid)
        try upsertLot.run()
    }

    private func write(_ totals: Totals, currencies: Int) throws {
        for currency in stride(from: 1, through: currencies, by: 1) {
            for kind in AccountKind.allCases {
                let turnover = totals[CurrencyID(currency), kind]
                upsertTotal.bind(1, Int64(currency))
                upsertTotal.bind(2, kind.rawValue)
                upsertTotal.bind(3, turnover.debits)
                upsertTotal.bind(4, turnover.credits)
                try upsertTotal.run()
            }
        }
    }
}
