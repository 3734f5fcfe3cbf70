import LedgerEngine
import NIOCore

/// The reads of one connection that its ledger has: how many there are, and which of them stand in a batch.
struct ReadsInFlight {
    private(set) var count = 0
    /// How many were answered.
    private(set) var answered = 0
    /// Those that stand in a batch: their numbers among all that the ledger was ever handed, from 0.
    private var inBatches = CircularBuffer<Int>()

    /// The ledger is handed one.
    mutating func append(isInBatch: Bool) {
        if isInBatch { inBatches.append(answered + count) }
        count += 1
    }

    /// The first one is answered.
    mutating func removeFirst() {
        if inBatches.first == answered { inBatches.removeFirst() }
        count -= 1
        answered += 1
    }

    /// What may become of the one that is next; `nil` where the ledger has none. A client that does not read its
    /// replies gets no further page. A read that stands in a batch waits for nobody's memory, for others may wait for
    /// what the batch holds: that is known from the beginning, also while the batch is behind others.
    func permission(isWritable: Bool) -> LedgerSession.ReadPermission? {
        if count == 0 { return nil }
        if inBatches.first == answered { return .readNow }
        return isWritable ? .read : .wait
    }
}
