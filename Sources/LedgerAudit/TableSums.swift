import Ledger

/// The tables that are compared, with all their columns; those of the key first.
enum AuditedTable: String, CaseIterable, Sendable {
    case projection, block, currency, actor, account
    case header = "jws_header"
    case entry, transfer, request, wallet, lot, hold, total, purchase
    case event = "purchase_event"
    case notification
    case walletPast = "wallet_past"
    case totalPast = "total_past"
    case expiryPast = "expiry_past"
    case link, consent, assignment, closing, external, adjustment, catalog

    var columns: [String] {
        switch self {
        case .projection:
            [
                "id", "bundle_id", "environment", "block", "term", "hash", "time", "currency", "actor", "account",
                "header", "entry", "transfer", "evidence", "assignment", "notification", "request", "entry_time",
                "closed_through",
            ]
        case .block: ["number", "term", "time", "hash", "entry", "transfer"]
        case .currency: ["id", "code"]
        case .actor, .account: ["id", "name"]
        case .header: ["id", "digest", "block"]
        case .entry: ["id", "time", "kind", "first_transfer", "transaction_id", "key", "note", "actor"]
        case .transfer:
            [
                "id", "entry", "account", "currency", "debit", "credit", "amount", "lot", "debt_lot", "previous",
                "spend_order", "reference", "lot_previous", "lot_left", "lot_refunded", "money_deferred",
                "money_refunded",
            ]
        case .request: ["key", "fingerprint", "entry", "answer"]
        case .wallet:
            [
                "account", "currency", "available", "paid", "held", "held_paid", "debt", "version", "last_entry",
                "last_transfer", "transfers",
            ]
        case .lot:
            [
                "id", "account", "currency", "class", "transaction_id", "time", "price", "granted", "remaining",
                "held", "spent", "expired", "refunded", "indebted", "recovered", "written_off", "repaid",
                "adjusted", "expires_at", "last_transfer", "last_own", "money_deferred", "money_refunded", "is_open",
            ]
        case .hold: ["id", "entry", "account", "currency", "amount", "expires_at", "state", "ended"]
        case .total: ["currency", "class", "kind", "debits", "credits"]
        case .purchase:
            [
                "transaction_id", "account", "entry", "product", "quantity", "purchase_date", "price",
                "price_currency", "source", "storefront", "offer_type", "offer_id", "offer_discount", "original_id",
                "ownership", "grants", "signed_date", "revoked", "revocation_date", "time", "evidence", "block",
            ]
        case .event:
            [
                "transaction_id", "number", "kind", "record", "time", "signed_date", "revoked", "revocation_date",
                "entry", "reason", "result", "code", "body", "block",
            ]
        case .notification:
            [
                "uuid", "number", "type", "subtype", "signed_date", "reason", "time", "transaction_id", "subject",
                "entry", "block",
            ]
        case .walletPast: ["account", "currency", "transfer", "available", "paid", "held", "debt", "version"]
        case .totalPast: ["transfer", "currency", "class", "kind", "debits", "credits"]
        case .expiryPast: ["transfer", "expires_at"]
        case .link: ["token", "number", "account", "entry", "time", "actor"]
        case .consent: ["id", "account", "consumption", "time", "actor"]
        case .assignment: ["id", "transaction_id", "account", "entry", "time"]
        case .closing: ["through", "block", "time", "actor"]
        case .external: ["transaction_id", "source", "identifier"]
        case .adjustment: ["entry", "class", "reason", "approver"]
        case .catalog: ["version", "digest", "time", "block"]
        }
    }

    var keyColumns: Int {
        switch self {
        case .totalPast: 4
        case .walletPast, .total: 3
        case .wallet, .event, .link: 2
        case .projection, .block, .currency, .actor, .account, .header, .entry, .transfer, .request, .lot, .hold,
            .purchase, .notification, .expiryPast, .consent, .assignment, .closing, .external,
            .adjustment, .catalog:
            1
        }
    }

    /// Its place among all of them.
    var place: Int { AuditedTable.allCases.firstIndex(of: self) ?? 0 }

    /// A key's values in words.
    func words(_ key: ArraySlice<UInt8>) -> String {
        rawValue + ", "
            + zip(columns, TableRow.words(key)).map { "\($0) \($1)" }.joined(separator: ", ")
    }
}

/// Takes the rows that the tables must have.
protocol RowSink: AnyObject {
    func add(_ row: borrowing TableRow, to table: AuditedTable)
}

/// Nothing is to be compared.
final class NoRows: RowSink {
    func add(_ row: borrowing TableRow, to table: AuditedTable) {}
}

/// The rows of the tables as sums, whatever their order: per table some thousands of parts, by the keys, of each the
/// sum of its rows' hashes. Two sets of rows with the same sums are the same set: the hash has a random key that
/// exists only in this process, so that nobody can make others.
struct TableSums: Equatable {
    private var sums = [UInt64](repeating: 0, count: AuditedTable.allCases.count * AuditLimits.parts)

    /// In which part of a table a row is.
    static func part(_ row: borrowing TableRow) -> Int {
        row.bytes.withUnsafeBytes { bytes in
            let key = UnsafeRawBufferPointer(rebasing: bytes[..<row.keyEnd])
            return Int(UInt(bitPattern: Fingerprint.hash(key, 0)) % UInt(AuditLimits.parts))
        }
    }

    mutating func add(_ row: borrowing TableRow, to table: AuditedTable) {
        let hash = row.bytes.withUnsafeBytes { Fingerprint.hash($0, UInt8(table.place) + 1) }
        // So that no number of equal rows adds up to nothing.
        sums[table.place * AuditLimits.parts + TableSums.part(row)] &+= UInt64(UInt(bitPattern: hash)) | 1
    }

    mutating func add(_ other: TableSums) {
        for index in sums.indices { sums[index] &+= other.sums[index] }
    }

    /// The parts of each table in which the sums differ.
    func differences(from other: TableSums) -> [AuditedTable: Set<Int>] {
        var differences: [AuditedTable: Set<Int>] = [:]
        for table in AuditedTable.allCases {
            for part in 0..<AuditLimits.parts
            where sums[table.place * AuditLimits.parts + part] != other.sums[table.place * AuditLimits.parts + part] {
                differences[table, default: []].insert(part)
            }
        }
        return differences
    }
}

/// Adds rows up.
final class RowAdder: RowSink {
    private(set) var sums = TableSums()

    func add(_ row: borrowing TableRow, to table: AuditedTable) { sums.add(row, to: table) }
}

/// Keeps the rows of some parts.
final class RowCollector: RowSink {
    private let parts: [AuditedTable: Set<Int>]
    private(set) var rows: [AuditedTable: [ArraySlice<UInt8>: [ArraySlice<UInt8>]]] = [:]

    init(_ parts: [AuditedTable: Set<Int>]) { self.parts = parts }

    func add(_ row: borrowing TableRow, to table: AuditedTable) {
        guard let own = parts[table], own.contains(TableSums.part(row)) else { return }
        rows[table, default: [:]][row.bytes[..<row.keyEnd], default: []].append(row.bytes[...])
    }
}
