import GRDB
package import Ledger

extension SQLiteStore {
    package func history(_ query: HistoryQuery) throws -> HistoryPage {
        try SQLiteStore.faults("reading a history") {
            guard let (player, codes) = try heads(query.account) else { return HistoryPage(entries: [], next: nil) }
            return try pool.read { db in
                var walk = try WalletWalk(db, player, codes, only: query.currency)
                return try walk.page(before: query.before ?? Int64.max, limit: query.limit)
            }
        }
    }

    package func balances(
        _ account: AccountName, currency: CurrencyCode?, asOf: Timestamp
    ) throws -> [CurrencyBalance] {
        try SQLiteStore.faults("reading past balances") {
            guard let (player, codes) = try heads(account) else { return [] }
            return try pool.read { db in
                var walk = try WalletWalk(db, player, codes, only: currency)
                try walk.rewind(to: try JournalClock(db).lastEntry(asOf))
                return walk.balances.filter { $0.balance.version > 0 }
            }
        }
    }

    /// The account's wallets as of the last commit: the heads of their chains.
    private func heads(_ account: AccountName) throws -> (player: Player, codes: [CurrencyCode])? {
        try pool.writeWithoutTransaction { db in try writer.player(db, account) }
    }
}

/// Walks the chains of a player's wallets backwards from their heads, undoing what each transfer did to the balance:
/// a wallet's past needs no index and no stored balances.
private struct WalletWalk {
    fileprivate struct Step {
        var id: TransferID
        var entry: EntryID
        var debit: LedgerAccount
        var credit: LedgerAccount
        var amount: Int64
        var lot: LotID
        var debtLot: LotID?
        var previous: TransferID
        var isPaid: Bool
    }

    private struct Chain {
        var code: CurrencyCode
        var balance: Balance
        var step: Step?
    }

    private let selectTransfer: PreparedStatement
    private let selectEntry: PreparedStatement
    private var chains: [Chain] = []

    init(_ db: Database, _ player: Player, _ codes: [CurrencyCode], only currency: CurrencyCode?) throws {
        selectTransfer = try PreparedStatement(
            db,
            """
            SELECT t.id, t.entry, t.debit, t.credit, t.amount, t.lot, t.debt_lot, t.previous, opening.debit & 15 = 4
            FROM transfer AS t JOIN transfer AS opening ON opening.id = t.lot WHERE t.id = ?
            """)
        selectEntry = try PreparedStatement(
            db, "SELECT time, kind, transaction_id, key, note FROM entry WHERE id = ?")
        for wallet in player.wallets {
            let code = codes[Int(wallet.currency) - 1]
            if let currency, code != currency { continue }
            chains.append(Chain(code: code, balance: wallet.balance, step: try step(wallet.lastTransfer)))
        }
        chains.sort { $0.code < $1.code }
    }

    var balances: [CurrencyBalance] { chains.map { CurrencyBalance(currency: $0.code, balance: $0.balance) } }

    /// The newest entry not yet undone.
    private var newest: EntryID? { chains.compactMap { $0.step?.entry }.max() }

    /// Undoes every entry after `entry`.
    mutating func rewind(to entry: EntryID) throws {
        while let newest, newest > entry { _ = try undo(newest) }
    }

    /// The newest `limit` entries before `before`.
    mutating func page(before: EntryID, limit: Int) throws -> HistoryPage {
        var walked = 0
        while let newest, newest >= before { walked += try undo(newest).count }
        var entries: [HistoryEntry] = []
        while let newest {
            if entries.count == limit || walked >= Limits.historyTransfersMax && !entries.isEmpty {
                return HistoryPage(entries: entries, next: entries.last?.entry)
            }
            let touched = chains.filter { $0.step?.entry == newest }.map {
                CurrencyBalance(currency: $0.code, balance: $0.balance)
            }
            let transfers = try undo(newest)
            walked += transfers.count
            entries.append(try entry(newest, transfers, touched))
        }
        return HistoryPage(entries: entries, next: nil)
    }

    private func entry(
        _ id: EntryID, _ transfers: [HistoryEntry.Movement], _ balances: [CurrencyBalance]
    ) throws -> HistoryEntry {
        selectEntry.bind(1, id)
        guard try selectEntry.next(), let kind = EntryKind(rawValue: selectEntry.integer(1)) else {
            throw StoreError("entry \(id) is missing from the journal, or of an unknown kind")
        }
        defer { selectEntry.reset() }
        return HistoryEntry(
            entry: id, time: selectEntry.integer(0), kind: kind,
            key: selectEntry.optionalText(3).map { RequestKey(stored: $0) }, note: selectEntry.optionalText(4),
            transaction: selectEntry.optionalInteger(2).map { TransactionID(number: $0) }, transfers: transfers,
            balances: balances)
    }

    /// Takes one entry's transfers out of the balances; gives them in the order in which they were posted.
    private mutating func undo(_ entry: EntryID) throws -> [HistoryEntry.Movement] {
        var undone: [(TransferID, HistoryEntry.Movement)] = []
        for index in chains.indices {
            var changedBalance = false
            while let step = chains[index].step, step.entry == entry {
                changedBalance = chains[index].balance.undo(step) || changedBalance
                guard let amount = Amount(step.amount) else {
                    throw StoreError("transfer \(step.id) has an amount that cannot be")
                }
                undone.append(
                    (
                        step.id,
                        HistoryEntry.Movement(
                            debit: step.debit.kind, credit: step.credit.kind, currency: chains[index].code,
                            amount: amount, lot: step.lot, debtLot: step.debtLot)
                    ))
                chains[index].step = try self.step(step.previous)
            }
            if changedBalance { chains[index].balance.version -= 1 }
        }
        return undone.sorted { $0.0 < $1.0 }.map(\.1)
    }

    private func step(_ id: TransferID) throws -> Step? {
        if id == 0 { return nil }
        selectTransfer.bind(1, id)
        guard try selectTransfer.next(), let debit = LedgerAccount(number: selectTransfer.integer(2)),
            let credit = LedgerAccount(number: selectTransfer.integer(3))
        else { throw StoreError("transfer \(id) is missing from the journal, or names an account that cannot be") }
        defer { selectTransfer.reset() }
        return Step(
            id: id, entry: selectTransfer.integer(1), debit: debit, credit: credit, amount: selectTransfer.integer(4),
            lot: selectTransfer.integer(5), debtLot: selectTransfer.optionalInteger(6),
            previous: selectTransfer.integer(7), isPaid: selectTransfer.integer(8) == 1)
    }
}

extension Balance {
    /// Takes a transfer back; gives whether it had changed the balance.
    fileprivate mutating func undo(_ step: WalletWalk.Step) -> Bool {
        let before = self
        if step.debit.kind == .wallet { addAvailable(step.amount, step.isPaid) }
        if step.credit.kind == .wallet { addAvailable(-step.amount, step.isPaid) }
        if step.debit.kind == .held { held += step.amount }
        if step.credit.kind == .held { held -= step.amount }
        if step.debit.kind == .receivable { debt -= step.amount }
        if step.credit.kind == .receivable { debt += step.amount }
        return self != before
    }

    private mutating func addAvailable(_ units: Int64, _ isPaid: Bool) {
        available += units
        if isPaid { paid += units }
    }
}
