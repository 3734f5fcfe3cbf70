import Foundation
import Ledger
import LedgerWire
import StrictJSON

/// A report being written, to a file or to standard output. A file is there when the report is whole, not before.
struct ReportFile {
    private var file: SealedFile
    private let format: Export.Format
    /// It is written with the first rows: a report that cannot be had has no header either.
    private var hasHeader = false
    private let kind: ReportKind
    /// Where rows of several pages add up: written at the end.
    private var sums = ReportSums()
    private var journal: JournalText
    private(set) var count = 0

    init(_ path: String?, format: Export.Format, kind: ReportKind) throws(FileError) {
        self.format = format
        self.kind = kind
        file = try SealedFile(path)
        journal = JournalText(format)
    }

    /// Says what fixes the report, before its first rows.
    /// - Throws: ``FileError`` where something is in the way of saying so.
    mutating func set(_ seal: ReportSeal?) throws(FileError) { try file.set(seal) }

    mutating func write(_ rows: [ReportRow]) throws(FileError) {
        if kind.isOfSums {
            for case .line(let line) in rows { sums.add(line) }
            count = sums.count
        } else {
            let rows = kind == .trial ? ReportFile.used(rows) : rows
            try append(rows)
            count += rows.count
        }
    }

    /// Ends the report, which may have no rows.
    mutating func finish() throws {
        let lines = sums.rows
        if kind == .deferred { try lines.forEach(ReportFile.check) }
        if kind.isOfSums {
            let rows = lines.map { ReportRow.line($0) }
            let used = kind == .rollforward ? ReportFile.used(rows) : rows
            try append(used)
            count = used.count
        } else {
            try append([])
        }
        try file.write(Array(journal.end().utf8))
        try file.finish(rows: count)
    }

    /// The rows of those currencies of which there was anything. Which others there are depends on the catalog of
    /// today, and a report of a closed period has the same bytes for ever.
    private static func used(_ rows: [ReportRow]) -> [ReportRow] {
        func currency(_ row: ReportRow) -> (code: String, isUsed: Bool)? {
            switch row {
            case .trial(let currency, _, let debits, let credits): (currency.text, debits != 0 || credits != 0)
            case .line(let line):
                (
                    line.word("currency"),
                    line.values.contains { value in
                        switch value {
                        case .integer(let number): number != 0
                        case .sum(let sum): sum != 0
                        case .text, nil: false
                        }
                    }
                )
            default: nil
            }
        }
        let used = Set(rows.compactMap { row in currency(row).flatMap { $0.isUsed ? $0.code : nil } })
        return rows.filter { row in currency(row).map { used.contains($0.code) } ?? true }
    }

    private mutating func append(_ rows: [ReportRow]) throws(FileError) {
        var text = takeHeader()
        for row in rows {
            switch format {
            case .csv: text += Array(ReportFile.csv(row).utf8)
            case .jsonl: text += ReportFile.json(row) + [UInt8(ascii: "\n")]
            case .hledger, .ledger, .beancount: if case .line(let line) = row { text += Array(journal.text(line).utf8) }
            case .html: preconditionFailure("a report is no page")
            }
        }
        try file.write(text)
    }

    /// What was deferred at the end was counted lot by lot, and what changed it transfer by transfer.
    /// - Throws: ``Failure`` where these are not one.
    static func check(_ line: ReportLine) throws(Failure) {
        let changes = line.sum("sold") + line.sum("imported") - line.sum("refunded") - line.sum("recognised")
        guard line.sum("closing") == line.sum("opening") + changes else {
            throw Failure("the report does not add up: the tables are damaged; run currency-ledger audit")
        }
    }

    private mutating func takeHeader() -> [UInt8] {
        if hasHeader { return [] }
        hasHeader = true
        switch format {
        case .csv: return Array(ReportFile.header(kind).utf8)
        case .jsonl: return file.seal?.line ?? []
        case .hledger, .ledger, .beancount: return Array(((file.seal?.comment ?? "") + journal.header).utf8)
        case .html: preconditionFailure("a report is no page")
        }
    }

    private static func header(_ kind: ReportKind) -> String {
        switch kind {
        case .balances: "account,currency,available,held,debt,paid,free\r\n"
        case .trial: "currency,account,debits,credits,balance\r\n"
        case .debts: "account,currency,transactionId,source,lot,debt,since,ageMilliseconds\r\n"
        case .notifications:
            """
            notificationUUID,notificationType,subtype,signedDate,time,transactionId,account,verdict,entry,posted\r\n
            """
        case .consumptionRequests:
            """
            notificationUUID,transactionId,product,account,reason,signedDate,time,deadline,consent,state,endedAt,\
            code\r\n
            """
        case .rollforward, .sales, .revenue, .deferred, .lots, .spends, .purchases, .unassigned, .journal:
            kind.columns.map(\.name).joined(separator: ",") + "\r\n"
        case .closings: "through,block,hash,time,actor\r\n"
        }
    }

    private static func csv(_ row: ReportRow) -> String {
        switch row {
        case .line(let row): return CSV.line(zip(row.kind.columns, row.values).map { text($1, $0) })
        case .balance(let account, let currency, let available, let held, let debt, let paid):
            let numbers = [available, held, debt, paid, available - paid].map(String.init).joined(separator: ",")
            return "\(CSV.field(account.shown)),\(currency),\(numbers)\r\n"
        case .trial(let currency, let account, let debits, let credits):
            return "\(currency),\(account.name),\(debits),\(credits),\(debits - credits)\r\n"
        case .debt(let account, let currency, let transaction, let source, let lot, let debt, let since, let age):
            let place = "\(CSV.field(account.shown)),\(currency),\(transaction),\(source.name),\(lot)"
            return "\(place),\(debt),\(UTCText.time(since)),\(age)\r\n"
        case .notification(let row):
            return CSV.line([
                row.uuid, row.type, row.subtype, UTCText.time(row.signedDate), UTCText.time(row.time),
                row.transaction?.description, row.account?.shown, row.verdict.rawValue, row.entry.map(String.init),
                row.posted.map { "\($0.currency):\($0.units)" }.joined(separator: " "),
            ])
        case .consumptionRequest(let row):
            return CSV.line([
                row.uuid, row.transaction.description, row.product, row.account?.shown, row.reason,
                UTCText.time(row.signedDate), UTCText.time(row.time), UTCText.time(row.deadline), row.consent.rawValue,
                row.state.rawValue, row.endedAt.map(UTCText.time), row.code.map(String.init),
            ])
        case .closing(let row):
            return CSV.line([
                UTCText.time(row.through), String(row.block), row.hash, UTCText.time(row.time), row.actor,
            ])
        }
    }

    private static func text(_ value: ReportValue?, _ column: ReportColumn) -> String? {
        switch value {
        case nil: nil
        case .text(let text): column.name == "account" ? AccountName(stored: text).shown : text
        case .integer(let number): column.type == .time ? UTCText.time(number) : String(number)
        case .sum(let sum): column.type == .money ? Money.text(thousandths: sum) : String(sum)
        }
    }

    private static func json(_ row: ReportRow) -> [UInt8] {
        var writer = JSONWriter()
        row.write(to: &writer)
        return writer.bytes
    }
}

extension AccountName {
    /// For people: of a player who was forgotten `erased` and their number, without the character in front that no
    /// player's name may have.
    var shown: String { isErased ? String(text.dropFirst()) : text }
}
