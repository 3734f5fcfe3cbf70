import Foundation
import Ledger
import LedgerWire
import StrictJSON

/// A report being written, to a file or to standard output. A file is there when the report is whole, not before.
struct ReportFile {
    private let file: OutputFile
    private let format: Export.Format
    /// Written with the first rows: a report that cannot be had has no header either.
    private var header: String
    private(set) var count = 0

    init(_ path: String?, format: Export.Format, kind: ReportKind) throws(FileError) {
        self.format = format
        file = try OutputFile(path)
        header = format == .csv ? ReportFile.header(kind) : ""
    }

    mutating func write(_ rows: [ReportRow]) throws(FileError) {
        var text = takeHeader()
        for row in rows {
            switch format {
            case .csv: text += Array(ReportFile.csv(row).utf8)
            case .jsonl: text += ReportFile.json(row) + [UInt8(ascii: "\n")]
            }
        }
        try file.write(text)
        count += rows.count
    }

    /// Ends the report, which may have no rows.
    mutating func finish() throws(FileError) {
        try file.write(takeHeader())
        try file.finish()
    }

    private mutating func takeHeader() -> [UInt8] {
        defer { header = "" }
        return Array(header.utf8)
    }

    private static func header(_ kind: ReportKind) -> String {
        switch kind {
        case .balances: "account,currency,available,held,debt,paid,free\r\n"
        case .trial: "currency,account,debits,credits,balance\r\n"
        case .debts: "account,currency,transactionId,lot,debt,since,ageMilliseconds\r\n"
        case .notifications:
            """
            notificationUUID,notificationType,subtype,signedDate,time,transactionId,account,verdict,entry,posted\r\n
            """
        case .consumptionRequests:
            """
            notificationUUID,transactionId,product,account,reason,signedDate,time,deadline,consent,state,endedAt,\
            code\r\n
            """
        case .closings: "through,block,hash,time,actor\r\n"
        }
    }

    private static func csv(_ row: ReportRow) -> String {
        switch row {
        case .balance(let account, let currency, let available, let held, let debt, let paid):
            let numbers = [available, held, debt, paid, available - paid].map(String.init).joined(separator: ",")
            return "\(quoted(account.text)),\(currency),\(numbers)\r\n"
        case .trial(let currency, let account, let debits, let credits):
            return "\(currency),\(account.name),\(debits),\(credits),\(debits - credits)\r\n"
        case .debt(let account, let currency, let transaction, let lot, let debt, let since, let age):
            return "\(quoted(account.text)),\(currency),\(transaction),\(lot),\(debt),\(since),\(age)\r\n"
        case .notification(let row):
            return line([
                row.uuid, row.type, row.subtype, String(row.signedDate), String(row.time),
                row.transaction?.description, row.account?.text, row.verdict.rawValue, row.entry.map(String.init),
                row.posted.map { "\($0.currency):\($0.units)" }.joined(separator: " "),
            ])
        case .consumptionRequest(let row):
            return line([
                row.uuid, row.transaction.description, row.product, row.account?.text, row.reason,
                String(row.signedDate), String(row.time), String(row.deadline), row.consent.rawValue,
                row.state.rawValue, row.endedAt.map(String.init), row.code.map(String.init),
            ])
        case .closing(let row):
            return line([String(row.through), String(row.block), row.hash, String(row.time), row.actor])
        }
    }

    /// What there is not stands as an empty field.
    private static func line(_ fields: [String?]) -> String {
        fields.map { quoted($0 ?? "") }.joined(separator: ",") + "\r\n"
    }

    /// RFC 4180 §2. A name that a spreadsheet would take for a formula is quoted like any other: the export is data,
    /// and exact.
    private static func quoted(_ text: String) -> String {
        // By byte: a comma with a combining accent behind it is still a comma.
        guard text.utf8.contains(where: { [0x0A, 0x0D, 0x22, 0x2C].contains($0) }) else { return text }
        return "\"\(text.replacingOccurrences(of: "\"", with: "\"\"", options: .literal))\""
    }

    private static func json(_ row: ReportRow) -> [UInt8] {
        var writer = JSONWriter()
        row.write(to: &writer)
        return writer.bytes
    }
}
