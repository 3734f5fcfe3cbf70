import GRDB
import Ledger

/// Reads and writes the rows of `wallet` and `lot`.
final class WalletRows {
    private let selectWallet: PreparedStatement
    private let selectLot: PreparedStatement
    private let insertWallet: RowInsertion
    private let updateWallet: PreparedStatement
    private let insertPastWallet: RowInsertion
    private let insertLot: RowInsertion
    private let updateLot: PreparedStatement
    /// The same for a lot that closes or opens: only then the indexes of open lots are touched.
    private let updateOpenLot: PreparedStatement

    init(_ db: Database) throws {
        selectWallet = try PreparedStatement(
            db,
            "SELECT \(StoredWallet.columns) FROM wallet WHERE account = ? AND currency = ?")
        selectLot = try PreparedStatement(db, "SELECT \(StoredLot.columns) FROM lot WHERE id = ?")
        insertWallet = try RowInsertion(db, into: .wallet)
        updateWallet = try PreparedStatement(
            db,
            """
            UPDATE wallet SET available = ?, paid = ?, held = ?, held_paid = ?, debt = ?, version = ?, last_entry = ?,
                last_transfer = ?, transfers = ?
            WHERE account = ? AND currency = ?
            """)
        insertPastWallet = try RowInsertion(db, into: .walletPast)
        insertLot = try RowInsertion(db, into: .lot)
        let amounts = """
            remaining = ?, held = ?, spent = ?, expired = ?, refunded = ?, indebted = ?, recovered = ?, written_off = ?,
            repaid = ?, adjusted = ?, last_transfer = ?, last_own = ?, money_deferred = ?, money_refunded = ?
            """
        updateLot = try PreparedStatement(db, "UPDATE lot SET \(amounts) WHERE id = ?")
        updateOpenLot = try PreparedStatement(db, "UPDATE lot SET \(amounts), is_open = ?16 WHERE id = ?15")
    }

    func wallet(_ account: PlayerID, _ currency: CurrencyID) throws -> StoredWallet? {
        selectWallet.bind(1, account)
        selectWallet.bind(2, Int64(currency))
        return try selectWallet.first { try StoredWallet($0) }
    }

    func lot(_ id: LotID) throws -> StoredLot? {
        selectLot.bind(1, id)
        return try selectLot.first { try StoredLot($0) }
    }

    func write(_ changes: borrowing WalletChanges, _ sums: inout TableSums) throws {
        let wallets = changes.sortedWallets()
        try insertWallet.run(wallets.filter { $0.before == nil }, &sums) { parameters, row in
            row.pointee.stored.bind(to: &parameters)
        }
        for wallet in wallets {
            guard let before = wallet.before else { continue }
            try update(wallet.stored)
            sums[.wallet].replace(before, by: wallet.stored.hash)
        }
        let past = changes.pastWallets.sorted {
            ($0.account, $0.currency, $0.transfer) < ($1.account, $1.currency, $1.transfer)
        }
        try insertPastWallet.run(past, &sums) { parameters, row in row.pointee.bind(to: &parameters) }
        let firstNew = changes.lots.firstIndex { $0.before == nil } ?? changes.lots.count
        for lot in changes.lots[..<firstNew] {
            guard let before = lot.before else { continue }
            try update(lot.stored, wasOpen: lot.wasOpen)
            sums[.lot].replace(before, by: lot.stored.hash)
        }
        try insertLot.run(Array(changes.lots[firstNew...]), &sums) { parameters, row in
            row.pointee.stored.bind(to: &parameters)
        }
    }

    private func update(_ wallet: StoredWallet) throws {
        updateWallet.bind(1, wallet.available)
        updateWallet.bind(2, wallet.paid)
        updateWallet.bind(3, wallet.held)
        updateWallet.bind(4, wallet.heldPaid)
        updateWallet.bind(5, wallet.debt)
        updateWallet.bind(6, wallet.version)
        updateWallet.bind(7, wallet.lastEntry)
        updateWallet.bind(8, wallet.lastTransfer)
        updateWallet.bind(9, wallet.transfers)
        updateWallet.bind(10, wallet.account)
        updateWallet.bind(11, Int64(wallet.currency))
        try updateWallet.run(changing: 1)
    }

    private func update(_ stored: StoredLot, wasOpen: Bool) throws {
        let lot = stored.lot
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
        statement.bind(10, lot.adjusted)
        statement.bind(11, lot.lastTransfer)
        statement.bind(12, stored.lastOwn)
        statement.bind(13, stored.value.deferred)
        statement.bind(14, stored.value.refunded)
        statement.bind(15, lot.id)
        if lot.isOpen != wasOpen { statement.bind(16, lot.isOpen ? 1 : 0) }
        try statement.run(changing: 1)
    }
}
