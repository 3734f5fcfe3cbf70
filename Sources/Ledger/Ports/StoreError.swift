/// A store's failure: a kind, by which callers decide, then words.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// It may be tried again.
        case unavailable
        /// It is not ready: it is being opened, lacks the standbys that it needs, or no node leads that is known here.
        /// Or it was not tried: because what was asked before it was not carried out, or, of a read, is in doubt. It
        /// may be tried again; the words are for clients too.
        case notReady
        /// Another ledger leads, at this address: this one is its standby, and is only read.
        case notLeader(address: String)
        /// Nobody can know at this moment whether the batch is durable. A repeat of its requests will know.
        case unknown
        /// What is stored is not what was written. Trying again does not help.
        case corrupt
    }

    package var kind: Kind
    /// What was being done and what went wrong; never values of rows.
    package var description: String
    /// Whether it is the log that failed: of that the tables know nothing.
    package var isOfLog = false
    /// Whether what failed adds nothing, and only reads.
    package var isOfRead = false

    package init(_ description: String) { self.init(.unavailable, description) }

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
