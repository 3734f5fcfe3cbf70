package import Ledger
import Synchronization

/// A batch that was decided, for the traces of the requests in it. Times are nanoseconds of the monotonic clock.
package final class CommitTrace: Sendable {
    /// When it was taken, when it was decided, and when its answers were there to be handed out.
    package let begin: UInt64
    package let decided: UInt64
    package let end: UInt64
    /// How many requests it had.
    package let requests: Int
    /// Whether its requests have their answers, and not why it failed.
    package let isDone: Bool
    /// Of the block that it is part of; `nil` where it added nothing.
    package let append: AppendTrace?

    package init(begin: UInt64, decided: UInt64, end: UInt64, requests: Int, isDone: Bool, append: AppendTrace?) {
        self.begin = begin
        self.decided = decided
        self.end = end
        self.requests = requests
        self.isDone = isDone
        self.append = append
    }
}

/// A block that was written and synced.
package struct AppendTrace: Sendable, Equatable {
    package var block: BlockNumber
    package var bytes: Int
    package var entries: Int
    package var transfers: Int
    package var begin: UInt64
    package var end: UInt64

    package init(block: BlockNumber, bytes: Int, entries: Int, transfers: Int, begin: UInt64, end: UInt64) {
        self.block = block
        self.bytes = bytes
        self.entries = entries
        self.transfers = transfers
        self.begin = begin
        self.end = end
    }
}

/// The blocks that were appended last, for those who decided what is in them: the log's thread and the sequencer know a
/// block by the numbers behind which it ends.
final class RecentAppends: Sendable {
    /// Twice the blocks that may be under way (``EngineLimits/blocksAheadMax``, ``EngineLimits/blocksHeldMax``).
    private static let countMax = 32

    private let appends = Mutex<[(position: LastNumbers, append: AppendTrace)]>([])

    func note(_ append: AppendTrace, at position: LastNumbers) {
        appends.withLock { appends in
            if appends.count == RecentAppends.countMax { appends.removeFirst() }
            appends.append((position, append))
        }
    }

    /// The block of a batch that ends at `position` and was taken at `begin`; `nil` where it has none.
    func block(of position: LastNumbers, since begin: UInt64) -> AppendTrace? {
        appends.withLock { appends in
            appends.first { $0.append.begin >= begin && $0.position.hasReached(position) }?.append
        }
    }
}

extension AppendTrace {
    init(_ block: Block, _ sealed: SealedBlock, _ begin: UInt64, _ end: UInt64) {
        self.init(
            block: block.number, bytes: sealed.byteCount, entries: block.rows.entries.count,
            transfers: block.rows.transfers.count, begin: begin, end: end)
    }
}
