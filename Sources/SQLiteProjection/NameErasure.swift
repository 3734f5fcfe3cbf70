import GRDB
import Ledger

/// Erases names of accounts from the tables, and what SQLite would leave of them in its pages.
struct NameErasure {
    private unowned let db: Database
    private let update: PreparedStatement
    private let changed: ChangedRow

    init(_ db: Database) throws {
        self.db = db
        update = try PreparedStatement(db, "UPDATE account SET name = NULL WHERE id = ?")
        changed = try ChangedRow(db, of: .account, key: "id")
    }

    func erase(_ accounts: [PlayerID], _ sums: inout TableSums) throws {
        if accounts.isEmpty { return }
        // Pages that become free are overwritten with zeros (https://sqlite.org/pragma.html#pragma_secure_delete); what
        // is left within pages is not written to the file (`PageChecks.clearUnused`). The pragma takes effect when it
        // is prepared, so it is not kept as a statement.
        try db.execute(sql: "PRAGMA secure_delete = ON")
        for account in accounts {
            update.bind(1, account)
            try changed.keep(&sums, account) { try update.run(changing: 1) }
        }
        try db.execute(sql: "PRAGMA secure_delete = OFF")
    }
}
