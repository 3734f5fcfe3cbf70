import GRDB
package import Ledger

extension SQLiteStore {
    package func journal(_ query: JournalQuery) throws -> JournalPage {
        try SQLiteStore.faults("reading the journal") {
            try pool.read { db in try JournalReader(db).page(query) }
        }
    }
}

/// Reads the journal in its order, in one snapshot: two ranges of rows that lie one after the other.
private struct JournalReader {
    private let selectEntries: PreparedStatement
    private let selectTransfers: PreparedStatement

    init(_ db: Database) throws {
        selectEntries = try PreparedStatement(
            db,
            """
            SELECT id, time, kind, transaction_id, key, note, first_transfer FROM entry
            WHERE id > ? ORDER BY id LIMIT ?
            """)
        selectTransfers = try PreparedStatement(
            db,
            """
            SELECT t.id, t.entry, a.name, t.debit, t.credit, c.code, t.amount, t.lot, t.debt_lot
            FROM transfer AS t
                JOIN transfer AS opening ON opening.id = t.lot
                JOIN account AS a ON a.id = opening.credit >> 12
                JOIN currency AS c ON c.id = t.debit >> 4 & 255
            WHERE t.id >= ? ORDER BY t.id
            """)
    }

    func page(_ query: JournalQuery) throws -> JournalPage {
        var entries: [JournalEntry] = []
        var firstTransfer: TransferID = 0
        selectEntries.bind(1, query.after)
        selectEntries.bind(2, Int64(query.limit))
        while try selectEntries.next() {
            if entries.isEmpty { firstTransfer = selectEntries.integer(6) }
            entries.append(try readEntry())
        }
        if entries.isEmpty { return JournalPage(entries: [], next: query.after) }
        var current = 0
        var count = 0
        selectTransfers.bind(1, firstTransfer)
        defer { selectTransfers.reset() }
        while try selectTransfers.next() {
            let entry = selectTransfers.integer(1)
            if entry != entries[current].entry {
                if count >= Limits.journalTransfersMax || current + 1 == entries.count { break }
                current += 1
                guard entry == entries[current].entry else {
                    throw StoreError("entry \(entries[current].entry) has no transfers")
                }
            }
            entries[current].transfers.append(try readLine())
            count += 1
        }
        entries.removeSubrange((current + 1)...)
        return JournalPage(entries: entries, next: entries[current].entry)
    }

    private func readEntry() throws -> JournalEntry {
        guard let kind = EntryKind(rawValue: selectEntries.integer(2)) else {
            throw StoreError("entry \(selectEntries.integer(0)) is of an unknown kind")
        }
        return JournalEntry(
            entry: selectEntries.integer(0), time: selectEntries.integer(1), kind: kind,
            key: selectEntries.optionalText(4).map { RequestKey(stored: $0) }, note: selectEntries.optionalText(5),
            transaction: selectEntries.optionalInteger(3).map { TransactionID(number: $0) }, transfers: [])
    }

    private func readLine() throws -> JournalEntry.Line {
        guard let debit = LedgerAccount(number: selectTransfers.integer(3)),
            let credit = LedgerAccount(number: selectTransfers.integer(4)),
            let code = CurrencyCode(selectTransfers.text(5)), let amount = Amount(selectTransfers.integer(6))
        else {
            throw StoreError("transfer \(selectTransfers.integer(0)) has an account or an amount that cannot be")
        }
        return JournalEntry.Line(
            transfer: selectTransfers.integer(0), account: AccountName(stored: selectTransfers.text(2)),
            debit: debit.kind, credit: credit.kind, currency: code, amount: amount, lot: selectTransfers.integer(7),
            debtLot: selectTransfers.optionalInteger(8))
    }
}
