import Ledger

/// The wallets and lots that a batch of blocks changes: each is loaded once, changed in memory as often as there are
/// transfers, and written once. New rows, loads and updates are in the order of their table.
struct WalletChanges {
    struct ChangedLot {
        var stored: StoredLot
        /// Of the row as the table has it; `nil` where it does not have it yet.
        var before: RowHash?
        var wasOpen = false
    }

    struct ChangedWallet {
        var stored: StoredWallet
        /// Of the row as the table has it; `nil` where it does not have it yet.
        var before: RowHash?
        /// The entry of its last transfer in this batch, and how many transfers it had before that entry.
        var entry: EntryID = 0
        var transfersBefore: Int64 = 0
    }

    /// A hold that a transfer of the batch ended.
    struct EndedHold {
        var id: TransferID
        var entry: EntryID
        var state: HoldState
    }

    /// What a transfer left of its lot, and which one of the lot's was before it.
    struct LotState {
        var previous: TransferID
        /// In the wallet, and held.
        var left: Int64
        var refunded: Int64
        var value: LotValue
    }

    private(set) var wallets: ContiguousArray<ChangedWallet> = []
    /// Those that the table has, then those that the batch opens, by their numbers.
    private(set) var lots: ContiguousArray<ChangedLot> = []
    private(set) var endedHolds: [EndedHold] = []
    /// One for each transfer.
    private(set) var lotStates: [LotState] = []
    /// The places of lots of which something moved from a token to its account.
    private var movedLots: [Int] = []
    private(set) var turnovers = Turnovers(currencies: 0)
    /// What wallets had after entries that are to be remembered.
    private(set) var pastWallets: [StoredPastWallet] = []
    /// What was turned over up to transfers that are to be remembered.
    private(set) var pastTurnovers: [(transfer: TransferID, turnovers: Turnovers)] = []
    /// The places of wallets by account and currency, as one number that has the order of the table.
    private var walletPlaces: [Int64: Int] = [:]
    private var lotPlaces: [LotID: Int] = [:]
    /// The place in `lots` of each lot that the batch opens, by the number of its transfer after `before`.
    private var newLotPlaces: [Int32] = []
    /// For each transfer the place of its wallet.
    private var walletOfTransfer: [Int32] = []
    private let before: LastNumbers

    /// - Parameter before: the last numbers that the tables have.
    init(after before: LastNumbers) { self.before = before }

    private static func key(_ account: PlayerID, _ currency: CurrencyID) -> Int64 {
        account << 8 | Int64(currency)
    }

    // MARK: Loading

    /// Reads the rows that the transfers change.
    mutating func load(_ transfers: [Transfer], currencies: Int64, _ rows: WalletRows) throws {
        turnovers = Turnovers(currencies: Int(currencies))
        var keys: [Int64] = []
        var oldLots: [LotID] = []
        walletOfTransfer.reserveCapacity(transfers.count)
        for transfer in transfers {
            let currency = transfer.debit.currency
            guard transfer.player > 0, transfer.player <= Plausible.accountMax, Int64(currency) <= currencies,
                currency > 0, transfer.credit.currency == currency
            else { throw StoreError.corrupt("transfer \(transfer.id) names an account that cannot be") }
            let key = WalletChanges.key(transfer.player, currency)
            if let place = walletPlaces[key] {
                walletOfTransfer.append(Int32(place))
            } else {
                walletPlaces[key] = wallets.count
                walletOfTransfer.append(Int32(wallets.count))
                wallets.append(ChangedWallet(stored: StoredWallet(account: transfer.player, currency: currency)))
                if transfer.player <= before.account { keys.append(key) }
            }
            note(transfer.lot, in: &oldLots)
            if let debtLot = transfer.debtLot { note(debtLot, in: &oldLots) }
        }
        keys.sort()
        for key in keys {
            guard let place = walletPlaces[key] else { continue }
            let wanted = wallets[place].stored
            if let stored = try rows.wallet(wanted.account, wanted.currency) {
                wallets[place] = ChangedWallet(stored: stored, before: stored.hash)
            }
        }
        oldLots.sort()
        for id in oldLots {
            guard let stored = try rows.lot(id) else {
                throw StoreError.corrupt("lot \(id), which a later transfer names, is missing")
            }
            lotPlaces[id] = lots.count
            lots.append(ChangedLot(stored: stored, before: stored.hash, wasOpen: stored.lot.isOpen))
        }
    }

    private mutating func note(_ lot: LotID, in oldLots: inout [LotID]) {
        guard lot > 0, lot <= before.transfer, lotPlaces[lot] == nil else { return }
        lotPlaces[lot] = 0
        oldLots.append(lot)
    }

    // MARK: Changing

    /// Applies the transfers, which were loaded for, in their order.
    /// - Parameter links: those of the batch included.
    mutating func apply(
        _ transfers: [Transfer], _ entries: [Entry], opening lotRows: [BlockRows.LotRow], _ links: StoredLinks
    ) throws {
        newLotPlaces = [Int32](repeating: -1, count: transfers.count)
        lotStates.reserveCapacity(transfers.count)
        var entry = 0
        var opened = 0
        for (index, transfer) in transfers.enumerated() {
            while entry < entries.count, entries[entry].id < transfer.entry { entry += 1 }
            guard entry < entries.count, entries[entry].id == transfer.entry,
                transfer.id == before.transfer + Int64(index) + 1, entries[entry].firstTransfer <= transfer.id
            else { throw StoreError.corrupt("transfer \(transfer.id) is not where its entry is") }
            if transfer.lot == transfer.id {
                guard opened < lotRows.count, lotRows[opened].id == transfer.id else {
                    throw StoreError.corrupt("transfer \(transfer.id) opens a lot of which nothing is said")
                }
                open(lotRows[opened], by: transfer, entries[entry], index)
                opened += 1
            }
            let wallet = Int(walletOfTransfer[index])
            if wallets[wallet].entry != transfer.entry { begin(transfer.entry, wallet) }
            try apply(transfer, wallet, links)
            if transfer.debit.kind == .held { end(transfer, entries[entry]) }
            if transfer.id % PastTotals.interval == 0 { pastTurnovers.append((transfer.id, turnovers)) }
        }
        for wallet in wallets.indices { remember(wallet) }
        guard opened == lotRows.count else {
            throw StoreError.corrupt("lot \(lotRows[opened].id) is opened by no transfer")
        }
        try checkEnd()
    }

    private mutating func open(_ row: BlockRows.LotRow, by transfer: Transfer, _ entry: Entry, _ index: Int) {
        newLotPlaces[index] = Int32(lots.count)
        let lot = Lot(
            id: row.id, lotClass: row.lotClass, transaction: entry.transaction, time: entry.time, price: row.price,
            granted: transfer.amount, remaining: 0, expiresAt: row.expiresAt)
        lots.append(
            ChangedLot(
                stored: StoredLot(account: transfer.player, currency: transfer.debit.currency, lot: lot)))
    }

    /// The wallet's entry before this one is complete.
    private mutating func begin(_ entry: EntryID, _ wallet: Int) {
        remember(wallet)
        wallets[wallet].entry = entry
        wallets[wallet].transfersBefore = wallets[wallet].stored.transfers
    }

    /// Has what a wallet has after an entry remembered, where that is due.
    private mutating func remember(_ wallet: Int) {
        let (before, now) = (wallets[wallet].transfersBefore, wallets[wallet].stored.transfers)
        guard wallets[wallet].entry > 0, before / StoredPastWallet.interval < now / StoredPastWallet.interval else {
            return
        }
        pastWallets.append(StoredPastWallet(wallets[wallet].stored))
    }

    private mutating func apply(_ transfer: Transfer, _ wallet: Int, _ links: StoredLinks) throws {
        let (debit, credit) = (transfer.debit.kind, transfer.credit.kind)
        guard transfer.amount > 0, transfer.amount <= Limits.amountMax,
            let effect = TransferEffect(debit: debit, credit: credit, amount: transfer.amount)
        else { throw StoreError.corrupt("transfer \(transfer.id) has accounts or an amount that cannot be") }
        guard wallets[wallet].stored.lastTransfer == transfer.previous else {
            throw StoreError.corrupt(
                """
                \(wallets[wallet].stored) ends with transfer \(wallets[wallet].stored.lastTransfer), but transfer \
                \(transfer.id) follows \(transfer.previous)
                """)
        }
        let lot = try place(transfer.lot, of: transfer, links)
        let previous = lots[lot].stored.lastOwn
        let units = lots[lot].stored.units
        lots[lot].stored.lot.apply(effect)
        // What moves to another account keeps its value.
        if previous == 0 {
            lots[lot].stored.value = LotValue(deferred: lots[lot].stored.lot.price)
        } else if lots[lot].stored.lot.price > 0, debit != .moved, credit != .moved {
            lots[lot].stored.value = lots[lot].stored.value.changed(from: units, to: lots[lot].stored.units)
        }
        lots[lot].stored.lot.lastTransfer = transfer.id
        lots[lot].stored.lastOwn = transfer.id
        let lotClass = lots[lot].stored.lot.lotClass
        var creditClass = lotClass
        if effect.recovered != 0 {
            let debtLot = try place(transfer.debtLot ?? 0, of: transfer, links)
            lots[debtLot].stored.lot.recovered += effect.recovered
            lots[debtLot].stored.lot.lastTransfer = transfer.id
            creditClass = lots[debtLot].stored.lot.lotClass
            try check(debtLot, transfer)
        }
        turnovers.add(transfer, debit: lotClass, credit: creditClass)
        lotStates.append(
            LotState(
                previous: previous, left: lots[lot].stored.lot.remaining + lots[lot].stored.lot.held,
                refunded: lots[lot].stored.lot.refunded, value: lots[lot].stored.value))
        try check(lot, transfer)
        wallets[wallet].stored.add(effect, isPaid: lotClass == .paid, transfer)
        guard wallets[wallet].stored.isPlausible else {
            throw StoreError.corrupt("transfer \(transfer.id) does not fit \(wallets[wallet].stored)")
        }
    }

    private mutating func check(_ lot: Int, _ transfer: Transfer) throws {
        if transfer.debit.kind == .moved || transfer.credit.kind == .moved {
            // It is whole again when all of it has moved.
            if movedLots.last != lot { movedLots.append(lot) }
            return
        }
        guard lots[lot].stored.lot.isWhole else {
            throw StoreError.corrupt("transfer \(transfer.id) does not fit lot \(lots[lot].stored.lot.id)")
        }
    }

    /// Where a lot of the transfer's wallet is.
    private func place(_ id: LotID, of transfer: Transfer, _ links: StoredLinks) throws -> Int {
        let new = Int(id &- before.transfer &- 1)
        let found = new < 0 ? lotPlaces[id] : new < newLotPlaces.count ? Int(newLotPlaces[new]) : nil
        guard let found, found >= 0 else {
            throw StoreError.corrupt("transfer \(transfer.id) names lot \(id), which no transfer opened")
        }
        let account = lots[found].stored.account
        // Audits find out whether it had moved there by then.
        guard try account == transfer.player || links.owners(of: account).contains(transfer.player),
            lots[found].stored.currency == transfer.debit.currency
        else {
            throw StoreError.corrupt("transfer \(transfer.id) names lot \(id), which is in another wallet")
        }
        return found
    }

    /// A hold ends whole, in one entry.
    private mutating func end(_ transfer: Transfer, _ entry: Entry) {
        guard let hold = transfer.reference, endedHolds.last?.id != hold else { return }
        endedHolds.append(
            EndedHold(id: hold, entry: entry.id, state: entry.kind == .holdExpiry ? .expired : .closed))
    }

    private func checkEnd() throws {
        for lot in movedLots where !lots[lot].stored.lot.isWhole {
            throw StoreError.corrupt("lot \(lots[lot].stored.lot.id) moved, but not all of it")
        }
        for wallet in wallets where !wallet.stored.isWhole {
            throw StoreError.corrupt("\(wallet.stored) was left with values that do not fit each other")
        }
    }

    /// The wallets in the order of the table.
    func sortedWallets() -> [ChangedWallet] {
        wallets.sorted {
            ($0.stored.account, $0.stored.currency) < ($1.stored.account, $1.stored.currency)
        }
    }
}

extension StoredWallet {
    mutating func add(_ effect: TransferEffect, isPaid: Bool, _ transfer: Transfer) {
        available += effect.available
        held += effect.held
        debt += effect.debt
        if isPaid {
            paid += effect.available
            heldPaid += effect.held
        }
        if effect.changesBalance && lastEntry != transfer.entry {
            version += 1
            lastEntry = transfer.entry
        }
        lastTransfer = transfer.id
        transfers += 1
    }
}

/// What the transfers of a batch debit and credit, by currency, class of lots and kind of account.
struct Turnovers {
    private var values: [Totals.Turnover]

    init(currencies: Int) {
        values = Array(repeating: Totals.Turnover(), count: (currencies + 1) << 5)
    }

    mutating func add(_ transfer: Transfer, debit: LotClass, credit: LotClass) {
        values[Turnovers.place(transfer.debit.number, debit)].debits += Int128(transfer.amount)
        values[Turnovers.place(transfer.credit.number, credit)].credits += Int128(transfer.amount)
    }

    /// What was added to one of the kinds.
    subscript(currency: CurrencyID, lotClass: LotClass, kind: AccountKind) -> Totals.Turnover {
        values[Turnovers.place(Int64(currency) << 4 | kind.rawValue, lotClass)]
    }

    /// - Parameter account: its number, of which the lowest bits are the currency and the kind.
    private static func place(_ account: Int64, _ lotClass: LotClass) -> Int {
        Int(account & 0xFFF) << 1 | (lotClass == .paid ? 0 : 1)
    }
}
