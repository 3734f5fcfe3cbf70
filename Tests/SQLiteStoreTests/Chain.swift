import Foundation
import GRDB
import Ledger
import LedgerTestKit

/// A table of the chain as the documentation of the canonical form lists it: `?` marks a field that may be absent.
struct ChainedTable {
    var tag: UInt8
    var sequence: String
    var fields: [String]
    var sql: String
}

private func table(_ tag: UInt8, _ sequence: String, _ from: String, _ id: String, _ fields: [String]) -> ChainedTable {
    let columns = fields.map { $0.replacingOccurrences(of: "?", with: "") }.joined(separator: ", ")
    return ChainedTable(
        tag: tag, sequence: sequence, fields: fields,
        sql: "SELECT \(columns) FROM \(from) WHERE \(id) > ? AND \(id) <= ? ORDER BY \(id)")
}

let chainedTables: [ChainedTable] = [
    table(1, "currency", "currency", "id", ["id", "code"]),
    table(2, "account", "account", "id", ["id", "name"]),
    table(3, "entry", "entry", "id", ["id", "time", "kind", "first_transfer", "transaction_id?", "key?", "note?"]),
    table(
        4, "transfer", "transfer", "id",
        [
            "id", "entry", "debit", "credit", "amount", "lot", "debt_lot?", "previous", "spend_order?", "reference?",
        ]),
    table(
        5, "evidence", "purchase", "evidence",
        [
            "transaction_id", "account?", "product", "quantity", "purchase_date", "price?", "price_currency?", "grants",
            "evidence", "entry?",
        ]),
    table(
        6, "evidence", "purchase_evidence AS e JOIN jws_header AS h ON h.id = e.header", "e.id",
        [
            "e.id", "transaction_id", "is_first", "signed_date", "revoked", "time", "entry?", signed("text", "payload"),
            "signature",
        ]),
    table(7, "assignment", "purchase_assignment", "id", ["id", "transaction_id", "account", "time", "entry"]),
    table(
        8, "notification",
        """
        (SELECT n.*, h.text, CASE WHEN nested_at IS NULL THEN payload ELSE
            CAST(substr(payload, 1, nested_at) || nested.text || substr(payload, nested_at + 1) AS BLOB) END AS whole
        FROM notification AS n JOIN jws_header AS h ON h.id = n.header
            LEFT JOIN jws_header AS nested ON nested.id = n.nested_header)
        """, "id",
        [
            "id", "uuid", "type", "subtype?", "signed_date", "reason?", "time", "transaction_id?",
            signed("text", "whole"),
            "signature",
        ]),
    table(9, "request", "request", "id", ["id", "key", "fingerprint", "entry?", "answer"]),
    table(10, "transfer", "hold", "id", ["id", "entry", "account", "currency", "amount", "expires_at"]),
    table(11, "transfer", "lot_expiry", "lot", ["lot", "expires_at"]),
]

/// A column of the digest of what was signed, as the documentation has it: of the header segment, a dot and the payload in base64url.
private func signed(_ header: String, _ payload: String) -> String { "signed_digest(\(header), \(payload))" }

/// The function behind it, for the connection that reads the tables.
let signedDigestFunction = DatabaseFunction("signed_digest", argumentCount: 2, pure: true) { values in
    guard let header = Data.fromDatabaseValue(values[0]), let payload = Data.fromDatabaseValue(values[1]) else {
        return nil
    }
    return Data(digestOfSigned(header: Array(header), payload: Array(payload)).bytes)
}

func digestOfSigned(header: [UInt8], payload: [UInt8]) -> Digest {
    let text = Data(payload).base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    return Digest(of: header + Array(".".utf8) + Array(text.utf8), testSHA256)
}

func be(_ number: Int64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

private func length(_ count: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0) } }

func form(_ table: ChainedTable, _ row: Row) -> [UInt8] {
    var bytes = [table.tag]
    for (index, field) in table.fields.enumerated() {
        let value = row[index] as DatabaseValue
        if field.hasSuffix("?") { bytes.append(value.isNull ? 0 : 1) }
        switch value.storage {
        case .null: break
        case .int64(let number): bytes += be(number)
        case .string(let text): bytes += length(text.utf8.count) + Array(text.utf8)
        case .blob(let data): bytes += length(data.count) + Array(data)
        case .double(let number): fatalError("the chain has no \(number)")
        }
    }
    return bytes
}
