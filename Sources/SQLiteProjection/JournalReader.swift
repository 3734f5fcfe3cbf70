import GRDB
import Ledger

/// Reads entries with their transfers in the order of posting: two ranges of rows that lie one after the other. A page
/// ends before the entry that would make it too large, and of one entry so many transfers are shown as it may have.
struct JournalReader {
    private let codes: [CurrencyCode]
    private let selectEntries: PreparedStatement
    private let selectTransfers: PreparedStatement

    init(_ db: Database) throws {
        codes = try StoredState.currencies(db)
        selectEntries = try PreparedStatement(
            db,
            """
            SELECT e.id, e.time, e.kind, e.transaction_id, e.key, e.note, e.first_transfer, a.name,
                e.actor IS NOT NULL AND a.name IS NULL
            FROM entry AS e LEFT JOIN actor AS a ON a.id = e.actor
            WHERE e.id > ? ORDER BY e.id LIMIT ?
            """)
        selectTransfers = try PreparedStatement(
            db,
            """
            SELECT t.id, t.entry, t.account, a.id, a.name, t.debit, t.credit, t.currency, t.amount, t.lot, t.debt_lot
            FROM transfer AS t LEFT JOIN account AS a ON a.id = t.account
            WHERE t.id >= ? ORDER BY t.id
            """)
    }

    func page(_ query: JournalQuery) throws -> JournalPage {
        var entries: [JournalEntry] = []
        var nextTransfer: TransferID = 0
        selectEntries.bind(1, query.after)
        selectEntries.bind(2, Int64(query.limit))
        try selectEntries.forEach { row in
            if entries.isEmpty { nextTransfer = row.integer(6) }
            guard row.integer(0) &- query.after == entries.count + 1 else {
                throw StoreError.corrupt("an entry before \(row.integer(0)) is missing")
            }
            entries.append(try readEntry(row))
        }
        if entries.isEmpty { return JournalPage(entries: [], next: query.after) }
        var current = 0
        var count = 0
        // The last entry of which there was a transfer.
        var seen = -1
        var skipped = query.skipTransfers
        // Of the page, and of it with the entry that is being read.
        var bytes = entries[0].resultBytes
        selectTransfers.bind(1, nextTransfer)
        defer { selectTransfers.reset() }
        while try selectTransfers.next() {
            let entry = selectTransfers.integer(1)
            if entry != entries[current].entry {
                if count >= Limits.journalTransfersMax || current + 1 == entries.count { break }
                current += 1
                skipped = 0
                bytes += entries[current].resultBytes
            }
            guard entry == entries[current].entry, selectTransfers.integer(0) == nextTransfer else {
                throw StoreError.corrupt(
                    "transfer \(nextTransfer) is missing, or entry \(entries[current].entry) has none")
            }
            nextTransfer &+= 1
            count += 1
            seen = current
            if skipped > 0 {
                skipped -= 1
            } else if entries[current].transfers.count == Limits.transfersPerEntryMax {
                entries[current].transfersMore += 1
            } else {
                let line = try readLine(selectTransfers)
                bytes += line.resultBytes
                entries[current].transfers.append(line)
            }
            if bytes > Limits.pageBytesMax, current > 0 {
                current -= 1
                seen = current
                break
            }
        }
        guard seen == current else {
            throw StoreError.corrupt("entry \(entries[current].entry) has no transfers")
        }
        entries.removeSubrange((current + 1)...)
        return JournalPage(entries: entries, next: entries[current].entry)
    }

    /// One entry.
    /// - Throws: ``StoreError``, also where there is no such entry.
    func entry(_ id: EntryID) throws -> JournalEntry {
        guard id > 0, let entry = try page(JournalQuery(after: id - 1, limit: 1)).entries.first else {
            throw StoreError.corrupt("entry \(id) is missing")
        }
        return entry
    }

    private func readEntry(_ row: PreparedStatement) throws -> JournalEntry {
        guard let kind = Stored.entryKinds.item(row.text(2)) else {
            throw StoreError.corrupt("entry \(row.integer(0)) is of an unknown kind")
        }
        if row.integer(8) != 0 { throw StoreError.corrupt("entry \(row.integer(0)) names a token that is missing") }
        return JournalEntry(
            entry: row.integer(0), time: row.integer(1), kind: kind,
            key: row.optionalText(4).map { RequestKey(stored: $0) }, note: row.optionalText(5),
            transaction: row.optionalInteger(3).map { TransactionID(number: $0) }, actor: row.optionalText(7),
            transfers: [])
    }

    private func readLine(_ row: PreparedStatement) throws -> JournalEntry.Line {
        let account = row.integer(2)
        guard row.optionalInteger(3) != nil, let debit = Stored.accountKinds.item(row.text(5)),
            let credit = Stored.accountKinds.item(row.text(6)), row.integer(7) >= 1, row.integer(7) <= codes.count,
            let amount = Amount(row.integer(8))
        else {
            throw StoreError.corrupt("transfer \(row.integer(0)) has an account or an amount that cannot be")
        }
        return JournalEntry.Line(
            transfer: row.integer(0),
            account: row.optionalText(4).map { AccountName(stored: $0) } ?? AccountName.erased(account), debit: debit,
            credit: credit, currency: codes[Int(row.integer(7)) - 1], amount: amount, lot: row.integer(9),
            debtLot: row.optionalInteger(10))
    }
}
