import ArgumentParser
import FileLog
import Foundation
import Ledger
import LedgerClient
import LedgerWire
import SQLiteProjection

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a report as CSV, JSON lines or plain-text accounting, or the page of a month.",
        discussion: """
            From a running service (--server) or straight from the tables of a ledger's folder (--path), beside its \
            service or without one: then standard error says up to which block they are. A report as of a past time \
            has the same figures whenever it is asked for.

            A file (--output) is replaced when the report is whole: where it cannot be had, or the command is \
            interrupted, the old file stays as it was.
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

    enum Dates: String, CaseIterable, ExpressibleByArgument {
        case posted, effective
    }

    enum Scope: String, CaseIterable, ExpressibleByArgument {
        case open, all
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
            consumption_requests: what Apple asks, by when it wants an answer; month: a page of most of these figures, \
            for people, with charts.
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
            Of sales and revenue: by when the ledger posted it (posted; a past period never changes), or by when the \
            customer bought or the App Store took back (effective). Default: posted
            """
    )
    var by: Dates?

    @Option(
        help:
            """
            Of consumption_requests, those that can still be answered; of lots, those of which something is left \
            (open); or all. Default: open
            """
    )
    var scope: Scope?

    @Option(help: "Only this currency, of reports whose rows are of one each.")
    var currency: String?

    @Option(name: .shortAndLong, help: "The file to write. Default: standard output")
    var output: String?

    @OptionGroup var server: ServerOptions

    @Option(help: "The ledger's folder, instead of a server.", completion: .directory)
    var path: String?

    func validate() throws {
        if path != nil && server.server != nil {
            throw ValidationError("Give --server or --path, not both.")
        }
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
        if by != nil && !kind.hasEffectiveDates { throw ValidationError("--by is of sales and revenue only.") }
        if format.isJournal && kind != .journal {
            throw ValidationError("--format \(format.rawValue) is of journal only.")
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
        if by != nil { throw ValidationError("--by is of sales and revenue only.") }
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
            dates: by.flatMap { ReportDates(rawValue: $0.rawValue) } ?? .posted,
            scope: scope.flatMap { ReportScope(rawValue: $0.rawValue) } ?? .open,
            currency: currency.flatMap { CurrencyCode($0) }, limit: Limits.reportPageMax)
    }

    private var firstTime: Timestamp? {
        month.flatMap { Month($0) }?.first ?? from.flatMap { TimeText.milliseconds($0) }
    }

    private var lastTime: Timestamp? {
        month.flatMap { Month($0) }?.last ?? asOf.flatMap { TimeText.milliseconds($0) }
    }

    private func run(_ kind: ReportKind) async throws {
        let request = request(kind)
        var writer = try ReportFile(output, format: format ?? .csv, kind: kind)
        var progress = Progress()
        if let path {
            try read(path) { snapshot in
                try snapshot.report(request) { rows in
                    try writer.write(rows)
                    progress.show(writer.count)
                }
            }
        } else {
            try await server.withClient { client in
                try await read(request, from: client) { rows in
                    try writer.write(rows)
                    progress.show(writer.count)
                }
            }
        }
        try writer.finish()
        progress.end(writer.count)
    }

    // MARK: A month

    private func runMonth() async throws {
        guard let first = firstTime else { return }
        // Before anything is read: it may be that nothing can be written there.
        let file = try OutputFile(output)
        var progress = Progress()
        var count = 0
        let page: MonthPage
        if let path {
            page = try read(path) { snapshot in
                var figures = MonthFigures(try FigurePeriod(from: first, through: lastTime ?? snapshot.time))
                for question in figures.questions {
                    try snapshot.report(question.request) { rows in
                        figures.add(rows, of: question)
                        count += rows.count
                        progress.show(count)
                    }
                }
                return MonthPage(figures: figures, ledger: snapshot.ledger)
            }
        } else {
            page = try await server.withClient { client in
                let ledger = try await client.info().ledger
                // The time that is now, and whether the period's end is a time that can be asked for.
                let last = try await client.report(.rollforward, asOf: lastTime, from: first).asOf
                var figures = MonthFigures(try FigurePeriod(from: first, through: last))
                for question in figures.questions {
                    try await read(question.request, from: client) { rows in
                        figures.add(rows, of: question)
                        count += rows.count
                        progress.show(count)
                    }
                }
                return MonthPage(
                    figures: figures,
                    ledger: BlockRows.LedgerRow(bundleID: ledger.bundleID, environment: ledger.environment))
            }
        }
        try page.figures.check()
        try file.write(page.bytes)
        try file.finish()
        progress.end(count)
    }

    // MARK: Where it is read

    /// All pages of a report of a service.
    private func read(
        _ request: ReportRequest, from client: LedgerClient, each: ([ReportRow]) throws -> Void
    ) async throws {
        var request = request
        repeat {
            let page = try await client.report(
                request.kind, asOf: request.asOf, from: request.from, dates: request.dates, scope: request.scope,
                currency: request.currency, limit: request.limit, after: request.after)
            request.asOf = page.asOf
            try each(page.rows)
            request.after = page.next
        } while request.after != nil
    }

    /// Reads the tables in a ledger's folder, and says up to which block they are.
    private func read<Result>(_ path: String, _ body: (SQLiteReports.Snapshot) throws -> Result) throws -> Result {
        do {
            let folder = LedgerFolder(path)
            try folder.check()
            let reports = try SQLiteReports(path: folder.projection)
            try check(lastTime, currency.flatMap { CurrencyCode($0) }, try reports.state())
            return try reports.read { snapshot in
                let (block, time) = (snapshot.block, UTCText.time(snapshot.time))
                Console.error("the tables have all up to block \(block), \(time)")
                return try body(snapshot)
            }
        } catch let error as StoreError {
            throw Failure(error.description)
        } catch let error as LogError {
            throw Failure(error.description)
        } catch let error as ProjectionOpeningError {
            throw Failure(error.description)
        }
    }

    /// Refuses what a service would refuse.
    private func check(_ time: Timestamp?, _ code: CurrencyCode?, _ state: ProjectedState) throws {
        if let code, !state.currencies.contains(code) {
            let known = state.currencies.sorted().map(\.text).joined(separator: ", ")
            throw Failure("the ledger has no currency \(code)\(known.isEmpty ? "" : ", but \(known)")")
        }
        let latest = max(Clock.now(), state.time)
        if let time, time > latest {
            throw Failure("\(UTCText.time(time)) is in the future: it is \(UTCText.time(latest))")
        }
    }
}

/// A month in UTC.
struct Month {
    /// Its first and its last millisecond.
    let first: Timestamp
    let last: Timestamp

    /// - Parameter text: as `2026-01`.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 4, parts[1].utf8.count == 2, let year = Int(parts[0]),
            let month = Int(parts[1]), (1...12).contains(month), year > 1_970,
            let first = TimeText.milliseconds("\(text)-01"),
            let next = TimeText.milliseconds(Month.text(month < 12 ? year : year + 1, month % 12 + 1) + "-01")
        else { return nil }
        self.first = first
        last = next - 1
    }

    private static func text(_ year: Int, _ month: Int) -> String { "\(year)-\(month < 10 ? "0" : "")\(month)" }
}

/// A line on a terminal that says how far a long work is.
struct Progress {
    private let start = ContinuousClock.now
    private var shown = ContinuousClock.now
    private var isVisible = false

    /// Nothing in the first second, then at most ten times a second.
    mutating func show(_ count: Int) {
        let now = ContinuousClock.now
        guard Console.errorIsTerminal, now - start > .seconds(1), now - shown > .milliseconds(100) else { return }
        shown = now
        isVisible = true
        FileHandle.standardError.write(Data("\r\(count) rows".utf8))
    }

    mutating func end(_ count: Int) {
        if isVisible { FileHandle.standardError.write(Data("\r\(count) rows\n".utf8)) }
        isVisible = false
    }
}
