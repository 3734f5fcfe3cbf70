import ArgumentParser
import Ledger
import LedgerWire

struct BaseDate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "base-date",
        abstract: "Writes what Japan's Payment Services Act asks at 31 March and 30 September, as CSV.",
        discussion: """
            The unused balance of what players bought, valued at its price, by storefront, the currency of the price \
            and where it was bought (source), with who vouches for the price (basis); what they were given for free \
            apart, in units alone. A row "total" for each currency of prices adds up what was bought. That of JPY \
            says whether it is above ten million yen; what was bought in other currencies must be converted and added \
            by whoever reports it: the ledger makes up no rates.

            What was bought at a price that the ledger does not know (no signed price, none stated, a correction by \
            hand) is in no sum: rows "unpriced" have its lots and units, to be valued by whoever reports. Where such \
            lots may be of Japan, and the rest is not above ten million yen, isAbove is "unknown".

            Purchases that no account has claimed yet are in no balance: "export unassigned" lists them.

            A date before the ledger began is refused: what players had then, other books say.

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
