import GRDB
package import Ledger

/// Hands rows over to whoever keeps a copy of the tables elsewhere.
extension SQLiteProjection {
    /// A table, of which some rows are handed over.
    package struct CopiedTable {
        package let name: String
        /// In the order of each row's values.
        package let columns: [String]
        fileprivate let selections: [Selection]
        fileprivate let db: Database

        /// Hands the rows over, each in the same memory.
        package func forEach(_ body: (borrowing TableRow) throws -> Void) throws {
            var row = TableRow()
            for selection in selections {
                let sql = "SELECT \(columns.joined(separator: ", ")) FROM \(name) \(selection.condition)"
                let statement = try PreparedStatement(db, sql)
                try selection.run(statement) { statement in
                    row.begin()
                    for column in columns.indices { statement.add(Int32(column), to: &row) }
                    try body(row)
                }
            }
        }
    }

    /// Rows by a condition on their keys: all that fulfil it, for each of some keys.
    fileprivate struct Selection {
        let condition: String
        let run: (PreparedStatement, (PreparedStatement) throws -> Void) throws -> Void

        static var all: Selection { Selection(condition: "") { statement, body in try statement.forEach(body) } }

        static func after(_ number: Int64, _ column: String) -> Selection {
            each([number], "\(column) > ?") { $0.bind(1, $1) }
        }

        static func each<Key>(
            _ keys: some Collection<Key>, _ condition: String, _ bind: @escaping (PreparedStatement, Key) -> Void
        ) -> Selection {
            Selection(condition: "WHERE \(condition)") { statement, body in
                for key in keys {
                    bind(statement, key)
                    try statement.forEach(body)
                }
            }
        }
    }

    /// Hands over the tables, all of one state, what they hold (`projection`) last.
    /// - Parameter changes: by which blocks the tables were changed; the last of them is the last that was applied.
    ///   `nil`: all rows are handed over.
    /// - Throws: what `body` throws, or ``StoreError``.
    package func copy(_ changes: TableChanges?, _ body: (CopiedTable) throws -> Void) throws {
        try faults("copying tables") {
            try pool.read { db in
                for table in StoredTable.allCases {
                    let columns = table.columns.split { $0 == "," || $0.isWhitespace }.map(String.init)
                    let selections = changes.map { table.selections($0) } ?? [.all]
                    try body(CopiedTable(name: table.name, columns: columns, selections: selections, db: db))
                }
                let own = ["id", "format"] + StoredState.columns.filter { $0 != "sums" }
                try body(CopiedTable(name: "projection", columns: own, selections: [.all], db: db))
            }
        }
    }
}

extension StoredTable {
    /// The rows that some blocks added or changed.
    fileprivate func selections(_ changes: TableChanges) -> [SQLiteProjection.Selection] {
        typealias Selection = SQLiteProjection.Selection
        let before = changes.before
        switch self {
        case .request: return [.each(changes.keys.sorted(), "key = ?") { $0.bind(1, $1) }]
        case .purchase: return [.each(changes.purchases.sorted(), "transaction_id = ?") { $0.bind(1, $1) }]
        case .event:
            let block = changes.blockBefore
            return [
                .each(changes.toldPurchases.sorted(), "transaction_id = ? AND block > ?") { statement, key in
                    statement.bind(1, key)
                    statement.bind(2, block)
                }
            ]
        case .notification: return [.each(changes.notifications, "uuid = ?") { $0.bind(1, $1) }]
        case .account:
            return [.each(changes.erased.filter { $0 <= before.account }, "id = ?") { $0.bind(1, $1) }]
                + [.after(before.account, "id")]
        case .wallet:
            return [
                .each(changes.sortedWallets, "account = ? AND currency = ?") { statement, key in
                    statement.bind(1, key.account)
                    statement.bind(2, Int64(key.currency))
                }
            ]
        case .walletPast:
            return [
                .each(changes.sortedWallets, "account = ? AND currency = ? AND transfer > ?") { statement, key in
                    statement.bind(1, key.account)
                    statement.bind(2, Int64(key.currency))
                    statement.bind(3, before.transfer)
                }
            ]
        case .lot: return [.each(changes.lots.sorted(), "id = ?") { $0.bind(1, $1) }, .after(before.transfer, "id")]
        case .hold:
            let old = changes.endedHolds.filter { $0 <= before.transfer }
            return [.each(old.sorted(), "id = ?") { $0.bind(1, $1) }, .after(before.transfer, "id")]
        case .transfer: return [.after(before.transfer, "id")]
        case .entry: return [.after(before.entry, "id")]
        case .currency: return [.after(before.currency, "id")]
        case .actor: return [.after(before.actor, "id")]
        case .header: return [.after(before.header, "id")]
        case .total: return [.all]
        case .block: return [.after(changes.blockBefore, "number")]
        case .totalPast, .expiryPast: return [.after(before.transfer, "transfer")]
        case .link: return [.each(changes.linkedTokens.sorted(), "token = ?") { $0.bind(1, $1) }]
        case .consent: return [.after(before.request, "id")]
        case .assignment: return [.after(before.assignment, "id")]
        case .closing: return [.each(changes.closings, "through = ?") { $0.bind(1, $1) }]
        case .external: return [.each(changes.externals, "transaction_id = ?") { $0.bind(1, $1) }]
        case .adjustment: return [.after(before.entry, "entry")]
        case .catalog: return [.each(changes.catalogs, "version = ?") { $0.bind(1, $1) }]
        }
    }
}

extension TableChanges {
    fileprivate var sortedWallets: [Wallet] {
        wallets.sorted { ($0.account, $0.currency) < ($1.account, $1.currency) }
    }
}
