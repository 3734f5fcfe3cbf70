extension Wallet {
    /// What applying a transfer tells of its wallet.
    struct Applied {
        /// The head of the wallet's chain before it.
        var previous: TransferID
        /// When what the transfer put into its lot expires.
        var deadline: Timestamp?
        /// The purchase that the lot came from.
        var transaction: TransactionID?
        /// Whether a lot is used up now.
        var closesLot: Bool
    }

    mutating func apply(_ transfer: Transfer, opening: Lot?) -> Applied {
        if let opening { append(opening: opening) }
        guard let index = index(transfer.lot) else {
            preconditionFailure("lot \(transfer.lot) of transfer \(transfer.id) is not loaded")
        }
        let (debit, credit) = (transfer.debit.kind, transfer.credit.kind)
        guard let effect = TransferEffect(debit: debit, credit: credit, amount: transfer.amount) else {
            preconditionFailure("no event debits \(debit.name) and credits \(credit.name)")
        }
        available += effect.available
        if lots[index].lotClass == .paid { paid += effect.available }
        precondition(available >= 0, "a wallet was overdrawn")
        held += effect.held
        debt += effect.debt
        update(index) { $0.apply(effect) }
        var closesLot = !lots[index].isOpen
        if effect.recovered != 0 {
            guard let debtLot = transfer.debtLot, let debtIndex = self.index(debtLot) else {
                preconditionFailure("transfer \(transfer.id) pays a debt that it does not name")
            }
            update(debtIndex) { $0.recovered += effect.recovered }
            lots[debtIndex].lastTransfer = transfer.id
            closesLot = closesLot || !lots[debtIndex].isOpen
        }
        if effect.changesBalance && lastEntry != transfer.entry {
            version += 1
            lastEntry = transfer.entry
        }
        lots[index].lastTransfer = transfer.id
        defer { lastTransfer = transfer.id }
        return Applied(
            previous: lastTransfer, deadline: lots[index].deadline, transaction: lots[index].transaction,
            closesLot: closesLot)
    }
}
