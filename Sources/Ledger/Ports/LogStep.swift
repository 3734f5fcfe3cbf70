/// What an inspection of a log meets: its blocks in their order, and what is not as it was written.
package enum LogStep: Hashable, Sendable {
    /// A block, of which every byte that the log keeps was compared with what the log says of it. Where something
    /// about it was found wrong and it can be handed over all the same, the damage is the step before it.
    case block(SealedBlock)
    /// Something is not as it was written; the inspection goes on behind it.
    /// - Parameters:
    ///   - words: name the file and, where it is one, the block.
    ///   - lost: the blocks that are not handed over because of it. They may be more than can be counted one by one.
    ///     Each block up to the log's end is handed over or lost, once.
    case damage(words: String, lost: ClosedRange<BlockNumber>?)
}

/// Reads a log from its first block to its end, and looks at every byte of it. It goes on behind damage.
package protocol LogInspector: AnyObject {
    /// Whose ledger it is, as its files say; `nil` where none of them does.
    var identity: Digest? { get }

    /// The last block that was acknowledged when the inspection began.
    var head: LogHead? { get }

    /// The block before the first one that is handed over: those up to it were archived, and are not looked at. `nil`
    /// where block 1 is the first one.
    var base: LogHead? { get }

    /// What comes next; `nil` at the end.
    /// - Throws: ``LogError`` `unknown` where the log cannot be read now, which says nothing of what is in it.
    func next() throws(LogError) -> LogStep?
}

extension LogInspector {
    package var base: LogHead? { nil }
}
