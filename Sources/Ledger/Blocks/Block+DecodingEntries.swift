/// Names, entries, transfers and lots.
extension BlockDecoder {
    mutating func ledger(_ count: Int) throws(BlockError) {
        if count != 1 { throw error(.malformed, .ledger, "there is more than one") }
        rows.ledger = BlockRows.LedgerRow(bundleID: reader.text(), environment: reader.text())
        try check(.ledger)
    }

    mutating func currencies(_ count: Int) throws(BlockError) {
        var id = try before(position.currency, count, .currencies)
        for row in 0..<count {
            id += 1
            let code = CurrencyCode(reader.text())
            try check(.currencies, row: row)
            guard let code else { throw error(.malformed, .currencies, row: row, "it is no currency's code") }
            rows.currencies.append(BlockRows.CurrencyRow(id: CurrencyID(truncatingIfNeeded: id), code: code))
        }
    }

    mutating func actors(_ count: Int) throws(BlockError) {
        var id = try before(position.actor, count, .actors)
        for row in 0..<count {
            id += 1
            rows.actors.append(BlockRows.ActorRow(id: id, name: reader.text()))
            try check(.actors, row: row)
        }
    }

    /// - Parameter redactable: `nil` where the names are not looked at.
    mutating func accounts(
        _ count: Int, _ redactable: UnsafeRawBufferPointer?, _ hash: HashFunction?
    ) throws(BlockError) {
        var id = try before(position.account, count, .accounts)
        rows.accounts.reserveCapacity(room(count, rowBytesMin: Digest.byteCount))
        var place = 0
        for row in 0..<count {
            id += 1
            let digest = reader.digest()
            try check(.accounts, row: row)
            guard let redactable else {
                rows.accounts.append(BlockRows.AccountRow(id: id, name: nil))
                continue
            }
            guard redactable.count - place >= BlockForm.nameOverhead,
                redactable.count - place >= BlockForm.nameOverhead + Int(redactable[place + 1])
            else { throw error(.nameMismatch, .accounts, row: row, "the redactable part ends too early") }
            let end = place + BlockForm.nameOverhead + Int(redactable[place + 1])
            let salted = UnsafeRawBufferPointer(rebasing: redactable[place + 2..<end])
            let name = try self.name(row, flag: redactable[place], salted, digest, hash)
            rows.accounts.append(BlockRows.AccountRow(id: id, name: name))
            place = end
        }
        namesEnd = place
    }

    /// Behind the names stand parts of later versions, each a tag, the count of its bytes and the bytes.
    func checkParts(_ redactable: UnsafeRawBufferPointer) throws(BlockError) {
        var reader = BlockReader(UnsafeRawBufferPointer(rebasing: redactable[namesEnd...]))
        var last: UInt8 = 0
        while !reader.isAtEnd {
            let tag = reader.byte()
            reader.require(tag > last, "the parts behind the names are not in the order of their tags")
            last = tag
            reader.skip(Int(reader.fixed32()))
            if let fault = reader.fault { throw error(.nameMismatch, nil, "the redactable part: \(fault.words)") }
        }
    }

    /// The name of one account; `nil` where it was erased.
    private func name(
        _ row: Int, flag: UInt8, _ salted: UnsafeRawBufferPointer, _ digest: Digest, _ hash: HashFunction?
    ) throws(BlockError) -> AccountName? {
        let length = salted.count - BlockForm.saltBytes
        guard length >= 1 && length <= Limits.accountBytesMax else {
            throw error(.nameMismatch, .accounts, row: row, "the name's length is none")
        }
        if flag == BlockForm.Name.isErased {
            guard salted.allSatisfy({ $0 == 0 }) else {
                throw error(.nameMismatch, .accounts, row: row, "something is left of an erased name")
            }
            return nil
        }
        guard flag == BlockForm.Name.isThere else {
            throw error(.nameMismatch, .accounts, row: row, "the name's flag is not defined")
        }
        if let hash, Digest(of: salted, hash) != digest {
            throw error(.nameMismatch, .accounts, row: row, "the name is not the one that the body has the digest of")
        }
        let bytes = UnsafeRawBufferPointer(rebasing: salted[BlockForm.saltBytes...]).bindMemory(to: UInt8.self)
        guard let text = String(validating: bytes, as: UTF8.self), let name = AccountName(text),
            name.text.utf8.elementsEqual(bytes)
        else { throw error(.nameMismatch, .accounts, row: row, "it is no account's name") }
        return name
    }

    mutating func headers(_ count: Int) throws(BlockError) {
        var id = try before(position.header, count, .headers)
        for row in 0..<count {
            id += 1
            rows.headers.append(BlockRows.HeaderRow(id: id, text: blob()))
            try check(.headers, row: row)
        }
    }

    mutating func entries(_ count: Int) throws(BlockError) {
        var id = try before(position.entry, count, .entries)
        rows.entries.reserveCapacity(room(count, rowBytesMin: 3))
        var clock: Timestamp?
        for row in 0..<count {
            id += 1
            let flags = reader.byte()
            let kind = EntryKind(rawValue: Int64(flags & BlockForm.EntryFlag.kind))
            if kind == nil { reader.fail(.malformed, "its kind is not defined") }
            if let before = clock {
                let (time, isOver) = before.addingReportingOverflow(reader.number())
                reader.require(!isOver, "its time is too late")
                clock = time
            } else {
                clock = reader.time(from: time)
            }
            let transfers = reader.number()
            reader.require(transfers >= 1 && transfers <= sealed.body.count, "its transfers are none, or too many")
            let transaction = flags & BlockForm.EntryFlag.transaction == 0 ? nil : reader.transaction()
            let note = flags & BlockForm.EntryFlag.note == 0 ? nil : reader.text()
            let actor = flags & BlockForm.EntryFlag.actor == 0 ? nil : reader.number()
            requireActor(actor)
            try check(.entries, row: row)
            rows.entries.append(
                Entry(
                    id: id, time: clock ?? time, kind: kind ?? .credit, firstTransfer: transferCount,
                    transaction: transaction, note: note, actor: actor))
            transferCount += transfers
        }
        // Until here a first transfer is counted from 0.
        guard transferCount <= position.transfer else {
            throw error(.inconsistent, .entries, "they have more transfers than the sequence has numbers")
        }
        let first = position.transfer - transferCount + 1
        for index in rows.entries.indices { rows.entries[index].firstTransfer += first }
    }

    mutating func requireActor(_ actor: ActorID?) {
        guard let actor else { return }
        reader.require(actor >= 1 && actor <= position.actor, "it names an actor that there is not")
    }

    mutating func transfers(_ count: Int) throws(BlockError) {
        if Int64(count) != transferCount {
            throw error(.inconsistent, .transfers, "there are not as many as the entries have")
        }
        var id = position.transfer - Int64(count)
        var entry = 0
        // The first transfer of the next entry.
        var next = rows.entries.count > 1 ? rows.entries[1].firstTransfer : Int64.max
        var player: PlayerID = 0
        var currency: CurrencyID = 0
        rows.transfers.reserveCapacity(room(count, rowBytesMin: 4))
        for row in 0..<count {
            id += 1
            if id == next {
                entry += 1
                next = entry + 1 < rows.entries.count ? rows.entries[entry + 1].firstTransfer : Int64.max
            }
            let transfer = self.transfer(id, rows.entries[entry].id, &player, &currency)
            try check(.transfers, row: row)
            if let transfer { rows.transfers.append(transfer) }
        }
    }

    /// `nil` only with a fault.
    private mutating func transfer(
        _ id: TransferID, _ entry: EntryID, _ player: inout PlayerID, _ currency: inout CurrencyID
    ) -> Transfer? {
        let kinds = reader.byte()
        let flags = reader.byte()
        if flags & BlockForm.TransferFlag.samePlayer == 0 {
            let other = reader.number()
            if other == player { reader.fail(.malformed, "it repeats the player") }
            player = other
        }
        if flags & BlockForm.TransferFlag.sameCurrency == 0 {
            let other = reader.byte()
            if other == currency { reader.fail(.malformed, "it repeats the currency") }
            currency = other
        }
        reader.require(player >= 1 && player <= position.account, "it names a player that there is not")
        reader.require(currency >= 1 && currency <= position.currency, "it names a currency that there is not")
        let amount = reader.number()
        reader.require(amount >= 1 && amount <= Limits.amountMax, "its amount is not within 1 … 2^53 − 1")
        let isOpening = flags & BlockForm.TransferFlag.opens != 0
        let distance = reader.number()
        reader.require(
            distance < id && (isOpening || namesMovedLots || distance >= 1), "the transfer before it is none")
        let previous = distance == 0 ? 0 : id - distance
        let lot = isOpening ? id : lot(before: previous)
        reader.require(lot >= 1 && lot <= id && (isOpening || lot < id), "its lot is none")
        let reference = flags & BlockForm.TransferFlag.reference == 0 ? nil : id - reader.number()
        let debtLot = flags & BlockForm.TransferFlag.debtLot == 0 ? nil : id - reader.number()
        reader.require(
            (reference ?? 1) >= 1 && (reference ?? 0) < id && (debtLot ?? 1) >= 1 && (debtLot ?? 0) < id,
            "it refers to no earlier transfer")
        let order = flags & BlockForm.TransferFlag.spendOrder
        let spendOrder = SpendOrder(number: Int64(order))
        if order != 0 && spendOrder == nil { reader.fail(.malformed, "its spend order is not defined") }
        guard let debit = AccountKind(rawValue: Int64(kinds >> 4)),
            let credit = AccountKind(rawValue: Int64(kinds & 0xF))
        else {
            reader.fail(.malformed, "its kind of account is not defined")
            return nil
        }
        reader.require(debit != credit, "it debits and credits one account")
        if reader.fault != nil { return nil }
        return Transfer(
            id: id, entry: entry, player: player, debit: LedgerAccount(debit, currency, player: player),
            credit: LedgerAccount(credit, currency, player: player), amount: amount, lot: lot, debtLot: debtLot,
            previous: previous, spendOrder: spendOrder, reference: reference)
    }

    /// The lot of a transfer that opens none.
    private mutating func lot(before previous: TransferID) -> LotID {
        if !namesMovedLots { return previous - reader.number() }
        let (lot, isOver) = previous.subtractingReportingOverflow(reader.integer())
        return isOver ? 0 : lot
    }

    mutating func lots(_ count: Int) throws(BlockError) {
        rows.lots.reserveCapacity(room(count, rowBytesMin: 1))
        var opening = rows.transfers.startIndex
        for row in 0..<count {
            while opening < rows.transfers.endIndex, rows.transfers[opening].lot != rows.transfers[opening].id {
                opening += 1
            }
            guard opening < rows.transfers.endIndex else {
                throw error(.inconsistent, .lots, row: row, "no transfer opens it")
            }
            let flags = reader.byte()
            let lotClass = LotClass(rawValue: Int64(flags & BlockForm.LotFlag.lotClass))
            if lotClass == nil || flags & 0xF0 != 0 { reader.fail(.malformed, "its class or a flag is not defined") }
            let price = flags & BlockForm.LotFlag.price == 0 ? 0 : reader.number()
            reader.require(price <= Limits.amountMax, "its price is more than 2^53 − 1")
            if price == 0 && flags & BlockForm.LotFlag.price != 0 { reader.fail(.malformed, "a price of 0 is written") }
            let expiresAt = flags & BlockForm.LotFlag.expiry == 0 ? nil : reader.time(from: time)
            try check(.lots, row: row)
            rows.lots.append(
                BlockRows.LotRow(
                    id: rows.transfers[opening].id, lotClass: lotClass ?? .paid, price: price, expiresAt: expiresAt))
            opening += 1
        }
    }
}
