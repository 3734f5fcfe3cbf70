package import AppStore
package import Ledger

/// What an operator states of a ledger at one moment: its last durable block, and what the books add up to there. Who
/// keeps the statement can hold the ledger to its past.
package struct SignedHead: Hashable, Sendable {
    /// Whose books these are, as block 1 says, and the log's files by its digest.
    package var bundleID: String
    package var environment: String
    package var identity: Digest
    package var block: BlockNumber
    package var hash: Digest
    /// The last entry that the blocks have; 0 where they have none.
    package var entry: EntryID
    /// The block's time.
    package var time: Timestamp
    package var signedAt: Timestamp
    package var currencies: [CurrencyCode]
    /// The turnover of each kind of account up to the block, by the currencies' order.
    package var totals: Totals
}

/// Signs heads with an operator's key.
package struct HeadSigner: Sendable {
    private let key: Ed25519PrivateKey
    private let ledger: BlockRows.LedgerRow
    private let identity: Digest
    private let now: @Sendable () -> Timestamp

    /// - Parameter now: the wall clock, in milliseconds since the UNIX epoch.
    package init(
        _ key: Ed25519PrivateKey, ledger: BlockRows.LedgerRow, identity: Digest,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.key = key
        self.ledger = ledger
        self.identity = identity
        self.now = now
    }

    /// The head of `state` as a compact JWS; `nil` where it has no block.
    /// - Parameter state: of blocks that are durable.
    package func sign(_ state: ProjectedState) throws(OpenSSLError) -> String? {
        guard let head = state.head else { return nil }
        let signed = SignedHead(
            bundleID: ledger.bundleID, environment: ledger.environment, identity: identity, block: head.number,
            hash: head.hash, entry: state.position.entry, time: state.time, signedAt: now(),
            currencies: state.currencies, totals: state.totals)
        return try signed.jws(by: key)
    }
}
