import Ledger
import Synchronization

/// The greatest key that the tables have, in the order of the bytes (which for ASCII, as keys are, is that of strings
/// too). A key past it was never used: where keys are ordered by time, most are not looked up.
///
/// `apply` raises it before it commits; a loader reads it after its read transaction began. So a loader never sees
/// tables with a greater key. Where the transaction fails after it was raised, some keys are looked up in vain.
final class UsedKeys: Sendable {
    private let greatest = Mutex("")

    /// In the reader's transaction, after its first read.
    var last: String { greatest.withLock { $0 } }

    func raise(to key: String?) {
        guard let key else { return }
        greatest.withLock { if key > $0 { $0 = key } }
    }

    func raise(to blocks: [OpenedBlock]) {
        var last = ""
        for opened in blocks {
            for row in opened.block.rows.requests where row.key.text > last { last = row.key.text }
        }
        raise(to: last)
    }
}
