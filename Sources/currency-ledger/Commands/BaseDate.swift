import ArgumentParser
import Ledger
import LedgerWire

struct BaseDate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "base-date",
        abstract: "Writes what Japan's Payment Services Act asks at 31 March and 30 September, as CSV.",
        discussion: """
            The unused balance of what players bought, valued at its price, by the storefront and the currency of the \
            price; what they were given for free apart, in units alone. A row "total" for each currency of prices adds \
            up what was bought. That of JPY says whether it is above ten million yen; what was bought in other \
            currencies must be converted and added by whoever reports it: the ledger makes up no rates.

            Purchases that no account has claimed yet are in no balance: "export unassigned" lists them.

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
        let (balance, asOf) = try await place.withReports { source in
            var balance = UnusedBalance()
            let request = ReportRequest(kind: .lots, asOf: end, limit: Limits.reportPageMax)
            let asOf = try await source.read(request, beforeLedger: .isEmpty) { rows in
                for case .line(let line) in rows { balance.add(line) }
            }
            return (balance, asOf)
        }
        let writer = try OutputFile(output)
        try writer.write(Array(CSV.line(UnusedBalance.columns).utf8))
        for fields in balance.rows(asOf: asOf) { try writer.write(Array(CSV.line(fields).utf8)) }
        try writer.finish()
    }
}

/// What players have not used yet: what they bought at its price, and what they were given.
struct UnusedBalance {
    private struct Key: Hashable, Comparable {
        let priceCurrency: String
        let storefront: String
        let currency: String
        /// `paid` or `free`.
        let lotClass: String

        static func < (left: Key, right: Key) -> Bool { left.order.lexicographicallyPrecedes(right.order) }

        /// What was bought first.
        private var order: [String] { [lotClass == "paid" ? "0" : "1", priceCurrency, storefront, currency] }
    }

    private struct Sum {
        var lots = 0
        var units: Int128 = 0
        var money: Int128 = 0
    }

    private var sums: [Key: Sum] = [:]

    static let columns = [
        "row", "asOf", "class", "priceCurrency", "storefront", "currency", "lots", "units", "money", "threshold",
        "isAbove",
    ]

    /// Adds a row of the report `lots`.
    mutating func add(_ line: ReportLine) {
        guard case let left = line.integer("left"), left > 0, let lotClass = line.text("class") else { return }
        let key = Key(
            priceCurrency: line.text("priceCurrency") ?? "", storefront: line.text("storefront") ?? "",
            currency: line.text("currency") ?? "", lotClass: lotClass)
        sums[key, default: Sum()].lots += 1
        sums[key, default: Sum()].units += Int128(left)
        sums[key, default: Sum()].money += Int128(line.thousandths("deferred") ?? 0)
    }

    /// The fields of the rows, in the order of ``columns``.
    func rows(asOf: Timestamp) -> [[String?]] {
        let date = UTCText.time(asOf)
        var rows: [[String?]] = []
        // Also where nothing was bought in yen there is something to say of it.
        var totals: [String: Sum] = ["JPY": Sum()]
        for (key, sum) in sums.sorted(by: { $0.key < $1.key }) {
            let isPaid = key.lotClass == "paid"
            rows.append([
                "line", date, key.lotClass, key.priceCurrency, key.storefront, key.currency, "\(sum.lots)",
                "\(sum.units)", isPaid ? Money.text(thousandths: sum.money) : nil, nil, nil,
            ])
            guard isPaid else { continue }
            totals[key.priceCurrency, default: Sum()].lots += sum.lots
            totals[key.priceCurrency, default: Sum()].money += sum.money
        }
        for (currency, sum) in totals.sorted(by: { $0.key < $1.key }) {
            let isYen = currency == "JPY"
            rows.append([
                "total", date, "paid", currency, nil, nil, "\(sum.lots)", nil, Money.text(thousandths: sum.money),
                isYen ? Money.text(thousandths: BaseDate.threshold) : nil,
                isYen ? (sum.money > BaseDate.threshold ? "yes" : "no") : nil,
            ])
        }
        return rows
    }
}
