import Ledger

/// Where names stand that are to be erased, as it was looked up before a block said that they are: blocks keep their
/// places.
struct NamePlaces {
    /// The blocks that added the accounts.
    var blocks: [PlayerID: BlockNumber] = [:]
    /// Up to which block that was searched: an account that is not among those was added by a later one.
    var searched: BlockNumber = 0
}

/// The names that a block's erasures take away are overwritten when the block is durable, before another is appended.
/// So only the last block before a crash may have some left to do, which is done when the lead is taken.
///
/// Where the block that has the name is damaged, its name is *owed*: the log is gone on with, and the erasure is done
/// at a start after somebody mended the block (``NamesMark``).
extension BlockLog {
    /// Looks whether the name of an account could be erased, before a block says that it is. A block that is not
    /// durable yet is not looked at: this process is about to write it.
    /// - Parameter places: is told where the name stands.
    /// - Throws: ``LogError``: `corrupt`, or `unknown` where that cannot be said now.
    func checkErasable(_ account: PlayerID, _ places: inout NamePlaces) throws(LogError) {
        guard let (adding, _) = try erasure(of: account, through: places.searched) else { return }
        try checkRedactable(adding.number)
        places.blocks[account] = adding.number
    }

    /// Erases the names that a durable block says are erased, from the blocks that added the accounts. A name that is
    /// erased already stays so.
    /// - Parameters:
    ///   - places: where these stand, as far as that was looked up.
    ///   - owed: told of which account a name cannot be erased before somebody mends the log, and why.
    /// - Throws: ``LogError`` `unknown`. The block is durable all the same; ``eraseLastNames(through:owed:)`` does the
    ///   rest.
    func eraseNames(
        _ block: Block, _ places: NamePlaces = NamePlaces(), owed: (PlayerID, LogError) -> Void
    ) throws(LogError) {
        for row in block.rows.erasures { try eraseName(of: row.account, through: block.number, places, owed: owed) }
    }

    /// Erases what a crash or a failure may have left of the names of the last block that has rows. Those of terms have
    /// none: after many elections of which nobody asked anything there are as many of them, so they are read in steps
    /// that double.
    func eraseLastNames(through number: BlockNumber, owed: (PlayerID, LogError) -> Void) throws {
        var (end, step) = (number, BlockNumber(1))
        while end > 0 {
            let begin = max(end - step, 0)
            let last: Block?
            do {
                last = try lastWithRows(after: begin, through: end)
            } catch  where end - begin > 1 {
                // Before the last block with rows one may be damaged, or in an archive: that keeps nobody from leading.
                step = 1
                continue
            }
            if let last { return try eraseNames(last, owed: owed) }
            end = begin
            step = min(2 * step, 64)
        }
    }

    private func lastWithRows(after begin: BlockNumber, through end: BlockNumber) throws -> Block? {
        var last: Block?
        try readPages(after: begin, through: end, bytesMax: end - begin == 1 ? 0 : 1 << 20) { blocks in
            for sealed in blocks.reversed() {
                let block = try Block(opening: sealed, checks: .form)
                if block.rows.isEmpty { continue }
                last = block
                break
            }
        }
        return last
    }

    /// Erases one name.
    func eraseName(
        of account: PlayerID, through head: BlockNumber, _ places: NamePlaces = NamePlaces(),
        owed: (PlayerID, LogError) -> Void
    ) throws(LogError) {
        do throws(LogError) {
            guard let (adding, erased) = try erasure(of: account, through: head, places) else {
                throw LogError(.corrupt, "no block adds account \(account)")
            }
            if erased != adding.redactable { try redact(adding.number, erased) }
        } catch {
            if error.isOfBlock { return owed(account, error) }
            // Not appended would mean that nothing happened.
            throw LogError(.unknown, error.description)
        }
    }

    /// The block that added an account, and its redactable part without the account's name; `nil` where no block up to
    /// `head` added it.
    private func erasure(
        of account: PlayerID, through head: BlockNumber, _ places: NamePlaces = NamePlaces()
    ) throws(LogError) -> (adding: SealedBlock, erased: [UInt8])? {
        guard let adding = try block(adding: account, through: head, places) else { return nil }
        do throws(BlockError) {
            return (adding, try adding.redactable(erasing: [account]))
        } catch {
            throw LogError(.corrupt, "erasing the name of account \(account): \(error)")
        }
    }

    /// The block that added an account; `nil` where none up to `head` did. Accounts are numbered in the order of the
    /// blocks, so a search reads a few.
    private func block(
        adding account: PlayerID, through head: BlockNumber, _ places: NamePlaces
    ) throws(LogError) -> SealedBlock? {
        if let number = places.blocks[account] { return try sealed(number) }
        let begin = self.first
        do throws(LogError) {
            return try search(account, from: begin, through: head, places)
        } catch {
            // Blocks were archived since; reading them noticed that.
            let now = self.first
            guard error.kind == .archived, now > begin else { throw error }
            return try search(account, from: now, through: head, places)
        }
    }

    /// - Parameter readable: the first block that can be read.
    private func search(
        _ account: PlayerID, from readable: BlockNumber, through head: BlockNumber, _ places: NamePlaces
    ) throws(LogError) -> SealedBlock? {
        let begin = max(places.searched + 1, readable)
        var (first, last) = (begin, head)
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
            if added.lowerBound <= account { first = middle + 1 } else { last = middle - 1 }
        }
        // Then one before added it, which is in an archive.
        if last < begin, begin > places.searched + 1 { return try sealed(begin - 1) }
        return nil
    }

    private func sealed(_ number: BlockNumber) throws(LogError) -> SealedBlock {
        guard let block = try read(after: number - 1, bytesMax: 0).first, block.number == number else {
            throw LogError(.corrupt, "block \(number) is missing from the log")
        }
        return block
    }
}
