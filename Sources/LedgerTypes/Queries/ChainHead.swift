/// The last block of the ledger's chain: what an auditor keeps, to hold the ledger to its past.
public struct ChainHead: Hashable, Sendable {
    /// Its number.
    public var block: Int64
    /// Its hash, as 64 hexadecimal digits. It covers everything before it too.
    public var hash: String
    /// The last entry that the blocks have; 0 where they have none.
    public var entry: EntryID
    /// Its time.
    public var time: Timestamp
    /// The same with the sums of all accounts, signed by the operator: a compact JWS. `nil` where the service has no
    /// key.
    public var signature: String?

    /// A head.
    public init(block: Int64, hash: String, entry: EntryID, time: Timestamp, signature: String?) {
        self.block = block
        self.hash = hash
        self.entry = entry
        self.time = time
        self.signature = signature
    }
}
