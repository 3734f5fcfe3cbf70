/// Why a run cannot go on: a kind, by which callers decide, then words.
package struct LoadError: Error, CustomStringConvertible, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The plan asks for what cannot be.
        case plan
        /// There is no service, or its connection was lost.
        case connection
        /// The service answers what it should not.
        case service
        /// This machine's system refuses something.
        case machine
        case interrupted
    }

    package let kind: Kind
    package let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
