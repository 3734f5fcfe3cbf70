import Synchronization

/// How long something may take before the operator is told of it; read with each batch or request, and changed while
/// the service runs.
package final class SlowNotice: Sendable {
    private let nanoseconds = Atomic<UInt64>(.max)
    /// When the next one is told, by the monotonic clock, and how many were not.
    private let told = Mutex<(next: UInt64, more: Int)>((0, 0))
    /// From one line to the next: enough to see how bad it is, and no flood where everything is slow.
    private static let intervalNanoseconds: UInt64 = 10_000_000_000

    package init() {}

    /// - Parameter milliseconds: 0 where nobody is told.
    package func set(milliseconds: Int64) {
        nanoseconds.store(milliseconds > 0 ? UInt64(milliseconds) * 1_000_000 : .max, ordering: .relaxed)
    }

    /// Whether so many nanoseconds are too many.
    package func isSlow(_ duration: UInt64) -> Bool { duration >= nanoseconds.load(ordering: .relaxed) }

    /// - Returns: how many were slow and not told of since the last line; `nil` where this one is not told of either.
    func take(at time: UInt64) -> Int? {
        told.withLock { told in
            guard time >= told.next else {
                told.more += 1
                return nil
            }
            defer { told = (time + SlowNotice.intervalNanoseconds, 0) }
            return told.more
        }
    }
}

/// A batch that took long, in milliseconds.
package struct SlowCommit: Sendable, Equatable {
    /// From taking the batch until its answers were handed out.
    package var total: UInt64
    /// How long the oldest of its requests had waited before, while it was verified or others were in front of it.
    package var queued: UInt64
    /// Of the total: loading what it needs, and deciding, with what was waited for before.
    package var deciding: UInt64
    /// Of the total: until the block was durable here and where else that is required.
    package var durable: UInt64
    /// How many requests it had.
    package var requests: Int
    /// Other batches that were slow and not told of.
    package var more: Int
}
