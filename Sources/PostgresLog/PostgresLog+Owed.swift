#if Postgres
package import Ledger

/// Accounts whose names are to be erased from rows that are damaged. Mostly there are none, and no table: who notes the
/// first makes it, with the right to.
extension PostgresLog {
    package func owe(_ account: PlayerID) throws(LogError) {
        try inSession("noting that the name of account \(account) is to be erased") { (session) throws(PostgresFault) in
            try session.run(schema.makingOwed)
            _ = try session.run(schema.owe, [.number(account)])
        }
    }

    package func owed() throws(LogError) -> [PlayerID] {
        try reading("asking whose names are to be erased") { (reader) throws(PostgresFault) in
            guard try reader.run(schema.owedIsThere).flag(0, 0) else { return [] }
            let rows = try reader.run(schema.owed)
            var accounts: [PlayerID] = []
            for row in 0..<rows.count {
                accounts.append(try rows.number(row, 0, in: PostgresRanges.counts, "\(schema.name).owed.account"))
            }
            return accounts
        }
    }

    package func paid(_ account: PlayerID) throws(LogError) {
        try inSession("noting that the name of account \(account) is erased") { (session) throws(PostgresFault) in
            _ = try session.run(schema.paid, [.number(account)])
        }
    }
}
#endif
