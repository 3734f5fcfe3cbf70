import Ledger

/// Where it is noted, durably, that what is erased in a log and what its blocks say that is may differ: the next start
/// reads the log for that.
package struct NamesMark: Sendable {
    /// What is noted.
    package enum Reason: String, Sendable {
        /// Names may be gone that no block of the log erases: it is a standby's, and lacks blocks. Words that nobody
        /// knows, and none, mean this.
        case unproven
        /// Names are there that a block erases. None is unproven.
        case owed
        /// An operator says that names that are gone stay lost, whether or not a block erases them. Names may be there
        /// that a block erases, and are erased.
        case accepted
    }

    /// Where an operator finds it.
    package var place: String
    package var read: @Sendable () throws -> Reason?
    /// Durable when it returns; `nil` takes the mark away.
    package var write: @Sendable (Reason?) throws -> Void

    package init(
        place: String, read: @escaping @Sendable () throws -> Reason?,
        write: @escaping @Sendable (Reason?) throws -> Void
    ) {
        self.place = place
        self.read = read
        self.write = write
    }

    /// Notes that a name is owed. Every other word has the next start look for such names too, and stays.
    func owe() throws {
        if try read() == nil { try write(.owed) }
    }
}

/// A ledger that is to lead.
extension NamesMark {
    /// Reads the log for names that differ from what its blocks say, where it is noted that some may.
    /// - Parameter reading: told, before each step, which block was read and which is the last; what it throws ends
    ///   it.
    /// - Returns: `nil` where nothing is noted.
    /// - Throws: ``StoreError`` where names are gone that no block erases, or where that cannot be said: blocks cannot
    ///   be read, and the log is a standby's.
    func differences(
        in log: any BlockLog, _ limits: EngineLimits, _ reading: (BlockNumber, _ head: BlockNumber) throws -> Void,
        _ report: (LedgerEvent) -> Void
    ) throws -> NameDifferences? {
        guard let reason = try read() else { return nil }
        let head = log.head?.number ?? 0
        let differences = try log.nameDifferences(through: head, bytesMax: limits.projectionStepBytes) {
            try reading($0, head)
        }
        let unread = differences.unread.joined(separator: "; ")
        if reason != .accepted, let fault = differences.unproven.faultOfAll(at: head) {
            let cause =
                reason == .unproven
                ? "this ledger was a standby, and lacks blocks that its leader had, or that leader was not to be "
                    + "believed. Have it follow the right leader up to the end"
                : "blocks that erased names are lost, or other hands took names out of the log. Mend it, as the page "
                    + "Backup says"
            throw StoreError(
                .notReady,
                "\(fault)\(unread.isEmpty ? "" : "; \(unread)"): \(cause); who knows that there is nothing to be had "
                    + "any more may write the word \(Reason.accepted) into \(place): these names then stay lost")
        }
        if !unread.isEmpty, reason == .unproven {
            throw StoreError(
                .notReady,
                "\(unread): this ledger was a standby, and nobody can say whether it has the blocks that erase all "
                    + "names that are gone. Mend its log, as the page Backup says; who knows that it never was a "
                    + "standby, or has all there is, may write the word \(Reason.owed) into \(place)")
        }
        for words in differences.unread { report(.nameOwed(words)) }
        return differences
    }

    /// Erases what is owed, now that the ledger leads, and notes whether that was all.
    /// - Parameters:
    ///   - reading: what it throws ends it.
    ///   - owed: told why a name cannot be erased before somebody mends the log.
    func settle(
        _ differences: NameDifferences, in log: any BlockLog, through head: BlockNumber, _ reading: () throws -> Void,
        _ report: (LedgerEvent) -> Void, owed: (PlayerID, LogError) -> Void
    ) throws {
        var isOwed = !differences.unread.isEmpty
        do {
            for account in differences.owed {
                try reading()
                try log.eraseName(of: account, through: head) { account, error in
                    owed(account, error)
                    isOwed = true
                }
            }
        } catch let error as LogError {
            return report(.nameOwed("\(error)"))
        }
        do {
            // Whoever looks again for what is owed finds lost names again.
            let left: Reason = try read() == .accepted ? .accepted : .owed
            try write(isOwed ? left : nil)
        } catch {
            report(.namesMarkLeft("\(place): \(error)"))
        }
    }
}
