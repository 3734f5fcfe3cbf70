import Ledger

/// What is erased in a log, beside what its blocks say that is, as far as these can be read.
struct NameDifferences {
    /// Names that are gone, and that no block erases, whatever stands in blocks that cannot be read.
    fileprivate(set) var unproven = UnprovenErasures()
    /// Accounts whose names are there still, though a block erases them.
    private(set) var owed: [PlayerID] = []
    /// Which blocks cannot be read, and why, in words; nothing where all can.
    fileprivate(set) var unread: [String] = []
    /// The last account of the blocks before, and those of the blocks that cannot be read.
    private var lastAccount: PlayerID = 0
    private var unreadAccounts: [Range<PlayerID>] = []

    /// Compares the next block that can be read.
    fileprivate mutating func compare(_ block: Block) {
        let added = block.position.account - PlayerID(block.rows.accounts.count)
        if added > lastAccount { unreadAccounts.append(lastAccount + 1..<added + 1) }
        lastAccount = block.position.account
        unproven.addNameless(of: block, leaderBlock: nil)
        for row in block.rows.erasures where !unproven.has(row.account) {
            if unreadAccounts.contains(where: { $0.contains(row.account) }) { continue }
            owed.append(row.account)
        }
        unproven.prove(by: block)
    }
}

extension BlockLog {
    /// Reads the log for names that differ from what its blocks say. Blocks that cannot be read are passed over.
    /// - Parameter reading: told, before each page is compared, which block was read last; what it throws ends it.
    func nameDifferences(
        through head: BlockNumber, bytesMax: Int, reading: (BlockNumber) throws -> Void
    ) throws -> NameDifferences {
        var differences = NameDifferences()
        var lastUnread = BlockNumber(0)
        try readReadablePages(through: head, bytesMax: bytesMax) { blocks in
            try reading(blocks.last?.number ?? 0)
            for sealed in blocks { differences.compare(try Block(opening: sealed, checks: .form)) }
        } unreadable: { numbers, error in
            try reading(numbers.upperBound)
            lastUnread = numbers.upperBound
            let more = numbers.count > 1 ? ", up to block \(numbers.upperBound)" : ""
            differences.unread.append("\(error)\(more): what it says of names is not known")
        }
        // One of the blocks that cannot be read may erase them.
        differences.unproven.forget(addedThrough: lastUnread)
        return differences
    }
}
