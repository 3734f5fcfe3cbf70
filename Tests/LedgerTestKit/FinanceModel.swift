package import Ledger

/// The reports of finance, computed from all rows of the journal from the beginning on, every time.
package struct FinanceModel {
    private struct LotBook {
        var row: BlockRows.LotRow
        var player: PlayerID
        var currency: CurrencyID
        var transaction: TransactionID?
        var opened: Timestamp
        var granted: Int64
        var left: Int64 = 0
        var consumed: Int64 = 0
        var refunded: Int64 = 0
        var price: Int128

        /// Refunded, recognised and deferred, in thousandths.
        var money: [Int128] = [0, 0, 0]

        /// What transfers add to a lot, of which there is nothing before the first.
        var amounts: [Int128] { [granted, left, refunded].map { Int128($0) } + [price] + money }

        /// The lot as if it had only that.
        func having(_ amounts: [Int128]) -> LotBook {
            var lot = self
            (lot.granted, lot.left, lot.refunded) = (Int64(amounts[0]), Int64(amounts[1]), Int64(amounts[2]))
            (lot.price, lot.money) = (amounts[3], Array(amounts[4...]))
            return lot
        }

        /// Units that there is money for: refunded, consumed and left ones.
        var funded: [Int128] {
            let used = max(consumed, 0)
            return [Int128(refunded), Int128(used), Int128(granted - refunded - used)]
        }

        /// Units that go take their part of the money of those among which they were; the last ones take the rest.
        mutating func move(from before: [Int128]) {
            let after = funded
            var taken: Int128 = 0
            for place in 0..<3 where after[place] < before[place] {
                let part = money[place] * (before[place] - after[place]) / before[place]
                money[place] -= part
                taken += part
            }
            // What is left first, then what is consumed, then what is refunded.
            var rest = (0..<3).reduce(Int128(0)) { $0 + max(0, after[$1] - before[$1]) }
            for place in [2, 1, 0] where after[place] > before[place] {
                let more = after[place] - before[place]
                let part = taken * more / rest
                money[place] += part
                taken -= part
                rest -= more
            }
        }
    }

    private struct Step {
        var transfer: Transfer
        var entry: Entry
        /// After it.
        var lot: LotBook
        /// What it added to the lot.
        var added: [Int128]
        var money: [Int128]
        var units: Int64
        var effective: Timestamp
        /// The lot's deferred money that units took along to another account, less than 0 where they left.
        var moved: Int128
    }

    private let rows: BlockRows
    private let purchases: [TransactionID: BlockRows.PurchaseRow]
    private var lots: [LotID: LotBook] = [:]
    private var steps: [Step] = []
    /// What each account of a currency, class of lots and kind had, after each entry's time: computed again when asked.
    private let name: (PlayerID) -> String
    private let revocationDates: [EvidenceID: Timestamp]

    /// - Parameters:
    ///   - rows: all rows of the journal.
    ///   - revocationDates: by evidence, where its JWS says one.
    ///   - name: of an account.
    package init(
        _ rows: BlockRows, revocationDates: [EvidenceID: Timestamp] = [:], name: @escaping (PlayerID) -> String
    ) {
        self.rows = rows
        self.name = name
        self.revocationDates = revocationDates
        purchases = Dictionary(uniqueKeysWithValues: rows.purchases.map { ($0.facts.transaction, $0) })
        let entries = Dictionary(uniqueKeysWithValues: rows.entries.map { ($0.id, $0) })
        let lotRows = Dictionary(uniqueKeysWithValues: rows.lots.map { ($0.id, $0) })
        var dates: [EntryID: Timestamp] = [:]
        for row in rows.evidence where row.revoked > 0 {
            let openedBy = row.isFirst ? purchases[row.transaction]?.entry : nil
            if let entry = row.entry ?? openedBy, let date = revocationDates[row.id] { dates[entry] = date }
        }
        // What is posted for an account that claimed a purchase later is by the newest JWS that there was by then.
        let told = Dictionary(grouping: rows.evidence) { $0.transaction }
        for row in rows.assignments {
            let newest = told[row.transaction, default: []]
                .filter { $0.time <= row.time && ($0.entry ?? 0) <= row.entry }
                .max { ($0.signedDate, $0.revoked) < ($1.signedDate, $1.revoked) }
            dates[row.entry] = newest.flatMap { $0.revoked > 0 ? revocationDates[$0.id] : nil }
        }
        // What is left of a lot while it moves.
        var away: [LotID: Int64] = [:]
        for transfer in rows.transfers {
            guard let entry = entries[transfer.entry] else { preconditionFailure("a transfer is of no entry") }
            if transfer.lot == transfer.id, let row = lotRows[transfer.id] {
                lots[transfer.id] = LotBook(
                    row: row, player: transfer.player, currency: transfer.debit.currency,
                    transaction: entry.transaction, opened: entry.time, granted: transfer.amount,
                    price: Int128(row.price))
            }
            guard var lot = lots[transfer.lot] else { preconditionFailure("a transfer is of no lot") }
            let (before, fundedBefore) = (lot.money, lot.funded)
            let amountsBefore = transfer.lot == transfer.id ? [Int128](repeating: 0, count: 7) : lot.amounts
            let consumedBefore = max(lot.consumed, 0)
            if !FinanceModel.isMoved(transfer) { away[transfer.lot] = nil }
            let there = FinanceModel.isMoved(transfer) ? (away[transfer.lot] ?? lot.left) : 0
            if transfer.credit.kind == .moved { away[transfer.lot] = there - transfer.amount }
            if transfer.debit.kind == .moved { away[transfer.lot] = there + transfer.amount }
            // The money goes with the last part of what is left, and comes with the first.
            var moved: Int128 = 0
            if FinanceModel.isMoved(transfer) {
                let isOut = transfer.credit.kind == .moved
                if isOut, there == transfer.amount { moved = -lot.money[2] }
                if !isOut, there == 0 { moved = lot.money[2] }
            }
            FinanceModel.apply(transfer, &lot)
            if transfer.lot == transfer.id {
                lot.money[2] = Int128(lot.row.price)
            } else if transfer.debit.kind != .moved && transfer.credit.kind != .moved
                && transfer.credit.kind != .expired
            {
                lot.move(from: fundedBefore)
            }
            lots[transfer.lot] = lot
            let isSale = transfer.lot == transfer.id && transfer.debit.kind == .purchased
            let isRefund = transfer.debit.kind == .refunded || transfer.credit.kind == .refunded
            let purchase = lot.transaction.flatMap { purchases[$0] }
            steps.append(
                Step(
                    transfer: transfer, entry: entry, lot: lot,
                    added: zip(lot.amounts, amountsBefore).map { $0 - $1 },
                    money: zip(lot.money, before).map { $0 - $1 },
                    units: max(lot.consumed, 0) - consumedBefore,
                    effective: isSale
                        ? purchase?.facts.purchaseDate ?? entry.time
                        : isRefund ? dates[entry.id] ?? entry.time : entry.time,
                    moved: moved))
        }
    }

    private static func isMoved(_ transfer: Transfer) -> Bool {
        switch (transfer.debit.kind, transfer.credit.kind) {
        case (.wallet, .moved), (.held, .moved), (.moved, .wallet), (.moved, .held): true
        default: false
        }
    }

    private static func apply(_ transfer: Transfer, _ lot: inout LotBook) {
        let amount = transfer.amount
        switch (transfer.debit.kind, transfer.credit.kind) {
        case (.purchased, .wallet), (.granted, .wallet), (.adjusted, .wallet), (.imported, .wallet): lot.left += amount
        case (.wallet, .spent), (.held, .spent), (.wallet, .receivable), (.wallet, .adjusted):
            lot.left -= amount
            lot.consumed += amount
        case (.spent, .wallet):
            lot.left += amount
            lot.consumed -= amount
        case (.wallet, .expired): lot.left -= amount
        case (.wallet, .refunded):
            lot.left -= amount
            lot.refunded += amount
        case (.receivable, .refunded), (.writtenOff, .refunded):
            lot.consumed -= amount
            lot.refunded += amount
        case (.refunded, .wallet):
            lot.left += amount
            lot.refunded -= amount
        case (.refunded, .writtenOff):
            lot.consumed += amount
            lot.refunded -= amount
        default: break
        }
    }

    // MARK: Reports

    /// All rows of a report, in its order. `nil` of those that this model does not know.
    package func rows(_ query: ReportQuery) -> [ReportLine]? {
        let from = query.from ?? Int64.min
        func isMeant(_ step: Step) -> Bool {
            let time = time(step, query.dates)
            return time >= from && time <= query.asOf
        }
        let wanted = query.currency.map { code in
            rows.currencies.first { $0.code == code }?.id ?? 0
        }
        let steps = steps.filter { wanted == nil || $0.lot.currency == wanted }
        var sums = ReportSums()
        switch query.kind {
        case .sales:
            for step in steps.filter(isMeant) {
                guard let sold = sold(step.lot) else { continue }
                let isSale = step.transfer.lot == step.transfer.id && step.transfer.debit.kind == .purchased
                if !isSale && step.money[0] == 0 { continue }
                let purchase = step.lot.transaction.flatMap { purchases[$0] }
                let time = time(step, query.dates)
                let isFirst = isSale && step.entry.firstTransfer == step.transfer.id
                let price = isSale ? Int128(step.lot.row.price) : 0
                let ofSale = isSale ? lot(step.transfer.lot, at: query.asOf, query.dates)?.money[0] ?? 0 : 0
                sums.add(
                    ReportLine(
                        .sales,
                        [.text(UTCText.day(of: time))] + sold + [
                            .sum(isFirst ? Int128(purchase?.facts.quantity ?? 0) : 0), .sum(price),
                            .sum(step.money[0]), .sum(ofSale), .sum(price - step.money[0]), .sum(price - ofSale),
                        ]))
            }
            return sums.rows
        case .revenue:
            for step in steps.filter(isMeant) where step.lot.row.lotClass == .paid {
                guard let sold = sold(step.lot), step.units != 0 || step.money[1] != 0 else { continue }
                sums.add(
                    ReportLine(
                        .revenue,
                        sold + [
                            .text(code(step.lot.currency)), .sum(Int128(step.units)), .sum(max(step.money[1], 0)),
                            .sum(max(-step.money[1], 0)),
                        ]))
            }
            return sums.rows
        case .deferred:
            let none = [ReportValue?](repeating: .sum(0), count: 5)
            for id in lots.keys.sorted() {
                guard let known = lots[id], known.row.lotClass == .paid, let sold = sold(known),
                    wanted == nil || known.currency == wanted
                else { continue }
                let end = lot(id, at: query.asOf, query.dates) ?? known.having([Int128](repeating: 0, count: 7))
                let opening = query.from.flatMap { lot(id, at: $0 - 1, query.dates) }?.money[2] ?? 0
                if opening == 0 && end.money[2] == 0 && end.left == 0 { continue }
                let date = end.transaction.flatMap { purchases[$0] }?.facts.purchaseDate ?? end.opened
                let days = [30, 90, 180, 365].map { Int64($0) * 86_400_000 }
                let place = days.firstIndex { query.asOf - date < $0 } ?? 4
                sums.add(
                    ReportLine(
                        .deferred,
                        sold + [.text(code(end.currency)), .sum(opening), .sum(0), .sum(0), .sum(0), .sum(0)] + [
                            .sum(end.money[2]), .sum(end.left != 0 ? 1 : 0), .sum(Int128(end.left)),
                        ] + (0..<5).map { .sum($0 == place ? end.money[2] : 0) }))
            }
            for step in steps.filter(isMeant) where step.lot.row.lotClass == .paid && step.money != [0, 0, 0] {
                guard let sold = sold(step.lot) else { continue }
                let price = step.transfer.lot == step.transfer.id ? Int128(step.lot.row.price) : 0
                let isImport = step.transfer.debit.kind == .imported
                sums.add(
                    ReportLine(
                        .deferred,
                        sold + [
                            .text(code(step.lot.currency)), .sum(0), .sum(isImport ? 0 : price),
                            .sum(isImport ? price : 0),
                            .sum(step.money[0]), .sum(step.money[1]), .sum(0), .sum(0), .sum(0),
                        ] + none))
            }
            return sums.rows
        case .spends:
            return steps.filter {
                isMeant($0) && ($0.units != 0 || $0.transfer.lot != $0.transfer.id && $0.money[1] != 0)
            }
            .map { step in
                let start: [ReportValue?] = [
                    .integer(step.transfer.id), .integer(step.entry.id), .integer(step.entry.time),
                    .text(step.entry.kind.name), .text(name(step.transfer.player)),
                    .text(code(step.lot.currency)), .text(word(step.lot.row.lotClass)), .integer(step.units),
                    .integer(step.transfer.lot), step.lot.transaction.map { .text($0.description) },
                ]
                return ReportLine(
                    .spends, start + (sold(step.lot) ?? [nil, nil, nil, nil, nil]) + [.sum(step.money[1])])
            }
        case .lots:
            return lots.keys.sorted().compactMap { id in
                guard var end = lot(id, at: query.asOf, query.dates), wanted == nil || end.currency == wanted
                else { return nil }
                if end.row.expiresAt ?? .max <= query.asOf { end.left = held(id, at: query.asOf) }
                guard query.scope == .all || end.left != 0 else { return nil }
                let purchase = end.transaction.flatMap { purchases[$0] }
                let start: [ReportValue?] = [
                    .integer(id), .text(name(owner(end.player, query.asOf))), .text(code(end.currency)),
                    .text(word(end.row.lotClass)), end.transaction.map { .text($0.description) },
                ]
                let middle: [ReportValue?] = [
                    purchase.map { .integer($0.facts.purchaseDate) }, .integer(end.opened),
                    end.row.expiresAt.map { .integer($0) }, .integer(end.granted), .integer(end.left),
                    .integer(end.refunded), .sum(end.price),
                ]
                let money: [ReportValue?] = [.sum(end.money[2]), .sum(end.money[1]), .sum(end.money[0])]
                return ReportLine(.lots, start + (sold(end) ?? [nil, nil, nil, nil, nil]) + middle + money)
            }
        case .rollforward:
            for line in rollforward(query, wanted) { sums.add(line) }
            return sums.rows
        case .purchases, .unassigned: return purchases(query)
        case .journal: return journal(query, wanted)
        case .balances, .trial, .debts, .notifications, .consumptionRequests, .closings: return nil
        }
    }

    private func time(_ step: Step, _ dates: ReportDates) -> Timestamp {
        switch dates {
        case .posted: step.entry.time
        case .effective: step.effective
        }
    }

    /// What the transfers of a lot up to a time added to it; `nil` where that is nothing.
    private func lot(_ id: LotID, at time: Timestamp, _ dates: ReportDates = .posted) -> LotBook? {
        let own = steps.filter { $0.transfer.lot == id && self.time($0, dates) <= time }
        let amounts = own.reduce([Int128](repeating: 0, count: 7)) { zip($0, $1.added).map { $0 + $1 } }
        return amounts.allSatisfy { $0 == 0 } ? nil : lots[id]?.having(amounts)
    }

    /// What is set aside of a lot, at a time.
    private func held(_ id: LotID, at time: Timestamp) -> Int64 {
        steps.reduce(0) { sum, step in
            guard step.transfer.lot == id, step.entry.time <= time else { return sum }
            let amount = step.transfer.amount
            return sum + (step.transfer.credit.kind == .held ? amount : 0)
                - (step.transfer.debit.kind == .held ? amount : 0)
        }
    }

    /// Whose everything is that an account had, at a time: of links that came later nobody knew.
    private func owner(_ account: PlayerID, _ time: Timestamp) -> PlayerID {
        let times = Dictionary(uniqueKeysWithValues: rows.entries.map { ($0.id, $0.time) })
        let known = rows.links.filter { ($0.entry.flatMap { times[$0] } ?? $0.time) <= time }
        var account = account
        while let link = known.first(where: { $0.token == account }) { account = link.account }
        return account
    }

    private func rollforward(_ query: ReportQuery, _ wanted: CurrencyID?) -> [ReportLine] {
        rows.currencies.filter { wanted == nil || $0.id == wanted }.flatMap { currency in
            [LotClass.paid, .free].map { lotClass in
                var columns: [String: Int128] = [:]
                func when(_ step: Step) -> Timestamp { time(step, query.dates) }
                /// Wallets, holds and debts, with what had expired by then and was not posted.
                func state(_ time: Timestamp?) -> (available: Int128, held: Int128, debt: Int128) {
                    var state = (available: Int128(0), held: Int128(0), debt: Int128(0))
                    guard let time else { return state }
                    for step in steps where when(step) <= time && step.lot.currency == currency.id {
                        let amount = Int128(step.transfer.amount)
                        let (debit, credit) = (step.transfer.debit.kind, step.transfer.credit.kind)
                        if step.lot.row.lotClass == lotClass {
                            if debit == .wallet { state.available -= amount }
                            if credit == .wallet { state.available += amount }
                            if debit == .held { state.held -= amount }
                            if credit == .held { state.held += amount }
                            if debit == .receivable { state.debt += amount }
                        }
                        let owing = step.transfer.debtLot.flatMap { lots[$0]?.row.lotClass } ?? step.lot.row.lotClass
                        if credit == .receivable && owing == lotClass { state.debt -= amount }
                    }
                    state.available -= late(time)
                    return state
                }
                /// What of lots whose time was over by then was posted later, or is not posted.
                func late(_ time: Timestamp) -> Int128 {
                    lots.keys.reduce(Int128(0)) { sum, id in
                        guard let lot = lots[id], lot.currency == currency.id, lot.row.lotClass == lotClass,
                            let expiresAt = lot.row.expiresAt, expiresAt <= time, self.lot(id, at: time) != nil
                        else { return sum }
                        // In the wallet, and not held.
                        let available = steps.reduce(Int128(0)) { sum, step in
                            guard step.transfer.lot == id, step.entry.time <= time else { return sum }
                            let amount = Int128(step.transfer.amount)
                            return sum + (step.transfer.credit.kind == .wallet ? amount : 0)
                                - (step.transfer.debit.kind == .wallet ? amount : 0)
                        }
                        return sum + available
                    }
                }
                let before = query.from.map { $0 - 1 }
                let (opening, closing) = (state(before), state(query.asOf))
                for step in steps
                where when(step) <= query.asOf && when(step) >= query.from ?? Int64.min
                    && step.lot.currency == currency.id && step.lot.row.lotClass == lotClass
                {
                    let amount = Int128(step.transfer.amount)
                    switch step.transfer.debit.kind {
                    case .purchased: columns["purchased", default: 0] += amount
                    case .imported: columns["imported", default: 0] += amount
                    case .granted: columns["granted", default: 0] += amount
                    case .refunded: columns["reinstated", default: 0] += amount
                    case .spent: columns["reversed", default: 0] += amount
                    case .writtenOff: columns["writtenOff", default: 0] += amount
                    case .adjusted: columns["adjusted", default: 0] += amount
                    default: break
                    }
                    switch step.transfer.credit.kind {
                    case .spent: columns["spent", default: 0] += amount
                    case .refunded: columns["refunded", default: 0] += amount
                    case .writtenOff: columns["writtenOff", default: 0] -= amount
                    case .expired: columns["expired", default: 0] += amount
                    case .adjusted: columns["adjusted", default: 0] -= amount
                    default: break
                    }
                }
                columns["expired", default: 0] += late(query.asOf) - (before.map(late) ?? 0)
                for step in steps
                where when(step) <= query.asOf && when(step) >= query.from ?? Int64.min
                    && step.lot.currency == currency.id && step.transfer.debit.kind == .wallet
                    && step.transfer.credit.kind == .receivable
                {
                    let owing = step.transfer.debtLot.flatMap { lots[$0]?.row.lotClass }
                    if owing == lotClass { columns["debtPaid", default: 0] += Int128(step.transfer.amount) }
                    if step.lot.row.lotClass == lotClass {
                        columns["debtPaid", default: 0] -= Int128(step.transfer.amount)
                    }
                }
                let names = [
                    "purchased", "imported", "granted", "reinstated", "reversed", "adjusted", "spent", "refunded",
                    "writtenOff", "expired", "debtPaid",
                ]
                let start: [ReportValue?] = [.text(currency.code.text), .text(word(lotClass))]
                let sums =
                    [opening.available + opening.held - opening.debt] + names.map { columns[$0] ?? 0 } + [
                        closing.available + closing.held - closing.debt, closing.available, closing.held, closing.debt,
                    ]
                return ReportLine(.rollforward, start + sums.map { .sum($0) })
            }
        }
    }

    /// What was said of a purchase: by a JWS, or without one.
    private struct Word {
        /// When it was recorded.
        var time: Timestamp
        var signedDate: Timestamp
        var revoked: Int64
        /// By a JWS: when the App Store took it back.
        var revocationDate: Timestamp?
    }

    private func purchases(_ query: ReportQuery) -> [ReportLine] {
        var words: [TransactionID: [Word]] = [:]
        for row in rows.evidence {
            words[row.transaction, default: []].append(
                Word(
                    time: row.time, signedDate: row.signedDate, revoked: row.revoked,
                    revocationDate: revocationDates[row.id]))
        }
        for row in rows.statements {
            // What other books had sold is older than whatever Apple signed of it.
            let imported = purchases[row.transaction].flatMap { $0.facts.source == .imported ? $0.facts : nil }
            words[row.transaction, default: []].append(
                Word(time: row.time, signedDate: imported?.purchaseDate ?? row.time, revoked: row.revoked))
        }
        let assigned = Dictionary(uniqueKeysWithValues: rows.assignments.map { ($0.transaction, $0) })
        let entries = Dictionary(uniqueKeysWithValues: rows.entries.map { ($0.id, $0.time) })
        func isEffective(_ facts: PurchaseFacts) -> Bool { query.dates == .effective && facts.source != .imported }
        /// When it was bought, as far as the report is concerned.
        func happened(_ facts: PurchaseFacts, _ first: Word) -> Timestamp {
            isEffective(facts) ? facts.purchaseDate : first.time
        }
        func time(_ word: Word) -> Timestamp {
            query.dates == .effective ? word.revocationDate ?? word.time : word.time
        }
        let known = rows.purchases.compactMap { row in
            words[row.facts.transaction]?.min { $0.time < $1.time }.map { (row, $0) }
        }.filter {
            let time = happened($0.0.facts, $0.1)
            return time <= query.asOf && time >= query.from ?? Int64.min
        }
        let lines = known.compactMap { row, first -> (Timestamp, TransactionID, ReportLine)? in
            let facts = row.facts
            let assignment = assigned[facts.transaction]
            let entry = row.entry ?? assignment?.entry
            // By when it happened, it is the account's from when it was bought.
            let isUsedUp = row.grants.isEmpty
            let isOpened = entry.flatMap { entries[$0] }.map { isEffective(facts) || $0 <= query.asOf } ?? isUsedUp
            if query.kind == .unassigned && isOpened { return nil }
            let newest = words[facts.transaction]?.filter { time($0) <= query.asOf }
                .max { ($0.signedDate, $0.revoked) < ($1.signedDate, $1.revoked) }
            let account = isOpened ? (row.account ?? assignment?.account).map { name(owner($0, query.asOf)) } : nil
            let values: [ReportValue?] = [
                .text(facts.transaction.description), account.map { .text($0) }, .text(facts.product),
                .integer(facts.quantity), .text(word(facts.source)), facts.storefront.map { .text($0) },
                .integer(facts.purchaseDate), .integer(first.time), facts.price.map { .sum(Int128($0)) },
                facts.priceCurrency.map { .text($0) }, .text(basis(facts.source)), .integer(newest?.revoked ?? 0),
                newest?.revocationDate.map { .integer($0) },
                .text(row.grants.map { "\(code($0.currency)):\($0.units):\($0.weight)" }.joined(separator: " ")),
                isOpened ? entry.map { .integer($0) } : nil,
            ]
            return (first.time, facts.transaction, ReportLine(query.kind, values))
        }
        return lines.sorted { left, right in
            query.kind == .unassigned
                ? left.1 < right.1 : (left.0, left.1.number) < (right.0, right.1.number)
        }.map(\.2)
    }

    private func journal(_ query: ReportQuery, _ wanted: CurrencyID?) -> [ReportLine] {
        let actors = Dictionary(uniqueKeysWithValues: rows.actors.map { ($0.id, $0.name) })
        return steps.filter {
            let time = time($0, query.dates)
            return time <= query.asOf && time >= query.from ?? Int64.min
                && (wanted == nil || $0.lot.currency == wanted)
        }.map { step in
            let (transfer, entry) = (step.transfer, step.entry)
            let values: [ReportValue?] = [
                .integer(entry.id), .integer(entry.time), .text(entry.kind.name), .integer(transfer.id),
                .text(name(transfer.player)), .text(code(step.lot.currency)), .text(transfer.debit.kind.name),
                .text(transfer.credit.kind.name), .integer(transfer.amount), .integer(transfer.lot),
                .text(word(step.lot.row.lotClass)), transfer.debtLot.map { .integer($0) },
                entry.transaction.map { .text($0.description) }, entry.key.map { .text($0.text) },
                entry.note.map { .text($0) }, entry.actor.flatMap { actors[$0] }.map { .text($0) },
                step.lot.transaction.flatMap { purchases[$0] }.map { .text(word($0.facts.source)) },
                step.lot.transaction.flatMap { purchases[$0]?.facts.priceCurrency }.map { .text($0) },
                step.lot.transaction.flatMap { purchases[$0] }.map { .text(basis($0.facts.source)) },
                .sum(step.money[2] + step.moved), .sum(step.money[1]), .sum(step.money[0]),
            ]
            return ReportLine(.journal, values)
        }
    }

    // MARK: Words

    /// The columns `product`, `storefront`, `priceCurrency`, `source` and `basis`; `nil` of what was not sold.
    private func sold(_ lot: LotBook) -> [ReportValue?]? {
        guard let facts = lot.transaction.flatMap({ purchases[$0] })?.facts else { return nil }
        return [
            .text(facts.product), facts.storefront.map { .text($0) }, facts.priceCurrency.map { .text($0) },
            .text(word(facts.source)), .text(basis(facts.source)),
        ]
    }

    private func code(_ currency: CurrencyID) -> String { rows.currencies.first { $0.id == currency }?.code.text ?? "" }

    private func word(_ lotClass: LotClass) -> String {
        switch lotClass {
        case .paid: "paid"
        case .free: "free"
        }
    }

    /// Who vouches for the money.
    private func basis(_ source: PurchaseSource) -> String {
        switch source {
        case .appStore: "signed"
        case .external: "stated"
        case .imported: "carried"
        }
    }

    private func word(_ source: PurchaseSource) -> String {
        switch source {
        case .appStore: "app_store"
        case .imported: "imported"
        case .external: "external"
        }
    }
}
