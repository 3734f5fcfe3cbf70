import Ledger

/// What is read, each time added up anew from all transfers.
extension World {
    /// A part of the ledger: what there was up to an entry.
    struct Extent {
        var entries: Int
        var lines: Int
    }

    var whole: Extent { Extent(entries: entries.count, lines: lines.count) }

    func extent(through entry: EntryID) -> Extent {
        let count = min(Int(entry), entries.count)
        return Extent(entries: count, lines: count < entries.count ? entries[count].firstLine : lines.count)
    }

    /// What was posted at a time or before.
    func extent(asOf time: Timestamp, in extent: Extent) -> Extent {
        let count = entries[..<extent.entries].count { $0.time <= time }
        return Extent(entries: count, lines: count < entries.count ? entries[count].firstLine : lines.count)
    }

    private static func available(_ line: Line) -> Int64 {
        (line.credit == .wallet ? line.units : 0) - (line.debit == .wallet ? line.units : 0)
    }

    private func add(_ line: Line, to balance: inout Balance, _ last: inout EntryID) {
        let available = World.available(line)
        balance.available += available
        if lots[line.lot].isPaid { balance.paid += available }
        balance.held += (line.credit == .held ? line.units : 0) - (line.debit == .held ? line.units : 0)
        balance.debt += (line.debit == .receivable ? line.units : 0) - (line.credit == .receivable ? line.units : 0)
        if World.changes(line) && last != line.entry {
            balance.version += 1
            last = line.entry
        }
    }

    /// Every wallet, as a part of the ledger has it.
    func wallets(_ extent: Extent) -> [Place: Balance] {
        var wallets: [Place: Balance] = [:]
        var last: [Place: EntryID] = [:]
        for line in lines[..<extent.lines] {
            let place = line.place
            add(line, to: &wallets[place, default: Balance()], &last[place, default: 0])
        }
        return wallets
    }

    /// What was left in lots whose time was over.
    private func due(asOf time: Timestamp, _ extent: Extent) -> [Place: Int64] {
        var due: [Place: Int64] = [:]
        for line in lines[..<extent.lines] {
            guard let expiresAt = lots[line.lot].expiresAt, expiresAt <= time else { continue }
            due[line.place, default: 0] += World.available(line)
        }
        return due
    }

    /// Every wallet as of a time: what had expired by then is not available, whether it was posted or not.
    func wallets(asOf time: Timestamp, in extent: Extent) -> [Place: Balance] {
        let extent = self.extent(asOf: time, in: extent)
        var wallets = wallets(extent)
        for (place, units) in due(asOf: time, extent) { wallets[place]?.available -= units }
        return wallets
    }

    // MARK: Balances

    func balances(_ name: AccountName, _ currency: CurrencyCode?) -> AccountBalances {
        guard let account = whose(name) else { return AccountBalances(account: name, balances: []) }
        return AccountBalances(
            account: name, balances: balances(account, wallets(account).filter { currency == nil || $0 == currency }))
    }

    func balances(_ name: AccountName, _ currency: CurrencyCode?, asOf time: Timestamp) -> AccountBalances {
        guard let account = account(name) else { return AccountBalances(account: name, balances: []) }
        let wallets = wallets(asOf: time, in: whole)
        let own = World.currencies.compactMap { code -> CurrencyBalance? in
            guard currency == nil || code == currency,
                let balance = wallets[Place(account: account, currency: code)], balance.version > 0
            else { return nil }
            return CurrencyBalance(currency: code, balance: balance)
        }
        return AccountBalances(account: name, balances: own)
    }

    // MARK: History and journal

    private func lines(of entry: Entry) -> ArraySlice<Line> {
        let end = Int(entry.id) < entries.count ? entries[Int(entry.id)].firstLine : lines.count
        return lines[entry.firstLine..<end]
    }

    func history(_ query: HistoryQuery) -> HistoryPage {
        guard let account = account(query.account) else { return HistoryPage(entries: [], next: nil) }
        var wallets: [CurrencyCode: Balance] = [:]
        var last: [CurrencyCode: EntryID] = [:]
        var all: [HistoryEntry] = []
        for entry in entries {
            let own = lines(of: entry).filter {
                let place = $0.place
                return place.account == account && (query.currency == nil || place.currency == query.currency)
            }
            if own.isEmpty { continue }
            var touched: Set<CurrencyCode> = []
            for line in own {
                let code = line.place.currency
                touched.insert(code)
                add(line, to: &wallets[code, default: Balance()], &last[code, default: 0])
            }
            if let before = query.before, entry.id >= before { continue }
            let transfers = own.map { line in
                HistoryEntry.Movement(
                    debit: line.debit, credit: line.credit, currency: line.place.currency,
                    amount: Amount(line.units)!, change: World.available(line), lot: lots[line.lot].id,
                    debtLot: line.debtLot.map { lots[$0].id })
            }
            all.append(
                HistoryEntry(
                    entry: entry.id, time: entry.time, kind: entry.kind, key: entry.key, note: entry.note,
                    transaction: entry.transaction, product: entry.transaction.flatMap { purchases[$0]?.product },
                    quantity: entry.transaction.flatMap { purchases[$0]?.quantity },
                    actor: entry.actor, transfers: transfers,
                    balances: touched.sorted().map { CurrencyBalance(currency: $0, balance: wallets[$0]!) }))
        }
        let page = Array(all.reversed().prefix(query.limit))
        return HistoryPage(entries: page, next: page.count < all.count ? page.last?.entry : nil)
    }

    func journal(_ entry: Entry) -> JournalEntry {
        JournalEntry(
            entry: entry.id, time: entry.time, kind: entry.kind, key: entry.key, note: entry.note,
            transaction: entry.transaction, actor: entry.actor,
            transfers: zip(lines(of: entry), 1...).map { line, number in
                JournalEntry.Line(
                    transfer: Int64(entry.firstLine + number), account: names[line.place.account],
                    debit: line.debit, credit: line.credit, currency: line.place.currency,
                    amount: Amount(line.units)!, lot: lots[line.lot].id, debtLot: line.debtLot.map { lots[$0].id })
            })
    }

    func journal(_ query: JournalQuery) -> JournalPage {
        let page = entries.dropFirst(Int(query.after)).prefix(query.limit).map { journal($0) }
        return JournalPage(entries: page, next: page.last?.entry ?? query.after)
    }

    // MARK: Reports

    /// Those of which the model says every row.
    static let reportKinds: [ReportKind] = [.balances, .trial, .debts]

    func report(_ kind: ReportKind, asOf time: Timestamp, _ currency: CurrencyCode?, in extent: Extent) -> [ReportRow] {
        let then = self.extent(asOf: time, in: extent)
        switch kind {
        case .balances:
            let wallets = wallets(asOf: time, in: extent)
            return wallets.sorted { ($0.key.account, $0.key.currency) < ($1.key.account, $1.key.currency) }
                .filter { currency == nil || $0.key.currency == currency }
                .filter { $0.value.available != 0 || $0.value.held != 0 || $0.value.debt != 0 }
                .map { place, balance in
                    .balance(
                        account: names[place.account], currency: place.currency, available: balance.available,
                        held: balance.held, debt: balance.debt, paid: balance.paid)
                }
        case .trial:
            var debits: [CurrencyCode: [AccountKind: Int128]] = [:]
            var credits: [CurrencyCode: [AccountKind: Int128]] = [:]
            for line in lines[..<then.lines] {
                let code = line.place.currency
                debits[code, default: [:]][line.debit, default: 0] += Int128(line.units)
                credits[code, default: [:]][line.credit, default: 0] += Int128(line.units)
            }
            for (place, units) in due(asOf: time, then) {
                debits[place.currency, default: [:]][.wallet, default: 0] += Int128(units)
                credits[place.currency, default: [:]][.expired, default: 0] += Int128(units)
            }
            return World.currencies.filter { currency == nil || $0 == currency }.flatMap { code in
                AccountKind.allCases.filter { !$0.isListedOnceUsed || debits[code]?[$0] != nil }.map { kind in
                    .trial(
                        currency: code, account: kind, debits: debits[code]?[kind] ?? 0,
                        credits: credits[code]?[kind] ?? 0)
                }
            }
        case .debts:
            struct Debt: Hashable {
                var account: Int
                var lot: Int
            }
            var owed: [Debt: Int64] = [:]
            for line in lines[..<then.lines] {
                let account = line.place.account
                if line.debit == .receivable { owed[Debt(account: account, lot: line.lot), default: 0] += line.units }
                if line.credit == .receivable {
                    owed[Debt(account: account, lot: line.debtLot!), default: 0] -= line.units
                }
            }
            return owed.filter { $0.value != 0 }
                .sorted { ($0.key.account, $0.key.lot) < ($1.key.account, $1.key.lot) }
                .filter { currency == nil || lots[$0.key.lot].place.currency == currency }
                .map { debt, units in
                    let lot = debt.lot
                    let transaction = lots[lot].transaction!
                    let since = purchases[transaction]?.refundedSince ?? 0
                    return .debt(
                        account: names[debt.account], currency: lots[lot].place.currency,
                        transaction: transaction, source: .appStore, lot: lots[lot].id, debt: units, since: since,
                        age: time - since)
                }
        case _: preconditionFailure("the model does not say its rows")
        }
    }

    // MARK: Purchases and findings

    /// A purchase without its events.
    func view(_ transaction: TransactionID, purchaseDate: Timestamp) -> PurchaseView? {
        guard let purchase = purchases[transaction] else { return nil }
        var consumption: Int64 = 0
        var grants: [PurchaseView.Grant] = []
        for (index, grant) in purchase.grants.enumerated() {
            let units = grant.amount.units
            var shown = PurchaseView.Grant(
                lot: nil, currency: grant.currency, granted: units, spent: 0, held: 0, revoked: 0, debt: 0,
                writtenOff: 0, repaid: 0, remaining: 0)
            if purchase.account != nil {
                let lot = lots[purchase.lots[index]]
                (shown.lot, shown.spent, shown.held, shown.revoked) = (lot.id, lot.spent, lot.held, lot.refunded)
                (shown.debt, shown.writtenOff, shown.repaid) = (lot.owed, lot.writtenOff, lot.repaid)
                shown.remaining = lot.remaining
                // Of the whole, in millionths of a thousandth of a percent.
                consumption += lot.spent * 100_000 * 1_000_000 / units
            }
            grants.append(shown)
        }
        let state: PurchaseView.State =
            purchase.account == nil
            ? .unassigned : purchase.revoked == 0 ? .standing : purchase.revoked == 100_000 ? .revoked : .partlyRevoked
        return PurchaseView(
            transaction: transaction, state: state, account: purchase.account.map { names[owner($0)] },
            product: purchase.product, quantity: purchase.quantity, purchaseDate: purchaseDate, price: nil,
            priceCurrency: nil, revoked: purchase.revoked, grants: grants,
            consumption: consumption / (Int64(purchase.grants.count) * 1_000_000), events: [], next: nil)
    }

    func find(_ query: FindQuery) -> Finding {
        switch query {
        case .account(let name): return finding(name)
        case .token(let token): return finding(token.account)
        case .key(let key):
            guard let answered = answers[key] else { return .unknown }
            if case .refused(let refusal) = answered.outcome {
                return .request(Finding.Request(key: key, answer: .refused(refusal)))
            }
            if case .consent(let receipt) = answered.outcome {
                return .request(Finding.Request(key: key, answer: .recorded(receipt)))
            }
            guard let entry = entries.first(where: { $0.key == key }) else { return .unknown }
            return .request(Finding.Request(key: key, answer: .posted(journal(entry))))
        case .transaction(let transaction):
            guard let purchase = purchases[transaction] else { return .unknown }
            let entry = entries.first { $0.transaction == transaction }
            return .purchase(
                Finding.Purchase(
                    transaction: transaction, product: purchase.product,
                    account: purchase.account.map { names[owner($0)] },
                    entry: purchase.account == nil ? nil : entry.map { journal($0) }))
        }
    }

    // MARK: Forgetting

    mutating func forget(_ name: AccountName) -> Bool {
        guard let account = account(name) else { return false }
        let erased = AccountName(stored: "\u{7F}erased \(account + 1)")
        names[account] = erased
        for (key, answered) in answers {
            guard case .atomic(var receipt) = answered.outcome else { continue }
            for place in receipt.balances.indices where receipt.balances[place].account == name {
                receipt.balances[place].account = erased
            }
            answers[key]?.outcome = .atomic(receipt)
        }
        return true
    }
}
