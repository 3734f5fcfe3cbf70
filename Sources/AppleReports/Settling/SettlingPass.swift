/// The sales, or the returns, of one product, storefront and currency.
struct SettlingPass {
    private let key: SalesKey
    private let direction: SaleDirection
    private var demands: [Demand]
    private var supplies: [Supply]
    /// The first of them of which something is open: most lines take the oldest first.
    private var firstOpen = 0
    private(set) var parts: [Settlement.Part] = []
    private(set) var unassigned: [Settlement.Unassigned] = []

    /// A line, and what of it is assigned so far.
    private struct Demand {
        let source: Settlement.Source
        let line: FinancialLine
        var units: Int64
        var takings: [Taking] = []
        /// The first day of the fiscal month before.
        let previousMonth: CivilDay

        /// Whether it names a day of which our books may not have all purchases.
        let isDayUnknown: Bool
        /// The same where it names none, and its month goes on as long.
        let isMonthUnknown: Bool

        /// Whether it is at the line's price; a price that our books do not have may be any.
        func isPrice(of supply: Supply) -> Bool { supply.unitPrice.map { $0 == line.customerPrice } ?? true }
    }

    private struct Taking {
        let supply: Int
        let units: Int64
        let isOtherPrice: Bool
    }

    /// A purchase or a refund, with what of it is open.
    private struct Supply {
        let id: String
        let time: Int64
        let day: CivilDay
        let unitPrice: Thousandths?
        var units: Int64
    }

    init(
        key: SalesKey, direction: SaleDirection, zone: ReportZone,
        lines: [(source: Settlement.Source, line: FinancialLine)], purchases: [BookedTransaction],
        firstUnknownDay: CivilDay?
    ) {
        self.key = key
        self.direction = direction
        demands = lines.filter { $0.line.isReturn == (direction == .refunded) }
            .map { source, line in
                let first = line.days.lowerBound
                let previous = FiscalMonth(containing: first)?.previous?.days.lowerBound
                return Demand(
                    source: source, line: line, units: abs(line.quantity),
                    previousMonth: previous ?? first.advanced(by: -35),
                    isDayUnknown: firstUnknownDay.map { unknown in
                        line.transactionDay.map { $0 >= unknown } ?? false
                    } ?? false,
                    isMonthUnknown: firstUnknownDay.map { unknown in
                        line.transactionDay ?? line.days.upperBound >= unknown
                    } ?? false)
            }
            .sorted { ($0.line.days.lowerBound, $0.source) < ($1.line.days.lowerBound, $1.source) }
        supplies = purchases.compactMap { transaction in
            guard let time = transaction.time(of: direction) else { return nil }
            return Supply(
                id: transaction.id, time: time, day: zone.day(at: time),
                unitPrice: transaction.unitPrice(of: direction), units: transaction.quantity)
        }
        .sorted { ($0.time, $0.id) < ($1.time, $1.id) }
    }

    /// Fills ``parts`` and ``unassigned``.
    mutating func settle() {
        // From what fits best to what fits at all; within each, the oldest purchases first.
        assign { demand, supply in demand.isPrice(of: supply) && supply.day == demand.line.transactionDay }
        assign { demand, supply in
            guard let day = demand.line.transactionDay else { return false }
            return !demand.isDayUnknown && demand.isPrice(of: supply) && abs(day.distance(to: supply.day)) == 1
        }
        assign { demand, supply in
            !demand.isDayUnknown && demand.isPrice(of: supply) && supply.day >= demand.previousMonth
        }
        assign { demand, supply in !demand.isDayUnknown && demand.isPrice(of: supply) }
        // What was free Apple pays at no price.
        assign { demand, supply in
            !demand.isMonthUnknown && supply.unitPrice != .zero && supply.day >= demand.previousMonth
        }
        assign { demand, supply in !demand.isMonthUnknown && supply.unitPrice != .zero }
        for demand in demands { divide(demand) }
    }

    private mutating func assign(where fits: (Demand, Supply) -> Bool) {
        for place in demands.indices where demands[place].units > 0 {
            while firstOpen < supplies.count && supplies[firstOpen].units == 0 { firstOpen += 1 }
            for supply in firstOpen..<supplies.count where supplies[supply].units > 0 {
                // In no report is what happened after its month.
                if supplies[supply].day > demands[place].line.days.upperBound { break }
                guard fits(demands[place], supplies[supply]) else { continue }
                let units = min(demands[place].units, supplies[supply].units)
                demands[place].units -= units
                supplies[supply].units -= units
                demands[place].takings.append(
                    Taking(
                        supply: supply, units: units,
                        isOtherPrice: !demands[place].isPrice(of: supplies[supply])))
                if demands[place].units == 0 { break }
            }
        }
    }

    /// Divides the share of a line by units, in whole thousandths: up to each purchase the parts are the share of all
    /// units up to there, rounded towards zero, so that all parts are the share of the line.
    private mutating func divide(_ demand: Demand) {
        let quantity = UInt128(demand.line.quantity.magnitude)
        let share = UInt128(demand.line.extendedPartnerShare.rawValue.magnitude)
        let sign: Int64 = demand.line.extendedPartnerShare < .zero ? -1 : 1
        var unitsBefore: UInt128 = 0
        var shareBefore: UInt128 = 0
        func next(_ units: Int64) -> Thousandths {
            unitsBefore += UInt128(units)
            let shareUpTo = share * unitsBefore / quantity
            defer { shareBefore = shareUpTo }
            return Thousandths(rawValue: sign * Int64(shareUpTo - shareBefore))
        }
        for taking in demand.takings {
            parts.append(
                Settlement.Part(
                    transaction: supplies[taking.supply].id, isReturn: demand.line.isReturn, units: taking.units,
                    share: next(taking.units), shareCurrency: demand.line.shareCurrency,
                    isOtherPrice: taking.isOtherPrice, source: demand.source))
        }
        if demand.units > 0 {
            unassigned.append(
                Settlement.Unassigned(
                    key: key, isReturn: demand.line.isReturn, units: demand.units, share: next(demand.units),
                    shareCurrency: demand.line.shareCurrency,
                    days: demand.line.transactionDay.map { $0...$0 }
                        ?? min(demand.previousMonth, demand.line.days.lowerBound)...demand.line.days.upperBound,
                    source: demand.source))
        }
        precondition(unitsBefore == quantity && shareBefore == share, "the parts of a line are the line")
    }

    /// What no line has settled.
    /// - Parameter lastDay: of the reports.
    func open(lastDay: CivilDay?) -> [Settlement.Open] {
        // What was free is never paid.
        supplies.filter { $0.units > 0 && $0.unitPrice != .zero }.map { supply in
            Settlement.Open(
                key: key, transaction: supply.id, isReturn: direction == .refunded, units: supply.units,
                time: supply.time,
                reason: lastDay.map { supply.day <= $0 } == true ? .notInReports : .behindReports)
        }
    }
}
