import ArgumentParser
import FileLog
import Ledger
import LedgerClient
import LedgerWire
import SQLiteProjection

/// Where a command has reports from, as its options say.
struct ReportPlace: ParsableArguments {
    @OptionGroup var server: ServerOptions

    @Option(help: "The ledger's folder, instead of a server.", completion: .directory)
    var path: String?

    func validate() throws {
        if path != nil && server.server != nil { throw ValidationError("Give --server or --path, not both.") }
    }

    /// Has `body` read reports.
    /// - Throws: ``Failure`` where there are none; what `body` throws.
    func withReports<Result>(_ body: (ReportSource) async throws -> Result) async throws -> Result {
        guard let path else {
            return try await server.withClient { try await body(.service($0)) }
        }
        do {
            return try await body(.folder(try FolderReports(LedgerFolder(path))))
        } catch let error as StoreError {
            throw Failure(error.description)
        } catch let error as LogError {
            throw Failure(error.description)
        } catch let error as ProjectionOpeningError {
            throw Failure(error.description)
        }
    }
}

/// A running service, or the tables of a ledger's folder: what reports are read from.
enum ReportSource {
    case service(LedgerClient)
    case folder(FolderReports)

    /// Whether a report may be of a time before the ledger began.
    enum BeforeLedger {
        /// Whoever asks for it is told that there was no ledger.
        case refused
        /// It has no rows: nobody had anything.
        case isEmpty
    }

    /// Reads a whole report. From a folder all of it is of one state, which has all up to the request's time.
    /// - Parameters:
    ///   - beforeLedger: what a report is of a time before the ledger began.
    ///   - isTold: whether standard error says up to which block the tables of a folder are.
    ///   - each: is given the pages.
    /// - Returns: as of when it is: the request's time, or when it was begun.
    /// - Throws: ``Failure`` where a folder has no such report, and what a service's client throws; what `each` throws.
    @discardableResult
    func read(
        _ request: ReportRequest, isTold: Bool = true, beforeLedger: BeforeLedger = .refused,
        each: ([ReportRow]) throws -> Void
    ) async throws -> Timestamp {
        var request = request
        switch self {
        case .folder(let folder):
            if let time = request.asOf, time < folder.state.periods.began, beforeLedger == .isEmpty,
                !request.isOfTimeBeforeLedger
            {
                return time
            }
            try ReportSource.checkTimes(request, folder.state)
            if let time = request.asOf { try await folder.check(through: time, by: request.dates) }
            try ReportSource.checkCurrency(request, folder.state)
            let asOf = request.asOf ?? folder.now()
            request.asOf = asOf
            try folder.reports.report(request) { block, time in
                if isTold { Console.error("the tables have all up to block \(block), \(UTCText.time(time))") }
            } each: {
                try each($0)
            }
            return asOf
        case .service(let client):
            while true {
                let page: ReportPage
                do {
                    page = try await client.report(
                        request.kind, asOf: request.asOf, from: request.from, dates: request.dates,
                        scope: request.scope, currency: request.currency, limit: request.limit, after: request.after)
                } catch let error as WireError {
                    // Only where the time is too early the server says when the ledger began.
                    guard let time = request.asOf, beforeLedger == .isEmpty, error["began"] != nil else { throw error }
                    return time
                }
                try each(page.rows)
                guard let next = page.next else { return page.asOf }
                (request.asOf, request.after) = (page.asOf, next)
            }
        }
    }

    /// The rows of the report `closings`, by the time that they close through.
    func closings() async throws -> [ReportRow] {
        var rows: [ReportRow] = []
        let request = ReportRequest(kind: .closings, limit: Limits.reportPageMax)
        switch self {
        case .folder(let folder): try folder.reports.report(request, begin: { _, _ in }, each: { rows += $0 })
        case .service: try await read(request) { rows += $0 }
        }
        return rows
    }

    /// Whose books they are. A folder does not have the name that a service gives its ledger.
    func books() async throws -> (ledger: LedgerName?, bundleID: String, environment: String)? {
        switch self {
        case .folder(let folder): return try folder.reports.app().map { (nil, $0.bundleID, $0.environment) }
        case .service(let client):
            let ledger = try await client.info().ledger
            return (ledger.name, ledger.bundleID, ledger.environment)
        }
    }

    /// Refuses what a service would refuse.
    private static func checkCurrency(_ request: ReportRequest, _ state: ProjectedState) throws {
        guard let code = request.currency, !state.currencies.contains(code) else { return }
        let known = state.currencies.sorted().map(\.text).joined(separator: ", ")
        throw Failure("the ledger has no currency \(code)\(known.isEmpty ? "" : ", but \(known)")")
    }

    /// The same of a time.
    private static func checkTimes(_ request: ReportRequest, _ state: ProjectedState) throws {
        let latest = max(Clock.now(), state.time)
        if let time = request.asOf, time > latest {
            throw Failure("\(UTCText.time(time)) is in the future: it is \(UTCText.time(latest))")
        }
        if let from = request.from, let time = request.asOf, from > time {
            throw Failure("the period begins \(UTCText.time(from)), after its end \(UTCText.time(time))")
        }
        if let from = request.from, from > latest {
            throw Failure("\(UTCText.time(from)) is in the future: it is \(UTCText.time(latest))")
        }
        let began = state.periods.began
        if let time = request.asOf, time < began, !request.isOfTimeBeforeLedger {
            throw Failure("\(UTCText.time(time)) is before the ledger began, at \(UTCText.time(began))")
        }
    }
}
