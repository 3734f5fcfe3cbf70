extension SealedBlock {
    /// The block in its canonical form (docs: BlockFormat), and its hash.
    ///
    /// What the form cannot say is a broken invariant and traps: rows that are not dense, a key without a request, a
    /// request, evidence or hold of an entry that the block does not hold.
    /// - Parameter salts: 16 bytes for each account's name; the system's generator, but for tests.
    package init(
        sealing block: Block, salts: inout some RandomNumberGenerator, hash: HashFunction
    ) {
        precondition(block.skippedSections.isEmpty, "a block of a later version is not sealed again")
        let redactable = SealedBlock.redactable(of: block.rows.accounts, salts: &salts)
        let body = [UInt8](unsafeUninitializedCapacity: block.encodedBytesMax) { memory, count in
            var writer = BlockWriter(UnsafeMutableRawBufferPointer(memory))
            block.write(to: &writer, redactable, hash)
            count = writer.count
        }
        self.init(
            number: block.number, term: block.term, previous: block.previous, hash: Digest(of: body, hash), body: body,
            redactable: redactable)
    }
}

extension Block {
    /// A bound of the body's bytes: what texts and blobs have, and the most that everything else may take.
    fileprivate var encodedBytesMax: Int {
        let varint = LEB128.byteCountMax
        var sum = 60 + 11 * varint + BlockSection.allCases.count * (1 + varint + 4)
        if let ledger = rows.ledger { sum += 2 * varint + ledger.bundleID.utf8.count + ledger.environment.utf8.count }
        for row in rows.currencies { sum += varint + row.code.text.utf8.count }
        for row in rows.actors { sum += varint + row.name.utf8.count }
        sum += rows.accounts.count * Digest.byteCount
        for row in rows.headers { sum += varint + row.text.count }
        sum += rows.entries.count * (1 + 5 * varint)
        for row in rows.entries { if let note = row.note { sum += note.utf8.count } }
        sum += rows.transfers.count * (3 + 6 * varint)
        sum += rows.lots.count * (1 + 2 * varint)
        for row in rows.purchases { sum += row.encodedBytesMax }
        sum += rows.evidence.count * (1 + 8 * varint)
        for row in rows.evidence { sum += row.payload.count + row.signature.count }
        sum += rows.assignments.count * 4 * varint
        for row in rows.notifications { sum += row.encodedBytesMax }
        sum += rows.requests.count * (3 * varint + Digest.byteCount)
        for row in rows.requests { sum += row.key.text.utf8.count + row.answer.count }
        sum += rows.holds.count * 3 * varint + varint
        sum += rows.links.count * (1 + 5 * varint) + rows.consents.count * (1 + 3 * varint)
        for row in rows.adjustments { sum += 1 + 3 * varint + row.reason.utf8.count }
        for row in rows.externals { sum += 3 * varint + row.source.utf8.count + row.identifier.utf8.count }
        sum += rows.erasures.count * (1 + 3 * varint)
        for row in rows.calls { sum += 1 + 5 * varint + row.body.count }
        sum += rows.statements.count * (1 + 5 * varint) + rows.closings.count * (1 + 3 * varint)
        return sum + rows.catalogs.count * (Digest.byteCount + 2 * varint)
    }

    fileprivate func write(to writer: inout BlockWriter, _ redactable: [UInt8], _ hash: HashFunction) {
        precondition(number >= 1 && term >= 1, "blocks and terms are numbered from 1")
        precondition((number == 1) == (rows.ledger != nil), "the first block, and no other, says whose books these are")
        precondition(number > 1 || rows.isAll(position), "the position of the first block is not the count of its rows")
        precondition(
            position.currency <= Limits.currenciesMax && position.account <= BlockForm.playerMax,
            "there are more currencies or accounts than an account's number can tell apart")
        writer.add(fixed32: namesMovedLots ? BlockForm.magicOfMovedLots : BlockForm.magic)
        writer.add(fixed64: number)
        writer.add(fixed64: term)
        writer.add(fixed64: time)
        writer.add(previous)
        writer.add(number: position.currency)
        writer.add(number: position.actor)
        writer.add(number: position.account)
        writer.add(number: position.header)
        writer.add(number: position.entry)
        writer.add(number: position.transfer)
        writer.add(number: position.evidence)
        writer.add(number: position.assignment)
        writer.add(number: position.notification)
        writer.add(number: position.request)
        writer.add(time: position.time, from: time)
        writeNames(to: &writer, redactable, hash)
        writeHeaders(to: &writer)
        writeEntries(to: &writer)
        writeTransfers(to: &writer)
        writeLots(to: &writer)
        writePurchases(to: &writer)
        writeEvidence(to: &writer)
        writeAssignments(to: &writer)
        writeNotifications(to: &writer)
        writeRequests(to: &writer)
        writeHolds(to: &writer)
        writeLater(to: &writer)
    }

    /// Whether a transfer names a lot that only version 2 can name.
    private var namesMovedLots: Bool { rows.transfers.contains(where: \.namesMovedLot) }

    /// Ledger, currencies, actors and accounts.
    private func writeNames(to writer: inout BlockWriter, _ redactable: [UInt8], _ hash: HashFunction) {
        if let ledger = rows.ledger {
            let section = writer.begin(.ledger, rows: 1)
            writer.add(text: ledger.bundleID)
            writer.add(text: ledger.environment)
            writer.end(section)
        }
        if !rows.currencies.isEmpty {
            var id = position.currency - Int64(rows.currencies.count)
            let section = writer.begin(.currencies, rows: rows.currencies.count)
            for row in rows.currencies {
                id += 1
                precondition(Int64(row.id) == id, "currencies are not dense")
                writer.add(text: row.code.text)
            }
            writer.end(section)
        }
        if !rows.actors.isEmpty {
            var id = position.actor - Int64(rows.actors.count)
            let section = writer.begin(.actors, rows: rows.actors.count)
            for row in rows.actors {
                id += 1
                precondition(row.id == id, "actors are not dense")
                writer.add(text: row.name)
            }
            writer.end(section)
        }
        if rows.accounts.isEmpty { return }
        var id = position.account - Int64(rows.accounts.count)
        let section = writer.begin(.accounts, rows: rows.accounts.count)
        redactable.withUnsafeBytes { names in
            var place = 0
            for row in rows.accounts {
                id += 1
                precondition(row.id == id, "accounts are not dense")
                let length = Int(names[place + 1])
                // The salt and the name stand side by side, as they are hashed.
                let salted = UnsafeRawBufferPointer(
                    rebasing: names[place + 2..<place + BlockForm.nameOverhead + length])
                writer.add(Digest(of: salted, hash))
                place += BlockForm.nameOverhead + length
            }
        }
        writer.end(section)
    }

    private func writeHeaders(to writer: inout BlockWriter) {
        if rows.headers.isEmpty { return }
        var id = position.header - Int64(rows.headers.count)
        let section = writer.begin(.headers, rows: rows.headers.count)
        for row in rows.headers {
            id += 1
            precondition(row.id == id, "headers are not dense")
            writer.add(bytes: row.text)
        }
        writer.end(section)
    }

    private func writeEntries(to writer: inout BlockWriter) {
        if rows.entries.isEmpty {
            precondition(rows.transfers.isEmpty, "a transfer is of no entry")
            return
        }
        var id = position.entry - Int64(rows.entries.count)
        var transfer = position.transfer - Int64(rows.transfers.count) + 1
        var clock: Timestamp?
        // The next evidence that names an entry, whose transaction it says.
        var evidence = rows.evidence.startIndex
        var keys = 0
        let section = writer.begin(.entries, rows: rows.entries.count)
        for index in rows.entries.indices {
            let row = rows.entries[index]
            id += 1
            precondition(row.id == id && row.firstTransfer == transfer, "entries are not dense")
            let next =
                index + 1 < rows.entries.count ? rows.entries[index + 1].firstTransfer : position.transfer + 1
            precondition(next > transfer, "an entry has no transfer")
            while evidence < rows.evidence.endIndex, (rows.evidence[evidence].entry ?? 0) < id { evidence += 1 }
            let isEvidenced = evidence < rows.evidence.endIndex && rows.evidence[evidence].entry == id
            precondition(
                !isEvidenced || rows.evidence[evidence].transaction == row.transaction,
                "an entry is of another transaction than its evidence")
            if row.key != nil { keys += 1 }

            var flags = UInt8(truncatingIfNeeded: row.kind.rawValue)
            if row.transaction != nil && !isEvidenced { flags |= BlockForm.EntryFlag.transaction }
            if row.note != nil { flags |= BlockForm.EntryFlag.note }
            if row.actor != nil { flags |= BlockForm.EntryFlag.actor }
            writer.add(byte: flags)
            if let clock {
                precondition(row.time >= clock, "an entry is earlier than the one before it")
                writer.add(number: row.time - clock)
            } else {
                writer.add(time: row.time, from: time)
            }
            writer.add(number: next - transfer)
            if let transaction = row.transaction, !isEvidenced { writer.add(number: transaction.number) }
            if let note = row.note { writer.add(text: note) }
            if let actor = row.actor { writer.add(number: actor) }
            transfer = next
            clock = row.time
        }
        writer.end(section)
        precondition(clock == position.time, "the position's time is not that of the last entry")
        let requests = rows.requests.reduce(into: 0) { if $1.entry != nil { $0 += 1 } }
        precondition(keys == requests, "a key on an entry has no request")
    }

    private func writeTransfers(to writer: inout BlockWriter) {
        if rows.transfers.isEmpty { return }
        var id = position.transfer - Int64(rows.transfers.count)
        var player: PlayerID = 0
        var currency: CurrencyID = 0
        var opened = rows.lots.startIndex
        var entry = rows.entries.startIndex
        let namesMovedLots = namesMovedLots
        let section = writer.begin(.transfers, rows: rows.transfers.count)
        for row in rows.transfers {
            id += 1
            if entry + 1 < rows.entries.count && rows.entries[entry + 1].firstTransfer == id { entry += 1 }
            precondition(row.id == id && row.entry == rows.entries[entry].id, "transfers are not dense")
            precondition(
                row.player >= 1 && row.player <= position.account && row.debit.isOf(row.player)
                    && row.credit.isOf(row.player), "a transfer is of no player, or of two")
            precondition(
                row.debit.currency == row.credit.currency && row.debit != row.credit
                    && row.debit.currency <= position.currency && row.amount >= 1 && row.amount <= Limits.amountMax,
                "a transfer moves nothing, or from one currency to another")
            let isOpening = row.lot == id
            if isOpening {
                precondition(opened < rows.lots.endIndex && rows.lots[opened].id == id, "an opened lot has no row")
                opened += 1
            }
            var flags = UInt8(truncatingIfNeeded: row.spendOrder?.number ?? 0)
            if row.player == player { flags |= BlockForm.TransferFlag.samePlayer }
            if row.debit.currency == currency { flags |= BlockForm.TransferFlag.sameCurrency }
            if isOpening { flags |= BlockForm.TransferFlag.opens }
            if row.reference != nil { flags |= BlockForm.TransferFlag.reference }
            if row.debtLot != nil { flags |= BlockForm.TransferFlag.debtLot }
            writer.add(byte: UInt8(truncatingIfNeeded: (row.debit.number & 0xF) << 4 | row.credit.number & 0xF))
            writer.add(byte: flags)
            if row.player != player { writer.add(number: row.player) }
            if row.debit.currency != currency { writer.add(byte: row.debit.currency) }
            writer.add(number: row.amount)
            precondition(row.previous < id, "a transfer is before itself")
            writer.add(number: row.previous == 0 ? 0 : id - row.previous)
            if !isOpening {
                precondition(row.lot >= 1 && row.lot < id, "a lot has no number, or a later one")
                if namesMovedLots {
                    writer.add(integer: row.previous - row.lot)
                } else {
                    writer.add(number: row.previous - row.lot)
                }
            }
            if let reference = row.reference { writer.add(number: before(id, reference)) }
            if let debtLot = row.debtLot { writer.add(number: before(id, debtLot)) }
            player = row.player
            currency = row.debit.currency
        }
        writer.end(section)
        precondition(opened == rows.lots.endIndex, "a lot's row is of no transfer")
    }

    private func before(_ id: TransferID, _ earlier: TransferID) -> Int64 {
        precondition(earlier >= 1 && earlier < id, "a transfer refers to no earlier one")
        return id - earlier
    }

    private func writeLots(to writer: inout BlockWriter) {
        if rows.lots.isEmpty { return }
        let section = writer.begin(.lots, rows: rows.lots.count)
        for row in rows.lots {
            var flags = UInt8(truncatingIfNeeded: row.lotClass.rawValue)
            if row.price != 0 { flags |= BlockForm.LotFlag.price }
            if row.expiresAt != nil { flags |= BlockForm.LotFlag.expiry }
            writer.add(byte: flags)
            if row.price != 0 { writer.add(number: row.price) }
            if let expiresAt = row.expiresAt { writer.add(time: expiresAt, from: time) }
        }
        writer.end(section)
    }
}

extension Transfer {
    /// Whether its lot was opened in another wallet, later than whatever is before it in this one's chain.
    var namesMovedLot: Bool { lot > previous && lot != id }
}

extension LedgerAccount {
    /// Whether it is the player's, or one of the operator's.
    fileprivate func isOf(_ player: PlayerID) -> Bool { self.player == player || self.player == 0 }
}
