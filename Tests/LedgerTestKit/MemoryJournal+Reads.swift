import Ledger

/// History, past balances and reports, each added up anew from the transfers.
extension MemoryJournal {
    private struct WalletKey: Hashable {
        var player: PlayerID
        var currency: CurrencyID
    }

    /// Adds transfers up, one entry after the other.
    private struct Sums {
        var balances: [WalletKey: Balance] = [:]
        private var paidLots: Set<LotID> = []
        /// The last entry that changed each wallet's balance.
        private var lastEntries: [WalletKey: EntryID] = [:]

        mutating func add(_ transfer: Transfer, to key: WalletKey) {
            if transfer.lot == transfer.id, transfer.debit.kind == .purchased { paidLots.insert(transfer.lot) }
            var balance = balances[key, default: Balance()]
            let before = balance
            let available =
                (transfer.credit.kind == .wallet ? transfer.amount : 0)
                - (transfer.debit.kind == .wallet ? transfer.amount : 0)
            balance.available += available
            if paidLots.contains(transfer.lot) { balance.paid += available }
            if transfer.credit.kind == .held { balance.held += transfer.amount }
            if transfer.debit.kind == .held { balance.held -= transfer.amount }
            if transfer.debit.kind == .receivable { balance.debt += transfer.amount }
            if transfer.credit.kind == .receivable { balance.debt -= transfer.amount }
            if balance != before && lastEntries.updateValue(transfer.entry, forKey: key) != transfer.entry {
                balance.version += 1
            }
            balances[key] = balance
        }
    }

    private func owner(_ transfer: Transfer) -> PlayerID {
        if transfer.debit.kind.isPersonal { return transfer.debit.player }
        if transfer.credit.kind.isPersonal { return transfer.credit.player }
        return transfer.player
    }

    private func transfers(of entry: Entry) -> ArraySlice<Transfer> {
        let end = Int(entry.id) < rows.entries.count ? Int(rows.entries[Int(entry.id)].firstTransfer) - 1 : nil
        return rows.transfers[(Int(entry.firstTransfer) - 1)..<(end ?? rows.transfers.count)]
    }

    /// Adds up every entry up to `asOf`, and shows each with the wallets it touched.
    private func walk(
        upTo asOf: Timestamp,
        _ visit: (Entry, ArraySlice<Transfer>, _ touched: [WalletKey], Sums) -> Void = { _, _, _, _ in }
    ) -> Sums {
        var sums = Sums()
        for entry in rows.entries where entry.time <= asOf {
            var touched: [WalletKey] = []
            let own = transfers(of: entry)
            for transfer in own {
                let key = WalletKey(player: owner(transfer), currency: transfer.debit.currency)
                sums.add(transfer, to: key)
                if !touched.contains(key) { touched.append(key) }
            }
            visit(entry, own, touched, sums)
        }
        return sums
    }

    private func listed(_ balances: some Sequence<(WalletKey, Balance)>) -> [CurrencyBalance] {
        balances.map { CurrencyBalance(currency: books.code($0.0.currency), balance: $0.1) }
            .sorted { $0.currency < $1.currency }
    }

    func balances(_ account: AccountName, currency: CurrencyCode?, asOf: Timestamp) -> [CurrencyBalance] {
        guard let player = player(account) else { return [] }
        let own = walk(upTo: asOf).balances.filter {
            $0.key.player == player && (currency == nil || books.code($0.key.currency) == currency)
        }
        return listed(own.map { ($0.key, $0.value) })
    }

    func history(_ query: HistoryQuery) -> HistoryPage {
        guard let player = player(query.account) else { return HistoryPage(entries: [], next: nil) }
        let wanted = query.currency.map { books.currencyID($0) ?? 0 }
        var entries: [HistoryEntry] = []
        _ = walk(upTo: Int64.max) { entry, transfers, touched, sums in
            let own = touched.filter { $0.player == player && (wanted == nil || $0.currency == wanted) }
            guard !own.isEmpty, entry.id < query.before ?? Int64.max else { return }
            let facts = entry.transaction.flatMap { id in rows.purchases.first { $0.facts.transaction == id }?.facts }
            entries.append(
                HistoryEntry(
                    entry: entry.id, time: entry.time, kind: entry.kind, key: entry.key, note: entry.note,
                    transaction: entry.transaction, product: facts?.product, quantity: facts?.statedQuantity,
                    price: facts?.price, priceCurrency: facts?.priceCurrency, actor: actor(of: entry),
                    transfers: transfers.filter {
                        owner($0) == player && (wanted == nil || $0.debit.currency == wanted)
                    }.map(movement),
                    balances: listed(own.map { ($0, sums.balances[$0] ?? Balance()) })))
        }
        var page = Array(entries.reversed().prefix(query.limit))
        for index in page.indices {
            let shown = page[index].transfers.dropFirst(index == 0 ? query.skipTransfers : 0)
            page[index].transfers = Array(shown.prefix(Limits.transfersPerEntryMax))
            page[index].transfersMore = shown.count - page[index].transfers.count
        }
        page.cut { $0.resultBytes }
        return HistoryPage(entries: page, next: page.count < entries.count ? page.last?.entry : nil)
    }

    private func movement(_ transfer: Transfer) -> HistoryEntry.Movement {
        guard let amount = Amount(transfer.amount) else { preconditionFailure("a transfer moves a positive amount") }
        return HistoryEntry.Movement(
            debit: transfer.debit.kind, credit: transfer.credit.kind, currency: books.code(transfer.debit.currency),
            amount: amount, change: MemoryJournal.change(transfer), lot: transfer.lot, debtLot: transfer.debtLot)
    }

    /// What is put into a wallet less what is taken out of it.
    private static func change(_ transfer: Transfer) -> Int64 {
        (transfer.credit.kind == .wallet ? transfer.amount : 0) - (transfer.debit.kind == .wallet ? transfer.amount : 0)
    }

    func journal(_ query: JournalQuery) -> JournalPage {
        var entries: [JournalEntry] = []
        var count = 0
        for entry in rows.entries.dropFirst(Int(query.after)).prefix(query.limit) {
            if count >= Limits.journalTransfersMax { break }
            entries.append(told(entry, skipping: entries.isEmpty ? query.skipTransfers : 0))
            count += transfers(of: entry).count
        }
        entries.cut { entry in entry.transfers.reduce(entry.resultBytes) { $0 + $1.resultBytes } }
        return JournalPage(entries: entries, next: entries.last?.entry ?? query.after)
    }

    private func actor(of entry: Entry) -> String? {
        entry.actor.flatMap { id in rows.actors.first { $0.id == id }?.name }
    }

    /// An entry with as many of its transfers as are shown.
    func told(_ entry: Entry, skipping skipped: Int = 0) -> JournalEntry {
        let shown = transfers(of: entry).dropFirst(skipped)
        return JournalEntry(
            entry: entry.id, time: entry.time, kind: entry.kind, key: entry.key, note: entry.note,
            transaction: entry.transaction, actor: actor(of: entry),
            transfers: shown.prefix(Limits.transfersPerEntryMax).map { transfer in
                let movement = movement(transfer)
                return JournalEntry.Line(
                    transfer: transfer.id, account: name(owner(transfer)), debit: movement.debit,
                    credit: movement.credit, currency: movement.currency, amount: movement.amount, lot: movement.lot,
                    debtLot: movement.debtLot)
            }, transfersMore: max(0, shown.count - Limits.transfersPerEntryMax))
    }

    func report(_ query: ReportQuery) -> ReportPage {
        switch query.kind {
        case .balances: balancesReport(query)
        case .trial: trialReport(query)
        case .debts: debtsReport(query)
        case .notifications: notificationsReport(query)
        case .consumptionRequests: consumptionRequestsReport(query)
        case .rollforward, .sales, .revenue, .deferred, .lots, .spends, .purchases, .unassigned, .journal:
            financeReport(query)
        case .closings: closingsReport(query)
        }
    }

    /// As one page.
    private func financeReport(_ query: ReportQuery) -> ReportPage {
        let model = FinanceModel(rows, name: { name($0).text })
        return ReportPage(
            kind: query.kind, asOf: query.asOf, rows: (model.rows(query) ?? []).map { .line($0) }, next: nil)
    }

    private func balancesReport(_ query: ReportQuery) -> ReportPage {
        let wanted = query.currency.map { books.currencyID($0) ?? 0 }
        guard let after = query.after.map({ ReportCursor(query.kind, $0) }) ?? ReportCursor(query.kind) else {
            return ReportPage(kind: query.kind, asOf: query.asOf, rows: [], next: nil)
        }
        let keys = walk(upTo: query.asOf).balances.filter { key, balance in
            (balance.available != 0 || balance.held != 0 || balance.debt != 0)
                && (wanted == nil || key.currency == wanted)
                && (key.player, Int64(key.currency)) > (after.account, after.item)
        }.sorted { ($0.key.player, $0.key.currency) < ($1.key.player, $1.key.currency) }
        let page = keys.prefix(query.limit)
        let rows = page.map { key, balance in
            ReportRow.balance(
                account: name(key.player), currency: books.code(key.currency), available: balance.available,
                held: balance.held, debt: balance.debt, paid: balance.paid)
        }
        let next =
            page.count < keys.count
            ? page.last.map {
                ReportCursor(query.kind, account: $0.key.player, item: Int64($0.key.currency)).text
            } : nil
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: next)
    }

    private func debtsReport(_ query: ReportQuery) -> ReportPage {
        let wanted = query.currency.map { books.currencyID($0) ?? 0 }
        let after = query.after.flatMap { ReportCursor(query.kind, $0) } ?? ReportCursor(query.kind)
        struct Debt: Hashable {
            var account: PlayerID
            var lot: LotID
        }
        var owed: [Debt: Int64] = [:]
        var since: [LotID: Timestamp] = [:]
        for transfer in rows.transfers where entry(transfer.entry).time <= query.asOf {
            if transfer.debit.kind == .receivable {
                owed[Debt(account: transfer.player, lot: transfer.lot), default: 0] += transfer.amount
            }
            if transfer.credit.kind == .receivable, let lot = transfer.debtLot {
                owed[Debt(account: transfer.player, lot: lot), default: 0] -= transfer.amount
            }
            if transfer.credit.kind == .refunded, since[transfer.lot] == nil {
                since[transfer.lot] = entry(transfer.entry).time
            }
        }
        let all = owed.filter { $0.value > 0 }.map { place, debt in
            (cursor: ReportCursor(query.kind, account: place.account, item: place.lot), debt: debt)
        }.filter {
            $0.cursor > after && (wanted == nil || rows.transfers[Int($0.cursor.item) - 1].debit.currency == wanted)
        }
        .sorted { $0.cursor < $1.cursor }
        let page = all.prefix(query.limit)
        let sources = Dictionary(
            rows.purchases.map { ($0.facts.transaction, $0.facts.source) }, uniquingKeysWith: { first, _ in first })
        let listed = page.compactMap { row -> ReportRow? in
            let opening = rows.transfers[Int(row.cursor.item) - 1]
            guard let transaction = entry(opening.entry).transaction else { return nil }
            return .debt(
                account: name(row.cursor.account), currency: books.code(opening.debit.currency),
                transaction: transaction, source: sources[transaction] ?? .appStore, lot: opening.id, debt: row.debt,
                since: since[opening.id] ?? 0, age: query.asOf - (since[opening.id] ?? 0))
        }
        return ReportPage(
            kind: query.kind, asOf: query.asOf, rows: listed,
            next: page.count < all.count ? page.last?.cursor.text : nil)
    }

    private func trialReport(_ query: ReportQuery) -> ReportPage {
        var totals = Totals(currencies: books.currencies.count)
        for transfer in rows.transfers where entry(transfer.entry).time <= query.asOf {
            totals[transfer.debit.currency, transfer.debit.kind].debits += Int128(transfer.amount)
            totals[transfer.credit.currency, transfer.credit.kind].credits += Int128(transfer.amount)
        }
        var page: [ReportRow] = []
        for (index, currency) in books.currencies.enumerated() {
            guard query.currency == nil || query.currency == currency.code else { continue }
            for kind in AccountKind.allCases {
                let turnover = totals[CurrencyID(index + 1), kind]
                if kind.isListedOnceUsed && turnover == Totals.Turnover() { continue }
                page.append(
                    .trial(
                        currency: currency.code, account: kind, debits: turnover.debits, credits: turnover.credits))
            }
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: page, next: nil)
    }
}

extension Array {
    /// Ends a page before the entry that would make it too large.
    mutating func cut(_ bytes: (Element) -> Int) {
        var sum = 0
        let place = firstIndex { entry in
            sum += bytes(entry)
            return sum > Limits.pageBytesMax
        }
        if let place { removeSubrange(Swift.max(place, 1)...) }
    }
}
