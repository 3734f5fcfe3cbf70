import Ledger

/// The rows in which the tables remember the past: written once more from their definition.
extension Replay {
    /// After an entry that brings the number of a wallet's transfers to a multiple of 64, or past one.
    func remember(_ wallet: WalletBook) {
        guard wallet.transfersBefore / 64 < wallet.transfers / 64 else { return }
        emit(.walletPast) { row in
            row.add(wallet.account)
            row.add(Int64(wallet.currency))
            row.add(wallet.lastTransfer)
            row.endKey()
            row.add(wallet.available)
            row.add(wallet.paid)
            row.add(wallet.held)
            row.add(wallet.debt)
            row.add(wallet.version)
        }
    }

    static let classedKinds = LotClass.allCases.flatMap { lotClass in AccountKind.allCases.map { (lotClass, $0) } }

    /// After each transfer: those that are a multiple of 4,096 have rows.
    func remember(_ transfer: Transfer, of entry: Entry) {
        if entry.kind == .expiry, transfer.credit.kind == .expired, transfer.lot >= 1, transfer.lot <= transfer.id,
            case let place = Int(lotPlaces[Int(transfer.lot) - 1]), place >= 0, let time = lots[place].expiresAt
        {
            firstExpired = min(firstExpired ?? time, time)
        }
        guard transfer.id % 4_096 == 0 else { return }
        for number in currencies.indices {
            for (lotClass, kind) in Replay.classedKinds {
                let turnover = totals[Replay.total(CurrencyID(number + 1), lotClass, kind)]
                if turnover == Totals.Turnover() { continue }
                emit(.totalPast) { row in
                    row.add(transfer.id)
                    row.add(Int64(number + 1))
                    row.add(lotClass == .paid ? "paid" : "free")
                    row.add(kind.name)
                    row.endKey()
                    row.add(sum: turnover.debits)
                    row.add(sum: turnover.credits)
                }
            }
        }
        if let time = firstExpired {
            emit(.expiryPast) { row in
                row.add(transfer.id)
                row.endKey()
                row.add(time)
            }
        }
        firstExpired = nil
    }
}
