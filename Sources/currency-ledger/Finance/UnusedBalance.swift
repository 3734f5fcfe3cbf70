import Ledger
import LedgerWire

/// What players have not used yet: what they bought at its price, and what they were given.
struct UnusedBalance {
    private enum Part: Int {
        /// Bought, at a price that is known.
        case priced
        /// Bought, or added as if it was, at a price that nobody told the ledger.
        case unpriced
        case free
    }

    private struct Key: Hashable, Comparable {
        let part: Part
        let priceCurrency: String
        let storefront: String
        let source: String
        /// Who vouches for the price; of what has none, empty.
        let basis: String
        let currency: String

        static func < (left: Key, right: Key) -> Bool {
            left.part == right.part
                ? left.order.lexicographicallyPrecedes(right.order) : left.part.rawValue < right.part.rawValue
        }

        private var order: [String] { [priceCurrency, storefront, source, currency] }

        /// Whether it is of Japan, or may be: what other stores sold and what was added by hand has no storefront.
        var mayBeOfJapan: Bool { storefront == "JPN" || storefront.isEmpty }
    }

    private struct Sum {
        var lots = 0
        var units: Int128 = 0
        var money: Int128 = 0
        /// Who vouches for parts of the money.
        var bases: Set<String> = []
    }

    private var sums: [Key: Sum] = [:]

    static let columns = [
        "row", "asOf", "class", "priceCurrency", "storefront", "source", "basis", "currency", "lots", "units", "money",
        "threshold", "isAbove",
    ]

    /// Adds a row of the report `lots`.
    mutating func add(_ line: ReportLine) {
        guard case let left = line.integer("left"), left > 0 else { return }
        let priceCurrency = line.word("priceCurrency")
        let part: Part =
            line.word("class") == LotClass.free.name ? .free : priceCurrency.isEmpty ? .unpriced : .priced
        let key = Key(
            part: part, priceCurrency: priceCurrency, storefront: line.word("storefront"),
            source: line.word("source"), basis: part == .priced ? line.word("basis") : "",
            currency: line.word("currency"))
        sums[key, default: Sum()].lots += 1
        sums[key, default: Sum()].units += Int128(left)
        sums[key, default: Sum()].money += Int128(line.thousandths("deferred") ?? 0)
    }

    /// What was bought at a price that nobody told the ledger.
    var unpriced: (lots: Int, units: Int128) {
        let sums = sums.filter { $0.key.part == .unpriced }.values
        return (sums.reduce(0) { $0 + $1.lots }, sums.reduce(0) { $0 + $1.units })
    }

    /// Whether the unused balance is above ten million yen, by what is priced in yen.
    private func isAbove(_ yen: Int128) -> String {
        if yen > BaseDate.threshold { return "yes" }
        return sums.keys.contains { $0.part == .unpriced && $0.mayBeOfJapan } ? "unknown" : "no"
    }

    /// The fields of the rows, in the order of ``columns``.
    func rows(asOf: Timestamp) -> [[String?]] {
        let date = UTCText.time(asOf)
        var rows: [[String?]] = []
        // Also where nothing was bought in yen there is something to say of it.
        var totals: [String: Sum] = ["JPY": Sum()]
        for (key, sum) in sums.sorted(by: { $0.key < $1.key }) {
            let isPriced = key.part == .priced
            rows.append([
                key.part == .unpriced ? "unpriced" : "line", date,
                (key.part == .free ? LotClass.free : LotClass.paid).name, key.priceCurrency, key.storefront, key.source,
                key.basis, key.currency, "\(sum.lots)", "\(sum.units)",
                isPriced ? Money.text(thousandths: sum.money) : nil, nil, nil,
            ])
            guard isPriced else { continue }
            totals[key.priceCurrency, default: Sum()].lots += sum.lots
            totals[key.priceCurrency, default: Sum()].money += sum.money
            totals[key.priceCurrency, default: Sum()].bases.insert(key.basis)
        }
        for (currency, sum) in totals.sorted(by: { $0.key < $1.key }) {
            let isYen = currency == "JPY"
            let bases = MoneyBasis.allCases.map(\.rawValue).filter(sum.bases.contains)
            rows.append([
                "total", date, LotClass.paid.name, currency, nil, nil, bases.joined(separator: " "), nil,
                "\(sum.lots)", nil,
                Money.text(thousandths: sum.money), isYen ? Money.text(thousandths: BaseDate.threshold) : nil,
                isYen ? isAbove(sum.money) : nil,
            ])
        }
        return rows
    }
}
