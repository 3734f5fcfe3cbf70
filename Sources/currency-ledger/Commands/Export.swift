import ArgumentParser
import FileLog
import Foundation
import Ledger
import LedgerClient
import LedgerWire
import SQLiteProjection

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes a report as CSV or JSON lines.",
        discussion: """
            From a running service (--server) or straight from the tables of a ledger's folder (--path), beside its \
            service or without one: then standard error says up to which block they are. A report as of a past time \
            has the same figures whenever it is asked for.

            A file (--output) is replaced when the report is whole: where it cannot be had, or the command is \
            interrupted, the old file stays as it was.
            """)

    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case balances, trial, debts, notifications
        case consumptionRequests = "consumption_requests"
        case closings
    }

    enum Scope: String, CaseIterable, ExpressibleByArgument {
        case open, all
    }

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case csv, jsonl
    }

    @Argument(
        help:
            """
            balances: every wallet that is not empty; trial: the turnover and balance of every kind of account; debts: \
            what players owe after refunds; notifications: what Apple told, and what it changed; consumption_requests: \
            what Apple asks, by when it wants an answer; closings: the periods that were closed, with the blocks that \
            fix them.
            """
    )
    var kind: Kind

    @Option(help: "csv (RFC 4180, with a header line) or jsonl (one object a line).")
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
        help: "Of notifications, only those recorded at this time or later: a time as with --as-of.")
    var from: String?

    @Option(help: "Of consumption_requests, those that can still be answered (open), or all.")
    var scope: Scope?

    @Option(help: "Of balances, trial and debts, only this currency.")
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
        if from != nil && kind != .notifications { throw ValidationError("--from is of notifications only.") }
        if scope != nil && kind != .consumptionRequests {
            throw ValidationError("--scope is of consumption_requests only.")
        }
        if let currency, CurrencyCode(currency) == nil {
            throw ValidationError("'\(currency)' is not a currency's code.")
        }
        if currency != nil && ReportKind(rawValue: kind.rawValue)?.isOfCurrencies != true {
            throw ValidationError("--currency is not of \(kind.rawValue).")
        }
    }

    func run() async throws {
        guard let kind = ReportKind(rawValue: kind.rawValue) else { throw Failure("there is no such report") }
        var writer = try ReportFile(output, format: format, kind: kind)
        var progress = Progress()
        let time = asOf.flatMap { TimeText.milliseconds($0) }
        let code = currency.flatMap { CurrencyCode($0) }
        let begin = from.flatMap { TimeText.milliseconds($0) }
        let scope = scope.flatMap { ReportScope(rawValue: $0.rawValue) } ?? .open
        if let path {
            let query = ReportRequest(kind: kind, asOf: time, from: begin, scope: scope, currency: code)
            try fromFolder(path, query, &writer, &progress)
        } else {
            try await server.withClient { client in
                var after: String?
                var asOf = time
                repeat {
                    let page = try await client.report(
                        kind, asOf: asOf, from: begin, scope: scope, currency: code, limit: Limits.reportPageMax,
                        after: after)
                    asOf = page.asOf
                    try writer.write(page.rows)
                    progress.show(writer.count)
                    after = page.next
                } while after != nil
            }
        }
        try writer.finish()
        progress.end(writer.count)
    }

    private func fromFolder(
        _ path: String, _ query: ReportRequest, _ writer: inout ReportFile, _ progress: inout Progress
    ) throws {
        do {
            let folder = LedgerFolder(path)
            try folder.check()
            let reports = try SQLiteReports(path: folder.projection)
            try check(query.asOf, query.currency, try reports.state())
            try reports.report(
                query.kind, asOf: query.asOf, from: query.from, scope: query.scope, currency: query.currency
            ) { block, time in
                Console.error("the tables have all up to block \(block), \(Export.text(time))")
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
            throw Failure("--as-of \(asOf ?? "") is in the future: it is \(Export.text(latest))")
        }
    }

    static func text(_ time: Timestamp) -> String {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return formatter.string(from: Date(timeIntervalSince1970: Double(time) / 1_000))
    }
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
