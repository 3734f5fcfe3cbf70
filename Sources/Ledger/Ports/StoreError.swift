/// A store's failure: a kind, by which callers decide, then words.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// It may be tried again.
        case unavailable
        /// It is being opened, which takes a while; then it may be tried again.
        case opening
        /// Nobody can know at this moment whether the batch is durable. A repeat of its requests will know.
        case unknown
        /// What is stored is not what was written. Trying again does not help.
        case corrupt
    }

    package var kind: Kind
    /// What was being done and what went wrong; never values of rows.
    package var description: String

    package init(_ description: String) { self.init(.unavailable, description) }

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
