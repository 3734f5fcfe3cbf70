import Ledger

/// Entries with their transfers, lots and holds.
extension Replay {
    /// What is known of an entry while its transfers are applied.
    struct Posting {
        let entry: Entry
        let block: BlockNumber
        /// What its key has begun, by the first transfer of each.
        let begun: [TransferID: KeyBook.Begun]
        var wallets: [Int] = []
        /// Holds of which something was taken.
        var ended: [TransferID] = []
        /// Lots that a purchase opened.
        var purchased = 0
        /// The places of lots of which something moved from a token to its account.
        var moved: Set<Int> = []
    }

    /// Applies a block's entries in their order.
    func post(_ block: Block, _ answers: [KeyedAnswer?]) {
        let rows = block.rows
        let before = position.entry
        var requestOf = [Int?](repeating: nil, count: rows.entries.count)
        for (index, request) in rows.requests.enumerated() {
            guard let entry = request.entry else { continue }
            guard let place = place(entry, before, rows.entries.count), requestOf[place] == nil else {
                fault(block.number, "key \(request.key) names entry \(entry), which is none of its own")
                continue
            }
            requestOf[place] = index
        }
        let openings = openings(block, before)
        var lotRows = rows.lots[...]
        var holdRows = rows.holds[...]
        var clock = position.time
        for (index, entry) in rows.entries.enumerated() {
            expect(entry.time >= clock, block.number, "entry \(entry.id) is earlier than the one before it")
            expect(entry.time > closedThrough, block.number, "entry \(entry.id) is in a period that is closed")
            clock = max(clock, entry.time)
            let end = index + 1 < rows.entries.count ? rows.entries[index + 1].firstTransfer : Int64.max
            let first = Int(entry.firstTransfer &- position.transfer) - 1
            let last = min(Int(min(end, block.position.transfer + 1) - position.transfer) - 1, rows.transfers.count)
            guard first >= 0, first < last, last <= rows.transfers.count else {
                return breakOff(block.number, "entry \(entry.id) has no transfers")
            }
            let own = rows.transfers[first..<last]
            let request = requestOf[index].map { rows.requests[$0] }
            let answer = requestOf[index].flatMap { answers[$0] }
            var posting = Posting(entry: entry, block: block.number, begun: begun(request, answer))
            for transfer in own {
                var row: BlockRows.LotRow?
                if transfer.lot == transfer.id { row = lotRows.popFirst() }
                let previous = place(ofLot: transfer.lot).map { lots[$0].lastOwn } ?? 0
                apply(transfer, row, &posting)
                add(transfer, place(ofLot: transfer.lot).map { lots[$0] }, previous: previous)
                remember(transfer, of: entry)
            }
            while let hold = holdRows.first, hold.entry == entry.id {
                open(hold, own, posting)
                holdRows.removeFirst()
            }
            finish(&posting)
            checkMoves(own, posting)
            check(own, openings[index], posting)
            check(entry, own, request, answer, block.number)
        }
        expect(holdRows.isEmpty, block.number, "hold \(holdRows.first?.id ?? 0) is of no entry")
    }

    private func place(_ entry: EntryID, _ before: EntryID, _ count: Int) -> Int? {
        let place = entry &- before &- 1
        return place >= 0 && place < count ? Int(place) : nil
    }

    private func begun(_ request: BlockRows.RequestRow?, _ answer: KeyedAnswer?) -> [TransferID: KeyBook.Begun] {
        guard let key = request?.key, let answer else { return [:] }
        let isAtomic = if case .atomic = answer { true } else { false }
        let firsts =
            answer.spends.map { ($0.spend.trace.first, $0.operation) }
            + answer.holds.map { ($0.hold.trace.first, $0.operation) }
        let begun = firsts.map { ($0, KeyBook.Begun(key: key, operation: isAtomic ? $1 : nil)) }
        return Dictionary(begun) { first, _ in first }
    }

    /// For each entry the purchase whose lots it opens.
    private func openings(_ block: Block, _ before: EntryID) -> [TransactionID?] {
        let rows = block.rows
        var openings = [TransactionID?](repeating: nil, count: rows.entries.count)
        let opened =
            rows.purchases.map { ($0.facts.transaction, $0.entry) }
            + rows.assignments.map { ($0.transaction, Optional($0.entry)) }
        for case (let transaction, let entry?) in opened {
            guard let place = place(entry, before, rows.entries.count), openings[place] == nil else {
                fault(block.number, "purchase \(transaction) names entry \(entry), which is none of its own")
                continue
            }
            openings[place] = transaction
        }
        return openings
    }

    // MARK: Transfers

    private func apply(_ transfer: Transfer, _ row: BlockRows.LotRow?, _ posting: inout Posting) {
        let (debit, credit) = (transfer.debit.kind, transfer.credit.kind)
        let (id, block, amount) = (transfer.id, posting.block, transfer.amount)
        let isFirst = id == posting.entry.firstTransfer
        let before = isFirst ? nil : last
        let begun = posting.begun[id]
        if let begun { keyBook.add(begun, at: id) }
        continues.append(before.map { $0 == (debit, credit) } ?? false && begun == nil)
        last = (debit, credit)
        let begins = credit == .spent || credit == .held && debit != .moved
        returnable.append(begins ? amount : 0)
        drawnLots.append(transfer.lot)
        lotPlaces.append(-1)
        if transfer.lot == id { open(transfer, row, posting) }
        addToTotals(transfer)
        guard transfer.lot >= 1, transfer.lot <= id, case let place = Int(lotPlaces[Int(transfer.lot) - 1]), place >= 0,
            may(posting.entry, block, postTo: transfer.player, of: lots[place].account),
            lots[place].currency == transfer.debit.currency
        else { return fault(block, "transfer \(id) names lot \(transfer.lot), which is none of its wallet") }

        let wallet = wallet(transfer.player, transfer.debit.currency)
        expect(
            transfer.previous == wallets[wallet].lastTransfer, block,
            "transfer \(id) follows \(transfer.previous) in its wallet, whose last is \(wallets[wallet].lastTransfer)")
        wallets[wallet].lastTransfer = id
        if !posting.wallets.contains(wallet) {
            posting.wallets.append(wallet)
            wallets[wallet].transfersBefore = wallets[wallet].transfers
        }
        wallets[wallet].transfers += 1

        let held = lots[place].held
        let available = lots[place].remaining
        let funded = lots[place].funded
        var debt: Int64 = 0
        let opens = transfer.lot == id
        var mustOpen = false
        switch (debit, credit) {
        case (.purchased, .wallet):
            mustOpen = true
            posting.purchased += 1
            lots[place].remaining &+= amount
        case (.imported, .wallet):
            mustOpen = true
            // What was given is of no purchase.
            if posting.entry.transaction != nil { posting.purchased += 1 }
            lots[place].remaining &+= amount
        case (.granted, .wallet), (.adjusted, .wallet):
            mustOpen = true
            lots[place].remaining &+= amount
        case (.wallet, .spent):
            lots[place].remaining &-= amount
            lots[place].spent &+= amount
        case (.spent, .wallet):
            lots[place].remaining &+= amount
            lots[place].spent &-= amount
        case (.wallet, .held):
            lots[place].remaining &-= amount
            lots[place].held &+= amount
        case (.held, .spent):
            lots[place].held &-= amount
            lots[place].spent &+= amount
        case (.held, .wallet):
            lots[place].held &-= amount
            lots[place].remaining &+= amount
        case (.wallet, .expired):
            lots[place].remaining &-= amount
            lots[place].expired &+= amount
        case (.wallet, .adjusted):
            lots[place].remaining &-= amount
            lots[place].adjusted &+= amount
        case (.wallet, .refunded):
            lots[place].remaining &-= amount
            lots[place].refunded &+= amount
        case (.receivable, .refunded):
            lots[place].refunded &+= amount
            lots[place].indebted &+= amount
            debt = amount
        case (.writtenOff, .refunded):
            lots[place].refunded &+= amount
            lots[place].writtenOff &+= amount
        case (.refunded, .wallet):
            lots[place].remaining &+= amount
            lots[place].refunded &-= amount
        case (.refunded, .writtenOff):
            lots[place].refunded &-= amount
            lots[place].writtenOff &-= amount
        case (.wallet, .receivable):
            lots[place].remaining &-= amount
            lots[place].repaid &+= amount
            debt = -amount
            pay(transfer, posting)
        case (.wallet, .moved):
            lots[place].remaining &-= amount
        case (.moved, .wallet):
            lots[place].remaining &+= amount
        case (.held, .moved):
            lots[place].held &-= amount
        case (.moved, .held):
            lots[place].held &+= amount
        case (.moved, .receivable):
            debt = -amount
            lots[place].recovered &+= amount
        case (.receivable, .moved):
            debt = amount
            lots[place].recovered &-= amount
        case (let debit, let credit):
            fault(block, "transfer \(id) debits \(debit.name) and credits \(credit.name), which nothing does")
        }
        expect(opens == mustOpen, block, "transfer \(id) opens a lot that is no credit, or credits without a lot")
        let movesDebt = (debit, credit) == (.moved, .receivable) || (debit, credit) == (.receivable, .moved)
        expect(
            movesDebt
                ? transfer.debtLot == transfer.lot
                : (transfer.debtLot != nil) == ((debit, credit) == (.wallet, .receivable)), block,
            "transfer \(id) names a debt that it does not pay, or pays none that it names")
        lots[place].lastTransfer = id
        lots[place].lastOwn = id
        if opens {
            lots[place].deferred = lots[place].price
        } else if debit != .moved, credit != .moved {
            lots[place].revalue(after: funded)
        }
        if debit == .moved || credit == .moved {
            // It is whole again when all of it has moved.
            posting.moved.insert(place)
            expect(
                lots[place].expiresAt ?? .max > posting.entry.time || debit == .held || credit == .held, block,
                "transfer \(id) moves what has expired")
        } else {
            expect(
                lots[place].isWhole, block, "transfer \(id) leaves lot \(transfer.lot) with parts that cannot be")
        }
        refer(transfer, place, &posting)

        let change = (
            available: lots[place].remaining &- available, held: lots[place].held &- held, debt: debt
        )
        wallets[wallet].available &+= change.available
        wallets[wallet].held &+= change.held
        wallets[wallet].debt &+= change.debt
        if lots[place].lotClass == .paid {
            wallets[wallet].paid &+= change.available
            wallets[wallet].heldPaid &+= change.held
        }
        if change != (0, 0, 0), wallets[wallet].lastEntry != posting.entry.id {
            wallets[wallet].version += 1
            wallets[wallet].lastEntry = posting.entry.id
        }
    }

    private func addToTotals(_ transfer: Transfer) {
        let currency = transfer.debit.currency
        let own = place(ofLot: transfer.lot).map { lots[$0].lotClass } ?? .paid
        // What pays a debt is taken off the receivable of the lot that owed it.
        let owing = transfer.debtLot.flatMap { place(ofLot: $0) }.map { lots[$0].lotClass } ?? own
        totals[Replay.total(currency, own, transfer.debit.kind)].debits += Int128(transfer.amount)
        totals[Replay.total(currency, owing, transfer.credit.kind)].credits += Int128(transfer.amount)
    }

    /// `nil` where no transfer opened it yet.
    private func place(ofLot lot: LotID) -> Int? {
        guard lot >= 1, lot <= lotPlaces.count else { return nil }
        let place = Int(lotPlaces[Int(lot) - 1])
        return place >= 0 ? place : nil
    }

    private func wallet(_ account: PlayerID, _ currency: CurrencyID) -> Int {
        let key = Replay.key(account, currency)
        if let place = walletPlaces[key] { return place }
        walletPlaces[key] = wallets.count
        wallets.append(WalletBook(account: account, currency: currency))
        return wallets.count - 1
    }

    private func open(_ transfer: Transfer, _ row: BlockRows.LotRow?, _ posting: Posting) {
        guard let row, row.id == transfer.id else {
            return fault(posting.block, "transfer \(transfer.id) opens a lot of which nothing is said")
        }
        expect(
            row.lotClass == .free || row.expiresAt == nil, posting.block,
            "lot \(row.id) was bought, and expires")
        expect(row.lotClass == .paid || row.price == 0, posting.block, "lot \(row.id) is free, and has a price")
        expect(
            transfer.debit.kind == .purchased || transfer.debit.kind == .adjusted || row.lotClass == .free
                || transfer.debit.kind == .imported && posting.entry.transaction != nil, posting.block,
            "lot \(row.id) was given, and counts as bought")
        lotPlaces[Int(transfer.id) - 1] = Int32(truncatingIfNeeded: lots.count)
        lots.append(
            LotBook(
                id: transfer.id, account: transfer.player, currency: transfer.debit.currency, lotClass: row.lotClass,
                transaction: posting.entry.transaction, time: posting.entry.time, price: row.price,
                granted: transfer.amount, expiresAt: row.expiresAt))
    }

    private func pay(_ transfer: Transfer, _ posting: Posting) {
        let block = posting.block
        guard let debtLot = transfer.debtLot, case let place = Int(lotPlaces[Int(debtLot) - 1]), place >= 0,
            may(posting.entry, block, postTo: transfer.player, of: lots[place].account),
            lots[place].currency == transfer.debit.currency
        else { return fault(block, "transfer \(transfer.id) pays the debt of a lot that is none of its wallet") }
        lots[place].recovered &+= transfer.amount
        lots[place].lastTransfer = transfer.id
        expect(lots[place].isWhole, block, "transfer \(transfer.id) pays more than lot \(debtLot) owes")
    }

    /// What a transfer may draw, and what it gives back or takes out of a hold.
    private func refer(_ transfer: Transfer, _ lot: Int, _ posting: inout Posting) {
        let (debit, credit) = (transfer.debit.kind, transfer.credit.kind)
        let (id, block) = (transfer.id, posting.block)
        let draws = debit == .wallet && (credit == .spent || credit == .held)
        expect(
            (transfer.spendOrder != nil) == draws, block,
            "transfer \(id) names an order of lots though it draws none, or draws without one")
        let expiresAt = lots[lot].expiresAt ?? .max
        if draws { expect(expiresAt > posting.entry.time, block, "transfer \(id) draws what has expired") }
        if credit == .expired {
            expect(expiresAt <= posting.entry.time, block, "transfer \(id) lets expire what has not expired")
        }
        let returns = debit == .spent || debit == .held && credit != .moved
        guard let reference = transfer.reference else {
            return expect(!returns, block, "transfer \(id) gives back, and does not say what")
        }
        guard returns else { return fault(block, "transfer \(id) refers to \(reference), which nothing does") }
        guard keyBook[reference] != nil else {
            return fault(block, "transfer \(id) gives back \(reference), with which nothing begins")
        }
        if debit == .held {
            if let hold = holds[reference], hold.state == .open,
                may(posting.entry, block, postTo: transfer.player, of: hold.row.account)
            {
                holds[reference]?.left &-= transfer.amount
                if !posting.ended.contains(reference) { posting.ended.append(reference) }
            } else {
                fault(block, "transfer \(id) takes from hold \(reference), which is not open")
            }
        } else {
            expect(holds[reference] == nil, block, "transfer \(id) gives hold \(reference) back as if it were spent")
        }
        // Of what the reference began: the part that came from this lot.
        var left = transfer.amount
        var part = Int(reference) - 1
        var isFirst = true
        while left > 0, part < returnable.count - 1, isFirst || continues[part] {
            if drawnLots[part] == transfer.lot {
                let taken = min(left, returnable[part])
                returnable[part] -= taken
                left -= taken
            }
            part += 1
            isFirst = false
        }
        expect(left == 0, block, "transfer \(id) gives back more than \(reference) took from lot \(transfer.lot)")
    }

    // MARK: Holds

    private func open(_ row: BlockRows.HoldRow, _ own: ArraySlice<Transfer>, _ posting: Posting) {
        var units: Int64 = 0
        for transfer in own where transfer.id >= row.id && units < row.amount {
            guard transfer.debit.kind == .wallet, transfer.credit.kind == .held, transfer.player == row.account,
                transfer.debit.currency == row.currency
            else { break }
            units &+= transfer.amount
        }
        expect(units == row.amount, posting.block, "hold \(row.id) did not set its amount aside")
        let isInTime =
            row.expiresAt > posting.entry.time && row.expiresAt <= posting.entry.time + Limits.holdMillisecondsMax
        expect(isInTime, posting.block, "hold \(row.id) expires before it is made, or too late")
        let former = holds.updateValue(HoldBook(row: row, left: row.amount), forKey: row.id)
        expect(former == nil, posting.block, "hold \(row.id) is made twice")
    }

    private func finish(_ posting: inout Posting) {
        for wallet in posting.wallets where !wallets[wallet].isWhole {
            fault(
                posting.block,
                "entry \(posting.entry.id) leaves the wallet of account \(wallets[wallet].account), currency "
                    + "\(code(wallets[wallet].currency)) with what cannot be")
        }
        for lot in posting.moved.sorted() {
            expect(
                lots[lot].isWhole, posting.block,
                "entry \(posting.entry.id) moves lot \(lots[lot].id), but not all of it")
        }
        for wallet in posting.wallets { remember(wallets[wallet]) }
        for id in posting.ended {
            guard let hold = holds[id] else { continue }
            let hasExpired = posting.entry.kind == .holdExpiry
            expect(hold.left == 0, posting.block, "entry \(posting.entry.id) ends hold \(id), but not all of it")
            expect(
                hasExpired == (hold.row.expiresAt <= posting.entry.time), posting.block,
                "entry \(posting.entry.id) ends hold \(id) before its time is over, or after it")
            holds[id]?.state = hasExpired ? .expired : .closed
            holds[id]?.ended = posting.entry.id
        }
    }
}
