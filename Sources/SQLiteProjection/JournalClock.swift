import GRDB
import Ledger

/// Finds the place among the entries that belongs to a time. Entries are numbered without gaps and their times never
/// run backwards, so a binary search over the numbers needs no index.
struct JournalClock {
    private let selectTime: PreparedStatement
    private let selectFirstTransfer: PreparedStatement
    private let lastEntryID: EntryID
    /// The last of all.
    let lastTransferID: TransferID
    let lastBlock: BlockNumber

    init(_ db: Database) throws {
        selectTime = try PreparedStatement(db, "SELECT time FROM entry WHERE id = ?")
        selectFirstTransfer = try PreparedStatement(db, "SELECT first_transfer FROM entry WHERE id = ?")
        let ends = try PreparedStatement(db, "SELECT entry, transfer, block FROM projection WHERE id = 1")
            .first { (entry: $0.integer(0), transfer: $0.integer(1), block: $0.integer(2)) }
        guard let ends, Plausible.isAmount(ends.entry), Plausible.isAmount(ends.transfer) else {
            throw StoreError.corrupt("the tables do not say what they hold")
        }
        (lastEntryID, lastTransferID, lastBlock) = (ends.entry, ends.transfer, ends.block)
    }

    /// The last entry posted at `time` or before; 0 where there is none.
    func lastEntry(_ time: Timestamp) throws -> EntryID {
        var low: EntryID = 0
        var high = lastEntryID
        while low < high {
            let middle = low + (high - low + 1) / 2
            selectTime.bind(1, middle)
            guard let posted = try selectTime.first({ $0.integer(0) }) else {
                throw StoreError.corrupt("entry \(middle) is missing")
            }
            if posted <= time { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// The last transfer posted at `time` or before; 0 where there is none.
    func lastTransfer(_ time: Timestamp) throws -> TransferID { try lastTransfer(before: lastEntry(time) + 1) }

    /// The last transfer of the entries before one; 0 where there is none.
    func lastTransfer(before entry: EntryID) throws -> TransferID {
        if entry > lastEntryID { return lastTransferID }
        selectFirstTransfer.bind(1, max(entry, 1))
        guard let first = try selectFirstTransfer.first({ $0.integer(0) }), first > 0, first <= lastTransferID else {
            throw StoreError.corrupt("entry \(entry) is missing, or has no transfers")
        }
        return first - 1
    }
}
