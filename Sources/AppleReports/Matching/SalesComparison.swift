/// One product, storefront and currency on both sides.
///
/// Units are paired by their price on the same days, then with those of the days beside, then at other prices; what is
/// left over is missing on one side.
struct SalesComparison {
    private let key: SalesKey
    /// The days of the reports, in order.
    private let spans: [ClosedRange<CivilDay>]
    private var both: [Int: [SalesMatching.Units: Counts]] = [:]
    private(set) var lines: [SalesMatch.Line] = []
    private(set) var differences: [SalesDifference] = []

    private struct Counts {
        var booked: Int64 = 0
        var reported: Int64 = 0
    }

    init(key: SalesKey, spans: [ClosedRange<CivilDay>]) {
        self.key = key
        self.spans = spans
    }

    /// Adds what our books have; `false` where there is no report of the day.
    mutating func book(_ units: [SalesMatching.Units: Int64], on day: CivilDay) -> Bool {
        guard let span = spans.place(of: day) else { return false }
        for (units, count) in units { both[span, default: [:]][units, default: .init()].booked += count }
        return true
    }

    /// Adds what a report has.
    /// - Parameter first: its first day.
    mutating func report(_ units: [SalesMatching.Units: Int64], from first: CivilDay) {
        guard let span = spans.place(of: first) else { preconditionFailure("a report of no days") }
        for (units, count) in units { both[span, default: [:]][units, default: .init()].reported += count }
    }

    /// Fills ``lines`` and ``differences``.
    mutating func compare() {
        for direction in SaleDirection.allCases { compare(direction) }
        let days = differences.reduce(into: Set<CivilDay>()) { days, difference in
            days.insert(difference.days.lowerBound)
            if case .otherDay(let other) = difference.kind { days.insert(other.lowerBound) }
        }
        for span in both.keys.sorted() {
            lines.append(
                SalesMatch.Line(
                    key: key, days: spans[span], booked: side(span, \.booked), reported: side(span, \.reported),
                    agrees: !days.contains(spans[span].lowerBound)))
        }
        differences.sort {
            ($0.days.lowerBound, $0.direction, $0.unitPrice ?? .zero)
                < ($1.days.lowerBound, $1.direction, $1.unitPrice ?? .zero)
        }
    }

    private func side(_ span: Int, _ count: KeyPath<Counts, Int64>) -> SalesMatch.Side {
        var side = SalesMatch.Side()
        var money: Int128 = 0
        for (units, counts) in both[span] ?? [:] {
            let count = counts[keyPath: count]
            switch units.direction {
            case .sold: side.unitsSold += count
            case .refunded: side.unitsRefunded += count
            }
            guard let price = units.price else {
                side.unitsWithoutPrice += count
                continue
            }
            money += Int128(price.rawValue) * Int128(units.direction == .sold ? count : -count)
        }
        side.money = Thousandths(rawValue: Int64(clamping: money))
        return side
    }

    // MARK: Pairing

    /// Units that have no counterpart yet, by price; by span.
    private typealias Rest = [Int: [Thousandths: Int64]]

    private mutating func compare(_ direction: SaleDirection) {
        var booked: Rest = [:]
        var reported: Rest = [:]
        for (span, units) in both {
            var withoutPrice: Int64 = 0
            for (units, counts) in units where units.direction == direction {
                guard let price = units.price else {
                    withoutPrice += counts.booked
                    continue
                }
                let paired = min(counts.booked, counts.reported)
                if counts.booked > paired { booked[span, default: [:]][price] = counts.booked - paired }
                if counts.reported > paired { reported[span, default: [:]][price] = counts.reported - paired }
            }
            withoutPrice = pairUnpriced(withoutPrice, &reported[span, default: [:]])
            if withoutPrice > 0 { note(.fewer, direction, span, price: nil, units: withoutPrice) }
        }
        pairNeighbours(direction, &booked, &reported)
        pairPrices(direction, &booked, &reported)
        for span in booked.keys.sorted() {
            for (price, units) in (booked[span] ?? [:]).sorted(by: { $0.key < $1.key }) {
                note(.fewer, direction, span, price: price, units: units)
            }
        }
        for span in reported.keys.sorted() {
            for (price, units) in (reported[span] ?? [:]).sorted(by: { $0.key < $1.key }) {
                note(.more, direction, span, price: price, units: units)
            }
        }
    }

    /// Units of which our books do not have the price are paired with any.
    private func pairUnpriced(_ count: Int64, _ reported: inout [Thousandths: Int64]) -> Int64 {
        var rest = count
        for price in reported.keys.sorted() where rest > 0 {
            let paired = min(rest, reported[price] ?? 0)
            reported.take(paired, at: price)
            rest -= paired
        }
        return rest
    }

    private mutating func pairNeighbours(_ direction: SaleDirection, _ booked: inout Rest, _ reported: inout Rest) {
        for next in spans.indices.dropFirst()
        where spans[next - 1].upperBound.advanced(by: 1) == spans[next].lowerBound {
            for (here, there) in [(next - 1, next), (next, next - 1)] {
                for price in (booked[here] ?? [:]).keys.sorted() {
                    let units = min(booked[here]?[price] ?? 0, reported[there]?[price] ?? 0)
                    guard units > 0 else { continue }
                    booked[here]?.take(units, at: price)
                    reported[there]?.take(units, at: price)
                    append(.otherDay(spans[there]), direction, here, price: price, units: units)
                }
            }
        }
    }

    private mutating func pairPrices(_ direction: SaleDirection, _ booked: inout Rest, _ reported: inout Rest) {
        for span in booked.keys.sorted() {
            for price in (booked[span] ?? [:]).keys.sorted() {
                for other in (reported[span] ?? [:]).keys.sorted() {
                    let units = min(booked[span]?[price] ?? 0, reported[span]?[other] ?? 0)
                    guard units > 0 else { continue }
                    booked[span]?.take(units, at: price)
                    reported[span]?.take(units, at: other)
                    append(.price(booked: price, reported: other), direction, span, price: price, units: units)
                }
            }
        }
    }

    // MARK: Naming

    private enum Excess { case fewer, more }

    private mutating func note(
        _ excess: Excess, _ direction: SaleDirection, _ span: Int, price: Thousandths?, units: Int64
    ) {
        let here = both[span]?[.init(direction: direction, price: price)] ?? Counts()
        let kind: SalesDifference.Kind =
            switch excess {
            case .fewer: total(span, direction, \.reported) == 0 ? .missingInReport : .fewerInReport
            case .more where total(span, direction, \.booked) == 0: .missingInBooks
            case .more: units == here.booked && here.reported == 2 * here.booked ? .doubledInReport : .moreInReport
            }
        append(kind, direction, span, price: price, units: units)
    }

    private mutating func append(
        _ kind: SalesDifference.Kind, _ direction: SaleDirection, _ span: Int, price: Thousandths?, units: Int64
    ) {
        differences.append(
            SalesDifference(
                key: key, days: spans[span], direction: direction, kind: kind, units: units, unitPrice: price,
                bookedUnits: total(span, direction, \.booked), reportedUnits: total(span, direction, \.reported)))
    }

    private func total(_ span: Int, _ direction: SaleDirection, _ count: KeyPath<Counts, Int64>) -> Int64 {
        (both[span] ?? [:]).reduce(0) { $0 + ($1.key.direction == direction ? $1.value[keyPath: count] : 0) }
    }
}

extension [Thousandths: Int64] {
    /// Takes units away; what is none is not kept.
    fileprivate mutating func take(_ units: Int64, at price: Thousandths) {
        let rest = (self[price] ?? 0) - units
        precondition(rest >= 0, "more units are taken than there are")
        self[price] = rest == 0 ? nil : rest
    }
}

extension [ClosedRange<CivilDay>] {
    /// Which of the ranges, which are in order and do not overlap, a day is in; `nil` where it is in none.
    func place(of day: CivilDay) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].upperBound < day { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low].contains(day) ? low : nil
    }
}
