import Ledger

/// A refund of a purchase that was carried over from other books. These books have neither its storefront nor its
/// price, so no row of Apple's is paired with it; but it explains one of its product and day.
///
/// How many units were bought they do not have either: other books say what is left of a purchase, and it stands here
/// with a quantity of 1. So a refund explains one unit of a row. It may have been of more.
struct ImportedRefund {
    let transaction: String
    let product: String
    /// In milliseconds since the UNIX epoch.
    let time: Timestamp
}

extension ImportedRefund {
    /// - Parameter line: a row of the report `purchases`; `nil` where it was not taken back.
    init?(_ line: ReportLine) {
        guard line.integer("revoked") > 0, let time = line.optionalInteger("revocationDate"),
            let transaction = line.text("transactionId"), let product = line.text("product")
        else { return nil }
        self.init(transaction: transaction, product: product, time: time)
    }
}

/// Finds which imported refunds explain what Apple took back and our books do not have: each explains one unit of one
/// row.
///
/// Rows of one unit come first, and as many of them are explained as can be: those whose time ends first go first, and
/// each takes the earliest refund that is left, which the others need least. Then come rows of more units, those of
/// fewer first, as far as they are explained wholly, and at last what is left explains parts of the others; of these
/// another choice might explain more. In the end of each turn a row that took a refund from beside its days gives it up
/// for one of its days, where one is left: so nothing is lost by it.
struct ImportedRefunds {
    /// What Apple took back.
    struct Row {
        let product: String
        /// Positive.
        let units: Int64
        /// The times of the row's days.
        let days: Range<Timestamp>
        /// These, and those beside them that Apple may count on these days.
        let near: Range<Timestamp>
    }

    /// What explains a row, or a part of it.
    struct Explanation: CustomStringConvertible {
        /// The ids, by time. Each explains one unit.
        let transactions: [String]

        /// How many units are explained, at least.
        var units: Int64 { Int64(transactions.count) }

        var description: String { "of imported purchases \(transactions.joined(separator: " "))" }
    }

    /// Of one product, by time.
    private let refunds: [ImportedRefund]
    private var free: FreePlaces

    /// - Parameter refunds: of one product.
    private init(_ refunds: [ImportedRefund]) {
        self.refunds = refunds.sorted { ($0.time, $0.transaction) < ($1.time, $1.transaction) }
        free = FreePlaces(count: refunds.count)
    }

    /// Explains rows.
    /// - Parameter rows: `nil` for what no refund can explain.
    /// - Returns: of each row what explains it; `nil` where nothing does.
    static func explanations(of rows: [Row?], by refunds: [ImportedRefund]) -> [Explanation?] {
        var explanations = [Explanation?](repeating: nil, count: rows.count)
        let ofProducts = Dictionary(grouping: refunds, by: \.product)
        let numbered = rows.enumerated().compactMap { number, row in row.map { (number: number, row: $0) } }
        for (product, rows) in Dictionary(grouping: numbered, by: \.row.product) {
            guard let refunds = ofProducts[product] else { continue }
            var explaining = ImportedRefunds(refunds)
            for (row, places) in zip(rows, explaining.takeRefunds(for: rows.map(\.row))) where !places.isEmpty {
                explanations[row.number] = Explanation(
                    transactions: places.sorted().map { explaining.refunds[$0].transaction })
            }
        }
        return explanations
    }

    /// - Parameter rows: of the product.
    /// - Returns: for each row the places of the refunds that explain it.
    private mutating func takeRefunds(for rows: [Row]) -> [[Int]] {
        var taken = [[Int]](repeating: [], count: rows.count)
        let inOrder = rows.indices.sorted {
            (rows[$0].units, rows[$0].near.upperBound, $0) < (rows[$1].units, rows[$1].near.upperBound, $1)
        }
        let more = inOrder.drop { rows[$0].units == 1 }
        for (turn, isPart) in [(inOrder[..<more.startIndex], false), (more, false), (more, true)] {
            for row in turn where taken[row].isEmpty { taken[row] = take(for: rows[row], isPart: isPart) }
            // Backwards: what a row gives up is mostly of the days before its own, which rows before it may have.
            for row in turn.reversed() { preferDays(of: rows[row], to: &taken[row]) }
        }
        return taken
    }

    /// Takes the earliest refunds that explain a row.
    /// - Parameter isPart: whether as many as there are may be less than all.
    private mutating func take(for row: Row, isPart: Bool) -> [Int] {
        let near = places(row.near)
        let count = Int64(free.count(in: near))
        guard isPart || count >= row.units else { return [] }
        return (0..<min(count, row.units)).compactMap { _ in
            guard let place = free.first(in: near) else { return nil }
            free.take(place)
            return place
        }
    }

    /// Puts refunds of a row's days, where some are left, in the place of those from beside.
    private mutating func preferDays(of row: Row, to taken: inout [Int]) {
        let days = places(row.days)
        for index in taken.indices where !days.contains(taken[index]) {
            guard let place = free.first(in: days) else { return }
            free.take(place)
            free.free(taken[index])
            taken[index] = place
        }
    }

    private func places(_ times: Range<Timestamp>) -> Range<Int> {
        place(ofFirstSince: times.lowerBound)..<place(ofFirstSince: times.upperBound)
    }

    private func place(ofFirstSince time: Timestamp) -> Int {
        var (low, high) = (0, refunds.count)
        while low < high {
            let middle = (low + high) / 2
            if refunds[middle].time < time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
