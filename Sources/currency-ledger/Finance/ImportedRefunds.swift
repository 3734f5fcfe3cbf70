import AppleReports
import Ledger

/// A refund of a purchase that was carried over from other books. These books have neither its storefront nor its
/// price, so no row of Apple's is paired with it; but it explains one of its product and day.
struct ImportedRefund {
    let transaction: String
    let product: String
    let units: Int64
    /// In milliseconds since the UNIX epoch.
    let time: Timestamp
}

extension ImportedRefund {
    /// - Parameter line: a row of the report `purchases`; `nil` where it was not taken back.
    init?(_ line: ReportLine) {
        guard line.integer("revoked") > 0, let time = line.optionalInteger("revocationDate"),
            let transaction = line.text("transactionId"), let product = line.text("product")
        else { return nil }
        self.init(transaction: transaction, product: product, units: line.integer("quantity"), time: time)
    }
}

/// Finds which imported refunds explain what Apple took back and our books do not have: each explains one row, once.
///
/// Rows that are explained wholly come first, then those of which a part is; in each of these refunds of a row's own
/// days come before those of the days beside, where Apple may count what is near to midnight. So a refund that a row
/// needs is not used up by a row that has others.
struct ImportedRefunds {
    /// What Apple took back.
    struct Row {
        let product: String
        /// Positive.
        let units: Int64
        let days: ClosedRange<CivilDay>
    }

    /// What explains a row, or a part of it.
    struct Explanation: CustomStringConvertible {
        /// The ids, by time.
        let transactions: [String]
        /// Their units.
        let units: Int64

        var description: String { "of imported purchases \(transactions.joined(separator: " "))" }
    }

    private struct Open {
        let refund: ImportedRefund
        let day: CivilDay
        var isTaken = false
    }

    /// By product, and in each by time.
    private var open: [String: [Open]] = [:]

    /// - Parameter zone: by whose midnights Apple's reports count days.
    private init(_ refunds: [ImportedRefund], zone: ReportZone) {
        for refund in refunds.sorted(by: { ($0.time, $0.transaction) < ($1.time, $1.transaction) }) {
            open[refund.product, default: []].append(Open(refund: refund, day: zone.day(at: refund.time)))
        }
    }

    /// Explains rows.
    /// - Parameters:
    ///   - rows: in their order; `nil` for what no refund can explain.
    ///   - zone: by whose midnights Apple's reports count days.
    /// - Returns: of each row what explains it; `nil` where nothing does.
    static func explanations(
        of rows: [Row?], by refunds: [ImportedRefund], zone: ReportZone
    ) -> [Explanation?] {
        var refunds = ImportedRefunds(refunds, zone: zone)
        var taken = [[Int]](repeating: [], count: rows.count)
        for isPart in [false, true] {
            for daysBeside in [0, 1] {
                for case (let place, let row?) in rows.enumerated() {
                    let rest = row.units - refunds.units(of: taken[place], row.product)
                    if rest > 0 { taken[place] += refunds.take(rest, for: row, daysBeside: daysBeside, orPart: isPart) }
                }
            }
        }
        return zip(rows, taken).map { row, places in
            guard let row, !places.isEmpty else { return nil }
            return Explanation(
                transactions: places.sorted().compactMap { refunds.open[row.product]?[$0].refund.transaction },
                units: refunds.units(of: places, row.product))
        }
    }

    private func units(of places: [Int], _ product: String) -> Int64 {
        places.reduce(0) { $0 + (open[product]?[$1].refund.units ?? 0) }
    }

    /// Takes refunds that make up units of a row.
    /// - Parameters:
    ///   - daysBeside: on how many days before and after the row's they may be.
    ///   - orPart: whether as many as possible are taken where they do not make up all.
    /// - Returns: their places among those of the product; none where they do not.
    private mutating func take(_ units: Int64, for row: Row, daysBeside: Int, orPart: Bool) -> [Int] {
        guard let ofProduct = open[row.product] else { return [] }
        let days = row.days.lowerBound.advanced(by: -daysBeside)...row.days.upperBound.advanced(by: daysBeside)
        let candidates = ofProduct.indices.filter { !ofProduct[$0].isTaken && days.contains(ofProduct[$0].day) }
        // Those of the row's own days, and the earlier ones, are taken first.
        let (own, beside) = (
            candidates.filter { row.days.contains(ofProduct[$0].day) },
            candidates.filter { !row.days.contains(ofProduct[$0].day) }
        )
        let taken = Self.places(own + beside, upTo: units) { ofProduct[$0].refund.units }
        guard orPart || self.units(of: taken, row.product) == units else { return [] }
        for place in taken { open[row.product]?[place].isTaken = true }
        return taken
    }

    /// Of rows with more units, and of which not all refunds are, none are picked: people have to.
    private static let unitsMax: Int64 = 100_000

    /// Which of some places have together the most units that do not pass a bound, earlier ones preferred.
    private static func places(_ places: [Int], upTo bound: Int64, units: (Int) -> Int64) -> [Int] {
        let places = places.filter { units($0) > 0 && units($0) <= bound }
        let all = places.reduce(0) { min($0 + units($1), bound + 1) }
        if all <= bound { return places }
        guard bound <= unitsMax else { return [] }
        // Of each sum that can be had, the place that was added to make it.
        var added = [Int?](repeating: nil, count: Int(bound) + 1)
        for place in places where added[Int(bound)] == nil {
            let own = Int(units(place))
            // Downwards, so that a place is added once.
            for sum in stride(from: Int(bound), through: own, by: -1)
            where added[sum] == nil && (sum == own || added[sum - own] != nil) {
                added[sum] = place
            }
        }
        var sum = added.lastIndex { $0 != nil } ?? 0
        var taken: [Int] = []
        while let place = added[sum] {
            taken.append(place)
            sum -= Int(units(place))
        }
        return taken
    }
}
