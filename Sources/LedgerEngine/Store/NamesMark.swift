import Ledger

/// Where it is noted, durably, that what is erased in a log and what its blocks say that is may differ: the next start
/// reads the log for that.
package struct NamesMark: Sendable {
    /// Where an operator finds it.
    package var place: String
    package var isSet: @Sendable () throws -> Bool
    package var set: @Sendable () throws -> Void
    package var clear: @Sendable () throws -> Void

    package init(
        place: String, isSet: @escaping @Sendable () throws -> Bool, set: @escaping @Sendable () throws -> Void,
        clear: @escaping @Sendable () throws -> Void
    ) {
        self.place = place
        self.isSet = isSet
        self.set = set
        self.clear = clear
    }
}

/// What is erased in a log, beside what its blocks say that is.
struct NameDifferences {
    /// Names that are gone, and that no block erases.
    var unproven = UnprovenErasures()
    /// Accounts whose names are there still, though a block erases them.
    var owed: [PlayerID] = []
}

extension BlockLog {
    /// Reads the log for names that differ from what its blocks say.
    /// - Parameter reading: called for each page; what it throws ends it.
    func nameDifferences(
        through head: BlockNumber, bytesMax: Int, reading: () throws -> Void = {}
    ) throws -> NameDifferences {
        var differences = NameDifferences()
        try readPages(after: 0, through: head, bytesMax: bytesMax) { blocks in
            try reading()
            for sealed in blocks {
                let block = try Block(opening: sealed, checks: .form)
                differences.unproven.addNameless(of: block, leaderBlock: nil)
                for row in block.rows.erasures where !differences.unproven.has(row.account) {
                    differences.owed.append(row.account)
                }
                differences.unproven.prove(by: block)
            }
        }
        return differences
    }
}
