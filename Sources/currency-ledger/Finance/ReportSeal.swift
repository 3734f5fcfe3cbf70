import Foundation
import Ledger
import LedgerClient
import LedgerWire
import StrictJSON

/// What a report of a closed period says of itself: whose books it is of, which period, and what fixes that.
///
/// All of it is known when the period is closed, and stays what it is: so the header changes no byte of a report that
/// is made again. When a report was made, and by which version of the program, stands in its side file only.
struct ReportSeal {
    /// The version of the header's own form, and of the columns behind it.
    static let version: Int64 = 5

    /// What was asked, and of which time.
    struct Subject {
        /// The report's name, as `export` or another command has it.
        var report: String
        /// Its period; from the beginning on where that is `nil`.
        var from: Timestamp?
        var through: Timestamp
        /// What else its figures follow from.
        var details: [(name: StaticString, value: Value)] = []
    }

    /// What a service calls the ledger, where it has several.
    var ledger: LedgerName?
    var bundleID: String
    var environment: String
    var subject: Subject
    var closing: PeriodClosing

    /// The members of the header; `nil` stands where there is none.
    private var members: [(name: StaticString, value: Value)] {
        let members: [(StaticString, Value)] = [
            ("report", .text(subject.report)),
            ("ledger", .text(ledger?.text)),
            ("app", .text(bundleID)),
            ("environment", .text(environment)),
            ("from", .text(subject.from.map(UTCText.time))),
            ("through", .text(UTCText.time(subject.through))),
            // What is cut by other dates is never fixed.
            ("cut", .text(ReportDates.posted.rawValue)),
        ]
        return members + subject.details + [
            ("closedThrough", .text(UTCText.time(closing.through))),
            ("closedAt", .text(UTCText.time(closing.time))),
            ("block", .number(closing.block)),
            ("hash", .text(closing.hash)),
            ("version", .number(ReportSeal.version)),
        ]
    }

    /// A member of the header.
    enum Value {
        case text(String?)
        case number(Int64)
        case texts([String])
    }

    /// The first line of JSON lines: an object whose only member is `header`, which no row has.
    var line: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("header")
        write(to: &writer)
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    /// The first lines of a journal: comments, a member each.
    var comment: String {
        members.map { name, value in
            let text =
                switch value {
                case .text(let text): text ?? "-"
                case .number(let number): String(number)
                case .texts(let texts): texts.joined(separator: " ")
                }
            return "; \(name): \(text)\n"
        }.joined()
    }

    /// The side file: the header, with what is of this file alone.
    /// - Parameters:
    ///   - name: the report's file.
    ///   - rows: how many it has.
    ///   - time: when it was made.
    func sideFile(of name: String, rows: Int, madeAt time: Timestamp) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("header")
        write(to: &writer)
        writer.key("file")
        writer.string(name)
        writer.key("rows")
        writer.integer(Int64(rows))
        writer.key("program")
        writer.string(Version.current)
        writer.key("madeAt")
        writer.string(UTCText.time(time))
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    private func write(to writer: inout JSONWriter) {
        writer.beginObject()
        for (name, value) in members {
            writer.key(name)
            switch value {
            case .text(let text?): writer.string(text)
            case .text(nil): writer.null()
            case .number(let number): writer.integer(number)
            case .texts(let texts):
                writer.beginArray()
                for text in texts { writer.string(text) }
                writer.endArray()
            }
        }
        writer.endObject()
    }
}

extension ReportSeal.Subject {
    /// A report of the ledger's own; `nil` of one that is never fixed: it is of now, or is cut by the dates of what
    /// happened, which may be told at any later time.
    init?(_ request: ReportRequest) {
        guard let through = request.asOf, request.dates == .posted else { return nil }
        self.init(report: request.kind.rawValue, from: request.from, through: through)
        if request.kind.hasScopes { details.append(("scope", .text(request.scope.rawValue))) }
        if let currency = request.currency { details.append(("currency", .text(currency.text))) }
    }
}

/// The periods that were closed, of a source of reports.
struct Closings {
    private let rows: [PeriodClosing]

    init(_ source: ReportSource) async throws {
        rows = try await source.closings().compactMap { if case .closing(let closing) = $0 { closing } else { nil } }
    }

    /// The first period that was closed with all up to a time in it. It stays the first whatever is closed later.
    subscript(through time: Timestamp) -> PeriodClosing? { rows.first { $0.through >= time } }

    /// The same of a period that has to be closed.
    /// - Throws: ``Failure`` where it is open, or the tables of a folder may not have its closing yet.
    static func required(through time: Timestamp, _ source: ReportSource) async throws -> PeriodClosing {
        if let closing = try await Closings(source)[through: time] { return closing }
        if case .folder(let folder) = source { try await folder.checkLog() }
        let closings = try await Closings(source)
        if let closing = closings[through: time] { return closing }
        let last = closings.rows.last.map { "closed is all through \(UTCText.time($0.through))" } ?? "none was closed"
        throw Failure("period_open: the period through \(UTCText.time(time)) is open; \(last)")
    }
}

extension ReportPlace {
    /// What a report of a closed period says of itself; `nil` where the period is open.
    /// - Parameter isRequired: whether an open period is refused.
    /// - Throws: ``Failure`` for that; what reading throws.
    func seal(
        _ subject: ReportSeal.Subject, _ source: ReportSource, isRequired: Bool = false
    ) async throws -> ReportSeal? {
        if case .folder(let folder) = source { try await folder.check(through: subject.through, by: .posted) }
        let closing =
            if isRequired {
                try await Closings.required(through: subject.through, source)
            } else {
                try await Closings(source)[through: subject.through]
            }
        guard let closing, let books = try await source.books() else { return nil }
        return ReportSeal(
            ledger: books.ledger ?? server.ledger.flatMap { LedgerName($0) }, bundleID: books.bundleID,
            environment: books.environment, subject: subject, closing: closing)
    }
}
