package import Ledger

/// Which rows some blocks that follow each other added or changed, by their keys: for whoever keeps a copy of the
/// tables elsewhere.
package struct TableChanges {
    /// The last numbers before the first of the blocks.
    let before: LastNumbers
    let blockBefore: BlockNumber
    private(set) var erased: Set<PlayerID> = []
    private(set) var wallets: Set<Wallet> = []
    /// Those that blocks before these opened.
    private(set) var lots: Set<LotID> = []
    private(set) var endedHolds: Set<TransferID> = []
    private(set) var keys: Set<String> = []
    private(set) var purchases: Set<Int64> = []
    private(set) var externals: [Int64] = []
    private(set) var toldPurchases: Set<Int64> = []
    private(set) var notifications: [String] = []
    private(set) var linkedTokens: Set<PlayerID> = []
    private(set) var closings: [Timestamp] = []
    private(set) var catalogs: [Int64] = []

    struct Wallet: Hashable {
        var account: PlayerID
        var currency: CurrencyID
    }

    /// - Parameters:
    ///   - head: the block before them; `nil`: there is none.
    ///   - position: the last numbers after that.
    package init(after head: LogHead?, _ position: LastNumbers) {
        before = position
        blockBefore = head?.number ?? 0
    }

    /// Adds the next block.
    package mutating func add(_ block: Block) {
        let rows = block.rows
        for row in rows.erasures { erased.insert(row.account) }
        for row in rows.transfers {
            wallets.insert(Wallet(account: row.player, currency: row.debit.currency))
            note(row.lot)
            if let debtLot = row.debtLot { note(debtLot) }
            if row.debit.kind == .held, let hold = row.reference { endedHolds.insert(hold) }
        }
        for row in rows.requests { keys.insert(row.key.text) }
        for row in rows.purchases { purchases.insert(row.facts.transaction.number) }
        for row in rows.assignments { purchases.insert(row.transaction.number) }
        for row in rows.externals { externals.append(row.transaction.number) }
        for event in rows.purchaseEvents { toldPurchases.insert(event.transaction.number) }
        for row in rows.notifications { notifications.append(row.uuid) }
        for row in rows.links { linkedTokens.insert(row.token) }
        for row in rows.closings { closings.append(row.through) }
        for row in rows.catalogs { catalogs.append(row.version) }
    }

    private mutating func note(_ lot: LotID) { if lot <= before.transfer { lots.insert(lot) } }
}
