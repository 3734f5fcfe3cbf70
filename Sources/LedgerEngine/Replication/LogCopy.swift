package import Ledger

/// Copies a ledger's chain of blocks from one log into another, whatever kinds they are of.
///
/// What holds at every moment, whatever ends a run:
/// 1. What the target has is a beginning of the source's chain. Where it is not, nothing is written.
/// 2. Blocks are appended in their order, each with its own hash, behind the one that it continues.
/// 3. A name that a block erases is erased in the target before any block behind that one is appended. Only of the last
///    block with rows something may be left to do, which the next run does first.
///
/// So a run may be ended at any time, and the next one goes on behind the last block that is there. That the last
/// blocks which both have are the same says, by the chain, that all before them are.
package struct LogCopy {
    /// What a run did.
    package struct Summary: Hashable, Sendable {
        /// The last block of both.
        package var head: LogHead
        /// Blocks that were copied, and the bytes of both their parts.
        package var blocks: Int64 = 0
        package var bytes: Int64 = 0
    }

    /// A log, and what it is called in words.
    package struct Place {
        package var log: any BlockLog
        package var name: String

        package init(_ log: any BlockLog, _ name: String) {
            self.log = log
            self.name = name
        }
    }

    /// Bytes of blocks that are read in one step.
    private static let stepBytes = 4 << 20

    private let source: Place
    private let target: Place
    private let hash: HashFunction

    /// - Parameters:
    ///   - source: is only read, up to the block that is its last one now.
    ///   - target: nobody else leads it meanwhile.
    package init(from source: Place, to target: Place, hash: @escaping HashFunction) {
        self.source = source
        self.target = target
        self.hash = hash
    }

    /// - Parameter progress: told up to which block of which it is.
    /// - Throws: ``LogError``, which names what is wrong: `superseded` where the target is another's, or has blocks
    ///   that the source has not.
    package func run(progress: (_ done: BlockNumber, _ of: BlockNumber) -> Void) throws -> Summary {
        guard let head = source.log.head else { throw LogError(.unknown, "\(source.name) has no blocks yet") }
        try target.log.settle()
        try checkIsContinued(by: head)
        let before = target.log.head?.number ?? 0
        try erase { owed in try target.log.eraseLastNames(through: before, owed: owed) }
        var summary = Summary(head: head)
        progress(before, head.number)
        try source.log.readPages(after: before, through: head.number, bytesMax: LogCopy.stepBytes) { blocks in
            try append(blocks)
            summary.blocks += Int64(blocks.count)
            summary.bytes += blocks.reduce(0) { $0 + Int64($1.byteCount) }
            progress(blocks.last?.number ?? before, head.number)
        }
        guard target.log.head == head else {
            throw LogError(.corrupt, "\(source.name) does not end with block \(head.number), as it did before")
        }
        return summary
    }

    private func append(_ blocks: [SealedBlock]) throws {
        var together: [SealedBlock] = []
        for block in blocks {
            let opened: Block
            do throws(BlockError) {
                // The names too: no hash of the target's would tell that one was damaged in the source.
                opened = try Block(opening: block, checks: .hashes(hash), evidence: .leftOut)
            } catch {
                throw LogError(.corrupt, "block \(block.number) of \(source.name): \(error)")
            }
            together.append(block)
            if opened.rows.erasures.isEmpty { continue }
            try target.log.append(together)
            together = []
            try erase { owed in try target.log.eraseNames(opened, owed: owed) }
        }
        try target.log.append(together)
    }

    /// In a copy no name is owed.
    private func erase(_ body: ((PlayerID, LogError) -> Void) throws -> Void) throws {
        var fault: LogError?
        try body { fault = fault ?? $1 }
        if let fault { throw fault }
    }

    // MARK: - Before anything is written

    private func checkIsContinued(by head: LogHead) throws {
        guard let end = target.log.head else { return }
        guard end.number <= head.number else {
            throw LogError(
                .superseded,
                "\(target.name) is ahead of \(source.name): it has block \(end.number), and \(source.name) ends with "
                    + "block \(head.number)")
        }
        if try hash(source, end.number) == end.hash { return }
        var (common, different) = (BlockNumber(0), end.number)
        while different - common > 1 {
            let middle = common + (different - common) / 2
            if try hash(source, middle) == hash(target, middle) { common = middle } else { different = middle }
        }
        throw LogError(
            .superseded,
            "\(target.name) is of another past than \(source.name): from block \(different) on they have different "
                + "blocks")
    }

    private func hash(_ place: Place, _ number: BlockNumber) throws -> Digest {
        guard let block = try place.log.read(after: number - 1, bytesMax: 0).first, block.number == number else {
            throw LogError(.corrupt, "block \(number) is missing from \(place.name)")
        }
        return block.hash
    }
}
