import Foundation
import GRDB
import Ledger
import LedgerTestKit
import Testing

@testable import SQLiteProjection

/// Books over tables, which forget whatever the tables have, against books that forget nothing.
@Suite struct DifferentialTests {
    private struct Debt: Hashable {
        var account: AccountName
        var lot: LotID
        var owed: Int64
    }

    /// Books that forget nothing.
    private struct Reference {
        var books = Books(
            catalog: Workload.catalog, known: [], position: LastNumbers(), totals: Totals(currencies: 0),
            hash: Workload.hash)
        private var told = (evidence: 0, statements: 0, assignments: 0, notifications: 0, calls: 0)
        private var events: [TransactionID: [PurchaseView.Event]] = [:]

        /// Notes what the last batch told of purchases, by time. Of one time JWS and statements come first, then
        /// assignments, then what notifications told, and last what Apple was told. (What was stated twice in one
        /// millisecond brings the books' time forward within a batch.)
        mutating func noteEvents() {
            var batch: [(rank: Int, transaction: TransactionID, event: PurchaseView.Event)] = []
            func note(
                _ rank: Int, _ transaction: TransactionID, _ kind: PurchaseView.Event.Kind, _ time: Timestamp,
                signed: Timestamp? = nil, revoked: Int64? = nil, entry: EntryID? = nil, reason: String? = nil,
                call: BlockRows.CallRow? = nil
            ) {
                let event = PurchaseView.Event(
                    number: 0, kind: kind, time: time, signedDate: signed, revoked: revoked, entry: entry,
                    reason: reason, end: call?.end,
                    body: call.flatMap { $0.body.isEmpty ? nil : String(decoding: $0.body, as: UTF8.self) })
                batch.append((rank, transaction, event))
            }
            let rows = books.rows
            for row in rows.evidence[told.evidence...] {
                note(
                    0, row.transaction, .signed, row.time, signed: row.signedDate, revoked: row.revoked,
                    entry: row.entry)
            }
            for row in rows.statements[told.statements...] {
                // What was imported is the first that is told of its purchase.
                let isImported = books.purchases[row.transaction]?.facts.source == .imported
                note(isImported ? -1 : 0, row.transaction, .stated, row.time, revoked: row.revoked, entry: row.entry)
            }
            let posted = Set(batch.compactMap(\.event.entry))
            for row in rows.assignments[told.assignments...] where !posted.contains(row.entry) {
                note(1, row.transaction, .assigned, row.time, entry: row.entry)
            }
            for row in rows.notifications[told.notifications...] {
                guard let transaction = row.transaction else { continue }
                let kinds: [String: PurchaseView.Event.Kind] = [
                    "CONSUMPTION_REQUEST": .consumptionRequest, "REFUND_DECLINED": .refundDeclined,
                ]
                guard let kind = kinds[row.type] else { continue }
                note(2, transaction, kind, row.time, signed: row.signedDate, reason: row.reason)
            }
            for row in rows.calls[told.calls...] {
                let kinds: [AppStoreCall.Kind: PurchaseView.Event.Kind] = [
                    .consumption: .consumptionSent, .finish: .finished, .accountToken: .accountTokenSet,
                ]
                note(3, row.transaction, kinds[row.kind]!, row.time, call: row)
            }
            let order = batch.indices.sorted {
                (batch[$0].event.time, batch[$0].rank, $0) < (batch[$1].event.time, batch[$1].rank, $1)
            }
            for index in order {
                var (_, transaction, event) = batch[index]
                event.number = Int64(events[transaction]?.count ?? 0) + 1
                events[transaction, default: []].append(event)
            }
            told = (
                rows.evidence.count, rows.statements.count, rows.assignments.count, rows.notifications.count,
                rows.calls.count
            )
        }

        /// Every purchase with all its events.
        var views: [TransactionID: PurchaseView] {
            books.purchases.reduce(into: [:]) { views, item in
                let register = item.value
                views[item.key] = register.view(
                    account: register.account.flatMap { books.players[books.owner(of: $0)]?.name },
                    lots: books.lots(of: register),
                    events: events[item.key] ?? [], next: nil
                ) { books.code($0) }
            }
        }

        func balances(_ account: AccountName) -> [CurrencyBalance] {
            books.playerIDs[account].flatMap { books.players[$0] }.map { books.balances($0) } ?? []
        }

        /// The balances and totals that a report as of now shows: what has expired is not available, though nothing
        /// posted it.
        func reported(_ accounts: [AccountName], at now: Timestamp) -> ([[CurrencyBalance]], Totals) {
            var totals = books.totals
            let balances = accounts.map { account in
                self.balances(account).map { item in
                    let player = books.playerIDs[account].flatMap { books.players[$0] }
                    let wallet = player?.wallets.first { books.code($0.currency) == item.currency }
                    var item = item
                    for lot in wallet?.lots ?? [] where lot.expiresAt.map({ $0 <= now }) ?? false {
                        item.balance.available -= lot.remaining
                        guard let currency = wallet?.currency else { continue }
                        totals[currency, .wallet].debits += Int128(lot.remaining)
                        totals[currency, .expired].credits += Int128(lot.remaining)
                    }
                    return item
                }
            }
            return (balances, totals)
        }
    }

    @Test(arguments: [1, 2, 3, 4, 6, 8] as [UInt64])
    func everyAnswerIsThatOfBooksInMemoryHoweverBlocksAreProjected(seed: UInt64) throws {
        var workload = Workload(seed: seed)
        var reference = Reference()
        var store = try Ledger(TemporaryFolder(), seed: seed)
        var remembered: [(time: Timestamp, balances: [[CurrencyBalance]], totals: Totals, debts: Set<Debt>)] = []
        var now: Timestamp = 1_000
        var walletsWithoutLots = 0
        var viewedBehind: [Int: [String: [Int64]]] = [1: [:]]
        for batch in 1...150 {
            // Now and then the service was down for longer than most holds last.
            now += workload.generator.chance(5) ? 400 : 10
            workload.now = now
            // Now and then a batch so large that its rows are inserted many at a time.
            let size = workload.generator.chance(5) ? 150...250 : 1...8
            let commands = (0..<Int.random(in: size, using: &workload.generator)).map { _ in workload.next() }
            let answers = try store.decide(commands, at: now)
            let actor = commands.count % 3 == 0 ? "shop" : nil
            for (command, answer) in zip(commands, answers) {
                let expected = reference.books.decide(command, by: actor, at: now)
                #expect("\(answer)" == "\(expected)", "seed \(seed), batch \(batch): \(command)")
            }
            reference.noteEvents()
            viewedBehind[store.blocks.count] = view(reference)
            if workload.generator.chance(40) {
                try store.project(Int.random(in: 1...6, using: &workload.generator))
                #expect(try store.viewed() == viewedBehind[store.projected], "seed \(seed), batch \(batch)")
            }
            if batch % 10 == 0 {
                try store.project()
                try checkPurchases(store.projection, reference, &workload.generator, "seed \(seed), batch \(batch)")
            }
            try store.forget(chance: 60)
            walletsWithoutLots += try compareLots(store, reference, "seed \(seed), batch \(batch)")
            if batch % 30 == 0 {
                // What is stated twice in one millisecond is posted in the next.
                let time = max(now, reference.books.position.time)
                let (balances, totals) = reference.reported(accounts(workload), at: time)
                remembered.append((time, balances, totals, debts(reference)))
            }
            if Int.random(in: 0..<12, using: &workload.generator) == 0 { try store.restart() }
        }
        // Later than what is remembered of the past.
        now = max(now, reference.books.position.time) + 1
        try placeHold(&store, &reference, at: now)
        try store.project()
        #expect(try store.viewed() == view(reference), "seed \(seed), at the end")
        let kinds = Set(reference.books.rows.entries.map(\.kind))
        #expect(kinds == Set(EntryKind.allCases), "seed \(seed) reaches only \(kinds)")
        #expect(walletsWithoutLots > 0, "seed \(seed)")
        try checkJournal(store.projection, reference)
        try checkFind(store.projection, reference)
        try checkAppStoreWork(store.projection, reference)
        for past in remembered {
            try checkPast(store.projection, past.time, past.balances, past.totals, past.debts, workload)
        }
        try checkHistory(store.projection, reference, workload)
        // What runs out later is not open then, as if it were posted.
        for time in [now, now + 1_000] { try checkOpen(store.projection, reference, workload, at: time) }
        try checkReplay(store, seed)
        try checkRebuild(store, workload.generator, seed)
    }

    /// Has somebody hold something at the end of every seed, for longer than anything is looked at.
    private func placeHold(_ store: inout Ledger, _ reference: inout Reference, at now: Timestamp) throws {
        let (holder, gems) = (Workload.account(0), try #require(CurrencyCode("gems")))
        // More than anybody can owe.
        let grant = Grant(
            key: try #require(RequestKey("last grant")), account: holder, currency: gems,
            amount: try #require(Amount(Limits.grantMaxDefault)))
        let hold = Hold(
            key: try #require(RequestKey("last hold")), account: holder, currency: gems,
            amount: try #require(Amount(1)), timeoutMilliseconds: 1_000_000)
        let commands: [Command] = [.grant(grant), .hold(hold)]
        for (command, answer) in zip(commands, try store.decide(commands, at: now)) {
            #expect("\(answer)" == "\(reference.books.decide(command, at: now))")
            if case .refused = answer { Issue.record("\(command) was refused") }
        }
    }

    private func accounts(_ workload: Workload) -> [AccountName] {
        (0..<workload.players).map { Workload.account($0) } + (0..<Workload.guests).map { Workload.token($0).account }
    }

    /// What the SQL view must show.
    private func view(_ reference: Reference) -> [String: [Int64]] {
        var expected: [String: [Int64]] = [:]
        for player in reference.books.players.values {
            for item in reference.books.balances(player) where item.balance.version > 0 {
                let balance = item.balance
                expected["\(player.name) \(item.currency)"] = [
                    balance.available, balance.paid, balance.free, balance.held, balance.debt,
                ]
            }
        }
        return expected
    }

    /// Whatever the books have of players in memory, lots and holds included, is what the books that forget nothing
    /// have.
    /// - Returns: how many wallets' lots were left in the tables.
    private func compareLots(_ store: Ledger, _ reference: Reference, _ place: Comment) throws -> Int {
        var walletsWithoutLots = 0
        for player in store.books.players.values {
            let expected = try #require(reference.books.players[player.id])
            #expect(player.holds == expected.holds, place)
            for wallet in player.wallets {
                let other = try #require(expected.wallets.first { $0.currency == wallet.currency })
                if wallet.hasAllLots { #expect(wallet.open == other.open, place) } else { walletsWithoutLots += 1 }
                #expect(wallet.open == Array(other.open.suffix(wallet.open.count)), place)
                #expect(wallet.balance == other.balance, place)
            }
        }
        return walletsWithoutLots
    }

    /// Pages of what there may be to tell Apple, in order, with what became of it.
    private func checkAppStoreWork(_ store: SQLiteProjection, _ reference: Reference) throws {
        let books = reference.books
        func lastEnd(_ transaction: TransactionID, _ kind: AppStoreCall.Kind, _ notification: Int64?) -> AppStoreCall
            .End?
        {
            books.rows.calls.last {
                $0.transaction == transaction && $0.kind == kind && $0.notification == notification
            }?.end
        }
        func isFinal(_ end: AppStoreCall.End?) -> Bool { end == .accepted || end == .expired }
        func player(_ transaction: TransactionID) -> Player? {
            books.purchases[transaction]?.account.flatMap { books.players[books.owner(of: $0)] }
        }
        let requests = books.rows.notifications.filter { $0.type == "CONSUMPTION_REQUEST" }.map { row in
            let transaction = row.transaction!
            let end = lastEnd(transaction, .consumption, row.id)
            return AppStoreWork.ConsumptionRequest(
                number: row.id, notificationUUID: row.uuid, transaction: transaction, signedDate: row.signedDate,
                time: row.time, consent: player(transaction)?.consent?.consumption,
                isEnded: isFinal(end), refusalCode: end?.code)
        }
        let purchases = books.rows.purchases.filter { $0.facts.source == .appStore }.map { row in
            let end = lastEnd(row.facts.transaction, .finish, nil)
            return AppStoreWork.Purchase(
                number: row.evidence, transaction: row.facts.transaction,
                time: books.rows.evidence.first { $0.id == row.evidence }!.time,
                isCredited: player(row.facts.transaction) != nil
                    && !books.rows.assignments.contains { $0.transaction == row.facts.transaction },
                isFinished: isFinal(end), refusalCode: end?.code)
        }
        let assignments = books.rows.assignments.map { row in
            let end = lastEnd(row.transaction, .accountToken, nil)
            let owner = books.owner(of: row.account)
            // Those that are the account's, the newest first; but the one to which it was credited before them.
            var others: [PlayerID] = []
            for number in 1...books.position.account where books.owner(of: number) == owner {
                let newest = books.players[number]?.links.last?.account
                if newest == nil || newest == owner { others.append(number) }
            }
            others.sort(by: >)
            let names: [AccountName] = ([row.account] + others).compactMap { books.players[$0]?.name }
            let token: AppAccountToken? =
                names.lazy.filter { !$0.isErased }.compactMap { AppAccountToken($0.text) }.first
            return AppStoreWork.Assignment(
                number: row.id, transaction: row.transaction, originalTransaction: nil, time: row.time,
                token: token,
                isFinishTold: lastEnd(row.transaction, .finish, nil) != nil, isTold: isFinal(end),
                refusalCode: end?.code)
        }
        #expect(requests.contains { $0.isEnded } && requests.contains { $0.refusalCode != nil })
        #expect(requests.contains { $0.consent == true } && requests.contains { $0.consent == false })
        #expect(purchases.contains { $0.isFinished } && !assignments.isEmpty)
        #expect(
            purchases.contains { row in !row.isCredited && assignments.contains { $0.transaction == row.transaction } })
        #expect(try store.appStoreWork(.consumptionRequests(after: 0)) == .consumptionRequests(requests))
        #expect(try store.appStoreWork(.purchases(after: 0)) == .purchases(purchases))
        #expect(try store.appStoreWork(.assignments(after: 0)) == .assignments(assignments))
        for row in purchases {
            for since in [row.time, row.time + 1] {
                #expect(
                    try store.appStoreWork(.purchases(after: 3, since: since, limit: 5))
                        == .purchases(Array(purchases.filter { $0.number > 3 && $0.time >= since }.prefix(5))))
                #expect(
                    try store.appStoreWork(.assignments(after: 0, since: since))
                        == .assignments(assignments.filter { $0.time >= since }))
                #expect(
                    try store.appStoreWork(.consumptionRequests(after: 0, since: since))
                        == .consumptionRequests(requests.filter { $0.time >= since }))
            }
        }
        for place in [0, requests.count / 2, requests.count] {
            let after = place == 0 ? 0 : requests[place - 1].number
            #expect(
                try store.appStoreWork(.consumptionRequests(after: after, limit: 3))
                    == .consumptionRequests(Array(requests[place...].prefix(3))))
        }
        for place in [0, purchases.count / 2, purchases.count] {
            let after = place == 0 ? 0 : purchases[place - 1].number
            #expect(
                try store.appStoreWork(.purchases(after: after, limit: 3))
                    == .purchases(Array(purchases[place...].prefix(3))))
        }
        for place in [0, assignments.count / 2, assignments.count] {
            let after = place == 0 ? 0 : assignments[place - 1].number
            #expect(
                try store.appStoreWork(.assignments(after: after, limit: 3))
                    == .assignments(Array(assignments[place...].prefix(3))))
        }
    }

    /// Pages of the journal give every entry once, in order, with the transfers that the books posted.
    private func checkJournal(_ store: SQLiteProjection, _ reference: Reference) throws {
        var entries: [JournalEntry] = []
        var after: EntryID = 0
        while true {
            let page = try store.journal(JournalQuery(after: after, limit: 7))
            if page.entries.isEmpty {
                #expect(page.next == after)
                break
            }
            #expect(page.entries.count <= 7 && page.next == page.entries.last?.entry)
            entries += page.entries
            after = page.next
        }
        let expected = reference.books.rows
        #expect(entries.map(\.entry) == expected.entries.map(\.id))
        #expect(entries.map(\.kind) == expected.entries.map(\.kind))
        #expect(entries.map(\.time) == expected.entries.map(\.time))
        #expect(entries.map(\.key) == expected.entries.map(\.key))
        let lines = entries.flatMap { entry in entry.transfers.map { (entry.entry, $0) } }
        #expect(lines.map(\.1.transfer) == expected.transfers.map(\.id))
        for ((entry, line), transfer) in zip(lines, expected.transfers) {
            let player = transfer.debit.kind.isPersonal ? transfer.debit.player : transfer.credit.player
            #expect(entry == transfer.entry && line.amount.units == transfer.amount && line.lot == transfer.lot)
            #expect(line.debit == transfer.debit.kind && line.credit == transfer.credit.kind)
            #expect(line.debtLot == transfer.debtLot && reference.books.code(transfer.debit.currency) == line.currency)
            if player != 0 { #expect(reference.books.players[player]?.name == line.account) }
        }
    }

    /// Every key, purchase and account is found as the books have it.
    private func checkFind(_ store: SQLiteProjection, _ reference: Reference) throws {
        let (rows, books) = (reference.books.rows, reference.books)
        var refused = 0
        for (key, answered) in books.answers {
            guard case .request(let request) = try store.find(.key(key)) else {
                Issue.record("\(key) is not found")
                continue
            }
            #expect(request.key == key)
            switch (request.answer, answered.answer) {
            case (.refused(let refusal), .refused(let reason, let operation)):
                #expect(refusal == Refusal(reason, operation: operation))
                refused += 1
            case (.refused, _): Issue.record("\(key) was not refused")
            case (.recorded(let told), let answer): #expect(answer == .consent(told))
            case (.usedUp(let count), let answer):
                let receipt = ImportReceipt(entry: nil, entries: 0, usedUp: count, replayed: false)
                #expect(answer == .imported(receipt))
            case (.posted(let entry), let answer):
                #expect(entry.entry == answer.entry && entry.key == key)
                let own = rows.transfers.filter { $0.entry == entry.entry }
                #expect(entry.transfers.map(\.transfer) == own.map(\.id))
                #expect(entry.transfers.map(\.account) == own.map { books.players[$0.player]?.name })
            }
        }
        #expect(refused > 0 && refused < books.answers.count)
        var assigned = 0
        for (id, register) in books.purchases {
            guard case .purchase(let purchase) = try store.find(.transaction(id)) else {
                Issue.record("\(id) is not found")
                continue
            }
            #expect(purchase.transaction == id && purchase.product == register.facts.product)
            #expect(purchase.account == register.account.flatMap { books.players[books.owner(of: $0)]?.name })
            let opening = register.account == nil ? nil : rows.entries.first { $0.transaction == id }?.id
            #expect(purchase.entry?.entry == opening)
            if opening != nil { assigned += 1 }
        }
        #expect(assigned > 0)
        for player in books.players.values {
            let current = try #require(books.players[books.current(player.id)])
            guard case .account(let account) = try store.find(.account(player.name)) else {
                Issue.record("\(player.name) is not found")
                continue
            }
            #expect(account.name == current.name && account.isLinked == (current.id != player.id))
            let consent = current.links.isEmpty ? current.consent : player.consent
            #expect(account.consent?.consumption == consent?.consumption)
        }
    }

    /// Every purchase is told as the books have it, and pages of any size give all of its events once, in order.
    private func checkPurchases(
        _ store: SQLiteProjection, _ reference: Reference, _ generator: inout SplitMix64, _ place: Comment
    ) throws {
        for (id, expected) in reference.views {
            let limit = Int.random(in: 1...5, using: &generator)
            var view = try store.purchase(PurchaseQuery(transaction: id, limit: limit))
            var events = view.events
            while let next = view.next {
                view = try store.purchase(PurchaseQuery(transaction: id, limit: limit, before: next))
                events = view.events + events
            }
            view.events = events
            #expect(view == expected, place)
        }
    }

    /// Every debt of every lot, as the books in memory have them.
    private func debts(_ reference: Reference) -> Set<Debt> {
        var debts: Set<Debt> = []
        for player in reference.books.players.values {
            for wallet in player.wallets {
                for lot in wallet.open where lot.owed > 0 {
                    debts.insert(Debt(account: player.name, lot: lot.id, owed: lot.owed))
                }
            }
        }
        return debts
    }

    private func checkPast(
        _ store: SQLiteProjection, _ time: Timestamp, _ balances: [[CurrencyBalance]], _ totals: Totals,
        _ owed: Set<Debt>,
        _ workload: Workload
    ) throws {
        var debts: [Debt] = []
        var cursor: String?
        repeat {
            let page = try store.report(ReportQuery(kind: .debts, asOf: time, limit: 2, after: cursor))
            for row in page.rows {
                guard case .debt(let account, _, _, _, let lot, let debt, let since, let age) = row else { continue }
                #expect(since > 0 && since <= time && age == time - since)
                debts.append(Debt(account: account, lot: lot, owed: debt))
            }
            cursor = page.next
        } while cursor != nil
        #expect(Set(debts) == owed)
        #expect(debts.count == owed.count)
        var expectedRows: Set<ReportRow> = []
        for (account, expected) in zip(accounts(workload), balances) {
            #expect(try store.balances(account, currency: nil, asOf: time) == expected)
            for item in expected where item.balance.available + item.balance.held + item.balance.debt > 0 {
                expectedRows.insert(
                    .balance(
                        account: account, currency: item.currency, available: item.balance.available,
                        held: item.balance.held, debt: item.balance.debt, paid: item.balance.paid))
            }
        }
        var rows: [ReportRow] = []
        var after: String?
        repeat {
            let page = try store.report(ReportQuery(kind: .balances, asOf: time, limit: 3, after: after))
            rows += page.rows
            after = page.next
        } while after != nil
        #expect(Set(rows) == expectedRows)
        #expect(rows.count == expectedRows.count)
        let trial = try store.report(ReportQuery(kind: .trial, asOf: time))
        for row in trial.rows {
            guard case .trial(let code, let kind, let debits, let credits) = row else { continue }
            let number: CurrencyID = code.text == "gems" ? 1 : 2
            #expect(Totals.Turnover(debits: debits, credits: credits) == totals[number, kind])
        }
        #expect(trial.rows.count >= 18)
    }

    /// Pages of any size give every entry once, newest first, and each balance is what the entries before it make.
    private func checkHistory(_ store: SQLiteProjection, _ reference: Reference, _ workload: Workload) throws {
        for account in accounts(workload) {
            var entries: [HistoryEntry] = []
            var before: EntryID?
            repeat {
                let page = try store.history(HistoryQuery(account: account, limit: 7, before: before))
                entries += page.entries
                before = page.next
            } while before != nil
            let whole = try store.history(HistoryQuery(account: account, limit: 1_000))
            #expect(entries == whole.entries)
            #expect(entries.map(\.entry) == entries.map(\.entry).sorted(by: >))
            var running: [CurrencyCode: Int64] = [:]
            for entry in entries.reversed() {
                for move in entry.transfers {
                    if move.credit == .wallet { running[move.currency, default: 0] += move.amount.units }
                    if move.debit == .wallet { running[move.currency, default: 0] -= move.amount.units }
                }
                for item in entry.balances { #expect(item.balance.available == running[item.currency, default: 0]) }
            }
            for item in reference.balances(account) {
                #expect(running[item.currency, default: 0] == item.balance.available)
            }
        }
    }

    /// Pages of any size give every open lot and hold once, newest first, and together they are the balances.
    private func checkOpen(
        _ store: SQLiteProjection, _ reference: Reference, _ workload: Workload, at time: Timestamp
    ) throws {
        var reference = reference
        for account in accounts(workload) { reference.books.settle(account, at: time) }
        var (lots, holds) = (0, 0)
        for account in accounts(workload) {
            let own = try allOpen(store, account, at: time)
            lots += own.lots.count
            holds += own.holds.count
            #expect(own.lots.map(\.lot) == own.lots.map(\.lot).sorted(by: >))
            guard case .account(let found) = try store.find(.account(account)) else { continue }
            // A token that is linked has nothing of its own any more.
            if found.isLinked {
                // Nobody is found by a name that was erased.
                if found.name.isErased { continue }
                let owners = try allOpen(store, found.name, at: time)
                #expect(own.lots == owners.lots && own.holds == owners.holds)
                continue
            }
            for item in reference.balances(account) {
                let ofCurrency = own.lots.filter { $0.currency == item.currency }
                let (paid, free) = (
                    ofCurrency.filter { $0.lotClass == .paid }, ofCurrency.filter { $0.lotClass == .free }
                )
                let held = own.holds.filter { $0.currency == item.currency }.reduce(0) { $0 + $1.amount }
                #expect(paid.reduce(0) { $0 + $1.remaining } == item.balance.paid)
                #expect(free.reduce(0) { $0 + $1.remaining } == item.balance.available - item.balance.paid)
                #expect(ofCurrency.reduce(0) { $0 + $1.held } == item.balance.held && held == item.balance.held)
                #expect(ofCurrency.reduce(0) { $0 + $1.debt } == item.balance.debt)
                let query = OpenItemsQuery(account: account, currency: item.currency, limit: 1_000)
                let alone = try store.lots(query, at: time)
                #expect(alone.items == ofCurrency && alone.next == nil)
            }
        }
        #expect(lots > 0 && holds > 0, "\(lots) lots, \(holds) holds")
    }

    /// Read in pages of three, which are those of one large page.
    private func allOpen(
        _ store: SQLiteProjection, _ account: AccountName, at time: Timestamp
    ) throws -> (lots: [OpenLot], holds: [OpenHoldView]) {
        var (lots, holds): ([OpenLot], [OpenHoldView]) = ([], [])
        var before: Int64?
        repeat {
            let page = try store.lots(OpenItemsQuery(account: account, limit: 3, before: before), at: time)
            lots += page.items
            before = page.next
        } while before != nil
        repeat {
            let page = try store.holds(OpenItemsQuery(account: account, limit: 3, before: before), at: time)
            holds += page.items
            before = page.next
        } while before != nil
        #expect(try store.lots(OpenItemsQuery(account: account, limit: 1_000), at: time).items == lots)
        #expect(try store.holds(OpenItemsQuery(account: account, limit: 1_000), at: time).items == holds)
        return (lots, holds)
    }

    /// Sums over the transfers of the blocks, added up by nothing but this test, are what the tables say.
    private func checkReplay(_ store: Ledger, _ seed: UInt64) throws {
        var sums = Replay()
        for sealed in store.blocks { try sums.add(Block(opening: sealed, checks: .hashes(Workload.hash))) }
        let queue = try DatabaseQueue(path: store.folder.database)
        try queue.read { db in
            let wallets = try Row.fetchAll(
                db, sql: "SELECT account, currency, available, paid, held, held_paid, debt FROM wallet")
            #expect(numbers(wallets) == sums.wallets, "seed \(seed)")
            let lots = try Row.fetchAll(db, sql: "SELECT id, remaining, held, indebted - recovered FROM lot")
            #expect(numbers(lots) == sums.lots, "seed \(seed)")
            let totals = try Row.fetchAll(
                db,
                sql: """
                    SELECT currency || kind, sum(debits), sum(credits) FROM total
                    WHERE debits <> 0 OR credits <> 0 GROUP BY 1
                    """)
            for row in totals {
                #expect(sums.debits[row[0], default: 0] == row[1] && sums.credits[row[0], default: 0] == row[2])
            }
            #expect(totals.count == Set(sums.debits.keys).union(sums.credits.keys).count, "seed \(seed)")
            #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
        }
    }

    private func numbers(_ rows: [Row]) -> Set<[Int64]> {
        Set(rows.map { row in row.databaseValues.map { Int64.fromDatabaseValue($0) ?? -1 } })
    }

    /// Tables computed anew from the blocks, in steps of any size, are the same, row for row.
    private func checkRebuild(_ store: Ledger, _ generator: SplitMix64, _ seed: UInt64) throws {
        var generator = generator
        let expected = try store.folder.dump()
        #expect(expected.count > 1_000)
        for steps in [1...1, 1...40, 10_000...10_000] {
            let folder = try TemporaryFolder()
            let projection = try open(folder)
            var rest = store.blocks[...]
            while !rest.isEmpty {
                let step = rest.prefix(Int.random(in: steps, using: &generator))
                try projection.apply(Array(step))
                rest = rest.dropFirst(step.count)
            }
            try projection.close()
            #expect(try folder.dump() == expected, "seed \(seed), steps \(steps)")
        }
    }
}

/// Adds up transfers one after the other, by what each kind of account means.
private struct Replay {
    private struct Key: Hashable {
        var account: PlayerID
        var currency: Int64
    }

    private var balances: [Key: [Int64]] = [:]
    private var lotSums: [LotID: [Int64]] = [:]
    private var paidLots: Set<LotID> = []
    private(set) var debits: [String: Int64] = [:]
    private(set) var credits: [String: Int64] = [:]

    mutating func add(_ block: Block) throws {
        for lot in block.rows.lots where lot.lotClass == .paid { paidLots.insert(lot.id) }
        for transfer in block.rows.transfers {
            let (debit, credit, amount) = (transfer.debit.kind, transfer.credit.kind, transfer.amount)
            let currency = Int64(transfer.debit.currency)
            debits["\(currency)\(debit.name)", default: 0] += amount
            credits["\(currency)\(credit.name)", default: 0] += amount
            func change(_ kind: AccountKind) -> Int64 {
                (credit == kind ? amount : 0) - (debit == kind ? amount : 0)
            }
            let isPaid: Int64 = paidLots.contains(transfer.lot) ? 1 : 0
            let (wallet, held, debt) = (change(.wallet), change(.held), -change(.receivable))
            let key = Key(account: transfer.player, currency: currency)
            let sums = balances[key] ?? [0, 0, 0, 0, 0]
            balances[key] = zip(sums, [wallet, wallet * isPaid, held, held * isPaid, debt]).map(+)
            lotSums[transfer.lot] = zip(lotSums[transfer.lot] ?? [0, 0, 0], [wallet, held, max(debt, 0)]).map(+)
            if debt < 0, let lot = transfer.debtLot {
                lotSums[lot] = zip(lotSums[lot] ?? [0, 0, 0], [0, 0, debt]).map(+)
            }
        }
    }

    /// account, currency, available, paid, held, held_paid, debt
    var wallets: Set<[Int64]> { Set(balances.map { [$0.key.account, $0.key.currency] + $0.value }) }
    /// lot, remaining, held, owed
    var lots: Set<[Int64]> { Set(lotSums.map { [$0.key] + $0.value }) }
}
