import Ledger

/// The names that a block's erasures take away are overwritten when the block is durable, before another is appended.
/// So only the last block before a crash may have some left to do, which is done when the lead is taken.
///
/// Where the block that has the name is damaged, its name is *owed*: the log is gone on with, and the erasure is done
/// at a start after somebody mended the block (``NamesMark``).
extension BlockLog {
    /// Looks whether the name of an account could be erased, before a block says that it is. A block that is not
    /// durable yet is not looked at: this process is about to write it.
    /// - Throws: ``LogError``: `corrupt`, or `unknown` where that cannot be said now.
    func checkErasable(_ account: PlayerID) throws(LogError) {
        guard let head, let (adding, _) = try erasure(of: account, through: head.number) else { return }
        try checkRedactable(adding.number)
    }

    /// Erases the names that a durable block says are erased, from the blocks that added the accounts. A name that is
    /// erased already stays so.
    /// - Parameter owed: told why a name cannot be erased before somebody mends the log.
    /// - Throws: ``LogError`` `unknown`. The block is durable all the same; ``eraseLastNames(through:owed:)`` does the
    ///   rest.
    func eraseNames(_ block: Block, owed: (LogError) -> Void) throws(LogError) {
        for row in block.rows.erasures { try eraseName(of: row.account, through: block.number, owed: owed) }
    }

    /// Erases what a crash or a failure may have left of the names of the last block that has rows. Those of terms have
    /// none.
    func eraseLastNames(through number: BlockNumber, owed: (LogError) -> Void) throws {
        for number in stride(from: number, through: 1, by: -1) {
            let block = try Block(opening: sealed(number), checks: .form)
            if block.rows.isEmpty { continue }
            return try eraseNames(block, owed: owed)
        }
    }

    /// Erases one name.
    func eraseName(of account: PlayerID, through head: BlockNumber, owed: (LogError) -> Void) throws(LogError) {
        do throws(LogError) {
            guard let (adding, erased) = try erasure(of: account, through: head) else {
                throw LogError(.corrupt, "no block adds account \(account)")
            }
            if erased != adding.redactable { try redact(adding.number, erased) }
        } catch {
            if error.kind == .corrupt { return owed(error) }
            // Not appended would mean that nothing happened.
            throw LogError(.unknown, error.description)
        }
    }

    /// The block that added an account, and its redactable part without the account's name; `nil` where no block up to
    /// `head` added it.
    private func erasure(
        of account: PlayerID, through head: BlockNumber
    ) throws(LogError) -> (adding: SealedBlock, erased: [UInt8])? {
        guard let adding = try block(adding: account, through: head) else { return nil }
        do throws(BlockError) {
            return (adding, try adding.redactable(erasing: [account]))
        } catch {
            throw LogError(.corrupt, "erasing the name of account \(account): \(error)")
        }
    }

    /// The block that added an account. Accounts are numbered in the order of the blocks, so a few are read. Which
    /// these are does not change while blocks are added, but for the new ones: so what could be read before an erasure
    /// was appended can be read after it.
    private func block(adding account: PlayerID, through head: BlockNumber) throws(LogError) -> SealedBlock? {
        var before = BlockNumber(0)
        for digit in stride(from: Int64.bitWidth - head.leadingZeroBitCount - 1, through: 0, by: -1) {
            let number = before + (1 << BlockNumber(digit))
            if number > head { continue }
            let block = try sealed(number)
            let added: Range<PlayerID>
            do throws(BlockError) {
                added = try block.addedAccounts()
            } catch {
                throw LogError(.corrupt, "looking for account \(account): \(error)")
            }
            if added.contains(account) { return block }
            if added.lowerBound <= account { before = number }
        }
        return nil
    }

    private func sealed(_ number: BlockNumber) throws(LogError) -> SealedBlock {
        guard let block = try read(after: number - 1, bytesMax: 0).first, block.number == number else {
            throw LogError(.corrupt, "block \(number) is missing from the log")
        }
        return block
    }
}
