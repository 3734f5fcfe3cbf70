extension Wallet {
    /// What applying a transfer tells of its wallet.
    struct Applied {
        /// The head of the wallet's chain before it.
        var previous: TransferID
        /// When what the transfer put into its lot expires.
        var deadline: Timestamp?
        /// The purchase that the lot came from.
        var transaction: TransactionID?
    }

    mutating func apply(_ transfer: Transfer, opening: Lot?) -> Applied {
        let amount = transfer.amount
        if let opening { append(opening: opening) }
        guard let index = index(transfer.lot) else {
            preconditionFailure("lot \(transfer.lot) of transfer \(transfer.id) is not loaded")
        }
        let isPaid = lots[index].lotClass == .paid
        var changesBalance = true
        switch (transfer.debit.kind, transfer.credit.kind) {
        case (.purchased, .wallet), (.granted, .wallet):
            add(amount, isPaid)
            update(index) { $0.remaining += amount }
        case (.wallet, .spent):
            add(-amount, isPaid)
            update(index) {
                $0.remaining -= amount
                $0.spent += amount
            }
        case (.spent, .wallet):
            add(amount, isPaid)
            update(index) {
                $0.remaining += amount
                $0.spent -= amount
            }
        case (.wallet, .held):
            add(-amount, isPaid)
            held += amount
            update(index) {
                $0.remaining -= amount
                $0.held += amount
            }
        case (.held, .wallet):
            add(amount, isPaid)
            held -= amount
            update(index) {
                $0.remaining += amount
                $0.held -= amount
            }
        case (.held, .spent):
            held -= amount
            update(index) {
                $0.held -= amount
                $0.spent += amount
            }
        case (.wallet, .expired):
            add(-amount, isPaid)
            update(index) {
                $0.remaining -= amount
                $0.expired += amount
            }
        case (_, _):
            changesBalance = applyRefund(transfer, index, isPaid)
        }
        if changesBalance && lastEntry != transfer.entry {
            version += 1
            lastEntry = transfer.entry
        }
        defer {
            lastTransfer = transfer.id
            isDirty = true
        }
        return Applied(
            previous: lastTransfer, deadline: lots[index].deadline, transaction: lots[index].transaction)
    }

    /// Gives whether the balance changed: a write-off moves nothing of the player's.
    private mutating func applyRefund(_ transfer: Transfer, _ index: Int, _ isPaid: Bool) -> Bool {
        let amount = transfer.amount
        switch (transfer.debit.kind, transfer.credit.kind) {
        case (.refunded, .wallet):
            add(amount, isPaid)
            update(index) {
                $0.remaining += amount
                $0.refunded -= amount
            }
        case (.wallet, .refunded):
            add(-amount, isPaid)
            update(index) {
                $0.remaining -= amount
                $0.refunded += amount
            }
        case (.receivable, .refunded):
            debt += amount
            update(index) {
                $0.refunded += amount
                $0.indebted += amount
            }
        case (.wallet, .receivable):
            guard let debtLot = transfer.debtLot, let debtIndex = self.index(debtLot) else {
                preconditionFailure("transfer \(transfer.id) pays a debt that it does not name")
            }
            add(-amount, isPaid)
            debt -= amount
            update(index) {
                $0.remaining -= amount
                $0.repaid += amount
            }
            update(debtIndex) { $0.recovered += amount }
        case (.writtenOff, .refunded):
            update(index) {
                $0.refunded += amount
                $0.writtenOff += amount
            }
            return false
        case (.refunded, .writtenOff):
            update(index) {
                $0.refunded -= amount
                $0.writtenOff -= amount
            }
            return false
        case (let debit, let credit):
            preconditionFailure("no event debits \(debit.name) and credits \(credit.name)")
        }
        return true
    }

    private mutating func add(_ amount: Int64, _ isPaid: Bool) {
        available += amount
        if isPaid { paid += amount }
        precondition(available >= 0, "a wallet was overdrawn")
    }
}
