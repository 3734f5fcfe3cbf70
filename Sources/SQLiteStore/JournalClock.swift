import GRDB
import Ledger

/// Finds the place in the journal that belongs to a time. Entries are numbered densely and their times never run
/// backwards, so a binary search over the numbers needs no index.
struct JournalClock {
    private let selectTime: PreparedStatement
    private let selectFirstTransfer: PreparedStatement
    private let lastID: EntryID

    init(_ db: Database) throws {
        selectTime = try PreparedStatement(db, "SELECT time FROM entry WHERE id = ?")
        selectFirstTransfer = try PreparedStatement(db, "SELECT first_transfer FROM entry WHERE id = ?")
        lastID = try Int64.fetchOne(db, sql: "SELECT max(id) FROM entry") ?? 0
        lastTransferID = try Int64.fetchOne(db, sql: "SELECT max(id) FROM transfer") ?? 0
    }

    private let lastTransferID: TransferID

    /// The last entry posted at `time` or before; 0 where there is none.
    func lastEntry(_ time: Timestamp) throws -> EntryID {
        var low: EntryID = 0
        var high = lastID
        while low < high {
            let middle = low + (high - low + 1) / 2
            selectTime.bind(1, middle)
            guard try selectTime.next() else { throw StoreError("entry \(middle) is missing from the journal") }
            let isIncluded = selectTime.integer(0) <= time
            selectTime.reset()
            if isIncluded { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// The last transfer posted at `time` or before; 0 where there is none.
    func lastTransfer(_ time: Timestamp) throws -> TransferID {
        let entry = try lastEntry(time)
        if entry == lastID { return lastTransferID }
        selectFirstTransfer.bind(1, entry + 1)
        guard try selectFirstTransfer.next() else { throw StoreError("entry \(entry + 1) is missing from the journal") }
        defer { selectFirstTransfer.reset() }
        return selectFirstTransfer.integer(0) - 1
    }
}
