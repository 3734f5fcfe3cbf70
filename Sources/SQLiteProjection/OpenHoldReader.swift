import GRDB
import Ledger

/// Reads what players have held.
final class OpenHoldReader {
    private let selectOpenHolds: PreparedStatement
    private let selectHeldParts: PreparedStatement

    init(_ db: Database) throws {
        selectOpenHolds = try PreparedStatement(
            db,
            "SELECT id, currency, amount, expires_at FROM hold WHERE account = ? AND state = 'open' ORDER BY id")
        selectHeldParts = try PreparedStatement(
            db, "SELECT account, currency, credit, lot, amount FROM transfer WHERE id >= ? ORDER BY id")
    }

    /// The player's open holds with what each set aside; together they are what the wallets have held.
    /// - Parameter members: the accounts that asked for them.
    func load(_ player: inout Player, _ members: [PlayerID]) throws {
        if player.wallets.allSatisfy({ $0.held == 0 }) { return }
        var asked: [AskedHold] = []
        for account in members { try readOpenHolds(of: account, player, &asked) }
        asked.sort { $0.hold.id < $1.hold.id }
        for asked in asked {
            player.holds.append(asked.hold)
            try loadParts(asked, &player)
        }
        for wallet in player.wallets {
            var held: Int64 = 0
            // Each at most 2^53, and a wallet has as much as all of them together or they end here.
            for hold in player.holds where hold.currency == wallet.currency && held <= wallet.held {
                held += hold.amount
            }
            guard held == wallet.held else {
                throw StoreError.corrupt(
                    "what account \(player.id) has held of currency \(wallet.currency) is not the sum of the holds")
            }
        }
    }

    /// A hold of which the parts are to be read.
    private struct AskedHold {
        /// Without its parts.
        var hold: OpenHold
        var amount: Int64
        /// Who asked for it: the player, or a token that was linked since.
        var account: PlayerID
    }

    private func readOpenHolds(of account: PlayerID, _ player: Player, _ asked: inout [AskedHold]) throws {
        selectOpenHolds.bind(1, account)
        try selectOpenHolds.forEach { row in
            guard let currency = CurrencyID(exactly: row.integer(1)), player.walletIndex(currency) != nil,
                row.integer(2) > 0, row.integer(2) <= Limits.amountMax, Plausible.isTime(row.integer(3))
            else {
                throw StoreError.corrupt("hold \(row.integer(0)) has a currency, an amount or a time that cannot be")
            }
            let hold = OpenHold(id: row.integer(0), currency: currency, expiresAt: row.integer(3))
            asked.append(AskedHold(hold: hold, amount: row.integer(2), account: account))
        }
    }

    /// Reads what the player's last hold set aside.
    private func loadParts(_ asked: AskedHold, _ player: inout Player) throws {
        let (hold, amount, index) = (asked.hold, asked.amount, player.holds.count - 1)
        let wallet = player.wallets.first { $0.currency == hold.currency }
        selectHeldParts.bind(1, hold.id)
        defer { selectHeldParts.reset() }
        while player.holds[index].amount < amount, try selectHeldParts.next() {
            let lot = wallet?.lot(selectHeldParts.integer(3))
            let units = selectHeldParts.integer(4)
            guard selectHeldParts.integer(0) == asked.account, selectHeldParts.integer(1) == Int64(hold.currency),
                selectHeldParts.text(2) == AccountKind.held.name, units > 0, units <= amount, let lot,
                lot.held >= units
            else { throw StoreError.corrupt("the transfers of hold \(hold.id) are not what it set aside") }
            player.holds[index].add(LotPart(lot: lot.id, units: units, transaction: lot.transaction))
        }
        guard player.holds[index].amount == amount else {
            throw StoreError.corrupt("the transfers of hold \(hold.id) are not its amount")
        }
    }
}
