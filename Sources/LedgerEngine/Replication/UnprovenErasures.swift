import Ledger

/// Accounts whose names are erased in the log, while no block of the log erases them.
///
/// A block's hash does not cover whether its names are there, and a leader gives an early block as its log has it now:
/// without the names that a later block erases. So a standby that copies a chain has such accounts for a while. Where
/// the block that erases a name is not among those that the leader had when it gave the block, the name was taken by
/// nobody who may.
///
/// The first copy of a long log has many of them while it has all of its pages before it: so they are looked through
/// only where one may be late.
struct UnprovenErasures {
    private struct Account {
        /// The block that adds it.
        var block: BlockNumber
        /// The leader's last block when it gave that one; `nil` where that is not known yet.
        var leaderBlock: BlockNumber?
    }

    private var accounts: [PlayerID: Account] = [:]
    private var hasUndated = false
    /// Before this block is here none of them is late.
    private(set) var due = BlockNumber.max

    var isEmpty: Bool { accounts.isEmpty }

    func has(_ account: PlayerID) -> Bool { accounts[account] != nil }

    /// Notes the accounts that a block adds without their names.
    mutating func addNameless(of block: Block, leaderBlock: BlockNumber?) {
        for row in block.rows.accounts where row.name == nil {
            accounts[row.id] = Account(block: block.number, leaderBlock: leaderBlock)
            if let leaderBlock { due = min(due, leaderBlock) } else { hasUndated = true }
        }
    }

    /// Forgets the accounts that a block of the log erases.
    mutating func prove(by block: Block) {
        for row in block.rows.erasures { accounts[row.account] = nil }
    }

    /// Forgets the accounts that blocks up to one add.
    mutating func forget(addedThrough number: BlockNumber) {
        if number > 0 { accounts = accounts.filter { $0.value.block > number } }
    }

    /// Says of accounts that come from before a restart what the leader's last block is.
    mutating func date(leaderBlock: BlockNumber) {
        guard hasUndated else { return }
        for (id, account) in accounts where account.leaderBlock == nil { accounts[id]?.leaderBlock = leaderBlock }
        hasUndated = false
        due = min(due, leaderBlock)
    }

    /// What is wrong with those that a block up to `head` should have erased; `nil` where nothing is.
    mutating func fault(at head: BlockNumber) -> String? {
        guard head >= due else { return nil }
        due = accounts.values.lazy.compactMap(\.leaderBlock).min() ?? .max
        guard head >= due else { return nil }
        return UnprovenErasures.words(accounts.filter { $0.value.leaderBlock.map { $0 <= head } ?? false }, head)
    }

    /// What is wrong with all of them; `nil` where there are none.
    func faultOfAll(at head: BlockNumber) -> String? { UnprovenErasures.words(accounts, head) }

    private static func words(_ accounts: [PlayerID: Account], _ head: BlockNumber) -> String? {
        guard let first = accounts.min(by: { $0.key < $1.key }) else { return nil }
        let others = accounts.count > 1 ? " and of \(accounts.count - 1) more" : ""
        return "the name of account \(first.key), which block \(first.value.block) adds,\(others) came erased, and no "
            + "block up to \(head) erases it"
    }
}
