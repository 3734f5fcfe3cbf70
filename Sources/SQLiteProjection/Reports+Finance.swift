import GRDB
import Ledger

/// What finance reads of a period. Rows that are sums are those of one part of the period or of the lots: what several
/// pages say of one key adds up.
extension Reports {
    /// The transfers of a report's period.
    struct Period {
        /// The last one before it.
        var before: TransferID
        /// Its last one.
        var last: TransferID

        init(_ query: ReportQuery, _ clock: JournalClock) throws {
            before = try query.from.map { try clock.lastTransfer($0 - 1) } ?? 0
            last = try clock.lastTransfer(query.asOf)
        }
    }

    // MARK: Roll-forward

    /// What players had of each currency, what changed it, and what they have.
    func rollforward(_ query: ReportQuery, _ clock: JournalClock, _ currency: Int64?) throws -> ReportPage {
        let period = try Period(query, clock)
        let newest = clock.lastTransferID
        let (before, after) = (
            try totals(through: period.before, of: newest), try totals(through: period.last, of: newest)
        )
        let dueBefore = try query.from.map { try due($0 - 1, through: period.before, of: newest) } ?? [:]
        let dueAfter = try due(query.asOf, through: period.last, of: newest)
        var rows: [ReportRow] = []
        for number in codes.indices.map({ Int64($0 + 1) }) where currency == nil || currency == number {
            let id = try self.number(number)
            var debtPaid: [Int128] = []
            for lotClass in [LotClass.paid, .free] {
                // Only free lots expire. What has is no longer theirs, whether or not that was posted.
                let (lateBefore, lateAfter) = lotClass == .free ? (dueBefore[id] ?? 0, dueAfter[id] ?? 0) : (0, 0)
                let changes = RollForward(before, after, id, lotClass, expired: (lateBefore, lateAfter))
                debtPaid.append(changes.debtPaid)
                rows.append(.line(ReportLine(query.kind, [.text(try code(number).text)] + changes.values)))
            }
            // What lots of one class paid for debts of the other.
            guard debtPaid.reduce(0, +) == 0 else {
                throw StoreError.corrupt("what players have of \(try code(number)) is not what was posted")
            }
        }
        return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil)
    }

    private func totals(through last: TransferID, of newest: TransferID) throws -> ClassTotals {
        last == newest ? try StoredState(db).totals : try pastTotals(last)
    }

    // MARK: Sums over transfers

    /// What was sold and refunded, by day.
    func sales(_ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock) throws -> ReportPage {
        let past = try PreparedStatement(db, PastLot.selectTransfer)
        let select = try PreparedStatement(db, PastLot.select(""))
        return try sums(query, after, clock, currency: nil) { movement, time in
            guard let sold = movement.sold, movement.isSale || movement.change.refunded != 0 else { return (nil, 0) }
            var steps = 0
            var refundedOfSale: Int64 = 0
            if movement.isSale {
                // What stands refunded of it at the end of the period.
                select.bind(1, movement.lot - 1)
                select.bind(2, movement.lot)
                guard var lot = try select.first({ try PastLot($0) }) else {
                    throw StoreError.corrupt("lot \(movement.lot) is missing")
                }
                steps = try lot.rewind(to: clock.lastTransfer(query.asOf), past)
                refundedOfSale = lot.value.refunded
            }
            let values: [ReportValue?] =
                [.text(UTCText.day(of: time))] + sold.values
                + [
                    .sum(Int128(movement.quantity)), .sum(movement.isSale ? Int128(movement.price) : 0),
                    .sum(Int128(movement.change.refunded)), .sum(Int128(refundedOfSale)),
                ]
            return (ReportLine(query.kind, values), steps)
        }
    }

    /// What was consumed of what was sold.
    func revenue(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        try sums(query, after, clock, currency: currency) { movement, _ in
            guard movement.lotClass == .paid, let sold = movement.sold,
                movement.units != 0 || movement.change.recognised != 0
            else { return (nil, 0) }
            let recognised = movement.change.recognised
            let values: [ReportValue?] =
                sold.values
                + [
                    .text(try code(movement.currency).text), .sum(Int128(movement.units)),
                    .sum(Int128(max(recognised, 0))), .sum(Int128(max(-recognised, 0))),
                ]
            return (ReportLine(query.kind, values), 0)
        }
    }

    /// Adds up what transfers of a period changed.
    /// - Parameter line: the row of a transfer at a time, if it has one, and how many other rows were read for it.
    private func sums(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, currency: Int64?,
        _ line: (Movement, Timestamp) throws -> (ReportLine?, Int)
    ) throws -> ReportPage {
        let movements = try Movements(db)
        var period = try Period(query, clock)
        if query.dates == .effective {
            // Nothing is posted more than a day before it happens, and it may be posted at any time later.
            period.before = try query.from.map { try clock.lastTransfer($0 - 86_400_000) } ?? 0
            period.last = clock.lastTransferID
        }
        var sums = ReportSums()
        var walked = 0
        let passed = try movements.forEach(
            after: max(period.before, after.item), through: period.last, currency: currency
        ) { movement in
            if walked >= stepsMax || sums.count >= query.limit { return false }
            walked += 1
            let time = query.dates == .effective ? try movements.effectiveTime(movement) : movement.time
            guard time >= query.from ?? Int64.min, time <= query.asOf else { return true }
            let (line, steps) = try line(movement, time)
            walked += steps
            if let line { sums.add(line) }
            return true
        }
        return try page(
            query, sums.rows.map { .line($0) }, after: after, passed: passed.map { ReportCursor(query.kind, item: $0) })
    }

    // MARK: Deferred

    /// What is left of paid lots, and what changed that: first lots, then transfers.
    func deferred(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        let period = try Period(query, clock)
        var sums = ReportSums()
        if after.account == 0 {
            let passed = try lots(
                after: after.item, through: period.last, currency: currency, paidOnly: true
            ) { lot, selectTransfer, isFull in
                if isFull || sums.count >= query.limit { return nil }
                var steps = try lot.rewind(to: period.last, selectTransfer)
                let (closing, left) = (lot.value.deferred, lot.left)
                var opening: Int64 = 0
                if lot.stored.lot.id <= period.before {
                    steps += try lot.rewind(to: period.before, selectTransfer)
                    opening = lot.value.deferred
                }
                if let sold = lot.sold, closing != 0 || opening != 0 || left != 0 {
                    let ages = Ages(closing, query.asOf - (lot.purchaseDate ?? lot.stored.lot.time))
                    let values: [ReportValue?] =
                        sold.values
                        + [
                            .text(try code(Int64(lot.stored.currency)).text), .sum(Int128(opening)), .sum(0), .sum(0),
                            .sum(0), .sum(0), .sum(Int128(closing)), .sum(left > 0 ? 1 : 0), .sum(Int128(left)),
                        ] + ages.values
                    sums.add(ReportLine(query.kind, values))
                }
                return steps
            }
            // The transfers are the next part.
            let next = passed.map { ReportCursor(query.kind, item: $0) } ?? ReportCursor(query.kind, account: 1)
            return try page(query, sums.rows.map { .line($0) }, after: after, passed: next)
        }
        var walked = 0
        let passed = try Movements(db).forEach(
            after: max(period.before, after.item), through: period.last, currency: currency
        ) { movement in
            if walked >= stepsMax || sums.count >= query.limit { return false }
            walked += 1
            guard movement.lotClass == .paid, let sold = movement.sold, movement.change != LotValue() else {
                return true
            }
            let values: [ReportValue?] =
                sold.values
                + [
                    .text(try code(movement.currency).text), .sum(0),
                    .sum(movement.isSale ? Int128(movement.price) : 0),
                    .sum(movement.isImport ? Int128(movement.price) : 0), .sum(Int128(movement.change.refunded)),
                    .sum(Int128(movement.change.recognised)), .sum(0), .sum(0), .sum(0),
                ] + Ages(0, 0).values
            sums.add(ReportLine(query.kind, values))
            return true
        }
        return try page(
            query, sums.rows.map { .line($0) }, after: after,
            passed: passed.map { ReportCursor(query.kind, account: 1, item: $0) })
    }

    // MARK: Lines

    /// Lots as they were, of which something was left, or all.
    func lots(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        let last = try clock.lastTransfer(query.asOf)
        let (names, links) = (try AccountNames(db), try StoredLinks(db))
        var lines = PageLines(query)
        let passed = try lots(
            after: after.item, through: last, currency: currency, paidOnly: false
        ) { lot, selectTransfer, isFull in
            if isFull { return nil }
            let steps = try lot.rewind(to: last, selectTransfer)
            let stored = lot.stored.lot
            if query.scope == .open && lot.left == 0 { return steps }
            let value = lot.value
            let sold = lot.sold?.values ?? [nil, nil, nil, nil]
            let line = ReportLine(
                query.kind,
                [
                    .integer(stored.id), .text(try names.name(of: links.owner(of: lot.stored.account)).text),
                    .text(try code(Int64(lot.stored.currency)).text), .text(Stored.lotClasses.text(stored.lotClass)),
                    stored.transaction.map { .text($0.description) },
                ] + sold + [
                    lot.purchaseDate.map { .integer($0) }, .integer(stored.time),
                    stored.expiresAt.map { .integer($0) }, .integer(stored.granted), .integer(lot.left),
                    .integer(lot.refunded), .sum(Int128(stored.price)), .sum(Int128(value.deferred)),
                    .sum(Int128(value.recognised)), .sum(Int128(value.refunded)),
                ])
            return lines.add(line) ? steps : nil
        }
        return try page(query, lines.rows, after: after, passed: passed.map { ReportCursor(query.kind, item: $0) })
    }

    /// What was consumed of lots, and given back.
    func spends(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        let period = try Period(query, clock)
        let names = try AccountNames(db)
        var lines = PageLines(query)
        var walked = 0
        let passed = try Movements(db).forEach(
            after: max(period.before, after.item), through: period.last, currency: currency
        ) { movement in
            if walked >= stepsMax { return false }
            walked += 1
            guard movement.units != 0 || movement.id != movement.lot && movement.change.recognised != 0 else {
                return true
            }
            let sold = movement.sold?.values ?? [nil, nil, nil, nil]
            return lines.add(
                ReportLine(
                    query.kind,
                    [
                        .integer(movement.id), .integer(movement.entry), .integer(movement.time),
                        .text(movement.kind.name), .text(try names.name(of: movement.account).text),
                        .text(try code(movement.currency).text), .text(Stored.lotClasses.text(movement.lotClass)),
                        .integer(movement.units), .integer(movement.lot),
                        movement.transaction.map { .text($0.description) },
                    ] + sold + [.sum(Int128(movement.change.recognised))]))
        }
        return try page(query, lines.rows, after: after, passed: passed.map { ReportCursor(query.kind, item: $0) })
    }

    /// Walks lots in the order of their numbers.
    /// - Parameter each: told whether enough was read; how many other rows it read, or `nil` where the page ends before
    ///   the lot.
    /// - Returns: the last lot that was taken; `nil` where all were.
    private func lots(
        after first: LotID, through last: TransferID, currency: Int64?, paidOnly: Bool,
        _ each: (inout PastLot, PreparedStatement, Bool) throws -> Int?
    ) throws -> LotID? {
        let select = try PreparedStatement(db, PastLot.select(paidOnly ? " AND l.class = 'paid'" : ""))
        let selectTransfer = try PreparedStatement(db, PastLot.selectTransfer)
        select.bind(1, first)
        select.bind(2, last)
        select.bind(3, currency)
        defer { select.reset() }
        var passed = first
        var walked = 0
        while try select.next() {
            var lot = try PastLot(select)
            guard let steps = try each(&lot, selectTransfer, walked >= stepsMax) else { return passed }
            walked += 1 + steps
            passed = lot.stored.lot.id
        }
        return nil
    }

    /// - Parameter passed: where the next page begins; `nil` where there is none.
    func page(
        _ query: ReportQuery, _ rows: [ReportRow], after: ReportCursor, passed: ReportCursor?
    ) throws -> ReportPage {
        guard let passed else { return ReportPage(kind: query.kind, asOf: query.asOf, rows: rows, next: nil) }
        return try page(query, rows, after: after, passed: passed)
    }
}

/// The rows of a page, up to what one may have.
struct PageLines {
    private(set) var rows: [ReportRow] = []
    private var bytes = 0
    private let limit: Int

    init(_ query: ReportQuery) { limit = query.limit }

    /// - Returns: whether there was room.
    mutating func add(_ line: ReportLine) -> Bool {
        bytes += line.resultBytes
        if rows.count == limit || bytes > Limits.pageBytesMax && !rows.isEmpty { return false }
        rows.append(.line(line))
        return true
    }
}

/// Money by how long ago it was paid.
private struct Ages {
    var values: [ReportValue?]

    init(_ money: Int64, _ age: Int64) {
        let bounds = [30, 90, 180, 365].map { Int64($0) * 86_400_000 }
        let place = bounds.firstIndex { age < $0 } ?? bounds.count
        values = (0...bounds.count).map { .sum($0 == place ? Int128(money) : 0) }
    }
}

/// What changed what players have of a currency, in lots of one class: wallets and holds, less what they owe.
private struct RollForward {
    /// What these lots paid for debts of lots of the other class is less than 0, and what those paid for theirs more.
    let debtPaid: Int128
    let values: [ReportValue?]

    /// - Parameter expired: what had expired before and by the end, and was not posted then.
    init(
        _ before: ClassTotals, _ after: ClassTotals, _ currency: CurrencyID, _ lotClass: LotClass,
        expired late: (before: Int128, after: Int128)
    ) {
        func balance(_ totals: ClassTotals, _ kind: AccountKind) -> Int128 { totals[currency, lotClass, kind].balance }
        func debits(_ kind: AccountKind) -> Int128 {
            after[currency, lotClass, kind].debits - before[currency, lotClass, kind].debits
        }
        func credits(_ kind: AccountKind) -> Int128 {
            after[currency, lotClass, kind].credits - before[currency, lotClass, kind].credits
        }
        func held(_ totals: ClassTotals, _ late: Int128) -> Int128 {
            -balance(totals, .wallet) - balance(totals, .held) - balance(totals, .receivable) - late
        }
        let (opening, closing) = (held(before, late.before), held(after, late.after))
        let added = [debits(.purchased), debits(.imported), debits(.granted), debits(.refunded), debits(.spent)]
        let adjusted = debits(.adjusted) - credits(.adjusted)
        let writtenOff = debits(.writtenOff) - credits(.writtenOff)
        let expired = credits(.expired) + late.after - late.before
        let (spent, refunded) = (credits(.spent), credits(.refunded))
        debtPaid = closing - opening - added.reduce(0, +) - adjusted + spent + refunded - writtenOff + expired
        let columns =
            [opening] + added + [adjusted, spent, refunded, writtenOff, expired, debtPaid, closing]
            + [-balance(after, .wallet) - late.after, -balance(after, .held), balance(after, .receivable)]
        values = [.text(Stored.lotClasses.text(lotClass))] + columns.map { .sum($0) }
    }
}
