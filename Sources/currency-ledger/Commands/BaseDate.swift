import ArgumentParser
import Ledger
import LedgerWire

struct BaseDate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "base-date",
        abstract: "Writes what Japan's Payment Services Act asks at 31 March and 30 September, as CSV.",
        discussion: """
            The unused balance of what players bought, valued at its price, by storefront, the currency of the price \
            and where it was bought (source); what they were given for free apart, in units alone. A row "total" for \
            each currency of prices adds up what was bought. That of JPY says whether it is above ten million yen; \
            what was bought in other currencies must be converted and added by whoever reports it: the ledger makes up \
            no rates.

            What was bought at a price that the ledger does not know (no signed price, none stated, a correction by \
            hand) is in no sum: rows "unpriced" have its lots and units, to be valued by whoever reports. Where such \
            lots may be of Japan, and the rest is not above ten million yen, isAbove is "unknown".

            Purchases that no account has claimed yet are in no balance: "export unassigned" lists them.

            Of a period that was closed, a file says beside it which block fixes it, as those of "export" do.

            currency-ledger base-date 2026-03-31 --output base-date.csv
            """)

    @Argument(
        help:
            """
            The base date: a 31 March or 30 September, whose end in Japan (UTC+9) counts. Default: now, to see how \
            near the threshold is
            """
    )
    var date: String?

    @Option(name: .shortAndLong, help: "The file to write. Default: standard output")
    var output: String?

    @OptionGroup var place: ReportPlace

    /// Above this the unused balance must be secured, in thousandths of a yen (Payment Services Act, article 14; its
    /// Enforcement Order, article 6).
    static let threshold: Int128 = 10_000_000_000

    /// Of a day in Japan, before that of UTC.
    private static let japanMilliseconds: Int64 = 9 * 3_600_000

    /// The last millisecond of the day in Japan; `nil` where the text is no base date.
    static func end(of date: String) -> Timestamp? {
        guard date.wholeMatch(of: /[0-9]{4}-(03-31|09-30)/) != nil else { return nil }
        return TimeText.milliseconds(date).map { $0 + 86_400_000 - japanMilliseconds - 1 }
    }

    func validate() throws {
        guard let date else { return }
        guard BaseDate.end(of: date) != nil else {
            throw ValidationError("The base date must be a 31 March or 30 September, as 2026-03-31, not '\(date)'.")
        }
    }

    func run() async throws {
        let end = date.flatMap { BaseDate.end(of: $0) }
        var file = try SealedFile(output)
        let (balance, asOf) = try await place.withReports { source in
            var balance = UnusedBalance()
            let request = ReportRequest(kind: .lots, asOf: end, limit: Limits.reportPageMax)
            let asOf = try await source.read(request) { rows in
                for case .line(let line) in rows { balance.add(line) }
            }
            if let end {
                try file.set(try await place.seal(.init(report: "base-date", through: end), source))
            }
            return (balance, asOf)
        }
        let rows = balance.rows(asOf: asOf)
        try file.write(Array(CSV.line(UnusedBalance.columns).utf8))
        for fields in rows { try file.write(Array(CSV.line(fields).utf8)) }
        try file.finish(rows: rows.count)
        let (lots, units) = balance.unpriced
        if lots > 0 {
            Console.error(
                """
                \(lots) paid lot\(lots == 1 ? " has" : "s have") no price, with \(units) units left: the rows \
                unpriced. No sum has them
                """)
        }
    }
}

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
    }

    private var sums: [Key: Sum] = [:]

    static let columns = [
        "row", "asOf", "class", "priceCurrency", "storefront", "source", "currency", "lots", "units", "money",
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
            source: line.word("source"), currency: line.word("currency"))
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
                key.currency, "\(sum.lots)", "\(sum.units)", isPriced ? Money.text(thousandths: sum.money) : nil, nil,
                nil,
            ])
            guard isPriced else { continue }
            totals[key.priceCurrency, default: Sum()].lots += sum.lots
            totals[key.priceCurrency, default: Sum()].money += sum.money
        }
        for (currency, sum) in totals.sorted(by: { $0.key < $1.key }) {
            let isYen = currency == "JPY"
            rows.append([
                "total", date, LotClass.paid.name, currency, nil, nil, nil, "\(sum.lots)", nil,
                Money.text(thousandths: sum.money), isYen ? Money.text(thousandths: BaseDate.threshold) : nil,
                isYen ? isAbove(sum.money) : nil,
            ])
        }
        return rows
    }
}
