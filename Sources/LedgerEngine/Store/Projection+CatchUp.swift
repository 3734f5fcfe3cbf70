package import Ledger

extension Projection {
    /// Compares the last block that was projected with the log's of that number.
    /// - Throws: ``LogError`` `corrupt` where the log lacks it or has another: then the log went back in time, and
    ///   what was acknowledged since is not in it, or these are the tables of another.
    package func check(against log: any BlockLog) throws {
        guard let projected = try state().head else { return }
        // The log that nodes share is in no folder, of which a command could make tables.
        let remedy =
            log is any SharedLog
            ? "move the folder of this node's tables away: its next start makes them anew"
            : "`currency-ledger rebuild` makes the tables anew"
        guard let own = try log.read(after: projected.number - 1, bytesMax: 0).first else {
            throw LogError(
                .corrupt,
                """
                the log went back in time: block \(projected.number), which the tables have, is not in it; where the \
                log is the right one, \(remedy)
                """)
        }
        guard own.hash == projected.hash else {
            throw LogError(
                .corrupt,
                """
                the log went back in time and on another way, or the tables are another log's: block \
                \(projected.number) differs; where the log is the right one, \(remedy)
                """)
        }
    }

    /// Applies the blocks of the log that the tables lack, up to `head` and none behind it.
    /// - Parameters:
    ///   - stepBytesMax: bytes of blocks that are applied in one transaction.
    ///   - progress: told the last block that is projected, before each step; what it throws ends it.
    /// - Throws: ``LogError`` or ``StoreError``.
    package func catchUp(
        with log: any BlockLog, to head: BlockNumber, stepBytesMax: Int = EngineLimits().projectionStepBytesMax,
        _ progress: (BlockNumber) throws -> Void
    ) throws {
        var projected = try state().head?.number ?? 0
        try log.readPages(after: projected, through: head, bytesMax: stepBytesMax) { blocks in
            try progress(projected)
            try apply(blocks)
            projected += BlockNumber(blocks.count)
        }
    }
}
