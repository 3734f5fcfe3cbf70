/// What is recorded of accounts beside their entries.
extension BlockRows {
    /// From now on a token's purchases are an account's. With the token's first link all that it had is the account's
    /// too; what its wallets had moved there in `entry`.
    package struct LinkRow: Hashable, Sendable {
        /// The account that has the token as its name.
        package var token: PlayerID
        package var account: PlayerID
        /// `nil` where the token's wallets were empty, or it was linked before.
        package var entry: EntryID?
        package var time: Timestamp
        package var actor: ActorID?

        package init(token: PlayerID, account: PlayerID, entry: EntryID?, time: Timestamp, actor: ActorID?) {
            self.token = token
            self.account = account
            self.entry = entry
            self.time = time
            self.actor = actor
        }
    }

    /// Whether Apple may be told how much of a player's purchases was consumed.
    package struct ConsentRow: Hashable, Sendable {
        package var account: PlayerID
        package var consumption: Bool
        package var time: Timestamp
        package var actor: ActorID?

        package init(account: PlayerID, consumption: Bool, time: Timestamp, actor: ActorID?) {
            self.account = account
            self.consumption = consumption
            self.time = time
            self.actor = actor
        }
    }
}
