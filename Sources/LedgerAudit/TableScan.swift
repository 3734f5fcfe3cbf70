import Ledger
import Synchronization

/// Reads all rows of the tables.
struct TableScan {
    private let tables: any TableReader
    /// Accounts whose rows are not looked at.
    private let unknown: Set<PlayerID>

    init(_ tables: any TableReader, _ unknown: Set<PlayerID>) {
        self.tables = tables
        self.unknown = unknown
    }

    /// The sums of all rows.
    struct Sums {
        var sums = TableSums()
        var rows: Int64 = 0
        /// Tables that could not be read to their end, with why.
        var unread: [(table: AuditedTable, words: String)] = []
    }

    func sums(jobs: Int) -> Sums {
        let all = Mutex(Sums())
        let workers = Workers(jobs)
        workers.begin(AuditedTable.allCases, perBatch: 1) { [tables, unknown] part in
            for table in part {
                var own = Sums()
                do {
                    try TableScan(tables, unknown).read(table) { row in
                        own.sums.add(row, to: table)
                        own.rows += 1
                    }
                } catch {
                    own.unread.append((table, "\(error)"))
                }
                all.withLock { all in
                    all.sums.add(own.sums)
                    all.rows += own.rows
                    all.unread += own.unread
                }
            }
        }
        workers.wait()
        return all.withLock { $0 }
    }

    /// Hands the rows of some tables to a collector.
    func collect(_ chosen: Set<AuditedTable>, _ collector: RowCollector) throws {
        for table in AuditedTable.allCases where chosen.contains(table) {
            try read(table) { collector.add($0, to: table) }
        }
    }

    private func read(_ table: AuditedTable, _ each: (borrowing TableRow) throws -> Void) throws {
        let hidden: Set<[UInt8]> = table == .account ? Set(unknown.map(TableScan.key)) : []
        try tables.read(table.rawValue, table.columns, keyColumns: table.keyColumns) { row in
            if !hidden.isEmpty, hidden.contains(Array(row.bytes[..<row.keyEnd])) { return }
            try each(row)
        }
    }

    private static func key(_ account: PlayerID) -> [UInt8] {
        var row = TableRow()
        row.add(account)
        return row.bytes
    }
}
