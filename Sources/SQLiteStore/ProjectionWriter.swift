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
    private let deleteHolds: PreparedStatement
    private let insertHold: PreparedStatement
    private let deleteDeadline: PreparedStatement
    private let insertDeadline: PreparedStatement
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
                held, spent, expired, refunded, indebted, recovered, written_off, repaid, expires_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertName = try PreparedStatement(db, "INSERT OR IGNORE INTO account_name (name, account) VALUES (?, ?)")
        deleteHolds = try PreparedStatement(db, "DELETE FROM open_hold WHERE account = ?")
        insertHold = try PreparedStatement(
            db, "INSERT INTO open_hold (account, id, currency, amount, expires_at) VALUES (?, ?, ?, ?, ?)")
        deleteDeadline = try PreparedStatement(db, "DELETE FROM deadline WHERE time = ? AND account = ?")
        insertDeadline = try PreparedStatement(db, "INSERT OR IGNORE INTO deadline (time, account) VALUES (?, ?)")
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
        try write(&books, lots: max(SQLiteLimits.sliceMin, 2 * appended))
    }

    /// Writes everything.
    func finish(_ books: inout Books) throws {
        if cycle != nil { try write(&books, lots: Int.max) }
        cycle = Cycle(players: books.takeDirtyPlayers().sorted(), position: books.position)
        try write(&books, lots: Int.max)
    }

    /// Writes whole players until so many of their lots are written.
    private func write(_ books: inout Books, lots count: Int) throws {
        guard var current = cycle else { return }
        var written = 0
        while current.next < current.players.count, written < count {
            let id = current.players[current.next]
            current.next += 1
            guard let player = books.players[id] else { continue }
            // With the first wallet: a player who may be forgotten must be found by name.
            if id > watermark.account { try writeName(of: player) }
            for wallet in player.wallets where wallet.isDirty { written += try write(wallet, of: id) }
            if player.holdsAreDirty { try writeHolds(of: player) }
            try writeDeadline(of: player)
            books.written(id)
        }
        guard current.next == current.players.count else {
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

    private func writeHolds(of player: Player) throws {
        deleteHolds.bind(1, player.id)
        try deleteHolds.run()
        for hold in player.holds {
            insertHold.bind(1, player.id)
            insertHold.bind(2, hold.id)
            insertHold.bind(3, Int64(hold.currency))
            insertHold.bind(4, hold.amount)
            insertHold.bind(5, hold.expiresAt)
            try insertHold.run()
        }
    }

    /// A player of whom nothing expires, and nothing did, costs nothing here.
    private func writeDeadline(of player: Player) throws {
        if player.deadline == Timestamp.max && player.projectedDeadline == Timestamp.max { return }
        let deadline = player.exactDeadline
        if deadline == player.projectedDeadline { return }
        if player.projectedDeadline < Timestamp.max {
            deleteDeadline.bind(1, player.projectedDeadline)
            deleteDeadline.bind(2, player.id)
            try deleteDeadline.run()
        }
        if deadline < Timestamp.max {
            insertDeadline.bind(1, deadline)
            insertDeadline.bind(2, player.id)
            try insertDeadline.run()
        }
    }

    /// Gives how many lots it wrote, and one for the wallet.
    private func write(_ wallet: Wallet, of player: PlayerID) throws -> Int {
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
        var written = 1
        for lot in wallet.lots where lot.mark.isSet {
            try write(lot, player, wallet.currency)
            written += 1
        }
        return written
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
        upsertLot.bind(18, lot.expiresAt)
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
