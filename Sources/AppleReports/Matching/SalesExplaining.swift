/// Finds the transactions of ours that explain differences. It keeps those alone that can, and of each product, day
/// and price only the first and the last ones beside their number.
struct SalesExplaining {
    private let differences: [SalesDifference]
    private let spans: [ClosedRange<CivilDay>]
    private let zone: ReportZone
    private let nearMidnightMilliseconds: Int64
    private let transactionsMax: Int
    private var pools: [Place: Pool] = [:]

    private struct Place: Hashable {
        let key: SalesKey
        let direction: SaleDirection
        let day: CivilDay
    }

    private struct Candidate: Comparable {
        let time: Int64
        let id: String
        let units: Int64

        static func < (left: Candidate, right: Candidate) -> Bool { (left.time, left.id) < (right.time, right.id) }
    }

    /// Transactions of a place, by price.
    private struct Pool {
        var prices: [Thousandths?: Candidates] = [:]
    }

    private struct Candidates {
        var count = 0
        var units: Int64 = 0
        /// The first and the last ones; together all, where there are not more than they hold.
        var first: [Candidate] = []
        var last: [Candidate] = []

        /// Amortised: each array is cut when it has twice as many as are kept.
        mutating func add(_ candidate: Candidate, max: Int) {
            count += 1
            units += candidate.units
            first.append(candidate)
            if first.count >= 2 * max { first = Array(first.sorted().prefix(max)) }
            last.append(candidate)
            if last.count >= 2 * max { last = Array(last.sorted().suffix(max)) }
        }
    }

    init(
        _ differences: [SalesDifference], spans: [ClosedRange<CivilDay>], zone: ReportZone,
        nearMidnightMilliseconds: Int64, transactionsMax: Int
    ) {
        self.differences = differences
        self.spans = spans
        self.zone = zone
        self.nearMidnightMilliseconds = nearMidnightMilliseconds
        self.transactionsMax = transactionsMax
        for difference in differences {
            // The days beside are looked at too.
            var day = difference.days.lowerBound.advanced(by: -1)
            while day <= difference.days.upperBound.advanced(by: 1) {
                pools[Place(key: difference.key, direction: difference.direction, day: day)] = Pool()
                day = day.advanced(by: 1)
            }
        }
    }

    var isNeeded: Bool { !differences.isEmpty }

    mutating func look(at transaction: BookedTransaction) {
        let key = SalesKey(transaction)
        for direction in SaleDirection.allCases {
            guard let time = transaction.time(of: direction) else { continue }
            let place = Place(key: key, direction: direction, day: zone.day(at: time))
            let candidate = Candidate(time: time, id: transaction.id, units: transaction.quantity)
            pools[place]?.prices[transaction.unitPrice(of: direction), default: .init()]
                .add(candidate, max: transactionsMax)
        }
    }

    func explained() -> [SalesDifference] { differences.map(explained) }

    private func explained(_ difference: SalesDifference) -> SalesDifference {
        var explained = difference
        switch difference.kind {
        case .otherDay(let other):
            explained.explanation = nearMidnight(difference, of: difference.days, to: other)
            explained.isNatural = isNatural(explained.explanation)
        case .price: explained.explanation = all(difference)
        case .doubledInReport:
            explained = beyond(difference, isOurs: false) ?? explained
            explained.explanation = explained.explanation ?? all(difference)
        case .missingInReport, .fewerInReport:
            // Perhaps on a day beside, of which there is no report.
            explained = beyond(difference, isOurs: true) ?? explained
            explained.explanation = explained.explanation ?? all(difference)
        case .missingInBooks, .moreInReport: explained = beyond(difference, isOurs: false) ?? explained
        case .dayWithoutReport: preconditionFailure("a comparison does not know what explains it")
        }
        return explained
    }

    private func isNatural(_ explanation: SalesDifference.Explanation?) -> Bool {
        guard let explanation, explanation.isExact, let distance = explanation.fromMidnightMilliseconds else {
            return false
        }
        return distance <= nearMidnightMilliseconds
    }

    /// The difference as one of a day beside that has no report, where exactly that explains it.
    /// - Parameter isOurs: whether our books have the units on the days of the difference, and not on the day beside.
    private func beyond(_ difference: SalesDifference, isOurs: Bool) -> SalesDifference? {
        let before = difference.days.lowerBound.advanced(by: -1)
        let after = difference.days.upperBound.advanced(by: 1)
        for day in [before, after] where spans.place(of: day) == nil {
            let explanation =
                isOurs
                ? nearMidnight(difference, of: difference.days, to: day...day)
                : nearMidnight(difference, of: day...day, to: difference.days)
            guard isNatural(explanation) else { continue }
            var explained = difference
            explained.kind = .dayWithoutReport(day, isBookedThere: !isOurs)
            explained.explanation = explanation
            explained.isNatural = true
            return explained
        }
        return nil
    }

    // MARK: Choosing

    private func candidates(_ difference: SalesDifference, _ days: ClosedRange<CivilDay>) -> [Candidates] {
        days.compactMap { day in
            pools[Place(key: difference.key, direction: difference.direction, day: day)]?
                .prices[difference.unitPrice]
        }
    }

    /// All of these days, at that price.
    private func all(_ difference: SalesDifference) -> SalesDifference.Explanation? {
        let candidates = candidates(difference, difference.days)
        let count = candidates.reduce(0) { $0 + $1.count }
        let units = candidates.reduce(0) { $0 + $1.units }
        guard count > 0 else { return nil }
        let named = candidates.flatMap { $0.first.sorted() }.prefix(transactionsMax)
        return SalesDifference.Explanation(
            transactions: named.map(\.id), count: count, units: units, isExact: units == difference.units,
            fromMidnightMilliseconds: nil)
    }

    /// Those of some days that are nearest to the midnight towards other days, as many as the difference has units.
    private func nearMidnight(
        _ difference: SalesDifference, of days: ClosedRange<CivilDay>, to other: ClosedRange<CivilDay>
    ) -> SalesDifference.Explanation? {
        let isForward = other.lowerBound > days.upperBound
        let midnight = zone.start(of: isForward ? other.lowerBound : days.lowerBound)
        let candidates = candidates(difference, days)
        let near = candidates.flatMap { isForward ? $0.last.sorted().reversed() : $0.first.sorted() }
            .sorted { abs($0.time - midnight) < abs($1.time - midnight) }
        var chosen: [Candidate] = []
        var units: Int64 = 0
        for candidate in near where units + candidate.units <= difference.units {
            chosen.append(candidate)
            units += candidate.units
            if units == difference.units || chosen.count == transactionsMax { break }
        }
        guard !chosen.isEmpty else { return nil }
        return SalesDifference.Explanation(
            transactions: chosen.sorted().map(\.id), count: chosen.count, units: units,
            isExact: units == difference.units,
            fromMidnightMilliseconds: chosen.map { abs($0.time - midnight) }.max())
    }
}
