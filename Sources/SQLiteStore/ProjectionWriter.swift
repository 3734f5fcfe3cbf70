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

    /// Rows that a slice adds to the projection, to be inserted together.
    private struct NewRows {
        struct NewWallet {
            var player: PlayerID
            var wallet: Wallet
        }

        struct NewLot {
            var player: PlayerID
            var currency: CurrencyID
            var lot: Lot
        }

        var wallets: [NewWallet] = []
        var lots: [NewLot] = []
    }

    private let insertWallet: RowInsertion
    private let updateWallet: PreparedStatement
    private let insertLot: RowInsertion
    private let updateLot: PreparedStatement
    /// The same for a lot that closes or opens: only then the index of open lots is touched.
    private let updateOpenLot: PreparedStatement
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
        insertWallet = try RowInsertion(
            db, into: "wallet", "account", "currency", "available", "paid", "held", "debt", "version", "last_entry",
            "last_transfer")
        updateWallet = try PreparedStatement(
            db,
            """
            UPDATE wallet SET available = ?, paid = ?, held = ?, debt = ?, version = ?, last_entry = ?, last_transfer = ?
            WHERE account = ? AND currency = ?
            """)
        insertLot = try RowInsertion(
            db, into: "lot", "id", "account", "currency", "class", "transaction_id", "time", "price", "granted",
            "remaining", "held", "spent", "expired", "refunded", "indebted", "recovered", "written_off", "repaid",
            "expires_at", "is_open")
        let amounts = """
            remaining = ?, held = ?, spent = ?, expired = ?, refunded = ?, indebted = ?, recovered = ?, written_off = ?,
            repaid = ?
            """
        updateLot = try PreparedStatement(db, "UPDATE lot SET \(amounts) WHERE id = ?")
        updateOpenLot = try PreparedStatement(db, "UPDATE lot SET \(amounts), is_open = ?11 WHERE id = ?10")
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
        var new = NewRows()
        while current.next < current.players.count, written < count {
            let id = current.players[current.next]
            current.next += 1
            guard let player = books.players[id] else { continue }
            // With the first wallet: a player who may be forgotten must be found by name.
            if id > watermark.account { try writeName(of: player) }
            for wallet in player.wallets where wallet.isDirty { written += try write(wallet, of: id, &new) }
            if player.holdsAreDirty { try writeHolds(of: player) }
            try writeDeadline(of: player)
            books.written(id)
        }
        try insert(new)
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
    private func write(_ wallet: Wallet, of player: PlayerID, _ new: inout NewRows) throws -> Int {
        if wallet.isStored {
            updateWallet.bind(1, wallet.available)
            updateWallet.bind(2, wallet.paid)
            updateWallet.bind(3, wallet.held)
            updateWallet.bind(4, wallet.debt)
            updateWallet.bind(5, wallet.version)
            updateWallet.bind(6, wallet.lastEntry)
            updateWallet.bind(7, wallet.lastTransfer)
            updateWallet.bind(8, player)
            updateWallet.bind(9, Int64(wallet.currency))
            try updateWallet.run(changing: 1)
        } else {
            new.wallets.append(NewRows.NewWallet(player: player, wallet: wallet))
        }
        var written = 1
        for lot in wallet.lots where lot.mark.isDirty {
            switch lot.mark.stored {
            case .absent: new.lots.append(NewRows.NewLot(player: player, currency: wallet.currency, lot: lot))
            case .open: try update(lot, wasOpen: true)
            case .closed: try update(lot, wasOpen: false)
            }
            written += 1
        }
        return written
    }

    private func update(_ lot: Lot, wasOpen: Bool) throws {
        let statement = lot.isOpen == wasOpen ? updateLot : updateOpenLot
        statement.bind(1, lot.remaining)
        statement.bind(2, lot.held)
        statement.bind(3, lot.spent)
        statement.bind(4, lot.expired)
        statement.bind(5, lot.refunded)
        statement.bind(6, lot.indebted)
        statement.bind(7, lot.recovered)
        statement.bind(8, lot.writtenOff)
        statement.bind(9, lot.repaid)
        statement.bind(10, lot.id)
        if lot.isOpen != wasOpen { statement.bind(11, lot.isOpen ? 1 : 0) }
        try statement.run(changing: 1)
    }

    private func insert(_ new: NewRows) throws {
        try insertWallet.run(new.wallets) { parameters, row in
            parameters.bind(1, row.pointee.player)
            parameters.bind(2, Int64(row.pointee.wallet.currency))
            parameters.bind(3, row.pointee.wallet.available)
            parameters.bind(4, row.pointee.wallet.paid)
            parameters.bind(5, row.pointee.wallet.held)
            parameters.bind(6, row.pointee.wallet.debt)
            parameters.bind(7, row.pointee.wallet.version)
            parameters.bind(8, row.pointee.wallet.lastEntry)
            parameters.bind(9, row.pointee.wallet.lastTransfer)
        }
        // By their numbers, so that those of one page are inserted one after the other.
        try insertLot.run(new.lots.sorted { $0.lot.id < $1.lot.id }) { parameters, row in
            let lot = row.pointee.lot
            parameters.bind(1, lot.id)
            parameters.bind(2, row.pointee.player)
            parameters.bind(3, Int64(row.pointee.currency))
            parameters.bind(4, lot.lotClass.rawValue)
            parameters.bind(5, lot.transaction?.number)
            parameters.bind(6, lot.time)
            parameters.bind(7, lot.price)
            parameters.bind(8, lot.granted)
            parameters.bind(9, lot.remaining)
            parameters.bind(10, lot.held)
            parameters.bind(11, lot.spent)
            parameters.bind(12, lot.expired)
            parameters.bind(13, lot.refunded)
            parameters.bind(14, lot.indebted)
            parameters.bind(15, lot.recovered)
            parameters.bind(16, lot.writtenOff)
            parameters.bind(17, lot.repaid)
            parameters.bind(18, lot.expiresAt)
            parameters.bind(19, lot.isOpen ? 1 : 0)
        }
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
