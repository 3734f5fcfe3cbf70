import Ledger

/// What an entry of each kind may do.
extension Replay {
    /// An entry's transfers are such as its kind has, and those that open a purchase are what it granted.
    func check(_ own: ArraySlice<Transfer>, _ opening: TransactionID?, _ posting: Posting) {
        let entry = posting.entry
        let isOfPurchase = entry.kind == .credit || entry.kind == .refund || entry.kind == .reinstatement
        expect(
            (entry.transaction != nil) == isOfPurchase || entry.kind == .imported, posting.block,
            "entry \(entry.id) is about a purchase without naming it, or names one that it is not about")
        for transfer in own where !entry.kind.mayMove(transfer.debit.kind, transfer.credit.kind) {
            fault(posting.block, "transfer \(transfer.id) is none that an entry of kind \(entry.kind.name) has")
        }
        let isByItself = entry.kind == .expiry || entry.kind == .holdExpiry
        expect(
            !isByItself || entry.actor == nil, posting.block,
            "entry \(entry.id) comes of itself, and names who asked for it")
        if let transaction = entry.transaction {
            guard let purchase = purchases[transaction], let account = purchase.account else {
                return fault(posting.block, "entry \(entry.id) is about a purchase that has no account")
            }
            // A purchase is opened in the wallet of the account that it names, and stays with what was credited there.
            expect(
                own.allSatisfy {
                    opening == nil ? may(entry, posting.block, postTo: $0.player, of: account) : $0.player == account
                }, posting.block, "entry \(entry.id) moves what is not the owner's of purchase \(transaction)")
        }
        guard let opening else {
            return expect(
                posting.purchased == 0, posting.block, "entry \(entry.id) credits what no purchase granted")
        }
        guard var purchase = purchases[opening], entry.transaction == opening else {
            return fault(posting.block, "entry \(entry.id) opens purchase \(opening), and does not name it")
        }
        expect(
            (purchase.source == .imported) == (entry.kind == .imported), posting.block,
            "entry \(entry.id) credits purchase \(opening) as if it were from another source")
        purchase.firstLot = entry.firstTransfer
        purchases[opening] = purchase
        expect(
            posting.purchased == purchase.grants.count, posting.block,
            "entry \(entry.id) opens \(posting.purchased) lots of purchase \(opening), which granted "
                + "\(purchase.grants.count)")
        for ((grant, share), transfer) in zip(zip(purchase.grants, purchase.shares), own) {
            guard transfer.lot == transfer.id, case let place = Int(lotPlaces[Int(transfer.id) - 1]), place >= 0 else {
                fault(posting.block, "transfer \(transfer.id) opens no lot of purchase \(opening)")
                continue
            }
            let lot = lots[place]
            expect(
                lot.granted == grant.units && lot.currency == grant.currency && lot.price == share
                    && lot.lotClass == purchase.lotClass, posting.block,
                "lot \(lot.id) is not what purchase \(opening) granted")
        }
    }
}

extension EntryKind {
    /// Whether an entry of this kind has such a transfer.
    fileprivate func mayMove(_ debit: AccountKind, _ credit: AccountKind) -> Bool {
        switch (debit, credit) {
        case (.purchased, .wallet): self == .credit || self == .refund
        case (.adjusted, .wallet), (.wallet, .adjusted): self == .adjustment
        case (.imported, .wallet): self == .imported
        case (.granted, .wallet): self == .grant || self == .atomic
        case (.wallet, .spent): self == .spend || self == .atomic
        case (.spent, .wallet): self == .reversal || self == .atomic
        case (.wallet, .held): self == .hold || self == .atomic
        case (.held, .spent): self == .capture || self == .atomic
        case (.held, .wallet): self == .capture || self == .release || self == .holdExpiry || self == .atomic
        case (.wallet, .expired):
            switch self {
            case .credit, .refund, .reinstatement, .spend, .hold, .link, .adjustment, .imported: false
            case .grant, .reversal, .capture, .release, .holdExpiry, .expiry, .atomic: true
            }
        case (.wallet, .refunded), (.receivable, .refunded), (.writtenOff, .refunded): self == .refund
        case (.refunded, .wallet), (.refunded, .writtenOff): self == .reinstatement
        case (.wallet, .receivable): self != .spend && self != .hold && self != .expiry
        case (.wallet, .moved), (.moved, .wallet), (.held, .moved), (.moved, .held), (.moved, .receivable),
            (.receivable, .moved):
            self == .link
        case (_, _): false
        }
    }
}
