import GRDB
import Ledger

/// What players had of each currency, what changed it, and what they have.
extension Reports {
    /// A row a currency and class by when everything was posted. Where it is asked by when it happened, what sales and
    /// refunds differ by that were posted at another time comes behind, on pages of its own.
    func rollforward(
        _ query: ReportQuery, _ after: ReportCursor, _ clock: JournalClock, _ currency: Int64?
    ) throws -> ReportPage {
        let period = try ReportPeriod(query, after, clock)
        if after.account == 0 {
            let rows = try postedRollforward(query, period, newest: clock.lastTransferID, currency)
            let next = query.dates == .effective ? ReportCursor(query.kind, account: 1) : nil
            return try page(query, rows.map { .line($0) }, after: after, passed: next)
        }
        var sums = ReportSums()
        // All that may count for one of both dates and not for the other.
        let movements = try Movements(db)
        var walked = 0
        let same = period.cuts.map(\.whole).min() ?? 0
        let passed = try movements.forEach(
            after: max(same, after.item), through: period.closing.end, currency: currency
        ) { movement in
            if walked >= stepsMax || sums.count >= query.limit { return false }
            walked += 1
            guard let date = try movements.effectiveDate(movement) else { return true }
            /// How often it counts more by when it happened than by when it was posted.
            func more(_ cut: JournalCut?) -> Int128 {
                guard let cut else { return 0 }
                return (cut.counts(movement.id, date) ? 1 : 0) - (movement.id <= cut.last ? 1 : 0)
            }
            let change = RollForward(movement, opening: more(period.opening), closing: more(period.closing))
            if change != RollForward() {
                sums.add(try change.line(code(movement.currency), movement.lotClass))
            }
            return true
        }
        return try page(
            query, sums.rows.map { .line($0) }, after: after,
            passed: passed.map { ReportCursor(query.kind, account: 1, item: $0) })
    }

    private func postedRollforward(
        _ query: ReportQuery, _ period: ReportPeriod, newest: TransferID, _ currency: Int64?
    ) throws -> [ReportLine] {
        let (first, last) = (period.opening?.last ?? 0, period.closing.last)
        let (before, after) = (try totals(through: first, of: newest), try totals(through: last, of: newest))
        let dueBefore = try query.from.map { try due($0 - 1, through: first, of: newest) } ?? [:]
        let dueAfter = try due(query.asOf, through: last, of: newest)
        let debtPaid = try debtPaid(after: first, through: last)
        var rows: [ReportLine] = []
        for number in codes.indices.map({ Int64($0 + 1) }) where currency == nil || currency == number {
            let id = try self.number(number)
            // What free lots paid for debts of paid ones is less than 0 where it was the other way round.
            let ofFree = debtPaid[id] ?? 0
            for lotClass in [LotClass.paid, .free] {
                // Only free lots expire. What has is no longer theirs, whether or not that was posted.
                let (lateBefore, lateAfter) = lotClass == .free ? (dueBefore[id] ?? 0, dueAfter[id] ?? 0) : (0, 0)
                let changes = RollForward(
                    before, after, id, lotClass, expired: (lateBefore, lateAfter),
                    debtPaid: lotClass == .paid ? ofFree : -ofFree)
                guard changes.isWhole else {
                    throw StoreError.corrupt("what players have of \(try code(number)) is not what was posted")
                }
                rows.append(try changes.line(code(number), lotClass))
            }
        }
        return rows
    }

    private func totals(through last: TransferID, of newest: TransferID) throws -> ClassTotals {
        last == newest ? try StoredState(db).totals : try pastTotals(last)
    }

    /// What free units paid for debts of paid lots, less what paid ones paid for those of free lots.
    private func debtPaid(after first: TransferID, through last: TransferID) throws -> [CurrencyID: Int128] {
        let select = try PreparedStatement(
            db,
            """
            SELECT t.currency, l.class, \(SplitSum.columns(of: "t.amount"))
            FROM transfer AS t INDEXED BY transfer_debt_lot
                JOIN lot AS l ON l.id = t.lot JOIN lot AS d ON d.id = t.debt_lot
            WHERE t.debt_lot IS NOT NULL AND t.id > ? AND t.id <= ? AND t.debit = 'wallet' AND t.credit = 'receivable'
                AND l.class <> d.class
            GROUP BY t.currency, l.class
            """)
        select.bind(1, first)
        select.bind(2, last)
        var paid: [CurrencyID: Int128] = [:]
        try select.forEach { row in
            guard let lotClass = Stored.lotClasses.item(row.text(1)) else {
                throw StoreError.corrupt("a lot that paid a debt has a class that there is not")
            }
            let units = row.splitSum(2)
            paid[try number(row.integer(0)), default: 0] += lotClass == .free ? units : -units
        }
        return paid
    }
}

/// What changed what players have of a currency, in lots of one class: wallets and holds, less what they owe.
private struct RollForward: Equatable {
    var opening: Int128 = 0
    var purchased: Int128 = 0
    var imported: Int128 = 0
    var granted: Int128 = 0
    var reinstated: Int128 = 0
    var reversed: Int128 = 0
    /// Added by hand, less what was taken.
    var adjusted: Int128 = 0
    var spent: Int128 = 0
    var refunded: Int128 = 0
    /// Less what was claimed again.
    var writtenOff: Int128 = 0
    var expired: Int128 = 0
    /// By lots of the other class, less what these lots paid for debts of that.
    var debtPaid: Int128 = 0
    var closing: Int128 = 0
    var available: Int128 = 0
    var held: Int128 = 0
    var debt: Int128 = 0

    init() {}

    /// What is between two totals.
    /// - Parameter expired: what had expired before and by the end, and was not posted then.
    init(
        _ before: ClassTotals, _ after: ClassTotals, _ currency: CurrencyID, _ lotClass: LotClass,
        expired late: (before: Int128, after: Int128), debtPaid: Int128
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
        opening = held(before, late.before)
        purchased = debits(.purchased)
        imported = debits(.imported)
        granted = debits(.granted)
        reinstated = debits(.refunded)
        reversed = debits(.spent)
        adjusted = debits(.adjusted) - credits(.adjusted)
        spent = credits(.spent)
        refunded = credits(.refunded)
        writtenOff = debits(.writtenOff) - credits(.writtenOff)
        expired = credits(.expired) + late.after - late.before
        self.debtPaid = debtPaid
        closing = held(after, late.after)
        available = -balance(after, .wallet) - late.after
        self.held = -balance(after, .held)
        debt = balance(after, .receivable)
    }

    /// What a sale or a refund adds.
    /// - Parameters:
    ///   - opening: how often it counts before the period.
    ///   - closing: how often it counts at its end.
    init(_ movement: Movement, opening: Int128, closing: Int128) {
        let units = Int128(movement.amount)
        let flow = (closing - opening) * units
        var (ofWallets, ofDebts): (Int128, Int128) = (0, 0)
        switch movement.debit {
        case .purchased: purchased = flow
        case .refunded: reinstated = flow
        case .wallet: ofWallets -= units
        case .receivable: ofDebts += units
        case .writtenOff: writtenOff = flow
        case .held, .granted, .spent, .expired, .moved, .adjusted, .imported: break
        }
        switch movement.credit {
        case .refunded: refunded = flow
        case .wallet: ofWallets += units
        case .receivable: ofDebts -= units
        case .writtenOff: writtenOff = -flow
        case .held, .purchased, .granted, .spent, .expired, .moved, .adjusted, .imported: break
        }
        self.opening = opening * (ofWallets - ofDebts)
        self.closing = closing * (ofWallets - ofDebts)
        available = closing * ofWallets
        debt = closing * ofDebts
    }

    /// Whether what was posted makes the one of the other.
    var isWhole: Bool {
        let added = purchased + imported + granted + reinstated + reversed + adjusted + writtenOff + debtPaid
        return closing == opening + added - spent - refunded - expired && closing == available + held - debt
    }

    func line(_ currency: CurrencyCode, _ lotClass: LotClass) -> ReportLine {
        let columns = [
            opening, purchased, imported, granted, reinstated, reversed, adjusted, spent, refunded, writtenOff, expired,
            debtPaid, closing, available, held, debt,
        ]
        return ReportLine(
            .rollforward,
            [.text(currency.text), .text(Stored.lotClasses.text(lotClass))] + columns.map { .sum($0) })
    }
}
