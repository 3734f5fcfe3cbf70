import GRDB
import Ledger

/// Walks the chain of a wallet's transfers backwards, taking away what each did to the balance: from its head, or from
/// the next of the balances that are remembered (``StoredPastWallet``), so that no past is far.
struct WalletWalk {
    struct Step {
        var id: TransferID
        var entry: EntryID
        var debit: AccountKind
        var credit: AccountKind
        var amount: Amount
        var lot: LotID
        var debtLot: LotID?
        var previous: TransferID
        var isPaid: Bool
        var expiresAt: Timestamp?
        /// What it added to `available`.
        var change: Int64 {
            TransferEffect(debit: debit, credit: credit, amount: amount.units)?.available ?? 0
        }
    }

    /// What the walks of one read share.
    final class Statements {
        fileprivate let selectTransfer: PreparedStatement
        fileprivate let selectDue: PreparedStatement
        fileprivate let selectPast: PreparedStatement

        init(_ db: Database) throws {
            selectTransfer = try PreparedStatement(
                db,
                """
                SELECT t.entry, t.account, t.currency, t.debit, t.credit, t.amount, t.lot, t.debt_lot, t.previous,
                    l.class, l.expires_at
                FROM transfer AS t JOIN lot AS l ON l.id = t.lot WHERE t.id = ?
                """)
            selectDue = try PreparedStatement(
                db,
                """
                WITH RECURSIVE member (id) AS (
                    VALUES (?1)
                    UNION
                    SELECT link.token FROM member JOIN link ON link.account = member.id WHERE link.number = 1
                )
                SELECT lot.remaining FROM member JOIN lot ON lot.account = member.id
                WHERE lot.currency = ?2 AND lot.is_open AND lot.expires_at <= ?3
                """)
            selectPast = try PreparedStatement(
                db,
                """
                SELECT \(StoredPastWallet.columns) FROM wallet_past
                WHERE account = ? AND currency = ? AND transfer > ? ORDER BY transfer LIMIT 1
                """)
        }
    }

    let currency: CurrencyID
    /// After the transfers that were not taken away yet.
    private(set) var balance: Balance
    /// The newest transfer that was not taken away yet.
    private(set) var step: Step?
    private let account: PlayerID
    private let asOf: Timestamp
    private let statements: Statements
    /// What is left in lots whose time was over at `asOf`.
    private var due: Int64 = 0

    /// - Parameters:
    ///   - last: the last transfer that is not to be taken away; later ones may be left out.
    ///   - asOf: what expires at this time or before is not shown as available. No transfer up to `last` is later.
    init(_ head: StoredWallet, through last: TransferID, asOf: Timestamp, _ statements: Statements) throws {
        account = head.account
        currency = head.currency
        balance = head.balance
        self.asOf = asOf
        self.statements = statements
        if head.lastTransfer > last, let past = try readPast(after: last) {
            // What had expired was posted with the wallet's first entry after `last`.
            balance = past.balance
            step = try read(past.transfer, before: head.lastTransfer + 1)
            return
        }
        // Only what was given expires.
        if head.available > head.paid { due = try readDue() }
        step = try read(head.lastTransfer, before: Int64.max)
    }

    /// The balance without what has expired, whether or not that was posted.
    var unexpired: Balance {
        get throws {
            var balance = balance
            balance.available -= due
            guard due >= 0, balance.available >= balance.paid else { throw damaged }
            return balance
        }
    }

    /// Takes away every transfer after `transfer`.
    /// - Returns: how many they were.
    mutating func rewind(to transfer: TransferID) throws -> Int {
        var count = 0
        while let newest = step, newest.id > transfer {
            try undo(newest.entry) { _ in count += 1 }
        }
        return count
    }

    /// Takes one entry's transfers away, the newest first.
    mutating func undo(_ entry: EntryID, _ each: (Step) -> Void) throws {
        var changed = false
        while let newest = step, newest.entry == entry {
            changed = try undo(newest) || changed
            each(newest)
            step = try read(newest.previous, before: newest.id)
        }
        if changed { balance.version -= 1 }
        // Before its first transfer a wallet has nothing.
        guard balance.version >= 0, step != nil || balance == Balance() else { throw damaged }
    }

    private mutating func undo(_ step: Step) throws -> Bool {
        guard let effect = TransferEffect(debit: step.debit, credit: step.credit, amount: step.amount.units) else {
            throw StoreError.corrupt("transfer \(step.id) debits and credits accounts that cannot be")
        }
        balance.available -= effect.available
        if step.isPaid { balance.paid -= effect.available }
        balance.held -= effect.held
        balance.debt -= effect.debt
        if let expiresAt = step.expiresAt, expiresAt <= asOf { due -= effect.available }
        guard Plausible.isAmount(balance.available), Plausible.isAmount(balance.held),
            Plausible.isAmount(balance.debt), balance.paid >= 0, balance.paid <= balance.available
        else { throw damaged }
        return effect.changesBalance
    }

    private var damaged: StoreError {
        StoreError.corrupt("the wallet of account \(account), currency \(currency) is not the sum of its transfers")
    }

    /// What is remembered first of the wallet after a transfer.
    private func readPast(after transfer: TransferID) throws -> StoredPastWallet? {
        let select = statements.selectPast
        select.bind(1, account)
        select.bind(2, Int64(currency))
        select.bind(3, transfer)
        return try select.first { try StoredPastWallet($0) }
    }

    private func readDue() throws -> Int64 {
        var due: Int64 = 0
        let select = statements.selectDue
        select.bind(1, account)
        select.bind(2, Int64(currency))
        select.bind(3, asOf)
        try select.forEach { row in
            guard Plausible.isAmount(row.integer(0)), due <= Plausible.max else { throw damaged }
            due += row.integer(0)
        }
        return due
    }

    /// The transfer `id`, which must be older than the one that names it; `nil` at the chain's end.
    private func read(_ id: TransferID, before newer: TransferID) throws -> Step? {
        if id == 0 { return nil }
        let select = statements.selectTransfer
        select.bind(1, id)
        let read = try select.first { row -> Step? in
            guard row.integer(1) == account, row.integer(2) == Int64(currency),
                let debit = Stored.accountKinds.item(row.text(3)), let credit = Stored.accountKinds.item(row.text(4)),
                let amount = Amount(row.integer(5)), let lotClass = Stored.lotClasses.item(row.text(9))
            else { return nil }
            return Step(
                id: id, entry: row.integer(0), debit: debit, credit: credit, amount: amount, lot: row.integer(6),
                debtLot: row.optionalInteger(7), previous: row.integer(8), isPaid: lotClass == .paid,
                expiresAt: row.optionalInteger(10))
        }
        guard let step = read ?? nil, id > 0, id < newer else {
            throw StoreError.corrupt(
                "transfer \(id) of account \(account), currency \(currency) is missing, or is not what it must be")
        }
        return step
    }
}

/// The walks of all wallets of an account, or of one of them.
struct AccountWalk {
    private let selectEntry: PreparedStatement
    private var wallets: [(code: CurrencyCode, walk: WalletWalk)] = []

    /// `nil` where there is no such account.
    /// - Parameters:
    ///   - last: the last transfer that is not to be taken away.
    ///   - asOf: see ``WalletWalk``.
    init?(
        _ db: Database, _ account: AccountName, only currency: CurrencyCode?, through last: TransferID,
        asOf: Timestamp = Int64.min
    ) throws {
        selectEntry = try PreparedStatement(
            db,
            """
            SELECT e.time, e.kind, e.transaction_id, e.key, e.note, p.product,
                CASE WHEN p.source <> '\(PurchaseSource.imported.name)' THEN p.quantity END, p.price, p.price_currency,
                a.name,
                e.transaction_id IS NOT NULL AND p.product IS NULL OR e.actor IS NOT NULL AND a.name IS NULL
            FROM entry AS e LEFT JOIN purchase AS p ON p.transaction_id = e.transaction_id
                LEFT JOIN actor AS a ON a.id = e.actor
            WHERE e.id = ?
            """)
        let codes = try StoredState.currencies(db)
        let selectWallets = try PreparedStatement(
            db,
            """
            SELECT \(StoredWallet.columns) FROM wallet WHERE account = (SELECT id FROM account WHERE name = ?)
            """)
        let statements = try WalletWalk.Statements(db)
        var heads: [StoredWallet] = []
        selectWallets.bind(1, account.text)
        try selectWallets.forEach { heads.append(try StoredWallet($0)) }
        if heads.isEmpty { return nil }
        for head in heads {
            guard Int(head.currency) <= codes.count else {
                throw StoreError.corrupt("\(head): there is no such currency")
            }
            let code = codes[Int(head.currency) - 1]
            if let currency, code != currency { continue }
            wallets.append((code, try WalletWalk(head, through: last, asOf: asOf, statements)))
        }
        wallets.sort { $0.code < $1.code }
    }

    /// The balances after `transfer`, of those wallets that there were.
    mutating func pastBalances(through transfer: TransferID) throws -> [CurrencyBalance] {
        for index in wallets.indices { _ = try wallets[index].walk.rewind(to: transfer) }
        return try wallets.filter { $0.walk.balance.version > 0 }
            .map { CurrencyBalance(currency: $0.code, balance: try $0.walk.unexpired) }
    }

    /// The newest `limit` entries before `before`; fewer where they are too large for a page.
    /// - Parameter skipped: so many transfers of the first of them are left out.
    mutating func page(before: EntryID, limit: Int, skipping skipped: Int) throws -> HistoryPage {
        var walked = 0
        while let newest, newest >= before { walked += try undo(newest).count }
        var entries: [HistoryEntry] = []
        var bytes = 0
        while let newest {
            if entries.count == limit || walked >= Limits.historyTransfersMax && !entries.isEmpty {
                return HistoryPage(entries: entries, next: entries.last?.entry)
            }
            let touched = wallets.filter { $0.walk.step?.entry == newest }.map {
                CurrencyBalance(currency: $0.code, balance: $0.walk.balance)
            }
            let transfers = try undo(newest)
            walked += transfers.count
            let shown = transfers.dropFirst(entries.isEmpty ? skipped : 0)
            var entry = try entry(newest, Array(shown.prefix(Limits.transfersPerEntryMax)), touched)
            entry.transfersMore = shown.count - entry.transfers.count
            bytes += entry.resultBytes
            if bytes > Limits.pageBytesMax, let last = entries.last {
                return HistoryPage(entries: entries, next: last.entry)
            }
            entries.append(entry)
        }
        return HistoryPage(entries: entries, next: nil)
    }

    /// The newest entry that was not taken away yet.
    private var newest: EntryID? { wallets.compactMap { $0.walk.step?.entry }.max() }

    /// Takes one entry's transfers away; gives them in the order in which they were posted.
    private mutating func undo(_ entry: EntryID) throws -> [HistoryEntry.Movement] {
        var undone: [(id: TransferID, movement: HistoryEntry.Movement)] = []
        for index in wallets.indices {
            let code = wallets[index].code
            try wallets[index].walk.undo(entry) { step in
                let movement = HistoryEntry.Movement(
                    debit: step.debit, credit: step.credit, currency: code, amount: step.amount, change: step.change,
                    lot: step.lot, debtLot: step.debtLot)
                undone.append((step.id, movement))
            }
        }
        return undone.sorted { $0.id < $1.id }.map(\.movement)
    }

    private func entry(
        _ id: EntryID, _ transfers: [HistoryEntry.Movement], _ balances: [CurrencyBalance]
    ) throws -> HistoryEntry {
        selectEntry.bind(1, id)
        var isIncomplete = false
        let entry = try selectEntry.first { row in
            Stored.entryKinds.item(row.text(1)).map { kind in
                isIncomplete = row.integer(10) != 0
                return HistoryEntry(
                    entry: id, time: row.integer(0), kind: kind,
                    key: row.optionalText(3).map { RequestKey(stored: $0) }, note: row.optionalText(4),
                    transaction: row.optionalInteger(2).map { TransactionID(number: $0) },
                    product: row.optionalText(5), quantity: row.optionalInteger(6), price: row.optionalInteger(7),
                    priceCurrency: row.optionalText(8), actor: row.optionalText(9), transfers: transfers,
                    balances: balances)
            }
        }
        guard let entry = entry ?? nil else {
            throw StoreError.corrupt("entry \(id) is missing, or of an unknown kind")
        }
        if isIncomplete { throw StoreError.corrupt("entry \(id) names a purchase or a token that is missing") }
        return entry
    }
}
