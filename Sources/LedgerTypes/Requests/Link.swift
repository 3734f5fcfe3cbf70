/// Binds a token, under which an app buys, to the account of a player.
///
/// What the token's own wallets had moves there, and what comes under the token from then on is the account's.
public struct Link: Hashable, Sendable {
    /// The token.
    public var token: AppAccountToken
    /// The player's account.
    public var account: AccountName
    /// Whether a token that is linked to another account is to be linked to this one from now on. What it had, and what
    /// came under it until now, stays where it is.
    public var moves: Bool

    /// A link. The server refuses as `invalid_params` one of a token to itself.
    public init(token: AppAccountToken, account: AccountName, moves: Bool = false) {
        self.token = token
        self.account = account
        self.moves = moves
    }
}
