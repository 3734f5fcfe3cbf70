import GRDB
import Ledger

/// A lot, and what there was of it.
struct PastLot {
    /// What transfers added to a lot.
    struct State: Equatable {
        /// 0 where the transfer does not count that opened it; so is the price.
        var granted: Int64 = 0
        /// In the wallet, and held; where the lot has expired, only what is held.
        var left: Int64 = 0
        var refunded: Int64 = 0
        var price: Int64 = 0
        var value = LotValue()

        static func - (left: State, right: State) -> State {
            State(
                granted: left.granted - right.granted, left: left.left - right.left,
                refunded: left.refunded - right.refunded, price: left.price - right.price,
                value: left.value - right.value)
        }
    }

    var stored: StoredLot
    var sold: Sold?
    var purchaseDate: Timestamp?

    /// Reads lots, and what their transfers left of them.
    struct Reader {
        private let selectLot: PreparedStatement
        private let selectTransfer: PreparedStatement
        private let dates: EffectiveDates

        init(_ db: Database) throws {
            selectLot = try PreparedStatement(
                db,
                """
                SELECT \(StoredLot.columns(of: "l")), p.purchase_date, \(Sold.columns)
                FROM lot AS l LEFT JOIN purchase AS p ON p.transaction_id = l.transaction_id
                WHERE l.id = ?1 AND (?2 IS NULL OR l.currency = ?2) AND (?3 IS NULL OR l.class = ?3)
                """)
            selectTransfer = try PreparedStatement(
                db,
                """
                SELECT lot, lot_previous, lot_left, lot_refunded, money_deferred, money_refunded, entry, debit, credit,
                    amount
                FROM transfer WHERE id = ?
                """)
            dates = try EffectiveDates(db)
        }

        /// - Returns: `nil` where it is of another currency or class.
        func lot(_ id: LotID, currency: Int64? = nil, lotClass: LotClass? = nil) throws -> PastLot? {
            selectLot.bind(1, id)
            selectLot.bind(2, currency)
            selectLot.bind(3, lotClass.map { Stored.lotClasses.text($0) })
            return try selectLot.first { row in
                PastLot(
                    stored: try StoredLot(row), sold: try Sold(row, from: StoredLot.columnsEnd + 1),
                    purchaseDate: row.optionalInteger(StoredLot.columnsEnd))
            }
        }

        /// What a lot was, along its own transfers: what it is, less what those added that do not count. Of one that
        /// had expired at the time of a cut only what was held is left, whether or not the rest was posted by then.
        /// - Returns: a state for each cut, and how many transfers were looked at.
        func states(of lot: PastLot, at cuts: [JournalCut]) throws -> (states: [State], steps: Int) {
            var states = cuts.map { _ in lot.state }
            var held = cuts.map { _ in lot.stored.lot.held }
            let steps = try takeBack(from: &states, &held, of: lot, at: cuts)
            for index in cuts.indices where lot.stored.lot.isExpired(at: cuts[index].time) {
                guard held[index] >= 0, held[index] <= states[index].left else {
                    throw StoreError.corrupt("what is held of lot \(lot.stored.lot.id) is not what its transfers held")
                }
                states[index].left = held[index]
            }
            return (states, steps)
        }

        /// Takes from what a lot is what its transfers added that do not count, at each cut.
        /// - Returns: how many transfers were looked at.
        private func takeBack(
            from states: inout [State], _ held: inout [Int64], of lot: PastLot, at cuts: [JournalCut]
        ) throws -> Int {
            guard let base = cuts.map(\.whole).min(), lot.stored.lastOwn > base else { return 0 }
            let id = lot.stored.lot.id
            var newest = try transfer(lot.stored.lastOwn, of: lot)
            guard newest.state == lot.state else {
                throw StoreError.corrupt("lot \(id) is not what its transfers left of it")
            }
            var steps = 0
            while newest.id > base {
                guard newest.previous < newest.id, (newest.previous == 0) == (newest.id == id) else {
                    throw StoreError.corrupt("transfer \(newest.id) of lot \(id) is behind one that cannot be")
                }
                let before = newest.previous == 0 ? nil : try transfer(newest.previous, of: lot)
                let change = newest.state - (before?.state ?? State())
                var date: Timestamp?
                if cuts.contains(where: { $0.dates == .effective }) {
                    date = try dates.date(
                        debit: newest.debit, credit: newest.credit, entry: newest.entry,
                        transaction: lot.stored.lot.transaction, purchaseDate: lot.purchaseDate)
                }
                for index in cuts.indices where !cuts[index].counts(newest.id, date) {
                    states[index] = states[index] - change
                    held[index] -= newest.held
                }
                steps += 1
                guard let before else { break }
                newest = before
            }
            return steps
        }

        private struct Transfer {
            var id: TransferID
            var previous: TransferID
            var entry: EntryID
            var debit: AccountKind
            var credit: AccountKind
            /// What it added to what is held of the lot.
            var held: Int64
            var state: State
        }

        private func transfer(_ id: TransferID, of lot: PastLot) throws -> Transfer {
            selectTransfer.bind(1, id)
            let found = try selectTransfer.first { row -> Transfer? in
                guard row.integer(0) == lot.stored.lot.id,
                    (1...5).allSatisfy({ Plausible.isAmount(row.integer($0)) }),
                    let debit = Stored.accountKinds.item(row.text(7)),
                    let credit = Stored.accountKinds.item(row.text(8)), Plausible.isAmount(row.integer(9)),
                    let effect = TransferEffect(debit: debit, credit: credit, amount: row.integer(9))
                else { return nil }
                let (deferred, refunded) = (row.integer(4), row.integer(5))
                let price = lot.stored.lot.price
                return Transfer(
                    id: id, previous: row.integer(1), entry: row.integer(6), debit: debit, credit: credit,
                    held: effect.held,
                    state: State(
                        granted: lot.stored.lot.granted, left: row.integer(2), refunded: row.integer(3), price: price,
                        value: LotValue(
                            deferred: deferred, recognised: price - deferred - refunded, refunded: refunded)))
            }
            guard let transfer = found ?? nil else {
                throw StoreError.corrupt("transfer \(id) of lot \(lot.stored.lot.id) is missing, or cannot be")
            }
            return transfer
        }
    }

    /// As it is now.
    private var state: State {
        let lot = stored.lot
        return State(
            granted: lot.granted, left: lot.remaining + lot.held, refunded: lot.refunded, price: lot.price,
            value: stored.value)
    }
}

/// Finds lots in the order of their numbers.
struct LotNumbers {
    /// Numbers, most of which are other transfers', that one page looks at for lots that were open: a closed lot is
    /// passed over in some tens of nanoseconds.
    static let windowMax: Int64 = 1_000_000

    private let select: PreparedStatement
    private let last: LotID
    /// Whether only those are found of which something may have been left.
    private let isOfOpen: Bool

    /// - Parameters:
    ///   - cuts: at which something must have been left of a lot; all lots where there are none.
    ///   - end: the last lot.
    init(_ db: Database, openAt cuts: [JournalCut], through end: LotID, newest: TransferID) throws {
        last = end
        isOfOpen = !cuts.isEmpty
        let open = "SELECT id FROM lot INDEXED BY lot_number_open WHERE is_open AND id > ?1 AND id <= ?2"
        guard let base = cuts.map(\.whole).min() else {
            select = try PreparedStatement(db, "SELECT id FROM lot WHERE id > ?1 AND id <= ?2 ORDER BY id")
            return
        }
        if base >= newest {
            select = try PreparedStatement(db, "\(open) ORDER BY id")
            return
        }
        // What is closed now had something left only where it changed since.
        select = try PreparedStatement(
            db,
            """
            \(open)
            UNION ALL
            SELECT id FROM lot INDEXED BY lot_number_closed
            WHERE NOT is_open AND id > ?1 AND id <= ?2 AND last_own > ?3
            ORDER BY id
            """)
        select.bind(3, base)
    }

    /// Calls `each` for the lots after one, until it returns false.
    /// - Returns: the last number that was passed; `nil` where that was the last lot.
    func forEach(after first: LotID, _ each: (LotID) throws -> Bool) throws -> LotID? {
        let windowEnd = isOfOpen && last - first > LotNumbers.windowMax ? first + LotNumbers.windowMax : last
        select.bind(1, first)
        select.bind(2, windowEnd)
        defer { select.reset() }
        var passed = first
        while try select.next() {
            let id = select.integer(0)
            guard id > passed else { throw StoreError.corrupt("lots are not in their order") }
            guard try each(id) else { return passed }
            passed = id
        }
        return windowEnd < last ? windowEnd : nil
    }
}
