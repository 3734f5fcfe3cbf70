import GRDB
import Ledger

/// Finds the names of accounts.
struct AccountNames {
    private let select: PreparedStatement

    init(_ db: Database) throws { select = try PreparedStatement(db, "SELECT name FROM account WHERE id = ?") }

    func name(of account: PlayerID) throws -> AccountName {
        select.bind(1, account)
        let name = try select.first { row in
            row.optionalText(0).map { AccountName(stored: $0) } ?? AccountName.erased(account)
        }
        guard let name else { throw StoreError.corrupt("account \(account) is missing") }
        return name
    }
}
