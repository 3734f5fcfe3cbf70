/// A player's word on whether Apple may be told how much of their purchases was consumed.
public struct Consent: Hashable, Sendable {
    /// The caller's name for this request.
    public var key: RequestKey
    /// Whose.
    public var account: AccountName
    /// Whether the player has consented; `false` withdraws what they said before.
    public var consumption: Bool

    /// A player's consent, given or withdrawn.
    public init(key: RequestKey, account: AccountName, consumption: Bool) {
        self.key = key
        self.account = account
        self.consumption = consumption
    }
}
