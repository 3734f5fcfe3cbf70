import GRDB
import Ledger

/// What finance reads of lots: what there was of each, at the beginning and the end of a period.
extension Reports {
    /// What is left of paid lots, and what changed that: first lots, then transfers.
    func deferred(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        let period = try ReportPeriod(query, after, clock)
        var sums = ReportSums()
        if after.account == 0 {
            let numbers = try LotNumbers(
                db, openAt: period.cuts, through: period.closing.end, newest: clock.lastTransferID)
            let passed = try lots(
                numbers, at: period.cuts, after: after.item, currency, lotClass: .paid
            ) { lot, states in
                if sums.count >= query.limit { return false }
                let (closing, opening) = (states[0], states.count > 1 ? states[1] : PastLot.State())
                guard let sold = lot.sold,
                    closing.value.deferred != 0 || opening.value.deferred != 0 || closing.left != 0
                else { return true }
                let age = query.asOf - (lot.purchaseDate ?? lot.stored.lot.time)
                let values: [ReportValue?] =
                    sold.values
                    + [
                        .text(try code(Int64(lot.stored.currency)).text), .sum(Int128(opening.value.deferred)),
                        .sum(0), .sum(0), .sum(0), .sum(0), .sum(Int128(closing.value.deferred)),
                        .sum(closing.left != 0 ? 1 : 0), .sum(Int128(closing.left)),
                    ] + Ages(closing.value.deferred, age).values
                sums.add(ReportLine(query.kind, values))
                return true
            }
            // The transfers are the next part.
            let next = passed.map { ReportCursor(query.kind, item: $0) } ?? ReportCursor(query.kind, account: 1)
            return try page(query, sums.rows.map { .line($0) }, after: after, passed: next)
        }
        let passed = try movements(period, after: after.item, currency: currency) { movement, _ in
            if sums.count >= query.limit { return nil }
            guard movement.lotClass == .paid, let sold = movement.sold, movement.change != LotValue() else { return 0 }
            let values: [ReportValue?] =
                sold.values
                + [
                    .text(try code(movement.currency).text), .sum(0),
                    .sum(movement.isSale ? Int128(movement.price) : 0),
                    .sum(movement.isImport ? Int128(movement.price) : 0), .sum(Int128(movement.change.refunded)),
                    .sum(Int128(movement.change.recognised)), .sum(0), .sum(0), .sum(0),
                ] + Ages(0, 0).values
            sums.add(ReportLine(query.kind, values))
            return 0
        }
        return try page(
            query, sums.rows.map { .line($0) }, after: after,
            passed: passed.map { ReportCursor(query.kind, account: 1, item: $0) })
    }

    /// Lots as they were, of which something was left, or all.
    func lots(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        let cut = try JournalCut(query.asOf, query.dates, clock, end: after.end)
        let (names, links) = (try AccountNames(db), try StoredLinks(db, asOf: query.asOf, clock))
        let numbers = try LotNumbers(
            db, openAt: query.scope == .open ? [cut] : [], through: cut.end, newest: clock.lastTransferID)
        var lines = PageLines(query)
        let passed = try lots(numbers, at: [cut], after: after.item, currency) { lot, states in
            let (stored, state) = (lot.stored.lot, states[0])
            guard query.scope == .open ? state.left != 0 : state != PastLot.State() else { return true }
            return lines.add(
                ReportLine(
                    query.kind,
                    [
                        .integer(stored.id), .text(try names.name(of: links.owner(of: lot.stored.account)).text),
                        .text(try code(Int64(lot.stored.currency)).text),
                        .text(Stored.lotClasses.text(stored.lotClass)),
                        stored.transaction.map { .text($0.description) },
                    ] + (lot.sold?.values ?? Sold.none) + [
                        lot.purchaseDate.map { .integer($0) }, .integer(stored.time),
                        stored.expiresAt.map { .integer($0) }, .integer(state.granted), .integer(state.left),
                        .integer(state.refunded), .sum(Int128(state.price)), .sum(Int128(state.value.deferred)),
                        .sum(Int128(state.value.recognised)), .sum(Int128(state.value.refunded)),
                    ]))
        }
        return try page(query, lines.rows, after: after, passed: passed.map { ReportCursor(query.kind, item: $0) })
    }

    /// Reads lots in the order of their numbers, each as it was at some cuts.
    /// - Parameter each: whether the page goes on behind the lot; `false` where it ends before it.
    /// - Returns: the last number that was passed; `nil` where all were.
    private func lots(
        _ numbers: LotNumbers, at cuts: [JournalCut], after first: LotID, _ currency: Int64?, lotClass: LotClass? = nil,
        _ each: (PastLot, [PastLot.State]) throws -> Bool
    ) throws -> LotID? {
        let reader = try PastLot.Reader(db)
        var walked = 0
        return try numbers.forEach(after: first) { id in
            if walked >= stepsMax { return false }
            walked += 1
            guard let lot = try reader.lot(id, currency: currency, lotClass: lotClass) else { return true }
            let (states, steps) = try reader.states(of: lot, at: cuts)
            walked += steps
            return try each(lot, states)
        }
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
