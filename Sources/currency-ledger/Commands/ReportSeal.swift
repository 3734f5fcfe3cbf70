import Foundation
import Ledger
import LedgerClient
import StrictJSON

/// What a report of a closed period says of itself: whose books it is of, which period, and what fixes that.
///
/// All of it is known when the period is closed, and stays what it is: so the header changes no byte of a report that
/// is made again. When a report was made, and by which version of the program, stands in its side file only.
struct ReportSeal {
    /// The version of the header's own form, and of the columns behind it.
    static let version: Int64 = 2

    /// What a service calls the ledger, where it has several.
    var ledger: LedgerName?
    var bundleID: String
    var environment: String
    var request: ReportRequest
    var closing: PeriodClosing

    /// The members of the header; `nil` stands where there is none.
    private var members: [(name: StaticString, value: Value)] {
        var members: [(StaticString, Value)] = [
            ("report", .text(request.kind.rawValue)),
            ("ledger", .text(ledger?.text)),
            ("app", .text(bundleID)),
            ("environment", .text(environment)),
            ("from", .text(request.from.map(UTCText.time))),
            ("through", .text(request.asOf.map(UTCText.time))),
            ("cut", .text(request.dates.rawValue)),
        ]
        if request.kind.hasScopes { members.append(("scope", .text(request.scope.rawValue))) }
        if let currency = request.currency { members.append(("currency", .text(currency.text))) }
        return members + [
            ("closedThrough", .text(UTCText.time(closing.through))),
            ("closedAt", .text(UTCText.time(closing.time))),
            ("block", .number(closing.block)),
            ("hash", .text(closing.hash)),
            ("version", .number(ReportSeal.version)),
        ]
    }

    private enum Value {
        case text(String?)
        case number(Int64)
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
            }
        }
        writer.endObject()
    }
}

extension ReportSeal {
    /// The name of the side file of a report.
    static func sideName(of path: String) -> String { path + ".meta.json" }

    /// The first period that was closed with all of a report's in it. It stays the first whatever is closed later.
    /// - Parameter closings: in their order.
    static func closing(of request: ReportRequest, in closings: [ReportRow]) -> PeriodClosing? {
        guard let asOf = request.asOf else { return nil }
        for case .closing(let closing) in closings where closing.through >= asOf { return closing }
        return nil
    }
}
