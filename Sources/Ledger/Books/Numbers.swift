/// A player's number, dense from 1 in the order of first sight; 0 stands for the operator's own accounts.
package typealias PlayerID = Int64

/// A currency's number within one ledger, from 1.
package typealias CurrencyID = UInt8

/// The number of a token's name, dense from 1.
package typealias ActorID = Int64

/// The number of a JWS header segment, dense from 1.
package typealias HeaderID = Int64

/// The number of a JWS that said something new of a purchase, dense from 1.
package typealias EvidenceID = Int64

extension AccountName {
    /// What stands in place of a name that was erased: the account's number, behind a character that no player's name
    /// may hold, so that nobody can take it.
    package static func erased(_ player: PlayerID) -> AccountName { AccountName(stored: "\u{7F}erased \(player)") }
}
