import Ledger

extension BlockLog {
    /// Erases the names of accounts from the blocks that added them. A name that is erased already stays so.
    /// - Parameter head: the last block; it or one before it added the accounts.
    /// - Throws: ``LogError``; then it may be called again.
    func eraseNames(of accounts: some Sequence<PlayerID>, through head: BlockNumber) throws(LogError) {
        for account in accounts {
            let block = try block(adding: account, through: head)
            let erased: [UInt8]
            do throws(BlockError) {
                erased = try block.redactable(erasing: [account])
            } catch {
                throw LogError(.corrupt, "erasing the name of account \(account): \(error)")
            }
            if erased != block.redactable { try redact(block.number, erased) }
        }
    }

    /// The block that added an account. Accounts are numbered in the order of the blocks, so a few are read.
    private func block(adding account: PlayerID, through head: BlockNumber) throws(LogError) -> SealedBlock {
        var (first, last) = (BlockNumber(1), head)
        while first <= last {
            let middle = first + (last - first) / 2
            guard let block = try read(after: middle - 1, bytesMax: 0).first, block.number == middle else {
                throw LogError(.corrupt, "block \(middle) is missing from the log")
            }
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
}
