/// That a token is an account's.
///
/// What the token had goes to the account of its first link for ever; what comes under the token goes to that of its
/// last. An account that is linked in turn passes all of it on (``Books/owner(of:)``, ``Books/current(_:)``).
package struct AccountLink: Hashable, Sendable {
    package var account: PlayerID
    /// The entry that moved what the token's wallets had.
    package var entry: EntryID?

    package init(account: PlayerID, entry: EntryID?) {
        self.account = account
        self.entry = entry
    }
}

/// What a player said of telling Apple about consumption.
package struct ConsentRecord: Hashable, Sendable {
    /// The number of the request: of two records the greater one is the later.
    package var request: Int64
    package var consumption: Bool

    package init(request: Int64, consumption: Bool) {
        self.request = request
        self.consumption = consumption
    }
}
