import ArgumentParser
import FileLog
import Foundation
import Ledger
import LedgerClient
import LedgerWire
import SQLiteProjection

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a report as CSV, JSON lines or plain-text accounting.",
        discussion: """
            From a running service (--server) or straight from the tables of a ledger's folder (--path), beside its \
            service or without one: then standard error says up to which block they are. A report as of a past time \
            has the same figures whenever it is asked for.

            A file (--output) is replaced when the report is whole: where it cannot be had, or the command is \
            interrupted, the old file stays as it was.

            A report of a period that was closed (currency-ledger close) has the same bytes for ever. It says which \
            books and which block it is of: JSON lines in a first line, journals in comments, and every file in one \
            beside it, NAME.meta.json, with the time it was made.
            """)

    /// A report, by its name.
    struct Kind: ExpressibleByArgument {
        static let allValueStrings = ReportKind.allCases.map(\.rawValue)

        let report: ReportKind

        init?(argument: String) {
            guard let report = ReportKind(rawValue: argument) else { return nil }
            self.report = report
        }
    }

    enum Dates: String, CaseIterable, ExpressibleByArgument {
        case posted, effective
    }

    enum Scope: String, CaseIterable, ExpressibleByArgument {
        case open, all
    }

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case csv, jsonl, hledger, ledger, beancount

        /// Whether it is plain-text accounting.
        var isJournal: Bool {
            switch self {
            case .csv, .jsonl: false
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
            with the blocks that fix them.
            """
    )
    var name: Kind

    private var kind: ReportKind { name.report }

    @Option(
        help:
            """
            csv (RFC 4180, with a header line) or jsonl (one object a line); of journal also hledger, ledger or \
            beancount.
            """
    )
    var format: Format = .csv

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

    @Flag(
        help:
            """
            Only of a period that was closed: with --month or --as-of. Refused where it is open.
            """
    )
    var closed = false

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
        if (from != nil || month != nil) && !kind.isOfPeriods {
            throw ValidationError("\(kind.rawValue) is of one time: give --as-of.")
        }
        if by != nil && !kind.hasEffectiveDates { throw ValidationError("--by is of sales and revenue only.") }
        if format.isJournal && kind != .journal {
            throw ValidationError("--format \(format.rawValue) is of journal only.")
        }
        if closed && month == nil && asOf == nil { throw ValidationError("--closed needs --month or --as-of.") }
        if closed && by == .effective {
            throw ValidationError("--by effective is never closed: what is told late changes it.")
        }
        if scope != nil && !kind.hasScopes {
            throw ValidationError("--scope is of consumption_requests and lots only.")
        }
        if let currency, CurrencyCode(currency) == nil {
            throw ValidationError("'\(currency)' is not a currency's code.")
        }
        if currency != nil && !kind.isOfCurrencies {
            throw ValidationError("--currency is not of \(kind.rawValue).")
        }
    }

    /// What is asked for.
    private var request: ReportRequest {
        let month = month.flatMap { Month($0) }
        return ReportRequest(
            kind: kind, asOf: month?.last ?? asOf.flatMap { TimeText.milliseconds($0) },
            from: month?.first ?? from.flatMap { TimeText.milliseconds($0) },
            dates: by.flatMap { ReportDates(rawValue: $0.rawValue) } ?? .posted,
            scope: scope.flatMap { ReportScope(rawValue: $0.rawValue) } ?? .open,
            currency: currency.flatMap { CurrencyCode($0) }, limit: Limits.reportPageMax)
    }

    func run() async throws {
        var request = request
        var writer = try ReportFile(output, format: format, kind: kind)
        var progress = Progress()
        if let path {
            try fromFolder(path, request, &writer, &progress)
        } else {
            try await server.withClient { client in
                writer.seal = try await seal(of: request, client)
                repeat {
                    let page = try await client.report(
                        request.kind, asOf: request.asOf, from: request.from, dates: request.dates,
                        scope: request.scope, currency: request.currency, limit: request.limit, after: request.after)
                    request.asOf = page.asOf
                    try writer.write(page.rows)
                    progress.show(writer.count)
                    request.after = page.next
                } while request.after != nil
            }
        }
        try writer.finish()
        progress.end(writer.count)
    }

    // MARK: Closed periods

    /// What a report of a closed period says of itself; `nil` where it is open.
    private func seal(of request: ReportRequest, _ client: LedgerClient) async throws -> ReportSeal? {
        guard request.asOf != nil else { return nil }
        var closings: [ReportRow] = []
        var page = try await client.report(.closings, limit: Limits.reportPageMax)
        closings += page.rows
        while let next = page.next {
            page = try await client.report(.closings, asOf: page.asOf, limit: Limits.reportPageMax, after: next)
            closings += page.rows
        }
        guard let closing = try closing(of: request, closings) else { return nil }
        let ledger = try await client.info().ledger
        return ReportSeal(
            ledger: ledger.name, bundleID: ledger.bundleID, environment: ledger.environment, request: request,
            closing: closing)
    }

    private func seal(of request: ReportRequest, _ reports: SQLiteReports) throws -> ReportSeal? {
        guard request.asOf != nil else { return nil }
        var closings: [ReportRow] = []
        try reports.report(ReportRequest(kind: .closings), begin: { _, _ in }, each: { closings += $0 })
        guard let closing = try closing(of: request, closings), let app = try reports.app() else { return nil }
        return ReportSeal(
            ledger: server.ledger.flatMap { LedgerName($0) }, bundleID: app.bundleID, environment: app.environment,
            request: request, closing: closing)
    }

    /// - Throws: ``Failure`` where a closed period is asked for, and the report's is open.
    private func closing(of request: ReportRequest, _ closings: [ReportRow]) throws -> PeriodClosing? {
        if let closing = ReportSeal.closing(of: request, in: closings) { return closing }
        guard closed, let asOf = request.asOf else { return nil }
        var last = "none was closed"
        if case .closing(let closing)? = closings.last {
            last = "closed is all through \(UTCText.time(closing.through))"
        }
        throw Failure("period_open: the period through \(UTCText.time(asOf)) is open; \(last)")
    }

    private func fromFolder(
        _ path: String, _ query: ReportRequest, _ writer: inout ReportFile, _ progress: inout Progress
    ) throws {
        do {
            let folder = LedgerFolder(path)
            try folder.check()
            let reports = try SQLiteReports(path: folder.projection)
            try check(query.asOf, query.currency, try reports.state())
            writer.seal = try seal(of: query, reports)
            try reports.report(query) { block, time in
                Console.error("the tables have all up to block \(block), \(UTCText.time(time))")
            } each: { rows in
                try writer.write(rows)
                progress.show(writer.count)
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
