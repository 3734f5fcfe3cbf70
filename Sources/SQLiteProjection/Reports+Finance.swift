import GRDB
import Ledger

/// What finance reads of a period, added up over its transfers. Rows that are sums are those of one part of the period
/// or of the lots: what several pages say of one key adds up.
extension Reports {
    /// What was sold and refunded, by day.
    func sales(_ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock) throws -> ReportPage {
        let lots = try PastLot.Reader(db)
        let period = try ReportPeriod(query, after, clock)
        return try sums(query, after, period, currency: nil) { movement, date in
            guard let sold = movement.sold, movement.isSale || movement.change.refunded != 0 else { return (nil, 0) }
            var steps = 0
            var (price, refundedOfSale): (Int64, Int64) = (0, 0)
            if movement.isSale {
                // What stands refunded of it at the end of the period.
                guard let lot = try lots.lot(movement.lot) else {
                    throw StoreError.corrupt("lot \(movement.lot) is missing")
                }
                let past = try lots.states(of: lot, at: [period.closing])
                (price, refundedOfSale, steps) = (movement.price, past.states[0].value.refunded, past.steps)
            }
            let refunded = movement.change.refunded
            let values: [ReportValue?] =
                [.text(UTCText.day(of: date ?? movement.time))] + sold.values
                + [
                    .sum(Int128(movement.quantity)), .sum(Int128(price)), .sum(Int128(refunded)),
                    .sum(Int128(refundedOfSale)), .sum(Int128(price - refunded)), .sum(Int128(price - refundedOfSale)),
                ]
            return (ReportLine(query.kind, values), steps)
        }
    }

    /// What was consumed of what was sold.
    func revenue(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        try sums(query, after, ReportPeriod(query, after, clock), currency: currency) { movement, _ in
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

    /// What was consumed of lots, and given back.
    func spends(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        let names = try AccountNames(db)
        var lines = PageLines(query)
        let period = try ReportPeriod(query, after, clock)
        let passed = try movements(period, after: after.item, currency: currency) { movement, _ in
            guard movement.units != 0 || movement.id != movement.lot && movement.change.recognised != 0 else {
                return 0
            }
            let line = ReportLine(
                query.kind,
                [
                    .integer(movement.id), .integer(movement.entry), .integer(movement.time),
                    .text(movement.kind.name), .text(try names.name(of: movement.account).text),
                    .text(try code(movement.currency).text), .text(Stored.lotClasses.text(movement.lotClass)),
                    .integer(movement.units), .integer(movement.lot),
                    movement.transaction.map { .text($0.description) },
                ] + (movement.sold?.values ?? Sold.none) + [.sum(Int128(movement.change.recognised))])
            return lines.add(line) ? 0 : nil
        }
        return try page(query, lines.rows, after: after, passed: passed.map { ReportCursor(query.kind, item: $0) })
    }

    // MARK: Transfers of a period

    /// Reads the transfers of a period, in their order.
    /// - Parameter each: given a transfer, and when it happened where that is not when it was posted; how many other
    ///   rows it read, or `nil` where the page ends before the transfer.
    /// - Returns: the last transfer that was passed; `nil` where all were.
    func movements(
        _ period: ReportPeriod, after first: TransferID, currency: Int64?,
        _ each: (Movement, Timestamp?) throws -> Int?
    ) throws -> TransferID? {
        let movements = try Movements(db)
        return try self.movements(movements, period, after: first, currency: currency, each)
    }

    /// The same with a reader of the caller's.
    func movements(
        _ movements: Movements, _ period: ReportPeriod, after first: TransferID, currency: Int64?,
        _ each: (Movement, Timestamp?) throws -> Int?
    ) throws -> TransferID? {
        var walked = 0
        let isEffective = period.closing.dates == .effective
        return try movements.forEach(
            after: max(period.before, first), through: period.closing.end, currency: currency
        ) { movement in
            if walked >= stepsMax { return false }
            walked += 1
            let date = isEffective ? try movements.effectiveDate(movement) : nil
            guard period.contains(movement.id, date) else { return true }
            guard let steps = try each(movement, date) else { return false }
            walked += steps
            return true
        }
    }

    /// Adds up what transfers of a period changed.
    /// - Parameter line: the row of a transfer, if it has one, and how many other rows were read for it.
    private func sums(
        _ query: ReportQuery, _ after: ReportCursor, _ period: ReportPeriod, currency: Int64?,
        _ line: (Movement, Timestamp?) throws -> (ReportLine?, Int)
    ) throws -> ReportPage {
        var sums = ReportSums()
        let passed = try movements(period, after: after.item, currency: currency) { movement, date in
            if sums.count >= query.limit { return nil }
            let (line, steps) = try line(movement, date)
            if let line { sums.add(line) }
            return steps
        }
        return try page(
            query, sums.rows.map { .line($0) }, after: after, passed: passed.map { ReportCursor(query.kind, item: $0) })
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
