/// Whether a read is wanted still: it ends where its client is gone, its time is over or the ledger stops, and whoever
/// carries it out asks again and again.
///
/// It goes with the thread that reads, or its task, and not through every call between: see ``current``.
package struct ReadCondition: Sendable {
    /// Under which whatever is read on this thread goes on.
    @TaskLocal package static var current = ReadCondition { true }

    private let isWanted: @Sendable () -> Bool

    /// - Parameter isWanted: may be called from any thread, some ten thousand times a second.
    package init(_ isWanted: @escaping @Sendable () -> Bool) { self.isWanted = isWanted }

    package var holds: Bool { isWanted() }
}

/// A read ended before it had its answer, because its condition did not hold any more.
package struct ReadEnded: Error {
    package init() {}
}
