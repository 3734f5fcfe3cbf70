/// A period that finance closed: whatever was posted up to its end stands in one block and those before it, and nothing
/// is ever added to it.
public struct PeriodClosing: Hashable, Sendable {
    /// The last millisecond of the period.
    public var through: Timestamp
    /// The block that says so. Each entry up to ``through`` stands in it or before; it may have later ones too.
    public var block: Int64
    /// That block's hash, as 64 hexadecimal digits. It covers everything before it too.
    public var hash: String
    /// When it was closed.
    public var time: Timestamp
    /// The name of the token that closed it; `nil` where nobody needs one.
    public var actor: String?

    /// A period that was closed.
    public init(through: Timestamp, block: Int64, hash: String, time: Timestamp, actor: String?) {
        self.through = through
        self.block = block
        self.hash = hash
        self.time = time
        self.actor = actor
    }
}

/// The answer to `close`.
public struct ClosingReceipt: Hashable, Sendable {
    /// The last millisecond of the period.
    public var through: Timestamp
    /// The block that says that the period is closed. Each entry up to ``through`` stands in it or before.
    public var block: Int64
    /// That block's hash, as 64 hexadecimal digits. It covers everything before it too.
    public var hash: String

    /// The answer to `close`.
    public init(through: Timestamp, block: Int64, hash: String) {
        self.through = through
        self.block = block
        self.hash = hash
    }
}
