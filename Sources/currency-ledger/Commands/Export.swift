import ArgumentParser
import Foundation
import Ledger
import LedgerWire

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a report as CSV, JSON lines or plain-text accounting, or the page of a month.",
        discussion: """
            From a running service (--server) or straight from the tables of a ledger's folder (--path), beside its \
            service or without one: then standard error says up to which block they are. A report up to a time is \
            refused where the log beside them has more, and something of that time may be missing. A report as of a \
            past time has the same figures whenever it is asked for.

            A file (--output) is replaced when the report is whole: where it cannot be had, or the command is \
            interrupted, the old file stays as it was.

            A report of a period that was closed (currency-ledger close) has the same bytes for ever, but for the \
            names of players who were forgotten since. It says which books and which block it is of: JSON lines in a \
            first line, journals in comments, a page at its head, and every file in one beside it, NAME.meta.json, \
            with the time it was made. What is cut --by effective is never fixed, and says nothing of the kind.
            """)

    /// A report, by its name, or a page of several.
    enum Kind: ExpressibleByArgument {
        case report(ReportKind)
        case month

        static let allValueStrings = ReportKind.allCases.map(\.rawValue) + [monthName]

        private static let monthName = "month"

        init?(argument: String) {
            if argument == Kind.monthName {
                self = .month
            } else if let report = ReportKind(rawValue: argument) {
                self = .report(report)
            } else {
                return nil
            }
        }

        var name: String {
            switch self {
            case .report(let report): report.rawValue
            case .month: Kind.monthName
            }
        }
    }

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case csv, jsonl, hledger, ledger, beancount, html

        /// Whether it is plain-text accounting.
        var isJournal: Bool {
            switch self {
            case .csv, .jsonl, .html: false
            case .hledger, .ledger, .beancount: true
            }
        }
    }

    @Argument(
        help:
            """
            balances: every wallet that is not empty; trial: the turnover and balance of every kind of account; debts: \
            what players owe after refunds; rollforward: how what players have changed; sales, revenue, deferred: what \
            was sold, earned by spends, and neither yet, in money; lots, spends, purchases, unassigned, journal: what \
            these are made of, line by line; notifications: what Apple told, and what it changed; \
            consumption_requests: what Apple asks, by when it wants an answer; closings: the periods that were closed, \
            with the blocks that fix them; month: a page of most of these figures, for people, with charts.
            """
    )
    var kind: Kind

    @Option(
        help:
            """
            csv (RFC 4180, with a header line) or jsonl (one object a line); of journal also hledger, ledger or \
            beancount; of month html, one file that needs nothing else. Default: csv; of month html
            """
    )
    private var format: Format?

    @Option(
        help:
            """
            Entries up to and with this time: milliseconds since 1970 or ISO 8601, as 2026-01-31T23:59:59.999Z. \
            Default: now; with --path the time of the last block that the tables have
            """
    )
    var asOf: String?

    @Option(
        help:
            """
            Of a report of a period, only what was posted at this time or later: a time as with --as-of, which is the \
            period's end.
            """
    )
    var from: String?

    @Option(help: "Of a report of a period, this month in UTC, as 2026-01: instead of --from and --as-of.")
    var month: String?

    @Option(
        help:
            """
            Of reports of finance that have movements: by when the ledger posted them (posted; a past period never \
            changes), or by when the customer bought or the App Store took back (effective). Default: posted
            """
    )
    var by: ReportDates?

    @Option(
        help:
            """
            Of consumption_requests, those that can still be answered; of lots, those of which something is left \
            (open); or all. Default: open
            """
    )
    var scope: ReportScope?

    @Option(help: "Only this currency, of reports whose rows are of one each.")
    var currency: String?

    @Option(name: .shortAndLong, help: "The file to write. Default: standard output")
    var output: String?

    @Flag(
        help:
            """
            Only of a period that was closed: with --month or --as-of. Refused where it is open.
            """
    )
    var closed = false

    @OptionGroup var place: ReportPlace

    func validate() throws {
        if let asOf, TimeText.milliseconds(asOf) == nil {
            throw ValidationError("--as-of must be milliseconds since 1970 or ISO 8601, not '\(asOf)'.")
        }
        if let from, TimeText.milliseconds(from) == nil {
            throw ValidationError("--from must be milliseconds since 1970 or ISO 8601, not '\(from)'.")
        }
        if let month {
            if from != nil || asOf != nil { throw ValidationError("Give --month, or --from and --as-of.") }
            if Month(month) == nil { throw ValidationError("--month must be as 2026-01, not '\(month)'.") }
        }
        if let currency, CurrencyCode(currency) == nil {
            throw ValidationError("'\(currency)' is not a currency's code.")
        }
        if closed && month == nil && asOf == nil { throw ValidationError("--closed needs --month or --as-of.") }
        switch kind {
        case .report(let report): try validate(report)
        case .month: try validateMonth()
        }
    }

    private func validate(_ kind: ReportKind) throws {
        let format = format ?? .csv
        if (from != nil || month != nil) && !kind.isOfPeriods {
            throw ValidationError("\(kind.rawValue) is of one time: give --as-of.")
        }
        if by != nil && !kind.hasEffectiveDates { throw ValidationError("--by is not of \(kind.rawValue).") }
        if format.isJournal && kind != .journal {
            throw ValidationError("--format \(format.rawValue) is of journal only.")
        }
        if closed && by == .effective {
            throw ValidationError("--by effective is never closed: what is told late changes it.")
        }
        if format == .html { throw ValidationError("--format html is of month only.") }
        if scope != nil && !kind.hasScopes {
            throw ValidationError("--scope is of consumption_requests and lots only.")
        }
        if currency != nil && !kind.isOfCurrencies {
            throw ValidationError("--currency is not of \(kind.rawValue).")
        }
    }

    private func validateMonth() throws {
        if month == nil && from == nil {
            throw ValidationError("month needs --month, or --from with or without --as-of.")
        }
        if let format, format != .html { throw ValidationError("month is --format html, not \(format.rawValue).") }
        if by != nil { throw ValidationError("--by is not of month.") }
        if scope != nil { throw ValidationError("--scope is of consumption_requests and lots only.") }
        if currency != nil { throw ValidationError("--currency is not of month.") }
    }

    func run() async throws {
        switch kind {
        case .report(let report): try await run(report)
        case .month: try await runMonth()
        }
    }

    // MARK: A report

    /// What is asked for.
    private func request(_ kind: ReportKind) -> ReportRequest {
        ReportRequest(
            kind: kind, asOf: lastTime, from: firstTime,
            dates: by ?? .posted, scope: scope ?? .open, currency: currency.flatMap { CurrencyCode($0) },
            limit: Limits.reportPageMax)
    }

    private var firstTime: Timestamp? {
        month.flatMap { Month($0) }?.first ?? from.flatMap { TimeText.milliseconds($0) }
    }

    private var lastTime: Timestamp? {
        month.flatMap { Month($0) }?.last ?? asOf.flatMap { TimeText.milliseconds($0) }
    }

    private func run(_ kind: ReportKind) async throws {
        let request = request(kind)
        // Before anything is asked: it may be that nothing can be written there.
        var writer = try ReportFile(output, format: format ?? .csv, kind: kind)
        let progress = ProgressBar("exporting \(kind.rawValue)")
        defer { progress.end() }
        try await place.withReports { source in
            if let subject = ReportSeal.Subject(request) {
                try writer.set(try await place.seal(subject, source, isRequired: closed))
            }
            var reach = ReportReach(request)
            _ = try await source.read(request) { rows in
                try writer.write(rows)
                reach.add(rows)
                progress.show(rows: writer.count, reach.done, of: reach.all)
            }
        }
        try writer.finish()
    }

    // MARK: A month

    private func runMonth() async throws {
        guard let first = firstTime else { return }
        // Before anything is read: it may be that nothing can be written there.
        var file = try SealedFile(output)
        let progress = ProgressBar("exporting month")
        defer { progress.end() }
        var count = 0
        let page = try await place.withReports { source in
            let whole = ReportRequest(kind: .rollforward, asOf: lastTime, from: first, limit: Limits.reportPageMax)
            if closed, let lastTime { _ = try await Closings.required(through: lastTime, source) }
            // The time that is now, and whether the period's end is a time that can be asked for.
            let last = try await source.read(whole) { _ in }
            var figures = MonthFigures(try FigurePeriod(from: first, through: last))
            // Each is of the same time, of which nothing changes any more: so they are of one state.
            func ask(_ questions: [MonthFigures.Question]) async throws {
                for (place, question) in questions.enumerated() {
                    _ = try await source.read(question.request, isTold: false, beforeLedger: .isEmpty) { rows in
                        figures.add(rows, of: question)
                        count += rows.count
                        progress.show(rows: count, Int64(place), of: Int64(questions.count))
                    }
                }
            }
            try await ask(figures.questions)
            try await ask(figures.questionsOfImports)
            // A page that ends now is of a period that goes on.
            if lastTime != nil {
                let subject = ReportSeal.Subject(report: kind.name, from: first, through: last)
                try file.set(try await place.seal(subject, source))
            }
            let books = try await source.books()
            return MonthPage(
                figures: figures,
                ledger: books.map { BlockRows.LedgerRow(bundleID: $0.bundleID, environment: $0.environment) },
                closing: file.seal?.closing)
        }
        try page.figures.check()
        try file.write(page.bytes)
        try file.finish(rows: count)
    }
}
