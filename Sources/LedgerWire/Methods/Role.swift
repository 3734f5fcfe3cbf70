/// What a connection may do. Which role may call which method is in the protocol's table of methods.
public enum Role: String, CaseIterable, Sendable {
    /// The purchase pipeline: posts what the App Store signed.
    case purchases
    /// Game servers: spend, hold and grant.
    case game
    /// Finance: reads reports and the journal.
    case finance
    /// A standby: reads the blocks themselves.
    case replica
    /// All of them.
    case admin
}
