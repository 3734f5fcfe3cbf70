public import LedgerWire

extension RequestKey {
    /// A new key that nobody else has: a UUID of version 7 (RFC 9562), from the system's clock and random source.
    ///
    /// Keys of one process are strictly ascending, which the ledger's storage likes best. A key that must outlive the
    /// process, so that a spend can be sent again after a crash, is made first, kept with the order, and then passed.
    public static func timeOrdered() -> RequestKey { RequestKey(stored: TimeOrderedID.shared.text()) }
}

/// Keyed methods with a key of their own. It is made once for each call and is the same in every repetition by the
/// client; whoever repeats the call itself passes the key.
extension LedgerClient {
    /// Debits a player's wallets, all or nothing.
    /// - Parameters:
    ///   - account: whose wallets.
    ///   - debits: 1 … 16 different currencies.
    ///   - note: what a support agent should read beside it; at most ``Limits/noteBytesMax`` bytes.
    ///   - funds: which lots may be drawn.
    ///   - expectedVersion: refuse unless the wallet's version is this one (only with one debit).
    ///   - minimumRemaining: refuse unless this much would be left available (only with one debit).
    ///   - key: the caller's name for this request, unique for ever in the ledger.
    /// - Throws: ``WireError``, as `insufficient_funds`; ``ClientError``.
    public func spend(
        account: AccountName, debits: [CurrencyAmount], note: String? = nil, funds: Funds = .any,
        expectedVersion: Int64? = nil, minimumRemaining: Int64? = nil, key: RequestKey = .timeOrdered()
    ) async throws -> SpendReceipt {
        try await spend(
            Spend(
                key: key, account: account, debits: debits, note: note, funds: funds, expectedVersion: expectedVersion,
                minimumRemaining: minimumRemaining))
    }

    /// Gives free currency: a reward, a compensation.
    /// - Parameters:
    ///   - account: whose wallet.
    ///   - currency: what is given.
    ///   - amount: how much.
    ///   - note: what a support agent should read beside it; at most ``Limits/noteBytesMax`` bytes.
    ///   - expiresAt: from when on it can no longer be spent, in milliseconds since 1970; never where it is `nil`.
    ///   - key: the caller's name for this request, unique for ever in the ledger.
    /// - Throws: ``WireError``, as `grant_limit` or `balance_limit`; ``ClientError``.
    public func grant(
        account: AccountName, currency: CurrencyCode, amount: Amount, note: String? = nil,
        expiresAt: Timestamp? = nil, key: RequestKey = .timeOrdered()
    ) async throws -> GrantReceipt {
        try await grant(
            Grant(key: key, account: account, currency: currency, amount: amount, note: note, expiresAt: expiresAt))
    }
}
