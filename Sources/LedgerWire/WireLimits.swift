import LedgerTypes

/// Every bound of the wire, each with its reason.
public enum WireLimits {
    /// Bytes of one line that the server reads, without its `\n`: a JWS has some 5 KiB, and a full batch of spends
    /// fits.
    public static let lineBytesMax = 1 << 20
    /// Requests of one batch: the replies of a batch wait for each other, and are held until the last is there.
    public static let batchRequestsMax = 1_000
    /// Bytes of one line that a client reads, without its `\n`: the longest page of a report has less than 2 MiB, a
    /// page of `history` or `journal` may have more where its spends drew many lots.
    public static let replyBytesMax = 64 << 20
    /// Bytes of one line that a standby reads from its leader, without its `\n`: a block is never cut, and the largest
    /// that thousands of the largest requests can make has some hundred megabytes.
    package static let blocksLineBytesMax = 1 << 30
    /// Bytes of an access token: it is hashed at every `authenticate`, and nobody types a longer one.
    public static let tokenBytesMax = 1_024
    /// Currencies that one spend may debit.
    static let debitsMax = Limits.currenciesPerOperationMax
    /// Operations that an `atomic` has at least: a single one is a request of its own.
    static let atomicOperationsMin = 2
}
