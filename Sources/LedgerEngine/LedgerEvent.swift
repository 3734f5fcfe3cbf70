package import Ledger

/// What an operator is told of a ledger in operation.
package enum LedgerEvent: Sendable {
    case projectionFailed(StoreError)
    case projectionWorksAgain
    /// What the projection has is not what was written. Said once.
    case tablesDamaged(StoreError)
    case logFailed(LogError)
    case logWorksAgain(LogHead)
    /// The wall clock is too far ahead to be believed: entries go on from this time.
    case clockHeldBack(clock: Timestamp, time: Timestamp)
    case clockReasonable
    /// A batch was not committed. Said once for as many as fail for the same reason, one after the other.
    case commitFailed(StoreError, requests: Int)
    /// In words.
    case readFailed(String)
}
