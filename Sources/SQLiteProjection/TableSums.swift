import GRDB
import Ledger

/// Where a row's values go, each of its columns once and in their order, counted from 1: into a statement, or into its
/// hash.
protocol RowSink {
    mutating func bind(_ column: Int32, _ value: Int64)
    mutating func bind(_ column: Int32, _ value: Int64?)
    mutating func bind(_ column: Int32, _ value: String?)
    mutating func bind(_ column: Int32, _ value: Digest)
    mutating func bind(_ column: Int32, _ name: StoredName)
}

extension RowSink {
    /// A sum stands as an integer where 64 bits hold it, and otherwise as decimal text.
    mutating func bind(_ column: Int32, sum: Int128) {
        if let value = Int64(exactly: sum) { bind(column, value) } else { bind(column, String(sum)) }
    }
}

extension PreparedStatement: RowSink {}

/// A hash of a row's values and of their types in their order. It finds what chance, a fault of this program or other
/// hands change; it is no defence against somebody who computes it too, which `audit` is.
struct RowHash: RowSink, ValueSink {
    private enum Tag {
        static let null: UInt64 = 0xE703_7ED1_A0B4_28DB
        static let integer: UInt64 = 0x8EBC_6AF0_9C88_C6E3
        static let text: UInt64 = 0x5899_65CC_7537_4CC3
        static let blob: UInt64 = 0x1D8E_4E27_C47D_124F
        static let real: UInt64 = 0xEB44_ACCA_B455_D165
    }

    private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// Both halves of a product: every bit of the word changes about half of the bits.
    private mutating func mix(_ word: UInt64, _ tag: UInt64) {
        let product = (value ^ word ^ tag).multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
        value = product.high ^ product.low ^ tag
    }

    private mutating func mix(_ bytes: UnsafeRawBufferPointer, _ tag: UInt64) {
        mix(UInt64(bytes.count), tag)
        var place = 0
        while place + 8 <= bytes.count {
            mix(bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self), tag)
            place += 8
        }
        if place == bytes.count { return }
        var last: UInt64 = 0
        while place < bytes.count {
            last = last << 8 | UInt64(bytes[place])
            place += 1
        }
        mix(last, tag)
    }

    mutating func addNull() { mix(0, Tag.null) }
    mutating func add(_ value: Int64) { mix(UInt64(bitPattern: value), Tag.integer) }
    mutating func add(_ value: Double) { mix(value.bitPattern, Tag.real) }
    mutating func add(text: UnsafeRawBufferPointer) { mix(text, Tag.text) }
    mutating func add(blob: UnsafeRawBufferPointer) { mix(blob, Tag.blob) }

    mutating func bind(_ column: Int32, _ value: Int64) { add(value) }

    mutating func bind(_ column: Int32, _ value: Int64?) { if let value { add(value) } else { addNull() } }

    mutating func bind(_ column: Int32, _ value: String?) {
        guard var value else { return addNull() }
        value.withUTF8 { add(text: UnsafeRawBufferPointer($0)) }
    }

    mutating func bind(_ column: Int32, _ value: Digest) { value.withUnsafeBytes { add(blob: $0) } }

    mutating func bind(_ column: Int32, _ name: StoredName) { add(text: name.bytes) }

    /// Of the row that a statement is at.
    init(_ row: PreparedStatement, columns: Int32) {
        for column in 0..<columns { row.add(column, to: &self) }
    }

    init() {}

    /// Of the row whose values `bind` binds.
    init(_ bind: (inout RowHash) -> Void) { bind(&self) }
}

/// How many rows a table has, and the sum of their hashes. It is kept with each row that is written, so that rows that
/// were changed, taken away or added by anybody else do not fit it.
struct TableSum: Hashable, Sendable {
    var rows: Int64 = 0
    var hashes: UInt64 = 0

    mutating func add(_ row: RowHash) {
        rows += 1
        hashes &+= row.value
    }

    mutating func replace(_ old: RowHash, by new: RowHash) { hashes = hashes &- old.value &+ new.value }
}

/// The sums of all tables.
struct TableSums: Hashable, Sendable {
    private var sums = [TableSum](repeating: TableSum(), count: StoredTable.allCases.count)

    init() {}

    subscript(table: StoredTable) -> TableSum {
        get { sums[table.rawValue] }
        _modify { yield &sums[table.rawValue] }
    }

    /// For each table the number of rows and the sum of their hashes, 8 bytes each, the lowest first.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for sum in sums {
            withUnsafeBytes(of: sum.rows.littleEndian) { bytes += $0 }
            withUnsafeBytes(of: sum.hashes.littleEndian) { bytes += $0 }
        }
        return bytes
    }

    /// `nil` where these are not the bytes of as many tables.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == sums.count * 16 else { return nil }
        var rest = bytes[...]
        func number() -> UInt64 {
            let number = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            return number
        }
        for place in sums.indices {
            sums[place].rows = Int64(bitPattern: number())
            sums[place].hashes = number()
        }
    }
}

/// Keeps a table's sum where rows are changed of which nobody knows the other columns.
struct ChangedRow {
    private let select: PreparedStatement
    private let table: StoredTable

    /// - Parameter key: the column by which rows are changed.
    init(_ db: Database, of table: StoredTable, key: String) throws {
        select = try PreparedStatement(db, "SELECT \(table.columns) FROM \(table.name) WHERE \(key) = ?")
        self.table = table
    }

    /// - Parameter change: changes the row that has the key.
    func keep(_ sums: inout TableSums, _ key: Int64, _ change: () throws -> Void) throws {
        let before = try hash(key)
        try change()
        sums[table].replace(before, by: try hash(key))
    }

    private func hash(_ key: Int64) throws -> RowHash {
        select.bind(1, key)
        let hash = try select.first { RowHash($0, columns: table.columnCount) }
        guard let hash else { throw StoreError.corrupt("\(table.name) has no row \(key), which is to be changed") }
        return hash
    }
}

extension TableSum {
    /// Of the rows that the table has.
    init(_ db: Database, _ table: StoredTable) throws {
        try PreparedStatement(db, "SELECT \(table.columns) FROM \(table.name)").forEach { row in
            add(RowHash(row, columns: table.columnCount))
        }
    }
}
