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

extension NamesMark {
    /// Reads the log of a ledger that is to lead for names that differ from what its blocks say, where it is noted that
    /// some may.
    /// - Returns: erases what is owed, once the ledger leads; `nil` where nothing can be done now.
    /// - Throws: ``StoreError`` where names are gone that no block erases.
    func differences(
        in log: any BlockLog, _ limits: EngineLimits, _ report: @escaping @Sendable (LedgerEvent) -> Void
    ) throws -> ((_ owed: (LogError) -> Void) -> Void)? {
        guard try isSet() else { return nil }
        let head = log.head?.number ?? 0
        let differences: NameDifferences
        do {
            differences = try log.nameDifferences(through: head, bytesMax: limits.projectionStepBytes)
        } catch let error as LogError where error.kind == .corrupt {
            // Nobody can say: not a reason to refuse everybody.
            report(.nameOwed("\(error)"))
            return nil
        }
        if let fault = differences.unproven.faultOfAll(at: head) {
            throw StoreError(
                .notReady,
                "\(fault): this ledger was a standby, and lacks blocks that its leader had, or that leader was not to "
                    + "be believed. Have it follow the right leader up to the end; who knows that it has all there is "
                    + "may remove \(place)")
        }
        return { owed in
            var isOwed = false
            do {
                for account in differences.owed {
                    try log.eraseName(of: account, through: head) { error in
                        owed(error)
                        isOwed = true
                    }
                }
                if !isOwed { try clear() }
            } catch {
                report(.nameOwed("\(error)"))
            }
        }
    }
}
