import LedgerTypes

/// Every bound of the wire, each with its reason.
public enum WireLimits {
    /// Bytes of one line that the server reads, without its `\n`: a JWS has some 5 KiB, and a full batch of spends
    /// fits.
    public static let lineBytesMax = 1 << 20
    /// Requests of one batch: the replies of a batch wait for each other, and are held until the last is there.
    public static let batchRequestsMax = 1_000
    /// Bytes of one line that a client reads, without its `\n`: a page has some 2 MiB at most, and the replies of a
    /// batch have 8 MiB. Servers of before gave more.
    public static let replyBytesMax = 64 << 20
    /// Bytes of one line that a standby reads from its leader, without its `\n`. A block is never cut, and is a line of
    /// its own where it is large. Earlier versions made batches of 8,192 operations, each of which may bring a JWS of
    /// 65,536 bytes: as text again these are 512 MiB, and entries and transfers come to that. So much memory a leader
    /// that lies can have its standby take, once.
    package static let blocksLineBytesMax = 1 << 30
    /// Bytes of an access token: it is hashed at every `authenticate`, and nobody types a longer one.
    public static let tokenBytesMax = 1_024
    /// Currencies that one spend may debit.
    static let debitsMax = Limits.currenciesPerOperationMax
    /// Operations that an `atomic` has at least: a single one is a request of its own.
    static let atomicOperationsMin = 2
}
