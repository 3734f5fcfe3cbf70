package import Ledger

/// How a store is at this moment, as far as nobody has to be asked or waited for.
package struct StoreStanding: Sendable {
    package enum State: Sendable {
        /// In words, how far it is.
        case opening(progress: String)
        /// In words, why.
        case failed(String)
        case open
    }

    package var state = State.open
    /// Whether what is asked to be written is decided here: not on a standby, and not on a node that follows.
    package var leads = true
    /// The last block that is durable here.
    package var block: BlockNumber = 0
    /// Why nothing can be appended; `nil` where it can, or where another leads.
    package var logFailure: LogError?
    /// The last block that the tables have, the bytes of the blocks that they lack, and why they could not be written.
    package var projected: BlockNumber = 0
    package var unprojectedBytes = 0
    package var projectionFailure: StoreError?
    /// Whether fewer standbys than are required have what is durable here.
    package var lacksStandbys = false

    package init() {}
}
