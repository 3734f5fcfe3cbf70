import Ledger

/// The names that a block's erasures take away are overwritten when the block is durable, before another is appended.
/// So only the last block before a crash may have some left to do, which is done when the lead is taken.
extension BlockLog {
    /// Erases the names that a durable block says are erased, from the blocks that added the accounts. A name that is
    /// erased already stays so.
    /// - Throws: ``LogError``: `corrupt`, or `unknown`. The block is durable all the same; ``eraseLastNames(through:)``
    ///   does the rest.
    func eraseNames(_ block: Block) throws(LogError) {
        for row in block.rows.erasures {
            let adding = try self.block(adding: row.account, through: block.number)
            let erased: [UInt8]
            do throws(BlockError) {
                erased = try adding.redactable(erasing: [row.account])
            } catch {
                throw LogError(.corrupt, "erasing the name of account \(row.account): \(error)")
            }
            if erased == adding.redactable { continue }
            do throws(LogError) {
                try redact(adding.number, erased)
            } catch {
                // Not appended would mean that nothing happened.
                throw LogError(error.kind == .corrupt ? .corrupt : .unknown, error.description)
            }
        }
    }

    /// Erases what a crash or a failure may have left of the names of the last block that has rows. Those of terms have
    /// none.
    func eraseLastNames(through number: BlockNumber) throws {
        for number in stride(from: number, through: 1, by: -1) {
            let block = try Block(opening: sealed(number), checks: .form)
            if block.rows.isEmpty { continue }
            return try eraseNames(block)
        }
    }

    /// The block that added an account. Accounts are numbered in the order of the blocks, so a few are read.
    private func block(adding account: PlayerID, through head: BlockNumber) throws(LogError) -> SealedBlock {
        var (first, last) = (BlockNumber(1), head)
        while first <= last {
            let middle = first + (last - first) / 2
            let block = try sealed(middle)
            let added: Range<PlayerID>
            do throws(BlockError) {
                added = try block.addedAccounts()
            } catch {
                throw LogError(.corrupt, "looking for account \(account): \(error)")
            }
            if added.contains(account) { return block }
            if account < added.lowerBound { last = middle - 1 } else { first = middle + 1 }
        }
        throw LogError(.corrupt, "no block adds account \(account)")
    }

    private func sealed(_ number: BlockNumber) throws(LogError) -> SealedBlock {
        guard let block = try read(after: number - 1, bytesMax: 0).first, block.number == number else {
            throw LogError(.corrupt, "block \(number) is missing from the log")
        }
        return block
    }
}
