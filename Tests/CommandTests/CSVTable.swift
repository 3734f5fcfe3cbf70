import Foundation
import LedgerClient
import Testing

/// A CSV file (RFC 4180) as who reads it reads it: rows by the header's names.
struct CSVTable {
    let header: [String]
    let rows: [[String: String]]

    /// - Parameter restored: whether the apostrophe in front of what a spreadsheet would run is taken away again.
    init(_ text: String, restored: Bool = true) throws {
        var records = try CSVTable.records(text)
        try #require(!records.isEmpty, "a CSV file has a header")
        let header = records.removeFirst()
        self.header = header
        rows = try records.map { fields in
            try #require(fields.count == header.count, "\(fields)")
            let values = fields.map { restored && $0.hasPrefix("'") ? String($0.dropFirst()) : $0 }
            return Dictionary(uniqueKeysWithValues: zip(header, values))
        }
    }

    /// What `export` writes.
    static func export(_ arguments: String..., folder: String) throws -> CSVTable {
        let finished = try Command.run(["export"] + arguments + ["--path", folder])
        try #require(finished.status == 0, "\(arguments): \(finished.error)")
        return try CSVTable(finished.output)
    }

    /// Units of a column, or thousandths of money.
    static func number(_ text: String?) throws -> Int128 {
        let text = try #require(text)
        return try #require(Int128(text) ?? Money.thousandths(text), "\(text) is no number")
    }

    /// Sums of a column by what is in others.
    func sums(_ column: String, by keys: String...) throws -> [[String]: Int128] {
        var sums: [[String]: Int128] = [:]
        for row in rows {
            let key = try keys.map { try #require(row[$0]) }
            sums[key, default: 0] += try CSVTable.number(row[column])
        }
        return sums
    }

    /// Fields of each record, by the bytes.
    static func records(_ text: String) throws -> [[String]] {
        var records: [[String]] = []
        var fields: [String] = []
        var field: [UInt8] = []
        var isQuoted = false
        let bytes = Array(text.utf8)
        var place = 0
        func ended() { fields.append(String(decoding: field, as: UTF8.self)); field = [] }
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            switch (byte, isQuoted) {
            case (0x22, true) where place < bytes.count && bytes[place] == 0x22:
                field.append(0x22)
                place += 1
            case (0x22, _): isQuoted.toggle()
            case (0x2C, false): ended()
            case (0x0D, false):
                try #require(place < bytes.count && bytes[place] == 0x0A, "a record ends with CR LF")
                place += 1
                ended()
                records.append(fields)
                fields = []
            default: field.append(byte)
            }
        }
        try #require(fields.isEmpty && field.isEmpty, "the last record has its end")
        return records
    }
}
