import Ledger

/// Corrections by hand.
extension Replay {
    /// Each entry of a correction has its reason, who approved it, and a request for what it did.
    func checkAdjustments(_ block: Block) {
        let rows = block.rows
        let entries = rows.entries.filter { $0.kind == .adjustment }
        expect(
            entries.map(\.id) == rows.adjustments.map(\.entry), block.number,
            "its corrections are not those that its entries made")
        for (entry, row) in zip(entries, rows.adjustments) where entry.id == row.entry {
            let own = rows.transfers.filter { $0.entry == entry.id }
            expect(
                row.approver != nil && row.approver != entry.actor, block.number,
                "entry \(entry.id) corrects something, and nobody else approved it")
            expect(
                entry.note == row.reason, block.number, "entry \(entry.id) and its correction give different reasons")
            for transfer in own where transfer.debit.kind == .adjusted || transfer.credit.kind == .adjusted {
                let place = transfer.lot >= 1 && transfer.lot <= lotPlaces.count ? lotPlaces[Int(transfer.lot) - 1] : -1
                expect(
                    place >= 0 && lots[Int(place)].lotClass == row.lotClass, block.number,
                    "transfer \(transfer.id) corrects a lot of another class than was asked")
                guard place >= 0, transfer.debit.kind == .adjusted else { continue }
                let lot = lots[Int(place)]
                expect(
                    lot.price == 0 && lot.expiresAt == nil, block.number,
                    "lot \(lot.id) is a correction's, and has a price or expires")
            }
            check(entry, row, own, block)
            emit(.adjustment) { table in
                table.add(row.entry)
                table.endKey()
                table.add(row.lotClass.name)
                table.add(row.reason)
                table.add(row.approver)
            }
        }
    }

    /// The request's fingerprint is that of a request for what the entry did.
    private func check(_ entry: Entry, _ row: BlockRows.AdjustmentRow, _ own: [Transfer], _ block: Block) {
        guard let first = own.first, let key = entry.key,
            let request = block.rows.requests.first(where: { $0.entry == entry.id }),
            let currency = CurrencyCode(code(first.debit.currency))
        else { return }
        let units =
            first.debit.kind == .adjusted
            ? first.amount : -own.reduce(0) { $0 &+ ($1.credit.kind == .adjusted ? $1.amount : 0) }
        let adjustment = Adjustment(
            key: key, account: AccountName.erased(first.player), currency: currency, lotClass: row.lotClass,
            units: units, reason: row.reason)
        let isAsked = names(of: first.player).contains {
            adjustment.fingerprint(of: $0, hash) == request.fingerprint
        }
        expect(isAsked, block.number, "key \(key) asked for another correction than entry \(entry.id) made")
    }
}
